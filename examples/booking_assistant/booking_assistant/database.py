"""The tenant's database: one connection string in, typed connections out."""

from typing import Any, LiteralString

import psycopg
from psycopg.rows import DictRow, dict_row

Connection = psycopg.AsyncConnection[DictRow]
Row = dict[str, Any]


async def connect(database_url: str) -> Connection:
    """Open a connection whose rows are dictionaries; the connection string chooses the schema."""
    return await psycopg.AsyncConnection.connect(database_url, autocommit=True, row_factory=dict_row)


async def fetch_one(connection: Connection, query: LiteralString, arguments: tuple[Any, ...] = ()) -> Row | None:
    """The first row of a query, None when it has none."""
    cursor = await connection.execute(query, arguments)
    return await cursor.fetchone()


async def fetch_required(connection: Connection, query: LiteralString, arguments: tuple[Any, ...] = ()) -> Row:
    """The first row of a query that always has one.

    Raises:
        LookupError: it has none.
    """
    row = await fetch_one(connection, query, arguments)
    if row is None:
        raise LookupError(f"no row for {arguments!r}: the conversation's memory and its database differ")
    return row
