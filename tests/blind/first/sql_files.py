"""SQLite and DuckDB files of public programs: columns, keys, and indexes as their schemas have them, rows made up."""

from __future__ import annotations

from typing import Final

from tests.blind.expected import BlindDatabase, Cause, Expected, Grade
from tests.layouts.layout import Script

NOW: Final = 1774936800
"""When the audit runs, in seconds since 1970."""


def _series(name: str, first: int, last: int) -> str:
    """The numbers from `first` to `last` as a table of SQLite, with the column `name`."""
    numbers = f"SELECT {first} UNION ALL SELECT {name} + 1 FROM made WHERE {name} < {last}"
    return f"(WITH RECURSIVE made ({name}) AS ({numbers}) SELECT {name} FROM made)"


def _uptime_kuma() -> Script:
    """70 monitors, each asked once a minute, for 33 hours; beats are kept for the usual 180 days."""
    return Script(
        (
            """CREATE TABLE `monitor` (
                `id` integer not null primary key autoincrement, `name` varchar(150),
                `active` boolean not null default '1', `user_id` integer, `interval` integer not null default '20',
                `url` text, `type` varchar(20), `weight` integer default '2000', `hostname` varchar(255), `port`
                    integer,
                `created_date` datetime not null default CURRENT_TIMESTAMP, `keyword` varchar(255),
                `maxretries` integer not null default '0', `ignore_tls` boolean not null default '0',
                `upside_down` boolean not null default '0', `maxredirects` integer not null default '10',
                `accepted_statuscodes_json` text not null default '["200-299"]', `dns_resolve_type` varchar(5),
                `dns_resolve_server` varchar(255), `dns_last_result` varchar(255),
                `retry_interval` integer not null default '0', `push_token` varchar(20), `method` text not null
                default 'GET', `body` text, `headers` text)""",
            """CREATE TABLE `heartbeat` (
                `id` integer not null primary key autoincrement, `important` boolean not null default '0',
                `monitor_id` integer not null, `status` smallint not null, `msg` text, `time` datetime not null,
                `ping` integer, `duration` integer not null default '0', `down_count` integer not null default '0',
                `end_time` datetime, `retries` integer not null default '0',
                foreign key(`monitor_id`) references `monitor`(`id`) on delete CASCADE on update CASCADE)""",
            "CREATE INDEX `heartbeat_important_index` on `heartbeat` (`important`)",
            "CREATE INDEX `monitor_time_index` on `heartbeat` (`monitor_id`, `time`)",
            "CREATE INDEX `heartbeat_monitor_id_index` on `heartbeat` (`monitor_id`)",
            "CREATE INDEX `monitor_important_time_index` on `heartbeat` (`monitor_id`, `important`, `time`)",
            """CREATE TABLE `stat_hourly` (
                `id` integer not null primary key autoincrement, `monitor_id` integer not null,
                `timestamp` integer not null, `ping` float not null, `up` smallint not null, `down` smallint not null,
                foreign key(`monitor_id`) references `monitor`(`id`) on delete CASCADE on update CASCADE)""",
            """CREATE UNIQUE INDEX `stat_hourly_monitor_id_timestamp_unique`
                on `stat_hourly` (`monitor_id`, `timestamp`)""",
            """CREATE TABLE `setting` (`id` integer not null primary key autoincrement, `key` varchar(200) not null,
                `value` text, `type` varchar(20))""",
            "CREATE UNIQUE INDEX `setting_key_unique` on `setting` (`key`)",
            """INSERT INTO setting (key, value, type) VALUES ('keepDataPeriodDays', '180', 'general'),
                ('serverTimezone', '"UTC"', NULL), ('checkUpdate', 'true', NULL)""",
            f"""INSERT INTO monitor (name, user_id, interval, url, type, created_date)
                SELECT 'site ' || m, 1, 60, 'https://site' || m || '.example.org/health', 'http', '2025-11-02 10:00:00'
                FROM {_series("m", 1, 70)}""",
            f"""INSERT INTO heartbeat (important, monitor_id, status, msg, time, ping, duration)
                SELECT i * 7919 % 9973 < 5, m, i * 7919 % 9973 >= 5,
                    CASE WHEN i * 7919 % 9973 < 5 THEN 'timeout of 48000ms exceeded' ELSE '200 - OK' END,
                    strftime('%Y-%m-%d %H:%M:%S', {NOW} - (2000 - b) * 60 - 1 - m % 60, 'unixepoch')
                        || printf('.%03d', i * 31 % 1000), CASE WHEN i * 7919 % 9973 >= 5 THEN 20 + i * 13 % 180 END, 60
                FROM (SELECT b, m, b * 70 + m AS i FROM {_series("b", 1, 2000)} CROSS JOIN {_series("m", 1, 70)})""",
            f"""INSERT INTO stat_hourly (monitor_id, timestamp, ping, up, down)
                SELECT m, {NOW} - (33 - h) * 3600, 100 + (h * 31 + m) % 20 + 0.25, 60, 0
                FROM {_series("h", 1, 33)} CROSS JOIN {_series("m", 1, 70)}""",
        ),
        then=("ANALYZE",),
    )


NODES: Final = range(101, 141)


def _netxms() -> Script:
    """40 nodes with five items each, polled once a minute for 14 hours, and a view for a dashboard."""
    tables: list[str] = []
    for node in NODES:
        tables += [
            f"""CREATE TABLE idata_{node} (item_id integer not null, idata_timestamp integer not null,
                idata_value varchar(255) null, raw_value varchar(255) null)""",
            f"CREATE INDEX idx_idata_{node}_id_timestamp ON idata_{node} (item_id, idata_timestamp DESC)",
            f"""INSERT INTO idata_{node}
                SELECT {node * 10} + k, {NOW} - (840 - t) * 60 - k, CASE k
                    WHEN 0 THEN printf('%.6f', 5 + (t * 7919 + {node}) % 6000 / 100.0)
                    WHEN 1 THEN printf('%.6f', 40 + (t * 31 + {node}) % 900 / 100.0)
                    ELSE CAST((t * 104729 + {node} * k) % 9000000 AS TEXT) END, CASE k
                    WHEN 0 THEN printf('%.6f', 5 + (t * 7919 + {node}) % 6000 / 100.0)
                    WHEN 1 THEN printf('%.6f', 40 + (t * 31 + {node}) % 900 / 100.0)
                    ELSE CAST(700000000 * k + t * 4500000 AS TEXT) END
                FROM {_series("t", 1, 840)} CROSS JOIN {_series("k", 0, 4)}""",
        ]
    view = " UNION ALL ".join(
        f"SELECT {node} AS node_id, item_id, idata_timestamp, CAST(idata_value AS REAL) AS value FROM idata_{node}"
        for node in NODES
    )
    return Script(
        (
            "BEGIN",
            """CREATE TABLE nodes (
                id integer not null, primary_name varchar(255) null, primary_ip varchar(48) not null,
                node_type integer not null, capabilities integer not null, snmp_version integer not null,
                community varchar(127) null, status_poll_type integer not null, agent_port integer not null,
                snmp_oid varchar(255) null, agent_version varchar(63) null, platform_name varchar(63) null,
                uname varchar(255) null, boot_time integer not null, PRIMARY KEY(id))""",
            """CREATE TABLE items (
                item_id integer not null, node_id integer not null, template_id integer not null, guid varchar(36) not
                    null,
                name varchar(1023) not null, description varchar(255) null, source integer not null,
                datatype integer not null, polling_interval integer not null, retention_time integer not null,
                status integer not null, delta_calculation integer not null, transformation text null,
                instance varchar(1023) null, PRIMARY KEY(item_id))""",
            """CREATE TABLE event_log (
                event_id integer not null, event_code integer not null, event_timestamp integer not null,
                event_origin char(1) not null, origin_timestamp integer not null, event_source integer not null,
                zone_uin integer not null, dci_id integer not null, event_severity integer not null,
                event_message varchar(2000) null, event_tags varchar(2000) null, root_event_id integer not null,
                raw_data text null, PRIMARY KEY(event_id))""",
            "CREATE INDEX idx_event_log_event_timestamp ON event_log (event_timestamp)",
            "CREATE INDEX idx_event_log_source ON event_log (event_source)",
            "CREATE INDEX idx_event_log_root_id ON event_log (root_event_id) WHERE root_event_id > 0",
            f"""INSERT INTO nodes
                SELECT n, 'switch' || n || '.example.org', '10.3.0.' || n, 2, 3, 1, 'public', 0, 4700,
                    '.1.3.6.1.4.1.9.1.1208', '4.4.2', NULL, 'Version 15.2(4)E7', {NOW} - n * 86400
                FROM {_series("n", NODES[0], NODES[-1])}""",
            f"""INSERT INTO items
                SELECT n * 10 + k, n, 3, lower(hex(n * 7919)) || '-' || k, CASE k WHEN 0 THEN 'System.CPU.Usage'
                    WHEN 1 THEN 'System.Temperature' ELSE '.1.3.6.1.2.1.2.2.1.' || (8 + k) || '.1' END, NULL, 2,
                    CASE WHEN k < 2 THEN 5 ELSE 6 END, 60, 30, 0, CASE WHEN k < 2 THEN 0 ELSE 1 END, NULL, NULL
                FROM {_series("n", NODES[0], NODES[-1])} CROSS JOIN {_series("k", 0, 4)}""",
            f"""INSERT INTO event_log
                SELECT e, 28 + e % 6, {NOW} - (3000 - e) * 290, 'S', {NOW} - (3000 - e) * 290, 101 + e * 7 % 40, 0, 0,
                    e % 4,
                    'Interface GigabitEthernet1/0/' || (e % 48) || ' changed state to ' || CASE e % 2 WHEN 0 THEN 'UP'
                        ELSE 'DOWN' END, '', 0, NULL
                FROM {_series("e", 1, 3000)}""",
            *tables,
            f"CREATE VIEW dashboard_values AS {view}",
        ),
        then=("ANALYZE",),
    )


def _atuin() -> Script:
    """One person's shell: 100 commands a day for 120 days."""
    return Script(
        (
            """CREATE TABLE _sqlx_migrations (
                version BIGINT PRIMARY KEY, description TEXT NOT NULL,
                installed_on TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, success BOOLEAN NOT NULL,
                checksum BLOB NOT NULL, execution_time BIGINT NOT NULL)""",
            """CREATE TABLE history (
                id text primary key, timestamp integer not null, duration integer not null, exit integer not null,
                command text not null, cwd text not null, session text not null, hostname text not null,
                deleted_at integer, unique(timestamp, cwd, command))""",
            "CREATE INDEX idx_history_timestamp on history(timestamp)",
            "CREATE INDEX idx_history_command on history(command)",
            "CREATE INDEX idx_history_command_timestamp on history(command, timestamp)",
            """INSERT INTO _sqlx_migrations VALUES
                (20210422143411, 'create history', '2025-10-04 08:00:00', 1, x'00', 1200000),
                (20230319185725, 'deleted at', '2025-10-04 08:00:00', 1, x'01', 900000)""",
            f"""INSERT INTO history
                SELECT printf('0195%08x7%03x%016x', i * 864, i * 7919 % 4096, i * 104729),
                    ({NOW} - (12000 - i) * 864) * 1000000000 + i * 7919 % 1000000, i * 7919 % 90000 * 100000,
                    CASE WHEN i % 17 = 0 THEN 1 WHEN i % 83 = 0 THEN 130 ELSE 0 END,
                    CASE i % 6 WHEN 0 THEN 'git status' WHEN 1 THEN 'cd ../service' || (i * 31 % 40)
                        WHEN 2 THEN 'vim src/module' || (i * 13 % 300) || '.py' WHEN 3 THEN 'make test'
                        WHEN 4 THEN 'ssh host' || (i * 7 % 25) || '.example.org' ELSE 'git commit -m "fix #'
                            || (i % 900) || '"' END,
                    '/home/alex/src/service' || (i / 9 % 40), printf('0195%012x7abc%012x', i / 60, i / 60 * 7919),
                    'laptop:alex', NULL
                FROM {_series("i", 1, 12000)}""",
        ),
        then=("ANALYZE",),
    )


def _netdata() -> Script:
    """Changes of 60 alerts on one host: 500 a day for 30 days, which is what the agent keeps."""
    return Script(
        (
            """CREATE TABLE health_log (
                health_log_id INTEGER PRIMARY KEY, host_id blob, alarm_id int, config_hash_id blob, name text, chart
                    text,
                family text, recipient text, units text, exec text, chart_context text, last_transition_id blob,
                chart_name text, UNIQUE (host_id, alarm_id))""",
            """CREATE TABLE health_log_detail (
                health_log_id int, unique_id int, alarm_id int, alarm_event_id int, updated_by_id int, updates_id int,
                when_key int, duration int, non_clear_duration int, flags int, exec_run_timestamp int,
                delay_up_to_timestamp int, info text, exec_code int, new_status real, old_status real, delay int,
                new_value double, old_value double, last_repeat int, transition_id blob, global_id int, summary
                    text)""",
            """CREATE TABLE host_label (host_id blob, source_type int, label_key text NOT NULL, label_value text NOT
                NULL,
                date_created INT, PRIMARY KEY (host_id, label_key))""",
            "CREATE INDEX health_log_ind_1 ON health_log (host_id)",
            "CREATE INDEX health_log_d_ind_2 ON health_log_detail (global_id)",
            "CREATE INDEX health_log_d_ind_3 ON health_log_detail (transition_id)",
            "CREATE INDEX health_log_d_ind_9 ON health_log_detail (unique_id DESC, health_log_id)",
            "CREATE INDEX health_log_d_ind_6 on health_log_detail (health_log_id, when_key)",
            "CREATE INDEX health_log_d_ind_7 on health_log_detail (alarm_id)",
            "CREATE INDEX health_log_d_ind_8 on health_log_detail (new_status, updated_by_id)",
            f"""INSERT INTO host_label VALUES (x'7f3a', 1, '_os_version', '12', {NOW} - 2592000),
                (x'7f3a', 1, '_kernel_version', '6.1.0-18-amd64', {NOW} - 2592000),
                (x'7f3a', 1, '_system_cores', '8', {NOW} - 2592000)""",
            f"""INSERT INTO health_log
                SELECT a, x'7f3a5c1e', 1700000000 + a, CAST(printf('%016x', a * 7919) AS BLOB),
                    'disk_backlog_' || (a % 12), 'disk_backlog.sd' || char(97 + a % 12), 'sd' || char(97 + a % 12),
                        'sysadmin',
                    'ms', '/usr/libexec/netdata/plugins.d/alarm-notify.sh', 'disk.backlog',
                    CAST(printf('%016x', a * 104729) AS BLOB), 'disk_backlog.sd' || char(97 + a % 12)
                FROM {_series("a", 1, 60)}""",
            f"""INSERT INTO health_log_detail
                SELECT 1 + i % 60, 1700100000 + i, 1700000001 + i % 60, i / 60, CASE WHEN i < 14940 THEN 1700100060 +
                    i ELSE 0
                    END, CASE WHEN i > 60 THEN 1700100000 + i - 60 ELSE 0 END, {NOW} - (15000 - i) * 172 - i * 31 % 60,
                    172 + i % 90, CASE WHEN i % 3 THEN 0 ELSE 600 END, 2048, CASE WHEN i % 3 THEN 0 ELSE {NOW}
                    - (15000 - i) * 172 END, {NOW} - (15000 - i) * 172 + 60,
                    'average backlog size of the sd' || char(97 + i % 12) || ' disk over the last 10 minutes', 0,
                    1 + i % 3, 1 + (i + 1) % 3, 60, CASE WHEN i % 40 THEN i * 7919 % 60000 / 10.0 END,
                    CASE WHEN i % 41 THEN i * 31 % 60000 / 10.0 END, 0, CAST(printf('%016x', i * 7919) AS BLOB),
                    ({NOW} - (15000 - i) * 172) * 1000000 + i, 'Disk sd' || char(97 + i % 12) || ' backlog'
                FROM {_series("i", 1, 15000)}""",
        ),
        then=("ANALYZE",),
    )


def _coreprotect() -> Script:
    """What players of a game server did to its blocks: 10,700 changes a day for 14 days."""
    rows = 150_000
    positions = "time INTEGER, user INTEGER, wid INTEGER, x INTEGER, y INTEGER, z INTEGER"
    spread = "i / 300 * 7919 % 4000 - 2000 + i % 16, 40 + i % 64, i / 300 * 104729 % 4000 - 2000 + i / 16 % 16"
    indexes = {
        "block_index": "co_block(wid,x,z,time)",
        "block_user_index": "co_block(user,time)",
        "block_type_index": "co_block(type,time)",
        "chat_index": "co_chat(time)",
        "chat_user_index": "co_chat(user,time)",
        "chat_wid_index": "co_chat(wid,x,z,time)",
        "container_index": "co_container(wid,x,z,time)",
        "container_user_index": "co_container(user,time)",
        "container_type_index": "co_container(type,time)",
        "material_map_id_index": "co_material_map(id)",
        "session_index": "co_session(wid,x,z,time)",
        "session_action_index": "co_session(action,time)",
        "session_user_index": "co_session(user,time)",
        "session_time_index": "co_session(time)",
        "sign_index": "co_sign(wid,x,z,time)",
        "sign_user_index": "co_sign(user,time)",
        "sign_time_index": "co_sign(time)",
        "user_index": "co_user(user)",
        "uuid_index": "co_user(uuid)",
        "world_id_index": "co_world(id)",
    }
    lines = ", ".join(f"line_{n} TEXT" for n in range(1, 9))
    return Script(
        (
            f"""CREATE TABLE co_block ({positions}, type INTEGER, data INTEGER, meta BLOB, blockdata BLOB, action
                INTEGER,
                rolled_back INTEGER)""",
            f"CREATE TABLE co_chat ({positions}, message TEXT)",
            f"""CREATE TABLE co_container ({positions}, type INTEGER, data INTEGER, amount INTEGER, metadata BLOB,
                action INTEGER, rolled_back INTEGER)""",
            "CREATE TABLE co_database_lock (status INTEGER, time INTEGER)",
            "CREATE TABLE co_entity (id INTEGER PRIMARY KEY ASC, time INTEGER, data BLOB)",
            "CREATE TABLE co_material_map (id INTEGER, material TEXT)",
            f"CREATE TABLE co_session ({positions}, action INTEGER)",
            f"""CREATE TABLE co_sign ({positions}, action INTEGER, color INTEGER, color_secondary INTEGER, data INTEGER,
                waxed INTEGER, face INTEGER, {lines})""",
            "CREATE TABLE co_skull (id INTEGER PRIMARY KEY ASC, time INTEGER, owner TEXT, skin TEXT)",
            "CREATE TABLE co_user (id INTEGER PRIMARY KEY ASC, time INTEGER, user TEXT, uuid TEXT)",
            "CREATE TABLE co_version (time INTEGER, version TEXT)",
            "CREATE TABLE co_world (id INTEGER, world TEXT)",
            f"INSERT INTO co_version VALUES ({NOW} - 1209600, '22.4')",
            "INSERT INTO co_world VALUES (1, 'world'), (2, 'world_nether'), (3, 'world_the_end')",
            f"INSERT INTO co_material_map SELECT m, 'minecraft:block_' || m FROM {_series('m', 1, 300)}",
            f"""INSERT INTO co_user SELECT u, {NOW} - 1209600 + u * 3000, 'Player' || u,
                    printf('%08x-%04x-4%03x-8%03x-%012x', u * 7919, u, u, u, u * 104729)
                FROM {_series("u", 1, 200)}""",
            f"""INSERT INTO co_block
                SELECT {NOW} - ({rows} - i) * 8, 1 + i / 40 * 31 % 200, CASE WHEN i / 900 % 7 = 0 THEN 2 ELSE 1 END,
                    {spread},
                    1 + i * 13 % 300, 0, NULL, CASE WHEN i % 5 = 0 THEN x'312C34' END, i % 2, 0
                FROM {_series("i", 1, rows)}""",
            f"""INSERT INTO co_container
                SELECT {NOW} - (8000 - i) * 150, 1 + i / 40 * 31 % 200, 1, {spread}, 1 + i * 13 % 300, 0, 1 + i % 64,
                    NULL,
                    i % 2, 0
                FROM {_series("i", 1, 8000)}""",
            f"""INSERT INTO co_session
                SELECT {NOW} - (6000 - i) * 200, 1 + i * 31 % 200, 1, {spread}, i % 2 FROM {_series("i", 1, 6000)}""",
            f"""INSERT INTO co_chat
                SELECT {NOW} - (5000 - i) * 240, 1 + i * 31 % 200, 1, {spread}, 'gg, meet at ' || (i * 7 % 4000) ||
                    ' 64'
                FROM {_series("i", 1, 5000)}""",
            *(f"CREATE INDEX {name} ON {columns}" for name, columns in indexes.items()),
        ),
        then=("ANALYZE",),
    )


def _bonds() -> Script:
    """225 convertible bonds, each in a table of its own with 60 trading days."""
    columns = """dt TIMESTAMP PRIMARY KEY, open FLOAT, high FLOAT, low FLOAT, close FLOAT, volume UINTEGER, amount
        UBIGINT,
        preclose FLOAT, change FLOAT, pct_chg FLOAT, convert_price FLOAT, cb_value FLOAT, cb_over_rate FLOAT,
        remain_size UBIGINT, bond_over_rate FLOAT, bond_value FLOAT, call_price FLOAT, call_price_tax FLOAT,
        is_call TINYINT, call_type TINYINT"""
    statements = ["BEGIN"]
    for bond in range(225):
        table = f"_{110001 + bond}_sh" if bond < 110 else f"_{122891 + bond}_sz"
        price = f"(110 + {bond % 50} + (d * {7 + bond % 5}) % 23 / 10.0)"
        statements += [
            f"CREATE TABLE {table} ({columns})",
            f"""INSERT INTO {table}
                SELECT TIMESTAMP '2026-03-30' - to_days((59 - d + 2 * ((63 - d) // 5))::INTEGER), {price}, {price}
                    + 1.2,
                    {price} - 0.9, {price} + 0.3, 10000 + d * 7919 % 50000, 1000000 + d * 104729 % 9000000, {price} -
                        0.2,
                    0.5, 0.45, 9.8, 98 + {bond % 9}, 12.5, 900000000 - d * 1000, 22.1, 101.3, 0, 0, 0, 0
                FROM range(60) made (d)""",
        ]
    return Script((*statements, "COMMIT"), then=("CHECKPOINT",))


def _lawrence() -> Script:
    """20 collectors and what they report of themselves: metrics each minute and some logs, for two days."""
    metric = """timestamp TIMESTAMP NOT NULL, agent_id VARCHAR NOT NULL, group_id VARCHAR, group_name VARCHAR,
        service_name VARCHAR NOT NULL, metric_name VARCHAR NOT NULL, metric_description VARCHAR"""
    tail = "resource_attributes JSON, metric_attributes JSON"
    rollup = """window_start TIMESTAMP NOT NULL, agent_id VARCHAR, group_id VARCHAR, metric_name VARCHAR NOT NULL,
        count BIGINT NOT NULL, sum DOUBLE NOT NULL, avg DOUBLE NOT NULL, min DOUBLE NOT NULL, max DOUBLE NOT NULL,
        PRIMARY KEY (window_start, agent_id, group_id, metric_name)"""
    agent = "md5('agent' || a)::UUID::VARCHAR, 'g' || a % 3, ['edge', 'core', 'lab'][1 + a % 3], 'otelcol-contrib'"
    resource = """'{"service.name":"otelcol-contrib","service.version":"0.110.0","host.name":"node' || a
        || '","os.type":"linux"}'"""
    minutes = "TIMESTAMP '2026-03-31 06:00:00' - to_minutes((2880 - t)::INTEGER)"
    return Script(
        (
            f"CREATE TABLE metrics_sum ({metric}, value DOUBLE NOT NULL, {tail})",
            f"CREATE TABLE metrics_gauge ({metric}, value DOUBLE NOT NULL, {tail})",
            f"""CREATE TABLE metrics_histogram ({metric}, count BIGINT NOT NULL, sum DOUBLE NOT NULL, min DOUBLE,
                max DOUBLE, bucket_counts BIGINT[], explicit_bounds DOUBLE[], {tail})""",
            """CREATE TABLE logs (
                timestamp TIMESTAMP NOT NULL, agent_id VARCHAR NOT NULL, group_id VARCHAR, group_name VARCHAR,
                service_name VARCHAR NOT NULL, severity_text VARCHAR, severity_number INTEGER, body VARCHAR,
                trace_id VARCHAR, span_id VARCHAR, resource_attributes JSON, log_attributes JSON)""",
            """CREATE TABLE traces (
                timestamp TIMESTAMP NOT NULL, agent_id VARCHAR NOT NULL, group_id VARCHAR, group_name VARCHAR,
                trace_id VARCHAR NOT NULL, span_id VARCHAR NOT NULL, parent_span_id VARCHAR,
                service_name VARCHAR NOT NULL, span_name VARCHAR NOT NULL, span_kind VARCHAR, duration BIGINT NOT NULL,
                status_code VARCHAR, status_message VARCHAR, resource_attributes JSON, span_attributes JSON, events
                    JSON,
                links JSON)""",
            *(f"CREATE TABLE rollups_{span} ({rollup})" for span in ("1m", "5m", "1h", "1d")),
            f"""INSERT INTO metrics_sum
                SELECT {minutes}, {agent}, 'otelcol_exporter_sent_spans', 'Number of spans sent', t * (100.0 + a),
                    {resource}, '{{"exporter":"otlp"}}'
                FROM range(1, 2881) m (t), range(20) n (a) ORDER BY t, a""",
            f"""INSERT INTO metrics_gauge
                SELECT {minutes}, {agent}, 'otelcol_exporter_queue_size', 'Batches in the queue',
                    (t * 7919 + a * 31) % 400, {resource}, '{{"exporter":"otlp"}}'
                FROM range(1, 2881) m (t), range(20) n (a) ORDER BY t, a""",
            f"""INSERT INTO logs
                SELECT {minutes}, {agent}, CASE WHEN t % 50 = a THEN 'WARN' ELSE 'INFO' END,
                    CASE WHEN t % 50 = a THEN 13 ELSE 9 END, 'Exporting succeeded, ' || (t * 13 + a) % 9000 ||
                        ' items', NULL,
                    NULL, {resource}, NULL
                FROM range(1, 2881, 3) m (t), range(20) n (a) ORDER BY t, a""",
        ),
        then=("CHECKPOINT",),
    )


DATABASES: Final = (
    BlindDatabase(
        "uptime-kuma",
        "sqlite",
        "https://github.com/louislam/uptime-kuma/blob/master/db/knex_init_db.js",
        _uptime_kuma,
        (
            Expected(
                Cause.INDEX,
                "heartbeat_monitor_id_index",
                Grade.HARMFUL,
                "(monitor_id) repeats the start of monitor_time_index: 11 B for each of 100,800 rows a day, 200 MB in "
                "the 180 days that beats are kept: 21 % of the table, 7 % of it with its indexes",
            ),
            Expected(
                Cause.INDEX,
                "heartbeat_important_index",
                Grade.HARMFUL,
                "on a column that is 0 in 99.9 % of the rows: 10 B for each of 100,800 rows a day, 180 MB in "
                "180 days, where an index of the rows with 1 would be a few kB",
            ),
            Expected(
                Cause.NUMBER_AS_TEXT,
                "heartbeat.*time",
                Grade.HARMLESS,
                "SQLite has no type for times; in this form, text sorts and compares as times do",
            ),
            Expected(
                Cause.SPARSE,
                "*.*",
                Grade.HARMLESS,
                "end_time of beats and many options of monitors are empty, at a byte each",
            ),
        ),
    ),
    BlindDatabase(
        "netxms-data",
        "sqlite",
        "https://github.com/netxms/netxms/blob/master/sql/schema.in",
        _netxms,
        (
            Expected(
                Cause.NUMBER_AS_TEXT,
                "idata_*.idata_value",
                Grade.HARMFUL,
                "measurements of 288,000 rows a day as text, which the dashboard's view casts in each query; without "
                "the cast, '9.5' is more than '10.2' and max() is wrong",
            ),
            Expected(
                Cause.NUMBER_AS_TEXT,
                "idata_*.raw_value",
                Grade.HARMLESS,
                "what the agent sent, kept to look it up; nothing calculates with it",
            ),
            Expected(
                Cause.NAMES,
                "*",
                Grade.HARMLESS,
                "a table for each of 40 nodes: below 1 MB more than one table; thousands of nodes would need another "
                "mode",
            ),
            Expected(
                Cause.SPARSE,
                "*.*",
                Grade.HARMLESS,
                "descriptions, transformations, and raw data are empty, at a byte each",
            ),
        ),
    ),
    BlindDatabase(
        "atuin-history",
        "sqlite",
        "https://github.com/atuinsh/atuin/tree/main/crates/atuin-client/migrations",
        _atuin,
        (
            Expected(
                Cause.INDEX,
                "idx_history_command",
                Grade.HARMLESS,
                "(command) repeats the start of idx_history_command_timestamp: 27 B for each of 100 rows a day, "
                "1 MB in a year",
            ),
            Expected(
                Cause.INDEX,
                "idx_history_timestamp",
                Grade.HARMLESS,
                "(timestamp) repeats the start of the unique key: 18 B for each of 100 rows a day, below 1 MB "
                "in a year",
            ),
            Expected(
                Cause.DEPENDENT_TAG,
                "history.hostname",
                Grade.HARMLESS,
                "one host in every row: 12 B for each of 100 rows a day",
            ),
            Expected(
                Cause.SPARSE,
                "history.deleted_at",
                Grade.HARMLESS,
                "empty until somebody deletes a command",
            ),
        ),
        quiet=True,
    ),
    BlindDatabase(
        "netdata-health",
        "sqlite",
        "https://github.com/netdata/netdata/blob/master/src/database/sqlite/sqlite_metadata.c",
        _netdata,
        (
            Expected(
                Cause.INDEX,
                "health_log_ind_1",
                Grade.HARMLESS,
                "(host_id) repeats the start of the unique key, in a table of 60 rows",
            ),
            Expected(
                Cause.REPEATED_BYTES,
                "health_log_detail.*",
                Grade.HARMLESS,
                "info and summary repeat for each alert: 80 B for each of 500 rows a day, 15 MB in a year",
            ),
        ),
        quiet=True,
    ),
    BlindDatabase(
        "coreprotect-server",
        "sqlite",
        "https://github.com/PlayPro/CoreProtect/blob/master/src/main/java/net/coreprotect/database/Database.java",
        _coreprotect,
        (
            Expected(
                Cause.RETENTION,
                "co_block",
                Grade.HARMLESS,
                "nothing removes changes of blocks: below 1 GB in a year, and players ask for old ones",
            ),
            Expected(
                Cause.SPARSE,
                "co_*.*",
                Grade.HARMLESS,
                "meta is empty and rolled_back is 0 in every row, at a byte each",
            ),
        ),
        quiet=True,
    ),
    BlindDatabase(
        "quantdatasource-bonds",
        "duckdb",
        "https://github.com/sric0880/quantdatasource/blob/main/quantdatasource/dbimport/duckdb/__init__.py",
        _bonds,
        (
            Expected(
                Cause.NAMES,
                "*",
                Grade.HARMFUL,
                "a table for each of 225 bonds: 530 kB each, 119 MB now, for 13,500 rows that need 1 MB in one table "
                "with a column for the bond",
            ),
            Expected(
                Cause.INDEX,
                "_1*",
                Grade.HARMLESS,
                "the primary key takes a block of 256 KiB in each table; with one table, it is small",
            ),
        ),
    ),
    BlindDatabase(
        "lawrence-telemetry",
        "duckdb",
        "https://github.com/getlawrence/lawrence-oss/blob/main/internal/storage/telemetrystore/duckdb/schema.go",
        _lawrence,
        (
            Expected(
                Cause.REPEATED_BYTES,
                "*.*_attributes",
                Grade.HARMLESS,
                "the same JSON in every row of a collector; a dictionary makes that nearly free",
            ),
            Expected(
                Cause.DEPENDENT_TAG,
                "*.group_name",
                Grade.HARMLESS,
                "follows from group_id, and service_name is constant; a dictionary makes both nearly free",
            ),
            Expected(
                Cause.SPARSE,
                "logs.*",
                Grade.HARMLESS,
                "trace and span of the collectors' own logs are empty, at no cost",
            ),
        ),
        quiet=True,
    ),
)
