"""What one turn expects of its reply, compared exactly."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import tzinfo

from ratiba_action.checks.call_words import call_words, calls_words
from ratiba_action.checks.structured_comparison import first_difference
from ratiba_action.errors import ConfigurationError
from ratiba_action.model.conversation import Event, Reply, ToolCall
from ratiba_action.model.measurement import Check
from ratiba_action.model.scenario import Expectation, ExpectedTool, ExpectedTransition, Turn
from ratiba_action.util.clipping import clip
from ratiba_action.util.instants import same_value

DetectLanguage = Callable[[str], str | None]
"""ISO 639 code of the language that a text is written in, None where it cannot be told."""

TRANSITION = "state_transition"
"""Type of the event by which a system reports that its state machine moved; its data has ``from`` and ``to``."""

_MISSING = "(turn not reached)"


@dataclass(frozen=True, slots=True)
class _Finding:
    kind: str
    what: str
    expected: str
    got: str
    passed: bool


def check_turn(
    number: int, turn: Turn, reply: Reply | None, zone: tzinfo | None, detect_language: DetectLanguage | None = None
) -> list[Check]:
    """Every expectation of one turn.

    Args:
        number: of the turn, from 1.
        turn: with its expectations.
        reply: None when the conversation never reached the turn.
        zone: in which instants without an offset are read.
        detect_language: see ``check_transcript``.

    Raises:
        ConfigurationError: the turn expects a language and there is no detector.
    """
    found = _findings(turn.expect, reply or Reply(""), zone, detect_language)
    return [
        Check(
            one.kind,
            number,
            one.what,
            clip(one.expected),
            clip(one.got) if reply else _MISSING,
            passed=one.passed and reply is not None,
            line=turn.line,
        )
        for one in found
    ]


def _findings(
    expect: Expectation, got: Reply, zone: tzinfo | None, detect_language: DetectLanguage | None
) -> Iterator[_Finding]:
    if expect.state is not None:
        yield _Finding("state", "state after the turn", expect.state, str(got.state), got.state == expect.state)
    if expect.payment is not None:
        right = got.payment == expect.payment
        yield _Finding("payment", "payment after the turn", expect.payment, str(got.payment), right)
    if expect.tools is not None:
        wanted = "; ".join(call_words(tool.name, tool.args) for tool in expect.tools) or "no tool call"
        right = _same_calls(expect.tools, got.tool_calls, zone)
        yield _Finding("tools", "tool calls of the turn", wanted, calls_words(got.tool_calls), right)
    for event in expect.events:
        right = any(
            event.type == seen.type and same_value(dict(event.data), dict(seen.data), zone) for seen in got.events
        )
        listed = "; ".join(call_words(seen.type, seen.data) for seen in got.events) or "no event"
        yield _Finding("event", f"event {event.type}", call_words(event.type, event.data), listed, right)
    if expect.transitions:
        yield _transitions(expect.transitions, got.events)
    if expect.output is not None:
        difference = first_difference(expect.output, got.output)
        shown = difference or "the same"
        yield _Finding("output", "structured answer", "the same but for what is ignored", shown, difference is None)
    if expect.language is not None:
        yield _language(expect.language, got.text, detect_language)


def _same_calls(expected: Sequence[ExpectedTool], calls: Sequence[ToolCall], zone: tzinfo | None) -> bool:
    return len(calls) == len(expected) and all(
        tool.name == call.name and same_value(dict(tool.args), dict(call.args), zone)
        for tool, call in zip(expected, calls, strict=True)
    )


def _transitions(expected: Sequence[ExpectedTransition], events: Sequence[Event]) -> _Finding:
    """Whether the moves came in this order; each is looked for after the one before it."""
    seen = [(event.data.get("from"), event.data.get("to")) for event in events if event.type == TRANSITION]
    moves = iter(seen)
    right = all(any(_is_move(wanted, move) for move in moves) for wanted in expected)
    wanted = ", ".join(f"{move.source or 'any state'} → {move.target}" for move in expected)
    got = ", ".join(f"{source} → {target}" for source, target in seen) or "no transition"
    return _Finding("transitions", "moves of the state machine", wanted, got, right)


def _is_move(wanted: ExpectedTransition, move: tuple[object, object]) -> bool:
    source, target = move
    return target == wanted.target and wanted.source in {None, source if isinstance(source, str) else ""}


def _language(wanted: str, text: str, detect_language: DetectLanguage | None) -> _Finding:
    if detect_language is None:
        raise ConfigurationError(
            f"A turn expects the language {wanted!r}, and no language detector is installed.",
            "Install the extra `semantic`.",
        )
    told = detect_language(text)
    return _Finding("language", "language of the reply", wanted, told or "cannot be told", told == wanted)
