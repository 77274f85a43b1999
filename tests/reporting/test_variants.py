"""The variants of a system in every file of the report: shown, and deciding nothing."""

import csv
import io
from decimal import Decimal
from xml.etree import ElementTree as ET

import pytest

from ratiba_action.model.verdict import Report, VariantResult
from ratiba_action.reporting.comment import render_comment
from ratiba_action.reporting.html import render_html
from ratiba_action.reporting.junit import render_junit
from ratiba_action.reporting.results_csv import render_csv
from ratiba_action.reporting.summary import summarise
from tests.support.sample_report import sample_report, sample_scored

CRASHED = "Nothing was measured, so the run cannot pass: spa: system error, ValueError: no such model."
MEAN = "TurnRelevancyMetric"
VARIANTS = (
    VariantResult("", (), 3, 0, 0, 0, {MEAN: 0.9}, Decimal("0.02"), conclusion="passed"),
    VariantResult("mini", ("MODEL=mini",), 1, 2, means={MEAN: 0.4}, conclusion="failed", reason="A."),
    VariantResult("gone", ("MODEL=gone",), 0, 0, 3, 0, conclusion="incomplete", reason=CRASHED),
    VariantResult("poor", ("MODEL=poor",), 1, 0, 0, 2, conclusion="incomplete", reason="The budget was used up."),
    VariantResult("late", ("MODEL=late",), problem="the run was cancelled, or its time or budget was used up"),
    VariantResult("good", ("MODEL=good",), 3, 0, 0, 0, conclusion="passed"),
)


def report() -> Report:
    return sample_report(results=(sample_scored("spa"),), variants=VARIANTS)


def test_the_comment_says_how_each_variant_would_have_ended_and_why() -> None:
    comment = render_comment(summarise(report()))
    assert "| as it is | nothing | passed | 3 of 3 | 0 | 0.90 | 0.0200 |" in comment
    assert "| `mini` | MODEL=mini | failed | 1 of 3 | 0 | 0.40 | 0.0000 |" in comment
    assert "| `gone` | MODEL=gone | incomplete | 0 of 3 | 3 |   | 0.0000 |" in comment
    assert "| `late` | MODEL=late | not run |   |   |   |   |" in comment
    assert "- `poor` incomplete: The budget was used up." in comment
    assert "- `good`" not in comment


def test_the_html_report_shows_every_metric_of_every_variant() -> None:
    html = render_html(summarise(report()))
    assert 'class="failed"><span class="tone">failed</span>: A.</td>' in html
    assert "not run</span>: the run was cancelled" in html
    assert html.count('<td data-label="differs in">MODEL=') == 5
    assert "Variants" not in render_html(summarise(sample_report()))


def test_no_variant_is_a_failure_of_junit() -> None:
    root = ET.fromstring(render_junit(summarise(report())))  # noqa: S314 - our own file
    cases = {case.attrib["name"]: case for case in root.iterfind(".//*[@classname='variant']")}
    skipped = {name: case.find("skipped") for name, case in cases.items()}
    why = {name: None if found is None else found.attrib["message"] for name, found in skipped.items()}
    assert why == {
        "mini": "not the system as it is: it would have failed: A.",
        "gone": f"not the system as it is: it would have been incomplete: {CRASHED}",
        "poor": "not the system as it is: it would have been incomplete: The budget was used up.",
        "late": "not run: the run was cancelled, or its time or budget was used up",
        "good": None,
    }
    assert (root.attrib["tests"], root.attrib["skipped"], root.attrib["failures"]) == ("6", "4", "0")
    assert "TurnRelevancyMetric: 0.40" in (cases["mini"].findtext("system-out") or "")


def test_the_table_has_a_row_for_each_variant_and_metric() -> None:
    table = [row for row in csv.reader(io.StringIO(render_csv(summarise(report())))) if row[6] == "variant"]
    assert [row[1] for row in table] == ["as it is", "as it is", "mini", "mini", "gone", "poor", "late", "good"]
    assert table[2][5:12] == ["failed", "variant", "", "scenarios", "3", "1", "false"]
    assert table[3][8:12] == ["TurnRelevancyMetric", "", "0.4000", ""]
    assert table[6][10] == "the run was cancelled, or its time or budget was used up"


@pytest.mark.parametrize("hostile", ["</td><img src=x>", "a | b\n## Passed", "@everyone", "`x` [y](http://z)", "=1+1"])
def test_what_a_variant_says_stays_text(hostile: str) -> None:
    reported = VariantResult("mini", (hostile,), conclusion="failed", reason=hostile)
    named = sample_report(variants=(VariantResult("", conclusion="passed"), reported))
    assert "<img" not in render_comment(summarise(named)) + render_html(summarise(named))
    assert "\n## Passed" not in render_comment(summarise(named))
    assert "@everyone" not in render_comment(summarise(named))
    ET.fromstring(render_junit(summarise(named)))  # noqa: S314 - our own file
