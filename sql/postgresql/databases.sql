-- fact: databases
-- columns: database
-- cost: catalog only
-- grant: CONNECT on the database
-- versions: 14 and later; tried on 15 and 18
-- link: https://www.postgresql.org/docs/current/catalog-pg-namespace.html
SELECT n.nspname AS database
FROM pg_namespace AS n
WHERE n.nspname <> 'information_schema'
  AND NOT starts_with(n.nspname, 'pg_')
  AND NOT EXISTS (
    SELECT FROM pg_depend AS d WHERE d.classid = 'pg_namespace'::regclass AND d.objid = n.oid AND d.deptype = 'e'
  )
ORDER BY n.nspname
