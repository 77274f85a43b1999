"""Words of a text in one spelling, so that case, diacritics and punctuation do not count."""

import re
import unicodedata

_INNER_APOSTROPHE = re.compile(r"(?<=\w)['\u2018\u2019\u02bc](?=\w)")
_WORD = re.compile(r"[^\W_]+")


def words(text: str) -> tuple[str, ...]:
    """The words and numbers of a text: case-folded, without diacritics; an apostrophe inside a word is left out."""
    decomposed = unicodedata.normalize("NFKD", text)
    plain = "".join(one for one in decomposed if not unicodedata.combining(one)).casefold()
    return tuple(_WORD.findall(_INNER_APOSTROPHE.sub("", plain)))
