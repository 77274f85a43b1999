import os
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from ratiba_action.model.answer_origin import AnswerOrigin
from ratiba_action.model.comparison import MeasuredRun, NotComparable
from ratiba_action.model.measurement import Errored, Phase, ScenarioResult, Scored
from ratiba_action.model.scenario import Assertion, Strategy
from ratiba_action.verdict.pairing import ContentDigests, content_digest, pair_up
from tests.support.sample_report import sample_score, sample_scored

FLUENT = sample_score(0.9)
CONSISTENT = sample_score(1.0, judged=False)


def run(*results: ScenarioResult, judge: str = "judge-1", answers: AnswerOrigin = AnswerOrigin.LIVE) -> MeasuredRun:
    return MeasuredRun("a1b2c3d", datetime(2026, 4, 25, tzinfo=UTC), judge, answers, results)


def scored(name: str, *values: float, number: int = 0, version: str = "1.0.0") -> Scored:
    scores = (replace(FLUENT, value=values[0], version=version), *(replace(CONSISTENT, value=v) for v in values[1:]))
    result = sample_scored(name, scores=scores)
    return replace(result, trial=replace(result.trial, number=number))


def why(head: MeasuredRun, base: MeasuredRun) -> tuple[NotComparable, ...]:
    pairs, problems = pair_up([head], [base])
    assert pairs == ()
    return problems


def test_the_composite_of_a_trial_is_the_mean_of_its_metrics() -> None:
    ((pair,), problems) = pair_up([run(scored("a", 0.8, 1.0))], [run(scored("a", 0.9, 1.0))])
    assert (pair.head, pair.base) == ((0.9,), (0.95,))
    assert pair.metrics == {"BookingSlotConsistencyMetric": (1.0, 1.0), "SwahiliFluencyMetric": (0.9, 0.8)}
    assert problems == ()


def test_runs_of_the_base_are_pooled_and_a_repeated_run_adds_its_data() -> None:
    ((pair,), _) = pair_up(
        [run(scored("a", 0.5)), run(scored("a", 0.6))], [run(scored("a", value)) for value in (0.7, 0.8, 0.9)]
    )
    assert (pair.head, pair.base) == ((0.5, 0.6), (0.7, 0.8, 0.9))
    assert (pair.head_runs, pair.base_runs) == ((0, 1), (0, 1, 2))


def test_a_planned_trial_belongs_to_its_run_where_another_run_lacks_the_scenario_or_one_of_its_metrics() -> None:
    base = [run(scored("b", 0.9)), run(scored("a", 0.7)), run(scored("a", 0.8, 1.0)), run(scored("a", 0.9, 1.0))]
    ((pair,), _) = pair_up([run(scored("a", 0.5))], base)
    assert (pair.base, pair.base_runs) == ((0.7, 0.8, 0.9), (1, 2, 3))
    ((pair,), _) = pair_up([run(scored("a", 0.5, 1.0))], base)
    assert (pair.base, pair.base_runs) == ((0.9, 0.95), (2, 3))


def test_further_trials_count_as_fresh_where_both_arms_ran_beside_each_other() -> None:
    head = replace(run(scored("a", 0.5), scored("a", 0.6, number=1), scored("a", 0.7, number=2)), this_run=True)
    earlier, beside = run(scored("a", 0.9), scored("a", 0.1, number=1)), run(scored("a", 0.8, number=1))
    ((pair,), _) = pair_up([head], [earlier, replace(beside, this_run=True)])
    assert (pair.head, pair.fresh_head, pair.base, pair.fresh_base) == ((0.5,), (0.6, 0.7), (0.9,), (0.8,))
    assert pair.metrics == {"SwahiliFluencyMetric": (0.8, 0.6)}, "as many trials of one arm as of the other"


def test_planned_trials_are_all_looked_at_first() -> None:
    def twice(*values: float) -> MeasuredRun:
        trials = [scored("a", value, number=number) for number, value in enumerate(values)]
        return run(*(planned_twice(one) for one in trials))

    ((pair,), _) = pair_up([replace(twice(0.5, 0.6, 0.7), this_run=True)], [twice(0.9, 0.8, 0.1)])
    assert (pair.head, pair.fresh_head, pair.base, pair.fresh_base) == ((0.5, 0.6), (0.7,), (0.9, 0.8), ())
    assert (pair.head_runs, pair.base_runs) == ((0, 0), (0, 0)), "trials of one run"


def planned_twice(result: Scored) -> Scored:
    scenario = replace(result.trial.scenario, strategy=Strategy(trials=2))
    return replace(result, trial=replace(result.trial, scenario=scenario))


def test_what_an_earlier_attempt_measured_to_confirm_a_drop_is_added() -> None:
    earlier = replace(run(scored("a", 0.5)), confirming={"a": ((0.9, 0.8), (0.4, 0.5))})
    ((pair,), _) = pair_up([earlier, run(scored("a", 0.6))], [run(scored("a", 0.9))])
    assert (pair.added_base, pair.added_head, pair.fresh_head) == ((0.9, 0.8), (0.4, 0.5), ())


def test_a_scenario_that_errored_in_a_run_of_the_base_has_no_difference() -> None:
    base = [run(scored("a", 0.9)), run(Errored(scored("a", 0.9).trial, Phase.SYSTEM, "it fell over"))]
    pairs, problems = pair_up([run(scored("a", 0.9))], base)
    assert (pairs, problems) == ((), (NotComparable("a", "", "it errored in a run of the base"),))


def test_a_new_scenario_and_a_missing_one_have_no_difference() -> None:
    assert why(run(scored("a", 0.9)), run(scored("b", 0.9))) == (
        NotComparable("a", "", "the base has no scores of it"),
        NotComparable("b", "", "this change has no scores of it"),
    )


def test_a_scenario_that_broke_off_has_no_difference() -> None:
    broken = Errored(scored("a", 0.9).trial, Phase.SYSTEM, "it fell over")
    assert why(run(broken), run(scored("a", 0.9))) == (NotComparable("a", "", "this change has no scores of it"),)


def test_another_judge_has_no_difference_in_what_it_judged() -> None:
    head, base = run(scored("a", 0.9), judge="judge-2"), run(scored("a", 0.9))
    assert why(head, base) == (
        NotComparable("a", "SwahiliFluencyMetric", "its judge is judge-2 here and was judge-1 on the base"),
    )


@pytest.mark.parametrize(
    ("here", "there", "comparable"),
    [
        ("claude-opus-5-5-20260901", "claude-opus-5-5-20260101", True),
        ("claude-opus-5-5", "", True),
        ("claude-opus-5-5", "claude-haiku-4-5", False),
    ],
)
def test_scores_of_an_alias_are_comparable_as_long_as_the_same_model_answers(
    here: str,
    there: str,
    comparable: bool,  # noqa: FBT001 - of the table
) -> None:
    def answered(name: str, value: float) -> MeasuredRun:
        score = replace(sample_score(value), answered_by=(name,) if name else ())
        return run(replace(scored("a", value), scores=(score,)), judge="team-judge")

    pairs, problems = pair_up([answered(here, 0.9)], [answered(there, 0.9)])
    assert bool(pairs) is comparable
    assert [problem.reason for problem in problems] == (
        [] if comparable else [f"its judge's answers are from {here} here and were from {there} on the base"]
    )


def test_another_judge_leaves_what_is_exact_comparable() -> None:
    ((pair,), problems) = pair_up([run(scored("a", 0.5, 1.0), judge="judge-2")], [run(scored("a", 0.9, 1.0))])
    assert set(pair.metrics) == {"BookingSlotConsistencyMetric"}
    assert [problem.metric for problem in problems] == ["SwahiliFluencyMetric"]


def test_another_rubric_has_no_difference() -> None:
    assert why(run(scored("a", 0.9, version="2.0.0")), run(scored("a", 0.9))) == (
        NotComparable("a", "SwahiliFluencyMetric", "its version is 2.0.0 here and was 1.0.0 on the base"),
    )


def test_live_answers_are_not_compared_with_replayed_ones() -> None:
    assert why(run(scored("a", 0.9)), run(scored("a", 0.9), answers=AnswerOrigin.REPLAY)) == (
        NotComparable("a", "", "answers are live here and were replay on the base"),
    )


def test_an_edited_scenario_has_no_difference() -> None:
    edited = scored("a", 0.9)
    edited = replace(edited, trial=replace(edited.trial, scenario=replace(edited.trial.scenario, critical=True)))
    assert why(run(edited), run(scored("a", 0.9))) == (
        NotComparable("a", "", "the scenario is another one than the base's"),
    )


@pytest.mark.parametrize("change", [{"line": 99}, {"path": "elsewhere.yaml"}, {"tags": frozenset({"other"})}])
def test_where_a_scenario_stands_and_when_it_runs_does_not_matter(change: dict[str, Any]) -> None:
    moved = scored("a", 0.9)
    moved = replace(moved, trial=replace(moved.trial, scenario=replace(moved.trial.scenario, **change)))
    pairs, problems = pair_up([run(moved)], [run(scored("a", 0.9))])
    assert len(pairs) == 1
    assert problems == ()


def test_a_scenario_is_the_same_whatever_adds_its_fluency_metric_and_for_which_audience() -> None:
    scenario = sample_scored("a", scores=(FLUENT,)).trial.scenario

    def digest_with(metric: str, **parameters: str) -> str:
        return content_digest(replace(scenario, assertions=(Assertion(metric, 0.8, parameters=parameters),)))

    english = digest_with("EnglishFluencyMetric")
    assert digest_with("EnglishFluencyMetric", audience="guests of a hotel") == english
    assert digest_with("GEval", audience="guests of a hotel") != digest_with("GEval")
    assert content_digest(replace(scenario, fluency=False)) == content_digest(scenario)


def test_a_run_computes_the_digest_of_each_scenario_once() -> None:
    scenario, digests = sample_scored("a").trial.scenario, ContentDigests()
    other = replace(scenario, critical=not scenario.critical)
    assert digests.of(scenario) == content_digest(scenario)
    assert digests.of(scenario) is digests.of(scenario)
    assert digests.of(other) == content_digest(other) != digests.of(scenario)


DIGEST = """
import sys
from ratiba_action.model.scenario import Strategy
from dataclasses import replace
from ratiba_action.verdict.pairing import content_digest
from tests.support.sample_report import sample_scored
strategy = Strategy(3, 2, given=frozenset({"trials", "passes", "timeout_seconds", "retries"}))
print(content_digest(replace(sample_scored("a").trial.scenario, strategy=strategy)))
"""


@pytest.mark.processes
def test_a_digest_is_the_same_in_every_process() -> None:
    words = [sys.executable, "-c", DIGEST]
    seeds = ({**os.environ, "PYTHONHASHSEED": str(seed)} for seed in range(4))
    found = {subprocess.run(words, env=seed, capture_output=True, text=True, check=True).stdout for seed in seeds}
    assert len(found) == 1


def test_a_set_is_written_as_digests_have_always_had_one_of_a_single_name() -> None:
    scenario = sample_scored("a").trial.scenario
    one = replace(scenario, strategy=replace(scenario.strategy, given=frozenset({"trials"})))
    as_text = replace(scenario, strategy=replace(scenario.strategy, given=str(frozenset({"trials"}))))  # type: ignore[arg-type] # what it was taken for
    assert content_digest(one) == content_digest(as_text)
