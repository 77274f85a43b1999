"""The comparison that a run's evidence allows."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from ratiba_action.model.comparison import REPLAY, Comparison, MeasuredRun
from ratiba_action.model.plan import BASE, HEAD
from ratiba_action.model.scenario import Scenario
from ratiba_action.model.verdict import Evidence
from ratiba_action.verdict.arms import results_of
from ratiba_action.verdict.exact_checks import held_on
from ratiba_action.verdict.examination import Wanted
from ratiba_action.verdict.quarantine import quarantine_in_force
from ratiba_action.verdict.runs import compare_runs
from ratiba_action.verdict.scenario_content import content_digest

_UNTIMED = datetime.min.replace(tzinfo=UTC)


def compare(evidence: Evidence) -> Comparison | Wanted | None:
    """Head against base; None where there is nothing of the base.

    Earlier runs of the base and a base arm that was run now are pooled, and so are earlier attempts of the head.
    Scenarios in quarantine are left out, and so are those that this run was not to hold.
    """
    base = _base(evidence)
    if not base:
        return None
    return compare_runs((*evidence.earlier, *_run(evidence, HEAD)), base, evidence.rules)


def held_by_base(evidence: Evidence, scenarios: Sequence[Scenario]) -> tuple[str, ...]:
    """Ids of those of the scenarios that the base is known to pass, with the same content."""
    base, known = _base(evidence), evidence.scenario_digests
    return tuple(one.id for one in scenarios if held_on(base, one.id, known.get(one.id) or content_digest(one)))


def _base(evidence: Evidence) -> tuple[MeasuredRun, ...]:
    return (*(_selected(run, evidence.left_out) for run in evidence.baseline), *_run(evidence, BASE))


def _selected(run: MeasuredRun, left_out: Sequence[str]) -> MeasuredRun:
    return replace(run, results=tuple(one for one in run.results if one.trial.scenario.id not in left_out))


def _run(evidence: Evidence, arm: str) -> tuple[MeasuredRun, ...]:
    day, apart = evidence.day, evidence.recorded_only if evidence.answers != REPLAY else ()
    results = tuple(
        one
        for one in results_of(evidence.results, arm)
        if not quarantine_in_force(one.trial.scenario, day) and one.trial.scenario.id not in apart
    )
    if not results:
        return ()
    known = evidence.scenario_digests
    run = MeasuredRun(None, _UNTIMED, evidence.judge_model, evidence.answers, results, known, this_run=True)
    return (run,)
