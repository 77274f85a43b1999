"""Text for people: printable on a terminal and in a workflow's log, clipped, counted, with the nearest known names."""

import json
import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

_MAX = 3
_LIKENESS, _BEHIND = 0.7, 0.15
"""Share of the letters that both names have, and how far it may lie behind the best: others nobody meant."""


def nearest_names(name: str, known: Iterable[str]) -> tuple[str, ...]:
    """The known names that are most like a mistyped one, the likeliest first; none where none is like it."""
    from difflib import SequenceMatcher  # a step that only decides need not load it

    mistyped = _compared(name[:200])
    likeness = {candidate: SequenceMatcher(None, mistyped, _compared(candidate)).ratio() for candidate in sorted(known)}
    best = max(likeness.values(), default=0.0)
    near = [candidate for candidate in likeness if likeness[candidate] >= max(_LIKENESS, best - _BEHIND)]
    return tuple(sorted(near, key=lambda candidate: -likeness[candidate])[:_MAX])


def _compared(name: str) -> str:
    """A name without letter case and without the ending of all metrics, which makes none like another."""
    return name.casefold().removesuffix("metric")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The question that proposes the nearest names; empty where there are none."""
    *others, last = [repr(nearest) for nearest in nearest_names(name, known)] or [""]
    if not last:
        return ""
    return f"did you mean {', '.join(others)} or {last}?" if others else f"did you mean {last}?"


_ENDS_A_LINE = re.compile(r"[\x7f-\x9f\u2028\u2029]")


def quoted(value: Any) -> str:
    """A text, or any JSON, on one line.

    JSON escapes quotes, backslashes and the control characters below 32; the other characters at which some program
    begins a new line are escaped here.
    """
    return _ENDS_A_LINE.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False))


def in_quotes(text: str) -> str:
    """A text in quotes on one line as it was written: a backslash, as of a pattern, stays one."""
    return repr(text).replace("\\\\", "\\")


_MIN_COMMIT = 7


def short_commit(commit: str) -> str:
    """The first seven characters of a commit, and on to its first letter where they are digits only.

    Git takes any such beginning. One of 27 has seven digits, which masking would hide as somebody's phone number.
    """
    letter = re.search(r"[^0-9]", commit)
    return commit[: max(_MIN_COMMIT, letter.end())] if letter else commit


def part_of(part: int, whole: int, noun: str, one: str, several: str) -> str:
    """Such as ``1 of 3 conversations passes`` and ``0 of 1 conversation passes``.

    Args:
        noun: in the singular; its plural ends in s.
        one: what is said of a single one.
        several: what is said of none or several.
    """
    single = part == 1 or whole == 1
    return f"{part} of {whole} {noun}{'' if whole == 1 else 's'} {one if single else several}"


TRACEBACK = "Traceback (most recent call last):"


def summary_of(message: str, scenario_id: str = "") -> str:
    """What was raised, without the traceback; a message without one stays as it is.

    Args:
        scenario_id: of the conversation that it belongs to, where that is named beside it.
    """
    summary, _, _ = message.partition(f"\n{TRACEBACK}")
    return summary.removeprefix(f"scenario {scenario_id!r}: ") if scenario_id else summary


def traceback_of(message: str) -> str:
    """The traceback, a line for each frame and its code; empty without one."""
    _, found, frames = message.partition(f"\n{TRACEBACK}")
    return f"{TRACEBACK}{frames}" if found else ""


def origin_of(message: str) -> str:
    """Where and what was raised, the same for every message that one mistake leads to; empty without a traceback.

    These are the frames and the exception's type: what it says may hold a value of the conversation.
    """
    frames = traceback_of(message).split("\n")
    places = [number for number, line in enumerate(frames) if line.startswith('  File "')]
    if not places:
        return "\n".join(frames)
    raised = next((line for line in frames[places[-1] + 1 :] if not line.startswith(" ")), "")
    return "\n".join([*(frames[number] for number in places), raised.partition(":")[0]])


_CLIP = 200


def clip(text: str, limit: int = _CLIP) -> str:
    """The text on one line, at most ``limit`` characters, with an ellipsis where it was cut.

    What is clipped is often masked later: it is cut between words, and never inside a number that is written in
    groups, since the half of a key or of a phone number is not recognised as one. A word longer than that is left out.
    """
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else flat[: cut_before(flat, limit - 1)].rstrip() + "…"


def cut(text: str, limit: int) -> str:
    """At most ``limit`` characters, the last of them an ellipsis where it was cut; `clip` keeps words whole."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def cut_before(text: str, at: int) -> int:
    """The last place at or before ``at`` where the text can be cut without a part of a word or number on either side.

    Args:
        text: on one line.
        at: position in it.
    """
    while 0 < at < len(text) and _is_inside(text, at):
        at -= 1
    return at


def cut_near(text: str, at: int, until: int) -> int:
    """Where to begin to show a text from about ``at``: the next such place, or the last one if that is after ``until``.

    Args:
        text: to be shown from there.
        at: position in it.
        until: position that must be shown.
    """
    after = at
    while 0 < after < len(text) and _is_inside(text, after):
        after += 1
    return after if after <= until else cut_before(text, at)


_ENDS = frozenset("\"'`,;<>(){}[]|")
_WIDEST = 6
"""Characters between two groups of a number, such as ``(0)20 7946-0958`` and ``0712  -  345``; as masking reads it."""
_FIRST_OF_CJK = "\u2e80"


def _is_inside(text: str, at: int) -> bool:
    if _is_of_word(text[at - 1]) and _is_of_word(text[at]):
        return True
    before, after = text[max(0, at - _WIDEST - 1) : at][::-1], text[at : at + _WIDEST + 1]
    left, right = _separators(before), _separators(after)
    return left + right <= _WIDEST and before[left : left + 1].isdigit() and after[right : right + 1].isdigit()


def _separators(text: str) -> int:
    """How many characters stand before the first letter or digit."""
    return next((at for at, character in enumerate(text) if character.isalnum()), len(text))


def _is_of_word(character: str) -> bool:
    """Whether a character may be part of a word, an address or a key; those of scripts without spaces are words."""
    return not character.isspace() and character not in _ENDS and character < _FIRST_OF_CJK


_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def printable(text: str) -> str:
    r"""Replace what cannot be seen or would be obeyed: control, bidirectional and undecodable characters.

    Bytes that were not UTF-8 become ``\xff``; the ``##[command]`` syntax of workflow logs is broken up.
    """
    if text.isascii() and text.isprintable():
        return text.replace("##[", "#\\#[")
    shown = (_escape(character) if unicodedata.category(character) in _HIDDEN else character for character in text)
    return "".join(shown).replace("##[", "#\\#[")


def printable_lines(text: str) -> str:
    """The same for text of several lines: its line feeds stay, returns become them, and tabs become spaces."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "\n".join(printable(line.expandtabs(4)) for line in lines)


def unreadable_as_command(text: str) -> str:
    """JSON with the same values, in which a runner finds no ``##[command]``."""
    return text.replace("##[", r"##\u005b")


def _escape(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # noqa: PLR2004 - where surrogateescape puts a byte
        return f"\\x{code - 0xDC00:02x}"
    return character.encode("unicode_escape", "backslashreplace").decode("ascii")


_INNER_APOSTROPHE = re.compile(r"(?<=\w)['\u2018\u2019\u02bc](?=\w)")
_WORD = re.compile(r"[^\W_]+")
_MAX_MARKS = 30
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
        if marks > _MAX_MARKS:
            parts.append(_GRAPHEME_JOINER)
            marks = 1
        parts.append(character)
    return "".join(parts)


def ranges(numbers: Iterable[int]) -> list[str]:
    """Numbers in order, with neighbours as one: ``["3", "5-7"]``."""
    found = list[list[int]]()
    for number in sorted(set(numbers)):
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return [str(first) if first == last else f"{first}-{last}" for first, last in found]


def plural(count: int, noun: str) -> str:
    """A count with its noun."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def few(texts: Sequence[str], limit: int, between: str = ", ") -> str:
    """The first texts in one, and how many more there are: ``a, b and 3 more``, ``a; b; and 3 more``."""
    more = f"{';' if between == '; ' else ''} and {len(texts) - limit} more" if len(texts) > limit else ""
    return between.join(texts[:limit]) + more
