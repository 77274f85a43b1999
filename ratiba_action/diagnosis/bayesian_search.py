"""Which parts of a change make a scenario fail by chance: a Bayesian choice of subsets, then a confirmation.

A run says little where a scenario fails nine times in ten with its cause and once in twenty without it. Each hypothesis
(no part; one part; two parts that are both needed; two parts of which either suffices) has a probability, which every
run updates by Bayes' theorem. The next subset is the one whose outcome is expected to say most: with the mass *m* of
the hypotheses under which it fails, the expected information is the mutual information of a binary channel, which
depends on *m* alone (MacKay, "Information Theory, Inference, and Learning Algorithms", 2003, section 9.6).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ratiba_action.diagnosis.delta_debugging import BASE_FAILS, PASSES_AGAIN, NoFurtherStepError, StepOutcome, Subset
from ratiba_action.model.attribution import Attribution, Finding

Vector = NDArray[np.float64]

_SURE = 0.95
"""Probability from which a hypothesis is confirmed, and of the parts that are said to hold the cause."""
_STARTS = 6
"""Random subsets that the search for the next one begins from."""
_CONFIRMATIONS = 3
"""Hypotheses that may fail their confirmation before nothing is said: the cause is then of another kind."""
_UNRESOLVED = 10
"""Runs that did not come to their end before nothing is said."""
_REPEATS, _MIN_FAILS, _MAX_FAILS = 4, 3, 1
"""Runs of each subset in the confirmation; how many must fail with the cause, and may fail without it."""


_CAUSE, _REST = 0.9, 0.05
"""How often the scenario is taken to fail with the cause, and without it."""


def attribute_by_chance(parts: int, outcome: Callable[[Subset], StepOutcome], seed: int = 0) -> Attribution:
    """Find the parts of a change that make a scenario fail, for failures that vary by chance.

    Nothing is ``found`` without a confirmation by runs of its own: three of four with the cause alone fail, and at most
    one of four of the change without it; these runs alternate in random order, so that a drift of the system's model
    reaches both.

    Args:
        parts: of the change, at least one.
        outcome: of a new run of a subset. It may raise ``NoFurtherStepError``.
    """
    search = _Search(parts, outcome, np.random.default_rng(seed))
    try:
        return search.result()
    except NoFurtherStepError as error:
        return search.so_far(str(error))


@dataclass(frozen=True, slots=True)
class _Hypothesis:
    """Groups of parts that each suffice; none where no part is the cause.

    Args:
        always: without groups: whether the base fails as well.
    """

    causes: tuple[Subset, ...] = ()
    always: bool = False

    def confirmation(self, whole: Subset) -> tuple[tuple[Subset, ...], tuple[Subset, ...]]:
        """The subsets that must fail, and those that must pass."""
        if not self.causes:
            return ((frozenset(),), ()) if self.always else ((), (whole,))
        if len(self.causes) == 1:
            return self.causes, tuple(whole - {part} for part in sorted(self.causes[0]))
        return self.causes, (whole - frozenset().union(*self.causes),)


class _Belief:
    """The probability of each hypothesis; pairs are the upper triangle of a matrix."""

    def __init__(self, parts: int) -> None:
        pairs = np.triu(np.ones((parts, parts)), 1)
        count = max(pairs.sum(), 1.0)
        self._parts = parts
        self.never, self.always = 0.05, 0.05
        self.one: Vector = np.full(parts, 0.6 / parts)
        self.both: Vector = pairs * 0.15 / count
        self.either: Vector = pairs * 0.15 / count
        self._normalise()

    def update(self, subset: Subset, *, failed: bool) -> None:
        """Take a run into account."""
        cause, rest = _CAUSE, _REST
        if not failed:
            cause, rest = 1 - cause, 1 - rest
        inside = self._inside(subset)
        self.never *= rest
        self.always *= cause
        self.one *= np.where(inside, cause, rest)
        self.both *= np.where(np.outer(inside, inside), cause, rest)
        self.either *= np.where(np.outer(1 - inside, 1 - inside), rest, cause)
        self._normalise()

    def _normalise(self) -> None:
        total = self.never + self.always + self.one.sum() + self.both.sum() + self.either.sum()
        self.never, self.always = self.never / total, self.always / total
        self.one, self.both, self.either = self.one / total, self.both / total, self.either / total

    def _inside(self, subset: Subset) -> Vector:
        return np.array([float(part in subset) for part in range(self._parts)])

    def likeliest(self) -> tuple[_Hypothesis, float]:
        """The hypothesis with the greatest probability, and that."""
        found = [(_Hypothesis(), self.never), (_Hypothesis(always=True), self.always)]
        single = int(self.one.argmax())
        found.append((_Hypothesis((frozenset({single}),)), float(self.one[single])))
        for pairs, together in ((self.both, True), (self.either, False)):
            first, second = (int(place) for place in np.unravel_index(pairs.argmax(), pairs.shape))
            causes = (frozenset({first, second}),) if together else (frozenset({first}), frozenset({second}))
            found.append((_Hypothesis(causes), float(pairs[first, second])))
        return max(found, key=lambda pair: pair[1])

    def suspects(self) -> Subset:
        """The fewest parts that hold the cause with a probability of 95 %; every part where none may be the cause."""
        whole = frozenset(range(self._parts))
        if self.never + self.always > 1 - _SURE:
            return whole
        # In order of how probable it is that a part belongs to the cause.
        pairs = self.both + self.either
        order = [int(part) for part in np.argsort(-(self.one + pairs.sum(axis=0) + pairs.sum(axis=1)), kind="stable")]
        for count in range(1, self._parts):
            chosen = order[:count]
            if self.one[chosen].sum() + pairs[np.ix_(chosen, chosen)].sum() >= _SURE:
                return frozenset(chosen)
        return whole

    def most_informative(self, random: np.random.Generator, unresolved: set[Subset]) -> Subset:
        """A subset whose outcome is expected to say most, by local search; none of those that could not be run."""
        starts = [(random.random(self._parts) < random.uniform(0.2, 0.8)).astype(float) for _ in range(_STARTS)]
        found = [self._climbed(start) for start in starts]
        found = [(value, subset) for value, subset in found if subset not in unresolved] or [
            (0.0, frozenset(np.flatnonzero(start).tolist())) for start in starts
        ]
        return max(found, key=lambda pair: pair[0])[1]

    def _climbed(self, inside: Vector) -> tuple[float, Subset]:
        both, either = self.both + self.both.T, self.either + self.either.T
        everything = self.either.sum()
        for _ in range(2 * self._parts):
            outside = 1 - inside
            mass = self.always + inside @ self.one + inside @ self.both @ inside
            mass += everything - outside @ self.either @ outside
            value = self._information(mass)
            flipped = mass + (1 - 2 * inside) * (self.one + both @ inside + either @ outside)
            values = self._information(flipped)
            best = int(values.argmax())
            if values[best] <= value + 1e-9:
                break
            inside = inside.copy()
            inside[best] = 1 - inside[best]
        return float(value), frozenset(np.flatnonzero(inside).tolist())

    def _information(self, mass: Vector) -> Vector:
        """Expected information, in bits, of a run that fails by its cause with this probability."""
        mass = np.clip(mass, 0.0, 1.0)
        cause, rest = _CAUSE, _REST
        fails = mass * cause + (1 - mass) * rest
        return _entropy(fails) - mass * _entropy(np.asarray(cause)) - (1 - mass) * _entropy(np.asarray(rest))


def _entropy(share: Vector) -> Vector:
    clipped = np.clip(share, 1e-12, 1 - 1e-12)
    result: Vector = -clipped * np.log2(clipped) - (1 - clipped) * np.log2(1 - clipped)
    return result


class _Search:
    """Asks for runs until a hypothesis is confirmed."""

    def __init__(self, parts: int, outcome: Callable[[Subset], StepOutcome], random: np.random.Generator) -> None:
        self._whole = frozenset(range(parts))
        self._outcome, self._random = outcome, random
        self._belief = _Belief(parts)
        self._steps = 0
        self._unresolved: set[Subset] = set()
        self._ended: set[StepOutcome] = set()
        self._failures = self._doubted = 0

    def result(self) -> Attribution:
        while self._failures < _UNRESOLVED and self._doubted < _CONFIRMATIONS:
            hypothesis, probability = self._belief.likeliest()
            if probability < _SURE:
                self._ask(self._belief.most_informative(self._random, self._unresolved))
                continue
            if self._confirmed(hypothesis):
                return self._answer(hypothesis)
            self._doubted += 1
        if self._doubted >= _CONFIRMATIONS:
            return self._as(Finding.NOT_RESOLVED, (), "no part or pair of parts was confirmed as the cause")
        return self._as(Finding.NOT_RESOLVED, (), "too many combinations could not be run")

    def _answer(self, hypothesis: _Hypothesis) -> Attribution:
        if hypothesis.causes:
            return self._as(Finding.FOUND if len(hypothesis.causes) == 1 else Finding.SEVERAL, hypothesis.causes)
        why = BASE_FAILS if hypothesis.always else PASSES_AGAIN
        # What failed in every run, as it did in the gate's own, has not been seen to vary.
        varies = "; the failure varies by chance" if StepOutcome.PASSES in self._ended else ""
        return self._as(Finding.NONE, (), f"{why}{varies}")

    def so_far(self, why: str) -> Attribution:
        """What is known when no further run is possible."""
        suspects = self._belief.suspects()
        # A hypothesis that failed its confirmation says that the cause may be of a kind that none describes.
        if self._doubted or suspects == self._whole:
            return self._as(Finding.NOT_RESOLVED, (), why)
        return self._as(Finding.ONE_OF, (suspects,), f"with a probability of {_SURE:.0%}; {why}")

    def _as(self, finding: Finding, causes: Sequence[Subset], why: str = "") -> Attribution:
        return Attribution(finding, tuple(tuple(sorted(cause)) for cause in causes), self._steps, why, by_chance=True)

    def _confirmed(self, hypothesis: _Hypothesis) -> bool:
        """Whether fresh runs show the cause from both sides; ends as soon as they cannot any more."""
        failing, passing = hypothesis.confirmation(self._whole)
        schedule = [subset for subset in (*failing, *passing) for _ in range(_REPEATS)]
        fails = dict.fromkeys((*failing, *passing), 0)
        runs = dict.fromkeys(fails, 0)
        for place in self._random.permutation(len(schedule)):
            subset = schedule[int(place)]
            ended = self._ask(subset)
            if ended is StepOutcome.UNRESOLVED:
                return False
            runs[subset] += 1
            fails[subset] += ended is StepOutcome.FAILS
            if subset in passing and fails[subset] > _MAX_FAILS:
                return False
            if subset in failing and runs[subset] - fails[subset] > _REPEATS - _MIN_FAILS:
                return False
        return True

    def _ask(self, subset: Subset) -> StepOutcome:
        ended = self._outcome(subset)
        self._steps += 1
        self._ended.add(ended)
        if ended is StepOutcome.UNRESOLVED:
            self._unresolved.add(subset)
            self._failures += 1
        else:
            self._belief.update(subset, failed=ended is StepOutcome.FAILS)
        return ended
