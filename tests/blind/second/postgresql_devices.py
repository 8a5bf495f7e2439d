"""PostgreSQL databases of telephones and cars: columns, indexes, and partitions of two more programs, rows made up."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from tests.blind.expected import BlindDatabase, Cause, Expected, Grade
from tests.layouts.layout import Script

# --- HOMER -------------------------------------------------------------------------------------------------------

_MIDNIGHT: Final = datetime(2026, 3, 1, tzinfo=UTC)
_CALLS_KEPT: Final = 32
"""Days, today and tomorrow among them, for which partitions are there."""
_EVERY: Final = ("create_date", "sid")
_IN_PROTOCOL: Final = ("srcIp", "dstIp", "correlation_id")
_IN_DATA: Final = (*("ruri_domain", "ruri_user", "from_user", "to_user", "pid_user", "auth_user", "callid", "method"),)


def _partitions(table: str, day: datetime, hours: int, *, sip: bool) -> str:
    """A statement that makes those of one day, each with its indexes, as the rotator of heplify-server does."""
    keys = {name: name for name in _EVERY}
    keys |= {name: f"(protocol_header->>'{name}')" for name in _IN_PROTOCOL}
    keys |= {name: f"(data_header->>'{name}')" for name in _IN_DATA} if sip else {}
    lines = []
    for start in range(0, 24, hours):
        begin = day + timedelta(hours=start)
        part = f"{table}_{begin:%Y%m%d_%H%M}"
        bounds = f"FROM ('{begin:%Y-%m-%d %H:%M}+00') TO ('{begin + timedelta(hours=hours):%Y-%m-%d %H:%M}+00')"
        lines.append(f"CREATE TABLE {part} PARTITION OF {table} FOR VALUES {bounds};")
        lines += [f"CREATE INDEX {part}_{name} ON {part} ({key});" for name, key in keys.items()]
    return f"DO $$ BEGIN {' '.join(lines)} END $$"


def _homer() -> Script:
    """A hotline's 240 calls a day, of ten SIP messages each, since 1 March; other messages are kept for a day."""
    columns = """id BIGSERIAL NOT NULL, sid varchar NOT NULL,
        create_date timestamp with time zone DEFAULT CURRENT_TIMESTAMP NOT NULL, protocol_header jsonb NOT NULL,
        data_header jsonb NOT NULL, raw varchar NOT NULL"""
    sip = ("hep_proto_1_call", "hep_proto_1_registration", "hep_proto_1_default")
    rest = ("hep_proto_5_default", "hep_proto_35_default", "hep_proto_100_default")
    today = _MIDNIGHT + timedelta(days=30)
    tomorrow = today + timedelta(days=1)
    messages = 72_600
    return Script(
        (
            *(f"CREATE TABLE {table} ({columns}) PARTITION BY RANGE (create_date)" for table in (*sip, *rest)),
            *(_partitions(sip[0], _MIDNIGHT + timedelta(days=n), 2, sip=True) for n in range(_CALLS_KEPT)),
            *(_partitions(table, day, 2, sip=True) for table in sip[1:] for day in (today, tomorrow)),
            *(_partitions(table, day, 6, sip=False) for table in rest for day in (today, tomorrow)),
            f"""INSERT INTO hep_proto_1_call (sid, create_date, protocol_header, data_header, raw)
                SELECT c, t, jsonb_build_object('protocolFamily', 2, 'protocol', 17, 'srcIp', a, 'dstIp', b,
                        'srcPort', 5060, 'dstPort', 5060, 'timeSeconds', extract(epoch FROM t)::bigint,
                        'timeUseconds', i * 7919 % 1000000, 'payloadType', 1, 'captureId', '2001',
                        'correlation_id', ''),
                    jsonb_build_object('ruri_user', k, 'ruri_domain', 'sip.example.org', 'from_user', f,
                        'from_tag', substr(md5('from' || n), 1, 10), 'to_user', k, 'to_tag',
                        substr(md5('to' || n), 1, 10), 'callid', c, 'cseq', (1 + m / 5) || ' ' || v, 'method', v,
                        'user_agent', 'Asterisk PBX 20.5.0'),
                    CASE WHEN v < 'A' THEN 'SIP/2.0 ' || v || ' OK' ELSE v || ' sip:' || k || '@sip.example.org SIP/2.0'
                        END || E'\\r\\nVia: SIP/2.0/UDP ' || a || ':5060;branch=z9hG4bK' || md5('branch' || i)
                        || E'\\r\\nMax-Forwards: 70\\r\\nFrom: <sip:' || f || '@sip.example.org>;tag='
                        || substr(md5('from' || n), 1, 10) || E'\\r\\nTo: <sip:' || k || '@sip.example.org>;tag='
                        || substr(md5('to' || n), 1, 10) || E'\\r\\nCall-ID: ' || c || E'\\r\\nCSeq: ' || 1 + m / 5
                        || ' ' || v || E'\\r\\nContact: <sip:' || f || '@' || a || E':5060>\\r\\nUser-Agent: Asterisk '
                        || E'PBX 20.5.0\\r\\nAllow: INVITE, ACK, CANCEL, OPTIONS, BYE\\r\\nSupported: replaces, timer'
                        || E'\\r\\nContent-Length: 0\\r\\n\\r\\n'
                FROM (SELECT i, n, m, (ARRAY['INVITE', '100', '180', '200', 'ACK', 'INFO', '200', 'BYE', '200', 'ACK'])
                            [1 + m] AS v, md5('call' || n) || '@192.0.2.20:5060' AS c,
                        '4930555' || 1000 + n * 31 % 9000 AS f, '49305550' || n % 8 AS k,
                        CASE m % 2 WHEN 0 THEN '192.0.2.20' ELSE '198.51.100.7' END AS a,
                        CASE m % 2 WHEN 1 THEN '192.0.2.20' ELSE '198.51.100.7' END AS b,
                        timestamptz '2026-03-01 00:00:00+00' + n * interval '6 minutes' + m * interval '11.7 seconds'
                            AS t
                    FROM (SELECT i, i / 10 AS n, i % 10 AS m FROM generate_series(0, {messages - 1}) i) numbers) made
                ORDER BY t""",
        ),
        then=(f"ANALYZE {', '.join((*sip, *rest))}", "SELECT pg_stat_force_next_flush()"),
    )


# --- TeslaMate ---------------------------------------------------------------------------------------------------


def _teslamate() -> Script:
    """One car, two drives of 25 minutes a day and a charge every other night, for 40 days."""
    start = "timestamp '2026-02-19 06:00:00'"
    at = f"""{start} + (i / 2000) * interval '1 day' + CASE WHEN i % 2000 < 1000 THEN interval '1 hour'
        ELSE interval '11 hours' END + i % 1000 * interval '1.5 seconds' + i * 7919 % 1000 * interval '1 millisecond'"""
    ranges = ("ideal_battery_range_km", "est_battery_range_km", "rated_battery_range_km")
    lengths = ", ".join(f"CASE WHEN p THEN {380 - n * 25} - i % 2000 / 40.0 END" for n in range(3))
    return Script(
        (
            "CREATE TYPE states_status AS ENUM ('online', 'offline', 'asleep')",
            """CREATE TABLE cars (
                id smallserial PRIMARY KEY, eid bigint NOT NULL, vid bigint NOT NULL, vin text, name text,
                model varchar(255), efficiency double precision, trim_badging text, exterior_color text,
                wheel_type text, spoiler_type text, inserted_at timestamp(0) NOT NULL,
                updated_at timestamp(0) NOT NULL)""",
            "CREATE UNIQUE INDEX cars_eid_index ON cars (eid)",
            "CREATE UNIQUE INDEX cars_vid_index ON cars (vid)",
            "CREATE UNIQUE INDEX cars_vin_index ON cars (vin)",
            """CREATE TABLE drives (
                id serial PRIMARY KEY, start_date timestamp NOT NULL, end_date timestamp, outside_temp_avg
                numeric(4, 1), speed_max smallint, power_max smallint, power_min smallint,
                start_ideal_range_km numeric(6, 2), end_ideal_range_km numeric(6, 2), start_km double precision,
                end_km double precision, distance double precision, duration_min smallint,
                car_id smallint NOT NULL REFERENCES cars (id) ON DELETE CASCADE, inside_temp_avg numeric(4, 1),
                start_rated_range_km numeric(6, 2), end_rated_range_km numeric(6, 2), ascent smallint,
                descent smallint)""",
            "CREATE INDEX trips_car_id_index ON drives (car_id)",
            """CREATE TABLE positions (
                id serial PRIMARY KEY, date timestamp NOT NULL, latitude numeric(8, 6) NOT NULL,
                longitude numeric(9, 6) NOT NULL, speed smallint, power smallint, odometer double precision,
                ideal_battery_range_km numeric(6, 2), battery_level smallint, outside_temp numeric(4, 1),
                elevation smallint, fan_status integer, driver_temp_setting numeric(4, 1),
                passenger_temp_setting numeric(4, 1), is_climate_on boolean, is_rear_defroster_on boolean,
                is_front_defroster_on boolean, car_id smallint NOT NULL REFERENCES cars (id) ON DELETE CASCADE,
                drive_id integer REFERENCES drives (id) ON DELETE SET NULL, inside_temp numeric(4, 1),
                battery_heater boolean, battery_heater_on boolean, battery_heater_no_power boolean,
                est_battery_range_km numeric(6, 2), rated_battery_range_km numeric(6, 2),
                usable_battery_level smallint, tpms_pressure_fl numeric(4, 1), tpms_pressure_fr numeric(4, 1),
                tpms_pressure_rl numeric(4, 1), tpms_pressure_rr numeric(4, 1))""",
            "CREATE INDEX positions_car_id_index ON positions (car_id)",
            """CREATE INDEX positions_date_timestamp_minmax_multi_ops_index ON positions
                USING brin (date timestamp_minmax_multi_ops) WITH (autosummarize = true, pages_per_range = 64)""",
            """CREATE INDEX positions_drive_id_date_timestamp_minmax_multi_ops_index ON positions
                USING brin (drive_id, date timestamp_minmax_multi_ops)
                WITH (autosummarize = true, pages_per_range = 64)""",
            """CREATE INDEX "positions_car_id_date__ideal_battery_range_km_IS_NOT_NULL_index" ON positions
                (car_id, date, (ideal_battery_range_km IS NOT NULL)) WHERE ideal_battery_range_km IS NOT NULL""",
            """CREATE TABLE charging_processes (
                id serial PRIMARY KEY, start_date timestamp NOT NULL, end_date timestamp,
                charge_energy_added numeric(8, 2), start_ideal_range_km numeric(6, 2),
                end_ideal_range_km numeric(6, 2), start_battery_level smallint, end_battery_level smallint,
                duration_min smallint, outside_temp_avg numeric(4, 1),
                car_id smallint NOT NULL REFERENCES cars (id) ON DELETE CASCADE,
                position_id integer NOT NULL REFERENCES positions (id), charge_energy_used numeric(8, 2),
                cost numeric(6, 2))""",
            "CREATE INDEX charging_processes_car_id_index ON charging_processes (car_id)",
            "CREATE INDEX charging_processes_position_id_index ON charging_processes (position_id)",
            """CREATE TABLE charges (
                id serial PRIMARY KEY, date timestamp NOT NULL, battery_heater_on boolean, battery_level smallint,
                charge_energy_added numeric(8, 2) NOT NULL, charger_actual_current smallint, charger_phases smallint,
                charger_pilot_current smallint, charger_power smallint NOT NULL, charger_voltage smallint,
                fast_charger_present boolean, conn_charge_cable varchar(255), fast_charger_brand varchar(255),
                fast_charger_type varchar(255), ideal_battery_range_km numeric(6, 2) NOT NULL,
                not_enough_power_to_heat boolean, outside_temp numeric(4, 1),
                charging_process_id integer NOT NULL REFERENCES charging_processes (id) ON DELETE CASCADE,
                battery_heater boolean, battery_heater_no_power boolean, rated_battery_range_km numeric(6, 2),
                usable_battery_level smallint)""",
            "CREATE INDEX charges_date_index ON charges (date)",
            "CREATE INDEX charges_charging_process_id_index ON charges (charging_process_id)",
            """CREATE TABLE states (
                id serial PRIMARY KEY, state states_status NOT NULL, start_date timestamp NOT NULL,
                end_date timestamp, car_id smallint NOT NULL REFERENCES cars (id) ON DELETE CASCADE)""",
            "CREATE INDEX states_car_id_index ON states (car_id)",
            """CREATE UNIQUE INDEX states_car_id__end_date_IS_NULL_index ON states (car_id, (end_date IS NULL))
                WHERE end_date IS NULL""",
            f"""INSERT INTO cars (eid, vid, vin, name, model, efficiency, inserted_at, updated_at)
                VALUES (1492931337812345, 987654321, '5YJ3E7EB0KF000001', 'Blue', '3', 0.153, {start}, {start})""",
            f"""INSERT INTO drives
                    (start_date, end_date, outside_temp_avg, speed_max, power_max, power_min, start_ideal_range_km,
                    end_ideal_range_km, start_km, end_km, distance, duration_min, car_id, inside_temp_avg)
                SELECT t, t + interval '25 minutes', 9.5 + d % 7, 100 + d % 20, 90 + d % 40, -40 - d % 20,
                    380 - d % 2 * 30, 352 - d % 2 * 30, 21000 + d * 24.3, 21024 + d * 24.3, 24.3, 25, 1, 21.5
                FROM (SELECT d, {start} + d / 2 * interval '1 day' + (1 + d % 2 * 10) * interval '1 hour' AS t
                    FROM generate_series(0, 79) d) made ORDER BY d""",
            f"""INSERT INTO positions
                    (date, latitude, longitude, speed, power, odometer, battery_level, elevation, car_id, drive_id,
                    {", ".join(ranges)}, outside_temp, inside_temp, is_climate_on, fan_status, driver_temp_setting,
                    passenger_temp_setting, usable_battery_level, tpms_pressure_fl, tpms_pressure_fr,
                    tpms_pressure_rl, tpms_pressure_rr)
                SELECT {at}, 52.4 + i % 1000 / 9100.0, 13.2 + i % 1000 / 7300.0, i * 31 % 110, i * 13 % 70 - 20,
                    21000 + i / 1000 * 24.3 + i % 1000 * 0.0243, 80 - i % 2000 / 80, 34 + i % 1000 / 40, 1,
                    1 + i / 1000, {lengths},
                    CASE WHEN p THEN 9.5 + i / 2000 % 7 END, CASE WHEN p THEN 21.5 END, CASE WHEN p THEN true END,
                    CASE WHEN p THEN 3 END, CASE WHEN p THEN 21.0 END, CASE WHEN p THEN 21.0 END,
                    CASE WHEN p THEN 79 - i % 2000 / 80 END, CASE WHEN p THEN 2.9 END, CASE WHEN p THEN 2.9 END,
                    CASE WHEN p THEN 2.8 END, CASE WHEN p THEN 2.8 END
                FROM (SELECT i, i % 10 = 0 AS p FROM generate_series(0, 79999) i) made ORDER BY i""",
            f"""INSERT INTO charging_processes
                    (start_date, end_date, charge_energy_added, start_battery_level, end_battery_level, duration_min,
                    outside_temp_avg, car_id, position_id, charge_energy_used, cost)
                SELECT {start} + (c * 2 + 1) * interval '1 day' - interval '10 hours',
                    {start} + (c * 2 + 1) * interval '1 day' - interval '6 hours', 31.2, 38, 80, 240, 6.5, 1,
                    1 + c * 4000, 34.1, 9.54
                FROM generate_series(0, 19) c""",
            f"""INSERT INTO charges
                    (date, battery_level, charge_energy_added, charger_actual_current, charger_phases,
                    charger_pilot_current, charger_power, charger_voltage, fast_charger_present, conn_charge_cable,
                    fast_charger_brand, fast_charger_type, ideal_battery_range_km, outside_temp, charging_process_id,
                    rated_battery_range_km, usable_battery_level)
                SELECT {start} + (i / 480 * 2 + 1) * interval '1 day' - interval '10 hours'
                    + i % 480 * interval '30 seconds', 38 + i % 480 / 12, i % 480 * 0.065, 11, 3, 16, 8,
                    228 + i * 7 % 9, false, 'IEC', '<invalid>', '<invalid>', 190 + i % 480 / 2.4, 6.5, 1 + i / 480,
                    172 + i % 480 / 2.6, 37 + i % 480 / 12
                FROM generate_series(0, 9599) i ORDER BY i""",
            f"""INSERT INTO states (state, start_date, end_date, car_id)
                SELECT (ARRAY['asleep', 'online']::states_status[])[1 + n % 2], {start} + n * interval '6 hours',
                    CASE WHEN n < 160 THEN {start} + (n + 1) * interval '6 hours' END, 1
                FROM generate_series(0, 160) n""",
        ),
        then=(
            "VACUUM ANALYZE cars, drives, positions, charging_processes, charges, states",
            "SELECT pg_stat_force_next_flush()",
        ),
    )


DATABASES: Final = (
    BlindDatabase(
        "homer-calls",
        "postgresql",
        "https://github.com/sipcapture/heplify-server/blob/master/rotator/pgfiles.go",
        _homer,
        (
            Expected(
                Cause.PARTITIONS,
                "hep_proto_1_call*",
                Grade.HARMFUL,
                "384 partitions of two hours with 200 rows and 13 indexes each: a query without a time takes 5,377 of "
                "6,400 locks (84 %) and 0.1 to 0.4 s to plan; with 12 more a day, it fails in six days; with one "
                "partition a day, it takes 449",
            ),
            Expected(
                Cause.PARTITIONS,
                "hep_proto_1_registration*",
                Grade.HARMLESS,
                "24 empty partitions for today and tomorrow: 115 kB each",
            ),
            Expected(
                Cause.PARTITIONS,
                "hep_proto_*_default*",
                Grade.HARMLESS,
                "24 or 8 empty partitions for today and tomorrow: 49 to 115 kB each",
            ),
            Expected(
                Cause.INDEX,
                "hep_proto_*",
                Grade.HARMLESS,
                "pid_user and auth_user are in no message, correlation_id and ruri_domain the same in all: 16 kB each "
                "in a partition of 200 rows, 25 MB in all, dropped with it",
            ),
            Expected(
                Cause.REPEATED_BYTES,
                "hep_proto_1_call*.*",
                Grade.HARMLESS,
                "data_header repeats what raw has, in 2,400 rows a day: below 0.5 GB a year",
            ),
        ),
    ),
    BlindDatabase(
        "teslamate-one-car",
        "postgresql",
        "https://github.com/teslamate-org/teslamate/tree/main/priv/repo/migrations",
        _teslamate,
        (
            Expected(
                Cause.INDEX,
                "positions_car_id_index",
                Grade.HARMLESS,
                "there is one car: 6.7 B for each of 2,000 rows a day, 5 MB in a year",
            ),
            Expected(
                Cause.SPARSE,
                "*.*",
                Grade.HARMLESS,
                "nine of ten positions come from the stream, without temperatures, ranges, and pressures, at a bit "
                "each",
            ),
            Expected(
                Cause.DEPENDENT_TAG,
                "*.*",
                Grade.HARMLESS,
                "car, voltage, cable, and phases are the same in each row: a few B each",
            ),
            Expected(
                Cause.RETENTION,
                "*",
                Grade.HARMLESS,
                "nothing removes positions: 144 B for each of 2,000 rows a day, 105 MB in a year, and the owner wants "
                "old drives",
            ),
        ),
        quiet=True,
    ),
)
