from dataclasses import replace
from datetime import UTC, datetime

from ratiba_action.core.model.scenario import Assertion, Customer, FailureRule, Scenario, Suite, Turn
from ratiba_action.core.strictness import hold_to_base

BASE = Scenario(
    id="spa",
    language="en",
    turns=(Turn(user="hi"),),
    now=datetime(2026, 4, 25, tzinfo=UTC),
    customer=Customer("Amina", "+254700000001"),
    critical=True,
    rules=(FailureRule("must_not_contain", "PIN", 3),),
    assertions=(Assertion("SlotMetric", 1.0, 5),),
)


def suite(*scenarios: Scenario) -> Suite:
    return Suite(scenarios, "digest")


def test_a_suite_that_relaxes_nothing_stays_as_it_is() -> None:
    assert hold_to_base(suite(BASE), suite(BASE)) == (suite(BASE), ())


def test_a_lower_threshold_is_raised_to_the_base() -> None:
    held, notes = hold_to_base(suite(replace(BASE, assertions=(Assertion("SlotMetric", 0.5, 9),))), suite(BASE))
    assert held.scenarios[0].assertions == (Assertion("SlotMetric", 1.0, 9),)
    assert notes == ("spa: the threshold of SlotMetric stays 1.00; this change asks for 0.50.",)


def test_a_higher_threshold_holds() -> None:
    lower = replace(BASE, assertions=(Assertion("SlotMetric", 0.5, 9),))
    assert hold_to_base(suite(BASE), suite(lower)) == (suite(BASE), ())


def test_what_a_change_removes_still_holds_and_is_told() -> None:
    bare = replace(BASE, critical=False, rules=(), assertions=())
    held, notes = hold_to_base(suite(bare), suite(BASE))
    assert held.scenarios[0] == BASE
    assert len(notes) == 3


def test_removed_scenarios_and_edited_turns_are_told() -> None:
    edited = replace(BASE, turns=(Turn(user="hello"),))
    _, notes = hold_to_base(suite(edited), suite(BASE, replace(BASE, id="salon")))
    assert notes == ("spa: this change edits its turns or expectations.", "This change removes scenarios: salon.")
