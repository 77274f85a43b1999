from dataclasses import fields, replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.model.note import Caveat, caveats_of
from ratiba_action.model.scenario import (
    Assertion,
    Customer,
    Expectation,
    FailureRule,
    Scenario,
    SimulatedUser,
    Suite,
    Turn,
    TurnLimits,
)
from ratiba_action.suite.ratchet import CONTENT, ratchet_suite
from ratiba_action.suite.ratchet import RULES as RATCHET

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


def test_every_field_of_a_scenario_has_a_rule_or_is_named_where_a_change_edits_it() -> None:
    where_it_stands = {"id", "path", "line", "data_set", "title"}
    assert {one.name for one in fields(Scenario)} == {*RATCHET, *CONTENT, "quarantine", *where_it_stands}


def test_an_edited_capture_is_named() -> None:
    _, notes = ratchet_suite(suite(replace(BASE, captured=("Hello.",))), suite(BASE))
    assert notes[1:] == ("spa: critical, and this change edits its captured.",)


@pytest.mark.parametrize(("declared", "kept"), [("", "none"), ("prices", "prices")])
def test_a_change_moves_no_scenario_into_another_family(declared: str, kept: str) -> None:
    ratcheted, notes = ratchet_suite(suite(replace(BASE, family="all")), suite(replace(BASE, family=declared)))
    assert ratcheted.scenarios[0].family == declared
    assert notes == (f"spa: its family stays {kept} until this change is merged.",)


def test_a_suite_that_relaxes_nothing_stays_as_it_is() -> None:
    assert ratchet_suite(suite(BASE), suite(BASE)) == (suite(BASE), ())


def test_what_is_equal_to_python_alone_is_run_as_the_base_has_it() -> None:
    ours, theirs = ({"strict": 1, "least": 1.0}, {"strict": True, "least": 1})
    head, base = (replace(BASE, assertions=(Assertion("M", 1.0, parameters=each),)) for each in (ours, theirs))
    ratcheted, _ = ratchet_suite(suite(head), suite(base))
    assert repr(ratcheted.scenarios[0].assertions[0].parameters) == repr(theirs)


def test_a_lower_threshold_is_raised_to_the_base() -> None:
    held, notes = ratchet_suite(suite(replace(BASE, assertions=(Assertion("SlotMetric", 0.5, 9),))), suite(BASE))
    assert held.scenarios[0].assertions == (Assertion("SlotMetric", 1.0, 9),)
    assert notes == ("spa: the threshold of SlotMetric stays 1.00; this change sets 0.50.",)


def test_a_higher_threshold_holds() -> None:
    lower = replace(BASE, assertions=(Assertion("SlotMetric", 0.5, 9),))
    assert ratchet_suite(suite(BASE), suite(lower)) == (suite(BASE), ())


def test_what_a_change_removes_still_holds_and_is_reported() -> None:
    bare = replace(BASE, critical=False, rules=(), assertions=())
    held, notes = ratchet_suite(suite(bare), suite(BASE))
    assert held.scenarios[0] == BASE
    assert len(notes) == 3


def test_a_judge_does_not_replace_the_phrases_that_the_base_demands_nor_phrases_its_judge() -> None:
    phrases = replace(BASE, rules=(FailureRule("must_refuse", None, 3),), assertions=())
    judged = replace(BASE, rules=(), assertions=(Assertion("RefusalByJudgeMetric", 0.5, 4),))
    both, notes = ratchet_suite(suite(judged), suite(phrases))
    assert (both.scenarios[0].rules, both.scenarios[0].assertions) == (phrases.rules, judged.assertions)
    assert len(notes) == 1
    both, notes = ratchet_suite(suite(phrases), suite(judged))
    assert (both.scenarios[0].rules, both.scenarios[0].assertions) == (phrases.rules, judged.assertions)
    assert len(notes) == 1


@pytest.mark.parametrize(("before", "now"), [(None, {"judge": False}), ({"judge": False}, None), (1, None)])
def test_what_decides_about_a_refusal_is_added_to_and_never_replaced(before: object, now: object) -> None:
    base = replace(BASE, rules=(FailureRule("must_refuse", before, 3),))
    both, notes = ratchet_suite(suite(replace(BASE, rules=(FailureRule("must_refuse", now, 3),))), suite(base))
    assert [rule.value for rule in both.scenarios[0].rules] == [now, before]
    assert any("must_refuse" in str(note) for note in notes)


def test_removed_scenarios_and_edited_turns_are_reported() -> None:
    edited = replace(BASE, turns=(Turn(user="hello"),))
    ordinary = replace(BASE, id="salon", critical=False)
    _, notes = ratchet_suite(suite(edited), suite(BASE, ordinary))
    assert notes == (
        "This change removes scenarios: salon; edits what scenarios ask or expect: spa. Check that this is meant.",
        "spa: critical, and this change edits its turns.",
    )
    assert caveats_of(notes) == notes[:1]


def test_a_scenario_that_is_renamed_is_named_with_what_it_asserts_no_longer() -> None:
    ordinary = replace(BASE, critical=False)
    weaker = replace(ordinary, id="spa_new", rules=(), turns=(replace(ordinary.turns[0], expect=Expectation()),))
    (note,) = ratchet_suite(suite(weaker), suite(ordinary))[1]
    assert note.startswith("This change renames scenarios: spa to spa_new (weaker or other: rules")
    assert isinstance(note, Caveat)
    (note,) = ratchet_suite(suite(replace(ordinary, id="spa_new")), suite(ordinary))[1]
    assert note == "This change renames scenarios: spa to spa_new. Check that this is meant."


@pytest.mark.parametrize("other", [{"variant": "mini"}, {"inputs": {"city": "Kisumu"}}])
def test_a_scenario_of_another_variant_or_other_inputs_is_no_renamed_one(other: dict[str, Any]) -> None:
    """The messages of a test are the same for each variant: another one's is the removed scenario in name only."""
    before = replace(BASE, critical=False, variant="claude", inputs={"city": "Nairobi"})
    (note,) = ratchet_suite(suite(replace(before, id="spa_new", **other)), suite(before))[1]
    assert note == "This change removes scenarios: spa. Check that this is meant."


def test_a_renamed_scenario_is_found_among_those_of_other_variants() -> None:
    before = [replace(BASE, id=f"spa_{name}", critical=False, variant=name) for name in ("claude", "mini")]
    after = [replace(each, id=f"new_{each.variant}") for each in reversed(before)]
    (note,) = ratchet_suite(suite(*after), suite(*before))[1]
    assert note.startswith("This change renames scenarios: spa_claude to new_claude, spa_mini to new_mini.")


def test_a_renamed_scenario_is_named_with_what_else_the_change_edits() -> None:
    before = replace(BASE, critical=False)
    after = replace(before, id="spa_new", customer=Customer("Njeri", "+254700000002"), captured=("Hello.",))
    (note,) = ratchet_suite(suite(replace(after, tags=frozenset({"x"}))), suite(before))[1]
    assert "spa to spa_new (weaker or other: customer, captured)" in note


def test_another_place_in_the_suite_qualifies_no_pass() -> None:
    _, notes = ratchet_suite(suite(replace(BASE, tags=frozenset({"smoke"}))), suite(BASE))
    assert notes == ("spa: critical, and this change edits its tags.",)
    assert caveats_of(notes) == ()


def test_a_critical_scenario_still_runs_when_a_change_removes_or_renames_it() -> None:
    renamed = replace(BASE, id="spa_new", critical=False, rules=(), assertions=())
    held, notes = ratchet_suite(suite(renamed), suite(BASE))
    assert held.scenarios == (renamed, BASE)
    assert notes == ("spa: critical, so it still runs although this change removes it.",)


def test_the_clock_the_customer_and_the_language_are_reported_when_they_change() -> None:
    moved = replace(BASE, now=BASE.now.replace(year=2027), customer=Customer("Njeri", "+254700000002"), language="sw")
    _, notes = ratchet_suite(suite(moved), suite(BASE))
    assert notes[1:] == ("spa: critical, and this change edits its now, customer, language.",)


def test_the_strictest_of_several_thresholds_of_one_metric_holds() -> None:
    twice = replace(BASE, assertions=(Assertion("SlotMetric", 1.0, 5), Assertion("SlotMetric", 0.0, 6)))
    held, _ = ratchet_suite(suite(replace(BASE, assertions=(Assertion("SlotMetric", 0.0, 9),))), suite(twice))
    assert held.scenarios[0].assertions[0].threshold == 1.0


ASSERTIONS = st.dictionaries(st.sampled_from(["Slot", "Fluency"]), st.sampled_from([0.0, 0.5, 0.8, 1.0])).map(
    lambda found: tuple(Assertion(metric, threshold) for metric, threshold in found.items())
)
RULES = st.lists(
    st.sampled_from(
        [FailureRule(kind, value) for kind in ("must_not_contain", "max_turns") for value in ("1", 1, True, ["1"])]
    ),
    max_size=3,
).map(tuple)
SCENARIOS = st.builds(
    lambda name, text, **marks: replace(BASE, id=name, turns=(Turn(user=text),), **marks),
    st.sampled_from(["salon", "spa", "barber"]),
    st.sampled_from(["hi", "hello"]),
    critical=st.booleans(),
    rules=RULES,
    assertions=ASSERTIONS,
)
SUITES = st.lists(SCENARIOS, max_size=3, unique_by=lambda scenario: scenario.id).map(
    lambda found: suite(*sorted(found, key=lambda scenario: scenario.id))
)


def thresholds(scenario: Scenario) -> dict[str, float]:
    """The strictest threshold of each metric."""
    return {one.metric: one.threshold for one in sorted(scenario.assertions, key=lambda one: one.threshold)}


def rules(scenario: Scenario) -> set[tuple[str, str]]:
    return {(rule.type, repr(rule.value)) for rule in scenario.rules}


def is_as_strict(scenario: Scenario, other: Scenario) -> bool:
    """Whether a scenario demands all that another demands."""
    found = thresholds(scenario)
    return (
        all(found.get(metric, -1) >= minimum for metric, minimum in thresholds(other).items())
        and rules(scenario) >= rules(other)
        and scenario.critical >= other.critical
    )


def by_id(held: Suite) -> dict[str, Scenario]:
    return {scenario.id: scenario for scenario in held.scenarios}


@given(SUITES, SUITES)
def test_what_is_run_is_never_looser_than_the_base_nor_than_the_change(head: Suite, base: Suite) -> None:
    run, before = by_id(ratchet_suite(head, base)[0]), by_id(base)
    for asked in head.scenarios:
        held = run[asked.id]
        assert is_as_strict(held, asked)
        assert is_as_strict(held, before.get(asked.id, asked))
        assert replace(held, critical=asked.critical, rules=asked.rules, assertions=asked.assertions) == asked
    assert all(is_as_strict(run[name], earlier) for name, earlier in before.items() if earlier.critical)


@given(SUITES, SUITES)
def test_nothing_is_demanded_that_neither_the_base_nor_the_change_demands(head: Suite, base: Suite) -> None:
    asked, before = by_id(head), by_id(base)
    for name, held in by_id(ratchet_suite(head, base)[0]).items():
        sources = [suite[name] for suite in (asked, before) if name in suite]
        assert rules(held) == set().union(*(rules(source) for source in sources))
        assert set(thresholds(held).items()) <= set().union(*(thresholds(source).items() for source in sources))
        assert held.critical == any(source.critical for source in sources)


@given(SUITES, SUITES)
def test_what_is_held_to_the_base_once_stays_so(head: Suite, base: Suite) -> None:
    held, _ = ratchet_suite(head, base)
    assert ratchet_suite(held, base)[0] == held


@given(SUITES)
def test_an_unchanged_suite_is_run_as_it_is_and_nothing_is_reported(same: Suite) -> None:
    assert ratchet_suite(same, same) == (same, ())


@pytest.mark.parametrize(
    ("asked", "before", "held"),
    [
        (TurnLimits(9.0), TurnLimits(4.0), TurnLimits(4.0)),
        (TurnLimits(2.0), TurnLimits(4.0), TurnLimits(2.0)),
        (TurnLimits(), TurnLimits(4.0, Decimal("0.01")), TurnLimits(4.0, Decimal("0.01"))),
        (TurnLimits(3.0), TurnLimits(usd=Decimal("0.01")), TurnLimits(3.0, Decimal("0.01"))),
    ],
)
def test_of_the_limits_of_a_turn_the_stricter_hold(asked: TurnLimits, before: TurnLimits, held: TurnLimits) -> None:
    run, notes = ratchet_suite(suite(replace(BASE, limits=asked)), suite(replace(BASE, limits=before)))
    assert run.scenarios[0].limits == held
    assert any("limits of a turn" in note for note in notes) == (held != asked)


def test_an_edited_script_or_persona_is_reported() -> None:
    edited = replace(BASE, script=({"text": "Karibu"},), simulated_user=SimulatedUser("Amina", "a haircut"))
    _, notes = ratchet_suite(suite(edited), suite(BASE))
    assert any("edits its script, simulated_user" in note for note in notes)
