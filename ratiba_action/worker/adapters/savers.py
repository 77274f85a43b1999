"""Where a LangGraph graph keeps its checkpoints."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ..lookup import AdapterError

if TYPE_CHECKING:
    from contextlib import AsyncExitStack

POSTGRES = "postgres"
REDIS_ADDRESS = "REDIS_URL"
_REDIS_FOLDER = "ratiba-eval-gate:"
_INDEXES = ("checkpoint", "write")
_OPEN = "open"
_MINUTES = 24 * 60
"""How long Redis keeps what a killed worker leaves."""


async def open_saver(kind: str, database_url: str, conversation: str, resources: AsyncExitStack) -> Any:
    """A checkpointer for one conversation.

    Args:
        kind: ``memory``, ``postgres`` or ``redis``.
        database_url: of the tenant, whose schema has the saver's tables.
        conversation: its id; in Redis every key and index has it in its name.
        resources: what is closed at the conversation's end.

    Raises:
        AdapterError: the environment says nothing of a Redis server, or the server cannot be used.
    """
    if kind == POSTGRES:
        return await _postgres(database_url, resources)
    if kind == "redis":
        return await _redis(conversation, resources)
    from langgraph.checkpoint.memory import InMemorySaver  # the repository's framework, when asked for

    return InMemorySaver()


async def _postgres(database_url: str, resources: AsyncExitStack) -> Any:
    from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
    from psycopg import AsyncConnection
    from psycopg.rows import dict_row

    connection = await AsyncConnection.connect(database_url, autocommit=True, prepare_threshold=0, row_factory=dict_row)
    resources.push_async_callback(connection.close)
    return AsyncPostgresSaver(connection)


async def _redis(conversation: str, resources: AsyncExitStack) -> Any:
    address = os.environ.get(REDIS_ADDRESS)
    if not address:
        raise AdapterError(f"the saver redis needs the server's address: set {REDIS_ADDRESS} in system.environment")
    from langgraph.checkpoint.redis.aio import AsyncRedisSaver
    from redis.asyncio import Redis
    from redis.exceptions import RedisError

    prefix = f"{_REDIS_FOLDER}{conversation}"
    try:
        client = await resources.enter_async_context(Redis.from_url(address))
        await client.set(f"{prefix}:{_OPEN}", 1, ex=_MINUTES * 60)
        resources.push_async_callback(client.delete, f"{prefix}:{_OPEN}")
        await _drop_abandoned_indexes(client)
        saver = AsyncRedisSaver(
            redis_client=client,
            ttl={"default_ttl": _MINUTES},
            checkpoint_prefix=f"{prefix}:{_INDEXES[0]}",
            checkpoint_write_prefix=f"{prefix}:{_INDEXES[1]}",
        )
        await resources.enter_async_context(saver)
    except (RedisError, OSError, ValueError) as failed:
        raise AdapterError(_unusable(str(failed))) from None
    resources.push_async_callback(_forget, client, saver, conversation)
    return saver


async def _forget(client: Any, saver: Any, conversation: str) -> None:
    """Delete the conversation and its indexes, with what the graph has written under them for other threads."""
    await saver.adelete_thread(conversation)
    for name in _INDEXES:
        await _drop(client, f"{_REDIS_FOLDER}{conversation}:{name}")


async def _drop_abandoned_indexes(client: Any) -> None:
    """Drop the indexes, with all that they cover, of conversations whose worker was killed a day ago or more."""
    for name in await client.execute_command("FT._LIST"):
        index = name.decode() if isinstance(name, bytes) else name
        prefix, _, kind = index.rpartition(":")
        ours = prefix.startswith(_REDIS_FOLDER) and kind in _INDEXES
        if ours and not await client.exists(f"{prefix}:{_OPEN}"):
            await _drop(client, index)


async def _drop(client: Any, index: str) -> None:
    from redis.exceptions import ResponseError

    try:
        await client.execute_command("FT.DROPINDEX", index, "DD")
    except ResponseError as failed:
        if "index" not in str(failed).lower():  # there is none: another worker was faster, or it was never made
            raise


def _unusable(why: str) -> str:
    """The address is left out: it may hold a password."""
    if "unknown command" in why:
        return (
            f"the Redis server of {REDIS_ADDRESS} has no search (FT.CREATE) or no JSON, which LangGraph's saver needs: "
            "use Redis 8, or Redis Stack"
        )
    return f"the Redis server of {REDIS_ADDRESS} cannot be used: {why}"


def create_tables(database_url: str) -> None:
    """Create the tables of the PostgreSQL saver in the schema of the search path."""
    import psycopg
    from langgraph.checkpoint.postgres import PostgresSaver
    from psycopg.rows import dict_row

    # The saver's migrations build indexes concurrently, which PostgreSQL refuses inside a transaction.
    with psycopg.connect(database_url, autocommit=True, prepare_threshold=0, row_factory=dict_row) as connection:
        PostgresSaver(connection).setup()
