"""Plain SQL against a connection string, for tests that look at a real server from outside."""

from collections.abc import Awaitable, Callable
from typing import Any

import psycopg


async def run_sql(dsn: str, text: str) -> None:
    """Run statements, each committed by itself or all together as PostgreSQL sees fit."""
    async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as connection:
        await connection.execute(text.encode())


async def fetch(dsn: str, query: str) -> list[tuple[Any, ...]]:
    """All rows of one query."""
    async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as connection:
        return await (await connection.execute(query.encode())).fetchall()


def migration(text: str) -> Callable[[str], Awaitable[None]]:
    """Migrations, as ``TenantProvisioner.prepare`` takes them, that run some statements."""

    async def migrate(dsn: str) -> None:
        await run_sql(dsn, text)

    return migrate


async def open_reservations(dsn: str) -> list[tuple[Any, ...]]:
    """Run, accounts, party, model, amount and time of the reservations of a ledger that no run has closed."""
    return await fetch(
        dsn,
        "SELECT run, scopes, party, model, upper, opened_at FROM ratiba_ledger.reservation"
        " WHERE closed_at IS NULL ORDER BY opened_at, id",
    )


async def tenants_on(dsn: str) -> set[str]:
    """Names of all schemas and roles on a server that look like the gate's."""
    rows = await fetch(
        dsn,
        "SELECT nspname FROM pg_namespace WHERE nspname ~ '^(test_tenant|ratiba_template)_'"
        " UNION SELECT rolname FROM pg_roles WHERE rolname ~ '^(test_tenant|ratiba_template)_'",
    )
    return {name for (name,) in rows}
