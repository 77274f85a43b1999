"""What belongs to a layer is accepted in it and refused elsewhere, with its line."""

import json
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ratiba_action.checks.failure_rules import RULE_TYPES, validate_rule
from ratiba_action.errors import SuiteError
from ratiba_action.metrics.registry import metric_problems
from ratiba_action.model.scenario import Scenario, Suite
from ratiba_action.suite.load import load_suite

BASE: dict[str, Any] = {
    "id": "spa",
    "language": "fr",
    "now": "2026-04-25T10:00:00+03:00",
    "customer": {"name": "Wanjiku", "phone": "+254 712 345 432"},
    "turns": [{"user": "Habari"}],
}


def load(**changes: Any) -> Suite:
    text = json.dumps({**BASE, **changes}, indent=1)
    return load_suite({"scenarios/a.yaml": text.encode()}, metric_problems, validate_rule)


def only(**changes: Any) -> Scenario:
    (scenario,) = load(**changes).scenarios
    return scenario


def refusal(**changes: Any) -> str:
    with pytest.raises(SuiteError) as raised:
        load(**changes)
    return str(raised.value)


def test_a_scripted_model_belongs_to_the_layer_fsm() -> None:
    script = [{"text": "Karibu"}, {"provider": "openai", "data": {"intent": "book"}}, {"tools": [{"name": "look_up"}]}]
    assert len(only(layer="fsm", script=script).script or ()) == 3
    assert only(layer="fsm", script=[]).script == ()
    assert "script: only allowed in layer fsm; this is layer 'golden'" in refusal(script=script)
    assert "layer fsm needs a 'script'" in refusal(layer="fsm")


@pytest.mark.parametrize("step", [{}, {"text": "a", "data": 1}, {"provider": "other", "text": "a"}, {"say": "a"}, "a"])
def test_a_step_that_says_nothing_or_two_things_is_refused(step: object) -> None:
    assert "scenarios/a.yaml:" in refusal(layer="fsm", script=[step])


@pytest.mark.parametrize(
    "turns", [[], [{"user": "a"}, {"user": "b"}], [{"event": {"type": "paid"}}]], ids=["none", "two", "an event"]
)
def test_the_layer_turn_has_one_turn_of_the_customer(turns: list[object]) -> None:
    assert only(layer="turn").layer == "turn"
    assert "layer turn needs exactly one turn with 'user'" in refusal(layer="turn", turns=turns)


def test_captured_replies_belong_to_the_layer_replay_and_are_its_reference_answers() -> None:
    turns = [{"user": "Habari", "reply": "Karibu"}, {"event": {"type": "paid"}}]
    exact = only(layer="replay", turns=turns)
    assert exact.replies == ("Karibu", "")
    assert exact.turns[0].expect.answer == "Karibu"
    near = only(
        layer="replay", turns=turns, compare="metric", assertions=[{"metric": "RougeLMetric", "threshold": 0.5}]
    )
    assert (near.replies, near.turns[0].expect.answer) == ((), "Karibu")
    assert "turns.0.reply: only a scenario of layer replay" in refusal(turns=turns)
    assert "turns.0: layer replay needs the captured 'reply'" in refusal(layer="replay")
    assert "compare: metric needs an assertion" in refusal(layer="replay", turns=turns, compare="metric")
    assert "compare: only allowed in layer replay" in refusal(compare="exact")


def test_production_needs_its_provenance_and_no_unmasked_person() -> None:
    provenance = {"captured": "2026-04-20", "by": "ratiba promote"}
    assert only(layer="production", provenance=provenance).provenance == provenance
    assert "layer production needs 'provenance'" in refusal(layer="production")
    turns = [{"user": "Nipigie 0722 111 222, au 0712345432"}, {"user": "amina@example.com"}]
    problems = refusal(layer="production", provenance=provenance, turns=turns)
    assert "turns.0.user: a phone number (+254***222) is not masked" in problems
    assert "turns.1.user: an e-mail address (a***@***) is not masked" in problems
    assert "432" not in problems
    assert "0722" not in problems


def test_a_hallucination_risk_is_an_assertion_on_faithfulness_by_claim() -> None:
    (assertion,) = only(rules=[{"type": "max_hallucination_risk", "value": 0.3}]).assertions
    assert (assertion.metric, assertion.threshold) == ("FaithfulnessByClaimMetric", 0.7)


def test_an_ignored_path_that_cannot_be_read_is_refused_with_its_line() -> None:
    problems = refusal(turns=[{"user": "a", "expect": {"output": {"value": 1, "ignore": ["a", "$.items[*].id"]}}}])
    assert "turns.0.expect.output.ignore.1: the path '$.items[*].id' is a JSONPath" in problems
    assert problems.count("write items[*].id") == 1


def test_a_metric_of_the_repository_is_named_by_module_and_attribute() -> None:
    (assertion,) = only(assertions=[{"metric": "own.tone:Tone", "threshold": 0.5, "with": {"any": 1}}]).assertions
    assert (assertion.metric, assertion.parameters) == ("own.tone:Tone", {"any": 1})
    assert "unknown metric 'own/tone.py'" in refusal(assertions=[{"metric": "own/tone.py", "threshold": 0.5}])


def test_a_catastrophic_pattern_is_refused_when_the_file_is_read() -> None:
    assert "a repetition inside a repetition" in refusal(rules=[{"type": "regex_must_match", "value": "(a+)+$"}])


_scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12)
_anything = st.recursive(
    _scalars,
    lambda one: st.lists(one, max_size=3) | st.dictionaries(st.text(max_size=8), one, max_size=3),
    max_leaves=8,
)
_KEYS = ("layer", "script", "turns", "rules", "assertions", "limits", "simulated_user", "provenance", "compare")
_layers = st.sampled_from(["fsm", "turn", "replay", "golden", "production", "other"])
_turns = st.lists(
    st.fixed_dictionaries(
        {},
        optional={"user": st.text(max_size=9), "reply": _anything, "expect": _anything, "event": _anything},
    ),
    max_size=3,
)
_rules = st.lists(st.fixed_dictionaries({"type": st.sampled_from(RULE_TYPES), "value": _anything}), max_size=3)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(
    st.fixed_dictionaries({"layer": _layers, "turns": _turns | _anything, "rules": _rules | _anything}),
    st.dictionaries(st.sampled_from(_KEYS), _anything, max_size=3),
)
def test_any_file_is_a_suite_or_a_list_of_mistakes(likely: dict[str, Any], odd: dict[str, Any]) -> None:
    content = yaml.safe_dump({**BASE, **likely, **odd}, allow_unicode=False).encode()
    try:
        suite = load_suite({"scenarios/a.yaml": content}, metric_problems, validate_rule)
    except SuiteError as refused:
        problems = refused.problems
    else:
        assert len(suite.scenarios) == 1
        return
    assert problems
    assert all(problem.path == "scenarios/a.yaml" and problem.message for problem in problems)


def test_a_message_names_layers_and_types_as_a_file_spells_them() -> None:
    assert "'gold' is not allowed" in refusal(layer="gold")
    assert "'fsm', 'turn', 'replay', 'golden', 'production'" in refusal(layer="gold")
    assert "'chatbot', 'agent', 'rag', 'search', 'classifier'" in refusal(system_type="oracle")
    assert "<" not in refusal(layer="gold") + refusal(script=[]) + refusal(system_type="oracle")
