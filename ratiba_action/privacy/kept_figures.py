"""Numbers that identify nobody and stay as they are: dates, times, amounts, references, a business's till."""

import re

_YEAR, _MONTH, _DAY = r"(?:19|20)\d\d", r"(?:0?[1-9]|1[0-2])", r"(?:0?[1-9]|[12]\d|3[01])"
_AMOUNT = r"(?:\d{1,3}(?:[, ]\d{3}){1,3}|\d{1,9})(?:\.\d{1,12})?(?!\d)"
_CURRENCY = r"(?:KES|KSH?S?|SHS?|USD|US\$|EUR|GBP|TZS|TSH|UGX|USH|shilingi|shillings?|bob|dola|dollars?|[$€£])"
_SHORT_QUANTITY = r"(?<![a-z])(?:kes|usd|fees?|bei|costs?)(?![a-z])|_at(?![a-z])"
_QUANTITY = rf"(?:amount|price|total|deposit|balance|kiasi|jumla|second|token|time|epoch|{_SHORT_QUANTITY})"
_TILL_WORDS = r"(?:\s(?:no\.?|number|namba(?:ri)?|is|ni|yenu|yetu|your|our|still|bado|mpya|new)){0,4}"
_OTHER_TILL = r"(?:\s(?:or|au|ama|na|and)(?:\s(?:the|new|old|ile|ya|mpya|zamani)){0,3}\s\d{5,7}(?!\d))"

MOMENTS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        # What stands in the place of a phone number already.
        r"\+\d{0,3}\*{3}\d{3}(?!\d)",
        # Commits and digests, and dollars as the gate writes them: neither runs together with the figure beside it.
        r"(?<!\w)(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64})(?!\w)",
        r"(?<!\w)(?:\$|USD )(?:0|[1-9]\d{0,2}(?:,\d{3}){1,3}|[1-9]\d{0,11})\.\d{2,4}(?!\d|\.\d)",
        r"(?<!\w)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?!\w)",
        rf"(?<![\d+]){_YEAR}-{_MONTH}-{_DAY}(?:[T ]\d\d(?::?\d\d){{0,2}}(?:\.\d{{1,9}})?(?:[+-]\d\d:?\d\d)?)?(?!\d)",
        rf"(?<![\d+]){_DAY}([./-]){_MONTH}\1{_YEAR}(?!\d)",
        rf"(?<![\d+./-]){_DAY}([./-]){_MONTH}\1\d\d(?!\d|[./-]\d)",
        r"(?<![\d+])20[2-4]\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?:T\d{4,6})?(?!\d)",
        r"(?<!\d)\d{1,2}:\d\d(?::\d\d)?(?!\d)",
    )
)
"""Dates and times, and ids, digests and dollars whose form cannot be a person's number."""

# A till or paybill number identifies a business, which prints it on its wall.
AMOUNTS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?<!\w)\d{1,15}\s(?:bytes|characters|tokens|ms|milliseconds|KiB|MiB)(?!\w)",
        rf"(?<![a-z]){_CURRENCY}\.?\s{{0,2}}{_AMOUNT}(?:\s?-\s?{_AMOUNT})?",
        rf"(?<!\w){_AMOUNT}\s?(?:/[=-]|{_CURRENCY}(?![a-z])|%)",
        r"(?<![\d.])(?<!\d,)\d{1,3}(?:,\d{3})+(?:\.\d{1,9})?(?!\d)",
        rf"(?<!\w)(?:pay\s?bill|till){_TILL_WORDS}\s?:?\s?\d{{5,7}}(?!\d){_OTHER_TILL}?",
        rf"{_QUANTITY}[a-z_]{{0,30}}\"?\s?[:=]\s?\"?\d{{1,13}}(?:\.\d{{1,9}})?(?!\d)",
    )
)
"""Money, shares, quantities and sizes."""

REFERENCES = (
    re.compile(r"(?<!\w)(?!ID|NO|NIN|TEL|ACC|PIN)[A-Z]{2,8}(?:[-/#]\d+)+"),
    re.compile(
        r"(?<!\w)(?:order|oda|booking|reference|ref|receipt|risiti|invoice|ticket|tiketi)[a-z_]{0,10}\"?"
        r"\s?(?:no\.?|number|id|namba(?:ri)?)?\s?[#:]?\s?\"?\d{1,12}(?!\d)",
        re.IGNORECASE,
    ),
)
"""What names an order, a booking or a receipt. A receipt of M-Pesa needs no rule: letters touch its digits."""
