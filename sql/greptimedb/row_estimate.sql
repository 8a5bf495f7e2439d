-- fact: row_estimate
-- columns: measurement, rows
-- cost: statistics of the regions only; one statement for all databases
-- grant: a user that may read
-- versions: 0.12 and later
-- link: https://docs.greptime.com/reference/sql/information-schema/region-statistics/
{% include "_regions.sql" %}
