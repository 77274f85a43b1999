"""Reads the configured queries in a tenant, as that tenant, without changing it."""

import asyncio
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from math import isfinite
from typing import Any

from ratiba_action.errors import DatabaseError
from ratiba_action.model.plan import Tenant
from ratiba_action.model.values import JsonObject
from ratiba_action.tenancy.connections import connected_as_tenant, database_errors

MOST_ROWS = 1000
_STATEMENT_SECONDS = 10.0
_CANCEL_SECONDS = 20.0
QUERY_SECONDS = 15.0
"""After which a query is given up whose own functions do not let the server cancel it."""


async def read_rows(tenant: Tenant, queries: Mapping[str, str]) -> Mapping[str, tuple[JsonObject, ...]]:
    """The rows of each query, by its name.

    Raises:
        DatabaseError: a query is refused, writes, takes too long or finds too many rows; names the query.
    """
    found: dict[str, tuple[JsonObject, ...]] = {}
    seconds = QUERY_SECONDS * len(queries) + _CANCEL_SECONDS
    with database_errors(f"open the tenant {tenant.schema!r} for reading", tenant.dsn):
        async with connected_as_tenant(tenant.dsn, seconds, _STATEMENT_SECONDS) as connection:
            await connection.set_read_only(True)
            for name, query in queries.items():
                remedy = f"Correct the query {name!r} under 'rows' in the configuration."
                with database_errors(f"run the query {name!r} in the tenant {tenant.schema!r}", tenant.dsn, remedy):
                    async with asyncio.timeout(QUERY_SECONDS), connection.transaction():
                        found[name] = await _run(connection, name, query)
    return found


async def _run(connection: Any, name: str, query: str) -> tuple[JsonObject, ...]:
    """One query through a cursor on the server, so that too many rows are never sent."""
    # A declared cursor takes a single SELECT only, and its rows are counted before they are kept.
    # Preparing refuses a second statement, such as a COMMIT that would end the read-only transaction.
    declare = b"DECLARE ratiba_rows NO SCROLL CURSOR FOR " + query.strip().rstrip(";").encode()
    await connection.execute(declare, prepare=True)
    cursor = await connection.execute(f"FETCH {MOST_ROWS + 1} FROM ratiba_rows".encode())
    rows = await cursor.fetchall()
    if len(rows) > MOST_ROWS:
        raise DatabaseError(
            f"The query {name!r} found more than {MOST_ROWS} rows.", "Narrow it under 'rows' in the configuration."
        )
    columns = [column.name for column in cursor.description or ()]
    await connection.execute(b"CLOSE ratiba_rows")
    return tuple(dict(zip(columns, map(json_safe, row), strict=True)) for row in rows)


def json_safe(value: Any) -> Any:
    """A column's value as JSON: times in ISO 8601, whole decimals as int, others and unknown types as text."""
    match value:
        case float() if not isfinite(value):
            safe: Any = str(value)
        case None | bool() | int() | float() | str():
            safe = value
        case Decimal():
            safe = int(value) if value.is_finite() and value == value.to_integral_value() else str(value)
        case datetime() | date() | time():
            safe = value.isoformat()
        case timedelta():
            safe = value.total_seconds()
        case bytes() | memoryview():
            safe = bytes(value).hex()
        case Mapping():
            safe = {str(key): json_safe(item) for key, item in value.items()}
        case list() | tuple() | set():
            safe = [json_safe(item) for item in value]
        case _:
            safe = str(value)
    return safe
