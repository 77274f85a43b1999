"""A LangGraph graph that waits goes on with what it is given."""

import operator
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AnyMessage
from langchain_core.tools import tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import interrupt

from ratiba_action.worker.adapters.langgraph import GraphConversation
from ratiba_action.worker.lookup import AdapterError

OpenGraph = Callable[..., Awaitable[GraphConversation]]
Graph = CompiledStateGraph[Any, Any, Any, Any]


class Payment(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], operator.add]


def paying(saver: BaseCheckpointSaver[str]) -> Graph:
    def ask(state: Payment) -> Payment:  # noqa: ARG001 - LangGraph's name
        phone = interrupt("Which phone shall I charge?")
        paid = interrupt({"waits_for": "payment_callback", "phone": phone})
        return {"messages": [AIMessage(f"Paid by {phone}: {paid['receipt']}")]}

    graph = StateGraph(Payment)
    graph.add_node("ask", ask)
    graph.add_edge(START, "ask")
    return graph.compile(checkpointer=saver)


async def test_an_interrupt_is_resumed_by_what_the_customer_says_or_by_an_event(open_graph: OpenGraph) -> None:
    conversation = await open_graph("paying")
    asked = await conversation.send("I want to pay")
    assert asked["text"] == "Which phone shall I charge?"
    assert asked["events"] == [{"type": "interrupt", "data": {"value": "Which phone shall I charge?"}}]
    waiting = await conversation.send("0712")
    assert waiting["text"] == ""
    assert waiting["events"] == [
        {"type": "interrupt", "data": {"value": {"waits_for": "payment_callback", "phone": "0712"}}}
    ]
    assert (await conversation.deliver({"receipt": "QWE"}))["text"] == "Paid by 0712: QWE"


async def test_an_event_that_nothing_waits_for_is_refused(open_graph: OpenGraph) -> None:
    conversation = await open_graph("paying")
    with pytest.raises(AdapterError, match="waits for no event"):
        await conversation.deliver({"type": "payment_callback"})


@tool
def check_availability(service: str) -> str:
    """Whether a service is free."""
    return f"{service}: 14:00"


def approved(saver: BaseCheckpointSaver[str]) -> Graph:
    wanted = [{"name": "check_availability", "args": {"service": "massage"}, "id": "call-1"}]
    lines = GenericFakeChatModel(messages=iter([AIMessage("Let me look.", tool_calls=wanted), AIMessage("Free.")]))

    async def think(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await lines.ainvoke(state["messages"])]}

    def route(state: MessagesState) -> str:
        last = state["messages"][-1]
        return "ask" if isinstance(last, AIMessage) and last.tool_calls else END

    def ask(state: MessagesState) -> dict[str, Any]:  # noqa: ARG001 - LangGraph's name
        interrupt("May I look?")
        return {}

    graph = StateGraph(MessagesState)
    graph.add_node("think", think)
    graph.add_node("ask", ask)
    graph.add_node("tools", ToolNode([check_availability]))
    graph.add_edge(START, "think")
    graph.add_conditional_edges("think", route, ["ask", END])
    graph.add_edge("ask", "tools")
    graph.add_edge("tools", "think")
    return graph.compile(checkpointer=saver)


async def test_a_tool_that_waits_for_approval_is_called_in_the_turn_that_approves_it(open_graph: OpenGraph) -> None:
    conversation = await open_graph("approved")
    assert (await conversation.send("Is it free?"))["tool_calls"] == []
    reply = await conversation.send("ndio")
    assert [call["name"] for call in reply["tool_calls"]] == ["check_availability"]
    assert reply["text"] == "Free."
