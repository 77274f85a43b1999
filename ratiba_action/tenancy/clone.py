"""Reads a migrated schema once and says how to make it again under another name."""

from collections.abc import AsyncIterator, Hashable, Iterable, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Any, LiteralString, TypeVar

from ratiba_action.errors import DatabaseError
from ratiba_action.tenancy.catalogue import Catalogue, catalogue, differences
from ratiba_action.tenancy.connections import connected_as_tenant
from ratiba_action.tenancy.definitions import COMMENTS, CREATED, DEPENDENCIES, FINISHED, ROWS, SEQUENCES, UNSUPPORTED

if TYPE_CHECKING:
    from ratiba_action.tenancy.connections import Connection

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement and the object that it makes, for messages."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Blueprint:
    """How to make a schema again.

    Args:
        template: name of the schema that was read; stands in the statements wherever a clone has its own name.
        create: types, sequences, tables, functions, views.
        fill: beginnings of statements, each with the template's table that it reads.
        finish: sequence values, indexes, foreign keys, triggers, policies, comments.
    """

    template: str
    create: tuple[Statement, ...]
    fill: tuple[tuple[Statement, str], ...]
    finish: tuple[Statement, ...]

    def statements(self, schema: str) -> tuple[Statement, ...]:
        """What to run as the role that is to own ``schema``, which may read the template meanwhile."""
        # The template's name is random and 48 characters long: wherever it stands, it is meant.
        renamed = [Statement(each.name, each.text.replace(self.template, schema)) for each in self.create]
        for into, source in self.fill:
            renamed.append(Statement(into.name, into.text.replace(self.template, schema) + source))
        renamed += [Statement(each.name, each.text.replace(self.template, schema)) for each in self.finish]
        return tuple(renamed)


async def read_blueprint(connection: "Connection", schema: str) -> Blueprint:
    """Read everything that is in a schema.

    Args:
        connection: of the schema's own role: what is in it may run code of the repository under test.
        schema: its name.

    Raises:
        DatabaseError: it holds something that cannot be cloned; names each such object.
    """
    async with connection.transaction():
        await connection.execute("SET LOCAL search_path = ''")
        await _refuse_unsupported(connection, schema)
        return Blueprint(
            schema,
            await _created(connection, schema),
            await _filled(connection, schema),
            (*await _sequence_values(connection, schema), *[each async for each in _finished(connection, schema)]),
        )


async def _rows(connection: "Connection", query: LiteralString, schema: str) -> list[tuple[Any, ...]]:
    return await (await connection.execute(query, {"schema": schema})).fetchall()


async def _refuse_unsupported(connection: "Connection", schema: str) -> None:
    found = await _rows(connection, UNSUPPORTED, schema)
    if found:
        listed = ", ".join(f"{kind} {name.replace(f'{schema}.', '')!r}" for kind, name in found)
        raise DatabaseError(
            f"The system's migrations made what the gate cannot clone for each scenario: {listed}.",
            "Install extensions in the database beforehand, in a schema of their own;"
            " leave the others out of the migrations that the adapter runs for the gate.",
        )


async def _created(connection: "Connection", schema: str) -> tuple[Statement, ...]:
    statements: dict[tuple[str, int], Statement] = {}
    for query in CREATED:
        for kind, oid, name, text in await _rows(connection, query, schema):
            statements[kind, oid] = Statement(name, text)
    depends = await _rows(connection, DEPENDENCIES, schema)
    names = {key: statements[key].name for key in sorted(statements, key=lambda key: key[1])}
    order = _creation_order(names, [((a, b), (c, d)) for a, b, c, d in depends])
    return tuple(statements[key] for key in order)


async def _filled(connection: "Connection", schema: str) -> tuple[tuple[Statement, str], ...]:
    filled = []
    for table, columns, values in await _rows(connection, ROWS, schema):
        # Names come quoted from the catalogue itself.
        any_row = await connection.execute(f"SELECT EXISTS (TABLE {table})".encode())
        if columns and await any_row.fetchone() == (True,):
            copied = f"SELECT {values} FROM "  # noqa: S608 - see above
            insert = f"INSERT INTO {table} ({columns}) OVERRIDING SYSTEM VALUE {copied}"
            filled.append((Statement(table, insert), table))
    return tuple(filled)


async def _sequence_values(connection: "Connection", schema: str) -> tuple[Statement, ...]:
    statements = []
    for (sequence,) in await _rows(connection, SEQUENCES, schema):
        values = await connection.execute(f"SELECT last_value, is_called FROM {sequence}")  # noqa: S608 - from the catalogue
        (last, called), *_ = await values.fetchall()
        escaped = sequence.replace("'", "''")
        statements.append(Statement(sequence, f"SELECT pg_catalog.setval('{escaped}', {last}, {called})"))
    return tuple(statements)


async def _finished(connection: "Connection", schema: str) -> AsyncIterator[Statement]:
    for query in (*FINISHED, COMMENTS):
        for name, text in await _rows(connection, query, schema):
            yield Statement(name, text)


def _creation_order(names: Mapping[Key, str], depends: Iterable[tuple[Key, Key]]) -> tuple[Key, ...]:
    """Keys sorted so that each stands after all that it depends on; otherwise in the order given.

    Args:
        names: each object's name, for messages, by its key.
        depends: pairs of an object and one that it depends on; pairs with a key that is not in ``names`` are left out.

    Raises:
        DatabaseError: objects depend on each other in a circle; names them.
    """
    graph: dict[Key, set[Key]] = {key: set() for key in names}
    for key, needed in depends:
        if key in graph and needed in graph and key != needed:
            graph[key].add(needed)
    try:
        return tuple(TopologicalSorter(graph).static_order())
    except CycleError as error:
        circle = ", ".join(repr(names[key]) for key in error.args[1])
        raise DatabaseError(
            f"The schema cannot be cloned: these objects depend on each other in a circle: {circle}.",
            "Break the circle, for example by a column default that calls no function on its own table.",
        ) from None


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
