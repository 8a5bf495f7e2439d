-- fact: measurements
-- columns: measurement
-- cost: catalogue only
-- grant: read on the database
-- versions: 3.0 and later, Cloud Serverless, Cloud Dedicated
-- link: https://docs.influxdata.com/influxdb3/core/reference/sql/information-schema/
-- The schema `iox` holds what was written; the engine's own tables are in `system`.
SELECT table_name AS measurement
FROM information_schema.tables
WHERE table_schema = 'iox'
ORDER BY table_name
