"""SQLite and DuckDB files of three more programs: their own columns, keys, and indexes, with rows made up."""

from __future__ import annotations

from typing import Final

from tests.blind.expected import BlindDatabase, Cause, Expected, Grade
from tests.layouts.layout import Script

NOW: Final = 1774936800
"""When the audit runs, in seconds since 1970."""


def _numbers(name: str, count: int) -> str:
    """Those from 0 on as a table of SQLite, with the column `name`."""
    steps = f"SELECT 0 UNION ALL SELECT {name} + 1 FROM made WHERE {name} < {count - 1}"
    return f"(WITH RECURSIVE made ({name}) AS ({steps}) SELECT {name} FROM made)"


def _one_of(number: str, *words: str) -> str:
    """The word that a number stands for, by its remainder."""
    cases = " ".join(f"WHEN {n} THEN '{word}'" for n, word in enumerate(words))
    return f"CASE ({number}) % {len(words)} {cases} END"


# --- Technitium DNS Server ---------------------------------------------------------------------------------------

_INDEXES: Final = {
    "index_timestamp": "timestamp",
    "index_client_ip": "client_ip",
    "index_protocol": "protocol",
    "index_response_type": "response_type",
    "index_rcode": "rcode",
    "index_qname": "qname",
    "index_qtype": "qtype",
    "index_qclass": "qclass",
    "index_timestamp_client_ip": "timestamp, client_ip",
    "index_timestamp_qname": "timestamp, qname",
    "index_client_qname": "client_ip, qname",
    "index_query": "qname, qtype",
    "index_all": "timestamp, client_ip, protocol, response_type, rcode, qname, qtype, qclass",
}


def _technitium() -> Script:
    """An office of 60 clients asks 50,000 names a day; queries of two days, of the 365 days that are kept."""
    rows = 100_000
    host = _one_of("i * 31", "www", "api", "cdn", "mail", "login", "static", "telemetry")
    name = f"{host} || '.site' || (i * 7919 % 1499) || '.example' || (i * 7919 % 7) || '.com'"
    second = f"{NOW} - ({rows} - i) * 1.728"
    return Script(
        (
            """CREATE TABLE dns_logs (
                dlid INTEGER PRIMARY KEY, timestamp DATETIME NOT NULL, client_ip VARCHAR(39) NOT NULL,
                protocol TINYINT NOT NULL, response_type TINYINT NOT NULL, response_rtt REAL, rcode TINYINT NOT NULL,
                qname VARCHAR(255), qtype SMALLINT, qclass SMALLINT, answer TEXT)""",
            *(f"CREATE INDEX {index} ON dns_logs ({columns})" for index, columns in _INDEXES.items()),
            f"""INSERT INTO dns_logs (timestamp, client_ip, protocol, response_type, response_rtt, rcode, qname, qtype,
                    qclass, answer)
                SELECT strftime('%Y-%m-%d %H:%M:%S', CAST({second} AS INTEGER), 'unixepoch')
                        || printf('.%07d', i * 7919 % 10000000), '10.20.0.' || (10 + i * 13 % 60),
                    CASE WHEN i % 90 = 0 THEN 1 ELSE 0 END, CASE WHEN i % 11 = 0 THEN 4 WHEN i % 4 = 0 THEN 2 ELSE 3
                    END, CASE WHEN i % 4 = 0 THEN 4 + i * 7919 % 90000 / 1000.0 END,
                    CASE WHEN i % 40 = 0 THEN 3 ELSE 0 END, {name},
                    CASE i % 10 WHEN 0 THEN 65 WHEN 1 THEN 28 WHEN 2 THEN 28 WHEN 3 THEN 28 ELSE 1 END, 1,
                    CASE WHEN i % 40 = 0 THEN NULL WHEN i % 11 = 0 THEN '0.0.0.0'
                    ELSE '203.0.113.' || (i * 7919 % 1499 % 250) END
                FROM {_numbers("i", rows)}""",
        ),
        then=("ANALYZE",),
    )


# --- BirdNET-Pi --------------------------------------------------------------------------------------------------

_BIRDS: Final = (
    ("Turdus merula", "Eurasian Blackbird"),
    ("Erithacus rubecula", "European Robin"),
    ("Parus major", "Great Tit"),
    ("Cyanistes caeruleus", "Eurasian Blue Tit"),
    ("Columba palumbus", "Common Wood-Pigeon"),
    ("Corvus corone", "Carrion Crow"),
    ("Fringilla coelebs", "Common Chaffinch"),
    ("Sturnus vulgaris", "European Starling"),
    ("Pica pica", "Eurasian Magpie"),
    ("Troglodytes troglodytes", "Eurasian Wren"),
    ("Dendrocopos major", "Great Spotted Woodpecker"),
    ("Strix aluco", "Tawny Owl"),
)


def _birdnet() -> Script:
    """A microphone in a garden: 2,000 songs a day, from dawn to dusk, for 40 days and an hour."""
    each = ", ".join(f"({n}, '{latin}', '{english}')" for n, (latin, english) in enumerate(_BIRDS))
    second = f"{NOW} - 3600 - (40 - i / 2000) * 86400 + i % 2000 * 23"
    return Script(
        (
            """CREATE TABLE detections (
                Date DATE, Time TIME, Sci_Name VARCHAR(100) NOT NULL, Com_Name VARCHAR(100) NOT NULL,
                Confidence FLOAT, Lat FLOAT, Lon FLOAT, Cutoff FLOAT, Week INT, Sens FLOAT, Overlap FLOAT,
                File_Name VARCHAR(100) NOT NULL)""",
            'CREATE INDEX "detections_Com_Name" ON "detections" ("Com_Name")',
            'CREATE INDEX "detections_Sci_Name" ON "detections" ("Sci_Name")',
            'CREATE INDEX "detections_Date_Time" ON "detections" ("Date" DESC, "Time" DESC)',
            f"""INSERT INTO detections
                SELECT date(t, 'unixepoch'), time(t, 'unixepoch'), latin, english, c / 10000.0, 51.4772, -0.0005, 0.7,
                    1 + (t - 1767225600) / 657450, 1.25, 0.0,
                    replace(english, ' ', '_') || '-' || (c / 100) || '-' || date(t, 'unixepoch') || '-birdnet-'
                        || time(t, 'unixepoch') || '.mp3'
                FROM (SELECT i, {second} AS t, 7000 + i * 7919 % 2990 AS c, (i * 31 + i / 7) % 97 % {len(_BIRDS)} AS b
                    FROM {_numbers("i", 80_156)})
                JOIN (WITH birds (n, latin, english) AS (VALUES {each}) SELECT * FROM birds) ON n = b
                ORDER BY i""",
        ),
        then=("ANALYZE",),
    )


# --- DuckLake ----------------------------------------------------------------------------------------------------


def _ducklake() -> Script:
    """The catalog of a lake of four tables, each loaded hourly and merged nightly; snapshots expire after 30 days."""
    version = "begin_snapshot BIGINT, end_snapshot BIGINT"
    place = "path VARCHAR, path_is_relative BOOLEAN"
    values = "min_value VARCHAR, max_value VARCHAR"
    names = ("orders", "payments", "page_views", "shipments")
    file = """CASE WHEN d < 400 THEN 'day=' || d || '/' ELSE '' END || 'ducklake-' || md5('file' || d || '-' || h || '-'
        || t)::UUID || '.parquet'"""
    size = "CASE WHEN d < 400 THEN 24 ELSE 1 END"
    hours = """(SELECT d, 0 AS h FROM range(400) days (d) UNION ALL
        SELECT 400, h FROM range(6) hours (h))"""
    return Script(
        (
            """CREATE TABLE ducklake_metadata (key VARCHAR NOT NULL, value VARCHAR NOT NULL, scope VARCHAR,
                scope_id BIGINT)""",
            """CREATE TABLE ducklake_snapshot (snapshot_id BIGINT PRIMARY KEY, snapshot_time TIMESTAMPTZ,
                schema_version BIGINT, next_catalog_id BIGINT, next_file_id BIGINT)""",
            """CREATE TABLE ducklake_snapshot_changes (snapshot_id BIGINT PRIMARY KEY, changes_made VARCHAR,
                author VARCHAR, commit_message VARCHAR, commit_extra_info VARCHAR)""",
            f"""CREATE TABLE ducklake_schema (schema_id BIGINT PRIMARY KEY, schema_uuid UUID, {version},
                schema_name VARCHAR, {place})""",
            f"""CREATE TABLE ducklake_table (table_id BIGINT, table_uuid UUID, {version}, schema_id BIGINT,
                table_name VARCHAR, {place})""",
            f"""CREATE TABLE ducklake_view (view_id BIGINT, view_uuid UUID, {version}, schema_id BIGINT,
                view_name VARCHAR, dialect VARCHAR, sql VARCHAR, column_aliases VARCHAR)""",
            f"CREATE TABLE ducklake_tag (object_id BIGINT, {version}, key VARCHAR, value VARCHAR)",
            f"""CREATE TABLE ducklake_column_tag (table_id BIGINT, column_id BIGINT, {version}, key VARCHAR,
                value VARCHAR)""",
            f"""CREATE TABLE ducklake_data_file (data_file_id BIGINT PRIMARY KEY, table_id BIGINT, {version},
                file_order BIGINT, {place}, file_format VARCHAR, record_count BIGINT, file_size_bytes BIGINT,
                footer_size BIGINT, row_id_start BIGINT, partition_id BIGINT, encryption_key VARCHAR,
                partial_file_info VARCHAR, mapping_id BIGINT)""",
            f"""CREATE TABLE ducklake_file_column_stats (data_file_id BIGINT, table_id BIGINT, column_id BIGINT,
                column_size_bytes BIGINT, value_count BIGINT, null_count BIGINT, {values}, contains_nan BOOLEAN,
                extra_stats VARCHAR)""",
            f"""CREATE TABLE ducklake_delete_file (delete_file_id BIGINT PRIMARY KEY, table_id BIGINT, {version},
                data_file_id BIGINT, {place}, format VARCHAR, delete_count BIGINT, file_size_bytes BIGINT,
                footer_size BIGINT, encryption_key VARCHAR)""",
            f"""CREATE TABLE ducklake_column (column_id BIGINT, {version}, table_id BIGINT, column_order BIGINT,
                column_name VARCHAR, column_type VARCHAR, initial_default VARCHAR, default_value VARCHAR,
                nulls_allowed BOOLEAN, parent_column BIGINT)""",
            """CREATE TABLE ducklake_table_stats (table_id BIGINT, record_count BIGINT, next_row_id BIGINT,
                file_size_bytes BIGINT)""",
            f"""CREATE TABLE ducklake_table_column_stats (table_id BIGINT, column_id BIGINT, contains_null BOOLEAN,
                contains_nan BOOLEAN, {values}, extra_stats VARCHAR)""",
            f"CREATE TABLE ducklake_partition_info (partition_id BIGINT, table_id BIGINT, {version})",
            """CREATE TABLE ducklake_partition_column (partition_id BIGINT, table_id BIGINT,
                partition_key_index BIGINT, column_id BIGINT, transform VARCHAR)""",
            """CREATE TABLE ducklake_file_partition_value (data_file_id BIGINT, table_id BIGINT,
                partition_key_index BIGINT, partition_value VARCHAR)""",
            f"""CREATE TABLE ducklake_files_scheduled_for_deletion (data_file_id BIGINT, {place},
                schedule_start TIMESTAMPTZ)""",
            "CREATE TABLE ducklake_inlined_data_tables (table_id BIGINT, table_name VARCHAR, schema_version BIGINT)",
            "CREATE TABLE ducklake_column_mapping (mapping_id BIGINT, table_id BIGINT, type VARCHAR)",
            """CREATE TABLE ducklake_name_mapping (mapping_id BIGINT, column_id BIGINT, source_name VARCHAR,
                target_field_id BIGINT, parent_column BIGINT, is_partition BOOLEAN)""",
            """INSERT INTO ducklake_metadata VALUES ('version', '0.3', NULL, NULL),
                ('created_by', 'DuckDB v1.4.1', NULL, NULL), ('data_path', 's3://example-lake/data/', NULL, NULL),
                ('encrypted', 'false', NULL, NULL), ('expire_older_than', '30 days', NULL, NULL)""",
            f"""INSERT INTO ducklake_snapshot
                SELECT 9256 + s, to_timestamp({NOW} - (749 - s) * 3456), 5, 6, 40000 + s * 5
                FROM range(750) made (s)""",
            """INSERT INTO ducklake_snapshot_changes
                SELECT 9256 + s, CASE WHEN s % 25 = 24 THEN 'compacted_table:' || (1 + s % 4)
                    ELSE 'inserted_into_table:1,inserted_into_table:2,inserted_into_table:3,inserted_into_table:4' END,
                    NULL, NULL, NULL
                FROM range(750) made (s)""",
            "INSERT INTO ducklake_schema VALUES (0, md5('main')::UUID, 0, NULL, 'main', 'main/', true)",
            *(
                f"INSERT INTO ducklake_table VALUES ({n}, md5('{name}')::UUID, {n}, NULL, 0, '{name}', '{name}/', true)"
                for n, name in enumerate(names, 1)
            ),
            """INSERT INTO ducklake_column
                SELECT c, t, NULL, t, c, ['id', 'created_at', 'customer_id', 'amount', 'currency', 'state', 'country',
                    'device', 'note', 'updated_at'][c], ['int64', 'timestamptz', 'int64', 'decimal(12,2)', 'varchar',
                    'varchar', 'varchar', 'varchar', 'varchar', 'timestamptz'][c], NULL, 'NULL', c > 2, NULL
                FROM range(1, 5) tables (t), range(1, 11) columns (c)""",
            f"""INSERT INTO ducklake_data_file
                SELECT row_number() OVER (ORDER BY d, h, t), t, d * 25 + h, NULL, NULL, {file}, true, 'parquet',
                    {size} * (900 + (d * 31 + t * 7) % 200), {size} * (41000 + (d * 7919 + t) % 9000), 1480 + t,
                    d * 24000, NULL, NULL, NULL, NULL
                FROM {hours} loads, range(1, 5) tables (t) ORDER BY d, h, t""",
            f"""INSERT INTO ducklake_file_column_stats
                SELECT data_file_id, table_id, c, file_size_bytes // 11, record_count,
                    CASE WHEN c = 9 THEN record_count ELSE 0 END, CASE WHEN c = 9 THEN NULL WHEN c IN (2, 10)
                    THEN to_timestamp({NOW} - (400 - data_file_id // 4) * 86400)::VARCHAR WHEN c IN (1, 3)
                    THEN (data_file_id * 6000)::VARCHAR WHEN c = 4 THEN '0.99' ELSE 'a' END,
                    CASE WHEN c = 9 THEN NULL WHEN c IN (2, 10)
                    THEN to_timestamp({NOW} - (399 - data_file_id // 4) * 86400 - 1)::VARCHAR WHEN c IN (1, 3)
                    THEN (data_file_id * 6000 + 5999)::VARCHAR WHEN c = 4 THEN '1499.00' ELSE 'z' END, NULL, NULL
                FROM ducklake_data_file, range(1, 11) columns (c) ORDER BY data_file_id, c""",
            """INSERT INTO ducklake_table_stats
                SELECT table_id, sum(record_count), sum(record_count), sum(file_size_bytes) FROM ducklake_data_file
                GROUP BY table_id ORDER BY table_id""",
            """INSERT INTO ducklake_table_column_stats
                SELECT t, c, c = 9, NULL, '0', 'z', NULL FROM range(1, 5) tables (t), range(1, 11) columns (c)""",
            f"""INSERT INTO ducklake_files_scheduled_for_deletion
                SELECT 38000 + f, 'orders/ducklake-' || md5('old' || f)::UUID || '.parquet', true,
                    to_timestamp({NOW} - 10800 - f) FROM range(96) made (f)""",
        ),
        then=("CHECKPOINT",),
    )


DATABASES: Final = (
    BlindDatabase(
        "technitium-query-log",
        "sqlite",
        "https://github.com/TechnitiumSoftware/DnsServer/blob/master/Apps/QueryLogsSqliteApp/App.cs",
        _technitium,
        (
            Expected(
                Cause.INDEX,
                "index_timestamp_client_ip",
                Grade.HARMFUL,
                "(timestamp, client_ip) repeats the start of index_all: 54 B for each of 50,000 rows a day, 0.98 GB "
                "in the 365 days that are kept, 55 % of the table and 10 % of it with its indexes",
            ),
            Expected(
                Cause.INDEX,
                "index_timestamp",
                Grade.HARMFUL,
                "(timestamp) repeats the start of three other indexes: 41 B for each of 50,000 rows a day, 0.75 GB in "
                "365 days",
            ),
            Expected(
                Cause.INDEX,
                "index_qname",
                Grade.HARMFUL,
                "(qname) repeats the start of index_query: 39 B for each of 50,000 rows a day, 0.71 GB in 365 days",
            ),
            Expected(
                Cause.INDEX,
                "index_client_ip",
                Grade.HARMFUL,
                "(client_ip) repeats the start of index_client_qname: 22 B for each of 50,000 rows a day, 0.4 GB in "
                "365 days",
            ),
            Expected(
                Cause.INDEX,
                "index_qclass",
                Grade.HARMFUL,
                "on a column with one value, so it finds nothing: 10 B for each of 50,000 rows a day, 180 MB in 365 "
                "days",
            ),
            Expected(
                Cause.INDEX,
                "index_all",
                Grade.HARMLESS,
                "91 of the 98 B of a row again; the page of the log filters by any column within a span of time",
            ),
            Expected(
                Cause.INDEX,
                "index_[pr]*",
                Grade.HARMLESS,
                "protocol, kind of answer, and code have two or three values, 10 to 11 B a row; one looks for TCP, "
                "blocked names, and failures, which are 1 to 9 % of the rows",
            ),
            Expected(
                Cause.INDEX,
                "index_qtype",
                Grade.HARMLESS,
                "three values, 10 B a row, and one looks for the rare ones",
            ),
            Expected(
                Cause.NUMBER_AS_TEXT,
                "dns_logs.timestamp",
                Grade.HARMLESS,
                "SQLite has no type for times; in this form, text sorts and compares as times do",
            ),
            Expected(
                Cause.DEPENDENT_TAG,
                "dns_logs.qclass",
                Grade.HARMLESS,
                "1 in every row: one B",
            ),
            Expected(
                Cause.REPEATED_BYTES,
                "dns_logs.*",
                Grade.HARMLESS,
                "10,493 names of 26 B and their answers repeat: 0.5 and 0.2 GB in 365 days",
            ),
            Expected(
                Cause.SPARSE,
                "dns_logs.*",
                Grade.HARMLESS,
                "three of four queries are answered without another server, so without response_rtt, at a byte each",
            ),
            Expected(
                Cause.RETENTION,
                "dns_logs",
                Grade.HARMLESS,
                "the program deletes after 365 days: 10 GB by then, with no known disk limit",
            ),
        ),
    ),
    BlindDatabase(
        "birdnet-pi-garden",
        "sqlite",
        "https://github.com/Nachtzuster/BirdNET-Pi/blob/main/scripts/createdb.sh",
        _birdnet,
        (
            Expected(
                Cause.DEPENDENT_TAG,
                "detections.*",
                Grade.HARMLESS,
                "place, cutoff, sensitivity, and overlap are the same in each row, and the Latin name follows from "
                "the common one: 55 B for each of 2,000 rows a day, 40 MB in a year",
            ),
            Expected(
                Cause.INDEX,
                "detections_*_Name",
                Grade.HARMLESS,
                "one for each of two names of the same bird: 27 B for each of 2,000 rows a day, 20 MB in a year",
            ),
            Expected(
                Cause.COMPOSITE,
                "detections.File_Name",
                Grade.HARMLESS,
                "name, confidence, date, and time again: 50 B for each of 2,000 rows a day, 37 MB in a year",
            ),
            Expected(
                Cause.NUMBER_AS_TEXT,
                "detections.*",
                Grade.HARMLESS,
                "SQLite has no type for dates and times; in this form, text sorts and compares as they do",
            ),
            Expected(
                Cause.REPEATED_BYTES,
                "detections.*",
                Grade.HARMLESS,
                "12 birds by name in each row: 33 B for each of 2,000 rows a day, 24 MB in a year",
            ),
            Expected(
                Cause.RETENTION,
                "detections",
                Grade.HARMLESS,
                "nothing removes detections: 273 B for each of 2,000 rows a day, 200 MB in a year, and springs are "
                "compared",
            ),
        ),
        quiet=True,
    ),
    BlindDatabase(
        "ducklake-catalog",
        "duckdb",
        "https://ducklake.select/docs/stable/specification/tables/overview",
        _ducklake,
        (
            Expected(
                Cause.NUMBER_AS_TEXT,
                "*.*_value",
                Grade.HARMLESS,
                "the least and greatest value of columns of all types, which the program casts to the column's type",
            ),
            Expected(
                Cause.SPARSE,
                "*.*",
                Grade.HARMLESS,
                "end_snapshot, authors, keys, and partitions are empty, at no cost",
            ),
            Expected(
                Cause.DEPENDENT_TAG,
                "*.*",
                Grade.HARMLESS,
                "file format and schema are the same in each row, and a file's table is kept with its statistics; a "
                "dictionary makes that nearly free",
            ),
            Expected(
                Cause.RETENTION,
                "*",
                Grade.HARMLESS,
                "snapshots expire after 30 days; files of the lake stay, four rows and 40 of their statistics a day",
            ),
        ),
        quiet=True,
    ),
)
