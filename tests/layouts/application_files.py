"""Layouts in SQL: telemetry of things, DNS, cameras, checks, costs."""

from __future__ import annotations

import random
from typing import Any, Final

from tests.builders import NOW
from tests.layouts.layout import Layout, Script, Wanted
from tests.layouts.making import ANALYZE, an_id, evenly, stamp, word

# --- ThingsBoard in PostgreSQL ----------------------------------------------------------------------------------------

_KEYS: Final = ("temperature", "humidity", "batteryLevel", "rssi", "fw_version", "Füllstand")
_THINGSBOARD: Final = (
    "CREATE TABLE key_dictionary (key varchar(255) PRIMARY KEY, key_id serial UNIQUE)",
    """CREATE TABLE device (id uuid PRIMARY KEY, created_time bigint NOT NULL, additional_info varchar,
        customer_id uuid, type varchar(255), name varchar(255) NOT NULL, label varchar(255), tenant_id uuid)""",
    """CREATE TABLE ts_kv (entity_id uuid NOT NULL, key int NOT NULL, ts bigint NOT NULL, bool_v boolean,
        str_v varchar(10000000), long_v bigint, dbl_v double precision, json_v json,
        CONSTRAINT ts_kv_pkey PRIMARY KEY (entity_id, key, ts)) PARTITION BY RANGE (ts)""",
    "CREATE TABLE ts_kv_2026_02 PARTITION OF ts_kv FOR VALUES FROM (1769904000000) TO (1772323200000)",
    "CREATE TABLE ts_kv_2026_03 PARTITION OF ts_kv FOR VALUES FROM (1772323200000) TO (1775001600000)",
    """CREATE TABLE ts_kv_latest (entity_id uuid NOT NULL, key int NOT NULL, ts bigint NOT NULL, bool_v boolean,
        str_v varchar(10000000), long_v bigint, dbl_v double precision, json_v json, PRIMARY KEY (entity_id, key))""",
)


def _thingsboard(text: bool) -> Script:
    noise = random.Random(91)
    devices = [an_id(noise) for _ in range(25)]
    tenant, born = an_id(noise), 1_740_000_000_000
    rows: list[tuple[Any, ...]] = []
    latest: dict[tuple[str, int], tuple[Any, ...]] = {}
    for at in evenly(160, 40):
        for n, device in enumerate(devices):
            ts = int(at.timestamp() * 1000) + n * 40
            values = (noise.uniform(-5, 31), noise.uniform(20, 90), noise.randrange(101), -noise.randrange(50, 110))
            for key, value in enumerate((*values, f"1.4.{n % 3}", noise.uniform(0, 100)), 1):
                made = round(value, 1) if isinstance(value, float) else value
                if text and not isinstance(made, str):
                    kinds: tuple[Any, ...] = (str(made), None, None)
                elif isinstance(made, str):
                    kinds = (made, None, None)
                else:
                    kinds = (None, made, None) if isinstance(made, int) else (None, None, made)
                rows.append((device, key, ts, None, *kinds, None))
                latest[device, key] = rows[-1]
    things = [(d, born + n, None, None, "LHT65", f"Silo {n:02}", None, tenant) for n, d in enumerate(devices)]
    keys = [(key, n) for n, key in enumerate(_KEYS, 1)]
    made_rows = {"key_dictionary": keys, "device": things, "ts_kv": rows, "ts_kv_latest": list(latest.values())}
    return Script(_THINGSBOARD, made_rows, (ANALYZE,))


# --- Nextcloud in PostgreSQL ------------------------------------------------------------------------------------------

_NEXTCLOUD: Final = (
    """CREATE TABLE oc_activity (activity_id bigserial PRIMARY KEY, "timestamp" integer NOT NULL DEFAULT 0,
        priority integer NOT NULL DEFAULT 0, type varchar(255), "user" varchar(64), affecteduser varchar(64) NOT NULL,
        app varchar(32) NOT NULL, subject varchar(255) NOT NULL, subjectparams text NOT NULL, message varchar(255),
        messageparams text, file varchar(4000), link varchar(4000), object_type varchar(255),
        object_id bigint NOT NULL DEFAULT 0)""",
    'CREATE INDEX activity_user_time ON oc_activity (affecteduser, "timestamp")',
    'CREATE INDEX activity_time ON oc_activity ("timestamp")',
    "CREATE INDEX activity_object ON oc_activity (object_type, object_id)",
    """CREATE TABLE oc_filecache (fileid bigserial PRIMARY KEY, storage bigint NOT NULL, path varchar(4000),
        path_hash varchar(32) NOT NULL, parent bigint NOT NULL, name varchar(250), mimetype bigint NOT NULL,
        mimepart bigint NOT NULL, size bigint NOT NULL, mtime bigint NOT NULL, storage_mtime bigint NOT NULL,
        encrypted integer NOT NULL, unencrypted_size bigint NOT NULL, etag varchar(40), permissions integer,
        checksum varchar(255))""",
    "CREATE UNIQUE INDEX fs_storage_path_hash ON oc_filecache (storage, path_hash)",
    "CREATE INDEX fs_parent_name_hash ON oc_filecache (parent, name)",
    "CREATE INDEX fs_mtime ON oc_filecache (mtime)",
)


def _nextcloud() -> Script:
    noise = random.Random(92)
    files, done = [], []
    for n, at in enumerate(evenly(6_000, 900), 1):
        name, when = f"{word(n)} – Übersicht ({n}).odt", int(at.timestamp())  # noqa: RUF001
        head = (n, 1 + n % 9, f"files/Dokumente/{name}", f"{noise.getrandbits(128):032x}", n // 40, name, 7, 3)
        files.append((*head, noise.randrange(10**7), when, when, 0, 0, f"{noise.getrandbits(52):013x}", 27, None))
    users = ("annika", "b.krüger", "admin", "ldap-0f3e9c1b")
    for n, at in enumerate(evenly(9_000, 300), 1):
        who, file = noise.choice(users), noise.randrange(1, 6_001)
        kind, subject = noise.choice((("file_changed", "changed_by"), ("shared", "shared_user_by")))
        params = f'[{{"{file}":"\\/Dokumente\\/{word(file)}.odt"}},"{who}"]'
        link = f"https://cloud.example.org/apps/files/?dir=/Dokumente&fileid={file}"
        head = (n, int(at.timestamp()), 30, kind, who, noise.choice(users), "files", subject, params, "", "[]")
        done.append((*head, f"/Dokumente/{word(file)}.odt", link, "files", file))
    return Script(_NEXTCLOUD, {"oc_activity": done, "oc_filecache": files}, (ANALYZE,))


# --- Frigate, Pi-hole and Uptime Kuma in SQLite -----------------------------------------------------------------------

_FRIGATE: Final = (
    """CREATE TABLE "event" ("id" VARCHAR(30) NOT NULL PRIMARY KEY, "label" VARCHAR(20) NOT NULL,
        "sub_label" VARCHAR(100), "camera" VARCHAR(20) NOT NULL, "start_time" DATETIME NOT NULL, "end_time" DATETIME,
        "top_score" REAL, "score" REAL, "false_positive" INTEGER, "zones" JSON NOT NULL, "thumbnail" TEXT NOT NULL,
        "has_clip" INTEGER NOT NULL, "has_snapshot" INTEGER NOT NULL, "region" JSON, "box" JSON, "area" INTEGER,
        "retain_indefinitely" INTEGER NOT NULL DEFAULT 0, "ratio" REAL, "plus_id" VARCHAR(30), "data" JSON NOT NULL)""",
    'CREATE INDEX "event_label" ON "event" ("label")',
    'CREATE INDEX "event_camera" ON "event" ("camera")',
    'CREATE INDEX "event_start_time_end_time" ON "event" ("start_time" DESC, "end_time" DESC)',
    """CREATE TABLE "recordings" ("id" VARCHAR(30) NOT NULL PRIMARY KEY, "camera" VARCHAR(20) NOT NULL,
        "path" VARCHAR(255) NOT NULL UNIQUE, "start_time" DATETIME NOT NULL, "end_time" DATETIME NOT NULL,
        "duration" REAL NOT NULL, "motion" INTEGER, "objects" INTEGER, "dBFS" INTEGER, "segment_size" REAL)""",
    'CREATE INDEX "recordings_camera" ON "recordings" ("camera")',
    'CREATE INDEX "recordings_start_time_end_time" ON "recordings" (start_time, end_time)',
    """CREATE TABLE "timeline" ("timestamp" DATETIME NOT NULL, "camera" VARCHAR(20) NOT NULL,
        "source" VARCHAR(20) NOT NULL, "source_id" VARCHAR(30), "class_type" VARCHAR(50) NOT NULL, "data" JSON)""",
    'CREATE INDEX "timeline_timestamp" ON "timeline" ("timestamp")',
    'CREATE INDEX "timeline_source_id" ON "timeline" ("source_id")',
)


def _frigate() -> Script:
    noise = random.Random(93)
    letters, cameras = "abcdefghijklmnopqrstuvwxyz0123456789", ("hof", "einfahrt", "garten_nord")

    def name(at: float) -> str:
        return f"{at:.6f}-{''.join(noise.choice(letters) for _ in range(6))}"

    events, parts, lines = [], [], []
    for when in evenly(1_800, 10):
        at, camera = when.timestamp(), noise.choice(cameras)
        label, one = noise.choice(("person", "car", "cat")), name(when.timestamp())
        zone = '["strasse"]' if noise.random() < 0.4 else "[]"
        data = '{"box": [0.41, 0.2, 0.08, 0.31], "type": "object", "attributes": []}'
        tail = (None, zone, "", 1, 1, None, None, None, 0, None, None, data)
        ended = (at, at + noise.uniform(3, 90), None, None)
        events.append((one, label, "DHL" if label == "car" and noise.random() < 0.1 else None, camera, *ended, *tail))
        lines += [(at + k, camera, "tracked_object", one, what, data) for k, what in enumerate(("visible", "gone"))]
    for when in evenly(9_000, 1):
        at, camera = when.timestamp(), noise.choice(cameras)
        path = f"/media/frigate/recordings/{when:%Y-%m-%d/%H}/{camera}/{when:%M.%S}.{len(parts)}.mp4"
        parts.append((name(at), camera, path, at, at + 10.0, 10.0, noise.randrange(900), noise.randrange(3), 0, 4.2))
    return Script(_FRIGATE, {"event": events, "recordings": parts, "timeline": lines})


_PIHOLE: Final = (
    """CREATE TABLE query_storage (id INTEGER PRIMARY KEY AUTOINCREMENT, timestamp INTEGER NOT NULL,
        type INTEGER NOT NULL, status INTEGER NOT NULL, domain INTEGER NOT NULL, client INTEGER NOT NULL,
        forward INTEGER, additional_info INTEGER, reply_type INTEGER, reply_time REAL, dnssec INTEGER)""",
    "CREATE TABLE domain_by_id (id INTEGER PRIMARY KEY, domain TEXT NOT NULL)",
    "CREATE UNIQUE INDEX domain_by_id_domain_idx ON domain_by_id (domain)",
    "CREATE TABLE client_by_id (id INTEGER PRIMARY KEY, ip TEXT NOT NULL, name TEXT)",
    "CREATE UNIQUE INDEX client_by_id_client_idx ON client_by_id (ip, name)",
    "CREATE TABLE ftl (id INTEGER PRIMARY KEY NOT NULL, value BLOB NOT NULL, description TEXT)",
    """CREATE VIEW queries AS SELECT q.id, timestamp, type, status, d.domain AS domain, c.ip AS client
        FROM query_storage q JOIN domain_by_id d ON d.id = q.domain JOIN client_by_id c ON c.id = q.client""",
)


def _pihole(*more: str) -> Script:
    noise = random.Random(94)
    domains = [(n, f"{word(n)}.{noise.choice(('example.com', 'example.net', 'cdn.example.org'))}") for n in range(900)]
    clients = [(n, f"192.168.178.{20 + n}", f"{word(n)}.fritz.box" if n % 3 else "") for n in range(14)]
    rows = []
    for n, at in enumerate(evenly(60_000, 14), 1):
        to = noise.choice((1, 2)) if n % 3 else None
        asked = (noise.choice((1, 2, 16)), 2 if to else 3, int(900 * noise.random() ** 3), noise.randrange(14))
        rows.append((n, int(at.timestamp()), *asked, to, None, 3, round(noise.uniform(0.0001, 0.09), 6), 0))
    made = {"query_storage": rows, "domain_by_id": domains, "client_by_id": clients}
    return Script((*_PIHOLE, *more), made | {"ftl": [(0, 19, "Database version"), (1, int(NOW.timestamp()), None)]})


_KUMA: Final = (
    """CREATE TABLE monitor (id INTEGER PRIMARY KEY AUTOINCREMENT, name VARCHAR(150),
        active BOOLEAN DEFAULT 1 NOT NULL, interval INTEGER DEFAULT 20 NOT NULL, url TEXT, type VARCHAR(20),
        hostname VARCHAR(255), keyword VARCHAR(255))""",
    """CREATE TABLE heartbeat (id INTEGER PRIMARY KEY AUTOINCREMENT, important BOOLEAN DEFAULT 0 NOT NULL,
        monitor_id INTEGER NOT NULL REFERENCES monitor (id), status SMALLINT NOT NULL, msg TEXT, time DATETIME NOT NULL,
        ping INTEGER, duration INTEGER DEFAULT 0 NOT NULL, down_count INTEGER DEFAULT 0 NOT NULL)""",
    "CREATE INDEX monitor_time_index ON heartbeat (monitor_id, time)",
    "CREATE INDEX monitor_important_time_index ON heartbeat (monitor_id, important, time)",
    "CREATE INDEX own_time_index ON heartbeat (time)",
)


def _kuma(*more: str) -> Script:
    noise = random.Random(95)
    sites = [
        (n, f"Website {word(n)}", 1, 60, f"https://{word(n)}.example.org", "http", None, None) for n in range(1, 9)
    ]
    rows = []
    for n, at in enumerate(evenly(30_000, 3), 1):
        up = n % 500 > 4
        said = "200 - OK" if up else "connect ECONNREFUSED 10.0.0.7:443"
        when = f"{stamp(at)}.{n % 1000:03}"
        rows.append(
            (n, int(n % 500 in (0, 5)), 1 + n % 8, int(up), said, when, noise.randrange(9, 400) if up else None)
        )
    return Script((*_KUMA, *more), {"monitor": sites, "heartbeat": [(*row, 60, 0) for row in rows]})


# --- Elementary's results of dbt, CloudFront's log, and AWS's costs in DuckDB -----------------------------------------


def _elementary(stamped: str) -> Script:
    cast = "::VARCHAR" if stamped == "VARCHAR" else ""
    return Script(
        (
            f"""CREATE TABLE dbt_run_results (model_execution_id VARCHAR PRIMARY KEY, unique_id VARCHAR,
                invocation_id VARCHAR, generated_at TIMESTAMP, name VARCHAR, message VARCHAR, status VARCHAR,
                resource_type VARCHAR, execution_time DOUBLE, execute_started_at {stamped},
                execute_completed_at {stamped}, rows_affected BIGINT, full_refresh BOOLEAN, compiled_code VARCHAR,
                thread_id VARCHAR, materialization VARCHAR)""",
            f"""INSERT INTO dbt_run_results SELECT md5('r' || i), 'model.shop.stg_' || n, uuid_of,
                t + INTERVAL 9 MINUTE, 'stg_' || n,
                CASE WHEN i % 70 = 0 THEN 'Database Error: column "x" not found' ELSE 'SUCCESS 1' END,
                CASE WHEN i % 70 = 0 THEN 'error' ELSE 'success' END, 'model', 0.1 + (i * 37 % 900) / 11.0,
                (t + i % 50 * INTERVAL 4 SECOND){cast}, (t + (i % 50 + 1) * INTERVAL 4 SECOND){cast},
                CASE WHEN i % 3 = 0 THEN i * 7919 % 100000 END, false, 'select * from raw.' || n, 'Thread-' || i % 4,
                ['table', 'view', 'incremental'][1 + i % 3]
                FROM (SELECT i, ['orders', 'customers', 'payments', 'Events', 'web_sessions'][1 + i % 5] || i % 50 AS n,
                    substr(md5((i // 50)::VARCHAR), 1, 8) || '-4c1e-4b7a-9d20-' || substr(md5(i // 50 || 'x'), 1, 12)
                        AS uuid_of, TIMESTAMP '2026-03-31 05:30:00' - (179 - i // 50) * INTERVAL 8 HOUR AS t
                    FROM generate_series(0, 8999) g(i)) made""",
            """CREATE TABLE dbt_models AS SELECT DISTINCT unique_id, name, 'shop' AS package_name, 'analytics' AS
                schema_name, TIMESTAMP '2026-03-31 05:30:00' AS generated_at FROM dbt_run_results""",
        )
    )


def _cloudfront(number: str) -> Script:
    def of(kind: str) -> str:
        return kind if number == "number" else "VARCHAR"

    return Script(
        (
            f"""CREATE TABLE cloudfront_logs (ts TIMESTAMP, x_edge_location VARCHAR, sc_bytes {of("BIGINT")},
                c_ip VARCHAR, cs_method VARCHAR, cs_host VARCHAR, cs_uri_stem VARCHAR, sc_status {of("SMALLINT")},
                cs_referer VARCHAR, cs_user_agent VARCHAR, x_edge_result_type VARCHAR, x_edge_request_id VARCHAR,
                time_taken {of("DOUBLE")}, ssl_protocol VARCHAR)""",
            """INSERT INTO cloudfront_logs SELECT TIMESTAMP '2026-03-31 05:59:58' - (24999 - i) * INTERVAL '3 seconds',
                ['FRA56-P4', 'CDG52-C1', 'MXP64-P1'][1 + (hash(i) % 3)::BIGINT], 400 + hash(i + 1) % 900000,
                (11 + hash(i + 2) % 180) || '.' || hash(i + 3) % 256 || '.' || hash(i + 4) % 256 || '.7', 'GET',
                'd111111abcdef8.cloudfront.net', '/static/' || md5((hash(i + 5) % 700)::VARCHAR) || '.js',
                [200, 200, 200, 304, 404][1 + (hash(i + 6) % 5)::BIGINT],
                CASE WHEN i % 3 = 0 THEN NULL ELSE 'https://www.example.fr/boutique' END,
                'Mozilla/5.0%20(X11;%20Linux%20x86_64)', ['Hit', 'Miss', 'RefreshHit'][1 + (hash(i + 7) % 3)::BIGINT],
                substr(sha256(i::VARCHAR), 1, 54) || '==', round((1 + hash(i + 8) % 900) / 1000, 3), 'TLSv1.3'
                FROM generate_series(0, 24999) g(i)""",
        )
    )


_CUR: Final = """CREATE TABLE cost_and_usage AS SELECT md5('l' || i // 7) AS identity_line_item_id,
    TIMESTAMP '2026-03-31 05:00:00' - (11999 - i) // 40 * INTERVAL 1 HOUR AS line_item_usage_start_date,
    ['111122223333', '444455556666'][1 + i % 2] AS line_item_usage_account_id,
    ['AmazonEC2', 'AmazonS3', 'AmazonRDS', 'AWSLambda'][1 + i % 4] AS line_item_product_code,
    ['EU-BoxUsage:m5.large', 'EUC1-TimedStorage-ByteHrs', 'EU-InstanceUsage:db.t3', 'EU-Request'][1 + i % 4]
        AS line_item_usage_type,
    'arn:aws:ec2:eu-central-1:111122223333:instance/i-' || substr(md5((i % 40)::VARCHAR), 1, 17)
        AS line_item_resource_id,
    (i * 7919 % 1000) / 1000.0 AS line_item_usage_amount, (i * 104729 % 9000) / 1e5 AS line_item_unblended_cost{}
    FROM generate_series(0, 11999) g(i)"""


def _costs(wide: bool) -> Script:
    parts = ("instance", "storage", "database", "license", "transfer", "memory", "network", "volume", "group", "region")
    product = [f"product_{a}_{b}" for a in parts for b in ("type", "class", "code", "family", "media", "tier", "size")]
    tags = [f"resource_tags_user_{word(n)}" for n in range(60)]
    columns = [f"CASE WHEN i % 40 = {n % 40} THEN 'v{n}' END AS {name}" for n, name in enumerate((*product, *tags))]
    few = ["CASE WHEN i % 4 = 0 THEN 'm5.large' END AS product_instance_type", "'team-' || i % 6 AS tag_team"]
    return Script((_CUR.format(", " + ", ".join(columns if wide else few)),))


LAYOUTS: Final = (
    Layout(
        "thingsboard-postgresql",
        "postgresql",
        "https://thingsboard.io/docs/reference/architecture/",
        lambda: _thingsboard(True),
        lambda: _thingsboard(False),
        (Wanted("FLD002", "ts_kv*.str_v", "devices send numbers in quotes: no chart and no aggregate reads them"),),
    ),
    Layout("nextcloud-postgresql", "postgresql", "https://github.com/nextcloud/activity", None, _nextcloud),
    Layout("frigate-sqlite", "sqlite", "https://github.com/blakeblackshear/frigate", None, _frigate),
    Layout(
        "pihole-sqlite",
        "sqlite",
        "https://docs.pi-hole.net/database/query-database/",
        _pihole,
        lambda: _pihole("CREATE INDEX idx_query_storage_timestamp ON query_storage (timestamp)"),
        fine=(Wanted("STO002", "query_storage*", "each graph of the last day reads all days"),),
    ),
    Layout(
        "uptime-kuma-sqlite",
        "sqlite",
        "https://github.com/louislam/uptime-kuma/tree/master/db",
        lambda: _kuma("CREATE INDEX monitor_id ON heartbeat (monitor_id)"),
        _kuma,
        (Wanted("STO001", "heartbeat*", "the index on monitor_id repeats the beginning of two others"),),
    ),
    Layout(
        "elementary-duckdb",
        "duckdb",
        "https://docs.elementary-data.com/data-tests/elementary-tests-configuration",
        lambda: _elementary("VARCHAR"),
        lambda: _elementary("TIMESTAMP"),
        (Wanted("FLD002", "dbt_run_results*", "times as text: durations and ranges need a cast in each query"),),
    ),
    Layout(
        "cloudfront-duckdb",
        "duckdb",
        "https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/standard-logs-reference.html",
        lambda: _cloudfront("text"),
        lambda: _cloudfront("number"),
        (
            Wanted("FLD002", "cloudfront_logs.sc_bytes", "read with all_varchar: bytes do not add up"),
            Wanted("FLD002", "cloudfront_logs.time_taken", "the same: no percentiles"),
        ),
        (Wanted("FLD002", "cloudfront_logs.sc_status", "a code, of which some prefer the text"),),
    ),
    Layout(
        "aws-cur-duckdb",
        "duckdb",
        "https://docs.aws.amazon.com/cur/latest/userguide/what-is-cur.html",
        lambda: _costs(True),
        lambda: _costs(False),
        (
            Wanted(
                "SRV003|LAY003", "cost_and_usage", "130 columns, nearly all null: maps, as in version 2 of the report"
            ),
        ),
    ),
)
