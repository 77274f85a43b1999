"""Only what the named nodes of a LangGraph graph stream is what the customer hears."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, SystemMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph

from ratiba_action.worker.adapters.langgraph import GraphConversation
from ratiba_action.worker.lookup import AdapterError

OpenGraph = Callable[..., Awaitable[GraphConversation]]
Graph = CompiledStateGraph[Any, Any, Any, Any]


def model(*lines: str) -> GenericFakeChatModel:
    return GenericFakeChatModel(messages=iter([AIMessage(line) for line in lines]))


def routed(saver: BaseCheckpointSaver[str]) -> Graph:
    """Four nodes ask a model; the customer is to see what one of them says."""
    classifier, signals = model('{"intent": "LEARN"}', '{"intent": "SUPPORT"}'), model("{}", "{}")
    writer, redirect = model("Karibu sana!"), model("Please call us.")

    def asks(chat: GenericFakeChatModel) -> Any:
        async def node(state: MessagesState) -> dict[str, Any]:
            return {"messages": [await chat.ainvoke([SystemMessage("You are one node."), *state["messages"]])]}

        return node

    graph = StateGraph(MessagesState)
    for name, chat in {
        "intent_classifier": classifier,
        "interest_signals": signals,
        "answer_writer": writer,
        "redirect_handler": redirect,
    }.items():
        graph.add_node(name, asks(chat))
    graph.add_edge(START, "intent_classifier")
    graph.add_edge(START, "interest_signals")

    def route(state: MessagesState) -> str:
        asked = [message.text for message in state["messages"] if message.type == "human"]
        return "redirect_handler" if "login" in asked[-1] else "answer_writer"

    graph.add_conditional_edges("intent_classifier", route, ["answer_writer", "redirect_handler"])
    graph.add_edge("answer_writer", END)
    return graph.compile(checkpointer=saver)


async def test_only_tokens_of_the_response_nodes_make_the_text(open_graph: OpenGraph) -> None:
    conversation = await open_graph("routed", response_nodes=["answer_writer", "redirect_handler"])
    assert (await conversation.send("What is it?"))["text"] == "Karibu sana!"
    assert (await conversation.send("My login fails"))["text"] == "Please call us."


async def test_a_node_that_the_graph_does_not_have_is_refused(open_graph: OpenGraph) -> None:
    with pytest.raises(AdapterError, match="the graph has no node 'answer_writter'; there are answer_writer"):
        await open_graph("routed", response_nodes=["answer_writter"])
