"""A bakery's assistant: an agent of LlamaIndex takes the order, this program knows the prices."""

from pathlib import Path
from typing import Any

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.workflow import Context
from llama_index.llms.openai import OpenAI

PRICES = {"bread": 65, "cake": 1200}
calls: list[dict[str, Any]] = []  # of one conversation: each has its own process


def place_order(item: str, quantity: int) -> str:
    """Order bread or cake."""
    calls.append({"name": "place_order", "args": {"item": item, "quantity": quantity}})
    return "ordered"


baker = FunctionAgent(
    tools=[place_order],
    llm=OpenAI(model="gpt-5-mini"),
    system_prompt=Path("prompts/baker.md").read_text(encoding="utf-8"),
)
context = Context(baker)  # remembers the conversation


async def answer(message: str) -> dict[str, Any]:
    """What the assistant replies to the customer."""
    calls.clear()
    result = await baker.run(message, ctx=context)
    bill = "".join(f" KES {order['args']['quantity'] * PRICES[order['args']['item']]}." for order in calls)
    return {"text": f"{result}{bill}", "tool_calls": list(calls)}
