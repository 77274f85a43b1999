"""A text without the look-alikes that hide a number or a name, and where each of its characters stood."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import unquote_to_bytes

# JSON inside JSON escapes the backslash again: one, three, seven, fifteen of them.
_SPECIAL = re.compile(r"\\{1,31}u[0-9a-fA-F]{4}|\\{1,31}[nrt]|(?:%[0-9a-fA-F]{2})+|&#\d{1,5};|&nbsp;|[^\x00-\x7f]")
_LONGEST_FORM = 4
"""Characters that one stands for; more are a whole phrase, such as U+FDFA, and hold no digit and no Latin letter."""
_MARKS = frozenset({"Mn", "Me"})
"""Categories of marks, which belong to the letter or digit before them."""
_ASCII_OF_LETTERS = {"ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "đ": "d", "Đ": "D", "\u0131": "i"}


@dataclass(frozen=True, slots=True)
class PlainText:
    """A text as it is read, beside the one that was written.

    Args:
        read: the same with one form for each digit, letter, dash, space and escape, and nothing invisible.
        starts: of each character of ``read``, where in ``written`` what stands for it begins.
        ends: of each character of ``read``, where in ``written`` what stands for it ends.
    """

    written: str
    read: str
    starts: Sequence[int]
    ends: Sequence[int]

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Where in ``written`` a part of ``read`` that is not empty stands."""
        return self.starts[start], self.ends[end - 1]


def plain_text(text: str) -> PlainText:
    """Read a text: compatibility forms, other scripts' digits, JSON's and URLs' escapes, no marks and no format signs.

    Each character is read by itself, since normalising a whole text takes the square of the marks on one letter.
    """
    read: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    done = 0

    def copy(start: int, end: int) -> None:
        read.append(text[start:end])
        starts.extend(range(start, end))
        ends.extend(range(start + 1, end + 1))

    for special in _SPECIAL.finditer(text):
        copy(done, special.start())
        for character in _meant(special[0]):
            plain = _plain_character(character)
            read.append(plain)
            starts.extend([special.start()] * len(plain))
            ends.extend([special.end()] * len(plain))
            if not plain and ends and unicodedata.category(character) in _MARKS:
                ends[-1] = special.end()
        done = special.end()
    copy(done, len(text))
    return PlainText(text, "".join(read), starts, ends)


def read_plainly(text: str) -> str:
    """What ``plain_text`` reads, of a text of any length, without the places."""
    return _SPECIAL.sub(lambda special: "".join(map(_plain_character, _meant(special[0]))), text)


def _meant(special: str) -> str:
    if special[0] == "%":
        try:
            return unquote_to_bytes(special).decode()
        except UnicodeDecodeError:
            return special
    if special[0] == "&":
        return chr(int(special[2:-1])) if special[1] == "#" else " "
    if special[0] != "\\":
        return special
    letters = special.lstrip("\\")
    return chr(int(letters[1:], base=16)) if letters[0] == "u" else " "


@lru_cache(maxsize=4_096)
def _plain_character(character: str) -> str:
    if character.isascii():
        return character
    parts = unicodedata.normalize("NFKC", character)
    if len(parts) > _LONGEST_FORM:
        return character
    return "".join(_ASCII_OF_LETTERS.get(part) or _folded(part) for part in parts)


def _folded(character: str) -> str:
    if character.isdecimal():
        return str(unicodedata.decimal(character))
    return {"Cf": "", "Mn": "", "Me": "", "Pd": "-"}.get(unicodedata.category(character), character)
