"""What a schema holds, spelled so that a clone can be compared with its template."""

# ruff: noqa: S608 - all that is put into these queries is the constant below

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ratiba_action.tenancy.connections import Connection

Catalogue = Mapping[str, frozenset[str]]
"""Descriptions of objects by kind; the schema's own name, and its role's, stand as ``<schema>``."""

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
        schema: its name.
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
