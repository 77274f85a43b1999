"""What was measured on recorded answers to other requests counts only where the base passes it."""

from dataclasses import replace

from ratiba_action.model.conversation import Transcript
from ratiba_action.model.measurement import Check, Errored, Phase, Scored
from ratiba_action.model.plan import Arm, Trial
from ratiba_action.verdict.stand_ins import confirm_suspected
from ratiba_action.verdict.trials import Standing, standing
from tests.support.sample_report import sample_scenario

HEAD, BASE = Arm("head", "head"), Arm("base", "base")
FAILED = Check("tools", 2, "tool calls of the turn", "hand_off()", "no tool call", passed=False, stand_in=True)
PASSED = replace(FAILED, got="hand_off()", passed=True, stand_in=False)
STALE = Errored(
    Trial(sample_scenario("spa"), HEAD), Phase.RECORDING, "No recording fits this request.", suspected=(FAILED,)
)


def on_the_base(*checks: Check, name: str = "spa") -> Scored:
    return Scored(Trial(sample_scenario(name), BASE), Transcript(name, ()), checks, (), 1.0)


def test_a_failure_that_the_base_passes_is_one() -> None:
    head, _ = confirm_suspected((STALE, on_the_base(PASSED)))
    assert isinstance(head, Errored)
    assert (head.checks, head.suspected) == ((FAILED,), ())
    assert standing(head) is Standing.FAILED


def test_without_a_base_that_passes_it_nothing_is_known() -> None:
    for base in (
        (),
        (on_the_base(),),
        (on_the_base(replace(PASSED, passed=False)),),
        (on_the_base(replace(PASSED, turn=1)),),
        (on_the_base(replace(PASSED, measured=False)),),
        (on_the_base(PASSED, name="salon"),),
    ):
        (head, *_) = confirm_suspected((STALE, *base))
        assert head == STALE
        assert standing(head) is Standing.UNMEASURED


def test_of_several_trials_of_the_base_each_passes() -> None:
    again = replace(on_the_base(replace(PASSED, passed=False)), trial=Trial(sample_scenario("spa"), BASE, 1))
    (head, *_) = confirm_suspected((STALE, on_the_base(PASSED), again))
    assert head == STALE


def test_a_scenario_of_another_content_says_nothing() -> None:
    other = replace(sample_scenario("spa"), vertical="another")
    base = replace(on_the_base(PASSED), trial=Trial(other, BASE))
    (head, *_) = confirm_suspected((STALE, base))
    assert head == STALE


def test_the_bases_own_suspicions_stay_what_they_are() -> None:
    base = replace(STALE, trial=replace(STALE.trial, arm=BASE))
    assert confirm_suspected((base, on_the_base(PASSED)))[0] == base
