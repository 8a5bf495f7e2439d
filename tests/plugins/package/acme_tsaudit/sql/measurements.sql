-- fact: measurements
-- columns: measurement
-- cost: catalogue only
-- grant: read access to the file
-- versions: all
-- link: https://acme.example/docs
-- Drafts are nobody's business.
SELECT name AS measurement
FROM sqlite_master
WHERE type = 'table'
  AND name NOT LIKE 'draft_%'
  AND {{ database | text }} = 'main'
ORDER BY name
