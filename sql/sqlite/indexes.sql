-- fact: indexes
-- columns: measurement, index, kind, position, column, is_unique, is_constraint, is_partial, size_bytes, scans, counted_since
-- cost: catalogue only; sizes would need dbstat, which reads every page
-- grant: read access to the file and its folder
-- versions: 3.37 and later
-- link: https://www.sqlite.org/pragma.html#pragma_index_xinfo
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
FROM sqlite_master AS t
JOIN pragma_index_list(t.name) AS i
JOIN pragma_index_xinfo(i.name) AS m ON m.key = 1
WHERE t.type = 'table'
  AND t.name NOT LIKE 'sqlite\_%' ESCAPE '\'
  AND {{ database | text }} = 'main'
ORDER BY t.name, i.name, m.seqno
