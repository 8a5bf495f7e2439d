-- fact: effective_options
-- columns: measurement, option, value
-- cost: catalog only; one statement for all databases
-- grant: a user that may read
-- versions: 1.1 and later
-- link: https://docs.greptime.com/reference/sql/information-schema/region-info/
-- In which format files are written, whether the table says so or not. Up to 0.17 there is one; 1.0 has two and does not
-- tell.
SELECT DISTINCT table_id, sst_format
FROM information_schema.region_info
-- Other groups are of the metric engine's own bookkeeping.
WHERE region_group = 0
ORDER BY table_id, sst_format
