-- fact: databases
-- columns: database
-- cost: catalog only
-- grant: read access to the file and its folder
-- versions: 3.37 and later
-- link: https://www.sqlite.org/pragma.html#pragma_database_list
-- The file's own tables; tsaudit attaches no other file.
SELECT name AS database
FROM pragma_database_list
WHERE name = 'main'
