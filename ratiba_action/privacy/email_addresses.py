"""E-mail addresses, as they are written and as they are spelled out to a person."""

import re

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
_AT = re.compile(f"{_BRACKETED_AT}|{_SPOKEN_AT}")
_MEANT = (
    (re.compile(rf"{_BRACKETED_DOT}|{_SPOKEN_DOT}"), "."),
    (re.compile(rf"{_SPACES}underscore{_SPACES}"), "_"),
    (re.compile(rf"{_SPACES}(?:dash|hyphen){_SPACES}"), "-"),
    (re.compile(rf"{_SPACES}plus{_SPACES}"), "+"),
    (re.compile(r"\s"), ""),
)
_MAY_BE_SPELLED = re.compile(rf"@|[(\[{{<]at[)\]}}>]|\b(?:dot|nukta)\b|\b{_PROVIDER}\b", re.IGNORECASE)


def email_patterns(text: str) -> tuple[re.Pattern[str], ...]:
    """The patterns that can fit a text; none for most."""
    if not _MAY_BE_SPELLED.search(text):
        return ()
    return (_WRITTEN, *_SPELLED) if "@" in text else _SPELLED


def one_address(written: str) -> str:
    """An address as a mail server takes it, in lower case."""
    address = _AT.sub("@", written.casefold())
    for pattern, sign in _MEANT:
        address = pattern.sub(sign, address)
    return address
