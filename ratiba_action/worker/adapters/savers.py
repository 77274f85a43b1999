"""Where a LangGraph graph keeps its checkpoints."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ..lookup import AdapterError

if TYPE_CHECKING:
    from contextlib import AsyncExitStack

POSTGRES = "postgres"
REDIS_ADDRESS = "REDIS_URL"


async def open_saver(kind: str, database_url: str, resources: AsyncExitStack) -> Any:
    """A checkpointer for one conversation.

    Args:
        kind: ``memory``, ``postgres`` or ``redis``.
        database_url: of the tenant, whose schema has the saver's tables.
        resources: what is closed at the conversation's end.

    Raises:
        AdapterError: the environment says nothing of a Redis server.
    """
    if kind == POSTGRES:
        return await _postgres(database_url, resources)
    if kind == "redis":
        return await _redis(resources)
    from langgraph.checkpoint.memory import InMemorySaver  # noqa: PLC0415 - the repository's framework, when asked for

    return InMemorySaver()


async def _postgres(database_url: str, resources: AsyncExitStack) -> Any:
    from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver  # noqa: PLC0415 - as above
    from psycopg import AsyncConnection  # noqa: PLC0415 - the same
    from psycopg.rows import dict_row  # noqa: PLC0415 - the same

    connection = await AsyncConnection.connect(database_url, autocommit=True, prepare_threshold=0, row_factory=dict_row)
    resources.push_async_callback(connection.close)
    return AsyncPostgresSaver(connection)


async def _redis(resources: AsyncExitStack) -> Any:
    address = os.environ.get(REDIS_ADDRESS)
    if not address:
        raise AdapterError(f"the saver redis needs the server's address: set {REDIS_ADDRESS} in system.environment")
    from langgraph.checkpoint.redis.aio import AsyncRedisSaver  # noqa: PLC0415 - as above

    saver = await resources.enter_async_context(AsyncRedisSaver.from_conn_string(address))
    await saver.asetup()
    return saver


def create_tables(database_url: str) -> None:
    """Create the tables of the PostgreSQL saver in the schema of the search path."""
    import psycopg  # noqa: PLC0415 - as above
    from langgraph.checkpoint.postgres import PostgresSaver  # noqa: PLC0415 - the same
    from psycopg.rows import dict_row  # noqa: PLC0415 - the same

    # The saver's migrations build indexes concurrently, which PostgreSQL refuses inside a transaction.
    with psycopg.connect(database_url, autocommit=True, prepare_threshold=0, row_factory=dict_row) as connection:
        PostgresSaver(connection).setup()
