"""Phone numbers in every spelling people use, and what they are in one spelling.

Patterns find what is written as a phone number, whether or not a subscriber has it: a customer mistypes, and examples
are invented. ``phonenumbers`` then reads it, and finds the spellings of other countries that no pattern knows. It is
imported at the first number only, and where it is not installed, as on a runner's bare Python, the patterns do alone.
"""

import re
from collections.abc import Iterator

from ratiba_action.privacy.phones import normalise_phone

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
_MOST_READ = 500
"""Candidates of one text that the library is asked about; it takes a tenth of a millisecond for each."""


def crowded_numbers(text: str) -> tuple[tuple[int, int], ...]:
    """Each number of seven digits or more where a text holds too many to read them one by one; else none.

    No conversation holds so many. All of them are taken for numbers of persons, whatever the library would say.
    """
    spans = tuple(match.span() for match in _ENOUGH_DIGITS.finditer(text))
    return spans if len(spans) > _MOST_READ else ()


def other_phones(text: str) -> Iterator[tuple[int, int]]:
    """Where ``phonenumbers`` sees a valid number, seen from Kenya; nowhere when it is not installed."""
    if not _ENOUGH_DIGITS.search(text):
        return
    try:
        from phonenumbers import Leniency, PhoneNumberMatcher  # noqa: PLC0415 - `decide` needs only Python itself
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
    return _read_foreign(digits) if international else _read_national(digits)


def is_local_mobile(digits: str) -> bool:
    """Whether digits are a Kenyan mobile number without country code and zero."""
    return _LOCAL.fullmatch(digits) is not None


def _read_foreign(digits: str) -> tuple[str, str]:
    unread = (KENYA if digits.startswith(KENYA) else ""), digits
    try:
        import phonenumbers  # noqa: PLC0415 - `decide` needs only Python itself
    except ImportError:
        return unread
    try:
        number = phonenumbers.parse(f"+{digits}", None)
    except phonenumbers.NumberParseException:
        return unread
    return str(number.country_code), phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)[1:]


def _read_national(digits: str) -> tuple[str, str]:
    return KENYA, KENYA + digits.removeprefix("0")
