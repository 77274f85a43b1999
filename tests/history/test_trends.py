"""Only points that can be compared are joined."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.history.keeping import join_trends, why_not_joined
from ratiba_action.model.history import TrendPoint

START = datetime(2026, 11, 1, tzinfo=UTC)
POINT = TrendPoint(START, "c1", "SwahiliFluencyMetric", "1.0.0", "opus", "live", "5f", 0.9, 12, 0.8)


def on(day: int, **changes: str) -> TrendPoint:
    return replace(POINT, started_at=START + timedelta(days=day), **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"judge_model": "sonnet"}, "the judge is sonnet and was opus"),
        ({"judge_model": ""}, "the judge is none and was opus"),
        ({"version": "2.0.0"}, "the version is 2.0.0 and was 1.0.0"),
        ({"answers": "replay"}, "answers are replay and was live"),
        ({"suite_version": "60"}, "the suite changed"),
        ({"judge_model": "sonnet", "suite_version": "60"}, "the judge is sonnet and was opus; the suite changed"),
    ],
)
def test_what_cannot_be_compared_breaks_the_line_and_says_why(changes: dict[str, str], why: str) -> None:
    (trend,) = join_trends([on(0), on(1), on(2, **changes), on(3, **changes)])
    assert [(one.why, len(one.points)) for one in trend.segments] == [("", 2), (why, 2)]


def test_another_commit_or_mean_breaks_no_line() -> None:
    assert why_not_joined(POINT, replace(on(1, commit="c2"), mean=0.1, count=3, threshold=0.9)) == ""


def test_a_judge_that_comes_back_is_joined_with_its_neighbours_only() -> None:
    (trend,) = join_trends([on(0), on(1, judge_model="sonnet"), on(2)])
    assert [len(one.points) for one in trend.segments] == [1, 1, 1]


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 50), st.sampled_from("xy")), max_size=12))
def test_every_point_is_in_one_part_of_its_metric_in_order_of_time(given_points: list[tuple[str, int, str]]) -> None:
    points = [on(day, metric=metric, judge_model=judge) for metric, day, judge in given_points]
    trends = join_trends(points)
    assert [one.metric for one in trends] == sorted({point.metric for point in points})
    for trend in trends:
        assert sorted(trend.points, key=lambda one: one.started_at) == list(trend.points)
        assert len(trend.points) == sum(point.metric == trend.metric for point in points)
        assert all(len({point.judge_model for point in part.points}) == 1 for part in trend.segments)
        assert not trend.segments[0].why
        assert all(part.why for part in trend.segments[1:])
