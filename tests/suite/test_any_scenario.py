"""The loader against files that are nearly right: one place of a scenario that uses every block is spoilt."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.checks.failure_rules import validate_rule
from ratiba_action.errors import FileProblem, SuiteError
from ratiba_action.metrics.registry import metric_problems
from ratiba_action.suite.load import load_suite
from ratiba_action.suite.ratchet import ratchet_suite
from tests.support.spoilt_documents import leaves, line_of, mappings, places, spoilt, value_at, written

WHOLE: dict[str, dict[str, Any]] = {
    "data set": {
        "id": "intents",
        "language": "en",
        "system_type": "classifier",
        "now": "2026-04-25T10:00:00+03:00",
        "customer": {"name": "Amina", "phone": "+254 700 000 001"},
        "cases": "intents.jsonl",
        "turns": [{"user": "${question}", "expect": {"label": "${intent}"}}],
        "gates": [{"metric": "macro_f1", "at_least": 0.8}, {"metric": "accuracy", "at_least": 0.5}],
        "assertions": [{"metric": "LabelMetric", "threshold": 1.0}],
        "strategy": {"timeout_seconds": 30, "retries": 1},
    },
    "conversation": {
        "id": "talks",
        "language": "fr",
        "critical": False,
        "vertical": "spa",
        "tags": ["smoke"],
        "touches": ["prompts/*.md"],
        "now": "2026-04-25T10:00:00+03:00",
        "customer": {"name": "Amina", "phone": "+254 700 000 001"},
        "turns": [
            {
                "user": "hello",
                "expect": {
                    "state": "OPEN",
                    "tools": [{"name": "look", "args": {"hour": 18}}],
                    "documents": ["hours", "prices"],
                    "answer": "until six",
                    "output": {"value": {"a": [1]}, "ignore": ["b"]},
                },
            },
            {"event": {"type": "payment", "rail": "mpesa"}, "expect": {"payment": "PAID"}},
        ],
        "rules": [{"type": "must_not_contain", "value": "spare"}, {"type": "regex_must_match", "value": "^h"}],
        "assertions": [
            {"metric": "NdcgMetric", "threshold": 0.5, "with": {"k": 5}},
            {"metric": "RougeLMetric", "threshold": 0.5},
        ],
        "limits": {"seconds": 3.5, "usd": 0.02},
        "strategy": {"trials": 3, "passes": 2},
        "quarantine": {"reason": "being fixed", "owner": "amina", "until": "9999-12-31"},
    },
    "simulated customer": {
        "id": "simulated",
        "language": "fr",
        "now": "2026-04-25T10:00:00+03:00",
        "customer": {"name": "Amina", "phone": "+254 700 000 001"},
        "simulated_user": {"persona": "in a hurry", "goal": "book a massage", "max_turns": 4},
        "rules": [{"type": "must_not_contain", "value": "spare"}],
    },
}
"""Scenarios that are right, by what they show."""
ROWS = b"""\
{"id": "1", "question": "Can I book?", "intent": "book"}
{"id": "2", "question": "How much?", "intent": "price"}
"""
FREE = ("args", "event", "value", "with", "provenance")
"""Mappings that hold whatever their owner likes."""

anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=12)
    | st.sampled_from(["${intent}", "${"]),
    lambda one: st.lists(one, max_size=3) | st.dictionaries(st.text(max_size=8), one, max_size=3),
    max_leaves=6,
)
wholes = st.sampled_from(sorted(WHOLE))


def problems_of(scenario: Any, rows: bytes = ROWS) -> tuple[FileProblem, ...]:
    files = {"scenarios/a.yaml": written(scenario), "scenarios/intents.jsonl": rows}
    if not isinstance(scenario, dict) or scenario.get("cases") != "intents.jsonl":
        del files["scenarios/intents.jsonl"]
    try:
        load_suite(files, metric_problems, validate_rule)
    except SuiteError as refused:
        return refused.problems
    return ()


@pytest.mark.parametrize("name", sorted(WHOLE))
def test_the_scenarios_that_are_spoilt_are_right(name: str) -> None:
    assert problems_of(WHOLE[name]) == ()


@pytest.mark.parametrize("name", sorted(WHOLE))
def test_a_scenario_is_as_strict_as_itself_whether_one_object_or_two(name: str) -> None:
    files = {"scenarios/a.yaml": written(WHOLE[name])}
    files |= {"scenarios/intents.jsonl": ROWS} if "cases" in WHOLE[name] else {}
    one, another = (load_suite(files, metric_problems, validate_rule) for _ in range(2))
    assert ratchet_suite(one, one) == ratchet_suite(one, another)


@given(wholes, st.data(), anything)
def test_anything_in_any_place_is_a_suite_or_problems_with_their_lines(
    name: str, data: st.DataObject, odd: Any
) -> None:
    scenario = spoilt(WHOLE[name], data.draw(st.sampled_from(list(places(WHOLE[name])))), odd)
    lines = max(written(scenario).count(b"\n"), ROWS.count(b"\n"))
    for problem in problems_of(scenario):
        assert problem.message
        assert problem.line is None or 1 <= problem.line <= lines


@given(wholes, st.data(), st.from_regex(r"[a-z]{3,9}_[a-z]{3,9}x", fullmatch=True))
def test_a_key_that_nobody_knows_is_refused_wherever_it_stands(name: str, data: st.DataObject, key: str) -> None:
    place = data.draw(st.sampled_from(mappings(WHOLE[name], FREE)))
    scenario = spoilt(WHOLE[name], (*place, key), "misspelt")
    messages = [problem.line for problem in problems_of(scenario) if key in problem.message]
    assert messages == [line_of(key, scenario)]


@given(wholes, st.data())
def test_a_mapping_in_the_place_of_a_word_or_number_is_refused_where_it_stands(name: str, data: st.DataObject) -> None:
    whole = WHOLE[name]
    # Without its column a row is told to be of no use, before what stands in the column's place is looked at.
    ours = [place for place in leaves(whole, FREE) if "${" not in str(value_at(whole, place))]
    place = data.draw(st.sampled_from(ours))
    scenario = spoilt(WHOLE[name], place, {"surely": ["wrong"]})
    line = line_of("surely", scenario)
    messages = [problem.line for problem in problems_of(scenario)]
    assert any(
        at is not None and line - 2 <= at <= line for at in messages
    )  # a block of two forms is told at its own key


@given(
    st.lists(st.dictionaries(st.sampled_from(["id", "question", "intent", "other"]), anything, max_size=4), max_size=4)
)
def test_any_rows_of_a_data_set_are_cases_or_problems_of_their_file(rows: list[dict[str, Any]]) -> None:
    lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
    named = {problem.path for problem in problems_of(WHOLE["data set"], lines)}
    assert named <= {"scenarios/a.yaml", "scenarios/intents.jsonl"}
    right = [row for row in rows if {"question", "intent"} <= row.keys()]
    if len(right) < len(rows):
        assert named
