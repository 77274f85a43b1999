"""The shared ledger did what it was asked, and its answer was lost on the way."""

import asyncio
import socket
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from ratiba_action.errors import LedgerRefusedError
from ratiba_action.model.conversation import Party, Reservation
from ratiba_action.money.connection import LedgerConnection
from ratiba_action.money.monthly import MonthlyLedger
from tests.support.sql import open_reservations

RESERVATION = Reservation(1, Party.SYSTEM, "spa", "gpt-6", Decimal(1))


class Wire:
    """A socket in front of the server that can swallow the answer to one statement, and the connection with it.

    Args:
        server: the server's own socket.
    """

    def __init__(self, server: str) -> None:
        self._server = server
        self.swallow_answer_to = b""
        self.swallowed = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_unix_connection(self._server)
        back = asyncio.ensure_future(self._copy(far_reader, writer))
        try:
            while data := await reader.read(1 << 16):
                loses = bool(self.swallow_answer_to) and self.swallow_answer_to in data
                if loses:
                    self.swallow_answer_to = b""
                    back.cancel()
                    await asyncio.gather(back, return_exceptions=True)
                far_writer.write(data)
                await far_writer.drain()
                if loses:
                    await far_reader.read(1)
                    self.swallowed += 1
                    return
        finally:
            back.cancel()
            writer.close()
            far_writer.close()

    @staticmethod
    async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()


@asynccontextmanager
async def wired(database: str) -> AsyncIterator[tuple[MonthlyLedger, Wire]]:
    """A ledger that reaches its server through a wire."""
    parts = conninfo_to_dict(database)
    wire = Wire(f"{parts['host']}/.s.PGSQL.{parts.get('port', 5432)}")
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:  # a socket's path must be short
        server = await asyncio.start_unix_server(wire.serve, Path(folder) / ".s.PGSQL.5432")
        ledger = MonthlyLedger(make_conninfo(database, host=folder, port="5432"), Decimal(10), run="run 1")
        await ledger.open()
        yield ledger, wire
        await ledger.close()
        server.close()
        await server.wait_closed()


async def test_a_reservation_whose_answer_was_lost_is_made_once(database: str) -> None:
    async with wired(database) as (ledger, wire):
        wire.swallow_answer_to = b"INSERT INTO ratiba_ledger.reservation"
        await ledger.reserve(RESERVATION)
        (month,) = await ledger.accounts()
        assert (wire.swallowed, month.spent, month.reserved) == (1, Decimal(0), Decimal(1))
        assert len(await open_reservations(database)) == 1


async def test_a_settlement_whose_answer_was_lost_is_booked_once(database: str) -> None:
    async with wired(database) as (ledger, wire):
        await ledger.reserve(RESERVATION)
        wire.swallow_answer_to = b"SET closed_at"
        await ledger.settle(RESERVATION, Decimal("0.25"))
        (month,) = await ledger.accounts()
        assert (wire.swallowed, month.spent, month.reserved) == (1, Decimal("0.25"), Decimal(0))


class Counting(LedgerConnection):
    """Counts how often a connection is tried."""

    tries = 0

    async def _connect(self) -> Any:
        self.tries += 1
        return await super()._connect()


@pytest.mark.parametrize("refusal", ["nobody listens", "a wrong password"])
async def test_a_ledger_that_refuses_is_not_asked_again(refusal: str, database: str) -> None:
    parts = conninfo_to_dict(database)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))  # and kept, so that no other test's server is given this port meanwhile
        nobody = {"host": "127.0.0.1", "port": silent.getsockname()[1]}
        wrong = nobody if refusal == "nobody listens" else {"password": "wrong"}
        connection = Counting(make_conninfo(**{**parts, **wrong}))
        with pytest.raises(LedgerRefusedError):
            await connection.fetch_surely("SELECT 1")
    assert connection.tries == 1
