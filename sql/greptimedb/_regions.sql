-- What is in each region. In a cluster the figures lag behind by some seconds. Rows are those in files and in memory, with
-- each version of a row and each deletion until they are merged: no fewer than can be read, often more.
SELECT region_id, table_id, region_rows, sst_size, index_size
FROM information_schema.region_statistics
-- A read replica tells of the same rows again; one that is being moved is a `Leader(Downgrading)`.
WHERE region_role LIKE 'Leader%'
ORDER BY region_id
