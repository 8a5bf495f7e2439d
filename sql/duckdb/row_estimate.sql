-- fact: row_estimate
-- columns: measurement, rows
-- cost: catalogue only; exact unless rows were deleted
-- grant: read access to the file
-- versions: 1.0 and later
-- link: https://duckdb.org/docs/stable/sql/meta/duckdb_table_functions
SELECT table_name AS measurement, estimated_size AS rows
FROM duckdb_tables()
WHERE database_name = current_database()
  AND schema_name = {{ database | text }}
  AND NOT internal
ORDER BY table_name
