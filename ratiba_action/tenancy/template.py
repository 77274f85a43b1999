"""The template of an arm: how to clone it, and proof that the clone is equal."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ratiba_action.errors import DatabaseError
from ratiba_action.tenancy.catalogue import Catalogue, catalogue, differences
from ratiba_action.tenancy.clone import Blueprint, read_blueprint
from ratiba_action.tenancy.connections import connected_as_tenant

if TYPE_CHECKING:
    from ratiba_action.tenancy.connections import Connection

CLONE_SECONDS = 120.0
"""After which reading a template, or filling or reading a clone, is given up: both run the repository's code."""

_MOST_DIFFERENCES = 5
_BEFORE = "SET LOCAL search_path = ''; SET LOCAL check_function_bodies = off; SET LOCAL client_min_messages = warning"


@dataclass(frozen=True, slots=True)
class Template:
    """A migrated schema.

    Args:
        name: of the schema and its role.
        blueprint: how to make it again.
        contents: what it holds.
    """

    name: str
    blueprint: Blueprint
    contents: Catalogue


async def read_template(dsn: str, name: str) -> Template:
    """Read a schema once its migrations have run.

    Args:
        dsn: of the template's own role.
        name: of the schema.

    Raises:
        DatabaseError: it holds what cannot be cloned; names each such object.
    """
    async with connected_as_tenant(dsn, CLONE_SECONDS) as connection:
        blueprint = await read_blueprint(connection, name)
        return Template(name, blueprint, await catalogue(connection, name))


async def clone_into(tenant: "Connection", template: Template, name: str, *, singly: bool = False) -> None:
    """Create everything of a template in a tenant's empty schema, in one transaction.

    Args:
        tenant: connection of the tenant's own role, which may read the template meanwhile.
        template: what to create.
        name: of the tenant's schema.
        singly: send each statement by itself, so that an error names its object; else all in one message.

    Raises:
        DatabaseError: PostgreSQL refused a statement; names the object (only with ``singly``).
    """
    import psycopg  # noqa: PLC0415 - the pytest plug-in and the command line load without it

    statements = template.blueprint.statements(name)
    if not singly:
        text = ";\n".join(["BEGIN", _BEFORE, *(statement.text for statement in statements), "COMMIT"])
        await tenant.execute(text.encode())
        return
    async with tenant.transaction():
        await tenant.execute(_BEFORE.encode())
        for statement in statements:
            try:
                await tenant.execute(statement.text.encode())
            except psycopg.Error as error:
                raise DatabaseError(
                    f"{statement.name.replace(f'{template.name}.', '')!r} of the migrated schema cannot be cloned:"
                    f" {' '.join(str(error).replace(name, 'the clone').split())}.",
                    "Let the migrations make only what needs no right outside the system's own schema.",
                ) from error


async def refuse_unequal(tenant: "Connection", template: Template, name: str) -> None:
    """Compare a clone with its template.

    Raises:
        DatabaseError: they differ; says in what.
    """
    found = differences(template.contents, await catalogue(tenant, name))
    if found:
        more = f" and {len(found) - _MOST_DIFFERENCES} more" if len(found) > _MOST_DIFFERENCES else ""
        raise DatabaseError(
            f"A clone of the migrated schema differs from it: {'; '.join(found[:_MOST_DIFFERENCES])}{more}.",
            "Leave these objects out of the migrations that the adapter runs for the gate.",
        )
