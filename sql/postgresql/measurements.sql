-- fact: measurements
-- columns: measurement
-- cost: catalog only
-- grant: CONNECT on the database
-- versions: 14 and later; tried on 15 and 18
-- link: https://www.postgresql.org/docs/current/catalog-pg-class.html
{% include "_tree.sql" %}

SELECT relname AS measurement FROM tables ORDER BY relname
