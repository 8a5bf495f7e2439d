-- The chunks of hypertables. What a compressed chunk holds is kept in another relation, which only TimescaleDB's own
-- functions know; they would wait for a chunk that somebody holds locked, so that then the whole hypertable has no sizes.
chunks AS (
  SELECT
    hypertables.relname AS measurement,
    hypertables.oid AS root,
    relation.oid AS relation,
    relation.relname AS name,
    c.is_compressed,
    format(
      'FROM %s TO %s',
      coalesce(CAST(c.range_start AS TEXT), CAST(c.range_start_integer AS TEXT)),
      coalesce(CAST(c.range_end AS TEXT), CAST(c.range_end_integer AS TEXT))
    ) AS bounds
  FROM hypertables
  JOIN timescaledb_information.chunks AS c
    ON c.hypertable_schema = {{ database | text }} AND c.hypertable_name = hypertables.relname
  JOIN pg_namespace AS n ON n.nspname = c.chunk_schema
  JOIN pg_class AS relation ON relation.relnamespace = n.oid AND relation.relname = c.chunk_name
),
chunk_sizes AS (
  SELECT chunks.relation, s.table_bytes + coalesce(s.toast_bytes, 0) AS data_bytes, s.index_bytes
  FROM (
    SELECT oid
    FROM hypertables
    WHERE oid NOT IN (
      SELECT chunks.root FROM chunks JOIN locked ON locked.relation IN (chunks.root, chunks.relation)
    )
    OFFSET 0  -- first, and only then the sizes
  ) AS free
  CROSS JOIN LATERAL {{ timescaledb | name }}.chunks_detailed_size(CAST(free.oid AS REGCLASS)) AS s
  JOIN chunks ON chunks.root = free.oid AND chunks.name = s.chunk_name
)
