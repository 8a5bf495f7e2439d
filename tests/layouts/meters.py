"""Readings of electricity meters, as a head-end system that speaks DLMS keeps them in PostgreSQL."""

from __future__ import annotations

from typing import Final

from tests.layouts.layout import Layout, Script, Wanted
from tests.layouts.making import ANALYZE

_READ_AT: Final = "timestamptz '2026-03-31 05:45Z' - (499 - n) * interval '15 minutes'"
_METERS: Final = (
    """CREATE TABLE meters (id integer PRIMARY KEY, serial varchar(16) NOT NULL UNIQUE, melo_id char(33),
        street text, installed_on date, removed_on date)""",
    """INSERT INTO meters SELECT i, '1EMH00' || 10000000 + i * 7919, 'DE000562668020' || lpad((i * 104729)::text, 19,
        '0'),
        'Mühlweg ' || i, date '2024-05-01' + i, NULL FROM generate_series(1, 120) i""",
)


def _dlms_dirty() -> Script:
    return Script(
        (
            *_METERS,
            """CREATE TABLE meter_readings (id bigserial PRIMARY KEY, meter_serial varchar(16) NOT NULL,
                obis_code varchar(20) NOT NULL, value varchar(32), unit varchar(8),
                captured_at timestamptz NOT NULL)""",
            f"""INSERT INTO meter_readings (meter_serial, obis_code, value, unit, captured_at)
                SELECT '1EMH00' || 10000000 + m * 7919,
                (ARRAY['1-0:1.8.0*255', '1-0:2.8.0*255', '1-0:16.7.0*255', '1-0:32.7.0*255'])[o],
                to_char(m * 100 + n * 0.213 + o, 'FM000000.000'), (ARRAY['kWh', 'kWh', 'W', 'V'])[o], {_READ_AT}
                FROM generate_series(0, 499) n, generate_series(1, 120) m, generate_series(1, 4) o""",
            "CREATE INDEX ON meter_readings (meter_serial)",
        ),
        then=(ANALYZE,),
    )


def _dlms_clean() -> Script:
    return Script(
        (
            *_METERS,
            """CREATE TABLE meter_readings (meter_id integer NOT NULL REFERENCES meters,
                captured_at timestamptz NOT NULL,
                import_kwh numeric(12,3) NOT NULL, export_kwh numeric(12,3), power_w integer, voltage_l1 real,
                PRIMARY KEY (meter_id, captured_at))""",
            f"""INSERT INTO meter_readings SELECT m, {_READ_AT}, m * 100 + n * 0.213,
                CASE WHEN m % 4 = 0 THEN n * 0.1 END, n * 31 % 4000 - 900, 228 + n % 9
                FROM generate_series(0, 499) n, generate_series(1, 120) m""",
            "CREATE INDEX meter_readings_captured_at ON meter_readings (captured_at)",
        ),
        then=(ANALYZE,),
    )


LAYOUTS: Final = (
    Layout(
        "dlms-meters-postgresql",
        "postgresql",
        "https://www.dlms.com/resources/",
        _dlms_dirty,
        _dlms_clean,
        (
            Wanted("FLD002", "meter_readings.value", "readings as text: no sum without a cast"),
            Wanted("STO002", "meter_readings*", "46,000 rows a day, and each bill of a month reads all of them"),
        ),
        (Wanted("LAY004|LAY005", "meter_readings*", "four values of one reading in four rows"),),
    ),
)
