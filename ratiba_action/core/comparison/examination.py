"""Is the change worse than its base? Screen, confirm, look at single scenarios, rule out the margin.

The rules and their error rates are in ``docs/statistics.md``; ``benchmarks/operating_characteristics.py`` measures
this code.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median, variance

from ratiba_action.core.comparison.wording import points
from ratiba_action.core.model.comparison import Comparison, NotComparable, Pair, Rules, ScenarioComparison, Tier
from ratiba_action.core.statistics.interval import t_interval
from ratiba_action.core.statistics.power import minimum_detectable_effect
from ratiba_action.core.statistics.sign_flip import sign_flip_p

_CONFIDENCE = 0.90
"""Two-sided, so that its lower end is a one-sided bound at 5 %."""

_ERRORS = 2.5
"""Standard errors that a scenario's further trials must lie below its base for its drop to have shown again."""

_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Wanted:
    """Trials that the comparison needs before it can say more, on both arms.

    Args:
        trials: how many further trials of each scenario, by its id; never 0.
        so_far: what is known without them; never a regression.
    """

    trials: dict[str, int]
    so_far: Comparison


def examine(
    pairs: Sequence[Pair], not_comparable: Sequence[NotComparable], rules: Rules, *, exact: bool
) -> Comparison | Wanted:
    """Compare both arms as far as the data goes.

    Args:
        pairs: all scenarios that can be compared.
        not_comparable: what cannot; handed on.
        rules: levels and margins, frozen when the run started.
        exact: both arms were replayed once, so that nothing varies by chance.

    Returns:
        What is known, or the further trials that an alarm has to be confirmed by.
    """
    left = tuple(not_comparable)
    if not pairs:
        return Comparison(Tier.NOT_COMPARABLE, (), left, "Nothing of the base can be compared with this change.")
    if exact:
        return _examine_exactly(pairs, left, rules)
    if len(pairs) < rules.fewest_scenarios:
        return _too_few(pairs, left, rules)
    return _Examination(pairs, left, rules).result()


def _examine_exactly(pairs: Sequence[Pair], left: tuple[NotComparable, ...], rules: Rules) -> Comparison:
    changes = [_mean_change(pair) for pair in pairs]
    dropped = [pair for pair in pairs if _mean_change(pair) <= -rules.scenario_drop + _ROUNDING]
    difference = fmean(changes)
    # It decides nothing: it tells how far other conversations like these might move.
    interval = t_interval(changes, _CONFIDENCE) if len(changes) > 1 else None
    regression = difference <= -rules.least_margin + _ROUNDING or _counts(dropped)
    moved = "improved" if difference > _ROUNDING else "is unchanged" if abs(difference) <= _ROUNDING else "fell"
    tier = Tier.REGRESSION if regression else Tier.IMPROVED if difference > _ROUNDING else Tier.WITHIN_NOISE
    reason = f"The mean score {moved}" + ("" if abs(difference) <= _ROUNDING else f" by {points(difference)}")
    reason += ", exactly: each side was held once, and no model was asked anew."
    return Comparison(
        tier,
        tuple(_scenario(pair, rules, again=pair in dropped) for pair in pairs),
        left,
        reason,
        exact=True,
        difference=difference,
        low=None if interval is None else interval.low,
        high=None if interval is None else interval.high,
        margin=rules.least_margin,
    )


def _too_few(pairs: Sequence[Pair], left: tuple[NotComparable, ...], rules: Rules) -> Comparison:
    reason = (
        f"{len(pairs)} {'scenario is' if len(pairs) == 1 else 'scenarios are'} too few to tell a drop from chance "
        f"(at least {rules.fewest_scenarios}); "
        "only exact checks and thresholds decide."
    )
    return Comparison(
        Tier.UNCLEAR,
        tuple(_scenario(pair, rules, again=False) for pair in pairs),
        left,
        reason,
        difference=fmean(_mean_change(pair) for pair in pairs),
    )


class _Examination:
    """One comparison of pairs that vary by chance."""

    def __init__(self, pairs: Sequence[Pair], left: tuple[NotComparable, ...], rules: Rules) -> None:
        self._pairs, self._left, self._rules = tuple(pairs), left, rules
        first = [fmean(pair.head) - fmean(pair.base) for pair in pairs]
        self._screen_p = sign_flip_p(first)
        self._suspects = [
            pair for pair, change in zip(pairs, first, strict=True) if change <= -rules.scenario_drop + _ROUNDING
        ]
        self._alarm = self._screen_p <= _screen_level(pairs, rules)

    def result(self) -> Comparison | Wanted:
        wanted = self._wanted()
        if not wanted:
            return self._conclude()
        scenarios = tuple(_scenario(pair, self._rules, again=False) for pair in self._pairs)
        changes = [_mean_change(pair) for pair in self._pairs]
        interval = t_interval(changes, _CONFIDENCE)
        so_far = Comparison(
            Tier.UNCLEAR,
            scenarios,
            self._left,
            self._because(),
            difference=fmean(changes),
            low=interval.low,
            high=interval.high,
            screen_p=self._screen_p,
        )
        return Wanted(wanted, so_far)

    def _wanted(self) -> dict[str, int]:
        suspected = {pair.scenario_id for pair in self._suspects}
        wanted: dict[str, int] = {}
        for pair in self._pairs:
            needed = self._rules.confirming_trials if self._alarm else 0
            if pair.scenario_id in suspected:
                needed = max(needed, self._rules.suspect_trials)
            missing = needed - min(len(pair.fresh_base), len(pair.fresh_head))
            if missing > 0:
                wanted[pair.scenario_id] = missing
        return wanted

    def _because(self) -> str:
        if self._alarm:
            return f"The scores fell (p = {self._screen_p:.3f} in the first look), which has to be confirmed."
        names = ", ".join(pair.scenario_id for pair in self._suspects)
        return f"A large drop has to be confirmed: {names}."

    def _conclude(self) -> Comparison:
        again = [pair for pair in self._suspects if self._fell_again(pair)]
        changes = [_mean_change(pair) for pair in self._pairs]
        difference, interval = fmean(changes), t_interval(changes, _CONFIDENCE)
        detectable = minimum_detectable_effect(_spread(changes), len(changes), power=self._rules.detectable_power)
        margin = max(self._rules.least_margin, detectable)
        confirm_p = sign_flip_p(changes) if self._alarm else None
        mean_fell = confirm_p is not None and confirm_p <= self._rules.confirm_level
        tier = self._tier(interval.low, margin, fell=mean_fell or _counts(again))
        return Comparison(
            tier,
            tuple(_scenario(pair, self._rules, again=pair in again) for pair in self._pairs),
            self._left,
            self._reason(tier, again, difference, margin, mean_fell=mean_fell),
            difference=difference,
            low=interval.low,
            high=interval.high,
            screen_p=self._screen_p,
            confirm_p=confirm_p,
            mean_fell=mean_fell,
            margin=margin,
            detectable=detectable,
        )

    def _fell_again(self, pair: Pair) -> bool:
        """Whether the further trials alone show the drop, by more than their scatter.

        A few trials that happen to agree would make any drop look certain, and among many suspects some always do.
        So the scatter is at least that of all suspects together.
        """
        change = fmean(pair.fresh_head) - fmean(pair.fresh_base)
        own = _squared_error(pair.fresh_head) + _squared_error(pair.fresh_base)
        common = _pooled_variance(self._suspects) * (1 / len(pair.fresh_head) + 1 / len(pair.fresh_base))
        return change <= -max(self._rules.scenario_drop, _ERRORS * math.sqrt(max(own, common))) + _ROUNDING

    @staticmethod
    def _tier(low: float, margin: float, *, fell: bool) -> Tier:
        if fell:
            return Tier.REGRESSION
        if low <= -margin:
            return Tier.UNCLEAR
        return Tier.IMPROVED if low > _ROUNDING else Tier.WITHIN_NOISE

    @staticmethod
    def _reason(tier: Tier, again: Sequence[Pair], difference: float, margin: float, *, mean_fell: bool) -> str:
        if mean_fell:
            return f"The mean score fell by {points(difference)}, and further trials on both arms confirm it."
        if tier is Tier.REGRESSION:
            return f"Further trials confirm large drops: {', '.join(pair.scenario_id for pair in again)}."
        if tier is Tier.UNCLEAR:
            return f"A drop of {points(margin)} cannot be ruled out with so little data."
        if tier is Tier.IMPROVED:
            return f"The mean score rose by {points(difference)}, more than chance explains."
        return f"No drop beyond chance, and a drop of {points(margin)} is ruled out."


def _screen_level(pairs: Sequence[Pair], rules: Rules) -> float:
    """The level of the first look, which decides what is looked at again; the second look alone bounds false blocks."""
    single = median(len(pair.base) for pair in pairs) <= 1
    return rules.single_run_screen_level if single else rules.screen_level


def _counts(dropped: Sequence[Pair]) -> bool:
    """Two scenarios, or one critical one."""
    return len(dropped) > 1 or any(pair.critical for pair in dropped)


def _mean_change(pair: Pair) -> float:
    return fmean((*pair.head, *pair.fresh_head)) - fmean((*pair.base, *pair.fresh_base))


def _squared_error(values: Sequence[float]) -> float:
    return variance(values) / len(values) if len(values) > 1 else 0.0


def _pooled_variance(pairs: Sequence[Pair]) -> float:
    """Of the further trials of one arm around their mean, over all of some scenarios."""
    arms = [arm for pair in pairs for arm in (pair.fresh_head, pair.fresh_base) if len(arm) > 1]
    freedom = sum(len(arm) - 1 for arm in arms)
    return sum(variance(arm) * (len(arm) - 1) for arm in arms) / freedom if freedom else 0.0


def _spread(values: Sequence[float]) -> float:
    return math.sqrt(variance(values))


def _scenario(pair: Pair, rules: Rules, *, again: bool) -> ScenarioComparison:
    change = _mean_change(pair)
    tier = Tier.WITHIN_NOISE
    if again:
        tier = Tier.REGRESSION
    elif change <= -rules.scenario_drop + _ROUNDING:
        tier = Tier.UNCLEAR
    elif change >= rules.scenario_drop - _ROUNDING:
        tier = Tier.IMPROVED
    base, head = fmean((*pair.base, *pair.fresh_base)), fmean((*pair.head, *pair.fresh_head))
    return ScenarioComparison(pair.scenario_id, base, head, tier, pair.critical, again)
