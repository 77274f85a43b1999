"""The two sides of a change, by the names of their arms."""

from collections.abc import Iterable

from ratiba_action.model.measurement import ScenarioResult
from ratiba_action.model.plan import BASE


def results_of(results: Iterable[ScenarioResult], arm: str) -> tuple[ScenarioResult, ...]:
    """The results of one arm."""
    return tuple(result for result in results if result.trial.arm.name == arm)


def results_of_change(results: Iterable[ScenarioResult]) -> tuple[ScenarioResult, ...]:
    """The results of the change itself, or of the variant of its system that ran: all but the base's."""
    return tuple(result for result in results if result.trial.arm.name != BASE)
