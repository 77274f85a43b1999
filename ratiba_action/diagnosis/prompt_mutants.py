"""Finds the mutants of a text that a model reads: of each sentence, item, row, example and description."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ratiba_action.diagnosis.mutants import Mutant, Operator

_ITEM = re.compile(r"\s*([-*+]|\d+[.)])\s+")
_SKIPPED = re.compile(r"\s*(#|---+\s*$|===+\s*$|\{%|<!--|$)")
_FENCE = re.compile(r"\s*(```|~~~|<examples?\b)")
_EXAMPLE = re.compile(r"\s*(example|mfano)\b[^.]*:", re.IGNORECASE)
_SEPARATOR = re.compile(r"\s*\|?\s*:?-{2,}[\s|:-]*$")
_SENTENCE = re.compile(r"\S.*?(?:[.!?](?=[\"'`)\]*]*(?:\s|$))[\"'`)\]*]*|\Z)", re.DOTALL)
_DESCRIPTION = re.compile(r"""[\s{-]*(["']?)description\1\s*:\s*(?P<text>[^\s|>].*?)\s*,?\s*$""")
_INVERSIONS = tuple(
    (re.compile(rf"\b{pattern}\b", re.IGNORECASE), other)
    for pattern, other in (
        (r"(must|should|may|can|do|does|is|are|will) not", r"\1"),
        (r"don't", "do"),
        (r"(can)(?:not|'t)", r"\1"),
        ("never", "always"),
        ("always", "never"),
        ("kamwe", "daima"),
        ("daima", "kamwe"),
        ("must", "must not"),
        ("should", "should not"),
        ("without", "with"),
        ("only", "not only"),
    )
)


def inverted(sentence: str) -> str | None:
    """A sentence that says the opposite, by its first word that forbids, orders or restricts; None without one."""
    for pattern, other in _INVERSIONS:
        match = pattern.search(sentence)
        if match is not None:
            replaced = match.expand(other)
            replaced = replaced[0].upper() + replaced[1:] if match.group()[0].isupper() else replaced
            return sentence[: match.start()] + replaced + sentence[match.end() :]
    return None


@dataclass(frozen=True, slots=True)
class _Block:
    """Consecutive lines of a prompt that belong together, by positions of characters.

    Args:
        words: where its text begins, after the mark of an item.
        operator: that drops it; ``DROP_SENTENCE`` for a paragraph, whose sentences are dropped one by one.
    """

    begin: int
    words: int
    end: int
    operator: Operator


def prompt_mutants(path: str, text: str) -> Iterator[Mutant]:
    """The mutants of a text that a model reads."""
    found = _of_descriptions if path.endswith((".yaml", ".yml", ".json")) else _of_blocks
    for operator, begin, end, after in found(text):
        line, before = text.count("\n", 0, begin) + 1, text[begin:end].strip()
        yield Mutant(path=path, line=line, operator=operator, before=before, after=after, begin=begin, end=end)


_Edit = tuple[Operator, int, int, str]
"""An operator, the characters that it changes, and what stands there instead."""


def _of_descriptions(text: str) -> Iterator[_Edit]:
    for begin, line in _lines(text):
        match = _DESCRIPTION.match(line)
        if match is not None and match["text"] not in {"''", '""'}:
            yield Operator.DROP_DESCRIPTION, begin + match.start("text"), begin + match.end("text"), '""'


def _of_blocks(text: str) -> Iterator[_Edit]:
    for block in _blocks(_lines(text)):
        if block.operator is not Operator.DROP_SENTENCE:
            yield block.operator, block.begin, block.end, ""
        if block.operator is Operator.DROP_EXAMPLE:
            continue
        found = [] if block.operator is Operator.DROP_ROW else list(_SENTENCE.finditer(text, block.words, block.end))
        sentences = [match.span() for match in found] or [(block.words, block.end)]
        for begin, end in sentences:
            if found and (len(sentences) > 1 or block.operator is Operator.DROP_SENTENCE):
                yield Operator.DROP_SENTENCE, begin, end, ""
            opposite = inverted(text[begin:end])
            if opposite is not None:
                yield Operator.INVERT_SENTENCE, begin, end, opposite


def _lines(text: str) -> list[tuple[int, str]]:
    """Each line with the position of its first character."""
    found, position = [], 0
    for line in text.splitlines(keepends=True):
        found.append((position, line))
        position += len(line)
    return found


def _blocks(lines: Sequence[tuple[int, str]]) -> Iterator[_Block]:
    number = 0
    while number < len(lines):
        begin, line = lines[number]
        last, operator, words = number, Operator.DROP_SENTENCE, begin
        if fence := _FENCE.match(line):
            ends = fence[1] if fence[1][0] != "<" else f"</{fence[1][1:]}"
            inside = range(number + (fence[1][0] != "<"), len(lines))
            last = next((each for each in inside if ends in lines[each][1]), number)
            operator = Operator.DROP_EXAMPLE
        elif _SKIPPED.match(line) or _is_head_of_table([each for _, each in lines[number : number + 2]]):
            number += 1
            continue
        elif line.lstrip().startswith("|"):
            operator = Operator.DROP_ROW
        elif item := _ITEM.match(line):
            operator, words = Operator.DROP_ITEM, begin + item.end()
            last = _last(lines, number, lambda each: each[0] in " \t")
        else:
            last = _last(lines, number, lambda _: True)
            operator = Operator.DROP_EXAMPLE if _EXAMPLE.match(line) else operator
        yield _Block(begin, words, lines[last][0] + len(lines[last][1]), operator)
        number = last + 1


def _last(lines: Sequence[tuple[int, str]], number: int, belongs: Callable[[str], bool]) -> int:
    """The last of the lines that go on with one."""
    for following in range(number + 1, len(lines)):
        line = lines[following][1]
        begins_another = any(pattern.match(line) for pattern in (_SKIPPED, _ITEM, _FENCE)) or line.lstrip().startswith(
            "|"
        )
        if begins_another or not belongs(line):
            return following - 1
    return len(lines) - 1


def _is_head_of_table(lines: Sequence[str]) -> bool:
    """Whether the first of two lines is a table's rule, or its names above one."""
    return any("|" in lines[0] and _SEPARATOR.match(line) for line in lines)
