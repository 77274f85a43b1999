"""Reads production conversations from files: JSON Lines with one each, or OpenTelemetry exports (OTLP in JSON)."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

from pydantic import AwareDatetime, Field, ValidationError, model_validator

from ratiba_action.errors import FileProblem, SuiteError, UsageError
from ratiba_action.model.canonical import digest
from ratiba_action.model.values import JsonObject
from ratiba_action.observability.traces.conversations import ENVIRONMENT
from ratiba_action.privacy.masking import Redactor
from ratiba_action.production.conversation import Observation, decoded, read_conversation
from ratiba_action.production.feedback import Feedback
from ratiba_action.production.sample_reading import (
    ConversationReading,
    SampleRules,
    SelectedConversations,
    chosen,
    flags,
    opinions,
    shares_of,
)
from ratiba_action.util.validation import StrictModel

_MAX_BYTES = 256 << 20
_GATE = "ratiba-eval-gate"
_CONVERSATION = ("gen_ai.conversation.id", "session.id")
_GIVEN = ("gen_ai.input.messages", "input.value", "gen_ai.tool.call.arguments", "input")
_MADE = ("gen_ai.output.messages", "output.value", "gen_ai.tool.call.result", "output")
_KINDS = {"execute_tool": "tool", "TOOL": "tool", "retrieval": "retriever", "RETRIEVER": "retriever"}
_MODELS = ("gen_ai.response.model", "gen_ai.request.model")
_ERRORS = (2, "STATUS_CODE_ERROR")
_PLAIN = re.compile(r"[A-Za-z0-9_.:-]{1,200}")

_Text = Annotated[str, Field(max_length=100_000)]


class _Turn(StrictModel):
    user: _Text | None = None
    event: JsonObject | None = None
    reply: _Text = ""
    seconds: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    confidence: float | None = Field(default=None, ge=0, le=1, allow_inf_nan=False)
    error: bool = False

    @model_validator(mode="after")
    def _one(self) -> "_Turn":
        if (self.user is None) == (self.event is None):
            raise ValueError("give either 'user' or 'event'")
        return self


class _ConversationRow(StrictModel):
    id: Annotated[str, Field(min_length=1, max_length=200)]
    started: Annotated[AwareDatetime, Field(strict=False)]
    turns: Annotated[list[_Turn], Field(min_length=1)]
    tenant_id: str = ""
    vertical: str = ""
    customer_names: list[str] = Field(default_factory=list)
    language: str = ""
    system_type: str = ""
    prompt_version: str = ""
    model: str = ""
    feedback: str | float | bool | None = None


@dataclass(slots=True)
class _Files:
    """What was read: the observations of each conversation, spans that wait for theirs, and feedback."""

    conversations: dict[str, list[Observation]] = field(default_factory=dict)
    spans: list[Observation] = field(default_factory=list)
    feedback: dict[str, Feedback] = field(default_factory=dict)
    problems: list[FileProblem] = field(default_factory=list)
    mask: Redactor = field(default_factory=Redactor)

    def add(self, path: str, number: int, line: str) -> None:
        """Add a line: a conversation, or an export of spans."""
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            self.problems.append(FileProblem(path, number, f"this is not JSON: {error}"))
            return
        try:
            if isinstance(value, dict) and "resourceSpans" in value:
                self.spans += _spans(value)
                return
            given = _ConversationRow.model_validate(value)
        except ValidationError as wrong:
            found = [_message(error) for error in wrong.errors()]
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError, OSError) as error:
            missing = f" {error}" if isinstance(error, KeyError) else ""  # other texts hold values of the file
            found = [f"this is no export of spans in OTLP's JSON: {type(error).__name__}{missing}"]
        else:
            name = self._name_or_digest(given.id)
            found = [f"the conversation {name!r} is there twice"] if name in self.conversations else []
            self.conversations[name] = list(_steps(name, given))
            self._add_feedback(name, given.feedback, given.started)
        self.problems += [FileProblem(path, number, problem) for problem in found]

    def end(self, feedback: str) -> None:
        """Give each span to its conversation, of which an export may have several traces and a file several parts."""
        of_trace: dict[str, str] = {}
        for span in self.spans:
            named = _first(span.metadata, _CONVERSATION)
            if named is not None:
                of_trace[span.trace_id] = self._name_or_digest(str(named))
        known = {(span.trace_id, span.observation_id) for span in self.spans}
        for span in self.spans:
            name = of_trace.get(span.trace_id, span.trace_id)
            parent = span.parent_id if (span.trace_id, span.parent_id) in known else ""
            self.conversations.setdefault(name, []).append(replace(span, parent_id=parent))
            self._add_feedback(name, span.metadata.get(feedback), span.start)

    def _name_or_digest(self, name: str) -> str:
        """The name of a conversation if it is a plain one and no number of a person; else a digest of it."""
        plain = _PLAIN.fullmatch(name) and self.mask.text(name) == name
        return name if plain else f"conversation-{digest(name)[:12]}"

    def _add_feedback(self, name: str, value: Any, at: datetime) -> None:
        known = self.feedback.get(name)
        if isinstance(value, str | float | int) and (known is None or known.at <= at):
            self.feedback[name] = Feedback(name, "trace", name, value, at)


def _message(error: Mapping[str, Any]) -> str:
    where = ".".join(str(part) for part in error["loc"])
    return f"{where}: {error['msg']}" if where else str(error["msg"])


def find_in_files(paths: Sequence[Path], rules: SampleRules) -> SelectedConversations:
    """Select conversations of files: those with negative feedback, an error or a flag, and a share of the others.

    Args:
        paths: of the files, UTF-8.
        rules: whose period the conversations began in.

    Raises:
        UsageError: a file cannot be read.
        SuiteError: lines that are neither a conversation nor an export; every one with its place.
    """
    files = _Files()
    for path in paths:
        for number, line in enumerate(_lines(path), 1):
            if line.strip():
                files.add(str(path), number, line)
    if files.problems:
        raise SuiteError(files.problems)
    files.end(rules.feedback)
    roots = {name: root for name, steps in files.conversations.items() if (root := _root(name, steps, rules))}
    conversations = {name: read_conversation(files.conversations[name]) for name in roots}
    picked = chosen(
        roots.values(),
        rules.share,
        {name for name in roots if any(step.failed for step in files.conversations[name])},
        {name for name in roots if name in files.feedback and files.feedback[name].negative},
        {name for name, conversation in conversations.items() if conversation and flags(conversation, rules)},
        shares=shares_of(conversations, rules),
    )
    decided = ((item, name) for name, item in files.feedback.items() if item.positive or item.negative)
    reading = ConversationReading(rules, opinions(decided))
    for item in picked:
        reading.add(item.trace_id, files.conversations[item.trace_id])
    return SelectedConversations(
        traces=len(roots),
        chosen=picked,
        known=frozenset(),
        conversations=tuple(reading.conversations),
        empty=tuple(reading.empty),
        blocked=reading.blocked,
        feedback=tuple(item for name, item in files.feedback.items() if name in roots),
        flagged=reading.flagged,
    )


def _lines(path: Path) -> Iterator[str]:
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise UsageError(f"{str(path)!r} has more than {_MAX_BYTES:,} bytes.", "Split it at the end of a line.")
        yield from path.read_text("utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{str(path)!r} cannot be read: {error}.", "Give a file of JSON Lines in UTF-8.") from error


def _root(name: str, steps: Sequence[Observation], rules: SampleRules) -> Observation | None:
    """The first step of a conversation that began in the period and is not the gate's own."""
    first = min(steps, key=lambda step: (step.start, step.observation_id))
    known = first.environment == rules.environment if rules.environment else first.environment != ENVIRONMENT
    if not known or not rules.since <= first.start < rules.until:
        return None
    return Observation(name, "", "", first.name, first.start)


def _steps(name: str, given: _ConversationRow) -> Iterator[Observation]:
    """A root with what is known of the conversation, and a step for each turn, one after the other."""
    facts = {"tenant_id": given.tenant_id, "vertical": given.vertical, "language": given.language}
    facts |= {"system_type": given.system_type, "prompt_version": given.prompt_version}
    start = given.started
    metadata = {**facts, "customer_names": given.customer_names}
    yield Observation(name, "root", "", "conversation", start, metadata=metadata, model=given.model)
    for number, turn in enumerate(given.turns, 1):
        ended = None if turn.seconds is None else start + timedelta(seconds=turn.seconds)
        asked = turn.user if turn.event is None else {"event": turn.event}
        confidence = {} if turn.confidence is None else {"confidence": turn.confidence}
        yield Observation(
            name,
            f"{number:06}",
            "root",
            f"turn {number}",
            start,
            asked,
            turn.reply,
            confidence,
            failed=turn.error,
            ended=ended,
        )
        start = (ended or start) + timedelta(milliseconds=1)


def _spans(export: Mapping[str, Any]) -> list[Observation]:
    found = []
    for resource in export["resourceSpans"]:
        about = _attributes(resource.get("resource", {}).get("attributes", ()))
        for scope in resource.get("scopeSpans", ()):
            found += [_observation(span, about) for span in scope.get("spans", ())]
    return found


def _observation(span: Mapping[str, Any], about: Mapping[str, Any]) -> Observation:
    own = {**about, **_attributes(span.get("attributes", ()))}
    kind = _KINDS.get(str(own.get("gen_ai.operation.name") or own.get("openinference.span.kind")), "span")
    name = own.get("gen_ai.tool.name") if kind == "tool" else None
    gate = own.get("service.name") == _GATE
    return Observation(
        trace_id=str(span["traceId"]),
        observation_id=str(span["spanId"]),
        parent_id=str(span.get("parentSpanId") or ""),
        name=str(name or span["name"]),
        start=_moment(span["startTimeUnixNano"]),
        given=_messages(_first(own, _GIVEN)),
        made=_messages(_first(own, _MADE)),
        metadata=own,
        kind=kind,
        failed=span.get("status", {}).get("code") in _ERRORS,
        model=str(_first(own, _MODELS) or ""),
        environment=ENVIRONMENT if gate else str(own.get("deployment.environment.name") or ""),
        ended=_moment(span["endTimeUnixNano"]) if span.get("endTimeUnixNano") else None,
    )


def _first(own: Mapping[str, Any], names: Iterable[str]) -> Any:
    return next((own[name] for name in names if own.get(name) is not None), None)


def _messages(value: Any) -> Any:
    """Messages of the semantic conventions, whose text is in ``parts``, as those of a chat."""
    found = decoded(value)
    if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
        return value
    return [
        {**item, "content": [{"text": part.get("content")} for part in item["parts"] if isinstance(part, dict)]}
        if isinstance(item.get("parts"), list)
        else item
        for item in found
    ]


def _attributes(listed: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    return {item["key"]: _plain(item.get("value", {})) for item in listed}


def _plain(value: Mapping[str, Any]) -> Any:
    """The value of an attribute; OTLP writes whole numbers as text."""
    if "intValue" in value:
        return int(value["intValue"])
    if "arrayValue" in value:
        return [_plain(item) for item in value["arrayValue"].get("values", ())]
    if "kvlistValue" in value:
        return _attributes(value["kvlistValue"].get("values", ()))
    return next((value[name] for name in ("stringValue", "doubleValue", "boolValue") if name in value), None)


def _moment(nanoseconds: str | int) -> datetime:
    return datetime.fromtimestamp(int(nanoseconds) / 1e9, UTC)
