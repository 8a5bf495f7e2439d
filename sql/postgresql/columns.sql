-- fact: columns
-- columns: measurement, column, data_type, key_position
-- cost: catalogue only
-- grant: CONNECT on the database
-- versions: 12 and later
-- link: https://www.postgresql.org/docs/current/catalog-pg-attribute.html
{% include "_tree.sql" %},
-- A table may have several keys. The one with most columns says most about its rows.
best AS (
  SELECT DISTINCT ON (i.indrelid) i.indrelid, i.indkey, i.indnkeyatts
  FROM pg_index AS i
  JOIN tables ON tables.oid = i.indrelid
  WHERE i.indisunique AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL
  ORDER BY i.indrelid, i.indnkeyatts DESC, i.indisprimary DESC, i.indexrelid
)
SELECT
  tables.relname AS measurement,
  a.attname AS "column",
  -- A domain is kept as the type below it; an enumeration is named after its owner, and says so.
  CASE t.typtype
    WHEN 'd' THEN format_type(t.typbasetype, t.typtypmod)
    WHEN 'e' THEN 'enum ' || format_type(t.oid, NULL)
    ELSE format_type(a.atttypid, a.atttypmod)
  END AS data_type,
  (
    SELECT member.position
    FROM unnest(CAST(best.indkey AS INT2[])) WITH ORDINALITY AS member (attnum, position)
    WHERE member.attnum = a.attnum AND member.position <= best.indnkeyatts
  ) AS key_position
FROM tables
JOIN pg_attribute AS a ON a.attrelid = tables.oid AND a.attnum > 0 AND NOT a.attisdropped
JOIN pg_type AS t ON t.oid = a.atttypid
LEFT JOIN best ON best.indrelid = tables.oid
ORDER BY tables.relname, a.attnum
