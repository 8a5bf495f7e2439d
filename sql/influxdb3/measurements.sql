-- fact: measurements
-- columns: measurement
-- cost: catalog only
-- grant: read on the database; an admin token to tell deleted tables for certain
-- versions: system.tables Core and Enterprise 3.2 and later; information_schema everywhere
-- link: https://docs.influxdata.com/influxdb3/core/reference/sql/information-schema/
-- A deleted table is listed until its data is removed, as <name>-<time of deletion>; only `_internal` says which are.
-- The schema `iox` holds what was written; the engine's own tables are in `system`.
{% if catalog == "system" %}
SELECT table_name AS measurement
FROM system.tables
WHERE database_name = {{ database | text }} AND NOT deleted
ORDER BY table_name
{% else %}
SELECT table_name AS measurement
FROM information_schema.tables
WHERE table_schema = 'iox' AND NOT regexp_like(table_name, '-[0-9]{8}T[0-9]{6}$')
ORDER BY table_name
{% endif %}
