"""What both sides come to where no metric was measured."""

from dataclasses import replace
from datetime import UTC, datetime

from ratiba_action.model.answer_origin import AnswerOrigin
from ratiba_action.model.comparison import MeasuredRun, Rules, Tier
from ratiba_action.model.measurement import Check, Scored
from ratiba_action.verdict.pairing import content_digest
from ratiba_action.verdict.runs import PassedOnBoth, compare_as_measured, count_passed, passed_on
from tests.support.sample_report import sample_scored


def held(name: str, *, passed: bool = True) -> Scored:
    check = Check("state", 1, "state", "confirmed", "confirmed" if passed else "collect_slot", passed=passed)
    return replace(sample_scored(name), checks=(check,), scores=())


def run(*results: Scored) -> MeasuredRun:
    return MeasuredRun(None, datetime(2026, 4, 25, tzinfo=UTC), "", AnswerOrigin.REPLAY, results)


def test_without_a_metric_the_comparison_says_what_holds_on_each_side() -> None:
    base = run(held("spa_0"), held("spa_1"), held("spa_2"))
    head = run(held("spa_0"), held("spa_1", passed=False), held("spa_2"))
    found = compare_as_measured(head, base, Rules())
    assert found.tier is Tier.NOT_COMPARABLE
    assert found.reason == (
        "No metric to compare; deterministic assertions: 3 of 3 scenarios passed on the base, 2 of 3 in this PR."
    )


def test_a_conversation_that_only_one_side_has_is_not_counted() -> None:
    assert count_passed((run(held("spa_0"), held("spa_new")),), (run(held("spa_0")),)) == PassedOnBoth(1, 1, 1)


def test_a_scenario_that_changed_is_not_counted() -> None:
    known = replace(run(held("spa_0")), scenario_digests={"spa_0": "another"})
    assert count_passed((run(held("spa_0")),), (known,)) == PassedOnBoth(0, 0, 0)


def test_the_last_run_of_a_side_counts() -> None:
    broken, fixed = run(held("spa_0", passed=False)), run(held("spa_0"))
    assert count_passed((fixed,), (fixed, broken)) == PassedOnBoth(1, 0, 1)


def test_the_base_holds_a_conversation_only_where_it_was_the_same_one() -> None:
    one = held("spa_0")
    digest = content_digest(one.trial.scenario)
    assert passed_on((run(one),), "spa_0", digest)
    assert not passed_on((run(one),), "spa_0", "another")
    assert not passed_on((run(held("spa_0", passed=False)),), "spa_0", digest)
    assert not passed_on((), "spa_0", digest)
