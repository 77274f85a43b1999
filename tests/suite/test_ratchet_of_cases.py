from dataclasses import replace
from datetime import UTC, datetime

from ratiba_action.model.case_file import CaseFile, CaseThreshold
from ratiba_action.model.scenario import Assertion, Customer, FailureRule, Scenario, Suite, Turn
from ratiba_action.suite.ratchet import ratchet_suite

ROW = Scenario(
    id="intents__a",
    language="fr",
    turns=(Turn(user="hi"),),
    now=datetime(2026, 4, 25, tzinfo=UTC),
    customer=Customer("Amina", "+254700000001"),
    rules=(FailureRule("must_not_contain", "PIN"),),
    assertions=(Assertion("LabelMetric", 0.5, parameters={}),),
    data_set="intents",
)
GATES = (CaseThreshold("accuracy", 0.9), CaseThreshold("macro_f1", 0.8))


def row(case: str, **changes: object) -> Scenario:
    return replace(ROW, id=f"intents__{case}", **changes)  # type: ignore[arg-type]  # names come from the tests


def suite(*rows: Scenario, gates: tuple[CaseThreshold, ...] = GATES) -> Suite:
    return Suite(rows, "digest", (CaseFile("intents", "scenarios/intents.jsonl", "5f", len(rows), gates),))


def test_a_data_set_that_relaxes_nothing_stays_as_it_is() -> None:
    assert ratchet_suite(suite(row("a"), row("b")), suite(row("a"), row("b"))) == (suite(row("a"), row("b")), ())


def test_a_gate_is_not_lowered_or_removed() -> None:
    held, notes = ratchet_suite(suite(row("a"), gates=(CaseThreshold("accuracy", 0.1),)), suite(row("a")))
    assert held.data_sets[0].gates == GATES
    assert notes == (
        "intents: the threshold of accuracy stays 0.90; this change sets 0.10.",
        "intents: the threshold of macro_f1 still applies, although this change removes it.",
    )


def test_a_gate_may_be_raised_and_a_new_one_added() -> None:
    stricter = (CaseThreshold("accuracy", 0.95), CaseThreshold("macro_f1", 0.8), CaseThreshold("min_class_f1", 0.6))
    held, notes = ratchet_suite(suite(row("a"), gates=stricter), suite(row("a")))
    assert (held.data_sets[0].gates, notes) == (stricter, ())


def test_a_row_with_a_new_id_is_held_to_what_every_row_of_the_base_is_held_to() -> None:
    new = row("renamed", assertions=(Assertion("LabelMetric", 0.0),), rules=())
    held, _ = ratchet_suite(suite(new), suite(row("a"), row("b", assertions=(Assertion("LabelMetric", 0.7),))))
    assert held.scenarios[0].assertions[0].threshold == 0.5
    assert held.scenarios[0].rules == ROW.rules


def test_a_new_row_owes_no_metric_that_only_some_rows_have() -> None:
    more = row("b", assertions=(*ROW.assertions, Assertion("LabelsMetric", 1.0)))
    held, _ = ratchet_suite(suite(row("c")), suite(row("a"), more))
    assert [entry.metric for entry in held.scenarios[0].assertions] == ["LabelMetric"]


def test_what_is_said_of_many_cases_is_one_note() -> None:
    base = [row(f"c{number}") for number in range(5)]
    head = [replace(one, turns=(Turn(user="edited"),)) for one in base]
    _, notes = ratchet_suite(suite(*head), suite(*base))
    assert notes == (
        (
            "This change edits what scenarios ask or expect: 5 cases of intents (intents__c0, intents__c1, intents__c2 "
            "and 2 more). Check that this is meant."
        ),
        "intents, 5 cases (intents__c0, intents__c1, intents__c2 and 2 more): this change edits its turns.",
    )


def test_removed_cases_are_reported_together() -> None:
    _, notes = ratchet_suite(suite(row("a")), suite(row("a"), row("b"), row("c")))
    removed = "This change removes scenarios: 2 cases of intents (intents__b, intents__c)."
    assert notes == (f"{removed} Check that this is meant.",)


def test_a_critical_case_that_is_removed_still_runs_and_counts_for_the_gates() -> None:
    held, _ = ratchet_suite(suite(row("a")), suite(row("a"), row("b", critical=True)))
    assert [scenario.id for scenario in held.scenarios] == ["intents__a", "intents__b"]
    assert held.data_sets[0].cases == 2


def test_the_gates_of_a_data_set_that_is_removed_hold_for_its_critical_cases() -> None:
    head = Suite((replace(ROW, id="spa", data_set=""),), "digest")
    held, notes = ratchet_suite(head, suite(row("a", critical=True), row("b")))
    assert (held.data_sets[0].gates, held.data_sets[0].cases) == (GATES, 1)
    assert "intents: this change removes the thresholds of these cases." in notes


def test_the_parameters_of_a_metric_are_the_bases() -> None:
    lenient = row("a", assertions=(Assertion("LabelMetric", 0.5, parameters={"measure": "recall"}),))
    strict = row("a", assertions=(Assertion("LabelMetric", 0.5, parameters={"measure": "exact"}),))
    held, notes = ratchet_suite(suite(lenient), suite(strict))
    assert held.scenarios[0].assertions == strict.assertions
    assert notes == ("intents__a: LabelMetric keeps the parameters of the base; this change edits them.",)
