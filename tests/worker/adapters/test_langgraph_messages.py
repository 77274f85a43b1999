"""What is read from the messages that a LangGraph graph leaves: text, tool calls, and broken calls."""

from collections.abc import Awaitable, Callable
from typing import Any, TypedDict

from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import ToolNode

from ratiba_action.worker.adapters.langgraph import GraphConversation

OpenGraph = Callable[..., Awaitable[GraphConversation]]
Graph = CompiledStateGraph[Any, Any, Any, Any]


@tool
def check_availability(service: str) -> dict[str, Any]:
    """Whether a service is free."""
    return {"service": service, "free": ["14:00"]}


@tool
def shop_name() -> str:
    """The name of the shop."""
    return "Tulia Spa"


def calls(*wanted: tuple[str, dict[str, Any]]) -> AIMessage:
    return AIMessage(
        "Let me look.",
        tool_calls=[{"name": name, "args": args, "id": f"call-{name}"} for name, args in wanted],
    )


def agent(saver: BaseCheckpointSaver[str]) -> Graph:
    wanted = calls(("check_availability", {"service": "massage"}), ("shop_name", {}))
    lines = GenericFakeChatModel(messages=iter([wanted, AIMessage("We are free at 14:00."), AIMessage("Asante.")]))

    async def think(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await lines.ainvoke(state["messages"])]}

    def route(state: MessagesState) -> str:
        last = state["messages"][-1]
        return "tools" if isinstance(last, AIMessage) and last.tool_calls else END

    graph = StateGraph(MessagesState)
    graph.add_node("think", think)
    graph.add_node("tools", ToolNode([check_availability, shop_name]))
    graph.add_edge(START, "think")
    graph.add_conditional_edges("think", route, ["tools", END])
    graph.add_edge("tools", "think")
    return graph.compile(checkpointer=saver)


async def test_tool_calls_carry_arguments_and_what_the_tools_gave(open_graph: OpenGraph) -> None:
    conversation = await open_graph("agent")
    reply = await conversation.send("Is a massage free?")
    assert reply["text"] == "We are free at 14:00."
    assert reply["tool_calls"] == [
        {
            "name": "check_availability",
            "args": {"service": "massage"},
            "output": {"service": "massage", "free": ["14:00"]},
        },
        {"name": "shop_name", "args": {}, "output": "Tulia Spa"},
    ]
    assert await conversation.send("Thanks") == {"text": "Asante.", "tool_calls": [], "events": []}


def blocks(saver: BaseCheckpointSaver[str]) -> Graph:
    def answer(state: MessagesState) -> dict[str, Any]:  # noqa: ARG001 - LangGraph's name
        content = [{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "Kari"}, "bu"]
        broken = {"type": "invalid_tool_call", "name": "book", "args": "{", "id": "1", "error": "no JSON"}
        return {"messages": [AIMessage(content, invalid_tool_calls=[broken])]}  # type: ignore[arg-type]  # as a provider would

    graph = StateGraph(MessagesState)
    graph.add_node("answer", answer)
    graph.add_edge(START, "answer")
    return graph.compile(checkpointer=saver)


async def test_text_blocks_are_joined_and_a_call_that_cannot_be_read_is_an_event(open_graph: OpenGraph) -> None:
    reply = await (await open_graph("blocks")).send("habari")
    assert reply["text"] == "Karibu"
    assert reply["events"] == [{"type": "invalid_tool_call", "data": {"name": "book", "args": "{", "error": "no JSON"}}]


class Plain(TypedDict):
    chat: list[dict[str, str]]
    question: str


def plain_mappings(saver: BaseCheckpointSaver[str]) -> Graph:
    def answer(state: Plain) -> dict[str, Any]:
        text = {"role": "assistant", "content": "You said " + state["question"]}
        return {"chat": [*state.get("chat", []), {"role": "user", "content": state["question"]}, text]}

    graph = StateGraph(Plain)
    graph.add_node("answer", answer)
    graph.add_edge(START, "answer")
    return graph.compile(checkpointer=saver)


async def test_messages_may_be_mappings_under_another_key_and_the_input_a_text(open_graph: OpenGraph) -> None:
    conversation = await open_graph("plain_mappings", messages="chat", input="question")
    assert [(await conversation.send(word))["text"] for word in ("moja", "mbili")] == [
        "You said moja",
        "You said mbili",
    ]
