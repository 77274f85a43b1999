"""How texts are compared: the one normalisation of every assertion on text, and whether a text has another one.

An assertion and its negation ask the same function, so that exactly one of them passes.
"""

import re
import unicodedata
from collections.abc import Iterator

from ratiba_action.util.text import stream_safe

# Unicode's property Default_Ignorable_Code_Point (DerivedCoreProperties.txt): characters without a width of their own;
# those that mark annotations, the stroke that stretches an Arabic word, and control characters that are no white space.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u0640\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_TYPOGRAPHIC = str.maketrans(
    {"\u2019": "'", "\u02bc": "'", "\u2010": "-", "\u2011": "-", "\u2212": "-", "\u2044": "/"}
    | {"\u2800": " ", "\u066a": "%", "\u066b": ".", "\u066c": ","}
)
"""Signs that are typed otherwise, and the blank of Braille."""
_SPACES = re.compile(r"\s+")
_OTHER_DIGIT = re.compile(r"[^\x00-\x7f\D]")


def unicode_form(text: str) -> str:
    """The text as one would type it: composed and compatibility forms (NFKC), and nothing that is invisible.

    Zero-width characters are left out, no-break spaces are spaces, digits of any script are 0 to 9, and the typographic
    apostrophe, hyphen and minus are ``'`` and ``-``. Letter case and line breaks stay.
    """
    visible = _INVISIBLE.sub("", text)
    if visible.isascii():
        return visible
    composed = unicodedata.normalize("NFKC", stream_safe(visible)).translate(_TYPOGRAPHIC)
    return _OTHER_DIGIT.sub(lambda found: str(unicodedata.decimal(found[0])), composed)


def comparable(text: str, *, fold_case: bool = True) -> str:
    """The text as it is compared: its ``unicode_form``, with one space for each run of white space.

    Args:
        text: of a reply, or of what is looked for.
        fold_case: whether letter case is ignored.
    """
    form = unicode_form(text)
    if fold_case:
        # To fold case can leave a letter decomposed.
        # In Turkish, `i` is the small letter of a dotted capital, and `I` the capital of a dotless small one.
        form = unicode_form(form.casefold().replace("i\u0307", "i").replace("\u0131", "i"))
    return _SPACES.sub(" ", form)


def has_text(text: str, value: str) -> bool:
    """Whether a text has a value somewhere; case is ignored.

    Args:
        value: with something to see. A space at its start or end must be there as well.
    """
    return comparable(value) in comparable(text)


def has_word(text: str, value: str) -> bool:
    """Whether a text has a value as whole words; case is ignored.

    Before and after it there is no letter, digit or combining mark. Two exceptions keep a word and a number whole: the
    apostrophe of ``can't`` (not that of ``Nairobi's``, nor the one before a French word), and the point or comma
    between two digits. Scripts that put no spaces between words, such as Chinese and Thai, have no such limits.

    Args:
        value: a word, or several.
    """
    wanted, within = comparable(value).strip(), comparable(text)
    return any(_is_whole(within, start, start + len(wanted)) for start in _places(within, wanted))


def _places(text: str, value: str) -> Iterator[int]:
    at = text.find(value) if value else -1
    while at >= 0:
        yield at
        at = text.find(value, at + 1)


_GOES_ON = re.compile(r"'(?!s(?![^\W_]))[^\W\d_]|(?<=\d)[.,]\d")
_NUMBER_BEFORE = re.compile(r"\d[.,]\Z")
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)


def _is_whole(text: str, start: int, end: int) -> bool:
    before, after = text[start - 1 : start], text[end : end + 1]
    if _joins(before, text[start]) or _joins(text[end - 1], after):
        return False
    if _GOES_ON.match(text, end) and is_of_word(text[end - 1]):
        return False
    return not (text[start].isdigit() and _NUMBER_BEFORE.search(text, max(0, start - 2), start))


def _joins(first: str, second: str) -> bool:
    return is_of_word(first) and is_of_word(second)


def is_of_word(character: str) -> bool:
    """Whether a character is a letter, digit or combining mark of a script that separates its words; "" is not."""
    return bool(character) and (
        (character.isalnum() or unicodedata.category(character).startswith("M")) and not _UNSPACED.match(character)
    )


def place_of(text: str, value: str) -> int:
    """Where in a text a value begins, for showing it; -1 where the text does not have it."""
    at, wanted = text.casefold().find(value.casefold()), comparable(value)
    if at >= 0 or wanted not in comparable(text):
        return at
    low, high = 0, len(text)
    while low < high:  # the shortest beginning that has the value
        middle = (low + high) // 2
        low, high = (low, middle) if wanted in comparable(text[:middle]) else (middle + 1, high)
    first, last = 0, high
    while first < last:  # its shortest end that has the value
        middle = (first + last + 1) // 2
        first, last = (middle, last) if wanted in comparable(text[middle:high]) else (first, middle - 1)
    return first
