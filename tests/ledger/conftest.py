"""A database of its own for each test of the shared ledger."""

import uuid
from collections.abc import AsyncIterator

import pytest_asyncio
from psycopg.conninfo import make_conninfo

from ratiba_action.testing.sql import run_sql


@pytest_asyncio.fixture
async def database(embedded_server_dsn: str) -> AsyncIterator[str]:
    """Connection string of an empty database."""
    name = f"ledger_{uuid.uuid4().hex[:12]}"
    await run_sql(embedded_server_dsn, f"CREATE DATABASE {name}")
    yield make_conninfo(embedded_server_dsn, dbname=name)
    await run_sql(embedded_server_dsn, f"DROP DATABASE {name} WITH (FORCE)")
