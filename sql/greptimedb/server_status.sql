-- fact: server_status
-- columns: kind, name, database, value
-- cost: catalog only; one statement for all databases
-- grant: a user that may read
-- versions: 0.12 and later; not GreptimeCloud, which does not have this view
-- link: https://docs.greptime.com/reference/sql/information-schema/region-peers/
-- A region that is being moved is `DOWNGRADED` for a moment, too.
SELECT DISTINCT region_id
FROM information_schema.region_peers
WHERE is_leader = 'Yes' AND status <> 'ALIVE' AND down_seconds >= 60
ORDER BY region_id
