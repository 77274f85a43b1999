"""What the verdict says of the base where the system broke off in this change."""

from dataclasses import replace
from datetime import UTC, datetime

from ratiba_action.model.answer_origin import AnswerOrigin
from ratiba_action.model.change import Mode
from ratiba_action.model.comparison import MeasuredRun
from ratiba_action.model.measurement import Errored, Phase, ScenarioResult
from ratiba_action.model.verdict import Conclusion, Evidence, Limits, Verdict
from ratiba_action.verdict.decision import next_step
from tests.support.sample_report import sample_check, sample_scored, sample_trial

CRASHED = Errored(sample_trial("spa_0"), Phase.SYSTEM, "KeyError: 'room'")
OTHER = Errored(sample_trial("spa_1"), Phase.SYSTEM, "KeyError: 'room'")


def decide(*results: ScenarioResult, base: tuple[ScenarioResult, ...]) -> Verdict:
    run = MeasuredRun(None, datetime(2026, 4, 25, tzinfo=UTC), "", AnswerOrigin.REPLAY, base)
    verdict = next_step(replace(Evidence(Mode.BLOCKING, results, Limits(), None), baseline=(run,) if base else ()))
    assert isinstance(verdict, Verdict)
    assert verdict.conclusion is Conclusion.INCOMPLETE
    return verdict


def test_a_crash_that_the_base_does_not_have_is_reported() -> None:
    assert decide(CRASHED, base=(sample_scored("spa_0"),)).reason.endswith("On the base, this scenario passed.")


def test_of_several_crashes_it_is_reported_how_many_the_base_passes() -> None:
    reason = decide(CRASHED, OTHER, sample_scored("fine"), base=(sample_scored("spa_0"),)).reason
    assert reason.endswith("The base passes 1 of the 2 scenarios in which the system errored.")


def test_a_base_that_is_not_known_or_does_not_pass_is_not_said_to() -> None:
    broken = sample_scored("spa_0", checks=(sample_check(passed=False),))
    for base in ((), (broken,), (CRASHED,), (sample_scored("another"),)):
        assert "The base" not in decide(CRASHED, base=base).reason
