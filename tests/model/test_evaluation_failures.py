"""A failed evaluation is told by an EVAL_FAIL event for each thing that failed, and flagged in results.json."""

from dataclasses import replace

from ratiba_action.checks.conversation_events import result_events
from ratiba_action.model.codec import encode
from ratiba_action.model.event import ConversationEnded, EvaluationFailed, Event, Place
from ratiba_action.model.measurement import Errored, NotRun, Phase, ScenarioResult
from ratiba_action.model.plan import Arm
from ratiba_action.model.scenario import Strategy
from tests.support.sample_report import sample_check, sample_scenario, sample_score, sample_scored, sample_trial

PLACE = Place("head", "a", 0)


def failures(result: ScenarioResult) -> list[Event]:
    return [event for event in result_events(result) if isinstance(event.data, EvaluationFailed)]


def flagged(result: ScenarioResult) -> bool:
    flag = encode(result)["eval_fail"]
    assert isinstance(flag, bool)
    return flag


def test_what_passes_is_not_reported_as_failed() -> None:
    passed = sample_scored("a", (replace(sample_check(), passed=True),), (sample_score(1.0),))
    assert (failures(passed), flagged(passed)) == ([], False)


def test_each_check_that_does_not_hold_is_reported_at_its_turn() -> None:
    check = replace(sample_check(got="GREETING"), passed=False, turn=2)
    failed = sample_scored("a", (check, replace(check, turn=0)))
    assert [event.place for event in failures(failed)] == [replace(PLACE, turn=2), PLACE]
    assert failures(failed)[0].data == EvaluationFailed("check", check.kind, check.expected, "GREETING", check.what)
    assert flagged(failed)


def test_a_score_below_its_threshold_is_reported_with_both_and_the_reason() -> None:
    score = replace(sample_score(0.5, reason="stiff"), threshold=0.8)
    failed = sample_scored("a", (), (score,))
    assert failures(failed) == [
        Event(EvaluationFailed("score", score.metric, "at least 0.8", "0.5", "stiff"), PLACE),
    ]
    assert flagged(failed)


def test_a_mean_that_is_reached_excuses_the_scores_below_their_thresholds() -> None:
    trial = sample_trial("a")
    lenient = replace(sample_scenario("a"), strategy=Strategy(min_mean=0.5))
    scores = (replace(sample_score(0.2), threshold=0.8), sample_score(1.0))
    held = replace(sample_scored("a", (), scores), trial=replace(trial, scenario=lenient))
    assert (failures(held), flagged(held)) == ([], False)


def test_a_trial_that_broke_off_failed_and_one_that_was_not_run_did_not() -> None:
    broken = Errored(sample_trial("a"), Phase.SYSTEM, "it hung")
    assert failures(broken) == [Event(EvaluationFailed("error", "system", reason="it hung"), PLACE)]
    assert flagged(broken)
    skipped = NotRun(sample_trial("a"), "no money")
    assert (failures(skipped), flagged(skipped)) == ([], False)
    assert list(result_events(skipped)) == [Event(ConversationEnded("not_run", reason="no money"), PLACE)]


def test_the_flag_is_no_field_of_what_is_read_back_so_that_old_results_are_still_read() -> None:
    assert "eval_fail" not in Errored.__dataclass_fields__


def test_a_variant_is_reported_instead_of_the_head() -> None:
    trial = replace(sample_trial("a"), arm=Arm("small", "."))
    (ended,) = result_events(NotRun(trial, "no money"))
    assert ended.place == Place("head", "a", 0, variant="small")
