"""k of n trials: what they come to, what quarantine changes, and when a run stops."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import date
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.model.change import Mode
from ratiba_action.model.measurement import Errored, Phase, ScenarioResult, Scored
from ratiba_action.model.plan import BASE, Arm
from ratiba_action.model.scenario import Quarantine, Strategy
from ratiba_action.model.verdict import Conclusion, Evidence, Limits, Verdict
from ratiba_action.verdict.decision import next_step
from ratiba_action.verdict.trials import FailureLimit, Standing, outcomes_of
from tests.support.sample_report import sample_check, sample_score, sample_scored, sample_trial

DAY = date(2026, 11, 22)
FLAKY = Quarantine("times out at night", "amina", DAY)


def trials(
    kinds: str, passes: int | None = None, name: str = "spa", *, critical: bool = False, **changes: object
) -> tuple[ScenarioResult, ...]:
    """One trial for each letter: p(assed), b(roken), l(ow judged score), e(rrored)."""
    strategy = Strategy(trials=len(kinds), passes=passes)
    results: list[ScenarioResult] = []
    for number, kind in enumerate(kinds):
        trial = replace(sample_trial(name, strategy=strategy, critical=critical, **changes), number=number)
        score = sample_score(0.2 if kind == "l" else 0.9)
        scored = sample_scored(checks=(sample_check(passed=kind != "b"),), scores=(score,))
        errored = Errored(trial, Phase.PROVIDER, "overloaded")
        results.append(errored if kind == "e" else replace(scored, trial=trial))
    return tuple(results)


def decide(*results: ScenarioResult, day: date = DAY, **limits: object) -> Verdict:
    given = Limits(**limits)  # type: ignore[arg-type]
    verdict = next_step(Evidence(Mode.BLOCKING, results, given, day=day, no_further="the recordings hold no more"))
    assert isinstance(verdict, Verdict)
    return verdict


@pytest.mark.parametrize(
    ("kinds", "passes", "stands"),
    [
        ("ppppb", 4, Standing.PASSED),
        ("pppbb", 4, Standing.FAILED),
        ("pppp", None, Standing.PASSED),
        ("pppb", None, Standing.FAILED),
        ("ppe", 2, Standing.PASSED),
        ("pee", 2, Standing.UNMEASURED),
        ("bbe", 2, Standing.FAILED),
        ("lle", 2, Standing.BELOW_THRESHOLD),
    ],
)
def test_a_scenario_stands_where_the_trial_stands_that_decides(kinds: str, passes: int, stands: Standing) -> None:
    (outcome,) = outcomes_of(trials(kinds, passes))
    assert outcome.standing is stands
    assert outcome.passed == kinds.count("p")


def test_every_trial_of_a_critical_scenario_must_pass() -> None:
    assert decide(*trials("ppb", 1, critical=True)).conclusion is Conclusion.FAILED


def test_a_trial_that_was_never_planned_is_no_pass() -> None:
    assert decide(*trials("ppp", None)[:2]).conclusion is Conclusion.INCOMPLETE


def test_a_pass_rate_that_lacks_a_trial_is_not_final() -> None:
    assert decide(*trials("lle", 2), pass_rate=0.0).conclusion is Conclusion.INCOMPLETE


def test_the_mean_of_the_scores_stands_in_the_place_of_their_thresholds() -> None:
    scores = (sample_score(0.3), sample_score(0.7, judged=False))
    held = sample_scored("spa", scores=scores, strategy=Strategy(min_mean=0.5))
    assert decide(held, pass_rate=1.0).conclusion is Conclusion.PASSED
    low = replace(held, scores=(sample_score(0.2), scores[1]))
    assert decide(low, pass_rate=1.0).conclusion is Conclusion.FAILED
    broken = replace(held, checks=(sample_check(passed=False),))
    assert decide(broken, pass_rate=0.0).conclusion is Conclusion.FAILED
    critical = sample_scored("spa", scores=scores, strategy=Strategy(min_mean=0.5), critical=True)
    assert decide(critical, pass_rate=0.0).conclusion is Conclusion.FAILED


def test_the_mean_of_a_metric_over_the_run_must_reach_its_threshold() -> None:
    results = (*trials("p", name="a"), *trials("l", name="b"))
    assert decide(*results, pass_rate=0.5, metric_thresholds={"SwahiliFluencyMetric": 0.55}).reason.startswith("Every")
    verdict = decide(*results, pass_rate=0.5, metric_thresholds={"SwahiliFluencyMetric": 0.56})
    assert verdict.conclusion is Conclusion.FAILED
    assert "SwahiliFluencyMetric 0.55, threshold 0.56" in verdict.reason


def test_a_quarantined_failure_does_not_decide_until_its_last_day_is_over() -> None:
    results = (*trials("p", name="a"), *trials("b", name="z", quarantine=FLAKY))
    assert decide(*results).reason == "The scenario passed; 1 scenario in quarantine."
    assert decide(*results, day=date(2026, 11, 23)).conclusion is Conclusion.FAILED


def test_everything_in_quarantine_is_nothing_measured() -> None:
    assert decide(*trials("ppp", quarantine=FLAKY)).conclusion is Conclusion.INCOMPLETE


def stop_reason(max_failed: int | None, *results: ScenarioResult) -> str:
    limit = FailureLimit(max_failed, DAY)
    for result in results:
        limit.add(result)
    return limit.reason


def test_a_run_stops_after_scenarios_that_are_broken_for_good() -> None:
    assert stop_reason(1, *trials("b", passes=None, name="a")).startswith("the run stopped after 1 failed: a")
    assert stop_reason(2, *trials("b", name="a"), *trials("p"), *trials("b", name="c")).startswith(
        "the run stopped after 2 failed: a, c"
    )
    assert stop_reason(1, *trials("bp", passes=1)) == ""
    assert stop_reason(1, *trials("b", quarantine=FLAKY)) == ""
    assert stop_reason(2, *trials("bb")) == ""
    assert stop_reason(None, *trials("b")) == ""
    assert stop_reason(1, *on_base(trials("b"))) == ""


def on_base(results: Iterable[ScenarioResult]) -> tuple[ScenarioResult, ...]:
    return tuple(replace(result, trial=replace(result.trial, arm=Arm(BASE, "."))) for result in results)


@given(st.lists(st.tuples(st.text("pble", min_size=1, max_size=3), st.integers(1, 3)), max_size=6), st.randoms())
def test_results_in_any_order_stop_a_run_as_all_of_them_at_once_would(
    scenarios: list[tuple[str, int]], order: Random
) -> None:
    results = [
        result
        for number, (kinds, passes) in enumerate(scenarios)
        for result in trials(kinds, passes=min(passes, len(kinds)), name=f"s{number}")
    ]
    order.shuffle(results)
    failed = [outcome for outcome in outcomes_of(results) if outcome.standing is Standing.FAILED]
    assert bool(stop_reason(2, *results)) is (len(failed) >= 2)


_kinds = st.text("pble", min_size=1, max_size=4)
_scenarios = st.lists(st.tuples(_kinds, st.integers(1, 4), st.booleans()), min_size=1, max_size=4)


def _results(scenarios: list[tuple[str, int, bool]], name: str = "s", **changes: object) -> list[ScenarioResult]:
    return [
        result
        for index, (kinds, passes, critical) in enumerate(scenarios)
        for result in trials(kinds, min(passes, len(kinds)), f"{name}{index}", critical=critical, **changes)
    ]


@given(_scenarios, st.data())
def test_more_trials_that_pass_never_turn_a_passed_run_into_a_failed_one(
    scenarios: list[tuple[str, int, bool]], data: st.DataObject
) -> None:
    if decide(*_results(scenarios)).conclusion is not Conclusion.PASSED:
        return
    index = data.draw(st.integers(0, len(scenarios) - 1))
    kinds, passes, critical = scenarios[index]
    place = data.draw(st.integers(0, len(kinds) - 1))
    better = [*scenarios]
    better[index] = (f"{kinds[:place]}p{kinds[place + 1 :]}", passes, critical)
    assert decide(*_results(better)).conclusion is Conclusion.PASSED


@given(_scenarios, st.randoms(use_true_random=False))
def test_the_order_of_trials_changes_nothing(scenarios: list[tuple[str, int, bool]], random: object) -> None:
    results = _results(scenarios)
    shuffled = list(results)
    random.shuffle(shuffled)  # type: ignore[attr-defined]  # Hypothesis types its Random as an object
    assert decide(*results) == decide(*shuffled)


@given(_scenarios, _scenarios)
def test_what_is_in_quarantine_never_changes_the_conclusion(
    scenarios: list[tuple[str, int, bool]], apart: list[tuple[str, int, bool]]
) -> None:
    ordinary = [(kinds, passes, False) for kinds, passes, _ in apart]
    held = _results(ordinary, "q", quarantine=FLAKY)
    results = _results(scenarios)
    assert decide(*results, *held).conclusion is decide(*results).conclusion
    assert decide(*held).conclusion is Conclusion.INCOMPLETE


@given(_scenarios)
def test_a_scenario_passes_exactly_when_enough_of_its_trials_do(scenarios: list[tuple[str, int, bool]]) -> None:
    outcomes = outcomes_of(_results(scenarios))
    for (kinds, passes, critical), outcome in zip(scenarios, outcomes, strict=True):
        needed = len(kinds) if critical else min(passes, len(kinds))
        assert (outcome.standing is Standing.PASSED) == (kinds.count("p") >= needed)
        assert isinstance(outcome.deciding, Scored | Errored)
