"""Opens conversations with the graphs of the test module that asks for it."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from ratiba_action.worker.adapters.langgraph import Adapter, GraphConversation

DEFAULTS: dict[str, Any] = {
    "saver": "memory",
    "messages": "messages",
    "input": None,
    "response_nodes": [],
    "reply": {},
}


@pytest.fixture
def open_graph(request: pytest.FixtureRequest) -> Callable[..., Awaitable[GraphConversation]]:
    """Opens one with the graph of that name; every other setting is the configuration's default."""

    async def open_one(graph: str, thread: str = "thread-1", **settings: Any) -> GraphConversation:
        adapter = Adapter({**DEFAULTS, "graph": f"{request.module.__name__}:{graph}", **settings})
        now = datetime(2026, 4, 25, 7, tzinfo=UTC)
        return await adapter.open(SimpleNamespace(conversation_id=thread, database_url=None, now=now, language="sw"))

    return open_one
