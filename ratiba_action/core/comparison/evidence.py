"""The comparison that a run's evidence allows."""

from datetime import UTC, datetime

from ratiba_action.core.comparison.arms import results_of
from ratiba_action.core.comparison.examination import Wanted
from ratiba_action.core.comparison.runs import compare_runs
from ratiba_action.core.model.comparison import Comparison, MeasuredRun
from ratiba_action.core.model.plan import BASE, HEAD
from ratiba_action.core.model.verdict import Evidence
from ratiba_action.core.quarantine import quarantine_in_force

_UNTIMED = datetime.min.replace(tzinfo=UTC)


def compare(evidence: Evidence) -> Comparison | Wanted | None:
    """Head against base; None where there is nothing of the base.

    Earlier runs of the base and a base arm that was run now are pooled, and so are earlier attempts of the head.
    Scenarios in quarantine are left out.
    """
    base = (*evidence.baseline, *_run(evidence, BASE))
    if not base:
        return None
    return compare_runs((*evidence.earlier, *_run(evidence, HEAD)), base, evidence.rules)


def _run(evidence: Evidence, arm: str) -> tuple[MeasuredRun, ...]:
    day = evidence.day
    results = tuple(
        one for one in results_of(evidence.results, arm) if not quarantine_in_force(one.trial.scenario, day)
    )
    return (MeasuredRun(None, _UNTIMED, evidence.judge_model, evidence.answers, results),) if results else ()
