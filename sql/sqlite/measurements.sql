-- fact: measurements
-- columns: measurement
-- cost: catalog only
-- grant: read access to the file and its folder
-- versions: 3.37 and later
-- link: https://www.sqlite.org/pragma.html#pragma_table_list
-- Left out are virtual tables, whose module may be missing here, and the tables that they keep their rows in.
SELECT name AS measurement
FROM pragma_table_list
WHERE "schema" = 'main'
  AND type = 'table'
  AND name NOT LIKE 'sqlite\_%' ESCAPE '\'
  AND {{ database | text }} = 'main'
ORDER BY name
