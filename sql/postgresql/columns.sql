-- fact: columns
-- columns: measurement, column, data_type, key_position, is_unique, is_generated, refers_to, unreadable, grant
-- cost: catalog only
-- grant: CONNECT on the database
-- versions: 14 and later; tried on 15 and 18
-- link: https://www.postgresql.org/docs/current/catalog-pg-attribute.html
{% include "_tree.sql" %},
-- A table may have several keys. The one with most columns says most about its rows.
best AS (
  SELECT DISTINCT ON (i.indrelid) i.indrelid, i.indkey, i.indnkeyatts
  FROM pg_index AS i
  JOIN tables ON tables.oid = i.indrelid
  WHERE i.indisunique AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL
  ORDER BY i.indrelid, i.indnkeyatts DESC, i.indisprimary DESC, i.indexrelid
),
-- Why the role may not read a table, and the statement that lets it.
lacking AS (
  SELECT
    tables.oid,
    n.nspname AS in_schema,
    tables.relname,
    CASE
      WHEN NOT has_schema_privilege(n.oid, 'USAGE') THEN 'USAGE'
      WHEN NOT has_table_privilege(tables.oid, 'SELECT') THEN 'SELECT'
      WHEN row_security_active(tables.oid) THEN 'BYPASSRLS'
    END AS right_needed
  FROM tables
  JOIN pg_namespace AS n ON n.nspname = {{ database | text }}
),
refused AS (
  SELECT
    lacking.oid,
    CASE lacking.right_needed
      WHEN 'USAGE' THEN 'permission denied for schema ' || lacking.in_schema
      WHEN 'SELECT of all' THEN 'permission denied for all tables of schema ' || lacking.in_schema
      WHEN 'SELECT' THEN 'permission denied for table ' || lacking.relname
      WHEN 'BYPASSRLS' THEN 'row-level security hides rows of table ' || lacking.relname
    END AS why,
    CASE lacking.right_needed
      WHEN 'USAGE' THEN format(
        'GRANT USAGE ON SCHEMA %1$I TO %2$I; GRANT SELECT ON ALL TABLES IN SCHEMA %1$I TO %2$I',
        lacking.in_schema, current_user
      )
      WHEN 'SELECT of all' THEN format(
        'GRANT SELECT ON ALL TABLES IN SCHEMA %I TO %I', lacking.in_schema, current_user
      )
      WHEN 'SELECT' THEN format('GRANT SELECT ON %I.%I TO %I', lacking.in_schema, lacking.relname, current_user)
      WHEN 'BYPASSRLS' THEN format('ALTER ROLE %I BYPASSRLS', current_user)
    END AS "grant"
  FROM (
    SELECT
      oid,
      in_schema,
      relname,
      CASE
        WHEN right_needed = 'SELECT' AND bool_and(right_needed IS NOT DISTINCT FROM 'SELECT') OVER () THEN 'SELECT of all'
        ELSE right_needed
      END AS right_needed
    FROM lacking
  ) AS lacking
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
  ) AS key_position,
  EXISTS (
    SELECT
    FROM pg_index AS i
    WHERE i.indrelid = tables.oid
      AND i.indisunique
      AND i.indisvalid
      AND i.indpred IS NULL
      AND i.indexprs IS NULL
      AND i.indnkeyatts = 1
      AND i.indkey[0] = a.attnum
  ) AS is_unique,
  -- Each row gets a new one: it names the row, even where a partitioned table forces it into a key with the time.
  a.attidentity <> '' OR coalesce(
    (
      SELECT pg_get_expr(d.adbin, d.adrelid) ~* 'nextval|uuid'
      FROM pg_attrdef AS d
      WHERE d.adrelid = tables.oid AND d.adnum = a.attnum
    ),
    FALSE
  ) AS is_generated,
  (
    SELECT min(other.relname)
    FROM pg_constraint AS k
    JOIN pg_class AS other ON other.oid = k.confrelid
    WHERE k.conrelid = tables.oid AND k.contype = 'f' AND a.attnum = ANY(k.conkey)
  ) AS refers_to,
  refused.why AS unreadable,
  refused."grant"
{% if timescaledb %}
  , CASE WHEN h.column_name IS NULL THEN segment.role ELSE h.role END AS role
  , CASE WHEN h.column_name IS NULL THEN segment.reason ELSE h.reason END AS reason
{% endif %}
FROM tables
JOIN refused ON refused.oid = tables.oid
JOIN pg_attribute AS a ON a.attrelid = tables.oid AND a.attnum > 0 AND NOT a.attisdropped
JOIN pg_type AS t ON t.oid = a.atttypid
LEFT JOIN best ON best.indrelid = tables.oid
{% if timescaledb %}
LEFT JOIN LATERAL (
  SELECT
    d.column_name,
    CASE d.dimension_number WHEN 1 THEN 'time' ELSE 'tag' END AS role,
    CASE d.dimension_number WHEN 1 THEN 'the hypertable''s time' ELSE 'a dimension of the hypertable' END AS reason
  FROM timescaledb_information.dimensions AS d
  WHERE d.hypertable_schema = {{ database | text }}
    AND d.hypertable_name = tables.relname
    AND d.column_name = a.attname
) AS h ON TRUE
LEFT JOIN LATERAL (
  SELECT 'tag' AS role, 'compressed chunks are segmented by it' AS reason
  FROM timescaledb_information.compression_settings AS s
  WHERE s.hypertable_schema = {{ database | text }}
    AND s.hypertable_name = tables.relname
    AND s.attname = a.attname
    AND s.segmentby_column_index IS NOT NULL
) AS segment ON TRUE
{% endif %}
ORDER BY tables.relname, a.attnum
