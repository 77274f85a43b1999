"""A bakery's assistant: an agent of CrewAI takes the order, this program knows the prices."""

from pathlib import Path
from typing import Any

from crewai import LLM, Agent
from crewai.tools import tool

PRICES = {"bread": 65, "cake": 1200}
calls: list[dict[str, Any]] = []  # of one conversation: each has its own process


@tool("place_order")
def place_order(item: str, quantity: int) -> str:
    """Order bread or cake."""
    calls.append({"name": "place_order", "args": {"item": item, "quantity": quantity}})
    return "ordered"


baker = Agent(
    role="baker",
    goal="take the orders of a bakery",
    backstory=Path("prompts/baker.md").read_text(encoding="utf-8"),
    llm=LLM(model="openai/gpt-5-mini"),
    tools=[place_order],
)


async def answer(message: str, history: list[Any]) -> dict[str, Any]:
    """What the assistant replies to the customer."""
    calls.clear()
    result = await baker.kickoff_async([*history, {"role": "user", "content": message}])
    bill = "".join(f" KES {order['args']['quantity'] * PRICES[order['args']['item']]}." for order in calls)
    return {"text": f"{result.raw}{bill}", "tool_calls": list(calls)}
