"""The comparison as ``next_step`` speaks of it: an alarm, its confirmation, and what cannot be confirmed."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from ratiba_action.model.answer_origin import AnswerOrigin
from ratiba_action.model.change import Mode
from ratiba_action.model.comparison import Comparison, MeasuredRun, Rules, Tier
from ratiba_action.model.measurement import Errored, Phase, ScenarioResult, Scored
from ratiba_action.model.plan import Plan, Trial
from ratiba_action.model.verdict import Conclusion, Evidence, Limits, Verdict
from ratiba_action.verdict.decision import exit_code, next_step
from ratiba_action.verdict.weighing import weigh
from tests.support.sample_report import sample_score, sample_scored

NAMES = tuple(f"spa_{number:02}" for number in range(12))
NOW = datetime(2026, 4, 25, tzinfo=UTC)


def scored(name: str, value: float) -> ScenarioResult:
    return sample_scored(name, scores=(sample_score(value),))


def of(trial: Trial, value: float) -> ScenarioResult:
    return replace(scored(trial.scenario.id, value), trial=trial)


def evidence(head: float = 0.85, **changes: Any) -> Evidence:
    """Twelve live conversations, all with the same score, beside one run of the base."""
    base = MeasuredRun("a1b2c3d", NOW, "judge", AnswerOrigin.LIVE, tuple(scored(name, 0.95) for name in NAMES))
    results = tuple(scored(name, head) for name in NAMES)
    plain = Evidence(Mode.BLOCKING, results, Limits(), judge_model="judge", answers=AnswerOrigin.LIVE, baseline=(base,))
    return replace(plain, **changes)


def planned(given: Evidence) -> Plan:
    step = next_step(given)
    assert isinstance(step, Plan), step
    return step


def verdict(given: Evidence) -> tuple[Verdict, Comparison]:
    step = next_step(given)
    assert isinstance(step, Verdict)
    assert step.comparison is not None
    return step, step.comparison


def test_an_alarm_asks_for_a_further_trial_of_every_scenario_on_both_arms_side_by_side() -> None:
    plan = planned(evidence())
    asked = [(trial.scenario.id, trial.arm.name, trial.number) for trial in plan.trials]
    assert asked == [(name, arm, 1) for name in NAMES for arm in ("head", "base")]


def looked_at(first: Evidence, head: float) -> Evidence:
    """The evidence with all further trials that it asks for."""
    while isinstance(step := next_step(first), Plan):
        more = tuple(of(trial, head if trial.arm.name == "head" else 0.95) for trial in step.trials)
        first = replace(first, results=(*first.results, *more))
    return first


def test_a_drop_that_further_trials_show_again_fails_and_one_that_they_do_not_passes() -> None:
    first = evidence()
    for again, conclusion, tier in (
        (0.85, Conclusion.FAILED, Tier.REGRESSION),
        (0.95, Conclusion.PASSED, Tier.WITHIN_NOISE),
    ):
        found, comparison = verdict(looked_at(first, again))
        assert (found.conclusion, comparison.tier) == (conclusion, tier)


@pytest.mark.parametrize("obstacle", ["no_further", "no_base"])
def test_an_alarm_that_cannot_be_confirmed_is_incomplete_and_neither_blocks_as_failed_nor_passes(obstacle: str) -> None:
    why = "the base of this change is not in this clone"
    found, comparison = verdict(replace(evidence(), **{obstacle: why}))  # type: ignore[arg-type] # both are texts
    assert (found.conclusion, exit_code(found, Mode.BLOCKING, enforce=True)) == (Conclusion.INCOMPLETE, 3)
    assert found.reason.endswith(f"It cannot be confirmed: {why}.")
    assert (comparison.tier, comparison.confirm_p) == (Tier.UNCLEAR, None)


def test_a_further_trial_that_errored_is_not_run_again_but_leaves_the_run_incomplete() -> None:
    first = evidence()
    more = tuple(Errored(trial, Phase.SYSTEM, "it fell over") for trial in planned(first).trials)
    found, _ = verdict(replace(first, results=(*first.results, *more)))
    assert found.conclusion is Conclusion.INCOMPLETE
    why = "spa_00 on the base: system error, it fell over (12 trials of the base were not measured)."
    assert found.reason.endswith(f"It cannot be confirmed: {why}")


def test_a_first_look_is_held_to_the_rules_of_the_run() -> None:
    found, comparison = verdict(evidence(0.94, rules=Rules(screen_level=1e-9, single_run_screen_level=1e-9)))
    assert (found.conclusion, comparison.tier) == (Conclusion.PASSED, Tier.WITHIN_NOISE)


def test_what_a_run_was_not_to_hold_is_not_listed_as_missing_and_what_it_lost_is() -> None:
    few = tuple(scored(name, 0.95) for name in NAMES[:2])
    _, comparison = verdict(looked_at(evidence(results=few, left_out=NAMES[2:11]), 0.95))
    assert [one.scenario_id for one in comparison.not_comparable] == [NAMES[11]]
    nothing, comparison = verdict(evidence(results=(), left_out=NAMES))
    assert (nothing.conclusion, comparison.not_comparable) == (Conclusion.INCOMPLETE, ())


def of_few(head: float, count: int = 3, **changes: Any) -> Evidence:
    """The first scenarios of the twelve alone."""
    low = sample_score(head, threshold=0.5)
    results = tuple(sample_scored(name, scores=(low,)) for name in NAMES[:count])
    return evidence(results=results, left_out=NAMES[count:], **changes)


def test_a_drop_of_few_scenarios_fails_once_pairs_of_further_trials_show_it() -> None:
    found, comparison = verdict(looked_at(of_few(0.75), 0.75))
    assert (found.conclusion, comparison.tier, comparison.mean_fell) == (Conclusion.FAILED, Tier.REGRESSION, True)
    assert comparison.confirm_p == 2.0**-9
    passed, comparison = verdict(looked_at(of_few(0.75), 0.95))
    assert (passed.conclusion, comparison.tier) == (Conclusion.PASSED, Tier.WITHIN_NOISE)


@pytest.mark.parametrize(
    ("head", "conclusion", "code"), [(0.85, Conclusion.INCONCLUSIVE, 0), (0.65, Conclusion.INCOMPLETE, 3)]
)
def test_few_scenarios_without_further_trials_never_pass_in_silence_and_after_a_large_drop_not_at_all(
    head: float, conclusion: Conclusion, code: int
) -> None:
    found, comparison = verdict(of_few(head, no_further="the budget is used up"))
    assert (found.conclusion, exit_code(found, Mode.BLOCKING)) == (conclusion, code)
    assert comparison.tier is Tier.UNCLEAR
    assert "It cannot be confirmed: the budget is used up." in found.reason
    assert all("It cannot be confirmed" in warning for warning in found.warnings)
    assert bool(found.warnings) is (conclusion is Conclusion.INCONCLUSIVE)


def test_one_scenario_that_cannot_be_measured_again_is_unclear_without_an_interval_and_does_not_pass() -> None:
    found, comparison = verdict(of_few(0.95, 1, no_base="the base is not in this clone"))
    assert (comparison.tier, comparison.low, found.conclusion) == (Tier.UNCLEAR, None, Conclusion.INCONCLUSIVE)


COIN = "SwahiliFluencyMetric answers only 0 or 1, as noisy as a coin: to see smaller drops, set judge.samples: 3 (three"
OTHERWISE = "Add scenarios, or more trials of them, to see smaller drops."


def of_version(version: str, results: Iterable[ScenarioResult]) -> tuple[ScenarioResult, ...]:
    scored = (result for result in results if isinstance(result, Scored))
    return tuple(
        replace(each, scores=tuple(replace(score, version=version) for score in each.scores)) for each in scored
    )


@pytest.mark.parametrize(
    ("worse", "version", "says"),
    [(0.0, "1.0.0", COIN), (0.0, "1.0.0+samples-3", OTHERWISE), (0.2, "1.0.0", OTHERWISE)],
)
def test_a_judge_of_0_or_1_that_leaves_a_run_unclear_is_named_with_the_line_that_helps(
    worse: float, version: str, says: str
) -> None:
    """More planned trials of such a judge change nothing (``docs/statistics.md``, a judge of 0 or 1)."""
    unclear = of_few(worse, 1)
    (base,) = unclear.baseline
    unclear = replace(
        unclear,
        results=of_version(version, unclear.results),
        baseline=(replace(base, results=of_version(version, base.results)),),
    )
    while isinstance(step := weigh(unclear, Verdict(Conclusion.PASSED, "Enough passed.", "")), Plan):
        given = [worse, 1.0, 1.0]
        more = (of(trial, given[trial.number % 3] if trial.arm.name == "head" else 1.0) for trial in step.trials)
        unclear = replace(unclear, results=(*unclear.results, *of_version(version, more)))
    assert step.conclusion is Conclusion.INCONCLUSIVE
    assert step.action.startswith(says)


def test_an_unclear_comparison_makes_a_run_that_is_incomplete_anyway_no_milder() -> None:
    unclear = of_few(0.85, 1)
    while isinstance(step := next_step(unclear), Plan):
        head = [0.55, 0.95, 0.95]
        more = (of(trial, head[trial.number % 3] if trial.arm.name == "head" else 0.95) for trial in step.trials)
        unclear = replace(unclear, results=(*unclear.results, *more))
    assert step.comparison is not None
    assert (step.conclusion, step.comparison.tier) == (Conclusion.INCONCLUSIVE, Tier.UNCLEAR)
    found = weigh(unclear, Verdict(Conclusion.INCOMPLETE, "The pass rate is unclear.", "Run it again."))
    assert isinstance(found, Verdict)
    assert (found.conclusion, found.action) == (Conclusion.INCOMPLETE, "Run it again.")
    assert found.reason.startswith("The pass rate is unclear. ")


def test_few_scenarios_with_the_base_do_not_excuse_a_pass_rate_that_is_too_low() -> None:
    given = of_few(0.95)
    low = sample_scored(NAMES[0], scores=(sample_score(0.95, threshold=0.99),))
    plan = planned(replace(given, results=(low, *given.results[1:])))
    assert {(trial.arm.name, trial.number) for trial in plan.trials} == {("head", 1), ("head", 2)}


def test_recordings_of_few_scenarios_ask_for_no_further_trials() -> None:
    def twice(name: str, value: float) -> tuple[ScenarioResult, ...]:
        first = scored(name, value)
        return first, replace(first, trial=replace(first.trial, number=1))

    names = NAMES[:3]
    base = MeasuredRun(
        "a1b2c3d", NOW, "judge", AnswerOrigin.REPLAY, tuple(one for name in names for one in twice(name, 0.95))
    )
    for value, conclusion in ((0.85, Conclusion.FAILED), (0.95, Conclusion.PASSED)):
        results = tuple(one for name in names for one in twice(name, value))
        replayed = evidence(results=results, answers=AnswerOrigin.REPLAY, baseline=(base,))
        found, _ = verdict(replayed)
        assert found.conclusion is conclusion
        assert next_step(replayed) == next_step(replayed)


def test_a_recording_that_is_replayed_again_is_no_further_evidence() -> None:
    first = scored(NAMES[0], 0.95)
    base = MeasuredRun("a1b2c3d", NOW, "judge", AnswerOrigin.REPLAY, (first, of(replace(first.trial, number=1), 0.95)))
    results = tuple(of(trial.trial, 0.85) for trial in base.results)
    once = evidence(results=results, answers=AnswerOrigin.REPLAY, baseline=(base,))
    ours = replace(base, results=results)
    often = replace(once, baseline=(base,) * 3, earlier=(ours,) * 5)
    assert verdict(often)[1].confirm_p == verdict(once)[1].confirm_p == 0.25
