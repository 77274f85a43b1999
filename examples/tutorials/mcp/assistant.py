"""An agent that orders at the bakery's MCP server, which knows the prices."""

import json
import os
import sys
from pathlib import Path
from typing import Any

from agents import Agent, Runner
from agents.mcp import MCPServerStdio

PROMPT = Path("prompts/baker.md").read_text(encoding="utf-8")


class Assistant:
    """One conversation, with a server of its own."""

    async def setup(self) -> None:
        """Start the server as every client of MCP does; by itself it would get few variables."""
        started = {"command": sys.executable, "args": ["server.py"], "env": dict(os.environ)}
        self.bakery = MCPServerStdio(started, client_session_timeout_seconds=60)
        await self.bakery.connect()
        self.agent = Agent(
            name="baker",
            model="gpt-5-mini",
            instructions=PROMPT,
            mcp_servers=[self.bakery],
            tool_use_behavior="stop_on_first_tool",  # what the server answers is the reply
        )

    async def send(self, message: str, history: list[Any]) -> dict[str, Any]:
        """The model's words, or the server's."""
        result = await Runner.run(self.agent, [*history, {"role": "user", "content": message}])
        asked = [item.raw_item for item in result.new_items if item.type == "tool_call_item"]
        calls = [{"name": call.name, "args": json.loads(call.arguments)} for call in asked]
        answered = [item.output["text"] for item in result.new_items if item.type == "tool_call_output_item"]
        return {"text": " ".join(answered) or result.final_output, "tool_calls": calls}

    async def close(self) -> None:
        """End the server."""
        await self.bakery.cleanup()
