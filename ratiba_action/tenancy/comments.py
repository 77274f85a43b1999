"""Query for the comments of a schema's objects, as statements; the schema's own comment is the gate's."""

# ruff: noqa: S608 - all that is put into these queries is the constant below

_IN_SCHEMA = "%(schema)s::text::regnamespace"

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
