"""Shares of a suite: disjoint, complete, the same in every shard, and as long as one another as far as is known."""

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.model.answer_origin import AnswerOrigin
from ratiba_action.model.comparison import MeasuredRun
from ratiba_action.model.shard import Shard
from ratiba_action.money.budget import share_of_cap
from ratiba_action.run.shards import shares
from tests.support.sample_report import sample_scenario, sample_scored

NAMES = st.lists(st.integers(0, 10_000).map(lambda number: f"s{number}"), unique=True, max_size=60)


def history(seconds: dict[str, float]) -> tuple[MeasuredRun, ...]:
    results = tuple(replace(sample_scored(name), seconds=time) for name, time in seconds.items())
    return (MeasuredRun("a1b2c3d", datetime(2026, 4, 25, tzinfo=UTC), "", AnswerOrigin.REPLAY, results, {}),)


@given(NAMES, st.integers(1, 12), st.data())
def test_shares_are_disjoint_complete_and_the_same_in_every_shard(
    names: list[str], count: int, data: st.DataObject
) -> None:
    known = data.draw(st.dictionaries(st.sampled_from([*names, "gone"]), st.floats(0, 1e5), max_size=40))
    before = history(known) if known else ()
    scenarios = [sample_scenario(name) for name in names]
    found = shares(scenarios, count, before)
    assert len(found) == count
    assert sorted(name for share in found for name in share) == sorted(names)
    assert shares(data.draw(st.permutations(scenarios)), count, before) == found


@given(NAMES, st.integers(1, 12), st.data())
def test_no_share_takes_longer_than_the_others_by_more_than_its_longest_scenario(
    names: list[str], count: int, data: st.DataObject
) -> None:
    seconds = {name: data.draw(st.integers(1, 1_000)) for name in names}
    found = shares([sample_scenario(name) for name in names], count, history({**seconds, "gone": 1.0}))
    times = [sum(seconds[name] for name in share) for share in found]
    longest = [max((seconds[name] for name in share), default=0) for share in found]
    assert all(time - maximum <= min(times) for time, maximum in zip(times, longest, strict=True))


def test_without_history_scenarios_are_dealt_out_by_turns() -> None:
    assert shares([sample_scenario(name) for name in "cabed"], 2) == (frozenset("ace"), frozenset("bd"))


def test_the_longest_scenario_is_placed_first() -> None:
    scenarios = [sample_scenario(name) for name in "abcd"]
    assert shares(scenarios, 2, history({"a": 1.0, "b": 1.0, "c": 1.0, "d": 3.0})) == (frozenset("d"), frozenset("abc"))


@given(st.decimals(0, 1_000_000, places=9), st.integers(1, 256))
def test_the_shares_of_a_cap_sum_up_to_exactly_the_cap(cap: Decimal, count: int) -> None:
    parts = [share_of_cap(cap, Shard(number, count)) for number in range(1, count + 1)]
    assert sum(parts) == cap
    assert max(parts) - min(parts) <= Decimal("1e-12")


@pytest.mark.parametrize(("number", "count"), [(0, 4), (5, 4), (-1, 4)])
def test_a_shard_lies_within_its_count(number: int, count: int) -> None:
    with pytest.raises(ValueError, match="there is no shard"):
        Shard(number, count)
