"""Layouts in PostgreSQL and SQLite that no rule was tuned for: expectations written before the first audit."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

from tests.builders import DAY
from tests.layouts.layout import Layout, Script, Wanted
from tests.layouts.making import ANALYZE

# --- Prefect ----------------------------------------------------------------------------------------------------------

_PREFECT: Final = (
    """CREATE TABLE flow (id uuid PRIMARY KEY, created timestamptz NOT NULL, updated timestamptz NOT NULL,
        name varchar NOT NULL UNIQUE, tags jsonb NOT NULL DEFAULT '[]')""",
    """INSERT INTO flow SELECT md5('f' || i)::uuid, timestamptz '2025-11-03 08:00Z', timestamptz '2026-03-01 09:00Z',
        (ARRAY['Rechnungslauf', 'sync-hubspot', 'etl_events', 'Nightly Backup'])[i], '["prod"]'
        FROM generate_series(1, 4) i""",
    """CREATE TABLE flow_run (id uuid PRIMARY KEY, created timestamptz NOT NULL, updated timestamptz NOT NULL,
        flow_id uuid NOT NULL REFERENCES flow ON DELETE CASCADE, name varchar NOT NULL, state_type varchar,
        state_name varchar, run_count integer NOT NULL, expected_start_time timestamptz, start_time timestamptz,
        end_time timestamptz, parameters jsonb NOT NULL, idempotency_key varchar, work_queue_name varchar,
        deployment_id uuid)""",
    """INSERT INTO flow_run SELECT md5('r' || i)::uuid, t, t + interval '3 minutes', md5('f' || 1 + i % 4)::uuid,
        (ARRAY['amber', 'polar', 'quiet', 'ruby'])[1 + i % 4] || '-' || (ARRAY['otter', 'lynx', 'heron'])[1 + i % 3],
        CASE WHEN i % 41 = 0 THEN 'FAILED' ELSE 'COMPLETED' END,
        CASE WHEN i % 41 = 0 THEN 'Failed' ELSE 'Completed' END,
        1, t, t + interval '4 seconds', t + (30 + i % 150) * interval '1 second', '{"full_refresh": false}',
        'scheduled ' || md5(i::text), 'default', md5('d' || i % 4)::uuid
        FROM (SELECT i, timestamptz '2026-03-31 05:55Z' - (3000 - i) * interval '6 minutes' AS t
            FROM generate_series(1, 3000) i) made""",
    "CREATE INDEX ix_flow_run__flow_id ON flow_run (flow_id)",
    "CREATE INDEX ix_flow_run__start_time ON flow_run (start_time)",
    "CREATE INDEX ix_flow_run__end_time_desc ON flow_run (end_time DESC)",
    "CREATE INDEX ix_flow_run__expected_start_time_desc ON flow_run (expected_start_time DESC)",
    "CREATE INDEX ix_flow_run__state_type ON flow_run (state_type)",
    """CREATE TABLE log (id uuid PRIMARY KEY, created timestamptz NOT NULL, updated timestamptz NOT NULL,
        name varchar NOT NULL, level smallint NOT NULL, flow_run_id uuid, task_run_id uuid, message text NOT NULL,
        "timestamp" timestamptz NOT NULL)""",
    """INSERT INTO log SELECT md5('l' || i)::uuid, t + interval '2 seconds', t + interval '2 seconds',
        CASE WHEN i % 3 = 0 THEN 'prefect.flow_runs' ELSE 'prefect.task_runs' END,
        (ARRAY[20, 20, 20, 30, 40])[1 + i % 5], md5('r' || 1 + i / 31)::uuid,
        CASE WHEN i % 3 > 0 THEN md5('t' || i / 3)::uuid END,
        'Finished in state Completed() after ' || i * 7919 % 90000 || ' ms, ' || i % 700 || ' Zeilen', t
        FROM (SELECT i, timestamptz '2026-03-31 05:58Z' - (90000 - i) * interval '12 seconds' AS t
            FROM generate_series(1, 90000) i) made""",
    'CREATE INDEX ix_log__timestamp ON log ("timestamp")',
    'CREATE INDEX ix_log__flow_run_id_timestamp ON log (flow_run_id, "timestamp")',
    "CREATE INDEX ix_log__task_run_id ON log (task_run_id)",
)


def _prefect(*more: str) -> Script:
    return Script((*_PREFECT, *more), then=(ANALYZE,))


# --- GoodJob, the queue of Rails --------------------------------------------------------------------------------------


def _good_job(dirty: bool) -> Script:
    queue = "(ARRAY['default', 'mailers', 'low', 'active_storage_analysis'])[1 + i % 4]"
    if dirty:
        queue = f"CASE WHEN i % 4 = 2 THEN 'import_cl' || substr(md5('q' || i), 1, 23) ELSE {queue} END"
    return Script(
        (
            """CREATE TABLE good_jobs (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), queue_name text, priority integer,
                serialized_params jsonb, scheduled_at timestamptz(6), performed_at timestamptz(6),
                finished_at timestamptz(6), error text, created_at timestamptz(6) NOT NULL,
                updated_at timestamptz(6) NOT NULL, active_job_id uuid, concurrency_key text, cron_key text,
                retried_good_job_id uuid, cron_at timestamptz(6), batch_id uuid, is_discrete boolean,
                executions_count integer, job_class text, error_event smallint, labels text[])""",
            f"""INSERT INTO good_jobs SELECT md5('j' || i)::uuid, {queue}, (i % 3 - 1) * 10,
                jsonb_build_object('job_id', md5('j' || i)::uuid, 'locale', 'de', 'arguments',
                jsonb_build_array(i * 31)),
                t, t + interval '300 ms', CASE WHEN i < 19990 THEN t + interval '2 seconds' END,
                CASE WHEN i % 97 = 0 THEN 'Net::OpenTimeout: execution expired' END, t, t + interval '2 seconds',
                md5('j' || i)::uuid, CASE WHEN i % 5 = 0 THEN 'Sync-account-' || i * 17 % 900 END,
                CASE WHEN i % 10 = 3 THEN 'nightly_digest' END, NULL, CASE WHEN i % 10 = 3 THEN t END,
                CASE WHEN i % 50 = 0 THEN md5('b' || i / 500)::uuid END, true, 1,
                (ARRAY['SyncAccountJob', 'ActionMailer::MailDeliveryJob', 'ImportJob', 'ActiveStorage::AnalyzeJob'])
                    [1 + i % 4], CASE WHEN i % 97 = 0 THEN 2 END, NULL
                FROM (SELECT i, timestamptz '2026-03-31 05:59:30Z' - (20000 - i) * interval '1 minute' AS t
                    FROM generate_series(1, 20000) i) made""",
            "CREATE INDEX index_good_jobs_on_scheduled_at ON good_jobs (scheduled_at) WHERE finished_at IS NULL",
            """CREATE INDEX index_good_jobs_on_queue_name_and_scheduled_at ON good_jobs (queue_name, scheduled_at)
                WHERE finished_at IS NULL""",
            "CREATE INDEX index_good_jobs_on_active_job_id_and_created_at ON good_jobs (active_job_id, created_at)",
            """CREATE INDEX index_good_jobs_on_concurrency_key_when_unfinished ON good_jobs (concurrency_key)
                WHERE finished_at IS NULL""",
            """CREATE INDEX index_good_jobs_on_cron_key_and_created_at_cond ON good_jobs (cron_key, created_at)
                WHERE cron_key IS NOT NULL""",
            """CREATE INDEX index_good_jobs_jobs_on_finished_at ON good_jobs (finished_at)
                WHERE retried_good_job_id IS NULL AND finished_at IS NOT NULL""",
            "CREATE INDEX index_good_jobs_on_batch_id ON good_jobs (batch_id) WHERE batch_id IS NOT NULL",
            "CREATE INDEX index_good_jobs_on_job_class ON good_jobs (job_class)",
            """CREATE TABLE good_job_processes (id uuid PRIMARY KEY, created_at timestamptz(6) NOT NULL,
                updated_at timestamptz(6) NOT NULL, state jsonb, lock_type smallint)""",
            """INSERT INTO good_job_processes SELECT md5('p' || i)::uuid, timestamptz '2026-03-30 22:00Z',
                timestamptz '2026-03-31 05:59Z', '{"hostname": "worker-7c9f", "pid": 1}', 0
                FROM generate_series(1, 3) i""",
        ),
        then=(ANALYZE,),
    )


# --- Flows of a network, by pmacct ------------------------------------------------------------------------------------

_ACCT: Final = """as_src bigint NOT NULL DEFAULT 0, as_dst bigint NOT NULL DEFAULT 0, ip_src inet NOT NULL,
    ip_dst inet NOT NULL, port_src integer NOT NULL, port_dst integer NOT NULL, ip_proto smallint NOT NULL,
    packets integer NOT NULL, bytes bigint NOT NULL, flows integer NOT NULL, stamp_inserted timestamp NOT NULL,
    stamp_updated timestamp"""
_FLOWS: Final = """SELECT (ARRAY[3320, 6830, 8881])[1 + i % 3], (ARRAY[15169, 13335, 32934, 2906])[1 + i % 4],
    ('10.11.' || i % 7 || '.' || 1 + i * 31 % 250)::inet, ('142.250.' || i * 17 % 256 || '.' || 1 + i * 13 % 250)::inet,
    1024 + i * 7919 % 60000, (ARRAY[443, 443, 53, 22])[1 + i % 4], CASE WHEN i % 4 = 2 THEN 17 ELSE 6 END,
    1 + i % 90, 60 + i * 104729 % 900000, 1, t, t + interval '1 minute'"""


def _pmacct(dirty: bool) -> Script:
    days = [DAY - timedelta(days=n) for n in range(30 if dirty else 10)]
    made = [] if dirty else [f"CREATE TABLE acct ({_ACCT}) PARTITION BY RANGE (stamp_inserted)"]
    for day in reversed(days):
        name, count = f"acct_{day:%Y%m%d}", 600 if dirty else 3_000
        if dirty:
            made += [f"CREATE TABLE {name} ({_ACCT})"]
        else:
            bounds = f"FROM ('{day}') TO ('{day + timedelta(days=1)}')"
            made += [f"CREATE TABLE {name} PARTITION OF acct FOR VALUES {bounds}"]
        hours = 5.9 if day == DAY else 23.9
        at = f"timestamp '{day}' + i * {hours} / {count} * interval '1 hour'"
        made += [f"INSERT INTO {name} {_FLOWS} FROM (SELECT i, {at} AS t FROM generate_series(1, {count}) i) made"]
        made += [f"CREATE INDEX ON {name} (stamp_inserted)"] if dirty else []
    made += [] if dirty else ["CREATE INDEX acct_stamp ON acct (stamp_inserted)"]
    return Script(made, then=(ANALYZE,))


# --- WordPress on SQLite, with the queue of WooCommerce ---------------------------------------------------------------

_COUNT: Final = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {})"
_WORDPRESS: Final = (
    """CREATE TABLE wp_options (option_id INTEGER PRIMARY KEY AUTOINCREMENT, option_name TEXT NOT NULL UNIQUE,
        option_value TEXT NOT NULL, autoload TEXT NOT NULL DEFAULT 'yes')""",
    f"""INSERT INTO wp_options {_COUNT.format(420)} SELECT i, '_transient_feed_' || hex(i * 104729),
        'a:1:{{i:0;s:4:"ja";}}',
        CASE i % 3 WHEN 0 THEN 'yes' ELSE 'no' END FROM n""",
    """CREATE TABLE wp_posts (ID INTEGER PRIMARY KEY AUTOINCREMENT, post_author INTEGER NOT NULL,
        post_date TEXT NOT NULL,
        post_date_gmt TEXT NOT NULL, post_content TEXT NOT NULL, post_title TEXT NOT NULL, post_status TEXT NOT NULL,
        post_name TEXT NOT NULL, post_parent INTEGER NOT NULL, guid TEXT NOT NULL, post_type TEXT NOT NULL)""",
    f"""INSERT INTO wp_posts {_COUNT.format(1400)} SELECT i, 1 + i % 3, datetime(1774936000 - (1400 - i) * 21600,
        'unixepoch'),
        datetime(1774928800 - (1400 - i) * 21600, 'unixepoch'),
        '<!-- wp:paragraph --><p>Grüße aus Köln, Teil ' || i || '</p>',
        'Beitrag Nr. ' || i, CASE i % 9 WHEN 0 THEN 'draft' ELSE 'publish' END, 'beitrag-nr-' || i, 0,
        'https://example.com/?p=' || i, CASE i % 4 WHEN 0 THEN 'attachment' WHEN 1 THEN 'product' ELSE 'post' END
        FROM n""",
    "CREATE INDEX wp_posts__post_name ON wp_posts (post_name)",
    "CREATE INDEX wp_posts__type_status_date ON wp_posts (post_type, post_status, post_date, ID)",
    "CREATE INDEX wp_posts__post_date_gmt ON wp_posts (post_date_gmt)",
    """CREATE TABLE wp_actionscheduler_actions (action_id INTEGER PRIMARY KEY AUTOINCREMENT, hook TEXT NOT NULL,
        status TEXT NOT NULL, scheduled_date_gmt TEXT, args TEXT, group_id INTEGER NOT NULL, attempts INTEGER NOT NULL,
        last_attempt_gmt TEXT, claim_id INTEGER NOT NULL, extended_args TEXT, priority INTEGER NOT NULL)""",
    f"""INSERT INTO wp_actionscheduler_actions {_COUNT.format(120000)} SELECT i, CASE i % 3 WHEN 0 THEN
        'woocommerce_deliver_webhook_async' WHEN 1 THEN 'wc-admin_import_orders' ELSE
        'action_scheduler/migration_hook' END,
        CASE WHEN i > 119990 THEN 'pending' WHEN i % 60 = 0 THEN 'failed' ELSE 'complete' END,
        datetime(1774936000 - (120000 - i) * 20, 'unixepoch'), '[' || i * 7 || ']', i % 4, 1,
        datetime(1774936003 - (120000 - i) * 20, 'unixepoch'), 0, NULL, 10 FROM n""",
    "CREATE INDEX wp_as_hook_status_date ON wp_actionscheduler_actions (hook, status, scheduled_date_gmt)",
    "CREATE INDEX wp_as_status_scheduled ON wp_actionscheduler_actions (status, scheduled_date_gmt)",
    "CREATE INDEX wp_as_scheduled_date_gmt ON wp_actionscheduler_actions (scheduled_date_gmt)",
)

# --- Ships that a receiver hears --------------------------------------------------------------------------------------


def _ais(dirty: bool) -> Script:
    place = "printf('%.5f|%.5f', {}, {})" if dirty else "round({}, 5), round({}, 5)"
    made = place.format("54.3 + i * 7919 % 9000 / 1e4", "10.1 + i * 104729 % 9000 / 1e4")
    column = "position TEXT" if dirty else "lat REAL NOT NULL, lon REAL NOT NULL"
    return Script(
        (
            """CREATE TABLE vessels (mmsi INTEGER PRIMARY KEY, imo INTEGER, shipname TEXT, callsign TEXT,
                shiptype INTEGER,
                destination TEXT)""",
            f"""INSERT INTO vessels {_COUNT.format(260)} SELECT 211000000 + i * 1237, CASE i % 4 WHEN 0 THEN NULL
                ELSE 9100000 + i * 31 END, 'MS SØREN ' || i, 'D' || hex(i % 90) || 'X', 30 + i % 59, 'DEKEL>SEGOT'
                FROM n""",
            f"""CREATE TABLE ais_position (mmsi INTEGER NOT NULL, rxtime TEXT NOT NULL, {column}, sog REAL, cog REAL,
                heading INTEGER, nav_status INTEGER, channel TEXT, signalpower REAL)""",
            f"""INSERT INTO ais_position {_COUNT.format(40000)} SELECT 211000000 + (1 + i % 260) * 1237,
                datetime(1774936790 - (40000 - i) * 9, 'unixepoch'), {made}, i * 31 % 220 / 10.0, i * 17 % 3600 / 10.0,
                CASE i % 5 WHEN 0 THEN NULL ELSE i * 17 % 360 END, i % 3 * 5, CASE i % 2 WHEN 0 THEN 'A' ELSE 'B' END,
                -30 - i * 13 % 600 / 10.0 FROM n""",
            "CREATE INDEX ais_position_rxtime ON ais_position (rxtime)",
            "CREATE INDEX ais_position_mmsi ON ais_position (mmsi, rxtime)",
        )
    )


def _pair(name: str, engine: str, source: str, made: Any, *wanted: Wanted) -> Layout:
    return Layout(name, engine, source, lambda: made(True), lambda: made(False), wanted)


LAYOUTS: Final = (
    Layout(
        "prefect-postgresql",
        "postgresql",
        "https://docs.prefect.io/v3/api-ref/python/prefect-server-database-orm_models",
        lambda: _prefect(
            'CREATE INDEX log_ts_idx ON log ("timestamp")', "CREATE INDEX log_run_idx ON log (flow_run_id)"
        ),
        _prefect,
        (Wanted("STO001", "log*", "the time is indexed twice, and the run's index begins another: 2 MB and more"),),
    ),
    _pair(
        "good-job-postgresql",
        "postgresql",
        "https://github.com/bensheldon/good_job",
        _good_job,
        Wanted("TAG002|TAG003|CAR004", "good_jobs.queue_name", "5,000 queues, one for each import: a class"),
    ),
    _pair(
        "pmacct-postgresql",
        "postgresql",
        "https://github.com/pmacct/pmacct/blob/master/sql/README.pgsql",
        _pmacct,
        Wanted("NAM002", "*", "sql_table with %Y%m%d: 30 tables, where partitions of one would do"),
    ),
    Layout(
        "wordpress-sqlite",
        "sqlite",
        "https://github.com/WordPress/sqlite-database-integration",
        lambda: Script((*_WORDPRESS, "CREATE INDEX own_status ON wp_actionscheduler_actions (status)")),
        lambda: Script(_WORDPRESS),
        (Wanted("STO001", "wp_actionscheduler_actions*", "status begins another index: over a megabyte for nothing"),),
    ),
    _pair(
        "ais-receiver-sqlite",
        "sqlite",
        "https://docs.aiscatcher.org/",
        _ais,
        Wanted("TAG003|FLD002", "ais_position.position", "two numbers in a text: nobody finds the ships of an area"),
    ),
)
