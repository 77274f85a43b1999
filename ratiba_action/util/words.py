"""Words of a text in one spelling, so that case, diacritics and punctuation do not count."""

import re
import unicodedata

_INNER_APOSTROPHE = re.compile(r"(?<=\w)['\u2018\u2019\u02bc](?=\w)")
_WORD = re.compile(r"[^\W_]+")
_MOST_MARKS = 30
_GRAPHEME_JOINER = "\u034f"


def words(text: str) -> tuple[str, ...]:
    """The words and numbers of a text: case-folded, without diacritics; an apostrophe inside a word is left out."""
    # Marks go first: to sort thousands of them on one letter takes the square of their number.
    bare = text if text.isascii() else "".join(character for character in text if not unicodedata.combining(character))
    decomposed = unicodedata.normalize("NFKD", bare)
    plain = "".join(character for character in decomposed if not unicodedata.combining(character)).casefold()
    return tuple(_WORD.findall(_INNER_APOSTROPHE.sub("", plain)))


def stream_safe(text: str) -> str:
    """The text with a joiner after each thirty marks on one letter, as Unicode's Stream-Safe Text Format has it.

    To normalise a text takes the square of the marks on one letter; of this one it takes its length.
    """
    if text.isascii():
        return text
    parts, marks = list[str](), 0
    for character in text:
        marks = marks + 1 if unicodedata.combining(character) else 0
        if marks > _MOST_MARKS:
            parts.append(_GRAPHEME_JOINER)
            marks = 1
        parts.append(character)
    return "".join(parts)
