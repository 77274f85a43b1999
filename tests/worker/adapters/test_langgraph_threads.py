"""Whose checkpointer a LangGraph graph is given, and how conversations are kept apart."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph

from ratiba_action.worker.adapters.langgraph import GraphConversation
from ratiba_action.worker.lookup import AdapterError

OpenGraph = Callable[..., Awaitable[GraphConversation]]
Graph = CompiledStateGraph[Any, Any, Any, Any]


def counting() -> "StateGraph[Any, Any, Any, Any]":
    async def answer(state: MessagesState) -> dict[str, Any]:
        asked = [message for message in state["messages"] if isinstance(message, HumanMessage)]
        return {"messages": [AIMessage(f"{len(asked)}: {asked[-1].text}")]}

    graph = StateGraph(MessagesState)
    graph.add_node("answer", answer)
    graph.add_edge(START, "answer")
    return graph


counter = counting()
compiled = counting().compile()
OWN = InMemorySaver()
with_own_saver = counting().compile(checkpointer=OWN)


def made_with(saver: BaseCheckpointSaver[str]) -> Graph:
    return counting().compile(checkpointer=saver)


async def made_later(saver: BaseCheckpointSaver[str], context: Any) -> Graph:
    async def greet(state: MessagesState) -> dict[str, Any]:  # noqa: ARG001 - LangGraph's name
        return {"messages": [AIMessage(f"{context.language} {context.now:%d.%m.}")]}

    graph = StateGraph(MessagesState)
    graph.add_node("greet", greet)
    graph.add_edge(START, "greet")
    return graph.compile(checkpointer=saver)


def without_parameters() -> Graph:
    return counting().compile()


@pytest.mark.parametrize("graph", ["counter", "compiled", "made_with", "without_parameters", "with_own_saver"])
async def test_a_conversation_goes_on_where_it_was(open_graph: OpenGraph, graph: str) -> None:
    conversation = await open_graph(graph, thread=graph)
    assert (await conversation.send("habari"))["text"] == "1: habari"
    assert (await conversation.send("kesho"))["text"] == "2: kesho"


async def test_conversations_have_threads_of_their_own(open_graph: OpenGraph) -> None:
    first, second = (
        await open_graph("with_own_saver", "a", saver=None),
        await open_graph("with_own_saver", "b", saver=None),
    )
    await first.send("moja")
    assert (await second.send("one"))["text"] == "1: one"


async def test_the_thread_is_the_conversations_id_and_a_graphs_own_saver_is_kept_where_none_is_named(
    open_graph: OpenGraph,
) -> None:
    conversation = await open_graph("with_own_saver", "kept", saver=None)
    await conversation.send("habari")
    assert OWN.get_tuple({"configurable": {"thread_id": "kept"}}) is not None


async def test_a_saver_that_is_named_takes_the_place_of_the_graphs_own(open_graph: OpenGraph) -> None:
    conversation = await open_graph("with_own_saver", "replaced", saver="memory")
    await conversation.send("habari")
    assert OWN.get_tuple({"configurable": {"thread_id": "replaced"}}) is None


async def test_a_factory_is_given_the_saver_and_the_context_if_it_takes_them(open_graph: OpenGraph) -> None:
    assert (await (await open_graph("made_later")).send("habari"))["text"] == "sw 25.04."


async def test_redis_needs_an_address(open_graph: OpenGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REDIS_URL", raising=False)
    with pytest.raises(AdapterError, match=r"REDIS_URL in system\.environment"):
        await open_graph("counter", saver="redis")


NOT_A_GRAPH = {"nodes": 0}


def gives_a_text() -> str:
    return "graph"


@pytest.mark.parametrize(("name", "kind"), [("NOT_A_GRAPH", "dict"), ("gives_a_text", "str")])
async def test_what_is_no_graph_is_named(open_graph: OpenGraph, name: str, kind: str) -> None:
    with pytest.raises(AdapterError, match=rf":{name}' gives {kind}, which has no ainvoke\(\) or compile\(\)"):
        await open_graph(name)
