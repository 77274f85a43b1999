"""What a trace becomes that is measured: turns, replies, tool calls and documents."""

from datetime import UTC, datetime, timedelta
from typing import Any

from ratiba_action.model.conversation import Document, ToolCall
from ratiba_action.model.scenario import SystemType
from ratiba_action.production.conversation import (
    CapturedConversation,
    Observation,
    captured_conversation,
    read_conversation,
)

BEGAN = datetime(2026, 11, 22, 6, tzinfo=UTC)


def step(name: str, parent: str, second: int, **more: Any) -> Observation:
    shown = more.pop("shown", name)
    return Observation("a" * 32, name, parent, shown, BEGAN + timedelta(seconds=second), **more)


def captured(*steps: Observation) -> CapturedConversation:
    conversation = read_conversation(steps)
    assert conversation is not None
    return captured_conversation(
        conversation, steps, language="und", system_type=SystemType.CHATBOT, names=("Wanjiku",)
    )


def test_a_turn_has_the_tool_calls_and_documents_below_it_and_not_its_neighbours() -> None:
    found = captured(
        step("root", "", 0, metadata={"language": "sw", "system_type": "rag"}),
        step("t1", "root", 1, shown="turn 1", given="Bei gani?", made="Elfu tatu."),
        step("model", "t1", 1, kind="generation", model="gpt-5"),
        step("look", "model", 2, kind="tool", given='{"service": "massage"}', made="3000"),
        step(
            "search", "t1", 2, kind="retriever", made='[{"id": "prices", "text": "3,000", "score": 0.5}, "free text"]'
        ),
        step("t2", "root", 3, shown="turn 2", given="Asante", made="Karibu"),
    )
    assert [turn.user for turn in found.scenario.turns] == ["Bei gani?", "Asante"]
    first, second = found.replies
    assert first.tool_calls == (ToolCall("look", {"service": "massage"}, "3000"),)
    assert first.documents == (Document("prices", "3,000", 0.5), Document("2", "free text"))
    assert (second.text, second.tool_calls, second.documents) == ("Karibu", (), ())
    assert (found.scenario.language, found.scenario.system_type) == ("sw", "rag")
    assert (found.models, found.names) == (("gpt-5",), ("Wanjiku",))


def test_a_system_type_that_there_is_not_gives_way_and_a_language_that_is_not_reported_stays_unknown() -> None:
    found = captured(step("root", "", 0, given="Habari", made="Nzuri", metadata={"system_type": "toaster"}))
    assert (found.scenario.language, found.scenario.system_type) == ("und", "chatbot")
    assert found.scenario.assertions == ()


def test_steps_that_go_round_in_circles_end() -> None:
    found = captured(
        step("root", "", 0, given="Habari", made="Nzuri"),
        step("one", "two", 1, kind="tool", given="x"),
        step("two", "one", 1, kind="tool"),
        step("own", "own", 1, kind="tool"),
    )
    assert found.replies[0].tool_calls == ()
