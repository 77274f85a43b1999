"""Reads a migrated schema once and says how to make it again under another name."""

from collections.abc import AsyncIterator, Hashable, Iterable, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Any, LiteralString, TypeVar

from ratiba_action.errors import DatabaseError
from ratiba_action.tenancy.connections import connected_as_tenant
from ratiba_action.tenancy.definitions import COMMENTS, CREATED, DEPENDENCIES, FINISHED, ROWS, SEQUENCES, UNSUPPORTED

if TYPE_CHECKING:
    from ratiba_action.tenancy.connections import Connection
# ruff: noqa: S608 - all that is put into these queries is the constant below

from typing import TYPE_CHECKING

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
            copied = f"SELECT {values} FROM "
            insert = f"INSERT INTO {table} ({columns}) OVERRIDING SYSTEM VALUE {copied}"
            filled.append((Statement(table, insert), table))
    return tuple(filled)


async def _sequence_values(connection: "Connection", schema: str) -> tuple[Statement, ...]:
    statements = []
    for (sequence,) in await _rows(connection, SEQUENCES, schema):
        values = await connection.execute(f"SELECT last_value, is_called FROM {sequence}")
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


Catalogue = Mapping[str, frozenset[str]]
"""Descriptions of objects by kind; the schema's own name, and its role's, stand as ``<schema>``."""

CLONE_SECONDS = 120.0
"""After which reading a template, or filling or reading a clone, is given up: both run the repository's code."""

_MAX_DIFFERENCES = 5
_BEFORE = "SET LOCAL search_path = ''; SET LOCAL check_function_bodies = off; SET LOCAL client_min_messages = warning"


@dataclass(frozen=True, slots=True)
class Template:
    """A migrated schema."""

    name: str
    blueprint: Blueprint
    contents: Catalogue


async def read_template(dsn: str, name: str) -> Template:
    """Read a schema once its migrations have run.

    Args:
        dsn: of the template's own role.

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
        singly: send each statement by itself, so that an error names its object; else all in one message.

    Raises:
        DatabaseError: PostgreSQL refused a statement; names the object (only with ``singly``).
    """
    import psycopg  # the pytest plug-in and the command line load without it

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
        more = f" and {len(found) - _MAX_DIFFERENCES} more" if len(found) > _MAX_DIFFERENCES else ""
        raise DatabaseError(
            f"A clone of the migrated schema differs from it: {'; '.join(found[:_MAX_DIFFERENCES])}{more}.",
            "Leave these objects out of the migrations that the adapter runs for the gate.",
        )


_S = "%(schema)s::text::regnamespace"

_QUERIES = {
    "relation": f"""
SELECT concat_ws(' ', c.relname, c.relkind, c.relowner::regrole, c.relpersistence, c.reloptions, c.relreplident,
    c.relrowsecurity, c.relforcerowsecurity, c.relispartition, c.relispopulated, c.relam, c.reltablespace)
FROM pg_class c WHERE c.relnamespace = {_S}""",
    "column": f"""
SELECT concat_ws(' ', c.relname, row_number() OVER (PARTITION BY c.oid ORDER BY a.attnum), a.attname,
    format_type(a.atttypid, a.atttypmod), 'collation', a.attcollation::regcollation, 'null', NOT a.attnotnull,
    'identity', a.attidentity, 'generated', a.attgenerated, a.attstorage, a.attcompression, a.attstattarget,
    'default', pg_get_expr(d.adbin, d.adrelid))
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
WHERE c.relnamespace = {_S} AND c.relkind IN ('r', 'p', 'f', 'v', 'm', 'c')""",
    "constraint": f"""
SELECT concat_ws(' ', k.conrelid::regclass, k.contypid::regtype, k.conname, k.contype, k.convalidated,
    pg_get_constraintdef(k.oid)) FROM pg_constraint k WHERE k.connamespace = {_S}""",
    "index": f"""
SELECT concat_ws(' ', pg_get_indexdef(i.indexrelid), i.indisvalid, i.indisprimary, i.indisunique, i.indimmediate)
FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid WHERE c.relnamespace = {_S}""",
    "sequence": f"""
SELECT concat_ws(' ', c.relname, s.seqtypid::regtype, s.seqstart, s.seqincrement, s.seqmin, s.seqmax, s.seqcache,
    s.seqcycle, 'of', d.deptype, d.refobjid::regclass, d.refobjsubid <> 0, 'at', pg_sequence_last_value(c.oid))
FROM pg_class c JOIN pg_sequence s ON s.seqrelid = c.oid
LEFT JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = c.oid
    AND d.refclassid = 'pg_class'::regclass AND d.deptype IN ('a', 'i')
WHERE c.relnamespace = {_S}""",
    "type": f"""
SELECT concat_ws(' ', t.typname, t.typtype, t.typowner::regrole, t.typnotnull, t.typdefault,
    CASE WHEN t.typbasetype <> 0 THEN format_type(t.typbasetype, t.typtypmod) END, t.typcollation::regcollation,
    (SELECT string_agg(quote_literal(e.enumlabel), ',' ORDER BY e.enumsortorder) FROM pg_enum e
     WHERE e.enumtypid = t.oid))
FROM pg_type t WHERE t.typnamespace = {_S}""",
    "routine": f"""
SELECT concat_ws(' ', p.oid::regprocedure, p.prokind, p.proowner::regrole,
    CASE WHEN p.prokind IN ('f', 'p') THEN pg_get_functiondef(p.oid) END)
FROM pg_proc p WHERE p.pronamespace = {_S}""",
    "view": f"""
SELECT concat_ws(' ', c.relname, pg_get_viewdef(c.oid)) FROM pg_class c
WHERE c.relnamespace = {_S} AND c.relkind IN ('v', 'm')""",
    "rule": f"""
SELECT concat_ws(' ', pg_get_ruledef(r.oid), r.ev_enabled) FROM pg_rewrite r JOIN pg_class c ON c.oid = r.ev_class
WHERE c.relnamespace = {_S} AND r.rulename <> '_RETURN'""",
    "trigger": f"""
SELECT concat_ws(' ', pg_get_triggerdef(t.oid), t.tgenabled) FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
WHERE c.relnamespace = {_S} AND NOT t.tgisinternal""",
    "policy": f"""
SELECT concat_ws(' ', c.relname, p.polname, p.polcmd, p.polpermissive, p.polroles::regrole[],
    pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid))
FROM pg_policy p JOIN pg_class c ON c.oid = p.polrelid WHERE c.relnamespace = {_S}""",
    "statistics": f"""
SELECT pg_get_statisticsobjdef(s.oid) FROM pg_statistic_ext s WHERE s.stxnamespace = {_S}""",
    "comment": """
SELECT concat_ws(' ', i.type, i.identity, d.description)
FROM pg_description d CROSS JOIN LATERAL pg_identify_object(d.classoid, d.objoid, d.objsubid) i
WHERE d.classoid <> 'pg_namespace'::regclass AND (i.schema = %(schema)s OR starts_with(i.identity, %(schema)s)
    OR i.identity LIKE '%% on ' || %(schema)s || '.%%')""",
}

_TABLES = f"""
SELECT c.oid::regclass::text FROM pg_class c WHERE c.relnamespace = {_S} AND c.relkind IN ('r', 'm')
AND c.relispopulated"""


async def catalogue(connection: "Connection", schema: str) -> Catalogue:
    """Everything in a schema, rows included, as comparable text.

    Args:
        connection: of the schema's own role: counting the rows may run the repository's code.
    """
    async with connection.transaction():
        await connection.execute("SET LOCAL search_path = ''")
        found = {kind: await _described(connection, query, schema) for kind, query in _QUERIES.items()}
        rows = []
        for (table,) in await (await connection.execute(_TABLES, {"schema": schema})).fetchall():
            # The name comes quoted from the catalogue itself.
            digest = (
                f"SELECT concat_ws(' ', count(*), md5(string_agg(t::text, chr(10) ORDER BY t::text))) FROM {table} t"
            )
            for (text,) in await (await connection.execute(digest.encode())).fetchall():
                rows.append(f"{table} {text}".replace(schema, "<schema>"))
        return {**found, "rows": frozenset(rows)}


async def _described(connection: "Connection", query: str, schema: str) -> frozenset[str]:
    rows = await (await connection.execute(query.encode(), {"schema": schema})).fetchall()
    return frozenset(text.replace(schema, "<schema>") for (text,) in rows)


def differences(template: Catalogue, clone: Catalogue) -> tuple[str, ...]:
    """What only one of two schemas has, in words; empty when they are equal."""
    found = []
    for kind in sorted(template.keys() | clone.keys()):
        ours, theirs = template.get(kind, frozenset()), clone.get(kind, frozenset())
        found += [f"{kind} only in the template: {text!r}" for text in sorted(ours - theirs)]
        found += [f"{kind} only in the clone: {text!r}" for text in sorted(theirs - ours)]
    return tuple(found)
