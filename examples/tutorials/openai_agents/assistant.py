"""A bakery's assistant: an agent of the OpenAI Agents SDK takes the order, this program knows the prices."""

from pathlib import Path
from typing import Any

from agents import Agent, Runner, function_tool

PRICES = {"bread": 65, "cake": 1200}
calls: list[dict[str, Any]] = []  # of one conversation: each has its own process


@function_tool
def place_order(item: str, quantity: int) -> str:
    """Order bread or cake."""
    calls.append({"name": "place_order", "args": {"item": item, "quantity": quantity}})
    return "ordered"


baker = Agent(
    name="baker",
    model="gpt-5-mini",
    instructions=Path("prompts/baker.md").read_text(encoding="utf-8"),
    tools=[place_order],
)


async def answer(message: str, history: list[Any]) -> dict[str, Any]:
    """What the assistant replies to the customer."""
    calls.clear()
    result = await Runner.run(baker, [*history, {"role": "user", "content": message}])
    bill = "".join(f" KES {order['args']['quantity'] * PRICES[order['args']['item']]}." for order in calls)
    return {"text": f"{result.final_output}{bill}", "tool_calls": list(calls)}
