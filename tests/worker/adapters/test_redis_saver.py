"""Where a graph's checkpoints are kept in Redis: below the conversation's name, apart from others, and not for long."""

import os
from collections.abc import AsyncIterator, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph
from redis.asyncio import Redis

from ratiba_action.worker.adapters import savers
from ratiba_action.worker.adapters.langgraph import Adapter, GraphConversation
from ratiba_action.worker.lookup import AdapterError
from tests.support.redis_server import redis_server


class Booking(MessagesState):
    stage: str


def counting() -> "StateGraph[Any, Any, Any, Any]":
    async def answer(state: Booking) -> dict[str, Any]:
        number = len(state["messages"])
        return {"messages": [AIMessage(f"message {number}")], "stage": "GREETING" if number < 2 else "QUOTING"}

    graph = StateGraph(Booking)
    graph.add_node("answer", answer)
    graph.add_edge(START, "answer")
    return graph


OPTIONS = {"graph": f"{__name__}:counting", "saver": "redis", "messages": "messages", "input": None}
ADAPTER = Adapter({**OPTIONS, "response_nodes": [], "reply": {"state": "stage"}, "migrate": None})


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with redis_server(tmp_path_factory.mktemp("redis")) as url:
        yield url


@pytest.fixture
async def redis(address: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Redis]:
    """A client of the server that the adapter finds in its environment."""
    monkeypatch.setenv(savers.REDIS_ADDRESS, address)
    async with Redis.from_url(address, decode_responses=True) as client:
        yield client


async def talk(thread: str) -> GraphConversation:
    return await ADAPTER.open(SimpleNamespace(conversation_id=thread, database_url=None))


async def kept(redis: Any) -> set[str]:
    """Keys and indexes whose names tell whose they are."""
    keys = {key async for key in redis.scan_iter(match="*thread-*")}
    return keys | {name for name in await redis.execute_command("FT._LIST") if "thread-" in name}


async def test_the_state_after_each_turn_is_what_the_checkpoint_has(redis: Any) -> None:
    conversation = await talk("thread-a")
    assert (await conversation.send("moja"))["state"] == "GREETING"
    second = await conversation.send("mbili")
    assert (second["text"], second["state"]) == ("message 3", "QUOTING")
    assert any(key.startswith("ratiba-eval-gate:thread-a:checkpoint:thread-a:") for key in await kept(redis))
    await conversation.close()


async def test_two_conversations_on_one_server_share_nothing(redis: Any) -> None:
    await redis.json().set("checkpoint:thread-own:x", "$", {"thread_id": "thread-own"})
    first, second = await talk("thread-a"), await talk("thread-b")
    await first.send("moja")
    await first.send("mbili")
    assert (await second.send("moja"))["text"] == "message 1"
    for thread, other in (("thread-a", "thread-b"), ("thread-b", "thread-a")):
        names = {name for name in await kept(redis) if name.startswith(f"ratiba-eval-gate:{thread}:")}
        assert names
        assert not any(other in name for name in names)
    await first.close()
    assert (await second.send("mbili"))["text"] == "message 3", "the end of one conversation is not another's"
    await second.close()
    assert await kept(redis) == {"checkpoint:thread-own:x"}, "what the server had is left alone"
    await redis.delete("checkpoint:thread-own:x")


async def test_nothing_is_left_when_a_conversation_ends(redis: Any) -> None:
    conversation = await talk("thread-a")
    await conversation.send("moja")
    assert await kept(redis)
    await conversation.close()
    assert await kept(redis) == set()


async def test_what_a_killed_worker_leaves_expires_and_its_indexes_go_with_a_later_conversation(redis: Any) -> None:
    live = await talk("thread-live")
    await live.send("moja")
    left = [key for key in await kept(redis) if await redis.exists(key)]
    assert left
    assert [key for key in left if not 0 < await redis.ttl(key) <= 24 * 3600] == []
    index = "ratiba-eval-gate:thread-killed:checkpoint"  # its worker was killed a day ago
    await redis.execute_command(*f"FT.CREATE {index} ON JSON PREFIX 1 {index}: SCHEMA $.stage AS stage TAG".split())
    await redis.json().set(f"{index}:1", "$", {"stage": "GREETING"})
    own = "ratiba:thread-own"  # of the system that is tested, on the same server
    await redis.execute_command(*f"FT.CREATE {own} ON JSON PREFIX 1 {own}: SCHEMA $.stage AS stage TAG".split())
    later = await talk("thread-later")
    assert not any("thread-killed" in name for name in await kept(redis))
    await redis.execute_command("FT.DROPINDEX", own)
    assert (await live.send("mbili"))["text"] == "message 3", "an index in use stays"
    for conversation in (later, live):
        await conversation.close()
    assert await kept(redis) == set()


async def test_a_server_without_search_is_named_with_what_helps(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with redis_server(tmp_path, modules=False) as plain:
        monkeypatch.setenv(savers.REDIS_ADDRESS, plain)
        with pytest.raises(AdapterError, match=r"has no search .* use Redis 8, or Redis Stack"):
            await talk("thread-a")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("redis://user:geheim@127.0.0.1:1/0", "cannot be used: Error .*127.0.0.1:1"),
        ("http://127.0.0.1:1", "cannot be used: Redis URL must specify one of the following schemes"),
    ],
)
async def test_an_address_that_cannot_be_used_is_an_error_without_its_password(
    given: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(os.environ, savers.REDIS_ADDRESS, given)
    with pytest.raises(AdapterError, match=message) as raised:
        await talk("thread-a")
    assert "geheim" not in str(raised.value)
