-- fact: indexes
-- columns: measurement, index, kind, position, column, is_unique, is_constraint, is_partial, size_bytes, scans, counted_since
-- cost: catalog only
-- grant: read access to the file
-- versions: 1.3 and later
-- link: https://duckdb.org/docs/stable/sql/indexes
WITH members AS (
  -- The one kind that users make is ART. Its columns are kept as a text such as [host, '"time"', '(lower(region))']:
  -- a name that needs quotes has them, an expression stands in brackets.
  SELECT
    table_name,
    index_name,
    is_unique,
    FALSE AS is_constraint,
    list_transform(
      CAST(expressions AS VARCHAR[]),
      lambda member: CASE
        WHEN starts_with(member, '(') THEN NULL
        WHEN starts_with(member, '"') THEN replace(member[2:-2], '""', '"')
        ELSE member
      END
    ) AS columns
  FROM duckdb_indexes()
  WHERE database_name = current_database() AND schema_name = {{ database | text }}
  UNION ALL
  SELECT
    table_name,
    constraint_name AS index_name,
    TRUE AS is_unique,
    TRUE AS is_constraint,
    constraint_column_names AS columns
  FROM duckdb_constraints()
  WHERE database_name = current_database()
    AND schema_name = {{ database | text }}
    AND constraint_type IN ('PRIMARY KEY', 'UNIQUE')
)
SELECT
  table_name AS measurement,
  index_name AS "index",
  'art' AS kind,
  unnest(range(1, len(columns) + 1)) AS position,
  unnest(columns) AS "column",
  is_unique,
  is_constraint,
  FALSE AS is_partial,
  CAST(NULL AS BIGINT) AS size_bytes,
  CAST(NULL AS BIGINT) AS scans,
  CAST(NULL AS TIMESTAMP) AS counted_since
FROM members
ORDER BY table_name, index_name, position
