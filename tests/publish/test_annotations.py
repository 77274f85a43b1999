"""Annotations point at the scenario that broke."""

from ratiba_action.model.change import Mode, ModeDecision
from ratiba_action.model.scenario import Assertion
from ratiba_action.model.verdict import Conclusion, Verdict
from ratiba_action.publish.annotations import annotations_of
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
