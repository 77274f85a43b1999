"""Observations of a trace → the conversation that a customer had. ``docs/feedback.md`` describes the shape."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from ratiba_action.model.conversation import Document, Reply, ToolCall
from ratiba_action.model.scenario import Customer, Scenario, Turn
from ratiba_action.model.values import JsonObject

METADATA = (
    "tenant_id",
    "vertical",
    "customer_name",
    "customer_names",
    "language",
    "system_type",
    "prompt_version",
)
"""What is read of a trace's metadata; each must be asked for by name, since a server cuts the others off."""

_TURN = re.compile(r"turn(?:[ _-]?\d+)?", re.IGNORECASE)
_ASKED = ("user", "message", "text", "content", "input", "query", "question")
_ANSWERED = ("reply", "message", "text", "content", "output", "answer", "response")


@dataclass(frozen=True, slots=True)
class Observation:
    """One step of a trace, as Langfuse gives it back.

    Args:
        parent_id: empty for a root.
        start: aware of its time zone.
        given: its input: text, JSON in a text, or plain data.
        made: its output, the same.
        metadata: of the trace and of the step; values as they were sent.
        kind: in small letters, such as ``span``, ``tool``, ``retriever``, ``generation``.
        failed: its level is ``ERROR``.
        model: that was asked; empty for none.
        environment: that it was traced in.
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


@dataclass(frozen=True, slots=True)
class ProductionTurn:
    """What the customer said, or what happened, and the reply; nothing of it is masked.

    Args:
        observation_id: of the step that it was read from.
    """

    user: str | None
    event: JsonObject | None = None
    reply: str = ""
    observation_id: str = ""


@dataclass(frozen=True, slots=True)
class ProductionConversation:
    """What a customer and the system said in production; nothing of it is masked.

    Args:
        trace_ids: of its traces, the first one first.
        tenant: that every one of its traces names; empty where one names none, or they differ. A session that is named
            by a customer's number may hold what was said to several.
        verticals: every one that its traces name, for one that is not allowed must not hide behind another.
        names: of persons, as its traces name them.
        started: aware of its time zone.
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


def read_conversation(observations: Iterable[Observation]) -> ProductionConversation | None:
    """The conversation of one or more traces; None where there is no observation at all.

    Turns are the observations named ``turn`` or ``turn N``; where a trace has none, its root is its only turn. A turn
    in which nobody says anything that can be read is left out.

    Args:
        observations: of all its traces, in any order.
    """
    found = sorted(observations, key=lambda one: (one.start, one.trace_id, one.observation_id))
    if not found:
        return None
    traces = tuple(dict.fromkeys(one.trace_id for one in found))
    turns = [turn for trace in traces for turn in _turns([one for one in found if one.trace_id == trace])]
    told = _Told(found)
    return ProductionConversation(
        trace_ids=traces,
        turns=tuple(turns),
        started=found[0].start,
        tenant=_tenant([[one for one in found if one.trace_id == trace] for trace in traces]),
        verticals=frozenset(told.every("vertical")),
        names=frozenset({*told.every("customer_name"), *told.every("customer_names")}),
        language=told.first("language"),
        system_type=told.first("system_type"),
        prompt_version=told.first("prompt_version"),
    )


def _tenant(traces: Iterable[Sequence[Observation]]) -> str:
    named = [frozenset(_Told(trace).every("tenant_id")) for trace in traces]
    every = frozenset[str]().union(*named)
    return next(iter(every)) if len(every) == 1 and all(named) else ""


@dataclass(frozen=True, slots=True)
class _Told:
    """Metadata of all observations together."""

    observations: Sequence[Observation]

    def every(self, name: str) -> Iterator[str]:
        for one in self.observations:
            value = decoded(one.metadata.get(name))
            listed = value if isinstance(value, list) else [value]
            yield from (text.strip() for text in listed if isinstance(text, str) and text.strip())

    def first(self, name: str) -> str:
        return next(self.every(name), "")


def _turns(trace: Sequence[Observation]) -> Iterator[ProductionTurn]:
    named = [one for one in trace if _TURN.fullmatch(one.name.strip())]
    roots = [one for one in trace if not one.parent_id]
    for one in named or roots:
        given, reply = decoded(one.given), _text(decoded(one.made), _ANSWERED, "assistant")
        event = given.get("event") if isinstance(given, dict) else None
        if isinstance(event, dict):
            yield ProductionTurn(None, event, reply, one.observation_id)
        elif user := _text(given, _ASKED, "user"):
            yield ProductionTurn(user, None, reply, one.observation_id)


def decoded(value: Any) -> Any:
    """What a text that holds JSON stands for; a number in a text stays a text, for it is what somebody wrote."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "[", '"'):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _text(value: Any, names: Sequence[str], role: str) -> str:
    """What was said: a text, one below a usual name, or the last message of a role."""
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
    said = (
        [one for one in value if isinstance(one, dict) and one.get("role") == role] if isinstance(value, list) else []
    )
    return _content(said[-1].get("content"), names) if said else ""


def _content(content: Any, names: Sequence[str]) -> str:
    """Of a message: a text, or blocks of which some hold text."""
    if isinstance(content, list):
        parts = [one["text"] for one in content if isinstance(one, dict) and isinstance(one.get("text"), str)]
        return "\n".join(part for part in parts if part.strip()).strip()
    return _plain(content, names, "")


_READERS: tuple[Callable[[Any, Sequence[str], str], str], ...] = (_plain, _named, _last)


LAYER = "production"


@dataclass(frozen=True, slots=True)
class CapturedConversation:
    """What is measured of a conversation of production; nothing of it is masked.

    Args:
        scenario: its id is the trace's.
        replies: one a turn.
        models: that generated them, sorted.
        names: of persons: its identity table.
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
    system_type: str,
    names: tuple[str, ...] = (),
) -> CapturedConversation:
    """What a conversation becomes.

    Args:
        conversation: with at least one turn.
        observations: that it was read from; tool calls, documents and models are found there.
        language: where the traces tell none.
        system_type: where the traces tell none that there is.
        names: of persons: the identity table.
    """
    known = {"chatbot", "agent", "rag", "search", "classifier"}
    scenario = Scenario(
        id=conversation.trace_ids[0],
        language=conversation.language or language,
        turns=tuple(Turn(user=one.user, event=one.event) for one in conversation.turns),
        now=conversation.started,
        customer=Customer("", ""),
        layer=LAYER,
        system_type=conversation.system_type if conversation.system_type in known else system_type,
        vertical=", ".join(sorted(conversation.verticals)),
        tags=frozenset({LAYER}),
    )
    replies = tuple(
        Reply(one.reply, tool_calls=tuple(_calls(below)), documents=tuple(_documents(below)))
        for one in conversation.turns
        for below in [_below(one.observation_id, observations)]
    )
    models = tuple(sorted({one.model for one in observations if one.model}))
    return CapturedConversation(scenario, replies, models, names)


def _below(parent: str, observations: Sequence[Observation]) -> tuple[Observation, ...]:
    """Every step of a step, and the steps of those."""
    children: dict[str, list[Observation]] = {}
    for one in sorted(observations, key=lambda each: (each.start, each.observation_id)):
        children.setdefault(one.parent_id, []).append(one)
    found: list[Observation] = []
    waiting = children.pop(parent, [])
    while waiting:
        one = waiting.pop(0)
        found.append(one)
        waiting += children.pop(one.observation_id, [])
    return tuple(sorted(found, key=lambda each: (each.start, each.observation_id)))


def _calls(steps: Iterable[Observation]) -> Iterator[ToolCall]:
    for one in steps:
        if one.kind == "tool":
            given = decoded(one.given)
            if not isinstance(given, Mapping):
                given = {} if given in (None, "") else {"input": given}
            yield ToolCall(one.name, dict(given), decoded(one.made))


def _documents(steps: Iterable[Observation]) -> Iterator[Document]:
    for step in steps:
        made = decoded(step.made) if step.kind == "retriever" else None
        listed = made.get("documents") if isinstance(made, Mapping) else made
        for number, one in enumerate(listed if isinstance(listed, list) else (), 1):
            yield _document(one, number)


def _document(one: Any, number: int) -> Document:
    if not isinstance(one, Mapping):
        return Document(str(number), str(one))
    text = next((str(one[name]) for name in ("text", "page_content", "content") if one.get(name)), "")
    score = one.get("score")
    known = isinstance(score, int | float) and not isinstance(score, bool)
    return Document(str(one.get("id") or number), text, float(score) if known and score is not None else None)
