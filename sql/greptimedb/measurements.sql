-- fact: measurements
-- columns: measurement
-- cost: catalog only; one statement for all databases
-- grant: a user that may read
-- versions: 0.12 and later
-- link: https://docs.greptime.com/reference/sql/information-schema/tables/
-- Whatever is asked for, the server walks through all tables of all databases: so each of these views is read once, and
-- put together by the connector. It leaves out external files and, of the metric engine, the tables that only show a
-- part of another one; `table_rows` is not read, as it is 0 also where nothing is known.
SELECT table_schema, table_name, table_id, engine
FROM information_schema.tables
WHERE table_type = 'BASE TABLE'
ORDER BY table_schema, table_name
