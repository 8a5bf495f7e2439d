-- fact: indexes
-- columns: measurement, index, kind, position, column, is_unique, is_constraint, is_partial, size_bytes, scans, counted_since
-- cost: catalog only; sizes would need dbstat, which reads every page
-- grant: read access to the file and its folder
-- versions: 3.37 and later
-- link: https://www.sqlite.org/pragma.html#pragma_index_xinfo
WITH tables AS (
  SELECT name
  FROM pragma_table_list
  WHERE "schema" = 'main'
    AND type = 'table'
    AND name NOT LIKE 'sqlite\_%' ESCAPE '\'
    AND {{ database | text }} = 'main'
)
SELECT
  t.name AS measurement,
  i.name AS "index",
  'btree' AS kind,
  m.seqno + 1 AS position,
  -- Another collation than the text's bytes serves other comparisons.
  iif(m.coll = 'BINARY', m.name, NULL) AS "column",
  i."unique" AS is_unique,
  -- A primary key or a unique constraint made it. The key of a table WITHOUT ROWID is the table itself.
  i.origin <> 'c' AS is_constraint,
  i.partial AS is_partial,
  NULL AS size_bytes,
  NULL AS scans,
  NULL AS counted_since
FROM tables AS t
JOIN pragma_index_list(t.name) AS i
JOIN pragma_index_xinfo(i.name) AS m ON m.key = 1
UNION ALL
-- An INTEGER PRIMARY KEY is the row's own number: rows are kept in its order, and no index is listed.
SELECT t.name, 'rowid', 'btree', 1, c.name, 1, 1, 0, NULL, NULL, NULL
FROM tables AS t
JOIN pragma_table_info(t.name) AS c ON c.pk = 1
WHERE NOT EXISTS (SELECT 1 FROM pragma_index_list(t.name) AS i WHERE i.origin = 'pk')
ORDER BY 1, 2, 4
