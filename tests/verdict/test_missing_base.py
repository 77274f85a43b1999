"""What a base that was not measured means: never a pass, and nothing where it was not to be measured."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from ratiba_action.checks.system_exceptions import exception_check, without_those_of_base
from ratiba_action.model.change import Mode
from ratiba_action.model.measurement import Errored, NotRun, Phase, ScenarioResult
from ratiba_action.model.plan import BASE, Arm, Trial
from ratiba_action.model.verdict import Conclusion, Evidence, Limits, Verdict
from ratiba_action.verdict.decision import next_step
from tests.support.sample_report import sample_check, sample_score, sample_scored

NAMES = ("spa_booking", "spa_handoff")
HEAD_RESULTS = tuple(sample_scored(name, scores=(sample_score(),)) for name in NAMES)


def on_base(result: ScenarioResult) -> ScenarioResult:
    return replace(result, trial=replace(result.trial, arm=Arm(BASE, "scratch/base", "c" * 40)))


def verdict(base: Sequence[ScenarioResult], **changes: object) -> Verdict:
    results = (*HEAD_RESULTS, *map(on_base, base))
    found = next_step(replace(Evidence(Mode.BLOCKING, results, Limits(), no_further="recorded"), **changes))  # type: ignore[arg-type] # fields of Evidence
    assert isinstance(found, Verdict)
    return found


def errored(phase: Phase, **changes: object) -> Errored:
    return replace(Errored(HEAD_RESULTS[1].trial, phase, "it did not end well", None), **changes)  # type: ignore[arg-type] # the same


RAISED = errored(Phase.SYSTEM, checks=(exception_check("ValueError", "bot.py:4 in send", "no slot", 1),))
LOST = (
    *(errored(phase) for phase in Phase if phase is not Phase.RECORDING),
    NotRun(HEAD_RESULTS[1].trial, "the run's deadline had passed"),
)


@pytest.mark.parametrize("lost", LOST, ids=lambda lost: getattr(lost, "phase", "not run"))
def test_a_trial_of_the_base_that_was_not_measured_makes_the_run_incomplete(lost: ScenarioResult) -> None:
    found = verdict((HEAD_RESULTS[0], lost))
    assert found.conclusion is Conclusion.INCOMPLETE
    assert "spa_handoff on the base" in found.reason
    assert "baseline: none" in found.action
    assert found.comparison is not None, "what could be compared is shown"


(EXCUSED,) = without_those_of_base([RAISED], [RAISED])
"""As a run has it: what the base raises is excused on either side."""


@pytest.mark.parametrize(
    "own", [RAISED, EXCUSED, errored(Phase.RECORDING)], ids=["an exception", "an excused one", "a recording"]
)
def test_what_the_base_does_by_itself_is_only_not_compared(own: ScenarioResult) -> None:
    found = verdict((HEAD_RESULTS[0], own))
    assert found.conclusion is Conclusion.PASSED
    assert found.comparison is not None
    assert [each.scenario_id for each in found.comparison.not_comparable] == ["spa_handoff"]


def test_what_was_not_to_be_measured_is_not_missed() -> None:
    lost = errored(Phase.TENANT)
    assert verdict((HEAD_RESULTS[0], lost), left_out=("spa_handoff",)).conclusion is Conclusion.PASSED
    assert verdict((), no_base="the baseline is switched off").conclusion is Conclusion.PASSED


def test_what_failed_without_the_base_stays_failed() -> None:
    broken = replace(HEAD_RESULTS[0], checks=(sample_check(passed=False),))
    found = next_step(Evidence(Mode.BLOCKING, (broken, HEAD_RESULTS[1]), Limits(), base_failed="no room is left"))
    assert isinstance(found, Verdict)
    assert found.conclusion is Conclusion.FAILED


def test_a_trial_is_known_by_its_arm_alone() -> None:
    trial = Trial(HEAD_RESULTS[1].trial.scenario, Arm(BASE, ""))
    assert verdict((HEAD_RESULTS[0], NotRun(trial, "cancelled"))).conclusion is Conclusion.INCOMPLETE
