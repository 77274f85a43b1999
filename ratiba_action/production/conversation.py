"""Reads a conversation from a trace's observations. ``docs/feedback.md`` describes the format."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from ratiba_action.model.conversation import Document, Reply, ToolCall
from ratiba_action.model.scenario import Customer, Layer, Scenario, SystemType, Turn
from ratiba_action.model.values import JsonObject
from ratiba_action.privacy.credentials import find_credentials

METADATA = (
    "tenant_id",
    "vertical",
    "customer_name",
    "customer_names",
    "language",
    "system_type",
    "prompt_version",
    "confidence",
)
"""Metadata that is read; each is requested by name, since the server truncates other values."""

_TURN = re.compile(r"turn(?:[ _-]?\d+)?", re.IGNORECASE)
_USER_KEYS = ("user", "message", "text", "content", "input", "query", "question")
_REPLY_KEYS = ("reply", "message", "text", "content", "output", "answer", "response")


READABLE_TURN = "A turn is an observation named `turn` or `turn N`, its input the user message, its output the reply."


@dataclass(frozen=True, slots=True)
class Observation:
    """One step of a trace, as Langfuse returns it.

    Args:
        parent_id: empty for a root.
        start: with time zone.
        given: its input: text, JSON as text, or plain data.
        made: its output, in the same forms.
        metadata: of the trace and of the step, as sent.
        kind: in lower case, such as ``span``, ``tool``, ``retriever``, ``generation``.
        failed: its level is ``ERROR``.
        model: that was called; empty for none.
        ended: with time zone; None if it is unknown.
    """

    trace_id: str
    observation_id: str
    parent_id: str
    name: str
    start: datetime
    given: Any = None
    made: Any = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    kind: str = ""
    failed: bool = False
    model: str = ""
    environment: str = ""
    ended: datetime | None = None
    tags: tuple[str, ...] = ()


OWN_TAG = "ratiba:"
"""Beginning of the tags that ``ratiba sample`` gives a conversation; a tag of a trace that begins so is left out."""


class GroupMark(StrEnum):
    """What two groups of conversations can be distinguished by."""

    TAG = "tag"
    PROMPT_VERSION = "prompt_version"
    MODEL = "model"

    def tag(self, value: str) -> str:
        """The tag that ``ratiba sample`` gives a conversation with this value."""
        return value if self is GroupMark.TAG else f"{OWN_TAG}{self.value}={value}"


FAILED = f"{OWN_TAG}failed"
"""Tag of a conversation with a step of level ``ERROR``."""
LIKED, DISLIKED = f"{OWN_TAG}feedback=positive", f"{OWN_TAG}feedback=negative"
"""Tags of a conversation by its last feedback."""


def marks_of(observations: Iterable[Observation]) -> frozenset[str]:
    """Tags of a conversation: those of its traces, and one for each prompt version and model, and for a failure."""
    found = tuple(observations)
    own = {tag for observation in found for tag in observation.tags if not tag.startswith(OWN_TAG)}
    versions = {GroupMark.PROMPT_VERSION.tag(name) for name in _Metadata(found).every("prompt_version")}
    models = {GroupMark.MODEL.tag(observation.model) for observation in found if observation.model}
    return frozenset({*own, *versions, *models, *([FAILED] if any(step.failed for step in found) else [])})


@dataclass(frozen=True, slots=True)
class ProductionTurn:
    """A user message or event, and the reply; not masked.

    Args:
        observation_id: of the step it was read from.
        seconds: that the reply took; None if it is unknown.
        confidence: that the system gave with its reply, 0 to 1; None if it gave none.
    """

    user: str | None
    event: JsonObject | None = None
    reply: str = ""
    observation_id: str = ""
    seconds: float | None = field(default=None, compare=False)
    confidence: float | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class ProductionConversation:
    """A conversation of a customer with the system in production; not masked.

    Args:
        trace_ids: of its traces, in order.
        tenant: that all its traces name; empty if one names none, or they differ. A session that is named
            by a customer's number may have conversations with several tenants.
        verticals: every vertical that its traces name, since one of several may be forbidden.
        names: of people, from the traces.
        started: with time zone.
    """

    trace_ids: tuple[str, ...]
    turns: tuple[ProductionTurn, ...]
    started: datetime
    tenant: str = ""
    verticals: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    language: str = ""
    system_type: str = ""
    prompt_version: str = ""


def credentials_in(conversation: ProductionConversation, comment: str = "") -> tuple[str, ...]:
    """Kinds of credentials in what was said: such a conversation is no test, since masking leaves nothing to test.

    Args:
        conversation: not masked yet.
    """
    turns = [[turn.user, turn.event, turn.reply] for turn in conversation.turns]
    return tuple(sorted(set(find_credentials(json.dumps([turns, comment], ensure_ascii=False, default=str)))))


def read_conversation(observations: Iterable[Observation]) -> ProductionConversation | None:
    """The conversation of one or more traces; None without observations.

    Turns are the observations named ``turn`` or ``turn N``; if a trace has none, its root is its only turn. A turn
    without a readable message or event is left out.

    Args:
        observations: of all its traces, in any order.
    """
    found = sorted(
        observations, key=lambda observation: (observation.start, observation.trace_id, observation.observation_id)
    )
    if not found:
        return None
    traces = tuple(dict.fromkeys(observation.trace_id for observation in found))
    turns = [
        turn
        for trace in traces
        for turn in _turns([observation for observation in found if observation.trace_id == trace])
    ]
    metadata = _Metadata(found)
    return ProductionConversation(
        trace_ids=traces,
        turns=tuple(turns),
        started=found[0].start,
        tenant=_tenant([[observation for observation in found if observation.trace_id == trace] for trace in traces]),
        verticals=frozenset(metadata.every("vertical")),
        names=frozenset({*metadata.every("customer_name"), *metadata.every("customer_names")}),
        language=metadata.first("language"),
        system_type=metadata.first("system_type"),
        prompt_version=metadata.first("prompt_version"),
    )


def _tenant(traces: Iterable[Sequence[Observation]]) -> str:
    named = [frozenset(_Metadata(trace).every("tenant_id")) for trace in traces]
    every = frozenset[str]().union(*named)
    return next(iter(every)) if len(every) == 1 and all(named) else ""


@dataclass(frozen=True, slots=True)
class _Metadata:
    """Metadata of all observations together."""

    observations: Sequence[Observation]

    def every(self, name: str) -> Iterator[str]:
        for observation in self.observations:
            value = decoded(observation.metadata.get(name))
            listed = value if isinstance(value, list) else [value]
            yield from (text.strip() for text in listed if isinstance(text, str) and text.strip())

    def first(self, name: str) -> str:
        return next(self.every(name), "")


def _turns(trace: Sequence[Observation]) -> Iterator[ProductionTurn]:
    named = [observation for observation in trace if _TURN.fullmatch(observation.name.strip())]
    roots = [observation for observation in trace if not observation.parent_id]
    for observation in named or roots:
        given, reply = decoded(observation.given), _text(decoded(observation.made), _REPLY_KEYS, "assistant")
        event = given.get("event") if isinstance(given, dict) else None
        measured = observation.observation_id, _seconds(observation), _confidence(observation)
        if isinstance(event, dict):
            yield ProductionTurn(None, event, reply, *measured)
        elif user := _text(given, _USER_KEYS, "user"):
            yield ProductionTurn(user, None, reply, *measured)


def _seconds(observation: Observation) -> float | None:
    return None if observation.ended is None else (observation.ended - observation.start).total_seconds()


def _confidence(observation: Observation) -> float | None:
    """That of the step's metadata, or of an output such as ``{"reply": …, "confidence": 0.4}``."""
    made = decoded(observation.made)
    for value in (observation.metadata.get("confidence"), made.get("confidence") if isinstance(made, dict) else None):
        try:
            found = float(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else -1.0
        except ValueError:
            continue
        if 0 <= found <= 1:
            return found
    return None


def decoded(value: Any) -> Any:
    """The value of a text that is a JSON object, list or string; other text, numbers included, stays text."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "[", '"'):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _text(value: Any, names: Sequence[str], role: str) -> str:
    """The message: a text, the value of a usual key, or the last message of a role."""
    for read in _READERS:
        if text := read(value, names, role):
            return text
    return ""


def _plain(value: Any, _: Sequence[str], __: str) -> str:
    return value.strip() if isinstance(value, str) else ""


def _named(value: Any, names: Sequence[str], role: str) -> str:
    if not isinstance(value, dict):
        return ""
    if isinstance(value.get("messages"), list):
        return _last(value["messages"], names, role)
    found = (value[name] for name in names if isinstance(value.get(name), str))
    return next((text.strip() for text in found if text.strip()), "")


def _last(value: Any, names: Sequence[str], role: str) -> str:
    messages = (
        [message for message in value if isinstance(message, dict) and message.get("role") == role]
        if isinstance(value, list)
        else []
    )
    return _content(messages[-1].get("content"), names) if messages else ""


def _content(content: Any, names: Sequence[str]) -> str:
    """The text of a message: a string, or the text blocks of a list."""
    if isinstance(content, list):
        parts = [block["text"] for block in content if isinstance(block, dict) and isinstance(block.get("text"), str)]
        return "\n".join(part for part in parts if part.strip()).strip()
    return _plain(content, names, "")


_READERS: tuple[Callable[[Any, Sequence[str], str], str], ...] = (_plain, _named, _last)


@dataclass(frozen=True, slots=True)
class CapturedConversation:
    """A production conversation as a scenario with its replies; not masked.

    Args:
        replies: one per turn.
        models: that generated them, sorted.
    """

    scenario: Scenario
    replies: tuple[Reply, ...]
    models: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


def captured_conversation(
    conversation: ProductionConversation,
    observations: Sequence[Observation],
    *,
    language: str,
    system_type: SystemType,
    names: tuple[str, ...] = (),
    feedback: str = "",
) -> CapturedConversation:
    """Make a captured conversation.

    Args:
        conversation: with at least one turn.
        observations: that it was read from, with tool calls, documents and models.
        language: used if the traces name none.
        system_type: used if the traces name no known one.
        feedback: ``LIKED`` or ``DISLIKED``; empty without feedback.
    """
    named = conversation.system_type
    scenario = Scenario(
        id=conversation.trace_ids[0],
        language=conversation.language or language,
        turns=tuple(Turn(user=turn.user, event=turn.event) for turn in conversation.turns),
        now=conversation.started,
        customer=Customer("", ""),
        layer=Layer.PRODUCTION,
        system_type=SystemType(named) if named in set(SystemType) else system_type,
        vertical=", ".join(sorted(conversation.verticals)),
        tags=frozenset({Layer.PRODUCTION.value, *marks_of(observations), *filter(None, [feedback])}),
    )
    replies = tuple(
        Reply(turn.reply, tool_calls=tuple(_calls(below)), documents=tuple(_documents(below)))
        for turn in conversation.turns
        for below in [_below(turn.observation_id, observations)]
    )
    models = tuple(sorted({observation.model for observation in observations if observation.model}))
    return CapturedConversation(scenario, replies, models, names)


def _below(parent: str, observations: Sequence[Observation]) -> tuple[Observation, ...]:
    """All descendants of a step, in order of time."""
    children: dict[str, list[Observation]] = {}
    for observation in sorted(observations, key=lambda step: (step.start, step.observation_id)):
        children.setdefault(observation.parent_id, []).append(observation)
    found: list[Observation] = []
    waiting = children.pop(parent, [])
    while waiting:
        observation = waiting.pop(0)
        found.append(observation)
        waiting += children.pop(observation.observation_id, [])
    return tuple(sorted(found, key=lambda step: (step.start, step.observation_id)))


def _calls(steps: Iterable[Observation]) -> Iterator[ToolCall]:
    for step in steps:
        if step.kind == "tool":
            given = decoded(step.given)
            if not isinstance(given, Mapping):
                given = {} if given in (None, "") else {"input": given}
            yield ToolCall(step.name, dict(given), decoded(step.made))


def _documents(steps: Iterable[Observation]) -> Iterator[Document]:
    for step in steps:
        made = decoded(step.made) if step.kind == "retriever" else None
        listed = made.get("documents") if isinstance(made, Mapping) else made
        for number, item in enumerate(listed if isinstance(listed, list) else (), 1):
            yield _document(item, number)


def _document(item: Any, number: int) -> Document:
    if not isinstance(item, Mapping):
        return Document(str(number), str(item))
    text = next((str(item[name]) for name in ("text", "page_content", "content") if item.get(name)), "")
    score = item.get("score")
    known = isinstance(score, int | float) and not isinstance(score, bool)
    return Document(str(item.get("id") or number), text, float(score) if known and score is not None else None)
