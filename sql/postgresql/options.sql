-- fact: options
-- columns: measurement, option, value
-- cost: catalog only
-- grant: CONNECT on the database
-- versions: 14 and later; tried on 15 and 18
-- link: https://www.postgresql.org/docs/current/sql-createtable.html#SQL-CREATETABLE-STORAGE-PARAMETERS
-- inherits names the tables that read the rows of this one as their own.
-- compress_after is the age at which TimescaleDB's policy compresses a chunk; without it nobody does so by itself.
{% include "_tree.sql" %}

SELECT
  tables.relname AS measurement,
  options.option,
  options.value
FROM tables
CROSS JOIN LATERAL (
  SELECT
    split_part(setting, '=', 1) AS option,
    substr(setting, strpos(setting, '=') + 1) AS value
  FROM pg_class AS c
  CROSS JOIN unnest(c.reloptions) AS setting
  WHERE c.oid = tables.oid
  UNION ALL
  SELECT 'inherits', string_agg(parent.relname, ', ' ORDER BY i.inhseqno)
  FROM pg_inherits AS i
  JOIN pg_class AS parent ON parent.oid = i.inhparent
  WHERE i.inhrelid = tables.oid
{% if timescaledb %}
  UNION ALL
  SELECT 'timescaledb.compress', CASE WHEN h.compression_enabled THEN 'true' ELSE 'false' END
  FROM timescaledb_information.hypertables AS h
  WHERE h.hypertable_schema = {{ database | text }} AND h.hypertable_name = tables.relname
  UNION ALL
  SELECT 'timescaledb.compress_segmentby', string_agg(s.attname, ', ' ORDER BY s.segmentby_column_index)
  FROM timescaledb_information.compression_settings AS s
  WHERE s.hypertable_schema = {{ database | text }}
    AND s.hypertable_name = tables.relname
    AND s.segmentby_column_index IS NOT NULL
  UNION ALL
  SELECT 'compress_after', coalesce(job.config ->> 'compress_after', job.config ->> 'compress_created_before')
  FROM timescaledb_information.jobs AS job
  WHERE job.hypertable_schema = {{ database | text }}
    AND job.hypertable_name = tables.relname
    AND job.proc_name = 'policy_compression'
    AND job.scheduled
{% endif %}
) AS options
WHERE options.value IS NOT NULL
ORDER BY tables.relname, options.option
