-- The tables of a schema, each with the relations that hold its rows: itself, or its partitions with theirs. Left out are
-- views and foreign tables, which keep no rows here, temporary tables, and what belongs to an extension.
WITH RECURSIVE tables AS (
  SELECT c.oid, c.relname, c.relkind
  FROM pg_class AS c
  WHERE c.relnamespace = (SELECT n.oid FROM pg_namespace AS n WHERE n.nspname = {{ database | text }})
    AND c.relkind IN ('r', 'p')
    AND c.relpersistence <> 't'
    AND NOT c.relispartition
    AND NOT EXISTS (
      SELECT FROM pg_depend AS d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e'
    )
),
{% if timescaledb %}
-- Chunks are children of their hypertable, and no partitions in the server's own sense.
hypertables AS (
  SELECT tables.oid, tables.relname
  FROM tables
  JOIN timescaledb_information.hypertables AS h
    ON h.hypertable_schema = {{ database | text }} AND h.hypertable_name = tables.relname
),
{% endif %}
tree AS (
  SELECT tables.relname AS measurement, tables.oid AS root, tables.oid AS relation
  FROM tables
  UNION ALL
  SELECT tree.measurement, tree.root, part.oid
  FROM tree
  JOIN pg_inherits AS i ON i.inhparent = tree.relation
  JOIN pg_class AS part ON part.oid = i.inhrelid
  WHERE part.relispartition{% if timescaledb %} OR i.inhparent IN (SELECT hypertables.oid FROM hypertables){% endif %}

),
-- To ask for the size of what somebody changes would be to wait for them.
locked AS MATERIALIZED (
  SELECT DISTINCT l.relation
  FROM pg_locks AS l
  WHERE l.locktype = 'relation'  -- rows may be locked in the same mode
    AND l.mode = 'AccessExclusiveLock'
    AND l.database = (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database())
)
