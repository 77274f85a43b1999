"""A metric over runs as a small chart: only what can be compared is joined, and the threshold stands in it."""

import math
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.history.keeping import join_trends
from ratiba_action.model.change import Subject
from ratiba_action.model.history import Trend, TrendPoint
from ratiba_action.reporting.html import render_html
from ratiba_action.reporting.summary import summarise
from ratiba_action.reporting.trends import HEIGHT, WIDTH, render_trends, trend_chart
from tests.support.sample_report import sample_report

START = datetime(2026, 11, 1, tzinfo=UTC)
HOSTILE = '<script>alert(1)</script> "x" | y\n::error::z'


def trend(*values: float, metric: str = "SwahiliFluencyMetric", judges: str = "") -> Trend:
    """A trend of means, with the judges named by letters."""
    points = [
        TrendPoint(START + timedelta(days=day), f"c{day}", metric, "1.0.0", judge, "live", "5f", value, 12, 0.8)
        for day, (value, judge) in enumerate(zip(values, judges or "a" * len(values), strict=True))
    ]
    (found,) = join_trends(points)
    return found


def shown(*trends: Trend) -> str:
    subject = replace(sample_report().subject, base_branch="main")
    assert isinstance(subject, Subject)
    return render_html(summarise(sample_report(subject=subject, trends=trends)))


def test_a_broken_line_is_drawn_in_parts_and_every_run_has_a_dot() -> None:
    chart = trend_chart(trend(0.9, 0.85, 0.8, 0.9, judges="aabb"))
    assert chart is not None
    assert [line.count(",") for line in chart.lines] == [2, 2]
    assert len(chart.dots) == 4
    single = trend_chart(trend(0.9, 0.85, judges="ab"))
    assert single is not None
    assert (single.lines, len(single.dots)) == ((), 2)


def test_a_mean_above_the_threshold_stands_above_its_line() -> None:
    chart = trend_chart(trend(0.9, 0.7))
    assert chart is not None
    assert chart.threshold is not None
    assert chart.dots[0][1] < chart.threshold < chart.dots[1][1]
    assert chart.dots[0][2] == "2026-11-01 c0: 0.9"


def test_a_threshold_of_0_asks_for_nothing_and_has_no_line() -> None:
    (found,) = join_trends([replace(point, threshold=0.0) for point in trend(0.9, 0.7).points])
    chart = trend_chart(found)
    assert chart is not None
    assert chart.threshold is None


@given(st.lists(st.floats(0, 1) | st.just(math.nan), min_size=1, max_size=30))
def test_every_mark_stands_in_the_drawing(values: list[float]) -> None:
    chart = trend_chart(trend(*values))
    finite = sum(map(math.isfinite, values))
    assert (chart is None) == (finite == 0)
    if chart is not None:
        assert len(chart.dots) == finite
        assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y, _ in chart.dots)
        assert chart.threshold is not None
        assert 0 <= chart.threshold <= HEIGHT
    assert render_trends([trend(*values)], "main", 20).count("SwahiliFluencyMetric 1.0.0") == 1


def test_the_page_has_them_folded_with_the_threshold_as_a_line_and_why_a_line_is_broken() -> None:
    document = shown(trend(0.9, 0.85, 0.8, judges="aab"))
    (section,) = re.findall(r">Trends</h2>\n(.*?)</details>", document, re.DOTALL)
    assert section.startswith("<details><summary>1 metric over the last runs of main</summary>")
    assert (section.count("<polyline"), section.count("<circle"), section.count("<line")) == (1, 3, 1)
    assert "interrupted at 2026-11-03: the judge is b and was a." in section
    assert ">Trends</h2>" not in render_html(summarise(sample_report()))


def test_colours_follow_the_readers_scheme() -> None:
    (rules,) = re.findall(r"^\.trend \{.*$", shown(trend(0.9)), re.MULTILINE)
    assert set(re.findall(r"stroke: ([^;]+);", rules)) == {"var(--ink)", "var(--bad)"}


def test_hostile_texts_stay_texts() -> None:
    document = shown(trend(0.9, 0.8, metric=HOSTILE))
    assert document.count("<script") == shown(trend(0.9, 0.8)).count("<script") == 1
    assert "&lt;script&gt;" in document
    rendered = render_trends([trend(0.9, 0.8, metric=HOSTILE)], f"main {HOSTILE}", 20)
    assert "<script" not in rendered
    assert "::error" not in rendered
