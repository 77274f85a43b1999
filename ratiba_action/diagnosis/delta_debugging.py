"""The parts of a change, and which of them make a scenario fail: delta debugging over subsets of them."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum
from itertools import pairwise

from ratiba_action.model.attribution import Attribution, ChangedPart, Finding

_TEXT = "utf-8"
_LONGEST = 4_000

_Block = tuple[str, int, int, int, int]
"""An opcode of ``SequenceMatcher``: its kind, and the lines of both sides."""
Subset = frozenset[int]
"""Positions of the parts that are applied to the base."""

PASSES_AGAIN = "the whole change passes when it is run again"
BASE_FAILS = "the base fails as well"


@dataclass(frozen=True, slots=True)
class Part:
    """A run of changed lines of one file, or a whole file that was added, removed or is no text.

    Args:
        line: of the file as the change has it, from 1, where the part begins.
        begin: position in the base's lines, from 0.
        content: of the whole file as the change has it; None for a part of a text.
        whole: the part is a whole file; without content it was removed.
    """

    path: str
    line: int = 1
    begin: int = 0
    removed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    content: bytes | None = None
    whole: bool = False

    def holds_any(self, texts: Iterable[str]) -> bool:
        """Whether one of the texts stands in a line of the part, whichever side it is of."""
        lines = [*self.removed, *self.added]
        return any(text in line for text in texts for line in lines)

    @property
    def shown(self) -> ChangedPart:
        """The part as it is reported."""
        removed, added = ("" if self.whole else _text_or_length("".join(lines)) for lines in (self.removed, self.added))
        return ChangedPart(self.path, self.line, removed, added, whole=self.whole)


def _text_or_length(text: str) -> str:
    """A text of a report; nothing is cut out of a longer one, since half a secret is not recognised."""
    return text if len(text) <= _LONGEST else f"({len(text)} characters)\n"


def split(path: str, base: bytes | None, head: bytes | None, *, by_line: bool = False) -> tuple[Part, ...]:
    """The parts of one file's change.

    Args:
        base: its content on the base; None where it has none.
        head: its content with the change; None where it has none.
        by_line: a run of changed lines is as many parts as it has lines, unless it has more or fewer on the base.
    """
    if base == head:
        return ()
    try:
        before, after = ((content or b"").decode(_TEXT).splitlines(keepends=True) for content in (base, head))
    except UnicodeDecodeError:
        return (Part(path, content=head, whole=True),)
    if base is None or head is None:
        return (Part(path, content=head, removed=tuple(before), added=tuple(after), whole=True),)
    blocks: Sequence[_Block] = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    if by_line:
        blocks = [line for block in blocks for line in _lines_of(*block)]
    return tuple(
        # Lines that were removed from the end leave no line behind them: the last one stands for them.
        Part(path, max(min(j1 + 1, len(after)), 1), i1, tuple(before[i1:i2]), tuple(after[j1:j2]))
        for kind, i1, i2, j1, j2 in blocks
        if kind != "equal"
    )


def _lines_of(kind: str, i1: int, i2: int, j1: int, j2: int) -> Iterator[_Block]:
    """A block of changed lines, line by line; as a whole where lines have no counterparts."""
    removed, added = i2 - i1, j2 - j1
    if kind == "equal" or (removed and added and removed != added):
        yield kind, i1, i2, j1, j2
        return
    for number in range(max(removed, added)):
        i, j = (begin + min(number, size) for begin, size in ((i1, removed), (j1, added)))
        yield kind, i, i + bool(removed), j, j + bool(added)


def apply_parts(base: bytes | None, parts: Sequence[Part]) -> bytes | None:
    """A file's content with some parts of its change; None where it is then missing.

    Args:
        base: its content on the base; None where it has none.
        parts: of that file. They are applied from the last to the first, so that positions stay the base's; lines that
            are added at one position stay in the change's order.
    """
    whole = next((part for part in parts if part.whole), None)
    if whole is not None:
        return whole.content
    if base is None or not parts:
        return base
    lines = base.decode(_TEXT).splitlines(keepends=True)
    for part in sorted(parts, key=lambda part: (part.begin, part.line), reverse=True):
        lines[part.begin : part.begin + len(part.removed)] = part.added
    return "".join(lines).encode(_TEXT)


class StepOutcome(StrEnum):
    """How a scenario ended with some parts of the change."""

    FAILS = "fails"
    PASSES = "passes"
    UNRESOLVED = "unresolved"
    """It did not run to its end: the parts do not fit together, or it needs a model that was not called."""


class NoFurtherStepError(Exception):
    """No further subset may be tried; the message says why."""


def attribute(parts: int, outcome: Callable[[Subset], StepOutcome]) -> Attribution:
    """Find the parts of a change that make a scenario fail, for failures that do not vary by chance.

    ``ddmin`` of Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input" (IEEE TSE 28(2), 2002):
    halves first, then their complements, then finer; the result is minimal in that no single part of it can be left
    out. A cause of one part is found in about twice the binary logarithm of the number of parts. The result is
    confirmed from the other side: the change without it must pass. Where it fails, another cause is in the rest, and is
    searched for there.

    Args:
        parts: of the change, at least one.
        outcome: of a subset; called once for each. It may raise ``NoFurtherStepError``.

    Returns:
        What is certain when the steps end; parts that may be harmless are never ``found``.
    """
    tried, causes = _Tried(outcome), list[Subset]()
    whole = frozenset(range(parts))
    rest = suspects = whole
    try:
        nothing_to_find = _checked(whole, tried)
        if nothing_to_find is not None:
            return nothing_to_find
        while tried(rest) is StepOutcome.FAILS:
            suspects = rest
            for smaller in _smaller(rest, tried):
                suspects = smaller
            causes.append(suspects)
            rest -= suspects
    except NoFurtherStepError as error:
        more = tried.known(rest) is StepOutcome.FAILS and bool(causes)
        why = f"another cause is in the rest of the change: {error}" if more else str(error)
        return _result(causes or [suspects], tried, why, several=more)
    return _result(causes, tried, _doubt(causes, rest, tried))


def _result(causes: Sequence[Subset], tried: "_Tried", doubt: str, *, several: bool = False) -> Attribution:
    finding = Finding.ONE_OF if doubt else Finding.FOUND
    finding = Finding.SEVERAL if several or len(causes) > 1 else finding
    return Attribution(finding, tuple(tuple(sorted(cause)) for cause in causes), len(tried), doubt)


def _doubt(causes: Sequence[Subset], rest: Subset, tried: "_Tried") -> str:
    """Why it is not certain that exactly these parts are the cause; empty where it is."""
    if tried(rest) is StepOutcome.UNRESOLVED:
        return "the change without them could not be run"
    several = [cause for cause in causes if len(cause) > 1]
    if any(tried.known(cause - {part}) is StepOutcome.UNRESOLVED for cause in several for part in cause):
        return "some combinations could not be run"
    return ""


def _checked(whole: Subset, tried: "_Tried") -> Attribution | None:
    """What is known without a search: the whole change must fail again, and the base must not."""
    again = tried(whole)
    if again is StepOutcome.UNRESOLVED:
        why = "the whole change could not be run again, or failed in another way"
        return Attribution(Finding.ONE_OF, (tuple(sorted(whole)),), len(tried), why)
    if again is StepOutcome.PASSES:
        return Attribution(Finding.NONE, steps=len(tried), why=PASSES_AGAIN)
    if tried(frozenset()) is StepOutcome.FAILS:
        return Attribution(Finding.NONE, steps=len(tried), why=BASE_FAILS)
    return None


class _Tried:
    """The outcome of each subset, asked for once."""

    def __init__(self, outcome: Callable[[Subset], StepOutcome]) -> None:
        self._outcome = outcome
        self._known: dict[Subset, StepOutcome] = {}

    def __call__(self, subset: Subset) -> StepOutcome:
        if subset not in self._known:
            self._known[subset] = self._outcome(subset)
        return self._known[subset]

    def __len__(self) -> int:
        return len(self._known)

    def known(self, subset: Subset) -> StepOutcome | None:
        return self._known.get(subset)


def _smaller(failing: Subset, tried: _Tried) -> Iterator[Subset]:
    """Ever smaller failing subsets, the last of them minimal."""
    pieces = 2
    while len(failing) > 1:
        chunks = _chunks(sorted(failing), pieces)
        # Of two chunks each is the rest of the other.
        candidates = [*chunks, *(failing - chunk for chunk in chunks if len(chunks) > 2)]  # noqa: PLR2004 - two
        found = next((subset for subset in candidates if tried(subset) is StepOutcome.FAILS), None)
        if found is not None:
            pieces = 2 if found in chunks else max(pieces - 1, 2)
            failing = found
            yield failing
        elif pieces >= len(failing):
            return
        else:
            pieces = min(pieces * 2, len(failing))


def _chunks(parts: Sequence[int], count: int) -> list[Subset]:
    """So many chunks of neighbouring parts, as equal as possible."""
    ends = [len(parts) * number // count for number in range(count + 1)]
    return [frozenset(parts[begin:end]) for begin, end in pairwise(ends) if begin < end]
