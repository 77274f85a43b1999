"""The comparison as ``next_step`` speaks of it: an alarm, its confirmation, and what cannot be confirmed."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from ratiba_action.model.answer_origin import AnswerOrigin
from ratiba_action.model.change import Mode
from ratiba_action.model.comparison import Comparison, MeasuredRun, Rules, Tier
from ratiba_action.model.measurement import Errored, Phase, ScenarioResult
from ratiba_action.model.plan import Plan, Trial
from ratiba_action.model.verdict import Conclusion, Evidence, Limits, Verdict
from ratiba_action.verdict.decision import exit_code, next_step
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
    _, comparison = verdict(evidence(results=few, left_out=NAMES[2:11]))
    assert [one.scenario_id for one in comparison.not_comparable] == [NAMES[11]]
    nothing, comparison = verdict(evidence(results=(), left_out=NAMES))
    assert (nothing.conclusion, comparison.not_comparable) == (Conclusion.INCOMPLETE, ())
