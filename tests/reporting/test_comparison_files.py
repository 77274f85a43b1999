"""A comparison with the base in report.html, junit.xml and results.csv."""

import csv
import io
import math
import re
from xml.etree import ElementTree as ET

import pytest

from ratiba_action.model.comparison import (
    Comparison,
    MetricComparison,
    NotComparable,
    OutcomeChange,
    ScenarioComparison,
    Tier,
)
from ratiba_action.model.verdict import Conclusion, Report, Verdict
from ratiba_action.reporting.comparison_summary import metric_rows
from ratiba_action.reporting.html import chart_of, render_html
from ratiba_action.reporting.junit import render_junit
from ratiba_action.reporting.results_csv import render_csv
from ratiba_action.reporting.summary import summarise
from tests.support.html_tags import tags
from tests.support.sample_comparison import (
    sample_baseline,
    sample_compared_report,
    sample_comparison,
    sample_passed_comparison,
)
from tests.support.sample_report import sample_report

NOTHING = Comparison(Tier.NOT_COMPARABLE, (), (NotComparable("a", "", "the base has no scores of it"),), "Nothing is.")


def test_the_page_tells_what_the_comment_tells() -> None:
    page = render_html(summarise(sample_compared_report()))
    for text in (
        "Compared with the base",
        "main at 0f1e2d3c4b5a, 3 days old, 2 runs pooled",
        "With 12 scenarios this run can see drops of 6.5 points or more.",
        "−7.9 (−11.2 to −4.6)",
        "newly failing",
        "Slot is available.",
        "its judge is claude-opus-5-5 here and was claude-opus-5 on the base",
    ):
        assert text in page
    assert page.index("Compared with the base") < page.index(">Scenarios</h2>")
    assert "Compared with the base" not in render_html(summarise(sample_report()))


def test_what_cannot_be_compared_is_unfolded_and_has_no_drawing() -> None:
    page = render_html(summarise(sample_compared_report(NOTHING)))
    assert re.search(r"<details open><summary>Not comparable: 1 scenario<", page)
    assert "<svg" not in page


def test_the_drawing_keeps_every_interval_in_sight() -> None:
    found = sample_comparison()
    chart = chart_of(metric_rows(found, {}), found.margin)
    assert chart is not None
    assert len(chart.marks) == 3
    for mark in chart.marks:
        assert 250 <= mark.low <= mark.middle <= mark.high <= 640
    assert chart.margin is not None
    assert chart.margin < chart.zero


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_number_that_is_none_is_not_drawn(value: float) -> None:
    found = Comparison(Tier.UNCLEAR, (), (), "", metrics=(MetricComparison("m", 1, 0.5, value),), margin=value)
    assert chart_of(metric_rows(found, {}), found.margin) is None
    assert "<svg" not in render_html(summarise(sample_compared_report(found)))


def hostile(text: str) -> Report:
    found = sample_comparison(
        scenarios=(ScenarioComparison(text, 0.9, 0.4, Tier.REGRESSION),),
        metrics=(MetricComparison(text, 2, 0.9, 0.4, -0.6, -0.4),),
        not_comparable=(NotComparable(text, text, text),),
        reason=text,
        flips=(OutcomeChange(text, passes=False, base_replies=(text, text), head_replies=(text,)),),
    )
    verdict = Verdict(Conclusion.FAILED, "It fell.", comparison=found)
    return sample_compared_report(found, verdict=verdict, baseline=sample_baseline(source=text, commit=text))


@pytest.mark.parametrize(
    "text", ["<script>alert(1)</script>", "</style><script>", '" onload="x', "</svg><img>", "{{ 7 * 7 }}", "\ud800\x00"]
)
def test_hostile_text_adds_no_tag_to_the_page_and_breaks_no_file(text: str) -> None:
    assert tags(render_html(summarise(hostile(text)))) == tags(render_html(summarise(hostile("plain"))))
    assert ET.fromstring(render_junit(summarise(hostile(text)))).tag == "testsuites"  # noqa: S314 - our own file
    assert len({len(row) for row in csv.reader(io.StringIO(render_csv(summarise(hostile(text)))))}) == 1


def test_no_cell_of_a_comparison_begins_a_formula() -> None:
    rows = csv.DictReader(io.StringIO(render_csv(summarise(hostile("=1+1")))))
    assert {row["scenario"] for row in rows if row["kind"] == "comparison"} == {"'=1+1", ""}


@pytest.mark.parametrize(
    ("found", "child", "counted"),
    [
        (sample_comparison(), "failure", "failures"),
        (sample_passed_comparison(tier=Tier.UNCLEAR), "skipped", "skipped"),
        (NOTHING, "skipped", "skipped"),
        (sample_passed_comparison(), None, None),
    ],
)
def test_the_comparison_is_a_test_case(found: Comparison, child: str | None, counted: str | None) -> None:
    root = ET.fromstring(render_junit(summarise(sample_compared_report(found))))  # noqa: S314 - our own file
    (case,) = root.iterfind(".//testcase[@classname='comparison']")
    assert [one.tag for one in case if one.tag != "system-out"] == ([child] if child else [])
    assert root.get("tests") == str(len(root.findall(".//testcase"))) == "13"
    assert {name: root.get(name) for name in ("failures", "skipped")} == {
        name: "1" if name == counted else "0" for name in ("failures", "skipped")
    }


def test_the_table_has_both_means_of_each_conversation_and_metric() -> None:
    rows = [
        row
        for row in csv.DictReader(io.StringIO(render_csv(summarise(sample_compared_report()))))
        if row["kind"] == "comparison"
    ]
    first, last = rows[0], rows[-1]
    assert (first["scenario"], first["expected"], first["got"], first["passed"]) == (
        "spa_0",
        "0.9200",
        "0.4800",
        "false",
    )
    assert (last["assertion"], last["expected"], last["got"]) == ("SwahiliFluencyMetric", "0.8600", "0.7500")
    assert len(rows) == 14
