-- fact: indexes
-- columns: measurement, index, kind, position, column, is_unique, is_constraint, is_partial, size_bytes, scans, counted_since
-- cost: catalog only; one statement for all databases
-- grant: a user that may read
-- versions: statistics 1.1 and later; key_column_usage, with all indexes of a column in one row, 0.12 to 1.0
-- link: https://docs.greptime.com/reference/sql/information-schema/statistics/
-- Neither size nor use of an index is known. No index is unique: key and time together identify a row.
{% if catalog == "statistics" %}
SELECT table_schema, table_name, column_name, index_name, index_type, seq_in_index
FROM information_schema.statistics
ORDER BY table_schema, table_name, index_name, seq_in_index
{% else %}
SELECT table_schema, table_name, column_name, constraint_name
FROM information_schema.key_column_usage
ORDER BY table_schema, table_name, column_name, constraint_name
{% endif %}
