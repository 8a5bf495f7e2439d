-- fact: indexes
-- columns: measurement, index, kind, position, column, is_unique, is_constraint, is_partial, size_bytes, scans, counted_since
-- cost: catalogue, counters, and the sizes of the files; the index of a partitioned table stands for those of its parts
-- grant: CONNECT on the database
-- versions: 14 and later; tried on 15
-- link: https://www.postgresql.org/docs/current/catalog-pg-index.html
{% include "_tree.sql" %},
{% if timescaledb %}
-- A chunk's index is named after the chunk and the hypertable's index, one of a constraint after two numbers and that.
chunk_indexes AS (
  SELECT parent.indexrelid AS root, own.indexrelid AS relation, own.indrelid AS of_table
  FROM hypertables
  JOIN pg_index AS parent ON parent.indrelid = hypertables.oid
  JOIN pg_class AS parent_class ON parent_class.oid = parent.indexrelid
  JOIN pg_inherits AS h ON h.inhparent = hypertables.oid
  JOIN pg_class AS chunk ON chunk.oid = h.inhrelid
  JOIN pg_index AS own ON own.indrelid = chunk.oid
  JOIN pg_class AS own_class ON own_class.oid = own.indexrelid
    AND parent_class.relname IN (
      regexp_replace(own_class.relname, '^[0-9]+_[0-9]+_', ''),
      right(own_class.relname, -length(chunk.relname) - 1)
    )
),
-- Of names that were cut off nothing is known: then the sums would be too low.
incomplete AS (
  SELECT parent.indexrelid AS root
  FROM hypertables
  JOIN pg_index AS parent ON parent.indrelid = hypertables.oid
  WHERE (SELECT count(*) FROM pg_inherits AS h WHERE h.inhparent = hypertables.oid)
    <> (SELECT count(*) FROM chunk_indexes WHERE chunk_indexes.root = parent.indexrelid)
),
{% endif %}
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
{% if timescaledb %}
  FROM (TABLE index_tree UNION ALL TABLE chunk_indexes) AS index_tree
{% else %}
  FROM index_tree
{% endif %}
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
{% if timescaledb %}
  CASE WHEN incomplete.root IS NULL THEN counted.size_bytes END AS size_bytes,
  CASE WHEN incomplete.root IS NULL THEN counted.scans END AS scans,
{% else %}
  counted.size_bytes,
  counted.scans,
{% endif %}
  (SELECT d.stats_reset FROM pg_stat_database AS d WHERE d.datname = current_database()) AS counted_since
FROM tables
JOIN pg_index AS i ON i.indrelid = tables.oid AND i.indislive
JOIN pg_class AS c ON c.oid = i.indexrelid
JOIN pg_am AS am ON am.oid = c.relam
JOIN counted ON counted.root = i.indexrelid
{% if timescaledb %}
LEFT JOIN incomplete ON incomplete.root = i.indexrelid
{% endif %}
CROSS JOIN unnest(CAST(i.indkey AS INT2[])) WITH ORDINALITY AS member (attnum, position)
LEFT JOIN pg_attribute AS a ON a.attrelid = tables.oid AND a.attnum = member.attnum
ORDER BY tables.relname, c.relname, member.position
