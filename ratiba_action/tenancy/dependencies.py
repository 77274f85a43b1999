"""Queries about a schema's objects: what depends on what, and what cannot be cloned."""

# ruff: noqa: S608 - all that is put into these queries is the constant below

_IN_SCHEMA = "%(schema)s::text::regnamespace"

DEPENDENCIES = f"""
WITH type_of (oid, catalogue, node) AS (
    SELECT t.oid, CASE WHEN c.relkind IN ('r', 'v', 'm') THEN 'pg_class' ELSE 'pg_type' END,
        CASE WHEN c.relkind IN ('r', 'v', 'm') THEN c.oid ELSE t.oid END
    FROM pg_type t LEFT JOIN pg_class c ON c.oid = t.typrelid WHERE t.typnamespace = {_IN_SCHEMA}
), part (classid, objid, catalogue, node) AS (
    SELECT 'pg_class'::regclass::oid, c.oid, 'pg_class', c.oid FROM pg_class c
    WHERE c.relnamespace = {_IN_SCHEMA} AND c.relkind IN ('r', 'v', 'm', 'S')
    UNION ALL SELECT 'pg_class'::regclass, t.typrelid, 'pg_type', t.oid FROM pg_type t JOIN pg_class c
        ON c.oid = t.typrelid WHERE t.typnamespace = {_IN_SCHEMA} AND c.relkind = 'c'
    UNION ALL SELECT 'pg_type'::regclass, oid, catalogue, node FROM type_of
    UNION ALL SELECT 'pg_type'::regclass, t.typarray, x.catalogue, x.node
        FROM type_of x JOIN pg_type t ON t.oid = x.oid WHERE t.typarray <> 0
    UNION ALL SELECT 'pg_proc'::regclass, p.oid, 'pg_proc', p.oid FROM pg_proc p WHERE p.pronamespace = {_IN_SCHEMA}
    UNION ALL SELECT 'pg_attrdef'::regclass, d.oid, 'pg_class', d.adrelid FROM pg_attrdef d
    UNION ALL SELECT 'pg_rewrite'::regclass, r.oid, 'pg_class', r.ev_class FROM pg_rewrite r
        WHERE r.rulename = '_RETURN'
    UNION ALL SELECT 'pg_constraint'::regclass, k.oid, CASE k.contypid WHEN 0 THEN 'pg_class' ELSE 'pg_type' END,
        CASE k.contypid WHEN 0 THEN k.conrelid ELSE k.contypid END
        FROM pg_constraint k WHERE k.connamespace = {_IN_SCHEMA} AND k.contype <> 'f'
)
SELECT DISTINCT a.catalogue, a.node, b.catalogue, b.node
FROM pg_depend d
JOIN part a ON a.classid = d.classid AND a.objid = d.objid
JOIN part b ON b.classid = d.refclassid AND b.objid = d.refobjid
WHERE (a.catalogue, a.node) <> (b.catalogue, b.node) AND NOT (
    d.deptype = 'a' AND d.classid = 'pg_class'::regclass AND EXISTS (
        SELECT FROM pg_class s WHERE s.oid = d.objid AND s.relkind = 'S'))"""
"""Pairs of objects (catalogue, oid, catalogue, oid): the first needs the second. A table's owning of a sequence is
left out: it is declared afterwards."""

UNSUPPORTED = f"""
SELECT CASE WHEN c.relkind = 'f' THEN 'foreign table' WHEN c.relkind = 'p' OR c.relispartition THEN 'partitioned table'
    WHEN c.reloftype <> 0 THEN 'typed table' ELSE 'inherited table' END, c.oid::regclass::text
FROM pg_class c WHERE c.relnamespace = {_IN_SCHEMA} AND c.relkind IN ('r', 'p', 'f') AND (
    c.relkind IN ('p', 'f') OR c.relispartition OR c.reloftype <> 0
    OR EXISTS (SELECT FROM pg_inherits h WHERE h.inhrelid = c.oid OR h.inhparent = c.oid))
UNION ALL SELECT 'range or base type', t.oid::regtype::text FROM pg_type t
    WHERE t.typnamespace = {_IN_SCHEMA} AND (t.typtype IN ('r', 'p') OR t.typtype = 'b' AND t.typcategory <> 'A')
UNION ALL SELECT 'aggregate or window function', p.oid::regprocedure::text FROM pg_proc p
    WHERE p.pronamespace = {_IN_SCHEMA} AND p.prokind IN ('a', 'w')
UNION ALL SELECT 'operator', o.oid::regoperator::text FROM pg_operator o WHERE o.oprnamespace = {_IN_SCHEMA}
UNION ALL SELECT 'operator class', o.opcname FROM pg_opclass o WHERE o.opcnamespace = {_IN_SCHEMA}
UNION ALL SELECT 'operator family', o.opfname FROM pg_opfamily o WHERE o.opfnamespace = {_IN_SCHEMA}
UNION ALL SELECT 'collation', o.collname FROM pg_collation o WHERE o.collnamespace = {_IN_SCHEMA}
UNION ALL SELECT 'conversion', o.conname FROM pg_conversion o WHERE o.connamespace = {_IN_SCHEMA}
UNION ALL SELECT 'text search configuration', o.cfgname FROM pg_ts_config o WHERE o.cfgnamespace = {_IN_SCHEMA}
UNION ALL SELECT 'text search dictionary', o.dictname FROM pg_ts_dict o WHERE o.dictnamespace = {_IN_SCHEMA}
UNION ALL SELECT 'extension', e.extname FROM pg_extension e WHERE e.extnamespace = {_IN_SCHEMA}
UNION ALL (SELECT 'large object', l.oid::text FROM pg_largeobject_metadata l
    WHERE l.lomowner = (SELECT s.nspowner FROM pg_namespace s WHERE s.oid = {_IN_SCHEMA}) LIMIT 1)
UNION ALL SELECT 'other schema', n.nspname FROM pg_namespace n
    WHERE n.nspowner = (SELECT s.nspowner FROM pg_namespace s WHERE s.oid = {_IN_SCHEMA})
    AND n.oid <> {_IN_SCHEMA}
ORDER BY 1, 2"""
"""Kind and name of each object that a clone would lack."""
