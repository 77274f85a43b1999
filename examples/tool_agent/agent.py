"""An agent in a loop: the model calls tools until it has an answer. What the gate calls."""

import json
from pathlib import Path
from typing import Any

from anthropic import Anthropic
from tools import TOOLS, Depot

PROMPT = Path(__file__).parent / "prompts" / "agent.md"
MODEL = "claude-haiku-4-5"
MAX_STEPS = 5
AFTER = {"find_parcel": "FOUND", "move_delivery": "MOVED"}


class Agent:
    """One conversation."""

    def setup(self, context: Any) -> None:
        """Called once, before the first message."""
        self._client = Anthropic(max_retries=0)
        self._depot = Depot(context.customer_phone)
        self._system = f"{PROMPT.read_text(encoding='utf-8')}\nToday is {context.now:%A, %Y-%m-%d}."
        self._messages: list[Any] = []
        self._state = "WAITING"

    def send(self, message: str) -> dict[str, Any]:
        """Answer a message; the reply tells the tools that were called and the changes of state."""
        self._messages.append({"role": "user", "content": message})
        reply: dict[str, Any] = {"text": "", "tool_calls": [], "events": []}
        for _ in range(MAX_STEPS):
            response = self._ask()
            calls = [block for block in response.content if block.type == "tool_use"]
            if not calls:
                text = "".join(block.text for block in response.content if block.type == "text")
                return {**reply, "text": text, "state": self._state}
            self._messages.append({"role": "user", "content": [self._use(call, reply) for call in calls]})
        return {**reply, "text": "Sorry, I could not find that out.", "state": self._state}

    def close(self) -> None:
        """Called once, after the last message."""
        self._client.close()

    def _ask(self) -> Any:
        response = self._client.messages.create(
            model=MODEL, max_tokens=300, system=self._system, tools=TOOLS, messages=self._messages
        )
        blocks = [block.model_dump(exclude_none=True) for block in response.content]
        self._messages.append({"role": "assistant", "content": blocks})
        return response

    def _use(self, call: Any, reply: dict[str, Any]) -> dict[str, Any]:
        output = self._depot.use(call.name, call.input)
        reply["tool_calls"].append({"name": call.name, "args": call.input, "output": output})
        after = AFTER[call.name] if output["found"] else "WAITING"
        if after != self._state:
            change = {"from": self._state, "to": after}
            reply["events"].append({"type": "state_transition", "data": change})
            self._state = after
        return {"type": "tool_result", "tool_use_id": call.id, "content": json.dumps(output)}
