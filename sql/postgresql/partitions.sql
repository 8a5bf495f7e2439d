-- fact: partitions
-- columns: measurement, key, partition, bounds, rows, bytes, schema
-- cost: catalog, counters, and the sizes of the files; a partition that somebody holds locked is passed over
-- grant: CONNECT on the database
-- versions: 14 and later; tried on 15 and 18
-- link: https://www.postgresql.org/docs/current/ddl-partitioning.html
{% include "_tree.sql" %},
{% if timescaledb %}
{% include "_chunks.sql" %}
,
{% endif %}
parts AS (
  SELECT tables.relname AS measurement, tables.oid AS root, i.inhrelid AS part, i.inhrelid AS relation
  FROM tables
  JOIN pg_inherits AS i ON i.inhparent = tables.oid
  WHERE tables.relkind = 'p'
  UNION ALL
  SELECT parts.measurement, parts.root, parts.part, i.inhrelid
  FROM parts
  JOIN pg_inherits AS i ON i.inhparent = parts.relation
),
leaves AS (
  SELECT
    parts.part,
    greatest(
      nullif(c.reltuples, -1),
      {% include "_live_rows.sql" %},
      CASE WHEN locked.relation IS NULL AND pg_relation_size(c.oid) = 0 THEN 0 END
    ) AS rows,
    CASE WHEN locked.relation IS NULL THEN pg_table_size(c.oid) END AS bytes
  FROM parts
  JOIN pg_class AS c ON c.oid = parts.relation AND c.relkind = 'r'
  LEFT JOIN pg_stat_all_tables AS s ON s.relid = c.oid
  LEFT JOIN locked ON locked.relation = c.oid
),
sums AS (
  SELECT
    part,
    CASE WHEN bool_and(rows IS NOT NULL) THEN CAST(sum(rows) AS BIGINT) END AS rows,
    CASE WHEN bool_and(bytes IS NOT NULL) THEN CAST(sum(bytes) AS BIGINT) END AS bytes
  FROM leaves
  GROUP BY part
)
SELECT
  parts.measurement,
  -- RANGE ("time") becomes "time": the columns or expressions as PostgreSQL writes them, names unquoted.
  coalesce(
    (
      SELECT string_agg(a.attname, ', ' ORDER BY member.position)
      FROM unnest(CAST(p.partattrs AS INT2[])) WITH ORDINALITY AS member (attnum, position)
      JOIN pg_attribute AS a ON a.attrelid = p.partrelid AND a.attnum = member.attnum
      HAVING count(*) = p.partnatts
    ),
    -- To have an expression written out would be to wait for a lock.
    CASE
      WHEN p.partrelid NOT IN (SELECT locked.relation FROM locked)
        THEN regexp_replace(pg_get_partkeydef(p.partrelid), '^\w+ \((.*)\)$', '\1')
    END
  ) AS key,
  c.relname AS partition,
  CASE
    WHEN c.oid = p.partdefid THEN 'DEFAULT'
    WHEN c.oid IN (SELECT locked.relation FROM locked) THEN ''
    ELSE pg_get_expr(c.relpartbound, c.oid)
  END AS bounds,
  sums.rows,
  sums.bytes,
  -- An index is created in the schema of its table, and a partition in the one that the others are in.
  CASE WHEN c.relnamespace <> root.relnamespace THEN n.nspname END AS schema
FROM parts
JOIN pg_partitioned_table AS p ON p.partrelid = parts.root
JOIN pg_class AS root ON root.oid = parts.root
JOIN pg_class AS c ON c.oid = parts.part
JOIN pg_namespace AS n ON n.oid = c.relnamespace
LEFT JOIN sums ON sums.part = parts.part
WHERE parts.relation = parts.part
{% if timescaledb %}
UNION ALL
SELECT
  chunks.measurement,
  (
    SELECT string_agg(d.column_name, ', ' ORDER BY d.dimension_number)
    FROM timescaledb_information.dimensions AS d
    WHERE d.hypertable_schema = {{ database | text }} AND d.hypertable_name = chunks.measurement
  ) AS key,
  chunks.name,
  chunks.bounds,
  CAST(
    greatest(
      nullif(c.reltuples, -1),
      {% include "_live_rows.sql" %},
      CASE WHEN chunks.is_compressed THEN nullif({{ timescaledb | name }}.approximate_row_count(c.oid), 0) END
    ) AS BIGINT
  ),
  chunk_sizes.data_bytes,
  CAST(NULL AS TEXT)
FROM chunks
JOIN pg_class AS c ON c.oid = chunks.relation
LEFT JOIN pg_stat_all_tables AS s ON s.relid = c.oid
LEFT JOIN chunk_sizes ON chunk_sizes.relation = chunks.relation
{% endif %}
ORDER BY measurement, partition
