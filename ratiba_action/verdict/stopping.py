"""When a run begins no further conversation, because enough have failed."""

from collections.abc import Iterable
from datetime import date

from ratiba_action.model.measurement import ScenarioResult
from ratiba_action.verdict.arms import results_of_change
from ratiba_action.verdict.quarantine import quarantine_in_force
from ratiba_action.verdict.trials import Standing, outcomes_of


def stop_reason(results: Iterable[ScenarioResult], most_failed: int | None, day: date) -> str:
    """Why no further conversation is begun; empty while one may be.

    A scenario counts once it breaks something exact whatever its other trials may show, and is not in quarantine. What
    the base breaks is not the change's.

    Args:
        results: so far.
        most_failed: after so many failed scenarios the run stops; None for never.
        day: of the run.
    """
    if most_failed is None:
        return ""
    outcomes = [one for one in outcomes_of(results_of_change(results)) if not quarantine_in_force(one.scenario, day)]
    failed = sorted(one.scenario.id for one in outcomes if one.standing is Standing.BROKEN)
    if len(failed) < most_failed:
        return ""
    return f"the run stopped after {len(failed)} failed: {', '.join(failed[:3])} (suite.stop_on_failure)"
