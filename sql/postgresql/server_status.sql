-- fact: server_status
-- columns: kind, name, database, value
-- cost: settings, counters, and one row for each database of the server
-- grant: CONNECT on the database; pg_read_all_stats, too, for transactions that others left open
-- versions: 14 and later; tried on 15 and 18
-- link: https://www.postgresql.org/docs/current/routine-vacuuming.html#VACUUM-FOR-WRAPAROUND
SELECT
  'setting' AS kind,
  s.name,
  '' AS database,
  CASE s.setting
    WHEN 'on' THEN 1
    WHEN 'off' THEN 0
    ELSE CAST(s.setting AS DOUBLE PRECISION) * CASE s.unit WHEN '8kB' THEN 8192 ELSE 1 END
  END AS value
FROM pg_settings AS s
WHERE s.name IN (
  'autovacuum',
  'autovacuum_freeze_max_age',
  'autovacuum_vacuum_scale_factor',
  'autovacuum_vacuum_threshold'
)
-- What the machine has, as somebody set it: the default says nothing.
OR (s.name = 'effective_cache_size' AND s.source <> 'default')
UNION ALL
-- Each process that the server may have, and each prepared transaction, has a share of it.
SELECT
  'setting',
  'lock_table',
  '',
  CAST(current_setting('max_locks_per_transaction') AS DOUBLE PRECISION) * (1 + sum(CAST(s.setting AS INTEGER)))
FROM pg_settings AS s
WHERE s.name IN (
  'autovacuum_max_workers',
  'max_connections',
  'max_prepared_transactions',
  'max_wal_senders',
  'max_worker_processes'
)
UNION ALL
-- Of all databases, this one's own too, and how many of them need not be a superuser. Only who may see what kind each
-- process is knows: workers take no connection.
SELECT 'counter', 'connections', '', count(*) FILTER (WHERE a.backend_type = 'client backend')
FROM pg_stat_activity AS a
HAVING bool_and(a.backend_type IS NOT NULL)
UNION ALL
SELECT
  'setting',
  'connections',
  '',
  sum(CAST(s.setting AS INTEGER) * CASE s.name WHEN 'max_connections' THEN 1 ELSE -1 END)
FROM pg_settings AS s
WHERE s.name IN ('max_connections', 'superuser_reserved_connections', 'reserved_connections')
UNION ALL
-- Of transactions and of row locks that several share, whose numbers end alike. All databases have one supply.
SELECT
  'counter',
  'transaction_age',
  d.datname,
  greatest(age(d.datfrozenxid), mxid_age(d.datminmxid))
FROM pg_database AS d
UNION ALL
SELECT 'failure', 'archiving', '', a.failed_count
FROM pg_stat_archiver AS a
WHERE a.last_failed_time > coalesce(a.last_archived_time, '-infinity')
  AND current_setting('archive_mode') <> 'off'
UNION ALL
-- A slot that nobody reads, for which more of the log is kept than the server would by itself, and the bytes of that.
SELECT
  'failure',
  format(
    CASE
      WHEN s.wal_status = 'lost' THEN 'lost slot %s'
      WHEN current_setting('max_slot_wal_keep_size') <> '-1' THEN 'limited slot %s'
      ELSE 'slot %s'
    END,
    s.slot_name
  ),
  '',
  -- One that has lost its log has no position any more.
  coalesce(
    pg_wal_lsn_diff(
      CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END,
      s.restart_lsn
    ),
    0
  )
FROM pg_replication_slots AS s
WHERE NOT s.active
  AND s.wal_status <> 'reserved'
{% if server >= 17 %}
  -- On a standby, the copy of a slot that its primary has.
  AND NOT s.synced
{% endif %}
UNION ALL
-- Enabled, and no worker runs for it: it fails whenever it is started.
SELECT 'failure', format('subscription %s', s.subname), '', 1
FROM pg_subscription AS s
JOIN pg_stat_subscription AS w ON w.subid = s.oid
-- A standby has the subscriptions of its primary, and no workers.
WHERE s.subenabled AND w.pid IS NULL AND NOT pg_is_in_recovery()
UNION ALL
-- While one may still read or write, no vacuum of its database frees a row that was deleted after it began. None needs
-- a day. One without a snapshot keeps only its locks of tables; the server's own tables have lower numbers. The value is
-- for how long, in seconds.
SELECT
  'failure',
  format(
    CASE WHEN a.backend_xid IS NULL AND a.backend_xmin IS NULL THEN 'idle ' ELSE '' END
    || 'transaction of %s in process %s',
    a.usename,
    a.pid
  ),
  '',
  extract(EPOCH FROM now() - a.xact_start)
FROM pg_stat_activity AS a
WHERE a.datname = current_database()
  AND a.xact_start < now() - INTERVAL '1 day'
  AND a.backend_type = 'client backend'
  AND a.pid <> pg_backend_pid()
  AND (
    a.backend_xid IS NOT NULL
    OR a.backend_xmin IS NOT NULL
    OR EXISTS (SELECT FROM pg_locks AS l WHERE l.pid = a.pid AND l.granted AND l.relation >= 16384)
  )
UNION ALL
-- A transaction manager decides within seconds: after an hour, it has lost this one.
SELECT
  'failure',
  format('prepared transaction %s of %s', p.gid, p.database),
  '',
  extract(EPOCH FROM now() - p.prepared)
FROM pg_prepared_xacts AS p
WHERE p.database = current_database() AND p.prepared < now() - INTERVAL '1 hour'
UNION ALL
SELECT 'failure', format('checksums of %s', coalesce(d.datname, 'all databases')), '', d.checksum_failures
FROM pg_stat_database AS d
WHERE d.checksum_failures > 0 AND (d.datname = current_database() OR d.datname IS NULL)
{% if server >= 15 %}
UNION ALL
-- The operating system sorts texts differently than when the database was made.
SELECT 'failure', format('collation of %s', d.datname), '', 1
FROM pg_database AS d
WHERE d.datname = current_database() AND d.datcollversion <> pg_database_collation_actual_version(d.oid)
{% endif %}
{% if timescaledb %}
UNION ALL
SELECT
  'failure',
  format('job %s (%s)', s.job_id, concat_ws(' of ', j.proc_name, j.hypertable_name)),
  coalesce(j.hypertable_schema, ''),
  s.total_failures
FROM timescaledb_information.job_stats AS s
JOIN timescaledb_information.jobs AS j ON j.job_id = s.job_id
WHERE s.last_run_status = 'Failed' AND j.scheduled
{% endif %}
UNION ALL
SELECT 'started', '', '', extract(EPOCH FROM pg_postmaster_start_time())
ORDER BY kind, name, database
