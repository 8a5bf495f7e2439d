-- fact: columns
-- columns: measurement, column, data_type, key_position, role
-- cost: catalog only
-- grant: read on the database
-- versions: system.influxdb_schema Core and Enterprise 3.3 and later; information_schema everywhere
-- link: https://docs.influxdata.com/influxdb3/core/reference/sql/information-schema/
-- The engine says itself what is a tag. A table's key is its time and its tags, in an order that it does not tell.
-- A table whose first point was refused half way has no time, and no rows can be read from it: it is left out.
{% if catalog == "influxdb_schema" %}
SELECT
  measurement,
  key AS "column",
  CASE data_type WHEN 'tag' THEN 'string' WHEN 'time' THEN 'timestamp' ELSE data_type END AS data_type,
  CAST(NULL AS BIGINT) AS key_position,
  CASE data_type WHEN 'tag' THEN 'tag' WHEN 'time' THEN 'time' ELSE 'field' END AS role
FROM system.influxdb_schema
WHERE measurement IN (SELECT measurement FROM system.influxdb_schema WHERE data_type = 'time')
ORDER BY measurement, key
{% else %}
SELECT
  table_name AS measurement,
  column_name AS "column",
  CASE
    WHEN data_type LIKE 'Dictionary(%' THEN 'string'
    WHEN data_type LIKE 'Timestamp%' THEN 'timestamp'
    WHEN data_type = 'Utf8' THEN 'string'
    WHEN data_type = 'Float64' THEN 'float'
    WHEN data_type = 'Int64' THEN 'integer'
    WHEN data_type = 'UInt64' THEN 'uinteger'
    WHEN data_type = 'Boolean' THEN 'boolean'
    ELSE data_type
  END AS data_type,
  CAST(NULL AS BIGINT) AS key_position,
  CASE
    WHEN data_type LIKE 'Dictionary(%' THEN 'tag'
    WHEN data_type LIKE 'Timestamp%' THEN 'time'
    ELSE 'field'
  END AS role
FROM information_schema.columns
WHERE table_schema = 'iox'
  AND table_name IN (
    SELECT table_name FROM information_schema.columns WHERE table_schema = 'iox' AND data_type LIKE 'Timestamp%'
  )
ORDER BY table_name, column_name
{% endif %}
