"""What a critical scenario does whatever the mode: a failure that the base does not have stops the merge."""

from collections.abc import Iterable

from ratiba_action.model.measurement import ScenarioResult
from ratiba_action.model.plan import BASE
from ratiba_action.model.verdict import Evidence, InAdvisory
from ratiba_action.verdict.pairing import results_of
from ratiba_action.verdict.rules.findings import Findings, ids_of
from ratiba_action.verdict.trials import ScenarioOutcome, Standing, decides, fails_by_judge_only, outcomes_of, standing


def blocking_in_every_mode(findings: Findings) -> tuple[str, ...]:
    """Ids of the critical scenarios that fail deterministically, and are not known to fail so on the base.

    The mode comes from the paths of a change and speaks of the suite as a whole; a charge that is taken twice does not
    become harmless because the change edits code instead of a prompt. Of a base without a result nothing is known, so
    the failure counts as new.
    """
    if findings.evidence.limits.critical is InAdvisory.ALLOW:
        return ()
    old = frozenset(ids_of(filter(_fails, _of_base(findings.evidence))))
    new = (outcome for outcome in findings.deciding if outcome.scenario.critical and _fails(outcome))
    return tuple(name for name in ids_of(new) if name not in old)


def _of_base(evidence: Evidence) -> tuple[ScenarioOutcome, ...]:
    """The base's outcomes of this run, and of its last run those of scenarios that did not run on it in this one."""
    ran = outcomes_of(_counted(results_of(evidence.results, BASE)))
    last = max(evidence.baseline, key=lambda run: run.started_at, default=None)
    known = frozenset(ids_of(ran))
    earlier = outcomes_of(_counted(last.results)) if last is not None else ()
    return (*ran, *(outcome for outcome in earlier if outcome.scenario.id not in known))


def _counted(results: Iterable[ScenarioResult]) -> Iterable[ScenarioResult]:
    return filter(decides, results)


def _fails(outcome: ScenarioOutcome) -> bool:
    """Whether a trial fails deterministically; all trials of a critical scenario must pass."""
    return any(standing(trial) is Standing.FAILED and not fails_by_judge_only(trial) for trial in outcome.counted)
