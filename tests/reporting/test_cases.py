"""Data sets, their gates and their lowest cases in every file of the report."""

import csv
import io
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from ratiba_action.model.case_file import ClassScores
from ratiba_action.model.measurement import Score
from ratiba_action.privacy.masking import Redactor
from ratiba_action.reporting.comment import render_comment
from ratiba_action.reporting.comment_sections import cases
from ratiba_action.reporting.html import render_html
from ratiba_action.reporting.junit import render_junit
from ratiba_action.reporting.results_csv import render_csv
from ratiba_action.reporting.results_json import load_report, render_results
from ratiba_action.reporting.summary import summarise
from tests.support.sample_report import (
    sample_data_set,
    sample_data_set_report,
    sample_report,
    sample_scored,
)


def test_the_comment_shows_each_gate_with_its_value_and_why_it_is_not_known() -> None:
    comment = render_comment(summarise(sample_data_set_report()))
    assert "| `accuracy` | 0.50 | 0.90 | failed, at most 0.6667 was possible |" in comment
    assert "| `macro_f1` | 0.6667 | 0.70 | unknown, 1 not measured |" in comment
    assert "| `min_class_f1` | 0.6667 | 0.60 | passed |" in comment
    assert "3 cases, 2 measured, version `5fa05fa05fa0`" in comment


def test_the_classes_and_the_cases_that_were_answered_wrongly_are_folded() -> None:
    comment = render_comment(summarise(sample_data_set_report()))
    assert "| `ANSWER` | 1.00 | 0.50 | 0.6667 | 2 | 1 |" in comment
    row = "| `intents__wrong` | Habari, naomba massage kesho saa nane mchana | LabelMetric 0.00: turn 1: got BOOKING"
    assert row in comment
    assert "| `intents__right` | Habari" not in comment


def test_a_part_of_the_cases_is_said_not_to_decide() -> None:
    part = sample_data_set(selected=1, cases=40, measured=1)
    assert "not decided, 1 of 40 cases selected" in cases(summarise(sample_data_set_report(data_sets=(part,))))


def test_cases_in_quarantine_are_distinguished() -> None:
    part = sample_data_set(selected=2, quarantined=1, measured=2)
    assert "3 cases, 2 measured, 1 in quarantine, version" in cases(
        summarise(sample_data_set_report(data_sets=(part,)))
    )
    whole = sample_data_set(selected=0, quarantined=3, measured=0)
    assert "| unknown" not in cases(summarise(sample_data_set_report(data_sets=(whole,))))
    assert "| not decided, in quarantine |" in cases(summarise(sample_data_set_report(data_sets=(whole,))))


def test_a_report_without_a_data_set_says_nothing_of_them() -> None:
    assert cases(summarise(sample_report())) == ""
    assert "Data sets" not in render_comment(summarise(sample_report())) + render_html(summarise(sample_report()))


def test_in_a_comment_that_is_too_long_the_gates_stay_when_their_tables_go() -> None:
    many = tuple(ClassScores(f"class-{number}" * 20, 0.5, 0.5, 0.5, 1, 1) for number in range(50))
    report = sample_data_set_report(data_sets=(sample_data_set(classes=many),))
    comment = render_comment(summarise(report), limit=5_000)
    assert "class-0" not in comment
    assert "| `accuracy` | 0.50 | 0.90 |" in comment
    assert "tables of cases" in comment


@pytest.mark.parametrize("hostile", ["</details><img src=x>", "a | b\n## Passed", "@everyone", "`x` [y](http://z)"])
def test_what_a_system_or_a_row_says_stays_text(hostile: str) -> None:
    score = Score("LabelMetric", "1.0.0", 0.0, 0.0, judged=False, reason=f"turn 1: got {hostile}")
    result = sample_scored("intents__a", scores=(score,), data_set="intents")
    named = sample_data_set(classes=(ClassScores(hostile, 0, 0, 0, 1, 0),))
    report = sample_data_set_report(results=(result,), data_sets=(named,))
    comment = cases(summarise(report))
    assert "<img" not in comment + render_html(summarise(report))
    assert "\n## Passed" not in comment
    assert comment.count("</details>") == 2
    ET.fromstring(render_junit(summarise(report)))  # noqa: S314 - our own file


def test_a_gate_is_a_test_case_of_junit() -> None:
    root = ET.fromstring(render_junit(summarise(sample_data_set_report())))  # noqa: S314 - our own file
    gates = {case.attrib["name"]: [child.tag for child in case] for case in root.iterfind(".//*[@classname='gate']")}
    assert gates == {
        "intents: accuracy": ["failure"],
        "intents: macro_f1": ["skipped"],
        "intents: min_class_f1": [],
    }
    assert (root.attrib["tests"], root.attrib["failures"], root.attrib["skipped"]) == ("6", "1", "2")


def test_a_gate_is_a_row_of_the_csv_file() -> None:
    rows = list(csv.DictReader(io.StringIO(render_csv(summarise(sample_data_set_report())))))
    gates = [(row["assertion"], row["expected"], row["got"], row["passed"]) for row in rows if row["kind"] == "gate"]
    assert gates == [
        ("accuracy", "0.9000", "0.5000", "false"),
        ("macro_f1", "0.7000", "0.6667", "false"),
        ("min_class_f1", "0.6000", "0.6667", "true"),
    ]


def test_the_html_report_holds_gates_classes_and_low_cases() -> None:
    page = render_html(summarise(sample_data_set_report()))
    for text in ("min_class_f1", "unknown, 1 not measured", "1 case of intents below 1", "expected ANSWER"):
        assert text in page


def test_a_report_comes_back_from_its_file() -> None:
    report = sample_data_set_report()
    assert load_report(render_results(summarise(report))) == report
    empty = replace(sample_data_set().gates[0], value=None)
    report = sample_data_set_report(data_sets=(sample_data_set(gates=(empty,)),))
    assert load_report(render_results(summarise(report))) == report


def test_a_data_set_whose_name_looks_like_a_number_keeps_its_cases_when_identifiers_are_masked() -> None:
    wrong = Score("LabelMetric", "1.0.0", 0.0, 0.0, judged=False, reason="turn 1: got 0712 345 432")
    result = sample_scored("20260425123__a", scores=(wrong,), data_set="20260425123")
    report = sample_data_set_report(results=(result,), data_sets=(sample_data_set(id="20260425123"),))
    shown = cases(summarise(Redactor().report(report)))
    assert "1 case of <code>20260425123</code> below 1" in shown
    assert "0712 345 432" not in shown
