"""Did scores change with time while further trials ran? What happens over time is shared by base and head."""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ratiba_action.model.measurement import ScenarioResult, Scored
from ratiba_action.model.values import mean
from ratiba_action.verdict.sign_flip import EXACT_UP_TO

_LEVEL = 0.01


@dataclass(frozen=True, slots=True)
class StraightLine:
    """A straight line through measurements.

    Args:
        slope: change of the value for each unit of the place.
        p: two-sided p-value of the hypothesis that there is none; 1 where nothing varies.
    """

    slope: float
    p: float


def fit(places: Sequence[float], values: Sequence[float]) -> StraightLine:
    """The line of least squares, with Student's test of its slope (Draper and Smith 1998, chapter 1).

    Args:
        places: as many as values, at least three.
    """
    from scipy import special  # a quarter of a second, only when a run is compared

    middle, level = mean(places), mean(values)
    across = math.fsum((place - middle) ** 2 for place in places)
    along = math.fsum((value - level) ** 2 for value in values)
    if not across or not along:
        return StraightLine(0.0, 1.0)
    together = math.fsum((x - middle) * (y - level) for x, y in zip(places, values, strict=True))
    slope, freedom = together / across, len(places) - 2
    rest = max(along - slope * together, 0.0)
    if not rest:
        return StraightLine(slope, 0.0)
    t = abs(slope) / math.sqrt(rest / freedom / across)
    return StraightLine(slope, 2 * float(special.stdtr(freedom, -t)))


def describe_trend(results: Iterable[ScenarioResult]) -> str:
    """A sentence about a trend over the further trials of a run; empty where none is beyond chance.

    Scenarios run in an order that was drawn, so without a trend the mean of a pair, of one scenario on both arms, does
    not depend on its place. What the planned trials say of the scenario is taken off.

    Args:
        results: of both arms.
    """
    planned: defaultdict[str, list[float]] = defaultdict(list)
    pairs: defaultdict[tuple[str, int], list[tuple[int, float]]] = defaultdict(list)
    for result in results:
        if not isinstance(result, Scored) or not result.scores:
            continue
        scenario, value = result.trial.scenario.id, mean([score.value for score in result.scores])
        if result.place is None:
            planned[scenario].append(value)
        else:
            pairs[scenario, result.trial.number].append((result.place, value))
    both = {key: found for key, found in pairs.items() if len(found) == 2 and planned[key[0]]}  # noqa: PLR2004 - two arms
    if len(both) < EXACT_UP_TO:
        return ""
    places = [mean([place for place, _ in found]) for found in both.values()]
    values = [mean([value for _, value in found]) - mean(planned[name]) for (name, _), found in both.items()]
    trend = fit(places, values)
    if trend.p > _LEVEL:
        return ""
    change = trend.slope * (max(places) - min(places)) * 100
    moved = "fell" if change < 0 else "rose"
    return (
        f"While the further trials of a round ran, scores {moved} by about {abs(change):.1f} points on base and head "
        f"(p = {trend.p:.4f}). They ran by turns, so this decides nothing; look at the provider and the load."
    )
