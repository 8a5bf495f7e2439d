-- fact: column_statistics
-- columns: measurement, column, distinct, at_least, null_ratio, common_values, sampled_rows, analysed_at, changed_ratio
-- cost: catalog only; what the last ANALYZE of each of the named tables found out
-- grant: SELECT on the tables, without which pg_stats shows nothing of them
-- versions: 14 and later; tried on 15 and 18
-- link: https://www.postgresql.org/docs/current/view-pg-stats.html
{% include "_tree.sql" %},
kept AS (
  SELECT
    tree.root,
    tree.relation,
    c.relkind = 'p'{% if timescaledb %} OR c.oid IN (SELECT hypertables.oid FROM hypertables){% endif %} AS is_whole,
    greatest(nullif(c.reltuples, -1), {% include "_live_rows.sql" %}, 0) AS rows,
    greatest(s.last_analyze, s.last_autoanalyze) AS analysed_at,
    s.n_mod_since_analyze AS changed
  FROM tree
  JOIN pg_class AS c ON c.oid = tree.relation AND (c.relkind = 'r' OR tree.relation = tree.root)
  LEFT JOIN pg_stat_all_tables AS s ON s.relid = c.oid
  WHERE tree.measurement IN ({% for name in measurements %}{{ name | text }}{{ ", " if not loop.last }}{% endfor %})
),
-- A partitioned table has statistics of its own only when it was analyzed itself: autovacuum analyzes its parts.
whole AS (
  SELECT
    root,
    nullif(sum(rows) FILTER (WHERE NOT is_whole), 0) AS rows,
    coalesce(max(analysed_at) FILTER (WHERE is_whole), min(analysed_at)) AS analysed_at,
    sum(changed) FILTER (WHERE NOT is_whole) AS changed
  FROM kept
  GROUP BY root
),
told AS (
  SELECT
    kept.root,
    kept.is_whole OR kept.relation = kept.root AS of_all,
    kept.rows,
    st.attname,
    st.null_frac,
    -- Below zero it is a share of the rows.
    CASE
      WHEN st.n_distinct < 0 THEN -st.n_distinct * (CASE WHEN kept.is_whole THEN whole.rows ELSE kept.rows END)
      ELSE nullif(st.n_distinct, 0)
    END AS found,
    CASE WHEN kept.relation = kept.root THEN CAST(CAST(st.most_common_vals AS TEXT) AS TEXT[]) END AS common_values
  FROM kept
  JOIN whole ON whole.root = kept.root
  JOIN pg_class AS c ON c.oid = kept.relation
  JOIN pg_namespace AS n ON n.oid = c.relnamespace
  JOIN pg_stats AS st
    ON st.schemaname = n.nspname AND st.tablename = c.relname AND st.inherited = kept.is_whole
),
best AS (
  SELECT
    root,
    attname,
    bool_or(of_all) AS of_all,
    CASE WHEN bool_or(of_all) THEN max(found) FILTER (WHERE of_all) ELSE max(found) END AS found,
    CASE
      WHEN bool_or(of_all) THEN max(null_frac) FILTER (WHERE of_all)
      ELSE sum(null_frac * rows) / nullif(sum(rows), 0)
    END AS null_frac,
    max(to_jsonb(common_values) #>> '{}') AS common_values
  FROM told
  GROUP BY root, attname
)
SELECT
  tables.relname AS measurement,
  a.attname AS "column",
  CAST(round(CAST(best.found AS NUMERIC)) AS BIGINT) AS distinct,
  -- Where only the parts were analysed: as many as the part with most has.
  NOT coalesce(best.of_all, FALSE) AS at_least,
  CAST(best.null_frac AS DOUBLE PRECISION) AS null_ratio,
  best.common_values,
  -- ANALYZE reads 300 rows for each of the histogram's bounds.
  300 * coalesce(nullif(CAST(a.attstattarget AS INT), -1), CAST(current_setting('default_statistics_target') AS INT))
    AS sampled_rows,
  whole.analysed_at,
  CAST(whole.changed / whole.rows AS DOUBLE PRECISION) AS changed_ratio
FROM whole
JOIN tables ON tables.oid = whole.root
JOIN pg_attribute AS a ON a.attrelid = whole.root AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN best ON best.root = whole.root AND best.attname = a.attname
ORDER BY tables.relname, a.attnum
