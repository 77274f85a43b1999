"""Which parts of a change make a scenario fail: delta debugging over subsets of the change."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

Subset = frozenset[int]
"""Positions of the parts that are applied to the base."""


class Outcome(StrEnum):
    """How a scenario ended with some parts of the change."""

    FAILS = "fails"
    PASSES = "passes"
    UNRESOLVED = "unresolved"
    """It did not run to its end: the parts do not fit together, or it needs a model that was not called."""


class Finding(StrEnum):
    """What is known of the cause."""

    FOUND = "found"
    """The parts fail together, no smaller subset of them that was tried does, and without them the scenario passes."""
    ONE_OF = "one_of"
    """The cause is among these parts; no further step could tell them apart."""
    SEVERAL = "several"
    """The parts fail together, and without them the scenario still fails: another cause is in the change."""
    NONE = "none"
    """The base fails as well, or the whole change passes: no part of the change is the cause."""


@dataclass(frozen=True, slots=True)
class Attribution:
    """The cause of one scenario's failure.

    Args:
        parts: of the cause, by position; empty where there is none.
        steps: how many subsets were asked for.
        why: why no more is known; empty where everything is.
    """

    finding: Finding
    parts: tuple[int, ...] = ()
    steps: int = 0
    why: str = ""


class NoFurtherStepError(Exception):
    """No further subset may be tried; the message says why."""


def attribute(parts: int, outcome: Callable[[Subset], Outcome]) -> Attribution:
    """Find the parts of a change that make a scenario fail, for failures that do not vary by chance.

    ``ddmin`` of Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input" (IEEE TSE 28(2), 2002):
    halves first, then their complements, then finer; the result is minimal in that no single part of it can be left
    out. A cause of one part is found in about twice the binary logarithm of the number of parts. The result is
    confirmed from the other side: the change without it must pass.

    Args:
        parts: of the change, at least one.
        outcome: of a subset; called once for each. It may raise ``NoFurtherStepError``.

    Returns:
        What is certain when the steps end; parts that may be harmless are never ``found``.
    """
    tried = _Tried(outcome)
    whole = frozenset(range(parts))
    suspects = whole
    try:
        nothing_to_find = _checked(whole, tried)
        if nothing_to_find is not None:
            return nothing_to_find
        for smaller in _smaller(whole, tried):
            suspects = smaller
        without = tried(whole - suspects)
    except NoFurtherStepError as error:
        return Attribution(Finding.ONE_OF, tuple(sorted(suspects)), len(tried), str(error))
    found = tuple(sorted(suspects))
    if without is Outcome.FAILS:
        return Attribution(Finding.SEVERAL, found, len(tried))
    why = ""
    if without is Outcome.UNRESOLVED:
        why = "the change without them could not be run"
    elif len(found) > 1 and any(tried.known(suspects - {part}) is Outcome.UNRESOLVED for part in found):
        why = "some combinations could not be run"
    return Attribution(Finding.ONE_OF if why else Finding.FOUND, found, len(tried), why)


def _checked(whole: Subset, tried: "_Tried") -> Attribution | None:
    """What is known without a search: the whole change must fail again, and the base must not."""
    again = tried(whole)
    if again is Outcome.UNRESOLVED:
        why = "the whole change could not be run again, or failed in another way"
        return Attribution(Finding.ONE_OF, tuple(sorted(whole)), len(tried), why)
    if again is Outcome.PASSES:
        return Attribution(Finding.NONE, steps=len(tried), why="the whole change passes when it is run again")
    if tried(frozenset()) is Outcome.FAILS:
        return Attribution(Finding.NONE, steps=len(tried), why="the base fails as well")
    return None


class _Tried:
    """The outcome of each subset, asked for once."""

    def __init__(self, outcome: Callable[[Subset], Outcome]) -> None:
        self._outcome = outcome
        self._known: dict[Subset, Outcome] = {}

    def __call__(self, subset: Subset) -> Outcome:
        if subset not in self._known:
            self._known[subset] = self._outcome(subset)
        return self._known[subset]

    def __len__(self) -> int:
        return len(self._known)

    def known(self, subset: Subset) -> Outcome | None:
        return self._known.get(subset)


def _smaller(failing: Subset, tried: _Tried) -> Iterator[Subset]:
    """Ever smaller failing subsets, the last of them minimal."""
    pieces = 2
    while len(failing) > 1:
        chunks = _chunks(sorted(failing), pieces)
        # Of two chunks each is the rest of the other.
        candidates = [*chunks, *(failing - chunk for chunk in chunks if len(chunks) > 2)]  # noqa: PLR2004 - two
        found = next((subset for subset in candidates if tried(subset) is Outcome.FAILS), None)
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
