import psycopg
import pytest
from booking_assistant.database import connect
from booking_assistant.onboarding import Tenant
from booking_assistant.ratiba_adapter import Adapter
from booking_assistant.tenant_saver import TenantScopedSaver, WrongTenantError

from tests.examples.booking_assistant.conftest import TENANT_ID, OpenTalk, Talk

TABLES = {
    "alembic_version",
    "bookings",
    "checkpoint_blobs",
    "checkpoint_migrations",
    "checkpoint_writes",
    "checkpoints",
    "conversation_threads",
    "handoffs",
    "payment_callbacks",
    "payments",
    "services",
    "tenants",
}


def tables(database_url: str) -> set[tuple[str, str]]:
    with psycopg.connect(database_url) as connection:
        return set(connection.execute("SELECT schemaname, tablename FROM pg_tables").fetchall())


def test_migrating_fills_the_schema_of_the_search_path_and_no_other(empty_schema: str) -> None:
    before = tables(empty_schema)
    Adapter().migrate(empty_schema)
    Adapter().migrate(empty_schema)
    assert tables(empty_schema) - before == {("booking_tenant_empty", table) for table in TABLES}


def test_the_database_refuses_overlapping_bookings_and_a_second_live_payment(database_url: str) -> None:
    booking = (
        "INSERT INTO bookings (service, resource_id, start_at, end_at, status, price_kes, customer_phone)"
        " VALUES ('massage', 1, '2026-04-26 14:{}+03', '2026-04-26 15:{}+03', 'confirmed', 3500, 'x')"
    )
    payment = "INSERT INTO payments (booking_id, rail, phone, amount_kes, status) VALUES (1, 'mpesa', 'x', 3500, '{}')"
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("INSERT INTO services VALUES ('massage', 1, 3500, 60)")
        connection.execute(booking.format("00", "00"))
        with pytest.raises(psycopg.errors.ExclusionViolation):
            connection.execute(booking.format("59", "59"))
        connection.execute(payment.format("PENDING"))
        with pytest.raises(psycopg.errors.UniqueViolation):
            connection.execute(payment.format("PENDING"))


async def test_tenant_price_list_and_thread_are_registered(talk: Talk) -> None:
    (tenant,) = talk.rows("tenants")
    (thread,) = talk.rows("conversation_threads")
    assert (str(tenant["id"]), tenant["schema_name"], tenant["timezone"]) == (
        TENANT_ID,
        "booking_tenant_a",
        "Africa/Nairobi",
    )
    assert {row["name"]: row["price_kes"] for row in talk.rows("services")}["bridal_makeup"] == 8000
    assert [version.split("@")[0] for version in thread["prompt_versions"]] == [
        "booking_orchestrator",
        "intent_classifier",
    ]


async def test_a_connection_to_another_schema_than_the_tenants_is_refused(open_talk: OpenTalk) -> None:
    with pytest.raises(WrongTenantError, match="'tenant_b'"):
        await open_talk(schema="tenant_b")


async def test_a_saver_serves_no_other_tenant(talk: Talk, database_url: str) -> None:
    await talk.book()
    connection = await connect(database_url)
    try:
        saver = await TenantScopedSaver.for_tenant(connection, Tenant(TENANT_ID, "booking_tenant_a", "spa"))
        with pytest.raises(WrongTenantError):
            await saver.aget_tuple({"configurable": {"thread_id": "x", "tenant_id": "another"}})
        with pytest.raises(WrongTenantError):
            await saver.aput_writes({"configurable": {"thread_id": "x"}}, [], "task")
    finally:
        await connection.close()


@pytest.mark.parametrize("phone", ["", "12345", "+44 20 7946 0000"])
async def test_a_customer_without_a_kenyan_number_is_refused(open_talk: OpenTalk, phone: str) -> None:
    with pytest.raises(ValueError, match="Kenyan mobile number"):
        await open_talk(customer_phone=phone)
