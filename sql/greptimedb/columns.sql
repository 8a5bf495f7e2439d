-- fact: columns
-- columns: measurement, column, data_type, key_position, role
-- cost: catalog only; one statement for all databases
-- grant: a user that may read
-- versions: 0.12 and later
-- link: https://docs.greptime.com/reference/sql/information-schema/columns/
-- The order of a key stands in another view, see indexes.sql; up to 1.0 it stands in no view, see options.sql. What
-- views this version has, and with which columns, is in the answer, too.
SELECT table_schema, table_name, column_name, data_type, semantic_type
FROM information_schema.columns
ORDER BY table_schema, table_name, ordinal_position
