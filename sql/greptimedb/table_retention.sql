-- fact: table_retention
-- columns: measurement, policy, duration_s, partition_s
-- cost: catalog only; the statement that the options are read by, which is sent once for each table
-- grant: a user that may read
-- versions: 0.12 and later
-- link: https://docs.greptime.com/reference/sql/create/#table-options
-- The option `ttl`, which a table has of its own or from its database.
{% include "options.sql" %}
