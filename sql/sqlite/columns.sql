-- fact: columns
-- columns: measurement, column, data_type, key_position, is_unique, is_generated, refers_to, has_rowid
-- cost: catalog only
-- grant: read access to the file and its folder
-- versions: 3.37 and later
-- link: https://www.sqlite.org/pragma.html#pragma_index_list
WITH tables AS (
  SELECT name, wr
  FROM pragma_table_list
  WHERE "schema" = 'main'
    AND type = 'table'
    AND name NOT LIKE 'sqlite\_%' ESCAPE '\'
    AND {{ database | text }} = 'main'
),
members AS (
  SELECT t.name AS table_name, i.name AS index_name, i.origin = 'pk' AS is_primary, m.name AS column_name, m.seqno
  FROM tables AS t, pragma_index_list(t.name) AS i, pragma_index_info(i.name) AS m
  WHERE i."unique" = 1 AND i.partial = 0
),
-- A table may have several keys. The one with most columns says most about its rows.
ranked AS (
  SELECT
    table_name,
    index_name,
    row_number() OVER (PARTITION BY table_name ORDER BY count(*) DESC, is_primary DESC, index_name) AS place
  FROM members
  GROUP BY table_name, index_name, is_primary
),
best AS (
  SELECT m.table_name, m.column_name, m.seqno
  FROM members AS m
  JOIN ranked AS r ON r.table_name = m.table_name AND r.index_name = m.index_name AND r.place = 1
)
SELECT
  t.name AS measurement,
  c.name AS "column",
  upper(c.type) AS data_type,
  -- An INTEGER PRIMARY KEY is the row's own number and has no index.
  CASE
    WHEN t.name IN (SELECT table_name FROM best) THEN b.seqno + 1
    ELSE nullif(c.pk, 0)
  END AS key_position,
  (c.pk = 1 AND (SELECT max(other.pk) FROM pragma_table_info(t.name) AS other) = 1)
    OR EXISTS (
      SELECT 1
      FROM members AS m
      WHERE m.table_name = t.name
      GROUP BY m.index_name
      HAVING count(*) = 1 AND min(m.column_name) = c.name
    ) AS is_unique,
  lower(coalesce(c.dflt_value, '')) LIKE '%randomblob%' OR lower(coalesce(c.dflt_value, '')) LIKE '%uuid%' AS is_generated,
  (SELECT min(k."table") FROM pragma_foreign_key_list(t.name) AS k WHERE k."from" = c.name) AS refers_to,
  -- A column of that name is read instead of the row's own number.
  t.wr = 0 AND NOT EXISTS (SELECT 1 FROM pragma_table_xinfo(t.name) AS o WHERE lower(o.name) = 'rowid') AS has_rowid
FROM tables AS t
JOIN pragma_table_info(t.name) AS c
LEFT JOIN best AS b ON b.table_name = t.name AND b.column_name = c.name
ORDER BY t.name, c.cid
