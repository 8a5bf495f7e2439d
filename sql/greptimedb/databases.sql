-- fact: databases
-- columns: database
-- cost: catalog only
-- grant: a user that may read
-- versions: 0.12 and later
-- link: https://docs.greptime.com/reference/sql/information-schema/schemata/
-- A reader sees all databases: the open-source edition has no rights for single ones.
SELECT schema_name AS database
FROM information_schema.schemata
WHERE schema_name NOT IN ('information_schema', 'pg_catalog', 'greptime_private')
ORDER BY schema_name
