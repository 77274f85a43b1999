"""What one turn expects of its reply: tool calls, output, text, compared exactly."""

import json
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ratiba_action.errors import ConfigurationError
from ratiba_action.model.canonical import canonical_json
from ratiba_action.model.conversation import Reply, SystemEvent, ToolCall
from ratiba_action.model.measurement import Check
from ratiba_action.model.scenario import (
    Expectation,
    ExpectedOutput,
    ExpectedReply,
    ExpectedTool,
    ExpectedTransition,
    Turn,
)
from ratiba_action.util.comparable import comparable, has_text, has_word, place_of
from ratiba_action.util.instants import LocalTime, same_value, unclear_time
from ratiba_action.util.json_expression import Expression, ExpressionError, Step, parse_path, spell_path, without
from ratiba_action.util.patterns import SCENARIO_SECONDS, SEARCH_SECONDS, SearchTime, compile_pattern
from ratiba_action.util.strict_json import refuse_constant
from ratiba_action.util.text import clip, cut_near, in_quotes, stream_safe


def first_difference(expected: ExpectedOutput, got: Any) -> str | None:
    """Where a structured answer differs from the expected one, in words; None when it is the same.

    Numbers are equal by value, so that 1 is 1.0; a boolean is no number. Nothing else is converted.

    Args:
        expected: the value, and what of it does not count.
        got: any JSON.

    Raises:
        ValueError: a path of ``expected.ignore`` cannot be read.
    """
    paths = [parse_path(path) for path in expected.ignore]
    return _difference(_normal(without(expected.value, paths), expected), _normal(without(got, paths), expected), ())


def _normal(value: Any, rule: ExpectedOutput) -> Any:
    """The value in the spelling in which it is compared."""
    if isinstance(value, str):
        return " ".join(value.split()) if rule.ignore_whitespace else value
    if isinstance(value, dict):
        return {key: _normal(part, rule) for key, part in value.items()}
    if isinstance(value, list | tuple):
        parts = [_normal(part, rule) for part in value]
        return sorted(parts, key=canonical_json) if rule.ignore_order else parts
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _difference(expected: Any, got: Any, place: tuple[Step, ...]) -> str | None:
    where = spell_path(place) or "the answer"
    if isinstance(expected, dict) and isinstance(got, dict):
        return _object_difference(expected, got, place)
    if isinstance(expected, list) and isinstance(got, list):
        if len(expected) != len(got):
            return f"{where} has {len(got)} items, not {len(expected)}"
        parts = enumerate(zip(expected, got, strict=True))
        found = (_difference(first, second, (*place, index)) for index, (first, second) in parts)
        return next((difference for difference in found if difference is not None), None)
    if isinstance(expected, bool) == isinstance(got, bool) and expected == got:
        return None
    return f"{where} is {canonical_json(got)}, not {canonical_json(expected)}"


def _object_difference(expected: dict[str, Any], got: dict[str, Any], place: tuple[Step, ...]) -> str | None:
    where = spell_path(place) or "the answer"
    missing = [key for key in expected if key not in got]
    if missing:
        return f"{where} has no {missing[0]!r}"
    more = [key for key in got if key not in expected]
    if more:
        return f"{where} has {more[0]!r} besides"
    found = (_difference(expected[key], got[key], (*place, key)) for key in expected)
    return next((difference for difference in found if difference is not None), None)


def call_words(name: str, args: Mapping[str, Any]) -> str:
    """``name(key=value, …)``."""
    return f"{name}({', '.join(f'{key}={value}' for key, value in args.items())})"


def calls_words(calls: Sequence[ToolCall]) -> str:
    """Every call in order."""
    return "; ".join(call_words(call.name, call.args) for call in calls) or "no tool call"


DetectLanguage = Callable[[str], str | None]
"""ISO 639 code of the language that a text is written in, None where it cannot be known."""

TRANSITION = "state_transition"
"""Type of the event by which a system reports that its state machine moved; its data has ``from`` and ``to``."""

_MISSING = "(turn not reached)"


@dataclass(frozen=True, slots=True)
class _TurnFinding:
    kind: str
    what: str
    expected: str
    got: str
    passed: bool


def check_turn(
    number: int,
    turn: Turn,
    reply: Reply | None,
    clock: LocalTime,
    detect_language: DetectLanguage | None = None,
    *,
    time: SearchTime | None = None,
) -> list[Check]:
    """Every expectation of one turn.

    Args:
        number: of the turn, from 1.
        reply: None when the conversation never reached the turn.
        clock: of the scenario, by which times without an offset are read.
        detect_language: see ``check_transcript``.
        time: see ``check_transcript``.

    Raises:
        ConfigurationError: the turn expects a language and there is no detector, or a pattern takes too long.
    """
    found = [*_findings(turn.expect, reply or Reply(""), clock, detect_language)]
    if turn.expect.reply is not None:
        found += _reply_findings(turn.expect.reply, reply.text if reply else "", time or SearchTime())
    return [
        Check(
            check.kind,
            number,
            check.what,
            clip(check.expected),
            clip(check.got) if reply else _MISSING,
            passed=check.passed and reply is not None,
            line=turn.line,
        )
        for check in found
    ]


def _findings(
    expect: Expectation, got: Reply, clock: LocalTime, detect_language: DetectLanguage | None
) -> Iterator[_TurnFinding]:
    if expect.state is not None:
        yield _TurnFinding("state", "state after the turn", expect.state, str(got.state), got.state == expect.state)
    if expect.payment is not None:
        right = got.payment == expect.payment
        yield _TurnFinding("payment", "payment after the turn", expect.payment, str(got.payment), right)
    if expect.tools is not None:
        wanted = "; ".join(call_words(tool.name, tool.args) for tool in expect.tools) or "no tool call"
        right = _same_calls(expect.tools, got.tool_calls, clock)
        calls = zip(expect.tools, got.tool_calls, strict=False)
        unclear = "" if right else _unclear(((tool.args, call.args) for tool, call in calls), clock)
        yield _TurnFinding("tools", "tool calls of the turn", wanted, unclear + calls_words(got.tool_calls), right)
    for event in expect.events:
        right = any(
            event.type == seen.type and same_value(dict(event.data), dict(seen.data), clock) for seen in got.events
        )
        listed = "; ".join(call_words(seen.type, seen.data) for seen in got.events) or "no event"
        pairs = ((event.data, seen.data) for seen in got.events if seen.type == event.type)
        unclear = "" if right else _unclear(pairs, clock)
        yield _TurnFinding("event", f"event {event.type}", call_words(event.type, event.data), unclear + listed, right)
    if expect.transitions:
        yield _transitions(expect.transitions, got.events)
    if expect.output is not None:
        difference = first_difference(expect.output, got.output)
        shown = difference or "the same"
        yield _TurnFinding("output", "structured answer", "the same but for what is ignored", shown, difference is None)
    if expect.language is not None:
        yield _language(expect.language, got.text, detect_language)


def _unclear(pairs: Iterable[tuple[Any, Any]], clock: LocalTime) -> str:
    """Why values of which times differ may not differ, before what came; empty where they do."""
    why = next(filter(None, (unclear_time(dict(wanted), dict(got), clock) for wanted, got in pairs)), "")
    return f"not compared: {why}. " if why else ""


def _same_calls(expected: Sequence[ExpectedTool], calls: Sequence[ToolCall], clock: LocalTime) -> bool:
    return len(calls) == len(expected) and all(
        tool.name == call.name and same_value(dict(tool.args), dict(call.args), clock)
        for tool, call in zip(expected, calls, strict=True)
    )


def _transitions(expected: Sequence[ExpectedTransition], events: Sequence[SystemEvent]) -> _TurnFinding:
    """Whether the moves came in this order; each is looked for after the one before it."""
    seen = [(event.data.get("from"), event.data.get("to")) for event in events if event.type == TRANSITION]
    moves = iter(seen)
    right = all(any(_is_move(wanted, move) for move in moves) for wanted in expected)
    wanted = ", ".join(f"{move.source or 'any state'} → {move.target}" for move in expected)
    got = ", ".join(f"{source} → {target}" for source, target in seen) or "no transition"
    return _TurnFinding("transitions", "moves of the state machine", wanted, got, right)


def _is_move(wanted: ExpectedTransition, move: tuple[object, object]) -> bool:
    source, target = move
    return target == wanted.target and wanted.source in {None, source if isinstance(source, str) else ""}


def _language(wanted: str, text: str, detect_language: DetectLanguage | None) -> _TurnFinding:
    if detect_language is None:
        raise ConfigurationError(
            f"A turn expects the language {wanted!r}, and no language detector is installed.",
            "Install the extra `semantic`.",
        )
    detected = detect_language(text)
    return _TurnFinding("language", "language of the reply", wanted, detected or "unknown", detected == wanted)


def whole_text(text: str) -> str:
    """A whole reply as it is compared with another one: without white space at its ends; case counts."""
    return comparable(text, fold_case=False).strip()


def around(text: str, value: str) -> str:
    """The part of a long reply that holds the value, so that clipping does not hide it."""
    at = place_of(text, value)
    # Not clipped at the end: whoever shows it does.
    return text if at < 0 else text[cut_near(text, max(0, at - 80), at) :]


def pattern_finder(pattern: str, time: SearchTime) -> Callable[[str], bool]:
    """Whether a text has the pattern, as it is or in its composed form (NFC): patterns are exact otherwise.

    Args:
        time: for all patterns of the scenario.

    Raises:
        ValueError: it is not a regular expression. What is returned raises ConfigurationError where a search takes too
            long.
    """
    compiled = compile_pattern(pattern)

    def found(text: str) -> bool:
        composed = unicodedata.normalize("NFC", stream_safe(text))
        try:
            return time.search(compiled, text) or (composed != text and time.search(compiled, composed))
        except TimeoutError as error:
            raise ConfigurationError(
                f"The pattern {in_quotes(clip(pattern))} took longer than {SEARCH_SECONDS:g} s on one reply of "
                f"{len(text)} characters, or all patterns of the scenario longer than {SCENARIO_SECONDS:g} s.",
                "Write it without a repetition inside a repetition.",
            ) from error

    return found


def _reply_findings(expected: ExpectedReply, text: str, time: SearchTime) -> Iterator[_TurnFinding]:
    """One finding for each assertion on the text of a reply; each shows the reply."""
    shown = text if text.strip() else "(empty reply)"
    yield from _text_findings(expected, text, shown)
    for pattern in expected.matches:
        right = pattern_finder(pattern, time)(text)
        yield _TurnFinding("reply", "reply matches", f"{in_quotes(pattern)} (case counts)", shown, right)
    if expected.equals is not None:
        right = whole_text(text) == whole_text(expected.equals)
        yield _TurnFinding("reply", "reply equals", expected.equals, shown, right)
    if expected.json is not None:
        yield from _json_findings(expected.json, text, shown)
    if expected.max_words is not None:
        words = len(text.split())
        yield _TurnFinding(
            "reply",
            "words of the reply",
            f"at most {expected.max_words}",
            f"{words}: {shown}",
            passed=words <= expected.max_words,
        )


def _text_findings(expected: ExpectedReply, text: str, shown: str) -> Iterator[_TurnFinding]:
    """One finding for each text that a reply must have, or must not."""
    case = "(case is ignored)"
    groups = (
        (has_text, "", expected.contains, expected.contains_any, expected.not_contains),
        (has_word, " as a word", expected.contains_word, expected.contains_any_word, expected.not_contains_word),
    )
    for has, how, each, some, none in groups:
        for value in each:
            yield _TurnFinding("reply", f"reply contains{how}", f"{in_quotes(value)} {case}", shown, has(text, value))
        if some:
            right = any(has(text, value) for value in some)
            yield _TurnFinding(
                "reply", f"reply contains any of{how}", f"{', '.join(map(in_quotes, some))} {case}", shown, right
            )
        for value in none:
            what, passed = f"reply does not contain{how}", not has(text, value)
            yield _TurnFinding("reply", what, f"{in_quotes(value)} {case}", around(shown, value), passed=passed)


def _json_findings(expected: Mapping[str, Any], text: str, shown: str) -> Iterator[_TurnFinding]:
    """Whether a reply is JSON, and one finding for each path."""
    try:
        value = json.loads(text, parse_constant=refuse_constant)
    except (ValueError, RecursionError):
        yield _TurnFinding("reply", "reply is JSON", "JSON", f"not JSON: {shown}", passed=False)
        return
    yield _TurnFinding("reply", "reply is JSON", "JSON", shown, passed=True)
    for path, wanted in expected.items():
        try:
            got = Expression(path).search(value)
            difference = _difference(wanted, got, ())
            found = canonical_json(got)
        except (ExpressionError, RecursionError) as error:
            difference = found = str(error)
        yield _TurnFinding(
            "reply",
            clip(f"reply at {path}"),
            canonical_json(wanted),
            f"{clip(found, 90)}; the reply: {shown}",
            passed=difference is None,
        )
