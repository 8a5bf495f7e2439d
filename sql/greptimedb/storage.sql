-- fact: storage
-- columns: measurement, data_bytes, index_bytes
-- cost: statistics of the regions only; the same statement as for row_estimate, which is sent once
-- grant: a user that may read
-- versions: 0.12 and later
-- link: https://docs.greptime.com/reference/sql/information-schema/region-statistics/
-- Of files only: what has not been flushed yet is not counted.
{% include "_regions.sql" %}
