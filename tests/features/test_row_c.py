"""Rows C of docs/features.md, each with an input of its own: the chat of a Danish gym."""

import pytest

pytest.importorskip("langgraph", reason="needs LangGraph")

from tests.support.small_repository import SmallRepository

GYM = '''\
"""Two classifiers' tokens, and a handler's that the visitor sees; the route and the visits stand in the state."""

from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import MemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph


class State(MessagesState):
    route: str
    turns: int


def said(text):
    return GenericFakeChatModel(messages=iter([AIMessage(text)]))


async def classify(state):
    await said('{"intent": "?"}').ainvoke(state["messages"])
    text = state["messages"][-1].text.lower()
    route = "booking" if "prøvetime" in text else "redirect" if "job" in text else "answer"
    return {"route": route, "turns": state.get("turns", 0) + 1}


def handler(text):
    async def node(state):
        return {"messages": [await said(text).ainvoke(state["messages"])]}

    return node


def build():
    graph = StateGraph(State)
    graph.add_node("classify", classify)
    graph.add_node("answer", handler("Vi har åbent fra 6 til 23."))
    graph.add_node("redirect", handler("Skriv til personalet om job."))
    graph.add_node("booking", handler("Din prøvetime er på fredag."))
    graph.add_edge(START, "classify")
    graph.add_conditional_edges("classify", lambda state: state["route"], ["answer", "redirect", "booking"])
    for name in ("answer", "redirect", "booking"):
        graph.add_edge(name, END)
    return graph.compile(checkpointer=MemorySaver())
'''
CONFIGURATION = """\
system:
  langgraph:
    graph: gym:build
    response_nodes: [answer, redirect, booking]
    reply: {state: route, output: turns}
  price_per_turn_usd: 0
"""
VISITOR = """\
id: gaest
language: da
turns:
  - user: Hvornår har I åbent?
    expect: {state: answer, equals: Vi har åbent fra 6 til 23., output: {value: 1}}
  - user: Jeg vil gerne have en prøvetime
    expect: {state: booking, equals: Din prøvetime er på fredag., output: {value: 2}}
  - user: Har I et job til mig?
    expect: {state: redirect, equals: Skriv til personalet om job., output: {value: 3}}
"""


def test_a_graph_is_streamed_routed_and_its_state_read_from_its_checkpoint_after_each_turn(
    project: SmallRepository,
) -> None:
    """C5."""
    for name, content in {
        "gym.py": GYM,
        ".github/ratiba.yml": CONFIGURATION,
        "scenarios/gaest.yaml": VISITOR,
        "scenarios/anden.yaml": VISITOR.replace("id: gaest", "id: anden"),
    }.items():
        project.write(name, content)
    ended = project.gate()
    assert ended.code == 0, ended.printed
    assert "2 of 2 scenarios passed" in ended.comment, "a conversation of its own starts at turn 1 again"
