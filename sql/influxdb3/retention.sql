-- fact: retention
-- columns: policy, duration_s, partition_s, default
-- cost: catalog only
-- grant: an admin token
-- versions: Core and Enterprise 3.2 and later; Cloud has no such table
-- link: https://docs.influxdata.com/influxdb3/core/admin/query-system-data/
-- Asked of the database `_internal`. A database has one retention, and none has no retention.
SELECT
  database_name AS policy,
  CAST(COALESCE(retention_period_ns, 0) / 1000000000 AS BIGINT) AS duration_s,
  CAST(NULL AS BIGINT) AS partition_s,
  TRUE AS "default"
FROM system.databases
WHERE database_name = {{ database | text }} AND NOT deleted
