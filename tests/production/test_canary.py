"""A look at a canary: what is compared, what each answer needs, and what is never an answer."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.errors import ConfigurationError
from ratiba_action.privacy.masking import Redactor
from ratiba_action.production.canary import (
    FAILURES,
    OPINIONS,
    CanaryAnswer,
    CanaryRules,
    Series,
    Watched,
    canary_json,
    canary_lines,
    look,
    watched_in_files,
)
from ratiba_action.production.conversation import DISLIKED, FAILED, LIKED, GroupMark
from ratiba_action.production.drift import SeriesVersion
from tests.support.production_samples import NOW, canary_events, write_events

SCORE: Series = ("SwahiliFluencyMetric", SeriesVersion("1.0.0", "claude-opus-5-5"))
OTHER: Series = ("SwahiliFluencyMetric", SeriesVersion("1.0.0", "claude-opus-6"))
FAILURE, FEEDBACK = (FAILURES, SeriesVersion("")), (OPINIONS, SeriesVersion(""))
RULES = CanaryRules("old", "new", NOW - timedelta(days=7), NOW, share=1)
STABLE, CANARY = frozenset({"old"}), frozenset({"new"})


def production(
    count: int,
    stable: Mapping[Series, Sequence[float]],
    canary: Mapping[Series, Sequence[float]],
    *,
    begin: float = 48,
) -> list[Watched]:
    """Conversations one after the other, every second of the canary, with values in turn."""
    found: list[Watched] = []
    for number in range(count):
        for marks, values in ((STABLE, stable), (CANARY, canary)):
            at = NOW - timedelta(hours=begin) + timedelta(seconds=2 * number + (marks is CANARY))
            own = {series: each[number % len(each)] for series, each in values.items()}
            found.append(Watched(f"{number}{min(marks)}", at, marks, own))
    return found


GOOD = {SCORE: [0.8, 1.0, 0.9, 0.7, 0.9], FAILURE: [1.0]}
BAD = {SCORE: [0.6, 0.9, 0.7, 0.5, 0.8], FAILURE: [1.0]}


def test_a_worse_canary_is_rolled_back_and_the_reason_names_the_metric() -> None:
    found = look(production(200, GOOD, BAD), RULES)
    assert found.answer is CanaryAnswer.ROLL_BACK
    assert "the canary is worse: SwahiliFluencyMetric (mean 0.860 → 0.700)" in found.reasons[0]
    assert found.e_worse >= 40


def test_one_that_is_shown_to_be_good_enough_is_promoted() -> None:
    assert look(production(300, GOOD, GOOD), RULES).answer is CanaryAnswer.PROMOTE
    assert look(production(300, BAD, GOOD), RULES).answer is CanaryAnswer.PROMOTE


def test_no_difference_with_few_conversations_is_no_promotion() -> None:
    found = look(production(30, GOOD, GOOD), RULES)
    assert found.answer is CanaryAnswer.WAIT
    assert any("SwahiliFluencyMetric is not yet shown to be at most 0.05 worse" in each for each in found.reasons)


def test_nothing_is_promoted_in_its_first_day_and_a_bad_one_is_rolled_back_at_once() -> None:
    assert look(production(300, GOOD, GOOD, begin=23), RULES).answer is CanaryAnswer.WAIT
    assert look(production(300, GOOD, BAD, begin=3), RULES).answer is CanaryAnswer.ROLL_BACK


def test_a_canary_that_fails_more_often_is_rolled_back_though_its_scores_are_better() -> None:
    stable, canary = {SCORE: [0.8], FAILURE: [1.0]}, {SCORE: [0.9], FAILURE: [1.0, 0.0, 1.0]}
    found = look(production(200, stable, canary), RULES)
    assert found.answer is CanaryAnswer.ROLL_BACK
    assert "failures" in found.reasons[0]


def test_feedback_counts_where_customers_give_it_and_their_silence_is_no_approval() -> None:
    liked, disliked = {**GOOD, FEEDBACK: [1.0]}, {**GOOD, FEEDBACK: [1.0, 0.0]}
    assert look(production(200, liked, disliked), RULES).answer is CanaryAnswer.ROLL_BACK
    silent = look(production(300, liked, GOOD), RULES)
    assert silent.answer is CanaryAnswer.WAIT
    assert [reason.partition(" ")[0] for reason in silent.reasons] == ["feedback"]
    assert (
        look(production(300, liked, GOOD), replace(RULES, metrics=(SCORE[0], FAILURES))).answer is CanaryAnswer.PROMOTE
    )


@pytest.mark.parametrize(
    ("stable", "canary", "reason"),
    [
        (300, 0, "no conversation has the tag 'new'"),
        (0, 300, "is not yet shown"),
        (0, 0, "no conversation has the tag 'new'"),
    ],
)
def test_one_side_alone_is_never_an_answer(stable: int, canary: int, reason: str) -> None:
    both = production(300, GOOD, GOOD)
    sides = [each for each in both if each.marks == STABLE][:stable], [each for each in both if each.marks == CANARY]
    found = look([*sides[0], *sides[1][:canary]], RULES)
    assert found.answer is CanaryAnswer.WAIT
    assert reason in found.reasons[0]


def test_without_any_score_nothing_is_promoted_unless_failures_are_all_that_counts() -> None:
    unscored = production(300, {FAILURE: [1.0]}, {FAILURE: [1.0]})
    assert look(unscored, RULES).reasons == ("no conversation has a score of `ratiba sample`",)
    assert look(unscored, replace(RULES, metrics=(FAILURES,))).answer is CanaryAnswer.PROMOTE
    unknown = look(unscored, replace(RULES, metrics=(FAILURES, "Tone")))
    assert unknown.reasons == ("no conversation has the metric 'Tone'",)


def test_another_judge_begins_a_new_series_and_is_never_compared_with_the_old_one() -> None:
    lenient = {OTHER: [1.0], FAILURE: [1.0]}
    changed = [*production(300, GOOD, GOOD, begin=48), *production(20, lenient, lenient, begin=30)]
    found = look(changed, RULES)
    assert found.answer is CanaryAnswer.WAIT
    assert [(entry.version, entry.ended) for entry in found.metrics if entry.metric == SCORE[0]] == [
        ("1.0.0, claude-opus-5-5", True),
        ("1.0.0, claude-opus-6", False),
    ]
    # The stable side by the old judge and the canary by the new one would look like a loss or a gain.
    apart = production(200, GOOD, {OTHER: [0.2], FAILURE: [1.0]})
    assert all(entry.e_worse == pytest.approx(1) for entry in look(apart, RULES).metrics)


def test_evidence_of_a_loss_stays_when_the_judge_changes() -> None:
    worse = production(200, GOOD, BAD, begin=48)
    assert (
        look([*worse, *production(3, {OTHER: [1.0]}, {OTHER: [1.0]}, begin=20)], RULES).answer is CanaryAnswer.ROLL_BACK
    )


def test_more_metrics_need_more_evidence() -> None:
    few = production(50, GOOD, BAD)
    many = {(f"Other{number}", SeriesVersion("1")): 0.5 for number in range(30)}
    alone = look(few, replace(RULES, metrics=(SCORE[0],)))
    among = look([replace(each, values={**each.values, **many}) for each in few], RULES)
    assert alone.answer is CanaryAnswer.ROLL_BACK
    assert among.answer is CanaryAnswer.WAIT
    assert among.e_worse < alone.e_worse


def test_a_bad_hour_of_everything_is_no_difference() -> None:
    chance = random.Random(7)  # noqa: S311 - traffic, no secret
    found: list[Watched] = []
    for number in range(4000):
        marks = CANARY if chance.random() < 0.05 else STABLE
        value = 0.2 if number // 500 % 2 else 0.9
        at = NOW - timedelta(hours=48) + timedelta(seconds=number)
        found.append(Watched(str(number), at, marks, {SCORE: value, FAILURE: 1.0}))
    assert look(found, RULES).answer is not CanaryAnswer.ROLL_BACK


def test_a_conversation_with_both_versions_or_outside_of_the_period_is_left_out() -> None:
    mixed = [replace(each, marks=STABLE | CANARY) for each in production(5, GOOD, BAD)]
    late = [replace(each, at=NOW + timedelta(hours=1)) for each in production(200, GOOD, BAD)]
    found = look([*mixed, *late], RULES)
    assert (found.answer, found.stable, found.canary) == (CanaryAnswer.WAIT, 0, 0)
    assert "Left out, because they have both versions: 10 conversations." in found.notes


def test_a_canary_at_the_edge_of_the_period_may_have_begun_before() -> None:
    found = look(production(10, GOOD, GOOD, begin=7 * 24), RULES)
    assert any("give an earlier --since" in note for note in found.notes)


@given(st.randoms(use_true_random=False), st.integers(1, 60))
def test_the_order_in_which_conversations_are_read_does_not_matter(chance: random.Random, count: int) -> None:
    conversations = production(count, GOOD, BAD)
    shuffled = [*conversations]
    chance.shuffle(shuffled)
    assert look(shuffled, RULES) == look(conversations, RULES)


def in_files(tmp_path: Path, *runs: Sequence[object], **changes: object) -> tuple[Watched, ...]:
    rules = replace(RULES, stable="a@1", canary="b@2", mark=GroupMark.PROMPT_VERSION, **changes)  # type: ignore[arg-type]
    path = write_events(tmp_path / "events.jsonl", *runs)  # type: ignore[arg-type]
    return watched_in_files([path], rules, NOW)


def test_files_of_samples_have_versions_failures_and_feedback(tmp_path: Path) -> None:
    marks = {"b@2-3-0000": (FAILED, DISLIKED), "b@2-3-0001": (LIKED,)}
    found = in_files(tmp_path, canary_events({"a@1": [0.8], "b@2": [0.5, 0.6, 0.7]}, hours_ago=3, marks=marks))
    by_name = {each.name: each for each in found}
    assert by_name["a@1-3-0000"].values == {SCORE: 0.8, FAILURE: 1.0}
    assert by_name["b@2-3-0000"].values == {SCORE: 0.5, FAILURE: 0.0, FEEDBACK: 0.0}
    assert by_name["b@2-3-0001"].values == {SCORE: 0.6, FAILURE: 1.0, FEEDBACK: 1.0}
    assert GroupMark.PROMPT_VERSION.tag("b@2") in by_name["b@2-3-0002"].marks


def test_only_the_share_counts_and_the_first_measurement(tmp_path: Path) -> None:
    first = canary_events({"b@2": [0.5] * 100}, hours_ago=3)
    again = [
        replace(event, run="again", at=NOW - timedelta(hours=1))
        for event in canary_events({"b@2": [0.9] * 100}, hours_ago=3)
    ]
    found = in_files(tmp_path, again, first)
    assert {each.values[SCORE] for each in found} == {0.5}
    assert 10 < len(in_files(tmp_path, first, share=0.3)) < 60


def test_a_run_measures_failures_first_and_that_order_is_not_used(tmp_path: Path) -> None:
    """In the order of the file each difference would compare an early conversation with a late one."""
    values = {"a@1": [0.8] * 50, "b@2": [0.8] * 50}
    found = sorted(in_files(tmp_path, canary_events(values, hours_ago=3)), key=lambda each: each.order)
    in_canary = [GroupMark.PROMPT_VERSION.tag("b@2") in each.marks for each in found]
    assert 15 < sum(in_canary[:50]) < 35


@pytest.mark.parametrize(
    ("score", "at", "problem"),
    [
        ("NaN", 3.0, "events.jsonl:3"),
        ("1.5", 3.0, "events.jsonl:3: the score is 1.5; it must be from 0 to 1"),
        ("0.5", -2.0, "events.jsonl:1: the time is 2026-11-22T08:00:00+00:00; it must not be in the future"),
    ],
)
def test_every_wrong_line_is_named(tmp_path: Path, score: str, at: float, problem: str) -> None:
    path = write_events(tmp_path / "events.jsonl", canary_events({"b@2": [0.125]}, hours_ago=at))
    path.write_text(path.read_text().replace('"score":0.125', f'"score":{score}'), encoding="ascii")
    with pytest.raises(ConfigurationError) as caught:
        watched_in_files([path, tmp_path / "missing.jsonl"], RULES, NOW)
    assert problem in str(caught.value)
    assert "missing.jsonl: it cannot be read" in str(caught.value)


def test_what_is_shown_is_masked() -> None:
    secret, phone = "sk-planted-0123456789abcdef", "+254 712 345 432"
    hostile: Series = (f"{secret} {phone}", SeriesVersion(secret, phone))
    rules = replace(RULES, stable=f"old {secret}", canary=f"new {phone}")
    marks = {STABLE: frozenset({rules.stable}), CANARY: frozenset({rules.canary})}
    conversations = [
        replace(each, marks=marks[each.marks]) for each in production(200, {hostile: [0.9]}, {hostile: [0.3]})
    ]
    found = look(conversations, rules)
    shown = f"{canary_json(found, Redactor([secret]))}" + "\n".join(canary_lines(found, Redactor([secret])))
    assert found.answer is CanaryAnswer.ROLL_BACK
    assert "planted" not in shown
    assert "712 345" not in shown
