"""The pass rate of a run whose answers vary: what is clear decides, what is unclear is measured again or said."""

from dataclasses import replace
from typing import Any

from ratiba_action.model.answer_origin import AnswerOrigin
from ratiba_action.model.change import Mode
from ratiba_action.model.measurement import Errored, Phase, ScenarioResult
from ratiba_action.model.plan import Plan, Trial
from ratiba_action.model.verdict import Conclusion, Evidence, Limits, PassRateRule, Verdict
from ratiba_action.verdict.decision import exit_code, next_step
from tests.support.sample_report import sample_score, sample_scored


def judged(name: str, *values: float) -> ScenarioResult:
    return sample_scored(name, scores=tuple(sample_score(value, metric=f"Metric{n}") for n, value in enumerate(values)))


def evidence(passing: int, total: int = 20, **changes: Any) -> Evidence:
    results = tuple(judged(f"s{number:02}", 0.9 if number < passing else 0.5) for number in range(total))
    return replace(Evidence(Mode.BLOCKING, results, Limits(), answers=AnswerOrigin.LIVE), **changes)


def after_further_trials(first: Evidence, passing: list[bool]) -> Verdict:
    """The verdict after the further trials, of which those of the failing scenarios pass in turn or do not."""
    step = next_step(first)
    assert isinstance(step, Plan)
    turns = iter(passing * len(step.trials))
    more = tuple(again(first, trial, turns) for trial in step.trials)
    found = next_step(replace(first, results=(*first.results, *more)))
    assert isinstance(found, Verdict)
    return found


def again(first: Evidence, trial: Trial, turns: Any) -> ScenarioResult:
    (before,) = (one for one in first.results if one.trial.scenario.id == trial.scenario.id)
    passes = before.passed or next(turns)  # type: ignore[union-attr] # all were measured
    return replace(judged(trial.scenario.id, 0.9 if passes else 0.5), trial=trial)


def verdict(given: Evidence) -> Verdict:
    step = next_step(given)
    assert isinstance(step, Verdict)
    return step


def test_scenarios_are_counted_and_not_their_scores() -> None:
    four_each = tuple(judged(f"s{number}", 0.9, 0.9, 0.9, 0.5 if number < 2 else 0.9) for number in range(8))
    found = verdict(Evidence(Mode.BLOCKING, four_each, Limits(pass_rate_rule=PassRateRule.STRICT)))
    assert found.conclusion is Conclusion.FAILED
    assert found.reason == "6 of 8 judged scenarios pass, and 80% must: s0, s1."


def test_an_unclear_share_without_a_base_asks_for_two_further_trials_of_every_judged_scenario() -> None:
    step = next_step(evidence(13))
    assert isinstance(step, Plan)
    asked = [(trial.scenario.id, trial.arm.name, trial.number) for trial in step.trials]
    assert sorted(asked) == [(f"s{number:02}", "head", trial) for number in range(20) for trial in (1, 2)]


def test_what_is_still_low_in_all_trials_fails() -> None:
    found = after_further_trials(evidence(13), [False])
    assert found.conclusion is Conclusion.FAILED
    assert found.reason == "65% of 3 trials of each judged scenario pass, and 80% must: s13, s14, s15 and 4 more."


def test_what_reaches_the_rate_in_all_trials_passes() -> None:
    assert after_further_trials(evidence(14), [True]).conclusion is Conclusion.PASSED


def test_what_lies_within_one_standard_error_stays_inconclusive_and_says_so() -> None:
    found = after_further_trials(evidence(13), [True, False])
    assert (found.conclusion, exit_code(found, Mode.BLOCKING, enforce=True)) == (Conclusion.INCONCLUSIVE, 0)
    assert "within one standard error" in found.reason
    assert "pass_rate_rule: strict" in found.action


def test_a_share_that_chance_does_not_explain_fails_at_once_and_one_above_the_rate_passes_at_once() -> None:
    assert verdict(evidence(8)).conclusion is Conclusion.FAILED
    assert verdict(evidence(16)).conclusion is Conclusion.PASSED


def test_an_unclear_share_of_live_answers_that_could_not_be_measured_again_is_incomplete_and_says_why() -> None:
    found = verdict(evidence(13, no_further="raise budget-usd to 31.50"))
    assert found.conclusion is Conclusion.INCOMPLETE
    assert found.reason.endswith("It was not measured again: raise budget-usd to 31.50.")


def test_further_trials_that_errored_are_not_run_again() -> None:
    first = evidence(13)
    step = next_step(first)
    assert isinstance(step, Plan)
    more = tuple(Errored(trial, Phase.PROVIDER, "503") for trial in step.trials)
    found = verdict(replace(first, results=(*first.results, *more)))
    assert found.conclusion is Conclusion.INCOMPLETE
    assert "further trials were not measured" in found.reason


def test_the_strict_rule_leaves_nothing_unclear() -> None:
    strict = Limits(pass_rate_rule=PassRateRule.STRICT)
    assert verdict(evidence(15, limits=strict)).conclusion is Conclusion.FAILED
    assert verdict(evidence(16, limits=strict)).conclusion is Conclusion.PASSED


def test_recorded_answers_leave_as_much_doubt_as_live_ones_and_the_reason_says_that_no_trial_can_be_added() -> None:
    replayed: dict[str, Any] = {"answers": "replay", "no_further": "the recordings hold no further trials"}
    found = verdict(evidence(13, **replayed))
    assert found.conclusion is Conclusion.INCONCLUSIVE
    assert "13 of 20 judged scenarios pass, and 80% must: s13, s14, s15 and 4 more." in found.reason
    assert "The true share lies between 43% and 82%, so this may be chance." in found.reason
    assert found.reason.endswith("It was not measured again: the recordings hold no further trials.")
    assert verdict(evidence(8, **replayed)).conclusion is Conclusion.FAILED


def test_several_thresholds_of_means_are_corrected_for_their_number() -> None:
    means = {f"Metric{number}": 0.80 for number in range(4)}
    values = [0.78, 0.81, 0.76, 0.80, 0.77, 0.80, 0.75, 0.79, 0.80, 0.76]
    results = tuple(judged(f"s{n}", value, 0.9, 0.9, 0.9) for n, value in enumerate(values))

    def conclusion(**thresholds: float) -> Conclusion:
        limits = Limits(pass_rate=0.0, metric_thresholds=thresholds)
        return verdict(Evidence(Mode.BLOCKING, results, limits, answers=AnswerOrigin.LIVE)).conclusion

    assert conclusion(Metric0=0.80) is Conclusion.FAILED, "p = 0.01 of a single test"
    assert conclusion(**means) is Conclusion.PASSED, "0.04 after Holm"
