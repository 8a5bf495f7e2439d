-- fact: storage
-- columns: measurement, data_bytes, index_bytes
-- cost: catalogue, and the sizes of the files; a table that somebody holds locked is passed over
-- grant: CONNECT on the database
-- versions: 12 and later
-- link: https://www.postgresql.org/docs/current/functions-admin.html#FUNCTIONS-ADMIN-DBSIZE
{% include "_tree.sql" %}

SELECT
  tree.measurement,
  CASE WHEN bool_and(locked.relation IS NULL) THEN CAST(sum(pg_table_size(c.oid)) AS BIGINT) END AS data_bytes,
  CASE WHEN bool_and(locked.relation IS NULL) THEN CAST(sum(pg_indexes_size(c.oid)) AS BIGINT) END AS index_bytes
FROM tree
JOIN pg_class AS c ON c.oid = tree.relation
LEFT JOIN locked ON locked.relation = c.oid
GROUP BY tree.measurement
ORDER BY tree.measurement
