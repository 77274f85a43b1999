"""Finds in a text what identifies a person: phone numbers, e-mail addresses, documents and long numbers.

A text is first cleared of the numbers that identify nobody: dates, times, amounts, references. What is left is read
in any spelling and reported in one, so that a number that a scenario declares is recognised however it is written.
Phone numbers have a module of their own, ``phone_numbers``.
"""

import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ratiba_action.privacy.name_table import MASKED_NAME, NameTable
from ratiba_action.privacy.phone_numbers import (
    KENYA,
    PHONES,
    crowded_numbers,
    is_local_mobile,
    may_be_spoken,
    other_phones,
    read_phone,
    spoken_digits,
    spoken_numbers,
)
from ratiba_action.privacy.plain_text import PlainText, plain_text

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
        # What stands instead of a phone number already.
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


_LABEL = r"[\w-]{1,63}"
_TOP = r"[^\W\d_]{2,24}"
_SPACES = r"\s{1,3}"
_LOCAL = r"[\w.%+'-]{1,64}"
_SIGNS = r"(?:underscore|dot|nukta|dash|hyphen|plus)"
_BRACKETED_AT = rf"\s{{0,3}}[(\[{{<](?:at|@)[)\]}}>]\s{{0,3}}|{_SPACES}@{_SPACES}"
_BRACKETED_DOT = r"\s{0,3}[(\[{<](?:dot|\.)[)\]}>]\s{0,3}"
_SPOKEN_AT = rf"{_SPACES}(?:at|kwenye){_SPACES}"
_SPOKEN_DOT = rf"{_SPACES}(?:dot|nukta){_SPACES}"
_PROVIDER = r"(?:gmail|googlemail|yahoo|ymail|hotmail|outlook|live|icloud|aol|proton(?:mail)?)"

_ANY_DOT = rf"(?:{_BRACKETED_DOT}|\.|\s\.\s|{_SPOKEN_DOT})"
_SPELLED_DOT = rf"(?:{_BRACKETED_DOT}|{_SPOKEN_DOT})"
_SPELLED_LOCAL = rf"(?<!\w){_LOCAL}(?:{_SPACES}{_SIGNS}{_SPACES}\w{{1,30}}){{0,4}}"

_WRITTEN = re.compile(rf"{_LOCAL}@{_LABEL}(?:\.{_LABEL}){{1,8}}")
_SPELLED = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"{_SPELLED_LOCAL}(?:{_BRACKETED_AT}){_LABEL}(?:{_ANY_DOT}{_LABEL}){{0,6}}{_ANY_DOT}{_TOP}(?!\w)",
        rf"{_SPELLED_LOCAL}{_SPOKEN_AT}{_LABEL}(?:{_SPELLED_DOT}{_LABEL}){{1,6}}(?!\w)",
        rf"{_SPELLED_LOCAL}{_SPOKEN_AT}{_PROVIDER}\.{_TOP}(?:\.{_TOP})?(?!\w)",
    )
)
_EMAIL_ADDRESSES_AT = re.compile(f"{_BRACKETED_AT}|{_SPOKEN_AT}")
_MEANT = (
    (re.compile(rf"{_BRACKETED_DOT}|{_SPOKEN_DOT}"), "."),
    (re.compile(rf"{_SPACES}underscore{_SPACES}"), "_"),
    (re.compile(rf"{_SPACES}(?:dash|hyphen){_SPACES}"), "-"),
    (re.compile(rf"{_SPACES}plus{_SPACES}"), "+"),
    (re.compile(r"\s"), ""),
)
_MAY_BE_SPELLED = re.compile(rf"@|[(\[{{<]at[)\]}}>]|\b(?:dot|nukta)\b|\b{_PROVIDER}\b", re.IGNORECASE)
_SPELLED_PARTS = (
    "dot",
    "nukta",
    "at)",
    "at]",
    "at}",
    "at>",
    "yahoo",
    "mail",
    "outlook",
    "live",
    "icloud",
    "aol",
    "proton",
)
"""One of them stands in every text in which ``_MAY_BE_SPELLED`` finds anything but ``@``."""


def email_patterns(text: str) -> tuple[re.Pattern[str], ...]:
    """The patterns that can fit a text; none for most."""
    if text.isascii() and "@" not in text:
        lower = text.lower()
        if not any(part in lower for part in _SPELLED_PARTS):
            return ()  # in a third of the time that the search takes
    if not _MAY_BE_SPELLED.search(text):
        return ()
    return (_WRITTEN, *_SPELLED) if "@" in text else _SPELLED


def one_address(written: str) -> str:
    """An address as a mail server takes it, in lower case."""
    address = _EMAIL_ADDRESSES_AT.sub("@", written.casefold())
    for pattern, sign in _MEANT:
        address = pattern.sub(sign, address)
    return address


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
"""Six digits or more: an identity card, an account, a card of a bank (masking floor)."""


_GAP = "|"
"""Stands where something was cleared, so that its neighbours do not run together."""
_SHOWN_DIGITS = 3
_LONG_MASK = "***"
_EMAIL, _PHONE, _TAX, _PASSPORT, _LONG = (
    "an e-mail address",
    "a phone number",
    "a tax number",
    "a passport number",
    "a long number",
)
_AT = re.compile(r"[@\uff20\ufe6b]|%40|u0040")
_DIGIT = re.compile(r"\d")
_MIN_DIGITS = 6
_JSON_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Identifier:
    """Something that identifies a person.

    Args:
        value: in its one spelling: the digits of a number, Kenyan ones with 254; an address in lower case.
        last: nothing follows it in its text.
        country: code of a phone number's country, as far as it is known.
    """

    kind: str
    value: str
    last: bool = False
    country: str = ""

    @property
    def shown(self) -> str:
        """Enough to find it again: an address's first character, a phone's country, a number's last three digits."""
        if "@" in self.value:
            return f"{self.value[0]}***@***"
        return f"{self._plus}***{self.value[-_SHOWN_DIGITS:]}"

    @property
    def masked(self) -> str:
        """What stands instead; a document keeps none of its digits, so that they join no others."""
        return self.shown if self.kind in {_EMAIL, _PHONE} else _LONG_MASK

    @property
    def _plus(self) -> str:
        return f"+{self.country}" if self.kind == _PHONE else ""


def find_identifiers(text: str) -> tuple[Identifier, ...]:
    """Each identifier of a text, in order of kind and place.

    Args:
        text: what was said; JSON in it may be cut off, so that it is read as it is.
    """
    if not _may_have_identifiers(text):
        return ()
    return tuple(identifier for identifier, _ in _find(plain_text(text).read))


def mask_identifiers(text: str, names: NameTable | None = None, *, keep_long: bool = False) -> str:
    """The text with each identifier ``masked`` and each listed name as ``<name>``; the rest stays as it is written.

    Masking again changes nothing. JSON stays JSON: a bare number becomes a string.

    Args:
        text: may hold JSON, also inside a string.
        keep_long: the text names a thing, so that a long number that is no phone's stays.
    """
    identified = _may_have_identifiers(text)
    named = names is not None and names.may_be_in(text)
    if not identified and not named:
        return text
    plain = plain_text(text)
    found = [(span, identifier.masked) for identifier, span in _find(plain.read)] if identified else []
    found = [(span, mask) for span, mask in found if not (keep_long and mask == _LONG_MASK)]
    if names is not None and named:
        # A name inside an e-mail address would hide that it is one, so that addresses go first.
        rest = _cleared(plain.read, [span for span, _ in found])
        found += [(span, MASKED_NAME) for span in names.find(rest)]
    return _replaced(plain, sorted(found)) if found else text


def read_bare(digits: str, *, phone: bool = False) -> Identifier:
    """What a number that stands alone is.

    Args:
        phone: it is known to be a phone number; else only a Kenyan mobile number is taken for one.
    """
    if is_local_mobile(digits.removeprefix(KENYA)):
        return Identifier(_PHONE, KENYA + digits.removeprefix(KENYA), country=KENYA)
    return Identifier(_PHONE if phone else _LONG, digits)


def is_declared(identifier: Identifier, declared: Iterable[Identifier], *, cut: bool = False) -> bool:
    """Whether an identifier is one of those declared.

    Args:
        cut: the text was cut off, so that its last identifier may be only the beginning of one.
    """
    known = {spelling for identifier in declared for spelling in _spellings(identifier.value)}
    if identifier.value in known:
        return True
    return cut and identifier.last and any(spelling.startswith(identifier.value) for spelling in known)


def _may_have_identifiers(text: str) -> bool:
    """Cheaply, since most texts hold none."""
    has_digits = len(_DIGIT.findall(text)) >= _MIN_DIGITS
    return has_digits or _AT.search(text) is not None or may_be_spoken(text) or bool(email_patterns(text))


def _find(read: str) -> Iterator[tuple[Identifier, _Span]]:
    end = len(read.rstrip())
    for kind, (start, stop) in _places(read):
        yield _identifier(kind, read[start:stop], last=stop == end), (start, stop)


def _places(rest: str) -> Iterator[tuple[str, _Span]]:
    """Kind and place of each identifier; none overlaps another, since what was read is cleared instead."""
    for kind, patterns in (
        (_EMAIL, email_patterns(rest)),
        ("", MOMENTS),
        (_PHONE, PHONES),
        (_TAX, (TAX_NUMBER,)),
        (_PASSPORT, (PASSPORT,)),
        ("", (*AMOUNTS, *REFERENCES)),
    ):
        for pattern in patterns:
            spans = [match.span() for match in pattern.finditer(rest)]
            if kind:
                yield from ((kind, span) for span in spans)
            rest = _cleared(rest, spans)
    spoken = [(_PHONE if number.phone else _LONG, (number.start, number.end)) for number in spoken_numbers(rest)]
    yield from spoken
    rest = _cleared(rest, [span for _, span in spoken])
    crowd = crowded_numbers(rest)
    yield from ((_LONG, span) for span in crowd)
    rest = _cleared(rest, crowd)
    others = list(other_phones(rest))
    yield from ((_PHONE, span) for span in others)
    rest = _cleared(rest, others)
    yield from ((_LONG, match.span()) for match in LONG_NUMBER.finditer(rest))


def _cleared(text: str, spans: Sequence[_Span]) -> str:
    if not spans:
        return text
    parts, end = [], 0
    for start, stop in sorted(spans):
        parts += [text[end:start], _GAP * (stop - start)]
        end = stop
    return "".join([*parts, text[end:]])


def _replaced(plain: PlainText, found: Sequence[tuple[_Span, str]]) -> str:
    written, parts, end = plain.written, list[str](), 0
    strings = _json_strings(written)
    for (first, last), mask in found:
        start, stop = plain.place(first, last)
        bare = strings is not None and not _inside(strings, start)
        parts += [written[end : max(start, end)], f'"{mask}"' if bare else mask]
        end = max(stop, end)
    return "".join([*parts, written[end:]])


def _json_strings(text: str) -> Sequence[_Span] | None:
    """Where the strings of a text stand if the text is JSON; None where it is not."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return None
    return [match.span() for match in _JSON_STRING.finditer(text)]


def _inside(spans: Sequence[_Span], place: int) -> bool:
    index = bisect_right(spans, (place, place)) - 1
    return index >= 0 and spans[index][0] < place < spans[index][1]


def _identifier(kind: str, written: str, *, last: bool) -> Identifier:
    if kind == _EMAIL:
        return Identifier(kind, one_address(written), last)
    if kind in {_TAX, _PASSPORT}:
        return Identifier(kind, written.upper(), last)
    digits = spoken_digits(written)
    if kind == _PHONE:
        country, value = read_phone(digits)
        return Identifier(kind, value, last, country)
    bare = read_bare(re.sub(r"\D", "", digits))
    return Identifier(bare.kind, bare.value, last, bare.country)


def _spellings(value: str) -> tuple[str, ...]:
    if not value.startswith(KENYA) or not value.isdigit():
        return (value,)
    local = value[len(KENYA) :]
    return (value, local, f"0{local}")
