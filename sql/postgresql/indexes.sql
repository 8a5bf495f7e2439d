-- fact: indexes
-- columns: measurement, index, kind, position, column, is_unique, is_constraint, is_partial, size_bytes, scans, counted_since, is_valid, sorting, rows_read, is_as_old
-- cost: catalog, counters, and the sizes of the files; the index of a partitioned table stands for those of its parts
-- grant: CONNECT on the database
-- versions: 14 and later; tried on 15 and 18
-- link: https://www.postgresql.org/docs/current/catalog-pg-index.html
{% include "_tree.sql" %},
{% if timescaledb %}
-- An index of a hypertable is made again on each chunk. Of two that are alike the name tells: that of the chunk and the
-- hypertable's index, or, for a constraint, two numbers and that. PostgreSQL's own definition would wait for locks.
shapes AS (
  SELECT
    i.indexrelid,
    i.indrelid,
    c.relname,
    CAST(
      ROW(
        c.relam,
        i.indisunique,
        i.indnkeyatts,
        i.indclass,
        i.indcollation,
        i.indoption,
        i.indpred IS NULL,
        ARRAY(
          SELECT coalesce(a.attname, '')
          FROM unnest(CAST(i.indkey AS INT2[])) WITH ORDINALITY AS member (attnum, position)
          LEFT JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = member.attnum
          ORDER BY member.position
        )
      ) AS TEXT
    ) AS shape
  FROM pg_index AS i
  JOIN pg_class AS c ON c.oid = i.indexrelid
  WHERE i.indrelid IN (SELECT hypertables.oid FROM hypertables)
    OR i.indrelid IN (
      SELECT h.inhrelid FROM pg_inherits AS h WHERE h.inhparent IN (SELECT hypertables.oid FROM hypertables)
    )
),
made_alike AS (
  SELECT
    parent.indexrelid AS root,
    own.indexrelid AS relation,
    own.indrelid AS of_table,
    parent.relname IN (
      regexp_replace(own.relname, '^[0-9]+_[0-9]+_', ''),
      right(own.relname, -length(chunk.relname) - 1)
    ) AS is_named,
    count(*) OVER (PARTITION BY own.indexrelid) AS alike
  FROM hypertables
  JOIN shapes AS parent ON parent.indrelid = hypertables.oid
  JOIN pg_inherits AS h ON h.inhparent = hypertables.oid
  JOIN pg_class AS chunk ON chunk.oid = h.inhrelid
  JOIN shapes AS own ON own.indrelid = chunk.oid AND own.shape = parent.shape
),
chunk_indexes AS (
  SELECT made_alike.root, made_alike.relation, made_alike.of_table
  FROM made_alike
  WHERE made_alike.alike = 1 OR made_alike.is_named
),
-- Where two are alike and names were cut off, nothing is known: the sums would be too low.
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
    -- Without one part the sum would be too low.
    CASE WHEN count(sizes.bytes) = count(*) THEN CAST(sum(sizes.bytes) AS BIGINT) END AS size_bytes,
    -- A standby does not know what queries on its primary use.
    CASE WHEN NOT pg_is_in_recovery() THEN CAST(sum(s.idx_scan) AS BIGINT) END AS scans,
    -- BRIN counts ten entries for each page that it leads to.
    CAST(sum(s.idx_tup_read / 10.0 * greatest(of_table.reltuples, 0) / greatest(of_table.relpages, 1)) AS BIGINT)
      AS rows_read,
    -- Each row that is written reads a block of the index at least.
    sum(io.idx_blks_hit + io.idx_blks_read) >= sum(t.n_tup_ins) AND sum(t.n_tup_ins) > 0 AS is_as_old
{% if timescaledb %}
  FROM (TABLE index_tree UNION ALL TABLE chunk_indexes) AS index_tree
{% else %}
  FROM index_tree
{% endif %}
  LEFT JOIN pg_stat_all_indexes AS s ON s.indexrelid = index_tree.relation
  LEFT JOIN pg_statio_all_indexes AS io ON io.indexrelid = index_tree.relation
  LEFT JOIN pg_stat_all_tables AS t ON t.relid = index_tree.of_table
  LEFT JOIN pg_class AS of_table ON of_table.oid = index_tree.of_table
  CROSS JOIN LATERAL (
    SELECT
      CASE
        WHEN NOT EXISTS (SELECT FROM locked WHERE locked.relation IN (index_tree.relation, index_tree.of_table))
          THEN pg_relation_size(index_tree.relation)
      END AS bytes
  ) AS sizes
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
  {% include "_counted_since.sql" %} AS counted_since,
  -- That of a partitioned table is not valid while one partition lacks it; those of the others serve all the same.
  i.indisvalid OR c.relkind = 'I' AS is_valid,
  CASE WHEN member.position <= i.indnkeyatts
    THEN (ARRAY['', 'desc nulls last', 'nulls first', 'desc'])[1 + (i.indoption[member.position - 1] & 3)]
  END AS sorting,
  CASE WHEN am.amname = 'brin' THEN counted.rows_read END AS rows_read,
  coalesce(counted.is_as_old, FALSE) AS is_as_old
FROM tables
JOIN pg_index AS i ON i.indrelid = tables.oid AND i.indislive
-- One that is being built right now is neither used nor a failure. Of other users' sessions, not even that is visible.
  AND (
    i.indisvalid
    OR NOT EXISTS (
      SELECT FROM pg_stat_progress_create_index AS p
      WHERE p.datname = current_database() AND coalesce(p.index_relid, 0) IN (0, i.indexrelid)
    )
  )
JOIN pg_class AS c ON c.oid = i.indexrelid
JOIN pg_am AS am ON am.oid = c.relam
JOIN counted ON counted.root = i.indexrelid
{% if timescaledb %}
LEFT JOIN incomplete ON incomplete.root = i.indexrelid
{% endif %}
CROSS JOIN unnest(CAST(i.indkey AS INT2[])) WITH ORDINALITY AS member (attnum, position)
LEFT JOIN pg_attribute AS a ON a.attrelid = tables.oid AND a.attnum = member.attnum
ORDER BY tables.relname, c.relname, member.position
