"""Tables in which some sources are ahead of now, because their clock or time zone is wrong."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.collecting import collected, file_with, statements
from tests.examples import examples
from tests.rules.cases import run_rule
from tests.servers import Postgresql
from tsaudit.collect.ahead import lead_of
from tsaudit.config.settings import Target
from tsaudit.model.figures import utc_now
from tsaudit.model.finding import Severity
from tsaudit.model.profile import Profile
from tsaudit.rules.fields.mistyped_field import mistyped_field

Rows = list[tuple[datetime, str]]
Made = Callable[..., Target]
_MINUTE = timedelta(minutes=1)
_numbers = itertools.count()


def reported(
    now: datetime, source: str, ahead: timedelta = timedelta(0), every: timedelta = 10 * _MINUTE, hours: int = 30
) -> Rows:
    """The rows of a source that reports until now, by a clock that is ahead."""
    return [(now - _MINUTE + ahead - n * every, source) for n in range(timedelta(hours=hours) // every)]


def stations(now: datetime, of: int, **settings: Any) -> Iterator[tuple[datetime, str]]:
    for number in range(of):
        yield from reported(now, f"station {number}", **settings)


@pytest.fixture(params=["duckdb", "postgresql", "sqlite"])
def made(request: pytest.FixtureRequest, tmp_path: Path) -> Made:
    """A table of readings with these times and sources."""

    def make(rows: Rows, time: str = "taken") -> Target:
        values = ", ".join(
            f"('{at:%Y-%m-%d %H:%M:%S}', '{source}', {n % 7}.5)" for n, (at, source) in enumerate(sorted(rows))
        )
        texts = (
            f"CREATE TABLE readings ({time} TIMESTAMP, station TEXT, celsius DOUBLE PRECISION)",
            f"INSERT INTO readings VALUES {values}",
        )
        if request.param != "postgresql":
            return file_with(request.param, tmp_path / f"made{next(_numbers)}.db", *texts)
        server: Postgresql = request.getfixturevalue("postgresql")
        schema = server.new_schema(*texts, "ANALYZE readings")
        return Target(name="t", engine="postgresql", url=server.audit_url, databases=(schema,))

    return make


def of_now(target: Target) -> Profile:
    return collected(target, now=utc_now())


def test_stations_that_send_their_local_time(made: Made) -> None:
    now = utc_now()
    late = [f"north {letter}" for letter in "ab"]
    rows = [*stations(now, 6), *(row for one in late for row in reported(now, one, timedelta(hours=2)))]
    profile = of_now(made(rows))
    (found,) = run_rule(mistyped_field, profile).findings
    assert profile.gaps == ()
    assert (found.severity, found.subject.measurement, found.subject.column) == (
        Severity.WARNING,
        "readings",
        "taken",
    )
    assert found.message.startswith("Rows of 2 of 8 values of station are about 2 hours ahead: the newest is from ")
    assert f"from {now - _MINUTE + timedelta(hours=2):%Y-%m-%d %H:%M} UTC" in found.message
    (evidence,) = (one.value for one in found.evidence if one.label == "such values of station")
    assert evidence == "north a and north b"
    (readings,) = profile.measurements
    table = f'"{readings.database}"."readings"' if profile.engine == "postgresql" else '"readings"'
    statement = f"""UPDATE {table} SET "taken" = "taken" - INTERVAL '120 minutes' WHERE "station" IN (...)"""
    assert (statement in found.fix) == (profile.engine != "sqlite")
    assert readings.ahead is not None
    assert (readings.ahead.rows.value, readings.ahead.others) == (24, 6)


_SILENT: dict[str, Callable[[datetime], Rows]] = {
    "healthy": lambda now: [*stations(now, 8)],
    "all by the same": lambda now: [*stations(now, 8, ahead=timedelta(hours=2))],
    "most": lambda now: [
        *stations(now, 4),
        *(row for n in range(5) for row in reported(now, f"north {n}", timedelta(hours=2))),
    ],
    "one stray row": lambda now: [*stations(now, 8), (now + timedelta(hours=2), "station 3")],
    "clocks": lambda now: [*stations(now, 7), *reported(now, "north", 8 * _MINUTE, every=_MINUTE, hours=5)],
    "observed and forecast": lambda now: [
        *reported(now, "observed", every=5 * _MINUTE),
        *reported(now, "forecast", timedelta(hours=12), every=5 * _MINUTE),
    ],
    "a forecast among others": lambda now: [*stations(now, 8), *reported(now, "solar forecast", timedelta(hours=6))],
    "far ahead": lambda now: [*stations(now, 8), *reported(now, "north", timedelta(hours=20), hours=60)],
    # Each room is booked from 8 to 18, tomorrow too.
    "bookings": lambda now: [
        (at, f"room {room}")
        for room in range(8)
        for day in range(-9, 2)
        for hour in range(8, 18)
        if (room + hour) % 3 and (at := now.replace(hour=hour, minute=0, second=0) + timedelta(days=day))
    ],
    # Today's only: five rooms have another hour, the others are free since.
    "bookings of today": lambda now: [
        (now + (60 * n + 30) * _MINUTE - timedelta(days=day), f"room {room}")
        for room in range(16)
        for day in range(6)
        for n in range(-8, (3 if room < 5 else 0) if not day else 1)
    ],
    "schedule": lambda now: [
        *stations(now, 8),
        *((now + timedelta(hours=hour), "departures") for hour in range(1, 14)),
    ],
    "forecasts by the hour": lambda now: [
        *stations(now, 8),
        *reported(now, "solar", timedelta(hours=6), every=60 * _MINUTE, hours=60),
    ],
    "no time zone": lambda now: [
        *stations(now, 8, every=_MINUTE, hours=9),
        *reported(now, "north", 38 * _MINUTE, every=_MINUTE, hours=9),
    ],
    "one of the clocks of a region": lambda now: [
        *(row for n in range(8) for m in range(9) for row in reported(now - m * _MINUTE, f"region {n}")),
        *reported(now, "region 3", timedelta(hours=2)),
    ],
    "the others stopped": lambda now: [
        *stations(now - timedelta(hours=5), 8),
        *reported(now, "north", timedelta(hours=2)),
    ],
    "every three hours": lambda now: [
        *stations(now, 8, every=180 * _MINUTE, hours=400),
        *reported(now, "north", timedelta(hours=8), every=180 * _MINUTE, hours=400),
    ],
    # What is done, failed, or cancelled is in the past.
    "queue": lambda now: [
        *stations(now, 4, every=_MINUTE, hours=10),
        *((now + n * _MINUTE, "queued") for n in range(120)),
    ],
    "by several offsets": lambda now: [
        *stations(now, 12),
        *(row for n in range(4) for row in reported(now, f"bus {n}", timedelta(hours=2 + n // 2 * n))),
    ],
}


@pytest.mark.parametrize("made", ["sqlite"], indirect=True)
@pytest.mark.parametrize("case", _SILENT)
def test_nothing_is_said(made: Made, case: str) -> None:
    profile = of_now(made(_SILENT[case](utc_now())))
    assert [one.ahead for one in profile.measurements] == [None]


@pytest.mark.parametrize("made", ["sqlite"], indirect=True)
@pytest.mark.parametrize(("time", "is_found"), [("taken", True), ("next_due", False)])
def test_times_that_are_meant_to_be_ahead(made: Made, time: str, is_found: bool) -> None:
    now = utc_now()
    profile = of_now(made([*stations(now, 8), *reported(now, "north", timedelta(hours=2))], time))
    (readings,) = profile.measurements
    assert (readings.time_column, readings.ahead is not None) == (time, is_found)


@pytest.mark.parametrize("made", ["sqlite"], indirect=True)
def test_a_healthy_table_costs_no_statement_and_a_past_day_none_either(made: Made) -> None:
    now = utc_now()
    healthy = [*stations(now, 8)]
    wrong = [*healthy, *reported(now, "north", timedelta(hours=2))]
    costs = [statements(of_now(made(rows)), "row_sample") for rows in (healthy, wrong)]
    assert costs[1] == costs[0] + 1
    past = collected(made(wrong), now=now - timedelta(hours=3))
    assert past.measurements[0].ahead is None


@pytest.mark.parametrize("is_indexed", [True, False])
def test_a_gateway_of_whose_sensors_only_the_newest_rows_are_read(postgresql: Postgresql, is_indexed: bool) -> None:
    """Nothing declares what the sources are. Without an index, rows at random do not show who reports."""
    now = utc_now()
    shift = "CASE WHEN n % 7 = 3 THEN 105 ELSE 0 END * INTERVAL '1 minute'"
    schema = postgresql.new_schema(
        "CREATE TABLE sensors (id BIGINT PRIMARY KEY, name TEXT)",
        "INSERT INTO sensors SELECT n, 'sensor ' || n FROM generate_series(1, 20) AS n",
        "CREATE TABLE samples (id BIGSERIAL PRIMARY KEY, gateway_id BIGINT, sensor_id BIGINT REFERENCES sensors, "
        "result_time TIMESTAMP, flag TEXT, amount FLOAT)",
        "INSERT INTO samples (gateway_id, sensor_id, result_time, flag, amount) SELECT n % 7, n, "
        f"TIMESTAMP '{now:%Y-%m-%d %H:%M:%S}' - t * INTERVAL '1 minute' + {shift}, 'F', n + t % 13 "
        "FROM generate_series(1, 900) AS t, generate_series(1, 20) AS n",
        *(["CREATE INDEX ON samples (result_time)"] if is_indexed else []),
        "ANALYZE samples",
    )
    target = Target(
        name="t", engine="postgresql", url=postgresql.audit_url, databases=(schema,), budget={"max_scan_rows": 5_000}
    )
    (found,) = (one.ahead for one in collected(target, now=utc_now()).measurements if one.name == "samples")
    if not is_indexed:
        assert found is None
        return
    assert found is not None
    assert (found.column, found.values, found.others, found.offset_s) == ("gateway_id", 1, 6, 105 * 60)
    assert found.examples == ("3",)


_HOURS = 3_600_000_000
_ROWS = 10_000
_END = 1_780_000_000_000_000


@given(
    steps=st.integers(1, 56),
    every_s=st.sampled_from([20, 60, 300, 600, 1800]),
    few=st.integers(1, 8),
    more=st.integers(1, 8),
    spread=st.integers(0, 60),
    read_after_s=st.integers(0, 600),
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=examples(100), deadline=None)
def test_what_is_ahead_is_found_exactly(
    steps: int, every_s: int, few: int, more: int, spread: int, read_after_s: int, seed: int
) -> None:
    """Whatever the offset, the interval, the phases, the order of the rows, and how many of them were read."""
    chance, offset, every = np.random.default_rng(seed), steps * _HOURS // 4, every_s * 1_000_000
    if offset < 3 * every:
        return
    others, now = few + more + 2, _END + read_after_s * 1_000_000
    numbers, parts = chance.permutation(few + others), []
    late = chance.integers(0, spread + 1, few + others) * every // 100
    # Each writes at its own phase, and has written until now.
    written = _END - late + every * np.arange(600_000_000 // every + 1, -30 * _HOURS // every - 20, -1)[:, None]
    stamped = np.where(written <= now, written, 0) + np.where(np.arange(few + others) < few, offset, 0)
    for is_part in ((stamped > _HOURS * 100) & (stamped < _END), stamped >= _END):
        codes, times = np.broadcast_to(numbers, stamped.shape)[is_part], stamped[is_part]
        order = chance.permutation(np.argsort(times)[-_ROWS:])
        parts.append((codes[order].astype(np.int64), times[order].astype(np.int64)))
    found = lead_of(*parts, _END, now, whole=len(parts[1][0]) < _ROWS)
    assert found is not None
    assert sorted(found.values) == sorted(numbers[:few])
    assert found.others == others
    # Sources with phases of their own seem to be off by up to an interval.
    assert abs(found.offset_us - offset) <= (0 if not spread or every_s <= 300 else every + _HOURS // 8)
    # If most or all of them are ahead, or nothing is, nobody's clock is known to be wrong.
    none = np.array([], np.int64)
    assert lead_of(parts[0], (none, none), _END, now) is None
    shown = np.isin(parts[0][0], numbers[: few + 2])
    assert lead_of((parts[0][0][shown], parts[0][1][shown]), parts[1], _END, now) is None
