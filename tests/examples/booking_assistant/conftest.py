"""A migrated schema on a real PostgreSQL, scripted models, and an open conversation between them."""

import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo
from psycopg.rows import dict_row

SYSTEM_ROOT = Path(__file__).parents[3] / "examples" / "booking_assistant"
sys.path.insert(0, str(SYSTEM_ROOT))  # as the gate's worker does

from booking_assistant.ratiba_adapter import Adapter, Conversation  # noqa: E402  (needs the path above)

from tests.examples.booking_assistant.scripted_models import ScriptedModels  # noqa: E402  (the same)

TENANT_ID = "4c2f0a55-93a4-4f0e-9d3b-6a1f6b1f0c11"
SCHEMA = "booking_tenant_a"
OWN_PHONE = "+254712345432"


@dataclass(frozen=True, slots=True)
class Talk:
    """A conversation, the models behind it and the rows below it."""

    conversation: Conversation
    models: ScriptedModels
    database_url: str

    async def say(self, message: str, **understanding: Any) -> dict[str, Any]:
        """Send a message that the classifier understands in the given way."""
        self.models.understandings.append(understanding)
        return await self.conversation.send(message)

    async def happen(self, kind: str, **data: Any) -> dict[str, Any]:
        return await self.conversation.deliver({"type": kind, **data})

    async def called_back(self, result: str = "success", **data: Any) -> dict[str, Any]:
        given = {"rail": "mpesa", "receipt": "TKL4X8Q2ZP", "amount_kes": 3500, **data}
        return await self.happen("payment_callback", result=result, **given)

    async def book(self) -> None:
        """Get a massage tomorrow at 14:00 booked."""
        await self.say("massage kesho saa nane", intent="book", service="massage", start="2026-04-26T14:00")
        reply = await self.say("ndio", intent="confirm")
        assert reply["state"] == "BOOKED"

    async def ask_to_pay(self) -> None:
        await self.book()
        reply = await self.say("nilipe", intent="pay", rail="mpesa")
        assert reply["state"] == "AWAITING_PAYMENT"

    def rows(self, table: str) -> list[dict[str, Any]]:
        with psycopg.connect(self.database_url, row_factory=dict_row) as connection:
            query = sql.SQL("SELECT * FROM {} ORDER BY 1").format(sql.Identifier(table))
            return list(connection.execute(query))


OpenTalk = Callable[..., Awaitable[Talk]]


@contextmanager
def new_schema(server_dsn: str, name: str) -> Iterator[str]:
    """The connection string of a schema without tables, dropped in the end."""
    schema = sql.Identifier(name)
    with psycopg.connect(server_dsn, autocommit=True) as admin:
        admin.execute(sql.SQL("CREATE SCHEMA {}").format(schema))
        try:
            yield make_conninfo(server_dsn, options=f"-c search_path={name}")
        finally:
            admin.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(schema))


@pytest.fixture
def empty_schema(embedded_server_dsn: str) -> Iterator[str]:
    with new_schema(embedded_server_dsn, "booking_tenant_empty") as url:
        yield url


@pytest.fixture(scope="session")
def migrated_schema(embedded_server_dsn: str) -> Iterator[str]:
    with new_schema(embedded_server_dsn, SCHEMA) as url:
        Adapter().migrate(url)
        yield url


@pytest.fixture
def database_url(migrated_schema: str) -> str:
    """A migrated schema without data; ids start at 1 again."""
    with psycopg.connect(migrated_schema) as connection:
        tables = connection.execute(
            "SELECT quote_ident(tablename) FROM pg_tables WHERE schemaname = current_schema()"
            " AND tablename NOT IN ('alembic_version', 'checkpoint_migrations')"
        ).fetchall()
        names = sql.SQL(", ").join(sql.SQL(name) for (name,) in tables)
        connection.execute(sql.SQL("TRUNCATE {} RESTART IDENTITY").format(names))
    return migrated_schema


@pytest.fixture
async def models(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ScriptedModels]:
    scripted = ScriptedModels()
    await scripted.start()
    monkeypatch.setenv("ANTHROPIC_BASE_URL", scripted.url)
    monkeypatch.setenv("OPENAI_BASE_URL", f"{scripted.url}/v1")
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, "scenario-token")
    yield scripted
    await scripted.stop()


@pytest.fixture
async def open_talk(database_url: str, models: ScriptedModels) -> AsyncIterator[OpenTalk]:
    """Opens conversations; arguments replace parts of the context."""
    async with AsyncExitStack() as stack:

        async def open_one(**changes: Any) -> Talk:
            context = {
                "scenario_id": "spa_booking",
                "tenant_id": TENANT_ID,
                "schema": SCHEMA,
                "database_url": database_url,
                "conversation_id": "0b9d2f3e-6f0e-4a0f-8f3d-0d9f6a5b7c21",
                "now": datetime.fromisoformat("2026-04-25T10:00:00+03:00"),
                "language": "sw",
                "vertical": "spa",
                "customer_name": "Wanjiku",
                "customer_phone": "+254 712 345 432",
            }
            conversation = await Adapter().open(SimpleNamespace(**{**context, **changes}))
            stack.push_async_callback(conversation.close)
            return Talk(conversation, models, database_url)

        yield open_one


@pytest.fixture
async def talk(open_talk: OpenTalk) -> Talk:
    return await open_talk()
