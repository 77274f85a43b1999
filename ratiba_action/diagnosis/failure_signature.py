"""What failed in a trial, or lacks a recorded answer: two trials fail alike if they failed the same."""

from collections.abc import Sequence

from ratiba_action.checks.system_exceptions import exception_of
from ratiba_action.diagnosis.delta_debugging import StepOutcome
from ratiba_action.model.measurement import Check, Errored, NotRun, Phase, ScenarioResult, Scored
from ratiba_action.model.values import mean
from ratiba_action.verdict.trials import Standing, standing


def signature(result: ScenarioResult) -> frozenset[str]:
    """What failed in a trial, so that another failure of the same scenario is not taken for it."""
    if isinstance(result, NotRun):
        return frozenset()
    failed = {_name_of(check) for check in result.checks if not check.passed}
    failed |= {score.metric for score in result.scores if not score.passed}
    raised = exception_of(result)
    return frozenset({*failed, *({raised.rpartition(" ")[2]} if raised else set())})


def fails_alike(result: ScenarioResult, base: Sequence[ScenarioResult]) -> bool:
    """Whether every trial of the base failed everything that this trial of the change failed.

    Args:
        base: results of the base, of any scenarios.
    """
    failed = signature(result)
    trials = [each for each in base if each.trial.scenario.id == result.trial.scenario.id]
    return bool(failed and trials) and all(failed <= signature(each) for each in trials)


def outcome_of(result: ScenarioResult, wanted: frozenset[str]) -> StepOutcome:
    """How a run with a part of the change ended, for the failure that is looked for."""
    if isinstance(result, Scored) and standing(result) is Standing.PASSED:
        return StepOutcome.PASSES
    failed = signature(result)
    if isinstance(result, Errored):
        # Whether the base passes them with the same answers is what its own run shows.
        failed |= {_name_of(check) for check in result.suspected if not check.passed}
    return StepOutcome.FAILS if failed & wanted else StepOutcome.UNRESOLVED


def lacks_recording(result: ScenarioResult) -> bool:
    """Whether a trial ended at a request of the system or of a judge that has no recorded answer."""
    return isinstance(result, Errored) and result.phase is Phase.RECORDING and result.trial.scenario.script is None


def answer_outcome_of(result: ScenarioResult) -> StepOutcome:
    """How a run with a part of the change ended, for a recorded answer that is looked for: with one, or without."""
    if isinstance(result, Scored):
        return StepOutcome.PASSES
    return StepOutcome.FAILS if lacks_recording(result) else StepOutcome.UNRESOLVED


def drop_outcome_of(result: ScenarioResult, limit: float) -> StepOutcome:
    """How a run with a part of the change ended, for a drop of the scores that is looked for.

    Args:
        limit: mean score, 0 to 1; the drop is there if the scores are nearer to the change's than to the base's.
    """
    if not isinstance(result, Scored) or not result.scores:
        return StepOutcome.UNRESOLVED
    return StepOutcome.FAILS if mean([score.value for score in result.scores]) < limit else StepOutcome.PASSES


def _name_of(check: Check) -> str:
    return f"{check.kind} {check.turn} {check.what}"
