-- fact: partitions
-- columns: measurement, key, partition, bounds, rows, bytes
-- cost: catalog only; one statement for all databases, and one for each partitioned table, see options.sql
-- grant: a user that may read
-- versions: 0.12 and later; up to 0.17 the bound of a partition is its expression, from 1.0 its description
-- link: https://docs.greptime.com/reference/sql/information-schema/partitions/
-- The view's own numbers of rows and bytes are always null: they come from the regions, see _regions.sql.
SELECT
  table_schema,
  table_name,
  partition_name,
  partition_expression,
  partition_description,
  greptime_partition_id
FROM information_schema.partitions
WHERE partition_expression IS NOT NULL
ORDER BY table_schema, table_name, partition_ordinal_position
