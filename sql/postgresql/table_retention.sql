-- fact: table_retention
-- columns: measurement, policy, duration_s, partition_s
-- cost: catalog and counters only
-- grant: CONNECT on the database
-- versions: 14 and later; tried on 15 and 18
-- link: https://docs.timescale.com/api/latest/data-retention/add_retention_policy/
-- Without TimescaleDB there is no policy: rows stay, unless somebody deletes about as many as are written.
{% include "_tree.sql" %},
written AS (
  SELECT tree.measurement, sum(s.n_tup_del) = 0 OR sum(s.n_tup_del) * 10 < sum(s.n_tup_ins) AS are_kept
  FROM tree
  JOIN pg_stat_all_tables AS s ON s.relid = tree.relation
  GROUP BY tree.measurement
)
SELECT
  tables.relname AS measurement,
{% if timescaledb %}
  CASE WHEN h.relname IS NULL THEN '' ELSE 'drop_after' END AS policy,
  CASE
    -- An integer has no unit, and a policy without an age goes by when the chunk was made.
    WHEN job.job_id IS NOT NULL AND dimension.time_interval IS NOT NULL
      THEN CAST(extract(EPOCH FROM CAST(job.config ->> 'drop_after' AS INTERVAL)) AS BIGINT)
    WHEN job.job_id IS NULL AND (h.relname IS NOT NULL OR coalesce(written.are_kept, TRUE))
      THEN CAST(0 AS BIGINT)
  END AS duration_s,
  CAST(extract(EPOCH FROM dimension.time_interval) AS BIGINT) AS partition_s
{% else %}
  '' AS policy,
  CASE WHEN coalesce(written.are_kept, TRUE) THEN CAST(0 AS BIGINT) END AS duration_s,
  CAST(NULL AS BIGINT) AS partition_s
{% endif %}
FROM tables
LEFT JOIN written ON written.measurement = tables.relname
{% if timescaledb %}
LEFT JOIN hypertables AS h ON h.oid = tables.oid
LEFT JOIN timescaledb_information.jobs AS job
  ON job.hypertable_schema = {{ database | text }}
  AND job.hypertable_name = tables.relname
  AND job.proc_name = 'policy_retention'
  AND job.scheduled
LEFT JOIN timescaledb_information.dimensions AS dimension
  ON dimension.hypertable_schema = {{ database | text }}
  AND dimension.hypertable_name = tables.relname
  AND dimension.dimension_number = 1
{% endif %}
ORDER BY tables.relname
