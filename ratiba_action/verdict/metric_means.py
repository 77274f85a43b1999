"""The mean of each metric over a run."""

from collections.abc import Iterable

from ratiba_action.model.mean import mean
from ratiba_action.model.measurement import ScenarioResult, Scored


def metric_means(results: Iterable[ScenarioResult]) -> dict[str, float]:
    """The mean of each metric, by its name, over every trial that ran to its end."""
    return {name: mean(found) for name, found in metric_values(results).items()}


def metric_values(results: Iterable[ScenarioResult]) -> dict[str, list[float]]:
    """The values of each metric, by its name, of every trial that ran to its end."""
    values: dict[str, list[float]] = {}
    for result in results:
        for score in result.scores if isinstance(result, Scored) else ():
            values.setdefault(score.metric, []).append(score.value)
    return values
