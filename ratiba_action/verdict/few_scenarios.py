"""The comparison of fewer scenarios than a statistical one needs: each pair of further trials is a measurement.

Trials of base and head run in turn, so that the two of a pair differ by the change alone. If the change does nothing,
the difference of a pair is as likely to be positive as negative, whatever the scenario and the judge: the
permutation test is exact. Its result is about these scenarios and not about others like them.
"""

import math
from collections.abc import Sequence
from statistics import variance

from ratiba_action.model.comparison import Pair, Rules
from ratiba_action.model.values import mean
from ratiba_action.verdict.sign_flip import look_levels

_PAIRS = 15
"""Pairs of all scenarios together at least, once every round ran."""

_FUTILE_PAIRS, _FUTILE_P = 3, 0.5

_NO_NOISE = 1e-12
"""Variance of scores that differ by rounding alone."""


def rounds_of_few(scenarios: float, rules: Rules) -> int:
    """How many further trials of each scenario run on either arm at most."""
    return max(rules.confirming_trials, math.ceil(_PAIRS / scenarios))


def raises_alarm(changes: Sequence[float], rules: Rules, *, number: float) -> bool:
    """Whether the planned trials ask for further ones: unless the mean change is above a limit.

    The fewer scenarios, the less their first trials say, so the higher is the limit: at the default margin of 10 points
    a rise of 10 points for one scenario, no change for two, a drop of 6 points for five.

    Args:
        changes: head minus base of each scenario.
        rules: the margin among them.
        number: of scenarios, or the effective one of families.
    """
    return mean(changes) <= _alarm_limit(number, rules)


def _alarm_limit(scenarios: float, rules: Rules) -> float:
    return rules.min_margin * (2 / scenarios - 1)


def next_look(looks: int, scenarios: float, rules: Rules) -> int:
    """After how many rounds the next look is taken: the first one with three pairs, then after each round."""
    first = math.ceil(_FUTILE_PAIRS / scenarios)
    return min(max(looks + 1, first), rounds_of_few(scenarios, rules))


def is_futile(p: float, pairs: int) -> bool:
    """Whether further trials rather speak against a drop, so that more of them would be wasted.

    Args:
        p: of the look that was last.
        pairs: that it rests on.
    """
    return pairs >= _FUTILE_PAIRS and p > _FUTILE_P


def differences_of_recordings(pair: Pair) -> list[float]:
    """Head minus base of every recorded trial that both arms have."""
    recorded = zip((*pair.head, *pair.fresh_head), (*pair.base, *pair.fresh_base), strict=False)
    return [head - base for head, base in recorded]


def detectable_by_few(pairs: Sequence[Pair], rules: Rules, *, recorded: int = 0) -> float | None:
    """The smallest true drop that is found with the power of the rules, by a normal approximation.

    It is found where the planned trials raise an alarm, the first look does not end the search, and a t test of all
    pairs shows it at the level of the last look.

    Args:
        pairs: of the scenarios, whose trials show how much scores vary.
        rules: levels and power among them.
        recorded: pairs of recorded trials, which are tested in any case; 0 where further trials can run.

    Returns:
        None where nothing shows how much scores vary: one scenario with one trial on either arm.
    """
    from scipy import optimize, special  # a third of a second, only when a run is compared

    noise, count = _noise(pairs), len(pairs)
    rounds = 1 if recorded else rounds_of_few(count, rules)
    number = recorded or rounds * count
    if noise is None or number < 2:  # noqa: PLR2004 - a spread needs two values
        return None
    if noise < _NO_NOISE:
        return 0.0
    error = math.sqrt(2 * noise / number)
    critical = float(special.stdtrit(number - 1, 1 - look_levels(rules.confirm_level, rounds)[-1]))
    first = math.sqrt(noise * sum(1 / len(pair.base) + 1 / len(pair.head) for pair in pairs)) / count
    look = math.sqrt(2 * noise / (next_look(0, count, rules) * count))

    def shortfall(drop: float) -> float:
        # Where the test is sure to show it, scipy's distribution is soon not a number.
        found = 1.0 - float(special.nctdtr(number - 1, min(drop / error, critical + 10.0), critical))
        if not recorded:
            found *= float(special.ndtr((drop + _alarm_limit(count, rules)) / first) * special.ndtr(drop / look))
        return found - rules.detectable_power

    maximum = (critical + 1.0) * error
    while shortfall(maximum) < 0:
        maximum *= 1.5
    return float(optimize.brentq(shortfall, 0.0, maximum))


def _noise(pairs: Sequence[Pair]) -> float | None:
    """Variance of one trial around the mean of its scenario and arm."""
    arms = [
        arm
        for pair in pairs
        for arm in (pair.base, pair.head, (*pair.fresh_base, *pair.added_base), (*pair.fresh_head, *pair.added_head))
        if len(arm) > 1
    ]
    if arms:
        return sum(variance(arm) * (len(arm) - 1) for arm in arms) / sum(len(arm) - 1 for arm in arms)
    if len(pairs) == 1:
        return None
    changes = [mean(pair.head) - mean(pair.base) for pair in pairs]
    # One trial on either arm: a change varies as much as two of them.
    return variance(changes) / 2
