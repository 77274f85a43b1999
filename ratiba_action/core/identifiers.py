"""Finds in a text what identifies a person: phone numbers, e-mail addresses, tax numbers and long numbers.

A text is first cleared of the numbers that identify nobody: dates, times, amounts, references. What is left is read
in any spelling, and told in one, so that a number that a scenario declares is known again however it is written.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ratiba_action.core.booking.phones import normalise_phone

_GAP = "|"
"""Stands where something was cleared, so that its neighbours do not run together."""
_SEPARATOR = r"[\s\-.()]{0,3}"
_SHOWN_DIGITS = 3
_KENYA = "254"

_EMAIL = re.compile(r"[\w.%+'-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}")
_TAX_NUMBER = re.compile(r"(?<!\w)[AaPp]\d{9}[A-Za-z](?!\w)")
_PHONES = (
    # Letters may touch a number on its left, and on its right unless digits follow: that is a code.
    re.compile(
        rf"(?<![\d_])(?<!\d[.,])(?:(?:\+|00)?{_SEPARATOR}254{_SEPARATOR}0?|0){_SEPARATOR}[17]"
        rf"(?:{_SEPARATOR}\d){{8}}(?!_|[A-Za-z]*\d)"
    ),
    re.compile(rf"(?<!\w)(?:\+|00){_SEPARATOR}[1-9](?:{_SEPARATOR}\d){{6,14}}(?!\d)"),
    re.compile(r"(?<!\w)(?<!\d[.,])0\d{1,3}[\s\-.)]{0,2}\d{3,4}[\s\-.]{0,2}\d{3,4}(?!\w)"),
)
_LONG_NUMBER = re.compile(
    r"(?:(?<!\w)|(?<=\bid)|(?<=\bno)|(?<=\btel)|(?<=\bacc)|(?<=\bnamba)|(?<=\bnambari))(?<!\d\.)"
    r"(?:\d{6,}|\d{1,3}(?:[ .\-]\d{3}){2,}|\d{4}(?:[ \-]\d{4}){3})(?!\w|\.\d{1,4}(?!\d))",
    re.IGNORECASE,
)

_YEAR, _MONTH, _DAY = r"(?:19|20)\d\d", r"(?:0?[1-9]|1[0-2])", r"(?:0?[1-9]|[12]\d|3[01])"
_AMOUNT = r"(?:\d{1,3}(?:[, ]\d{3}){1,3}|\d{1,9})(?:\.\d{1,2})?(?!\d)"
_CURRENCY = r"(?:KES|KSH?S?|SHS?|USD|US\$|EUR|GBP|TZS|TSH|UGX|USH|shilingi|shillings?|bob|dola|dollars?|[$€£])"
_QUANTITY = r"(?:amount|price|cost|total|fee|deposit|balance|kiasi|bei|jumla|kes|usd|second|token|time|epoch|_at)"
_HARMLESS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?<!\w)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?!\w)",
        rf"(?<![\d+]){_YEAR}-{_MONTH}-{_DAY}(?:[T ]\d\d(?::?\d\d){{0,2}}(?:\.\d{{1,9}})?(?:[+-]\d\d:?\d\d)?)?(?!\d)",
        rf"(?<![\d+]){_DAY}([./-]){_MONTH}\1{_YEAR}(?!\d)",
        r"(?<![\d+])20[2-4]\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?:T\d{4,6})?(?!\d)",
        r"(?<!\d)\d{1,2}:\d\d(?::\d\d)?(?!\d)",
    )
)
# A till or paybill number identifies a business, which prints it on its wall.
_AMOUNTS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?<![a-z]){_CURRENCY}\.?\s{{0,2}}{_AMOUNT}(?:\s?-\s?{_AMOUNT})?",
        rf"(?<!\w){_AMOUNT}\s?(?:/[=-]|{_CURRENCY}(?![a-z])|%)",
        r"(?<![\d.])\d{1,3}(?:,\d{3})+(?:\.\d{1,9})?(?!\d)",
        r"(?<!\w)(?:pay\s?bill|till)(?:\s(?:no\.?|number|namba(?:ri)?))?\s?:?\s?\d{5,7}(?!\d)",
        rf"[a-z_]{{0,30}}{_QUANTITY}[a-z_]{{0,30}}\"?\s?[:=]\s?\"?\d{{1,13}}(?:\.\d{{1,9}})?(?!\d)",
    )
)
_REFERENCES = (
    re.compile(r"(?<!\w)(?!ID|NO|NIN|TEL|ACC|PIN)[A-Z]{2,8}[-/#]\d+"),
    re.compile(
        r"(?<!\w)(?:order|oda|booking|reference|ref|receipt|risiti|invoice|ticket|tiketi)[a-z_]{0,10}\"?"
        r"\s?(?:no\.?|number|id|namba(?:ri)?)?\s?[#:]?\s?\"?\d{1,12}(?!\d)",
        re.IGNORECASE,
    ),
)
_MAY_HOLD_ONE = re.compile(r"[\d@]")
_ESCAPED = re.compile(r"\\u([0-9a-fA-F]{4})")


@dataclass(frozen=True, slots=True)
class Identifier:
    """Something that identifies a person.

    Args:
        kind: in words.
        value: in its one spelling: the digits of a number, Kenyan ones with 254; an address in lower case.
        last: nothing follows it in its text.
    """

    kind: str
    value: str
    last: bool = False

    @property
    def shown(self) -> str:
        """Enough to find it again: a number's last three digits, an address's first character."""
        if "@" in self.value:
            return f"{self.value[0]}***@***"
        return f"***{self.value[-_SHOWN_DIGITS:]}"


def find_identifiers(text: str) -> tuple[Identifier, ...]:
    """Each identifier of a text, in order of kind and place.

    Args:
        text: what was said; JSON in it may be cut off, so that it is read as it is.
    """
    return tuple(_find(text))


def mask_identifiers(text: str) -> str:
    """The text with what is ``shown`` of each identifier in its place.

    A text that holds one is given without the look-alikes that hide numbers; any other is given as it is.
    """
    if text.isascii() and not _MAY_HOLD_ONE.search(text):
        return text
    plain, masked, end = _plain(text), [], 0
    for kind, match in sorted(_matches(plain), key=lambda found: found[1].start()):
        masked += [plain[end : match.start()], Identifier(kind, _one_spelling(match[0])).shown]
        end = match.end()
    return "".join([*masked, plain[end:]]) if masked else text


def is_declared(identifier: Identifier, declared: Iterable[Identifier], *, cut: bool = False) -> bool:
    """Whether an identifier is one of those declared.

    Args:
        identifier: what was found.
        declared: what may be there.
        cut: the text was cut off, so that its last identifier may be only the beginning of one.
    """
    known = {spelling for one in declared for spelling in _spellings(one.value)}
    if identifier.value in known:
        return True
    return cut and identifier.last and any(spelling.startswith(identifier.value) for spelling in known)


def _find(text: str) -> Iterator[Identifier]:
    plain = _plain(text)
    end = len(plain.rstrip())
    for kind, match in _matches(plain):
        yield Identifier(kind, _one_spelling(match[0]), last=match.end() == end)


def _matches(plain: str) -> Iterator[tuple[str, re.Match[str]]]:
    """Kind and place of each identifier; none overlaps another, since what was read is cleared in its place."""
    rest = plain
    for kind, patterns in (
        ("an e-mail address", (_EMAIL,)),
        ("", _HARMLESS),
        ("a phone number", _PHONES),
        ("a tax number", (_TAX_NUMBER,)),
        ("", (*_AMOUNTS, *_REFERENCES)),
        ("a long number", (_LONG_NUMBER,)),
    ):
        for pattern in patterns:
            if kind:
                yield from ((kind, match) for match in pattern.finditer(rest))
            rest = pattern.sub(lambda match: _GAP * len(match[0]), rest)


def _plain(text: str) -> str:
    """The same text without the look-alikes that hide a number: other digits, dashes, spaces, escapes."""
    text = _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text)
    text = re.sub(r"\\[nrt]", " ", text)
    return "".join(_plain_character(one) for one in unicodedata.normalize("NFKC", text))


def _plain_character(one: str) -> str:
    if one.isascii():
        return one
    if one.isdecimal():
        return str(unicodedata.decimal(one))
    category = unicodedata.category(one)
    return {"Cf": "", "Pd": "-"}.get(category, one)


def _one_spelling(written: str) -> str:
    if "@" in written:
        return written.casefold()
    if written[0].isalpha():
        return written.upper()
    digits = re.sub(r"\D", "", written).removeprefix("00")
    if digits.startswith(f"{_KENYA}0"):
        digits = _KENYA + digits[len(_KENYA) + 1 :]
    return (normalise_phone(digits) or digits).removeprefix("+")


def _spellings(value: str) -> tuple[str, ...]:
    if not value.startswith(_KENYA) or not value.isdigit():
        return (value,)
    local = value[len(_KENYA) :]
    return (value, local, f"0{local}")
