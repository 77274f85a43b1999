"""Which files a scenario says it depends on, read without a YAML library.

Only asked when a change would be skipped: a document that a conversation is answered from is no documentation.
"""

import re
from collections.abc import Sequence

from ratiba_action.model.change import Mode, Rule

_KEY = re.compile(r"(?P<indent>\s*(?:-\s+)*)(?P<quote>[\"']?)touches(?P=quote)\s*:(?:\s+(?P<value>.*))?")
_INLINE = re.compile(r"[{,]\s*([\"']?)touches\1\s*:")
_WORD = re.compile(
    r"\"(?P<double>(?:[^\"\\]|\\[\"\\/])*)\"|'(?P<single>(?:[^']|'')*)'"
    r"|(?P<plain>[^\s,\[\]{}#&*!|>'\"%@`-](?:[^,\[\]{}#\n]|(?<=\S)#)*|-(?=\S)(?:[^,\[\]{}#\n]|(?<=\S)#)*)"
)
_BETWEEN = re.compile(r"(?:\s|(?:(?<=\s)|^)#[^\n]*)*")


def read_touches(text: str) -> tuple[Rule, ...]:
    """Floors for the files of a scenario's ``touches``: a change to one of them is at least advisory.

    Args:
        text: of a scenario file.

    Raises:
        ValueError: there is a ``touches`` in a form that is not understood, so that its files are not known.
    """
    lines = text.splitlines()
    patterns: dict[str, None] = {}
    for number, line in enumerate(lines):
        key = _KEY.fullmatch(line)
        if key is not None:
            patterns |= dict.fromkeys(_list(key, lines[number + 1 :]))
        elif _INLINE.search(line) and not line.lstrip().startswith("#"):
            raise ValueError("'touches' stands in braces")
    return tuple(Rule(Mode.ADVISORY, pattern) for pattern in patterns if pattern)


def _list(key: re.Match[str], following: Sequence[str]) -> list[str]:
    value = _without_comment(key["value"] or "")
    if value.startswith("["):
        return _flow("\n".join([key["value"], *following]))
    if value in ("~", "null"):
        return []
    if value:
        raise ValueError(f"'touches' is {value[:80]!r}, not a list")
    return _items(len(key["indent"]), following)


def _items(indent: int, following: Sequence[str]) -> list[str]:
    """The ``- pattern`` lines below the key; comments and empty lines may stand between them."""
    found: list[str] = []
    for line in following:
        bare = _without_comment(line.strip())
        if not bare:
            continue
        depth = len(line) - len(line.lstrip())
        item = re.fullmatch(r"-\s+(.*)", bare)
        if item is None or depth < indent:
            if depth > indent:
                raise ValueError(f"the line {bare[:80]!r} below 'touches' is no '- pattern'")
            break
        found.append(_word(item[1]))
    return found


def _flow(text: str) -> list[str]:
    """The entries of ``[a, 'b', "c"]``, which may go over several lines with comments."""
    found: list[str] = []
    place = _skip(text, text.index("[") + 1)
    while not text.startswith("]", place):
        word = _WORD.match(text, place)
        if word is None:
            raise ValueError("the list of 'touches' is not a plain one")
        found.append(_plain(word))
        place = _skip(text, word.end())
        if text.startswith(",", place):
            place = _skip(text, place + 1)
        elif not text.startswith("]", place):
            raise ValueError("the list of 'touches' is not a plain one")
    return found


def _skip(text: str, place: int) -> int:
    found = _BETWEEN.match(text, place)
    return found.end() if found else place


def _word(text: str) -> str:
    word = _WORD.fullmatch(text)
    if word is None and re.fullmatch(r"[^\s\[\]{}&*!|>'\"%@`-].*", text) and ": " not in text:
        return text  # a plain item may hold commas and brackets
    if word is None:
        raise ValueError(f"the entry {text[:80]!r} of 'touches' is not a plain one")
    return _plain(word)


def _plain(word: re.Match[str]) -> str:
    if word["double"] is not None:
        return re.sub(r"\\(.)", r"\1", word["double"])
    return (word["plain"] or (word["single"] or "").replace("''", "'")).strip()


def _without_comment(text: str) -> str:
    """A line without its comment, which no quotes hold."""
    quoted = re.match(r"(?:-\s+)?(?:\"(?:[^\"\\]|\\.)*\"|'(?:[^']|'')*')", text)
    start = quoted.end() if quoted else 0
    return (text[:start] + re.sub(r"(^|\s)#.*", "", text[start:])).strip() if start or text else ""
