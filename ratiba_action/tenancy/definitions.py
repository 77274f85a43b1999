"""Queries that turn a schema's catalogue into the statements that create it again.

Each takes ``%(schema)s``, the schema's name, and is run with an empty search path so that PostgreSQL qualifies every
name that it prints. Those of ``CREATED`` return catalogue, oid, name and statement; those of ``FINISHED`` name and
statement.
"""


# ruff: noqa: S608 - all that is put into these queries is the constant below

_IN_SCHEMA = "%(schema)s::text::regnamespace"

_ENUM = f"""
SELECT 'pg_type', t.oid, t.oid::regtype::text, format('CREATE TYPE %%s AS ENUM (%%s)', t.oid::regtype, coalesce((
    SELECT string_agg(quote_literal(e.enumlabel), ', ' ORDER BY e.enumsortorder) FROM pg_enum e
    WHERE e.enumtypid = t.oid), ''))
FROM pg_type t WHERE t.typnamespace = {_IN_SCHEMA} AND t.typtype = 'e'"""

_DOMAIN = f"""
SELECT 'pg_type', t.oid, t.oid::regtype::text, concat(
    'CREATE DOMAIN ', t.oid::regtype, ' AS ', format_type(t.typbasetype, t.typtypmod),
    CASE WHEN t.typcollation <> b.typcollation THEN ' COLLATE ' || t.typcollation::regcollation END,
    ' DEFAULT ' || pg_get_expr(t.typdefaultbin, 0),
    CASE WHEN t.typnotnull THEN ' NOT NULL' END,
    (SELECT string_agg(format(' CONSTRAINT %%I %%s', c.conname, pg_get_constraintdef(c.oid)), '' ORDER BY c.conname)
     FROM pg_constraint c WHERE c.contypid = t.oid AND c.contype = 'c'))
FROM pg_type t JOIN pg_type b ON b.oid = t.typbasetype WHERE t.typnamespace = {_IN_SCHEMA} AND t.typtype = 'd'"""

_COMPOSITE = f"""
SELECT 'pg_type', t.oid, t.oid::regtype::text, format('CREATE TYPE %%s AS (%%s)', t.oid::regtype, (
    SELECT string_agg(concat(quote_ident(a.attname), ' ', format_type(a.atttypid, a.atttypmod),
        CASE WHEN a.attcollation <> y.typcollation THEN ' COLLATE ' || a.attcollation::regcollation END),
        ', ' ORDER BY a.attnum)
    FROM pg_attribute a JOIN pg_type y ON y.oid = a.atttypid
    WHERE a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped))
FROM pg_type t JOIN pg_class c ON c.oid = t.typrelid
WHERE t.typnamespace = {_IN_SCHEMA} AND t.typtype = 'c' AND c.relkind = 'c'"""

_SEQUENCE = f"""
SELECT 'pg_class', c.oid, c.oid::regclass::text, concat(
    'CREATE ', CASE c.relpersistence WHEN 'u' THEN 'UNLOGGED ' END, 'SEQUENCE ', c.oid::regclass,
    ' AS ', s.seqtypid::regtype, ' INCREMENT BY ', s.seqincrement, ' MINVALUE ', s.seqmin, ' MAXVALUE ', s.seqmax,
    ' START WITH ', s.seqstart, ' CACHE ', s.seqcache, CASE WHEN s.seqcycle THEN ' CYCLE' END)
FROM pg_class c JOIN pg_sequence s ON s.seqrelid = c.oid
WHERE c.relnamespace = {_IN_SCHEMA} AND NOT EXISTS (
    SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'i')"""

_COLUMN = """concat(quote_ident(a.attname), ' ', format_type(a.atttypid, a.atttypmod),
    CASE WHEN a.attcollation <> y.typcollation THEN ' COLLATE ' || a.attcollation::regcollation END,
    CASE WHEN a.attgenerated = '' THEN ' DEFAULT ' || pg_get_expr(d.adbin, d.adrelid)
         ELSE format(' GENERATED ALWAYS AS (%%s) %%s', pg_get_expr(d.adbin, d.adrelid),
                     CASE a.attgenerated WHEN 's' THEN 'STORED' ELSE 'VIRTUAL' END) END,
    CASE WHEN a.attidentity <> '' THEN (
        SELECT format(' GENERATED %%s AS IDENTITY (SEQUENCE NAME %%s INCREMENT BY %%s MINVALUE %%s MAXVALUE %%s'
                      ' START WITH %%s CACHE %%s %%s)',
                      CASE a.attidentity WHEN 'a' THEN 'ALWAYS' ELSE 'BY DEFAULT' END, q.seqrelid::regclass,
                      q.seqincrement, q.seqmin, q.seqmax, q.seqstart, q.seqcache,
                      CASE WHEN q.seqcycle THEN 'CYCLE' ELSE 'NO CYCLE' END)
        FROM pg_depend p JOIN pg_sequence q ON q.seqrelid = p.objid
        WHERE p.classid = 'pg_class'::regclass AND p.refclassid = 'pg_class'::regclass AND p.refobjid = c.oid
          AND p.refobjsubid = a.attnum AND p.deptype = 'i') END,
    CASE WHEN a.attnotnull AND NOT EXISTS (
        SELECT FROM pg_constraint n WHERE n.conrelid = c.oid AND n.contype = 'n' AND n.conkey[1] = a.attnum)
    THEN ' NOT NULL' END)"""

_TABLE = f"""
SELECT 'pg_class', c.oid, c.oid::regclass::text, concat(
    'CREATE ', CASE c.relpersistence WHEN 'u' THEN 'UNLOGGED ' END, 'TABLE ', c.oid::regclass, ' (', concat_ws(', ',
    (SELECT string_agg({_COLUMN}, ', ' ORDER BY a.attnum)
     FROM pg_attribute a JOIN pg_type y ON y.oid = a.atttypid
     LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
     WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
    (SELECT string_agg(format('CONSTRAINT %%I %%s', k.conname, pg_get_constraintdef(k.oid)), ', '
                       ORDER BY k.contype, k.conname)
     FROM pg_constraint k
     WHERE k.conrelid = c.oid AND k.contype IN ('n', 'c', 'p', 'u', 'x') AND k.convalidated)),
    ')', ' WITH (' || array_to_string(c.reloptions, ', ') || ')')
FROM pg_class c WHERE c.relnamespace = {_IN_SCHEMA} AND c.relkind = 'r'"""

_FUNCTION = f"""
SELECT 'pg_proc', p.oid, p.oid::regprocedure::text, pg_get_functiondef(p.oid)
FROM pg_proc p WHERE p.pronamespace = {_IN_SCHEMA} AND p.prokind IN ('f', 'p')"""

_VIEW = f"""
SELECT 'pg_class', c.oid, c.oid::regclass::text, concat(
    'CREATE ', CASE c.relkind WHEN 'm' THEN 'MATERIALIZED ' END, 'VIEW ', c.oid::regclass,
    ' WITH (' || array_to_string(c.reloptions, ', ') || ')',
    ' AS ', rtrim(pg_get_viewdef(c.oid), ';'), CASE c.relkind WHEN 'm' THEN ' WITH NO DATA' END)
FROM pg_class c WHERE c.relnamespace = {_IN_SCHEMA} AND c.relkind IN ('v', 'm')"""

CREATED = (_ENUM, _DOMAIN, _COMPOSITE, _SEQUENCE, _TABLE, _FUNCTION, _VIEW)
"""What stands before the rows; in no order yet."""

_OWNED_SEQUENCE = f"""
SELECT c.oid::regclass::text, format('ALTER SEQUENCE %%s OWNED BY %%s.%%I', c.oid::regclass, a.attrelid::regclass,
    a.attname)
FROM pg_class c JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'a'
    AND d.refclassid = 'pg_class'::regclass
JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
WHERE c.relnamespace = {_IN_SCHEMA} AND c.relkind = 'S'"""

_STORAGE = f"""
SELECT c.oid::regclass::text, format('ALTER TABLE %%s ALTER COLUMN %%I SET %%s', c.oid::regclass, a.attname, s.setting)
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
JOIN pg_type t ON t.oid = a.atttypid
CROSS JOIN LATERAL (VALUES
    (CASE WHEN a.attstorage <> t.typstorage THEN 'STORAGE ' || CASE a.attstorage WHEN 'p' THEN 'PLAIN'
        WHEN 'e' THEN 'EXTERNAL' WHEN 'm' THEN 'MAIN' ELSE 'EXTENDED' END END),
    (CASE a.attcompression WHEN 'p' THEN 'COMPRESSION pglz' WHEN 'l' THEN 'COMPRESSION lz4' END),
    (CASE WHEN a.attstattarget >= 0 THEN 'STATISTICS ' || a.attstattarget END)) s (setting)
WHERE c.relnamespace = {_IN_SCHEMA} AND c.relkind = 'r' AND s.setting IS NOT NULL"""

_INDEX = f"""
SELECT i.indexrelid::regclass::text, pg_get_indexdef(i.indexrelid)
FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
WHERE c.relnamespace = {_IN_SCHEMA} AND NOT EXISTS (
    SELECT FROM pg_constraint k WHERE k.conindid = i.indexrelid AND k.contype IN ('p', 'u', 'x'))
ORDER BY i.indexrelid"""

_CONSTRAINT = f"""
SELECT k.conname, format('ALTER TABLE %%s ADD CONSTRAINT %%I %%s', k.conrelid::regclass, k.conname,
    pg_get_constraintdef(k.oid))
FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
WHERE c.relnamespace = {_IN_SCHEMA} AND (k.contype = 'f' OR k.contype IN ('c', 'n') AND NOT k.convalidated)
ORDER BY k.oid"""

_STATISTICS = f"""
SELECT s.stxname, pg_get_statisticsobjdef(s.oid) FROM pg_statistic_ext s WHERE s.stxnamespace = {_IN_SCHEMA}"""

_REPLICA_IDENTITY = f"""
SELECT c.oid::regclass::text, concat('ALTER TABLE ', c.oid::regclass, ' REPLICA IDENTITY ', CASE c.relreplident
    WHEN 'f' THEN 'FULL' WHEN 'n' THEN 'NOTHING' ELSE 'USING INDEX ' || (
        SELECT quote_ident(x.relname) FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid
        WHERE i.indrelid = c.oid AND i.indisreplident) END)
FROM pg_class c WHERE c.relnamespace = {_IN_SCHEMA} AND c.relkind = 'r' AND c.relreplident <> 'd'"""

_RULE = f"""
SELECT r.rulename, pg_get_ruledef(r.oid) FROM pg_rewrite r JOIN pg_class c ON c.oid = r.ev_class
WHERE c.relnamespace = {_IN_SCHEMA} AND r.rulename <> '_RETURN'"""

_TRIGGER = f"""
SELECT t.tgname, pg_get_triggerdef(t.oid) || CASE t.tgenabled WHEN 'O' THEN '' ELSE format(
    '; ALTER TABLE %%s %%s TRIGGER %%I', t.tgrelid::regclass, CASE t.tgenabled WHEN 'D' THEN 'DISABLE'
    WHEN 'R' THEN 'ENABLE REPLICA' ELSE 'ENABLE ALWAYS' END, t.tgname) END
FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
WHERE c.relnamespace = {_IN_SCHEMA} AND NOT t.tgisinternal"""

_ROW_SECURITY = f"""
SELECT c.oid::regclass::text, format('ALTER TABLE %%s ENABLE ROW LEVEL SECURITY', c.oid::regclass)
FROM pg_class c WHERE c.relnamespace = {_IN_SCHEMA} AND c.relrowsecurity
UNION ALL
SELECT c.oid::regclass::text, format('ALTER TABLE %%s FORCE ROW LEVEL SECURITY', c.oid::regclass)
FROM pg_class c WHERE c.relnamespace = {_IN_SCHEMA} AND c.relforcerowsecurity"""

_POLICY = f"""
SELECT p.polname, concat(
    format('CREATE POLICY %%I ON %%s AS %%s FOR %%s TO %%s', p.polname, p.polrelid::regclass,
        CASE WHEN p.polpermissive THEN 'PERMISSIVE' ELSE 'RESTRICTIVE' END,
        CASE p.polcmd WHEN 'r' THEN 'SELECT' WHEN 'a' THEN 'INSERT' WHEN 'w' THEN 'UPDATE' WHEN 'd' THEN 'DELETE'
            ELSE 'ALL' END,
        (SELECT string_agg(CASE o WHEN 0 THEN 'PUBLIC' ELSE o::regrole::text END, ', ') FROM unnest(p.polroles) o)),
    ' USING (' || pg_get_expr(p.polqual, p.polrelid) || ')',
    ' WITH CHECK (' || pg_get_expr(p.polwithcheck, p.polrelid) || ')')
FROM pg_policy p JOIN pg_class c ON c.oid = p.polrelid WHERE c.relnamespace = {_IN_SCHEMA}"""

_REFRESH = f"""
SELECT c.oid::regclass::text, format('REFRESH MATERIALIZED VIEW %%s', c.oid::regclass)
FROM pg_class c WHERE c.relnamespace = {_IN_SCHEMA} AND c.relkind = 'm' AND c.relispopulated ORDER BY c.oid"""

FINISHED = (
    *(_OWNED_SEQUENCE, _STORAGE, _INDEX, _CONSTRAINT, _STATISTICS, _REPLICA_IDENTITY),
    *(_REFRESH, _RULE, _TRIGGER, _POLICY, _ROW_SECURITY),
)
"""What stands after the rows, in this order."""

_WRITABLE = """FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid LEFT JOIN pg_type e ON e.oid = t.typelem
    WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''"""

ROWS = f"""
SELECT c.oid::regclass::text, (SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum) {_WRITABLE}), (
    SELECT string_agg(quote_ident(a.attname) || CASE WHEN {_IN_SCHEMA} IN (t.typnamespace, e.typnamespace)
        THEN '::text::' || format_type(a.atttypid, a.atttypmod) ELSE '' END, ', ' ORDER BY a.attnum) {_WRITABLE})
FROM pg_class c WHERE c.relnamespace = {_IN_SCHEMA} AND c.relkind = 'r' ORDER BY c.oid"""
"""Each table, its columns that can be written, and how to select them: the clone's types are not the template's."""

SEQUENCES = f"""
SELECT c.oid::regclass::text FROM pg_class c WHERE c.relnamespace = {_IN_SCHEMA} AND c.relkind = 'S' ORDER BY c.oid"""
"""Each sequence, those of identity columns too."""

COMMENTS = f"""
WITH described (name, target, classoid, objoid, objsubid) AS (
    SELECT c.relname, concat(CASE c.relkind WHEN 'r' THEN 'TABLE' WHEN 'v' THEN 'VIEW' WHEN 'S' THEN 'SEQUENCE'
        WHEN 'm' THEN 'MATERIALIZED VIEW' WHEN 'i' THEN 'INDEX' END, ' ', c.oid::regclass),
        'pg_class'::regclass, c.oid, 0
    FROM pg_class c WHERE c.relnamespace = {_IN_SCHEMA} AND c.relkind IN ('r', 'v', 'S', 'm', 'i')
    UNION ALL
    SELECT a.attname, format('COLUMN %%s.%%I', a.attrelid::regclass, a.attname), 'pg_class'::regclass, c.oid, a.attnum
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
    WHERE c.relnamespace = {_IN_SCHEMA} AND c.relkind IN ('r', 'v', 'm', 'c')
    UNION ALL
    SELECT t.typname, concat(CASE t.typtype WHEN 'd' THEN 'DOMAIN ' ELSE 'TYPE ' END, t.oid::regtype),
        'pg_type'::regclass, t.oid, 0
    FROM pg_type t WHERE t.typnamespace = {_IN_SCHEMA}
    UNION ALL
    SELECT p.proname, concat('ROUTINE ', p.oid::regprocedure), 'pg_proc'::regclass, p.oid, 0
    FROM pg_proc p WHERE p.pronamespace = {_IN_SCHEMA}
    UNION ALL
    SELECT k.conname, format('CONSTRAINT %%I ON %%s', k.conname, CASE k.contypid WHEN 0 THEN k.conrelid::regclass::text
        ELSE 'DOMAIN ' || k.contypid::regtype END), 'pg_constraint'::regclass, k.oid, 0
    FROM pg_constraint k WHERE k.connamespace = {_IN_SCHEMA}
    UNION ALL
    SELECT t.tgname, format('TRIGGER %%I ON %%s', t.tgname, t.tgrelid::regclass), 'pg_trigger'::regclass, t.oid, 0
    FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid WHERE c.relnamespace = {_IN_SCHEMA} AND NOT t.tgisinternal
    UNION ALL
    SELECT p.polname, format('POLICY %%I ON %%s', p.polname, p.polrelid::regclass), 'pg_policy'::regclass, p.oid, 0
    FROM pg_policy p JOIN pg_class c ON c.oid = p.polrelid WHERE c.relnamespace = {_IN_SCHEMA}
)
SELECT x.name, format('COMMENT ON %%s IS %%L', x.target, d.description)
FROM described x JOIN pg_description d
    ON d.classoid = x.classoid AND d.objoid = x.objoid AND d.objsubid = x.objsubid"""
"""Comments of a schema's objects, as name and statement; the schema's own comment is the gate's."""


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
