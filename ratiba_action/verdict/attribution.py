"""Which parts of a change make a scenario fail: delta debugging over subsets of the change."""

from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from itertools import pairwise

from ratiba_action.model.attribution import Attribution, Finding

Subset = frozenset[int]
"""Positions of the parts that are applied to the base."""

PASSES_AGAIN = "the whole change passes when it is run again"


class Outcome(StrEnum):
    """How a scenario ended with some parts of the change."""

    FAILS = "fails"
    PASSES = "passes"
    UNRESOLVED = "unresolved"
    """It did not run to its end: the parts do not fit together, or it needs a model that was not called."""


class NoFurtherStepError(Exception):
    """No further subset may be tried; the message says why."""


def attribute(parts: int, outcome: Callable[[Subset], Outcome]) -> Attribution:
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
        while tried(rest) is Outcome.FAILS:
            suspects = rest
            for smaller in _smaller(rest, tried):
                suspects = smaller
            causes.append(suspects)
            rest -= suspects
    except NoFurtherStepError as error:
        more = tried.known(rest) is Outcome.FAILS and bool(causes)
        why = f"another cause is in the rest of the change: {error}" if more else str(error)
        return _result(causes or [suspects], tried, why, several=more)
    return _result(causes, tried, _doubt(causes, rest, tried))


def _result(causes: Sequence[Subset], tried: "_Tried", doubt: str, *, several: bool = False) -> Attribution:
    finding = Finding.ONE_OF if doubt else Finding.FOUND
    finding = Finding.SEVERAL if several or len(causes) > 1 else finding
    return Attribution(finding, tuple(tuple(sorted(cause)) for cause in causes), len(tried), doubt)


def _doubt(causes: Sequence[Subset], rest: Subset, tried: "_Tried") -> str:
    """Why it is not certain that exactly these parts are the cause; empty where it is."""
    if tried(rest) is Outcome.UNRESOLVED:
        return "the change without them could not be run"
    several = [cause for cause in causes if len(cause) > 1]
    if any(tried.known(cause - {part}) is Outcome.UNRESOLVED for cause in several for part in cause):
        return "some combinations could not be run"
    return ""


def _checked(whole: Subset, tried: "_Tried") -> Attribution | None:
    """What is known without a search: the whole change must fail again, and the base must not."""
    again = tried(whole)
    if again is Outcome.UNRESOLVED:
        why = "the whole change could not be run again, or failed in another way"
        return Attribution(Finding.ONE_OF, (tuple(sorted(whole)),), len(tried), why)
    if again is Outcome.PASSES:
        return Attribution(Finding.NONE, steps=len(tried), why=PASSES_AGAIN)
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
