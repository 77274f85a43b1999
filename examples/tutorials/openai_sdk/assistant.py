"""A bakery's assistant in plain Python: OpenAI's SDK takes the order, this program knows the prices."""

import json
from pathlib import Path
from typing import Any

from openai import OpenAI

PRICES = {"bread": 65, "cake": 1200}
ORDER = {"item": {"type": "string", "enum": [*PRICES]}, "quantity": {"type": "integer"}}
PARAMETERS = {"type": "object", "properties": ORDER, "required": ["item", "quantity"]}
FUNCTION = {"name": "place_order", "description": "Order bread or cake.", "parameters": PARAMETERS}


def answer(message: str, history: list[Any]) -> dict[str, Any]:
    """What the assistant replies to the customer."""
    prompt = Path("prompts/baker.md").read_text(encoding="utf-8")
    completion = OpenAI().chat.completions.create(
        model="gpt-5-mini",
        messages=[{"role": "system", "content": prompt}, *history, {"role": "user", "content": message}],
        tools=[{"type": "function", "function": FUNCTION}],
    )
    reply = completion.choices[0].message
    orders = [json.loads(call.function.arguments) for call in reply.tool_calls or []]
    bills = [f"Merci. KES {order['quantity'] * PRICES[order['item']]}." for order in orders]
    calls = [{"name": "place_order", "args": order} for order in orders]
    return {"text": " ".join([reply.content or "", *bills]).strip(), "tool_calls": calls}
