"""Exact assertions over a transcript: what each turn expects, and the scenario's failure rules.

Replies may hold hostile text. It ends up in ``Check.got`` as clipped data and is never interpreted here.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import tzinfo
from typing import Any

import regex

from ratiba_action.core.instants import same_value
from ratiba_action.core.model.conversation import Reply, ToolCall, Transcript
from ratiba_action.core.model.measurement import Check
from ratiba_action.core.model.scenario import ExpectedTool, FailureRule, Scenario, Turn
from ratiba_action.errors import ConfigurationError

RULE_TYPES = (
    "must_contain",
    "must_not_contain",
    "regex_must_match",
    "regex_must_not_match",
    "must_call_tool",
    "must_not_call_tool",
)

_PATTERN_SECONDS = 1.0
_CLIP = 200
_MISSING = "(turn not reached)"


def clip(text: str, limit: int = _CLIP) -> str:
    """The text on one line, at most ``limit`` characters, with an ellipsis where it was cut."""
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"


def validate_rule(rule_type: str, value: Any) -> str | None:
    """What is wrong with a failure rule, or None.

    Args:
        rule_type: must be one of ``RULE_TYPES``.
        value: a non-empty string or a non-empty list of them; a regular expression for the ``regex_`` types.
    """
    if rule_type not in RULE_TYPES:
        return f"unknown rule type {rule_type!r}; allowed: {', '.join(RULE_TYPES)}"
    values = value if isinstance(value, list | tuple) else [value]
    if not values or not all(isinstance(item, str) and item.strip() for item in values):
        return f"value {value!r} of rule {rule_type} must be a non-empty string or a list of them"
    if rule_type.startswith("regex_"):
        for pattern in values:
            try:
                regex.compile(pattern)
            except (regex.error, OverflowError, RecursionError) as error:
                return f"value {pattern!r} of rule {rule_type} is not a regular expression: {error}"
    return None


def check_transcript(scenario: Scenario, transcript: Transcript) -> tuple[Check, ...]:
    """Every expectation of every turn and every failure rule, held or not, in the order of the file.

    A turn that the conversation never reached fails each of its expectations.
    """
    checks: list[Check] = []
    for number, turn in enumerate(scenario.turns, 1):
        reply = transcript.exchanges[number - 1].reply if number <= len(transcript.exchanges) else None
        checks += _check_turn(number, turn, reply, scenario.now.tzinfo)
    for rule in scenario.rules:
        checks += _check_rule(rule, transcript)
    return tuple(checks)


def _check_turn(number: int, turn: Turn, reply: Reply | None, zone: tzinfo | None) -> list[Check]:
    expect = turn.expect
    got = reply or Reply("")
    found: list[tuple[str, str, str, str, bool]] = []
    if expect.state is not None:
        found.append(("state", "state after the turn", expect.state, str(got.state), got.state == expect.state))
    if expect.payment is not None:
        right = got.payment == expect.payment
        found.append(("payment", "payment after the turn", expect.payment, str(got.payment), right))
    if expect.tools is not None:
        wanted = "; ".join(_call(tool.name, tool.args) for tool in expect.tools) or "no tool call"
        right = _same_calls(expect.tools, got.tool_calls, zone)
        found.append(("tools", "tool calls of the turn", wanted, _calls(got.tool_calls), right))
    for event in expect.events:
        right = any(
            event.type == seen.type and same_value(dict(event.data), dict(seen.data), zone) for seen in got.events
        )
        listed = "; ".join(_call(seen.type, seen.data) for seen in got.events) or "no event"
        found.append(("event", f"event {event.type}", _call(event.type, event.data), listed, right))
    return [
        Check(
            kind,
            number,
            what,
            clip(expected),
            clip(shown) if reply else _MISSING,
            passed and reply is not None,
            turn.line,
        )
        for kind, what, expected, shown, passed in found
    ]


def _same_calls(expected: Sequence[ExpectedTool], calls: Sequence[ToolCall], zone: tzinfo | None) -> bool:
    return len(calls) == len(expected) and all(
        tool.name == call.name and same_value(dict(tool.args), dict(call.args), zone)
        for tool, call in zip(expected, calls, strict=True)
    )


def _check_rule(rule: FailureRule, transcript: Transcript) -> list[Check]:
    problem = validate_rule(rule.type, rule.value)
    if problem:
        return [Check("rule", 0, clip(rule.type), "a valid rule", clip(problem), passed=False, line=rule.line)]
    values = rule.value if isinstance(rule.value, list | tuple) else [rule.value]
    test = _call_rule if rule.type.endswith("_call_tool") else _text_rule
    return [test(rule, str(value), transcript) for value in values]


def _text_rule(rule: FailureRule, value: str, transcript: Transcript) -> Check:
    finder = _regex(value) if rule.type.startswith("regex_") else _substring(value)
    hits = [
        (number, exchange.reply.text)
        for number, exchange in enumerate(transcript.exchanges, 1)
        if finder(exchange.reply.text)
    ]
    wanted = rule.type in {"must_contain", "regex_must_match"}
    number, text = hits[0] if hits else (0, "no reply has it")
    return Check(
        "rule",
        0 if wanted else number,
        rule.type,
        clip(f"{'some reply' if wanted else 'no reply'} with {value!r}"),
        clip(text if wanted or not hits else f"turn {number}: {_around(text, value)}"),
        passed=bool(hits) == wanted,
        line=rule.line,
    )


def _call_rule(rule: FailureRule, value: str, transcript: Transcript) -> Check:
    hits = [
        (number, call)
        for number, exchange in enumerate(transcript.exchanges, 1)
        for call in exchange.reply.tool_calls
        if call.name == value
    ]
    wanted = rule.type == "must_call_tool"
    got = f"turn {hits[0][0]}: {_calls([hits[0][1]])}" if hits else "never called"
    return Check(
        "rule",
        hits[0][0] if hits and not wanted else 0,
        rule.type,
        clip(f"{'a' if wanted else 'no'} call of {value}"),
        clip(got),
        passed=bool(hits) == wanted,
        line=rule.line,
    )


def _substring(value: str) -> Callable[[str], bool]:
    needle = value.casefold()
    return lambda text: needle in text.casefold()


def _regex(pattern: str) -> Callable[[str], bool]:
    compiled = regex.compile(pattern)

    def found(text: str) -> bool:
        try:
            return compiled.search(text, timeout=_PATTERN_SECONDS) is not None
        except TimeoutError as error:
            raise ConfigurationError(
                f"The pattern {clip(pattern)!r} of a rule took longer than {_PATTERN_SECONDS:g} s on one reply.",
                "Write it without a repetition inside a repetition.",
            ) from error

    return found


def _around(text: str, value: str) -> str:
    """The part of a long reply that holds the value, so that clipping does not hide it."""
    at = text.casefold().find(value.casefold())
    return text if at < 0 else text[max(0, at - 80) : at + len(value) + 80]


def _calls(calls: Sequence[ToolCall]) -> str:
    return "; ".join(_call(call.name, call.args) for call in calls) or "no tool call"


def _call(name: str, args: Mapping[str, Any]) -> str:
    return f"{name}({', '.join(f'{key}={value}' for key, value in args.items())})"
