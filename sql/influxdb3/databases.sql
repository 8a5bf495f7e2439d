-- fact: databases
-- columns: database
-- cost: catalog only
-- grant: an admin token; without one the databases that the target names are audited
-- versions: Core and Enterprise 3.2 and later; Cloud has no such table
-- link: https://docs.influxdata.com/influxdb3/core/admin/query-system-data/
-- Asked of the database `_internal`.
SELECT database_name AS database
FROM system.databases
WHERE NOT deleted AND database_name <> '_internal'
ORDER BY database_name
