-- fact: row_estimate
-- columns: measurement, rows, state
-- cost: catalog, counters, and the sizes of the files; rows as of the last ANALYZE, or as counted since, if more
-- grant: CONNECT on the database
-- versions: 14 and later; tried on 15 and 18
-- link: https://www.postgresql.org/docs/current/monitoring-stats.html#MONITORING-PG-STAT-ALL-TABLES-VIEW
{% include "_tree.sql" %},
{% if timescaledb %}
{% include "_chunks.sql" %}
,
{% endif %}
leaves AS (
  SELECT
    tree.measurement,
    -- -1 for a table that was never analysed, as an empty one never is. A standby does not count what it replays.
    greatest(
      nullif(c.reltuples, -1),
      {% include "_live_rows.sql" %},
{% if timescaledb %}
      -- Its batches of rows are kept elsewhere; the estimate of the whole hypertable is less exact than that of a chunk.
      CASE WHEN chunks.is_compressed THEN nullif({{ timescaledb | name }}.approximate_row_count(c.oid), 0) END,
      CASE WHEN chunks.is_compressed THEN NULL
        WHEN locked.relation IS NULL AND pg_relation_size(c.oid) = 0 THEN 0
      END
{% else %}
      CASE WHEN locked.relation IS NULL AND pg_relation_size(c.oid) = 0 THEN 0 END
{% endif %}
    ) AS rows,
    s.n_tup_ins + s.n_tup_upd + s.n_tup_del AS written,
    c.relfilenode
  FROM tree
  JOIN pg_class AS c ON c.oid = tree.relation AND c.relkind = 'r'
  LEFT JOIN pg_stat_all_tables AS s ON s.relid = c.oid
  LEFT JOIN locked ON locked.relation = c.oid
{% if timescaledb %}
  LEFT JOIN chunks ON chunks.relation = c.oid
{% endif %}
)
SELECT
  tables.relname AS measurement,
  CASE WHEN bool_and(leaves.rows IS NOT NULL) THEN CAST(sum(leaves.rows) AS BIGINT) END AS rows,
  CASE
    WHEN NOT pg_is_in_recovery() AND bool_and(leaves.written IS NOT NULL)
      THEN md5(string_agg(leaves.written || ' ' || leaves.relfilenode, ',' ORDER BY leaves.relfilenode))
  END AS state
FROM tables
LEFT JOIN leaves ON leaves.measurement = tables.relname
GROUP BY tables.relname
ORDER BY tables.relname
