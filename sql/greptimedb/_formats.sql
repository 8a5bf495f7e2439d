-- In which format the files are written, whether the table says so or not: 1.1 and later.
SELECT DISTINCT table_id, sst_format
FROM information_schema.region_info
-- Other groups are of the metric engine's own bookkeeping.
WHERE region_group = 0
ORDER BY table_id, sst_format
