-- fact: target_storage
-- columns: data_bytes, index_bytes, free_bytes
-- cost: none; the number of pages stands in the file's header
-- grant: read access to the file and its folder
-- versions: 3.37 and later
-- link: https://www.sqlite.org/pragma.html#pragma_page_count
-- The whole file, free pages too: what is deleted gives nothing back without VACUUM. How much of it each table takes, the
-- table `dbstat` would tell; it reads all pages for it.
SELECT
  page_count * page_size AS data_bytes,
  NULL AS index_bytes,
  freelist_count * page_size AS free_bytes
FROM pragma_page_count(), pragma_page_size(), pragma_freelist_count()
