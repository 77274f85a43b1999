"""A PostgreSQL server for a test."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from ratiba_action.tenancy.server import READY_SECONDS, DatabaseServer, choose_server


@asynccontextmanager
async def open_server(
    database_url: str | None, scratch: Path | None = None, start_timeout: float = READY_SECONDS
) -> AsyncIterator[DatabaseServer]:
    """``choose_server``, started, and ended on every way out.

    Raises:
        DatabaseError: no server can be had, or it does not answer.
    """
    server = choose_server(database_url, scratch, start_timeout)
    try:
        await server.start()
        yield server
    finally:
        await server.stop()
