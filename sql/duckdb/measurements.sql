-- fact: measurements
-- columns: measurement
-- cost: catalog only
-- grant: read access to the file
-- versions: 1.0 and later
-- link: https://duckdb.org/docs/stable/sql/meta/duckdb_table_functions
SELECT table_name AS measurement
FROM duckdb_tables()
WHERE database_name = current_database()
  AND schema_name = {{ database | text }}
  AND NOT internal
ORDER BY table_name
