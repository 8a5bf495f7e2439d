-- fact: options
-- columns: measurement, option, value
-- cost: catalog only; one statement for each table
-- grant: a user that may read
-- versions: 0.12 and later
-- link: https://docs.greptime.com/reference/sql/show/#show-create-table
-- No view has the options with the lifetime that a database gives to its tables, nor, up to 1.0, the order of a key.
SHOW CREATE TABLE {{ database | name }}.{{ measurement | name }}
