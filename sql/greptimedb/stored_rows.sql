-- fact: stored_rows
-- columns: measurement, rows, first_time
-- cost: asks each datanode for its list of files; no file is read; one statement for all databases
-- grant: a user that may read
-- versions: 1.0 and later
-- link: https://docs.greptime.com/reference/sql/information-schema/ssts-manifest/
-- Each version of a row counts until files are merged. What is in memory only is missing. A file that a read replica
-- tells of again is the same file.
SELECT
  table_id,
  sum(num_rows) AS row_count,
  CAST(min(min_ts) AS BIGINT) AS first_ns
FROM (
  SELECT DISTINCT table_id, file_id, num_rows, min_ts
  FROM information_schema.ssts_manifest
  -- Other groups are of the metric engine's own bookkeeping.
  WHERE visible AND region_group = 0
    AND min_ts >= {{ start | instant("+00:00") }}
    AND max_ts < {{ end | instant("+00:00") }}
) AS within
GROUP BY table_id
ORDER BY table_id
