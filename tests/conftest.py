"""One embedded PostgreSQL server for the whole test session, started by the first test that asks for it."""

from collections.abc import AsyncIterator

import pytest_asyncio


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def embedded_server_dsn() -> AsyncIterator[str]:
    """Connection string of its superuser."""
    from ratiba_action.tenancy.server import open_server  # noqa: PLC0415 - only tests that ask for it pay

    async with open_server(None) as server:
        yield server.dsn
