"""A conversation of production → a scenario that is measured and never held, and the replies that were given."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ratiba_action.model.conversation import Document, Reply, ToolCall
from ratiba_action.model.scenario import Customer, Scenario, Turn
from ratiba_action.production.conversation import Observation, ProductionConversation, decoded

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
