-- fact: columns
-- columns: measurement, column, data_type, key_position, is_unique, is_generated, refers_to
-- cost: catalog only
-- grant: read access to the file
-- versions: 1.0 and later
-- link: https://duckdb.org/docs/stable/sql/meta/duckdb_table_functions
WITH keys AS (
  SELECT table_name, constraint_column_names AS members, constraint_type = 'PRIMARY KEY' AS is_primary
  FROM duckdb_constraints()
  WHERE database_name = current_database()
    AND schema_name = {{ database | text }}
    AND constraint_type IN ('PRIMARY KEY', 'UNIQUE')
  UNION ALL
  -- Unique indexes keep their columns as a text such as [host, '"time"'].
  SELECT
    table_name,
    list_transform(string_split(trim(expressions, '[]'), ', '), lambda member: trim(member, '''"')) AS members,
    FALSE AS is_primary
  FROM duckdb_indexes()
  WHERE database_name = current_database() AND schema_name = {{ database | text }} AND is_unique
),
-- A table may have several keys. The one with most columns says most about its rows.
best AS (
  SELECT table_name, members
  FROM keys
  QUALIFY row_number() OVER (PARTITION BY table_name ORDER BY len(members) DESC, is_primary DESC, members) = 1
),
-- Versions before 1.3 tell the other table only in the text of the constraint.
links AS (
  SELECT
    table_name,
    unnest(constraint_column_names) AS member,
    trim(regexp_extract(constraint_text, 'REFERENCES\s+("[^"]+"|[^\s(]+)', 1), '"') AS other
  FROM duckdb_constraints()
  WHERE database_name = current_database()
    AND schema_name = {{ database | text }}
    AND constraint_type = 'FOREIGN KEY'
)
SELECT
  c.table_name AS measurement,
  c.column_name AS "column",
  c.data_type,
  nullif(list_position(best.members, c.column_name), 0) AS key_position,
  EXISTS (SELECT 1 FROM keys WHERE keys.table_name = c.table_name AND keys.members = [c.column_name]) AS is_unique,
  coalesce(regexp_matches(lower(c.column_default), 'nextval|uuid'), FALSE) AS is_generated,
  (SELECT min(links.other) FROM links WHERE links.table_name = c.table_name AND links.member = c.column_name) AS refers_to
FROM duckdb_columns() AS c
JOIN duckdb_tables() AS t USING (database_name, schema_name, table_name)
LEFT JOIN best ON best.table_name = c.table_name
WHERE c.database_name = current_database()
  AND c.schema_name = {{ database | text }}
  AND NOT c.internal
ORDER BY c.table_name, c.column_index
