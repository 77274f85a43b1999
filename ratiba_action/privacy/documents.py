"""Numbers of documents, cards and accounts."""

import re

TAX_NUMBER = re.compile(r"(?<!\w)[AaPp]\d{9}[A-Za-z](?!\w)")
"""A KRA PIN."""
PASSPORT = re.compile(
    r"(?<!\w)[A-Z]{1,2}\d{7}(?!\w)|(?<!\w)(?i:(?<=passport )|(?<=pasipoti ))[A-Za-z]{1,2}\d{6,8}(?!\w)"
)
LONG_NUMBER = re.compile(
    r"(?=\d)(?:(?<!\w)|(?<=\bid)|(?<=\bid_)|(?<=\bno)|(?<=\btel)|(?<=\bacc)|(?<=\bnamba)|(?<=\bnambari))(?<!\d\.)"
    r"(?:\d{6,}|\d{1,3}(?:[ .\-]\d{3}){2,}|\d{4}(?:[ \-]\d{4}){3})(?!\w|\.\d{1,4}(?!\d))",
    re.IGNORECASE,
)
"""Six digits or more: an identity card, an account, a card of a bank (masking floor, ``seeds/000`` §4)."""
