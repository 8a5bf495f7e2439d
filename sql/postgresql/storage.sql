-- fact: storage
-- columns: measurement, data_bytes, index_bytes
-- cost: catalog, and the sizes of the files; a table that somebody holds locked is passed over
-- grant: CONNECT on the database
-- versions: 14 and later; tried on 15 and 18
-- link: https://www.postgresql.org/docs/current/functions-admin.html#FUNCTIONS-ADMIN-DBSIZE
{% include "_tree.sql" %}
{% if timescaledb %}
,
{% include "_chunks.sql" %}
{% endif %}

SELECT
  tree.measurement,
  CASE WHEN count(sizes.data_bytes) = count(*) THEN CAST(sum(sizes.data_bytes) AS BIGINT) END AS data_bytes,
  CASE WHEN count(sizes.index_bytes) = count(*) THEN CAST(sum(sizes.index_bytes) AS BIGINT) END AS index_bytes
FROM tree
LEFT JOIN locked ON locked.relation = tree.relation
{% if timescaledb %}
LEFT JOIN chunks ON chunks.relation = tree.relation
LEFT JOIN chunk_sizes ON chunk_sizes.relation = tree.relation
{% endif %}
CROSS JOIN LATERAL (
  SELECT
    CASE
{% if timescaledb %}
      WHEN chunks.relation IS NOT NULL THEN chunk_sizes.data_bytes
{% endif %}
      WHEN locked.relation IS NULL THEN pg_table_size(tree.relation)
    END AS data_bytes,
    CASE
{% if timescaledb %}
      WHEN chunks.relation IS NOT NULL THEN chunk_sizes.index_bytes
{% endif %}
      WHEN locked.relation IS NULL THEN pg_indexes_size(tree.relation)
    END AS index_bytes
) AS sizes
GROUP BY tree.measurement
ORDER BY tree.measurement
