"""Annotations and SARIF point at the scenario that failed and at the line of the change."""

import json
from dataclasses import replace
from typing import Any

from ratiba_action.model.attribution import Attribution, ChangedPart, Explanation, Finding
from ratiba_action.model.change import Mode, ModeDecision
from ratiba_action.model.measurement import Check
from ratiba_action.model.scenario import Assertion
from ratiba_action.model.verdict import Conclusion, Report, Verdict
from ratiba_action.publish.annotations import annotations_of, render_sarif
from ratiba_action.reporting.summary import summarise
from tests.support.sample_report import sample_report, sample_score, sample_scored


def test_each_broken_check_score_and_gap_has_one() -> None:
    found = [(a.path, a.line, a.message.split(":")[0]) for a in annotations_of(summarise(sample_report()))]
    assert found == [
        ("scenarios/salon_reschedule.yaml", 15, "Turn 1"),
        ("scenarios/salon_reschedule.yaml", 1, "SwahiliFluencyMetric 0.62 is below 0.80"),
        (
            "scenarios/salon_reschedule.yaml",
            1,
            "BookingSlotConsistencyMetric 0.50 is below 1.00; slot is the one confirmed",
        ),
        ("scenarios/barbershop_mpesa.yaml", 1, "Could not be measured (recording)"),
        ("scenarios/spa_handoff.yaml", 1, "Not run"),
    ]


def test_a_score_points_at_its_assertion() -> None:
    asserted = (Assertion("SwahiliFluencyMetric", 0.8, 33),)
    report = sample_report(results=(sample_scored(scores=(sample_score(0.1),), assertions=asserted),))
    assert annotations_of(summarise(report))[0].line == 33


def test_they_are_errors_only_where_they_may_stop_the_merge() -> None:
    advisory = sample_report(decision=ModeDecision(Mode.ADVISORY, ()))
    assert {a.level for a in annotations_of(summarise(sample_report()))} == {"error"}
    assert {a.level for a in annotations_of(summarise(advisory))} == {"warning"}
    assert {a.level for a in annotations_of(summarise(sample_report(enforce=False)))} == {"warning"}


def test_a_run_that_started_nothing_has_its_reason_or_each_mistake() -> None:
    died = Verdict(Conclusion.INCOMPLETE, "The run was cancelled.", "Run it again.")
    wrong = Verdict(Conclusion.INCOMPLETE, "2 mistakes.", warnings=("first", "second"), misconfigured=True)
    assert [a.message for a in annotations_of(summarise(sample_report(verdict=died, results=())))] == [
        "The run was cancelled. Run it again."
    ]
    assert [a.message for a in annotations_of(summarise(sample_report(verdict=wrong, results=())))] == [
        "first",
        "second",
    ]


def test_a_mistake_is_an_error_in_every_mode() -> None:
    wrong = Verdict(Conclusion.INCOMPLETE, "1 mistake.", misconfigured=True)
    advisory = sample_report(verdict=wrong, results=(), decision=ModeDecision(Mode.ADVISORY, ()), enforce=False)
    assert [a.level for a in annotations_of(summarise(advisory))] == ["error"]


def test_a_skipped_run_has_none() -> None:
    assert (
        annotations_of(summarise(sample_report(verdict=Verdict(Conclusion.SKIPPED, "Nothing changed."), results=())))
        == ()
    )


def sarif(report: Report) -> Any:
    (run,) = json.loads(render_sarif(summarise(report)))["runs"]
    return run


def test_sarif_has_each_annotation_at_a_file_and_a_line() -> None:
    annotations = annotations_of(summarise(sample_report()))
    run = sarif(sample_report())
    places = [result["locations"][0]["physicalLocation"] for result in run["results"]]
    assert [(place["artifactLocation"]["uri"], place["region"]["startLine"]) for place in places] == [
        (annotation.path, max(1, annotation.line)) for annotation in annotations
    ]
    assert [result["message"]["text"] for result in run["results"]] == [
        f"{annotation.title}: {annotation.message}" for annotation in annotations
    ]
    known = {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    assert {result["ruleId"] for result in run["results"]} <= known


def test_sarif_names_the_line_of_the_change() -> None:
    part = ChangedPart("prompts/saa za Kiswahili.md", 14, "- Swahili hours count from dawn.\n", "")
    cause = Attribution(Finding.FOUND, ((0,),))
    explained = Explanation((part,), {"salon_reschedule": cause})
    first = sarif(replace(sample_report(), explanation=explained))["results"][0]
    assert first["ruleId"] == "changed-line"
    assert first["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "prompts/saa%20za%20Kiswahili.md"},
        "region": {"startLine": 14},
    }


def test_sarif_of_a_run_that_measured_nothing_notifies_and_has_no_result() -> None:
    died = Verdict(Conclusion.INCOMPLETE, "The run was cancelled.", "Run it again.")
    run = sarif(sample_report(verdict=died, results=()))
    (invocation,) = run["invocations"]
    assert run["results"] == []
    assert not invocation["executionSuccessful"]
    assert "The run was cancelled." in invocation["toolExecutionNotifications"][0]["message"]["text"]


def test_what_a_model_said_is_no_link_and_no_placeholder_in_sarif() -> None:
    got = "[Approve](https://example.com/x) {0} \x1b[31m"
    check = Check("reply", 1, "the reply", "Karibu", got, passed=False)
    (result,) = sarif(sample_report(results=(sample_scored(checks=(check,), scores=()),)))["results"]
    text = result["message"]["text"]
    assert "[Approve] (https://example.com/x) {{0}}" in text
    assert "\x1b" not in text
