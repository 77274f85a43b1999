"""Rules and metrics that a repository writes itself: how they are named, what they are given, what they may answer.

They run in the worker, never in the gate: what crosses is plain data in both directions, and an answer is believed
only as far as it has the right shape.
"""

import re
from collections.abc import Iterable
from typing import Any

from ratiba_action.errors import ConfigurationError
from ratiba_action.model.conversation import Exchange, Reply
from ratiba_action.model.measurement import Case, Check, Score
from ratiba_action.model.scenario import Assertion, FailureRule, Scenario
from ratiba_action.model.values import JsonObject
from ratiba_action.util.installation import page
from ratiba_action.util.text import clip

CUSTOM_VERSION = "own"
"""Version of every custom metric: its code lies in the repository, and its commit says which code it was."""

_MODEL_CODE_METRICS = frozenset({"CodeTestsMetric"})
"""Built-in metrics that run code of a reply, where the repository's own rules and metrics run."""

JUDGE_CALLS = "judge_calls"
"""Parameter of a repository's own metric that calls a judge: the most calls of one measurement."""
MAX_JUDGE_CALLS = 100
_DEEPEVAL = "deepeval."
_DEEPEVAL_CALLS = 20
"""Judge calls of a metric of DeepEval's own that names no number."""

_ADDRESS = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")


def _remedy(shape: str) -> str:
    return f"Let it return {shape} as plain JSON: {page('rules')}"


def is_address(name: str) -> bool:
    """Whether a name is ``module:attribute``, the address of a repository's own code."""
    return _ADDRESS.fullmatch(name) is not None


def declared_judge_calls(address: str, parameters: JsonObject) -> int:
    """The most judge calls of one measurement by a repository's own metric; 0 for one that calls none."""
    declared = parameters.get(JUDGE_CALLS, _DEEPEVAL_CALLS if address.startswith(_DEEPEVAL) else 0)
    return declared if isinstance(declared, int) and not isinstance(declared, bool) else 0


def judge_calls_problem(parameters: JsonObject) -> str:
    """What is wrong with the number of judge calls that an assertion names; empty for nothing."""
    declared = parameters.get(JUDGE_CALLS, 0)
    if isinstance(declared, int) and not isinstance(declared, bool) and 0 <= declared <= MAX_JUDGE_CALLS:
        return ""
    return f"{JUDGE_CALLS} is {declared!r:.40}; give a whole number from 0 to {MAX_JUDGE_CALLS}"


def needs_custom_code(scenarios: Iterable[Scenario]) -> bool:
    """Whether any scenario is measured by a repository's own rule or metric, or by running code of a reply."""
    return any(
        any(
            is_address(assertion.metric) or assertion.metric in _MODEL_CODE_METRICS for assertion in scenario.assertions
        )
        or any(rule.type == "custom" for rule in scenario.rules)
        for scenario in scenarios
    )


def evidence(case: Case, parameters: JsonObject) -> JsonObject:
    """All that custom code is given, as plain JSON.

    Args:
        parameters: what the assertion says under ``with``.
    """
    scenario = case.scenario
    return {
        "scenario": {
            "id": scenario.id,
            "language": scenario.language,
            "layer": scenario.layer,
            "system_type": scenario.system_type,
            "vertical": scenario.vertical,
            "tags": sorted(scenario.tags),
            "now": scenario.now.isoformat(),
            "timezone": scenario.timezone or None,
            "inputs": scenario.inputs,
        },
        "turns": [_turn(exchange) for exchange in case.transcript.exchanges],
        "rows": {name: [dict(row) for row in rows] for name, rows in case.transcript.rows.items()},
        "parameters": {name: value for name, value in parameters.items() if name != JUDGE_CALLS},
    }


def custom_score(assertion: Assertion, answer: Any) -> Score:
    """The score that a custom metric answered.

    Raises:
        ConfigurationError: the answer is not ``{"value": 0 to 1, "reason": text}``.
    """
    name = assertion.metric
    fields = _fields(answer, f"The metric {name!r}", {"value", "reason"}, '{"value": 0 to 1, "reason": text}')
    value = fields.get("value")
    # NaN is in no range, so that it is refused with everything else.
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ConfigurationError(
            f"The metric {name!r} gave the value {value!r:.80}, not a number from 0 to 1.",
            _remedy('{"value": 0 to 1, "reason": text}'),
        )
    return Score(name, CUSTOM_VERSION, float(value), assertion.threshold, judged=False, reason=fields["reason"])


def custom_check(rule: FailureRule, address: str, answer: Any) -> Check:
    """Whether a custom rule passed.

    Raises:
        ConfigurationError: the answer is not ``{"passed": true or false, "reason": text}``.
    """
    shape = '{"passed": true or false, "reason": text}'
    fields = _fields(answer, f"The rule {address!r}", {"passed", "reason"}, shape)
    passed = fields.get("passed")
    if not isinstance(passed, bool):
        raise ConfigurationError(
            f"The rule {address!r} gave `passed` as {passed!r:.80}, not true or false.",
            _remedy(shape),
        )
    got = fields["reason"] or ("holds" if passed else "does not hold")
    return Check("rule", 0, rule.type, clip(f"{address} holds"), clip(got), passed=passed, line=rule.line)


def rule_addresses(rule: FailureRule) -> tuple[str, ...]:
    """The functions that a custom rule names."""
    return tuple(rule.value) if isinstance(rule.value, list | tuple) else (str(rule.value),)


def _fields(answer: Any, who: str, allowed: set[str], shape: str) -> dict[str, Any]:
    if not isinstance(answer, dict) or not set(answer) <= allowed:
        raise ConfigurationError(f"{who} answered {answer!r:.120}.", _remedy(shape))
    reason = answer.get("reason", "")
    if not isinstance(reason, str):
        raise ConfigurationError(f"{who} gave the reason {reason!r:.80}, not a text.", _remedy(shape))
    return {**answer, "reason": clip(reason, 1_000)}


def _turn(exchange: Exchange) -> JsonObject:
    turn = exchange.turn
    return {
        "user": turn.user,
        "event": dict(turn.event) if turn.event is not None else None,
        "expect": {
            "answer": turn.expect.answer,
            "tools": None
            if turn.expect.tools is None
            else [{"name": tool.name, "args": dict(tool.args)} for tool in turn.expect.tools],
        },
        "reply": _reply(exchange.reply),
        "seconds": round(exchange.seconds, 6),
        **({"cut": exchange.cut} if exchange.cut else {}),
    }


def _reply(reply: Reply) -> JsonObject:
    return {
        "text": reply.text,
        "state": reply.state,
        "payment": reply.payment,
        "tool_calls": [
            {"name": call.name, "args": dict(call.args), "output": call.output} for call in reply.tool_calls
        ],
        "events": [{"type": event.type, "data": dict(event.data)} for event in reply.events],
        "documents": [
            {"id": document.id, "text": document.text, "score": document.score} for document in reply.documents
        ],
        "output": reply.output,
    }
