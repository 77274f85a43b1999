"""A bakery's assistant: an agent of Pydantic AI takes the order, this program knows the prices."""

from pathlib import Path
from typing import Any

from pydantic_ai import Agent

PRICES = {"bread": 65, "cake": 1200}
calls: list[dict[str, Any]] = []  # of one conversation: each has its own process
earlier: list[Any] = []  # the messages of that conversation, as Pydantic AI keeps them
baker = Agent("openai:gpt-5-mini", instructions=Path("prompts/baker.md").read_text(encoding="utf-8"))


@baker.tool_plain
def place_order(item: str, quantity: int) -> str:
    """Order bread or cake."""
    calls.append({"name": "place_order", "args": {"item": item, "quantity": quantity}})
    return "ordered"


async def answer(message: str) -> dict[str, Any]:
    """What the assistant replies to the customer."""
    calls.clear()
    result = await baker.run(message, message_history=earlier)
    earlier[:] = result.all_messages()
    bill = "".join(f" KES {order['args']['quantity'] * PRICES[order['args']['item']]}." for order in calls)
    return {"text": f"{result.output}{bill}", "tool_calls": list(calls)}
