"""A bakery's assistant: a graph of LangGraph takes the order, and its last node knows the prices."""

from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, SystemMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode

PRICES = {"bread": 65, "cake": 1200}
PROMPT = Path("prompts/baker.md").read_text(encoding="utf-8")


@tool
def place_order(item: str, quantity: int) -> str:
    """Order bread or cake."""
    return f"ordered: {quantity} {item}"


async def baker(state: MessagesState) -> dict[str, Any]:
    """Call the model."""
    model = ChatOpenAI(model="gpt-5-mini").bind_tools([place_order])
    return {"messages": [await model.ainvoke([SystemMessage(PROMPT), *state["messages"]])]}


def after_baker(state: MessagesState) -> str:
    """Whether the model ordered something."""
    return "order" if state["messages"][-1].tool_calls else END


def bill(state: MessagesState) -> dict[str, Any]:
    """Say what the order costs."""
    (call,) = state["messages"][-2].tool_calls
    total = call["args"]["quantity"] * PRICES[call["args"]["item"]]
    return {"messages": [AIMessage(f"Merci. KES {total}.")]}


def build() -> StateGraph[MessagesState]:
    """The graph."""
    graph = StateGraph(MessagesState)
    graph.add_node("baker", baker)
    graph.add_node("order", ToolNode([place_order]))
    graph.add_node("bill", bill)
    graph.add_edge(START, "baker")
    graph.add_conditional_edges("baker", after_baker, ["order", END])
    graph.add_edge("order", "bill")
    graph.add_edge("bill", END)
    return graph
