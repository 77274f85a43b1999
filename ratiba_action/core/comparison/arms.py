"""The two sides of a change, by the names of their arms."""

from collections.abc import Iterable

from ratiba_action.core.model.measurement import ScenarioResult

HEAD = "head"
BASE = "base"


def results_of(results: Iterable[ScenarioResult], arm: str) -> tuple[ScenarioResult, ...]:
    """The results of one arm."""
    return tuple(result for result in results if result.trial.arm.name == arm)
