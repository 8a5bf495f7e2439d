-- fact: measurements
-- columns: measurement
-- cost: catalog only
-- grant: read access to the file and its folder
-- versions: 3.37 and later
-- link: https://www.sqlite.org/schematab.html
SELECT name AS measurement
FROM sqlite_master
WHERE type = 'table'
  AND name NOT LIKE 'sqlite\_%' ESCAPE '\'
  AND {{ database | text }} = 'main'
ORDER BY name
