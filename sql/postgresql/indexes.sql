-- fact: indexes
-- columns: measurement, index, kind, position, column, is_unique, is_constraint, is_partial, size_bytes, scans, counted_since
-- cost: catalogue, counters, and the sizes of the files; the index of a partitioned table stands for those of its parts
-- grant: CONNECT on the database
-- versions: 12 and later
-- link: https://www.postgresql.org/docs/current/catalog-pg-index.html
{% include "_tree.sql" %},
index_tree AS (
  SELECT i.indexrelid AS root, i.indexrelid AS relation, i.indrelid AS of_table
  FROM pg_index AS i
  JOIN tables ON tables.oid = i.indrelid
  WHERE i.indislive
  UNION ALL
  SELECT index_tree.root, part.indexrelid, part.indrelid
  FROM index_tree
  JOIN pg_inherits AS h ON h.inhparent = index_tree.relation
  JOIN pg_index AS part ON part.indexrelid = h.inhrelid
),
counted AS (
  SELECT
    index_tree.root,
    CAST(sum(CASE WHEN locked.relation IS NULL THEN pg_relation_size(index_tree.relation) END) AS BIGINT) AS size_bytes,
    CAST(sum(s.idx_scan) AS BIGINT) AS scans
  FROM index_tree
  LEFT JOIN pg_stat_all_indexes AS s ON s.indexrelid = index_tree.relation
  LEFT JOIN locked ON locked.relation IN (index_tree.relation, index_tree.of_table)
  GROUP BY index_tree.root
)
SELECT
  tables.relname AS measurement,
  c.relname AS "index",
  am.amname AS kind,
  member.position,
  -- What is only carried along (INCLUDE), or kept in another order than the column's own, serves no other search.
  CASE
    WHEN member.position <= i.indnkeyatts
      AND i.indcollation[member.position - 1] IN (0, a.attcollation)
      AND (SELECT o.opcdefault FROM pg_opclass AS o WHERE o.oid = i.indclass[member.position - 1])
      THEN a.attname
  END AS "column",
  i.indisunique AS is_unique,
  -- Also what a foreign key or logical replication goes by.
  i.indisreplident
    OR EXISTS (SELECT FROM pg_constraint AS k WHERE k.conindid = i.indexrelid) AS is_constraint,
  i.indpred IS NOT NULL AS is_partial,
  counted.size_bytes,
  counted.scans,
  (SELECT d.stats_reset FROM pg_stat_database AS d WHERE d.datname = current_database()) AS counted_since
FROM tables
JOIN pg_index AS i ON i.indrelid = tables.oid AND i.indislive
JOIN pg_class AS c ON c.oid = i.indexrelid
JOIN pg_am AS am ON am.oid = c.relam
JOIN counted ON counted.root = i.indexrelid
CROSS JOIN unnest(CAST(i.indkey AS INT2[])) WITH ORDINALITY AS member (attnum, position)
LEFT JOIN pg_attribute AS a ON a.attrelid = tables.oid AND a.attnum = member.attnum
ORDER BY tables.relname, c.relname, member.position
