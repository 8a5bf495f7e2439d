-- fact: target_storage
-- columns: data_bytes, index_bytes, free_bytes
-- cost: catalog only
-- grant: read access to the file
-- versions: 1.0 and later
-- link: https://duckdb.org/docs/stable/configuration/pragmas#database-size
-- The whole file without its write-ahead log, free blocks too: what is deleted is used again, and rarely given back. The
-- bytes of a table could be added up from the segments of its columns, at a cost that grows with the table.
SELECT
  total_blocks * block_size AS data_bytes,
  CAST(NULL AS BIGINT) AS index_bytes,
  free_blocks * block_size AS free_bytes
FROM pragma_database_size()
WHERE database_name = current_database()
