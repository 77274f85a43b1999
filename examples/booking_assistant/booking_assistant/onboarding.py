"""Enter a tenant, its price list and a conversation into the tenant's own schema."""

from dataclasses import dataclass

from psycopg.types.json import Jsonb

from booking_assistant.catalogue import CATALOGUE
from booking_assistant.clock import TIMEZONE_NAME, Clock
from booking_assistant.database import Connection


@dataclass(frozen=True, slots=True)
class Tenant:
    """A business that uses the assistant.

    Args:
        id: its UUID.
        schema: the schema that holds its tables.
        vertical: spa, salon or barbershop.
    """

    id: str
    schema: str
    vertical: str


async def register_tenant(connection: Connection, tenant: Tenant) -> None:
    """Enter the tenant and its price list; a second time changes nothing."""
    await connection.execute(
        "INSERT INTO tenants (id, schema_name, name, vertical, timezone) VALUES (%s, %s, %s, %s, %s)"
        " ON CONFLICT (id) DO NOTHING",
        (tenant.id, tenant.schema, f"Ratiba {tenant.vertical}", tenant.vertical, TIMEZONE_NAME),
    )
    async with connection.cursor() as cursor:
        await cursor.executemany(
            "INSERT INTO services (name, resource_id, price_kes, minutes) VALUES (%s, %s, %s, %s)"
            " ON CONFLICT (name) DO NOTHING",
            [(s.name, resource, s.price_kes, s.minutes) for resource, s in enumerate(CATALOGUE, start=1)],
        )


async def register_thread(
    connection: Connection,
    tenant: Tenant,
    *,
    conversation_id: str,
    customer_phone: str,
    clock: Clock,
    prompt_versions: list[str],
) -> None:
    """Point from the tenant's records to the checkpoints of a conversation (ADR-0003)."""
    await connection.execute(
        "INSERT INTO conversation_threads (thread_id, tenant_id, customer_phone, started_at, prompt_versions)"
        " VALUES (%s, %s, %s, %s, %s) ON CONFLICT (thread_id) DO NOTHING",
        (conversation_id, tenant.id, customer_phone, clock.now(), Jsonb(prompt_versions)),
    )
