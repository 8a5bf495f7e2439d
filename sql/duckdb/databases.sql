-- fact: databases
-- columns: database
-- cost: catalog only
-- grant: read access to the file
-- versions: 1.0 and later
-- link: https://duckdb.org/docs/stable/sql/meta/duckdb_table_functions
SELECT schema_name AS database
FROM duckdb_schemas()
WHERE database_name = current_database()
  -- `main` counts as internal, and is the one most files keep their tables in.
  AND (NOT internal OR schema_name = 'main')
ORDER BY schema_name
