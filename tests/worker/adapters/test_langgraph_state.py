"""What is read from a LangGraph graph's state after a turn."""

import operator
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from enum import Enum
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.documents import Document
from langchain_core.messages import AnyMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from ratiba_action.worker.adapters.langgraph import GraphConversation
from ratiba_action.worker.lookup import AdapterError

OpenGraph = Callable[..., Awaitable[GraphConversation]]
Graph = CompiledStateGraph[Any, Any, Any, Any]


class Stage(Enum):
    BOOKED = "BOOKED"


class Order(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], operator.add]
    answer: str
    stage: Stage
    payment: dict[str, Any]
    found: list[Document]
    skills: dict[str, Any]
    done: list[dict[str, Any]]


def stateful(saver: BaseCheckpointSaver[str]) -> Graph:
    def work(state: Order) -> Order:  # noqa: ARG001 - LangGraph's name
        return {
            "answer": "Booked.",
            "stage": Stage.BOOKED,
            "payment": {"status": "PAID", "kes": 3500},
            "found": [
                Document("Open until six.", id="hours", metadata={"score": 0.5}),
                Document("Prices", metadata={"source": "prices.md"}),
            ],
            "skills": {"label": "BOOKING", "at": datetime(2026, 4, 25, tzinfo=UTC)},
            "done": [{"name": "create_booking", "args": {"service": "massage"}}],
        }

    graph = StateGraph(Order)
    graph.add_node("work", work)
    graph.add_edge(START, "work")
    return graph.compile(checkpointer=saver)


async def test_fields_of_the_reply_are_read_from_the_state(open_graph: OpenGraph) -> None:
    conversation = await open_graph(
        "stateful",
        reply={
            "text": "answer",
            "state": "stage",
            "payment": "payment.status",
            "documents": "found",
            "output": "skills",
            "tool_calls": "done",
        },
    )
    assert await conversation.send("Book it") == {
        "text": "Booked.",
        "state": "BOOKED",
        "payment": "PAID",
        "documents": [
            {"id": "hours", "text": "Open until six.", "score": 0.5},
            {"id": "prices.md", "text": "Prices", "score": None},
        ],
        "output": {"label": "BOOKING", "at": "2026-04-25T00:00:00+00:00"},
        "tool_calls": [{"name": "create_booking", "args": {"service": "massage"}}],
        "events": [],
    }


async def test_a_key_that_the_state_does_not_have_is_refused_when_the_conversation_opens(open_graph: OpenGraph) -> None:
    with pytest.raises(AdapterError, match="the state has no key 'stagee'; there are answer, done, found"):
        await open_graph("stateful", reply={"state": "stagee"})
    with pytest.raises(AdapterError, match="the state has no key 'question'"):
        await open_graph("stateful", input="question")


async def test_a_graph_that_says_nothing_is_reported_where_its_text_could_be(open_graph: OpenGraph) -> None:
    conversation = await open_graph("stateful")
    with pytest.raises(AdapterError, match=r"no new message of a model under 'messages'.*reply.text"):
        await conversation.send("Book it")


async def test_documents_must_be_a_list_with_ids(open_graph: OpenGraph) -> None:
    conversation = await open_graph("stateful", reply={"text": "answer", "documents": "skills"})
    with pytest.raises(AdapterError, match="'skills' is of type dict, not a list of documents"):
        await conversation.send("Book it")
