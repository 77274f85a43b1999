"""Phone numbers in every spelling people use, and what they are in one spelling.

Patterns find what is written as a phone number, whether or not a subscriber has it: a customer mistypes, and examples
are invented. ``phonenumbers`` then reads it, and finds the spellings of other countries that no pattern knows. It is
imported at the first number only, and where it is not installed, as on a runner's bare Python, the patterns do alone.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

_OF_DIGITS = (
    ("sifuri", "zero", "oh", "nought"),
    ("moja", "one"),
    ("mbili", "two"),
    ("tatu", "three"),
    ("nne", "four"),
    ("tano", "five"),
    ("sita", "six"),
    ("saba", "seven"),
    ("nane", "eight"),
    ("tisa", "nine"),
)
_OF_TENS = (
    ("kumi",),
    ("ishirini", "twenty"),
    ("thelathini", "thirty"),
    ("arobaini", "forty"),
    ("hamsini", "fifty"),
    ("sitini", "sixty"),
    ("sabini", "seventy"),
    ("themanini", "eighty"),
    ("tisini", "ninety"),
)
_FROM_TEN = (
    *("ten", "eleven", "twelve", "thirteen", "fourteen"),
    *("fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_DIGITS = {word: str(digit) for digit, words in enumerate(_OF_DIGITS) for word in words}
_TENS = {word: str(digit) for digit, words in enumerate(_OF_TENS, start=1) for word in words}
_TEENS = {word: str(number) for number, word in enumerate(_FROM_TEN, start=10)}
_REPEATED = {"double": 2, "triple": 3}
_WORD = "|".join(sorted(_DIGITS, key=len, reverse=True))
_UNIT = re.compile(
    rf"(?P<times>{'|'.join(_REPEATED)})\s{{1,3}}(?P<repeated>{_WORD})(?!\w)"
    rf"|(?P<tens>{'|'.join(_TENS)})(?!\w)(?:(?:\s{{1,3}}na\s{{1,3}}|[\s-])(?P<ones>{_WORD})(?!\w))?"
    rf"|(?P<teens>{'|'.join(_TEENS)})(?!\w)|(?P<word>{_WORD})(?!\w)|(?P<digits>\d{{1,13}})(?![\w])",
    re.IGNORECASE,
)
_BETWEEN = re.compile(
    r"[\s,;:.\-/_()]{1,6}(?:(?:halafu|alafu|kisha|then|malizia(?:\sna)?|followed\sby|na|and)[\s,]{1,3})?",
    re.IGNORECASE,
)
_CUT = re.compile(r"[\s,;:.\-/_()]{0,6}(?:…|\.\.\.)")
_TOKEN = re.compile(r"[^\W\d_]+|\d+")
_ASCII_TOKEN = re.compile("[a-z]+|[0-9]+")
_UNITS = frozenset({*_DIGITS, *_TENS, *_TEENS, *_REPEATED})
_CONNECTORS = frozenset({"halafu", "alafu", "kisha", "then", "malizia", "followed", "by", "na", "and"})
_MIN_IN_A_ROW = 3
_PHONE = re.compile(r"(?:254|0)[17]\d{8}")
_PHONE_IN_WORDS = re.compile(r"(?:254|0)?[17]\d{8}")
_LONGEST_PHONE = 12
_MIN_DIGITS = 7
_MIN_WORDS = 6


@dataclass(frozen=True, slots=True)
class SpokenNumber:
    """A number and where it was said.

    Args:
        digits: as they were said.
        phone: it is a Kenyan mobile number.
    """

    start: int
    end: int
    digits: str
    phone: bool


@dataclass(frozen=True, slots=True)
class _Unit:
    start: int
    end: int
    digits: str
    in_words: bool


def may_be_spoken(text: str) -> bool:
    """Whether three digits stand in a row, in words or in groups."""
    words = _ASCII_TOKEN.findall(text.lower()) if text.isascii() else [*map(str.casefold, _TOKEN.findall(text))]
    row = 0
    for word in words:
        if word in _UNITS or word[0].isdecimal():
            row += 1
            if row == _MIN_IN_A_ROW:
                return True
        elif word not in _CONNECTORS:
            row = 0
    return False


def spoken_digits(written: str) -> str:
    """What was said in words, in digits; a number without words as it is."""
    units = _run(written, 0)
    return "".join(unit.digits for unit in units) if len(units) > 1 and _has_letters(written) else written


def _has_letters(written: str) -> bool:
    return sum(character.isalpha() for character in written) > 1


def spoken_numbers(text: str) -> Iterator[SpokenNumber]:
    """Each phone number of a text that is said piece by piece, and each other number of seven digits in words.

    Amounts are not said so: ``elfu mbili mia tano`` names its thousands and hundreds.

    Args:
        text: read plainly, with amounts and dates cleared.
    """
    if not may_be_spoken(text):
        return
    end = 0
    for token in _TOKEN.finditer(text):
        if token.start() < end or not (token[0].casefold() in _UNITS or token[0].startswith(("0", "254"))):
            continue
        units = _run(text, token.start())
        if units:
            end = units[-1].end
            yield from _numbers(units, cut=_CUT.match(text, end) is not None)


def _run(text: str, place: int) -> Sequence[_Unit]:
    units: list[_Unit] = []
    while (match := _UNIT.match(text, place)) is not None:
        units.append(_Unit(match.start(), match.end(), _digits(match), in_words=match["digits"] is None))
        between = _BETWEEN.match(text, match.end())
        if between is None:
            break
        place = between.end()
    return units


def _digits(match: re.Match[str]) -> str:
    groups = {name: value.casefold() for name, value in match.groupdict().items() if value is not None}
    if "times" in groups:
        return _DIGITS[groups["repeated"]] * _REPEATED[groups["times"]]
    if "tens" in groups:
        return _TENS[groups["tens"]] + _DIGITS.get(groups.get("ones", ""), "0")
    if "teens" in groups:
        return _TEENS[groups["teens"]]
    return groups["digits"] if "digits" in groups else _DIGITS[groups["word"]]


def _numbers(units: Sequence[_Unit], *, cut: bool) -> Iterator[SpokenNumber]:
    index, rest = 0, 0
    while index < len(units):
        count = _phone_at(units, index)
        if count:
            yield from _long_number(units[rest:index])
            phone = units[index : index + count]
            yield SpokenNumber(phone[0].start, phone[-1].end, "".join(unit.digits for unit in phone), phone=True)
            rest = index + count
        index += count or 1
    yield from _long_number(units[rest:], cut=cut)


def _phone_at(units: Sequence[_Unit], index: int) -> int:
    """How many units from here on are a phone number; 0 for none."""
    digits, words = "", True
    for count, unit in enumerate(units[index : index + _LONGEST_PHONE], start=1):
        digits, words = digits + unit.digits, words and unit.in_words
        if (_PHONE_IN_WORDS if words else _PHONE).fullmatch(digits):
            return count
        if len(digits) > _LONGEST_PHONE:
            break
    return 0


def _long_number(units: Sequence[_Unit], *, cut: bool = False) -> Iterator[SpokenNumber]:
    """Each number of enough words; of a text that is cut there, the last one may be the beginning of a longer one."""
    spoken: list[_Unit] = []
    end = _Unit(0, 0, "", in_words=False)
    for unit in (*units, end):
        if unit.in_words:
            spoken.append(unit)
            continue
        digits = "".join(number.digits for number in spoken)
        whole = len(spoken) >= _MIN_WORDS and len(digits) >= _MIN_DIGITS
        if whole or (cut and unit is end and len(spoken) >= _MIN_IN_A_ROW):
            yield SpokenNumber(spoken[0].start, spoken[-1].end, digits, phone=False)
        spoken = []


_LOOSE = re.compile(r"(?<![\w+])(?:\+?254|0)[\s\-()]*(?:[17])(?:[\s\-.()]*\d){8}(?!\d)")
_CANONICAL = re.compile(r"(?:\+?254|0)?([17]\d{8})")


def normalise_phone(value: Any) -> str | None:
    """A Kenyan mobile number as ``+2547XXXXXXXX`` or ``+2541XXXXXXXX``, None when it is not one.

    Reads ``07…``, ``01…``, ``+254…``, ``254…`` and ``7…``, with spaces, dashes, dots or brackets anywhere.
    """
    if not isinstance(value, str | int) or isinstance(value, bool):
        return None
    digits = re.sub(r"[\s\-.()]", "", str(value))
    digits = digits.replace("+2540", "+254", 1) if digits.startswith("+2540") else digits
    match = _CANONICAL.fullmatch(digits)
    return f"+254{match[1]}" if match and digits.isascii() else None


def find_phones(text: str) -> frozenset[str]:
    """Every Kenyan mobile number in a text, normalised."""
    numbers = (normalise_phone(match[0]) for match in _LOOSE.finditer(text))
    return frozenset(number for number in numbers if number)


KENYA = "254"
_REGION = "KE"
_SEPARATOR = r"[\s\-.()]{0,5}"
PHONES = (
    # Letters may touch a number on its left, and on its right unless digits follow: that is a code.
    re.compile(
        rf"(?<![\d_])(?:(?<!\d[.,])|(?=\+))(?:(?:\+|00)?{_SEPARATOR}254{_SEPARATOR}0?|0|(?<!\w)[Oo]){_SEPARATOR}[17]"
        rf"(?:{_SEPARATOR}\d){{8}}(?!_|[A-Za-z]*\d)"
    ),
    re.compile(r"(?<![\w/])(?:\+?254|0)[17]\d\d([/_])\d{3}\1\d{3}(?!\w)"),
    re.compile(rf"(?<!\w)(?:\+|00){_SEPARATOR}[1-9](?:{_SEPARATOR}\d){{6,14}}(?!\d)"),
    re.compile(r"(?<!\w)(?<!\d[.,])0\d{1,3}[\s\-.)]{0,2}\d{3,4}[\s\-.]{0,2}\d{3,4}(?!\w)"),
)
"""What is written as a phone number of Kenya, or as one of another country with its code."""
_LOCAL = re.compile(r"[17]\d{8}")
_EXTENSION = re.compile(r"\s?(?:;?ext|x|#)", re.IGNORECASE)
_ENOUGH_DIGITS = re.compile(r"\d(?:[\s\-.()/]{0,4}\d){6,}")
_MAX_READ = 500
"""Candidates of one text that the library is asked about; it takes a tenth of a millisecond for each."""


def crowded_numbers(text: str) -> tuple[tuple[int, int], ...]:
    """Each number of seven digits or more where a text holds too many to read them one by one; else none.

    No conversation holds so many. All of them are taken for phone numbers, whatever the library would say.
    """
    spans = tuple(match.span() for match in _ENOUGH_DIGITS.finditer(text))
    return spans if len(spans) > _MAX_READ else ()


def other_phones(text: str) -> Iterator[tuple[int, int]]:
    """Where ``phonenumbers`` sees a valid number, seen from Kenya; nowhere when it is not installed."""
    if not _ENOUGH_DIGITS.search(text):
        return
    try:
        from phonenumbers import Leniency, PhoneNumberMatcher  # `decide` needs only Python itself
    except ImportError:
        return
    for match in PhoneNumberMatcher(text, _REGION, leniency=Leniency.VALID, max_tries=len(text)):
        yield match.start, match.end


def read_phone(written: str) -> tuple[str, str]:
    """A phone number's country code and all its digits with it; the code is empty where it is not known.

    Args:
        written: as a pattern found it; the digits may be separated by anything.
    """
    number = _EXTENSION.split(re.sub(r"^[Oo]", "0", written), maxsplit=1)[0]
    digits = re.sub(r"\D", "", number)
    international = written.lstrip("( ").startswith(("+", "00")) or digits.startswith(KENYA)
    digits = digits.removeprefix("00")
    kenyan = normalise_phone(f"+{digits}" if digits.startswith(f"{KENYA}0") else digits)
    if kenyan:
        return KENYA, kenyan.removeprefix("+")
    return _read_foreign(digits) if international else (KENYA, KENYA + digits.removeprefix("0"))


def is_local_mobile(digits: str) -> bool:
    """Whether digits are a Kenyan mobile number without country code and zero."""
    return _LOCAL.fullmatch(digits) is not None


def _read_foreign(digits: str) -> tuple[str, str]:
    unread = (KENYA if digits.startswith(KENYA) else ""), digits
    try:
        import phonenumbers  # `decide` needs only Python itself
    except ImportError:
        return unread
    try:
        number = phonenumbers.parse(f"+{digits}", None)
    except phonenumbers.NumberParseException:
        return unread
    return str(number.country_code), phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)[1:]
