from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.model.measurement import Errored, NotRun, Phase, ScenarioResult, Scored
from ratiba_action.model.plan import HEAD, Arm, Trial
from ratiba_action.production.sample_reading import Sample
from tests.support.cases import case, exchange

UNTIL = datetime(2026, 11, 22, 12, tzinfo=UTC)
SINCE = UNTIL - timedelta(hours=6)


def trial(name: str) -> Trial:
    return Trial(replace(case(exchange("Habari", "Nzuri")).scenario, id=name), Arm(HEAD, "/nowhere"))


def scored(name: str) -> Scored:
    return Scored(trial(name), case(exchange("Habari", "Nzuri")).transcript, (), (), 0.0)


def looked(*results: ScenarioResult, begun: dict[str, datetime], unsent: str = "", **unread: str) -> Sample:
    return Sample(SINCE, UNTIL, results=results, begun=begun, unsent=unsent, unread=unread)


def test_the_next_run_begins_at_the_end_when_nothing_was_left() -> None:
    found = looked(scored("a"), begun={"a": SINCE})
    assert (found.complete, found.next_since) == (True, UNTIL)


@pytest.mark.parametrize(
    "left",
    [NotRun(trial("b"), "out of budget"), Errored(trial("b"), Phase.JUDGE, "no answer")],
    ids=["not begun", "broken off"],
)
def test_the_next_run_begins_with_the_earliest_that_was_left(left: ScenarioResult) -> None:
    began = SINCE + timedelta(hours=2)
    found = looked(scored("a"), left, begun={"a": SINCE, "b": began})
    assert (found.complete, found.next_since) == (False, began)


def test_what_could_not_be_read_is_left_too() -> None:
    found = looked(begun={"a": SINCE}, a="Langfuse: the time was over")
    assert found.left == (("a", "Langfuse: the time was over"),)
    assert (found.complete, found.next_since) == (False, SINCE)


def test_scores_that_were_not_written_bring_all_of_them_back() -> None:
    found = looked(scored("a"), scored("b"), begun={"a": SINCE, "b": UNTIL}, unsent="it refused 1 scores")
    assert (found.complete, found.next_since) == (False, SINCE)


@given(st.timedeltas(timedelta(0), timedelta(days=4000)))
def test_nothing_holds_the_next_run_back_for_more_than_a_week(age: timedelta) -> None:
    found = looked(NotRun(trial("a"), "out of budget"), begun={"a": UNTIL - age})
    assert UNTIL - timedelta(days=7) <= found.next_since <= UNTIL


def test_a_look_that_could_measure_nothing_of_what_was_chosen_is_not_complete() -> None:
    assert not Sample(SINCE, UNTIL, unmeasured=("a",)).complete
    assert Sample(SINCE, UNTIL, unmeasured=("a",), known=1).complete
    assert Sample(SINCE, UNTIL).complete
