"""Is the change worse than its base? Screen, confirm, look at single scenarios, rule out the margin.

The rules and their error rates are in ``docs/statistics.md``; ``benchmarks/operating_characteristics.py`` measures
this code.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median, variance

from ratiba_action.model.comparison import Comparison, NotComparable, Pair, Rules, ScenarioComparison, Tier
from ratiba_action.model.values import mean
from ratiba_action.verdict.families import (
    Cluster,
    cluster_error,
    cluster_interval,
    clusters_of,
    clusters_of_rounds,
    effective_number,
    merged,
    rounds_of_families,
)
from ratiba_action.verdict.few_scenarios import (
    detectable_by_few,
    differences_of_recordings,
    is_futile,
    next_look,
    raises_alarm,
    rounds_of_few,
)
from ratiba_action.verdict.interval import Interval, minimum_detectable_effect, t_interval
from ratiba_action.verdict.pairing import common_trials, compared_trials
from ratiba_action.verdict.run_to_run import RunToRun, run_to_run, runs_of
from ratiba_action.verdict.sign_flip import look_levels, sign_flip_p


def points(difference: float) -> str:
    """The size of a difference of scores from 0 to 1 in points of a hundred, such as ``6.5 points``."""
    size = round(abs(difference) * 100, 1)
    return f"{size:g} point" if size == 1 else f"{size:g} points"


_CONFIDENCE = 0.90
"""Two-sided, so that its lower end is a one-sided bound at 5 %."""

_ERRORS = 2.5
"""Standard errors that a scenario's further trials must lie below its base for its drop to have shown again."""

_COLLAPSE, _COLLAPSE_ERRORS = 0.50, 5.0
"""Drop of an ordinary scenario that blocks by itself, and how many standard errors of its further trials it must be."""

_FUTILE = (0.5, 0.3, 0.15)
"""p-values above which further trials speak against a drop: after the first look, the second, and each later one."""

_MIN_MEASUREMENTS = 3
"""Measurements at least at a look that may end the search."""

_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Wanted:
    """Trials that the comparison needs before it can say more, on both arms.

    Args:
        trials: how many further trials of each scenario, by its id; never 0.
        so_far: what is known without them; never a regression.
        mild: few scenarios ask for them, and neither their mean nor one of them has fallen far.
    """

    trials: dict[str, int]
    so_far: Comparison
    mild: bool = False


def examine(
    pairs: Sequence[Pair],
    not_comparable: Sequence[NotComparable],
    rules: Rules,
    *,
    exact: bool,
    replayed: bool = False,
) -> Comparison | Wanted:
    """Compare both arms as far as the data goes.

    Args:
        pairs: all scenarios that can be compared.
        not_comparable: what cannot; handed on.
        rules: levels and margins, frozen when the run started.
        exact: both arms were replayed once, so that nothing varies by chance.
        replayed: both arms were replayed, perhaps several trials of each scenario.

    Returns:
        What is known, or the further trials that an alarm has to be confirmed by.
    """
    left = tuple(not_comparable)
    if not pairs:
        return Comparison(Tier.NOT_COMPARABLE, (), left, "Nothing of the base can be compared with this change.")
    if exact:
        return _examine_exactly(pairs, left, rules)
    examination = _OfFew if len(pairs) < rules.min_scenarios else _Examination
    return examination(pairs, left, rules, replayed=replayed).result()


def _examine_exactly(pairs: Sequence[Pair], left: tuple[NotComparable, ...], rules: Rules) -> Comparison:
    changes = [_mean_change(pair) for pair in pairs]
    dropped = [pair for pair in pairs if _mean_change(pair) <= -rules.scenario_drop + _ROUNDING]
    difference = mean(changes)
    # It decides nothing: it shows how far other conversations like these might move.
    interval = t_interval(changes, _CONFIDENCE) if len(changes) > 1 else None
    collapsed = any(_mean_change(pair) <= -_COLLAPSE + _ROUNDING for pair in dropped)
    regression = difference <= -rules.min_margin + _ROUNDING or _counts(dropped) or collapsed
    moved = "improved" if difference > _ROUNDING else "did not change" if abs(difference) <= _ROUNDING else "fell"
    tier = Tier.REGRESSION if regression else Tier.IMPROVED if difference > _ROUNDING else Tier.WITHIN_NOISE
    reason = f"The mean score {moved}" + ("" if abs(difference) <= _ROUNDING else f" by {points(difference)}")
    reason += ", exactly: each side ran once, and the gateway saw no new model call."
    return Comparison(
        tier,
        tuple(_scenario(pair, (pair.base, pair.head), rules, again=pair in dropped) for pair in pairs),
        left,
        reason,
        exact=True,
        difference=difference,
        low=None if interval is None else interval.low,
        high=None if interval is None else interval.high,
        margin=rules.min_margin,
    )


class _Examination:
    """One comparison of pairs that vary by chance.

    The first look compares the planned trials, those of the base perhaps of earlier runs. It only chooses what is
    looked at again. What blocks is found in further trials alone, which run on both arms beside each other: whatever
    has changed since the base was measured, a provider's model for one, changes both.
    """

    def __init__(self, pairs: Sequence[Pair], left: tuple[NotComparable, ...], rules: Rules, *, replayed: bool) -> None:
        # Recordings have all the trials that they will ever have, and few families would need more.
        self._pairs = tuple(replace(pair, family="") for pair in pairs) if replayed else tuple(pairs)
        self._left, self._rules, self._replayed = left, rules, replayed
        self._first = list(map(_mean_change, pairs))
        self._screen_p = sign_flip_p(self._first)
        self._suspects = [
            pair for pair, change in zip(pairs, self._first, strict=True) if change <= -rules.scenario_drop + _ROUNDING
        ]
        self._common = common_trials(pairs)
        self._families = clusters_of(self._pairs, self._first)
        self._effective = effective_number(self._families)
        self._few_families = self._effective < min(rules.min_scenarios, len(pairs))
        # An attempt before this one may have raised the alarm: its data is added, so its question stays open.
        self._alarm = self._raises_alarm() or all(pair.added_head for pair in pairs)
        self._run_to_run = self._noise_of_runs()
        self._confirm_p = self._confirming_p() if self._looks else None

    def _raises_alarm(self) -> bool:
        return self._screen_p <= _screen_level(self._pairs, self._rules)

    @property
    def _rounds(self) -> int:
        """How many looks at further trials there are at most."""
        if self._few_families:
            return rounds_of_families(self._effective, self._rules)
        return self._rules.confirming_trials

    @property
    def _looks(self) -> int:
        """How many looks at further trials were taken."""
        return min(self._common, self._rounds) if self._alarm else 0

    def _next_look(self) -> int:
        """How many further trials every scenario has at the look that comes next, or at the last one."""
        if not self._alarm or self._is_futile:
            return 0
        first = math.ceil(_MIN_MEASUREMENTS / self._effective)
        return min(max(self._looks + 1, first), self._rounds)

    @property
    def _is_futile(self) -> bool:
        """Whether further trials speak so clearly against a drop that more of them would be wasted."""
        if self._confirm_p is None or self._looks * self._effective < _MIN_MEASUREMENTS:
            return False
        return self._confirm_p > _FUTILE[min(self._looks, len(_FUTILE)) - 1]

    def _measurements(self) -> list[Cluster]:
        """What counts as one measurement: a family, or of few families each round of each."""
        if self._few_families and self._looks:
            return clusters_of_rounds(self._pairs, self._common)
        return clusters_of(self._pairs, self._changes())

    def _tested(self) -> list[float]:
        """What the looks test, each with a sign of its own: changes of whole families in further trials."""
        if self._few_families:
            return [cluster.total for cluster in clusters_of_rounds(self._pairs, self._common)]
        changes = [_fresh_change(pair, self._common) for pair in self._pairs]
        return [cluster.total for cluster in clusters_of(self._pairs, changes)]

    def _noise_of_runs(self) -> RunToRun:
        """Of further trials; where rounds are measurements of their own, these have it already."""
        if not self._looks or self._replayed or self._effective < self._rules.min_scenarios:
            return RunToRun()
        return run_to_run(runs_of(self._pairs, self._common))

    def _confirming_p(self) -> float:
        """A drop must be beyond chance for scenarios, and for runs where these vary by more than scenarios explain."""
        flips = sign_flip_p(self._tested())
        if self._run_to_run.ratio <= 1:
            return flips
        changes = [_fresh_change(pair, self._common) for pair in self._pairs]
        error = cluster_error(clusters_of(self._pairs, changes))
        return flips if error is None else max(flips, self._run_to_run.drop_p(mean(changes), error))

    @property
    def _mean_fell(self) -> bool:
        if self._confirm_p is None:
            return False
        return self._confirm_p <= look_levels(self._rules.confirm_level, self._rounds)[self._looks - 1]

    def result(self) -> Comparison | Wanted:
        again = [pair for pair in self._suspects if self._has_fallen(pair)]
        wanted = {} if self._mean_fell or self._dropped(again) else self._wanted()
        return Wanted(wanted, self._so_far(), self._is_mild()) if wanted else self._conclude(again)

    def _is_mild(self) -> bool:
        return False

    def _dropped(self, again: Sequence[Pair]) -> bool:
        """Whether the scenarios that fell again block: two, a critical one, or one that collapsed."""
        return _counts(again) or any(self._fell_again(pair, _COLLAPSE, _COLLAPSE_ERRORS) for pair in again)

    def _wanted(self) -> dict[str, int]:
        suspected = {pair.scenario_id for pair in self._suspects}
        look = self._next_look()
        wanted: dict[str, int] = {}
        for pair in self._pairs:
            needed = max(look, _trials_of_suspect(pair, self._rules)) if pair.scenario_id in suspected else look
            missing = needed - min(len(pair.fresh_base), len(pair.fresh_head))
            if missing > 0:
                wanted[pair.scenario_id] = missing
        return wanted

    def _so_far(self) -> Comparison:
        interval = self._interval()
        return Comparison(
            Tier.UNCLEAR,
            tuple(self._scenario(pair) for pair in self._pairs),
            self._left,
            self._because(),
            difference=mean(self._changes()),
            low=None if interval is None else interval.low,
            high=None if interval is None else interval.high,
            screen_p=self._screen_p,
            confirm_p=self._confirm_p,
            detectable=None if self._further_trials is None else self._detectable(),
            further_trials=self._further_trials,
            families=self._number_of_families,
        )

    def _because(self) -> str:
        if self._alarm:
            return self._alarming()
        names = ", ".join(pair.scenario_id for pair in self._suspects)
        return f"A large drop has to be confirmed: {names}."

    def _alarming(self) -> str:
        return f"The scores fell (p = {self._screen_p:.3f} in the first look), which has to be confirmed."

    def _conclude(self, again: Sequence[Pair]) -> Comparison:
        difference, interval = mean(self._changes()), self._interval()
        detectable = self._detectable()
        margin = self._margin(detectable)
        low = None if interval is None else interval.low
        tier = self._tier(low, margin, fell=self._mean_fell or self._dropped(again))
        return Comparison(
            tier,
            tuple(self._scenario(pair, again=pair in again) for pair in self._pairs),
            self._left,
            self._reason(tier, again, difference, margin or 0.0),
            difference=difference,
            low=low,
            high=None if interval is None else interval.high,
            screen_p=self._screen_p,
            confirm_p=self._confirm_p,
            mean_fell=self._mean_fell,
            margin=margin,
            detectable=detectable,
            further_trials=self._further_trials,
            families=self._number_of_families,
        )

    def _interval(self) -> Interval | None:
        return cluster_interval(
            self._measurements(), _CONFIDENCE, ratio=self._run_to_run.ratio, freedom=self._run_to_run.degrees
        )

    def _detectable(self) -> float | None:
        return self._smallest_drop(self._run_to_run)

    def _smallest_drop(self, runs: RunToRun) -> float | None:
        measured = self._measurements()
        error, number = cluster_error(measured), effective_number(measured)
        if error is None:
            return None
        number = min(number, runs.degrees + 1)
        spread = runs.widened(error) * math.sqrt(number)
        return minimum_detectable_effect(spread, number, power=self._rules.detectable_power)

    def _margin(self, detectable: float | None) -> float | None:
        """The drop that has to be ruled out; None where nothing has to be."""
        if detectable is None and not self._looks:
            return None  # one family in its planned trials is one measurement, which rules nothing out
        if self._run_to_run.ratio > 1:
            # A change whose runs vary much would else rule its own drop out.
            detectable = self._smallest_drop(RunToRun())
        return max(self._rules.min_margin, detectable or 0.0)

    @property
    def _further_trials(self) -> int | None:
        return 2 * self._rounds * len(self._pairs) if self._few_families else None

    @property
    def _number_of_families(self) -> int | None:
        return len(self._families) if len(self._families) < len(self._pairs) else None

    def _changes(self) -> list[float]:
        return [mean(head) - mean(base) for base, head in map(self._compared, self._pairs)]

    def _compared(self, pair: Pair) -> tuple[Sequence[float], Sequence[float]]:
        base = compared_trials(pair.base, pair.fresh_base, self._common, replayed=self._replayed)
        head = compared_trials(pair.head, pair.fresh_head, self._common, replayed=self._replayed)
        return ((*base, *pair.added_base), (*head, *pair.added_head)) if self._common else (base, head)

    def _scenario(self, pair: Pair, *, again: bool = False) -> ScenarioComparison:
        return _scenario(pair, self._compared(pair), self._rules, again=again)

    def _has_fallen(self, pair: Pair) -> bool:
        return _is_looked_at(pair, self._rules) and self._fell_again(pair, self._rules.scenario_drop, _ERRORS)

    def _fell_again(self, pair: Pair, drop: float, errors: float) -> bool:
        """Whether the further trials alone show a drop of this size, by so many standard errors of theirs.

        A few trials that happen to agree would make any drop look certain, and among many suspects some always do.
        So the standard error is at least that of all suspects together.
        """
        base, head = _further(pair)
        change = mean(head) - mean(base)
        own = _squared_error(head) + _squared_error(base)
        common = _pooled_variance(self._suspects) * (1 / len(head) + 1 / len(base))
        return change <= -max(drop, errors * math.sqrt(max(own, common))) + _ROUNDING

    @staticmethod
    def _tier(low: float | None, margin: float | None, *, fell: bool) -> Tier:
        if fell:
            return Tier.REGRESSION
        if margin is not None and (low is None or low <= -margin):
            return Tier.UNCLEAR
        return Tier.IMPROVED if low is not None and low > _ROUNDING else Tier.WITHIN_NOISE

    def _reason(self, tier: Tier, again: Sequence[Pair], difference: float, margin: float) -> str:
        if self._mean_fell:
            return f"The mean score fell by {points(difference)}, and further trials on base and head confirm it."
        if tier is Tier.REGRESSION:
            return f"Further trials confirm large drops: {', '.join(pair.scenario_id for pair in again)}."
        if tier is Tier.UNCLEAR:
            return f"A drop of {points(margin)} cannot be ruled out with so little data."
        if tier is Tier.IMPROVED:
            # Further trials measure what a family that nobody declared shares in a run; the planned ones do not.
            known = self._looks or self._number_of_families
            if_so = "" if known else " if the scenarios are independent"
            return f"The mean score rose by {points(difference)}, more than chance explains{if_so}."
        if not margin:
            return _without_alarm(difference)
        return f"No drop beyond chance, and a drop of {points(margin)} is ruled out."


class _OfFew(_Examination):
    """One comparison of fewer scenarios than ``min_scenarios``: see ``verdict.few_scenarios``.

    Recordings have the trials that they have, so they are tested once and never ask for more.
    """

    def _raises_alarm(self) -> bool:
        return self._replayed or raises_alarm(self._first, self._rules, number=self._effective)

    @property
    def _rounds(self) -> int:
        return 1 if self._replayed else rounds_of_few(self._effective, self._rules)

    @property
    def _looks(self) -> int:
        return 1 if self._replayed else super()._looks

    def _next_look(self) -> int:
        if not self._alarm or self._is_futile:
            return 0
        return next_look(self._looks, self._effective, self._rules)

    def _is_mild(self) -> bool:
        suspected = any(not _is_looked_at(pair, self._rules) for pair in self._suspects)
        return not suspected and mean(self._changes()) > -self._rules.scenario_drop + _ROUNDING

    def _wanted(self) -> dict[str, int]:
        return {} if self._replayed else super()._wanted()

    def _tested(self) -> list[float]:
        if self._replayed:
            return [change for pair in self._pairs for change in differences_of_recordings(pair)]
        return [cluster.total for cluster in clusters_of_rounds(self._pairs, self._common)]

    def _alarming(self) -> str:
        count = len(self._pairs)
        scenarios = "1 scenario" if count == 1 else f"{count} scenarios"
        return f"The first trials of {scenarios} do not rule a drop out, which further trials have to do."

    @property
    def _is_futile(self) -> bool:
        return self._confirm_p is not None and is_futile(self._confirm_p, len(self._tested()))

    def _interval(self) -> Interval | None:
        if self._replayed:
            sample = self._tested()
            return t_interval(sample, _CONFIDENCE) if len(sample) > 1 else None
        measured = clusters_of_rounds(self._pairs, self._common) if self._looks else self._families
        return cluster_interval(measured, _CONFIDENCE)

    def _detectable(self) -> float | None:
        recorded = len(self._tested()) if self._replayed else 0
        return detectable_by_few(merged(self._pairs), self._rules, recorded=recorded)

    def _margin(self, detectable: float | None) -> float | None:
        if not self._looks or self._is_futile:
            return None
        # Few trials may detect so little that even a large drop would be within what they cannot see.
        fell = mean(self._changes()) <= -self._rules.min_margin + _ROUNDING
        return self._rules.min_margin if fell else super()._margin(detectable)

    @property
    def _further_trials(self) -> int:
        return 0 if self._replayed else 2 * self._rounds * len(self._pairs)

    def _reason(self, tier: Tier, again: Sequence[Pair], difference: float, margin: float) -> str:
        if tier is not Tier.WITHIN_NOISE or (self._looks and not self._is_futile):
            return super()._reason(tier, again, difference, margin)
        if self._looks:
            return f"Further trials on base and head do not show a drop (p = {self._confirm_p:.2f})."
        return _without_alarm(difference)


def _without_alarm(difference: float) -> str:
    moved = "rose" if difference > _ROUNDING else "did not change" if abs(difference) <= _ROUNDING else "fell"
    by = "" if abs(difference) <= _ROUNDING else f" by {points(difference)}"
    return f"The mean score {moved}{by} in the first trials, which raises no alarm."


def _screen_level(pairs: Sequence[Pair], rules: Rules) -> float:
    """The level of the first look, which chooses what is looked at again; the looks after it bound false blocks."""
    single = median(len(pair.base) for pair in pairs) <= 1
    return rules.single_run_screen_level if single else rules.screen_level


def _counts(dropped: Sequence[Pair]) -> bool:
    """Two scenarios, or one critical one."""
    return len(dropped) > 1 or any(pair.critical for pair in dropped)


def _mean_change(pair: Pair) -> float:
    return mean(pair.head) - mean(pair.base)


def _further(pair: Pair) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """All further trials of base and head, earlier attempts' too."""
    return (*pair.fresh_base, *pair.added_base), (*pair.fresh_head, *pair.added_head)


def _fresh_change(pair: Pair, common: int) -> float:
    """The change in as many further trials as every scenario has, and in those of earlier attempts."""
    head, base = (*pair.fresh_head[:common], *pair.added_head), (*pair.fresh_base[:common], *pair.added_base)
    return mean(head) - mean(base)


def _is_looked_at(pair: Pair, rules: Rules) -> bool:
    return min(len(pair.fresh_base), len(pair.fresh_head)) >= rules.suspect_trials


def _trials_of_suspect(pair: Pair, rules: Rules) -> int:
    """Further trials that a scenario needs that fell: the first pair ends the search where it rose."""
    if not pair.fresh_base or not pair.fresh_head:
        return 1
    return 1 if pair.fresh_head[0] > pair.fresh_base[0] + _ROUNDING else rules.suspect_trials


def _squared_error(values: Sequence[float]) -> float:
    return variance(values) / len(values) if len(values) > 1 else 0.0


def _pooled_variance(pairs: Sequence[Pair]) -> float:
    """Of the further trials of one arm around their mean, over all of some scenarios."""
    arms = [arm for pair in pairs for arm in _further(pair) if len(arm) > 1]
    freedom = sum(len(arm) - 1 for arm in arms)
    return sum(variance(arm) * (len(arm) - 1) for arm in arms) / freedom if freedom else 0.0


def _scenario(
    pair: Pair, compared: tuple[Sequence[float], Sequence[float]], rules: Rules, *, again: bool
) -> ScenarioComparison:
    base, head = map(mean, compared)
    confirming_base, confirming_head = _further(pair)
    if again:
        # Why it blocks: all of its own further trials, of which it has more than others.
        base, head = mean(confirming_base or compared[0]), mean(confirming_head or compared[1])
    change = head - base
    tier = Tier.WITHIN_NOISE
    if again:
        tier = Tier.REGRESSION
    elif change <= -rules.scenario_drop + _ROUNDING:
        tier = Tier.UNCLEAR
    elif change >= rules.scenario_drop - _ROUNDING:
        tier = Tier.IMPROVED
    return ScenarioComparison(
        pair.scenario_id, base, head, tier, pair.critical, again, confirming_base, confirming_head
    )
