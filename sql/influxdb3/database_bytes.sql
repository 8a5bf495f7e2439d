-- fact: database_bytes
-- columns: data_bytes, index_bytes
-- cost: catalog only; a row for each file, more than one where databases have many tables
-- grant: read on the database
-- versions: Core 3.6 tried; not asked on Cloud, which keeps other tables
-- link: https://docs.influxdata.com/influxdb3/core/admin/query-system-data/
-- Files only: what is still in the write-ahead log is not counted. Without a table named, the server lists the files once
-- for each table of any database that has the same number, under that one's name (seen on 3.6.0): each path counts once.
-- With one named that is gone by then, the server's code panics.
SELECT
  CAST(COALESCE(sum(size_bytes), 0) AS BIGINT) AS data_bytes,
  CAST(NULL AS BIGINT) AS index_bytes
FROM (SELECT DISTINCT path, size_bytes FROM system.parquet_files)
