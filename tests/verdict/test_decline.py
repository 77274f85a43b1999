"""A branch that loses a little with every merge is compared with what it was, and luck is no decline."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from ratiba_action.model.answer_origin import AnswerOrigin
from ratiba_action.model.change import Mode
from ratiba_action.model.comparison import Anchor, DeclineRules, MeasuredRun, Rules
from ratiba_action.model.conversation import Transcript
from ratiba_action.model.history import KeptDecline, KeptRun
from ratiba_action.model.measurement import Errored, NotRun, Phase, ScenarioResult, Score, Scored
from ratiba_action.model.plan import BASE, HEAD, Arm, Plan, Trial
from ratiba_action.model.scenario import Customer, Scenario, Turn
from ratiba_action.model.verdict import Conclusion, Evidence, Limits, Verdict
from ratiba_action.verdict.decision import next_step
from ratiba_action.verdict.decline import best_anchor, first_of_each_week, note_for_changes
from ratiba_action.verdict.pairing import content_digest

NOW = datetime(2026, 11, 25, 8, tzinfo=UTC)
OLD = "a1b2c3d4" * 5
SIDES = {"head": Arm(HEAD, "head"), "base": Arm(BASE, "base")}


def scenario(number: int) -> Scenario:
    return Scenario(f"s{number:02}", "fr", (Turn("Bonjour"),), NOW, Customer("Wanjiku", "+254 712 345 432"))


SCENARIOS = tuple(map(scenario, range(12)))
SCORES = {entry.id: 0.8 + index / 100 for index, entry in enumerate(SCENARIOS)}
"""They differ from scenario to scenario, and never from trial to trial."""


def measured(trial: Trial, value: float, *, metric: str = "Quality", version: str = "1.0.0") -> Scored:
    score = Score(metric, version, value, 0.0, judged=True)
    return Scored(trial, Transcript(trial.scenario.id, ()), (), (score,), 0.0)


def run(values: Mapping[str, float], *, commit: str = OLD, judge: str = "judge", version: str = "1.0.0") -> MeasuredRun:
    """One run of an earlier version, as the history has kept it."""
    results = [measured(Trial(entry, SIDES["base"]), values[entry.id], version=version) for entry in SCENARIOS]
    digests = {entry.id: content_digest(entry) for entry in SCENARIOS}
    return MeasuredRun(commit, NOW - timedelta(weeks=3), judge, AnswerOrigin.LIVE, tuple(results), digests)


def evidence(fallen: float, *, candidates: int = 1, anchor: MeasuredRun | None = None, **changes: object) -> Evidence:
    """A run of the base branch whose scores are that much below those of its anchor."""
    results = tuple(measured(Trial(entry, SIDES["head"]), SCORES[entry.id] - fallen) for entry in SCENARIOS)
    found = Evidence(
        Mode.BLOCKING,
        results,
        Limits(),
        judge_model="judge",
        answers=AnswerOrigin.LIVE,
        anchor=Anchor("the best of the last 8 weeks", OLD, (anchor or run(SCORES),), candidates),
    )
    return replace(found, **changes)  # type: ignore[arg-type] # names and types are those of Evidence


def confirmed(given: Evidence, head: float, base: float) -> tuple[Verdict, list[Plan]]:
    """The verdict after the trials that it asks for, whose scores are that much below ``SCORES``."""
    fallen, plans = {HEAD: head, BASE: base}, list[Plan]()
    step = next_step(given)
    while isinstance(step, Plan):
        plans.append(step)
        more = [measured(trial, SCORES[trial.scenario.id] - fallen[trial.arm.name]) for trial in step.trials]
        given = replace(given, results=(*given.results, *more))
        step = next_step(given)
    return step, plans


def verdict_of(given: Evidence) -> Verdict:
    step = next_step(given)
    assert isinstance(step, Verdict)
    return step


def test_a_decline_is_confirmed_by_trials_of_both_versions_side_by_side_and_warns() -> None:
    verdict, plans = confirmed(evidence(0.07), head=0.06, base=0.0)
    assert verdict.conclusion is Conclusion.PASSED
    assert verdict.decline is not None
    assert verdict.decline.confirmed
    assert verdict.decline.difference == pytest.approx(-0.06), "of the trials that no choice has favoured"
    (warning,) = verdict.warnings
    assert warning == (
        "Slow decline: the mean score of 12 scenarios is 6 points below that of a1b2c3d (the best of the last 8 weeks, "
        "measured on 2026-11-04), in trials side by side (p = 0.0002). Look at what was merged since then: "
        "git log --oneline a1b2c3d.."
    )
    (plan,) = plans
    assert sorted((trial.scenario.id, trial.arm.name, trial.number) for trial in plan.trials) == sorted(
        (entry.id, arm, number) for entry in SCENARIOS for arm in (HEAD, BASE) for number in (1, 2)
    )


def test_it_fails_the_run_only_where_that_is_configured() -> None:
    block = Rules(decline=DeclineRules(block=True))
    verdict, _ = confirmed(evidence(0.07, rules=block), head=0.06, base=0.0)
    assert verdict.conclusion is Conclusion.FAILED
    assert verdict.reason.startswith("Slow decline: the mean score of 12 scenarios is 6 points below")
    assert verdict.action == "Look at what was merged since then: git log --oneline a1b2c3d.."
    verdict, _ = confirmed(evidence(0.07, rules=block), head=0.0, base=0.0)
    assert verdict.conclusion is Conclusion.PASSED


def test_a_provider_that_became_worse_lowers_both_versions_and_is_no_decline() -> None:
    verdict, plans = confirmed(evidence(0.07), head=0.07, base=0.07)
    assert (verdict.conclusion, verdict.warnings, len(plans)) == (Conclusion.PASSED, (), 1)
    assert verdict.decline is not None
    assert not verdict.decline.confirmed


def test_the_best_of_many_needs_a_clearer_fall_than_a_version_that_was_named() -> None:
    lucky = run({name: value + (0.03 if index else -0.05) for index, (name, value) in enumerate(SCORES.items())})
    assert isinstance(next_step(evidence(0.0, anchor=lucky, candidates=1)), Plan)
    chosen = verdict_of(evidence(0.0, anchor=lucky, candidates=8))
    assert chosen.decline is not None
    assert chosen.decline.screen_p == pytest.approx(8 * 13 / 4096)
    assert not chosen.warnings


@pytest.mark.parametrize(("level", "confirmed"), [(0.01, True), (0.009, False)])
def test_the_trials_confirm_at_a_tenth_of_the_level_so_that_ten_runs_share_it(level: float, *, confirmed: bool) -> None:
    given = evidence(0.07, rules=Rules(decline=DeclineRules(level=level)))
    plan = next_step(given)
    assert isinstance(plan, Plan)
    change = {entry.id: 0.01 if number < 2 else -0.06 for number, entry in enumerate(SCENARIOS)}
    more = [
        measured(trial, SCORES[trial.scenario.id] + (change[trial.scenario.id] if trial.arm.name == HEAD else 0.0))
        for trial in plan.trials
    ]
    found = verdict_of(replace(given, results=(*given.results, *more))).decline
    assert found is not None
    assert found.confirm_p == pytest.approx(4 / 4096), "two of twelve rose a little"
    assert found.confirmed is confirmed


def test_too_few_scenarios_for_any_confirmation_pay_for_no_trial() -> None:
    given = evidence(0.07, rules=Rules(min_scenarios=6, decline=DeclineRules(level=0.001)))
    verdict = verdict_of(given)
    assert verdict.decline is not None
    assert verdict.decline.problem == "12 scenarios can be compared, and 14 are the least"
    assert verdict.warnings == ()


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"no_base": "the files of a1b2c3d cannot be read"}, "the files of a1b2c3d cannot be read"),
        ({"no_further": "the budget is used up"}, "the budget is used up"),
    ],
)
def test_what_cannot_be_confirmed_warns_and_is_incomplete_where_a_decline_would_fail_the_run(
    changes: Mapping[str, str], why: str
) -> None:
    for block in (False, True):
        given = evidence(0.07, rules=Rules(decline=DeclineRules(block=block)))
        verdict = verdict_of(replace(given, no_base=changes.get("no_base"), no_further=changes.get("no_further")))
        assert verdict.conclusion is (Conclusion.INCOMPLETE if block else Conclusion.PASSED)
        warnings = verdict.reason if block else verdict.warnings[0]
        assert "There may be a slow decline: the mean score of 12 scenarios is 7 points below" in warnings
        assert f"It could not be confirmed: {why}." in warnings


def test_further_trials_that_were_not_measured_are_not_run_again() -> None:
    given = evidence(0.07)
    plan = next_step(given)
    assert isinstance(plan, Plan)
    lost: list[ScenarioResult] = [NotRun(trial, "the time is over") for trial in plan.trials]
    verdict = verdict_of(replace(given, results=(*given.results, *lost)))
    assert "further trials of s00, s01, s02 and 9 more were not measured" in verdict.warnings[0]


@pytest.mark.parametrize(
    ("anchor", "why"),
    [
        (run(SCORES, judge="another"), "its judge is judge here and was another on the base"),
        (run(SCORES, version="0.9.0"), "its version is 1.0.0 here and was 0.9.0 on the base"),
    ],
)
def test_another_judge_or_metric_ends_the_comparison_instead_of_making_a_decline(anchor: MeasuredRun, why: str) -> None:
    verdict = verdict_of(evidence(0.3, anchor=anchor))
    assert (verdict.conclusion, verdict.warnings) == (Conclusion.PASSED, ())
    assert verdict.decline is not None
    assert verdict.decline.difference is None
    assert verdict.decline.problem == f"0 scenarios can be compared, and 10 are the least, such as: {why}"


def test_only_scenarios_that_are_as_they_were_are_compared() -> None:
    then = run(SCORES)
    edited = replace(then, scenario_digests={**then.scenario_digests, "s00": "another", "s01": "another"})
    easier = replace(
        edited,
        results=tuple(
            measured(result.trial, 1.0) if result.trial.scenario.id in {"s00", "s01"} else result
            for result in edited.results
        ),
    )
    verdict = verdict_of(evidence(0.0, anchor=easier))
    assert verdict.decline is not None
    assert (verdict.decline.scenarios, verdict.decline.difference) == (10, 0.0)


def test_a_run_that_failed_pays_for_no_comparison() -> None:
    low = Limits(metric_thresholds={"Quality": 0.99})
    verdict = verdict_of(evidence(0.07, limits=low))
    assert (verdict.conclusion, verdict.decline) == (Conclusion.FAILED, None)


def test_the_anchor_is_no_base_and_excuses_nothing() -> None:
    verdict, _ = confirmed(evidence(0.07), head=0.07, base=0.0)
    assert (verdict.comparison, verdict.cost) == (None, None)


def test_recorded_answers_are_compared_at_a_level_for_ten_merges_and_need_no_trials() -> None:
    recorded = replace(run(SCORES), answers=AnswerOrigin.REPLAY)
    clear = verdict_of(evidence(0.07, anchor=recorded, answers=AnswerOrigin.REPLAY))
    assert clear.decline is not None
    assert clear.decline.confirmed
    assert "12 scenarios is 7 points below that of a1b2c3d" in clear.warnings[0]
    assert "by recorded answers" in clear.warnings[0]
    doubtful = verdict_of(evidence(0.07, anchor=recorded, answers=AnswerOrigin.REPLAY, candidates=8))
    assert doubtful.warnings == ()


def test_of_each_week_the_first_commit_may_be_the_anchor_with_all_its_runs() -> None:
    def kept(number: int, commit: str, days: float) -> KeptRun:
        return KeptRun(number, commit, NOW - timedelta(days=days), "judge", "live")

    runs = [kept(1, "old", 60), kept(2, "b", 13), kept(3, "c", 12), kept(4, "b", 8), kept(5, "d", 2), kept(6, "e", -1)]
    found = first_of_each_week(runs, NOW, 8)
    assert {commit: [run.id for run in of_commit] for commit, of_commit in found.items()} == {"b": [2, 4], "d": [5]}
    assert first_of_each_week([], NOW, 8) == {}


def test_the_best_is_the_best_at_the_same_scenarios() -> None:
    hard = {"s00", "s01", "s02"}
    whole = run({name: 0.3 if name in hard else 0.9 for name in SCORES})
    easy = run(dict.fromkeys(SCORES, 0.88))
    easy = replace(easy, results=tuple(result for result in easy.results if result.trial.scenario.id not in hard))
    assert best_anchor({"easy": (easy,), "whole": (whole,)}) == "whole"
    errored = replace(whole, results=tuple(Errored(r.trial, Phase.SYSTEM, "it errored") for r in whole.results))
    assert best_anchor({"easy": (easy,), "nothing": (errored,)}) == "easy"


def test_a_pull_request_hears_of_a_decline_of_its_base_until_a_run_finds_none() -> None:
    latest = KeptDecline(NOW, "d" * 40, OLD, -0.063)
    assert note_for_changes("main", latest) == (
        "Slow decline: the run of main on 2026-11-25 (ddddddd) confirmed that its mean score is 6.3 points below that "
        "of a1b2c3d. This pull request is not its cause. Look at what was merged since then: git log --oneline "
        "a1b2c3d.."
    )
    assert note_for_changes("main", replace(latest, decline=None)) is None
