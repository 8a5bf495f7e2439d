-- fact: table_status
-- columns: measurement, kind, name, value, text
-- cost: catalog and counters, and the statistics of columns
-- grant: CONNECT on the database; SELECT on the tables for the statistics of columns, on sequences for their last ID
-- versions: 14 and later; tried on 15 and 18
-- link: https://www.postgresql.org/docs/current/monitoring-stats.html#MONITORING-PG-STAT-ALL-TABLES-VIEW
{% include "_tree.sql" %},
leaves AS (
  SELECT
    tree.measurement,
    c.oid,
    c.relname,
    c.relnamespace,
    c.relkind,
    c.relnatts,
    -- What was deleted since the last ANALYZE, only the counters know, if they began before the rows came.
    CASE
      WHEN s.n_tup_del > 0 AND s.n_tup_ins >= c.reltuples THEN s.n_live_tup
      ELSE greatest(c.reltuples, s.n_live_tup, 0)
    END AS live_rows,
    CASE WHEN locked.relation IS NULL THEN pg_relation_size(c.oid) END AS heap_bytes,
    s.seq_tup_read,
    s.n_tup_ins,
    s.n_tup_upd,
    s.n_tup_del,
    s.n_dead_tup,
    greatest(s.last_vacuum, s.last_autovacuum) AS vacuumed
  FROM tree
  JOIN pg_class AS c ON c.oid = tree.relation
  LEFT JOIN pg_stat_all_tables AS s ON s.relid = c.oid
  LEFT JOIN locked ON locked.relation = c.oid
),
sums AS (
  SELECT
    measurement,
    max(relnatts) AS columns_used,
    sum(live_rows) FILTER (WHERE relkind = 'r') AS live_rows,
    sum(seq_tup_read) AS rows_scanned,
    sum(n_tup_ins) AS rows_inserted,
    sum(n_tup_upd) AS rows_updated,
    sum(n_tup_del) AS rows_deleted,
    sum(n_dead_tup) AS dead_rows,
    CASE WHEN bool_and(heap_bytes IS NOT NULL) THEN sum(heap_bytes) END AS heap_bytes,
    max(vacuumed) AS vacuumed
  FROM leaves
  GROUP BY measurement
),
of_columns AS (
  SELECT
    leaves.measurement,
    a.attname,
    sum(st.avg_width * (1 - st.null_frac) * leaves.live_rows) / nullif(sum(leaves.live_rows), 0) AS width,
    CASE
      WHEN count(*) FILTER (WHERE leaves.live_rows > 0) = 1
        THEN max(greatest(st.null_frac, (CAST(st.most_common_freqs AS FLOAT8[]))[1]))
    END AS common,
    -- In which direction makes no difference to an index.
    sum(abs(st.correlation) * leaves.live_rows) FILTER (
      WHERE t.typcategory = 'D'
        OR t.typname IN ('int4', 'int8')
        OR EXISTS (
          SELECT
          FROM pg_index AS i
          JOIN pg_class AS c ON c.oid = i.indexrelid
          JOIN pg_am AS am ON am.oid = c.relam AND am.amname = 'brin'
          WHERE i.indrelid = leaves.oid AND i.indkey[0] = a.attnum
        )
    ) / nullif(sum(leaves.live_rows) FILTER (WHERE st.correlation IS NOT NULL), 0) AS correlation,
    -- The highest bound may be a value that stands for none.
    max(
      CASE WHEN kind.oid IN ('int2'::regtype, 'int4'::regtype) THEN
        CAST((CAST(CAST(st.histogram_bounds AS TEXT) AS TEXT[]))[array_upper(st.histogram_bounds, 1) - 1] AS INT8)
      END
    ) FILTER (WHERE st.correlation >= 0.9) AS highest,
    max(CASE kind.oid WHEN 'int2'::regtype THEN 32767 WHEN 'int4'::regtype THEN 2147483647 END) AS most
  FROM leaves
  JOIN pg_attribute AS a ON a.attrelid = leaves.oid AND a.attnum > 0 AND NOT a.attisdropped
  JOIN pg_type AS t ON t.oid = a.atttypid
  JOIN pg_type AS kind ON kind.oid = CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END
  JOIN pg_namespace AS n ON n.oid = leaves.relnamespace
  JOIN pg_stats AS st
    ON st.schemaname = n.nspname AND st.tablename = leaves.relname AND st.attname = a.attname AND NOT st.inherited
  WHERE leaves.relkind = 'r'
  GROUP BY leaves.measurement, a.attname
),
-- Columns whose values a sequence gives, with the last one. Sequences that begin again, or count down, have no end.
ids AS (
  SELECT
    tables.relname AS measurement,
    a.attname,
    coalesce(
      CASE
        WHEN has_sequence_privilege(q.seqrelid, 'SELECT, USAGE')
          AND NOT EXISTS (
            SELECT
            FROM pg_locks AS l
            WHERE l.relation = q.seqrelid
              AND l.database = (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database())
              AND l.mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
          )
          THEN pg_sequence_last_value(q.seqrelid)
      END,
      -- Without the right to read it: near the highest one, as ANALYZE saw it.
      CASE
        WHEN kind.oid IN ('int2'::regtype, 'int4'::regtype, 'int8'::regtype) THEN (
          SELECT max(CAST((CAST(CAST(st.histogram_bounds AS TEXT) AS TEXT[]))[array_upper(st.histogram_bounds, 1)] AS INT8))
          FROM pg_stats AS st
          WHERE st.schemaname = {{ database | text }} AND st.tablename = tables.relname AND st.attname = a.attname
        )
      END
    ) AS last,
    least(q.seqmax, CASE kind.oid WHEN 'int2'::regtype THEN 32767 WHEN 'int4'::regtype THEN 2147483647 ELSE q.seqmax END)
      AS most,
    format('%I.%I', n.nspname, c.relname) AS sequence,
    q.seqincrement,
    a.attidentity <> '' AS is_identity,
    -- Columns of any table whose default takes from it; those of its partitions copy it.
    (
      SELECT count(*)
      FROM pg_depend AS other
      JOIN pg_attrdef AS copied ON copied.oid = other.objid
      WHERE other.classid = 'pg_attrdef'::regclass
        AND other.refclassid = 'pg_class'::regclass
        AND other.refobjid = q.seqrelid
        AND copied.adrelid NOT IN (SELECT tree.relation FROM tree WHERE tree.relation <> tree.root)
    ) AS defaults
  FROM tables
  JOIN pg_attribute AS a ON a.attrelid = tables.oid AND a.attnum > 0 AND NOT a.attisdropped
  JOIN pg_type AS t ON t.oid = a.atttypid
  JOIN pg_type AS kind ON kind.oid = CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END
  LEFT JOIN pg_attrdef AS f ON f.adrelid = tables.oid AND f.adnum = a.attnum
  -- An identity has its sequence; a default names one.
  JOIN pg_depend AS d
    ON (
      d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass
      AND d.refobjid = tables.oid AND d.refobjsubid = a.attnum AND d.deptype = 'i'
    ) OR (d.classid = 'pg_attrdef'::regclass AND d.objid = f.oid AND d.refclassid = 'pg_class'::regclass)
  JOIN pg_sequence AS q ON q.seqrelid = CASE d.deptype WHEN 'i' THEN d.objid ELSE d.refobjid END
  JOIN pg_class AS c ON c.oid = q.seqrelid AND c.relpersistence = 'p'
  JOIN pg_namespace AS n ON n.oid = c.relnamespace
  WHERE q.seqincrement > 0 AND NOT q.seqcycle
),
-- Columns that refer to these, and whose type does not hold all of their IDs.
narrow AS (
  SELECT DISTINCT
    tables.relname AS measurement,
    a.attname,
    ids.last,
    CASE kind.oid WHEN 'int2'::regtype THEN 32767 ELSE 2147483647 END AS most,
    format('%s.%s', ids.measurement, ids.attname) AS refers
  FROM pg_constraint AS k
  JOIN tables ON tables.oid = k.conrelid
  JOIN tables AS other ON other.oid = k.confrelid
  JOIN pg_attribute AS a ON a.attrelid = k.conrelid AND a.attnum = k.conkey[1]
  JOIN pg_type AS t ON t.oid = a.atttypid
  JOIN pg_type AS kind ON kind.oid = CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END
  JOIN pg_attribute AS key ON key.attrelid = k.confrelid AND key.attnum = k.confkey[1]
  JOIN ids ON ids.measurement = other.relname AND ids.attname = key.attname
  WHERE k.contype = 'f'
    AND cardinality(k.conkey) = 1
    AND kind.oid IN ('int2'::regtype, 'int4'::regtype)
    AND CASE kind.oid WHEN 'int2'::regtype THEN 32767 ELSE 2147483647 END < ids.most
    AND NOT EXISTS (SELECT FROM ids AS own WHERE own.measurement = tables.relname AND own.attname = a.attname)
),
-- Other columns that have used up most of their type, in the order of the rows: IDs that a program writes, or that refer
-- to others without a foreign key.
high AS (
  SELECT c.measurement, c.attname, c.highest AS last, c.most
  FROM of_columns AS c
  WHERE c.highest >= 0.8 * c.most
    AND NOT EXISTS (SELECT FROM ids WHERE ids.measurement = c.measurement AND ids.attname = c.attname)
    AND NOT EXISTS (SELECT FROM narrow WHERE narrow.measurement = c.measurement AND narrow.attname = c.attname)
)
SELECT
  sums.measurement,
  said.kind,
  said.name,
  CAST(said.value AS DOUBLE PRECISION) AS value,
  CAST(NULL AS TEXT) AS text
FROM sums
CROSS JOIN LATERAL (
  VALUES
    ('counter', 'rows_scanned', sums.rows_scanned),
    -- A standby does not count what it replays.
    ('counter', 'rows_inserted', CASE WHEN NOT pg_is_in_recovery() THEN sums.rows_inserted END),
    ('counter', 'rows_updated', CASE WHEN NOT pg_is_in_recovery() THEN sums.rows_updated END),
    ('counter', 'rows_deleted', CASE WHEN NOT pg_is_in_recovery() THEN sums.rows_deleted END),
    ('figure', 'dead_rows', CASE WHEN NOT pg_is_in_recovery() THEN sums.dead_rows END),
    ('figure', 'live_rows', CAST(sums.live_rows AS NUMERIC)),
    ('figure', 'heap_bytes', sums.heap_bytes),
    ('figure', 'columns_used', sums.columns_used),
    ('figure', 'vacuumed', extract(EPOCH FROM sums.vacuumed)),
    ('since', '', extract(EPOCH FROM {% include "_counted_since.sql" %}))
) AS said (kind, name, value)
WHERE said.value IS NOT NULL
UNION ALL
SELECT of_columns.measurement, said.kind, of_columns.attname, said.value, NULL
FROM of_columns
CROSS JOIN LATERAL (
  VALUES ('order', of_columns.correlation), ('width', of_columns.width), ('common', of_columns.common)
) AS said (kind, value)
WHERE said.value IS NOT NULL
UNION ALL
SELECT ids.measurement, said.kind, ids.attname, CAST(said.value AS DOUBLE PRECISION), said.text
FROM ids
CROSS JOIN LATERAL (
  VALUES
    ('id', ids.last, NULL),
    ('id_limit', ids.most, NULL),
    (CASE WHEN ids.is_identity THEN 'identity' ELSE 'sequence' END, ids.seqincrement, ids.sequence),
    ('defaults', ids.defaults, NULL)
) AS said (kind, value, text)
WHERE ids.last IS NOT NULL
UNION ALL
SELECT narrow.measurement, said.kind, narrow.attname, CAST(said.value AS DOUBLE PRECISION), said.text
FROM narrow
CROSS JOIN LATERAL (
  VALUES ('id', narrow.last, NULL), ('id_limit', narrow.most, NULL), ('refers', 1, narrow.refers)
) AS said (kind, value, text)
WHERE narrow.last IS NOT NULL
UNION ALL
SELECT high.measurement, said.kind, high.attname, CAST(said.value AS DOUBLE PRECISION), NULL
FROM high
CROSS JOIN LATERAL (VALUES ('id', high.last), ('id_limit', high.most), ('written', 1)) AS said (kind, value)
ORDER BY measurement, kind, name
