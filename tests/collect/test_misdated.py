"""Tables with rows whose times were written in a wrong unit."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.builders import NOW
from tests.collecting import collected, file_with
from tests.engines.traits import SHARE_SQL
from tests.rules.cases import run_rule
from tests.servers import Postgresql
from tsaudit.config.settings import Target
from tsaudit.model.figures import Reason
from tsaudit.model.finding import Severity
from tsaudit.rules.fields.mistyped_field import mistyped_field

Made = Callable[..., Target]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
RECENT = [NOW - timedelta(minutes=3 * n, seconds=n + 7) for n in range(400)]
_numbers = itertools.count()


@pytest.fixture(params=sorted(SHARE_SQL))
def made(request: pytest.FixtureRequest, tmp_path: Path) -> Made:
    """A table of readings at these times, beside one that is written."""

    def make(moments: list[datetime], beside: list[datetime] | None = None) -> Target:
        def rows(times: list[datetime]) -> Iterator[str]:
            yield from (f"('{at:%Y-%m-%d %H:%M:%S.%f}', 'k{n % 4}', {n}.5)" for n, at in enumerate(times))

        statements = [
            text
            for name, times in (("readings", moments), ("others", beside or RECENT[:50]))
            for text in (
                f"CREATE TABLE {name} (taken TIMESTAMP, kiln TEXT, celsius DOUBLE PRECISION)",
                f"INSERT INTO {name} VALUES {', '.join(rows(times))}",
            )
        ]
        if request.param != "postgresql":
            return file_with(request.param, tmp_path / f"made{next(_numbers)}.db", *statements)
        server: Postgresql = request.getfixturevalue("postgresql")
        schema = server.new_schema(*statements, "ANALYZE readings")
        return Target(name="t", engine="postgresql", url=server.audit_url, databases=(schema,))

    return make


def shrunk(times: list[datetime], factor: int) -> list[datetime]:
    return [EPOCH + (time - EPOCH) / factor for time in times]


@pytest.mark.parametrize("factor", [1_000, 1_000_000])
def test_all_rows_of_a_table(made: Made, factor: int) -> None:
    profile = collected(made(shrunk(RECENT, factor)))
    (finding,) = run_rule(mistyped_field, profile).findings
    assert profile.gaps == ()
    assert (finding.subject.measurement, finding.severity) == ("readings", Severity.WARNING)
    assert finding.message.startswith("All its 400 rows are in January 1970: their unit was mistaken for one that is ")
    assert finding.message.endswith("the newest is 2026-03-31 05:59 UTC.")
    assert f"multiply the time since 1970 of those in January 1970 by {factor:,}." in finding.fix


@pytest.mark.parametrize(
    "times",
    [
        # Birth dates.
        [datetime(1930, 2, 3, tzinfo=UTC) + timedelta(days=60 * n) for n in range(400)],
        [EPOCH + timedelta(days=n % 28) for n in range(400)],
        # Weather since 1950 and since 1970.
        [datetime(1950, 1, 1, tzinfo=UTC) + timedelta(days=20 * n) for n in range(1390)],
        [EPOCH + timedelta(hours=7 * n) for n in range(1500)],
        # What stands for no time, at the beginning and at the end.
        [EPOCH, *RECENT],
        [EPOCH] * 400,
        [*RECENT, datetime(9999, 12, 31, tzinfo=UTC)],
    ],
    ids=["births", "births in a month", "from 1950 on", "from 1970 on", "no time", "no times", "for ever"],
)
def test_times_that_are_meant(made: Made, times: list[datetime]) -> None:
    profile = collected(made(times))
    assert [m.misdated for m in profile.measurements] == [None, None]


@pytest.mark.parametrize("engine", sorted(SHARE_SQL - {"postgresql"}))
def test_some_rows_of_a_table_whose_times_are_read_anyway(tmp_path: Path, engine: str) -> None:
    """Of two columns, the one with the times has to be found."""
    mixed = [*RECENT, *shrunk(RECENT[:30], 1_000)]
    rows = ", ".join(f"('{at:%Y-%m-%d %H:%M:%S.%f}', NULL, {n}.5)" for n, at in enumerate(mixed))
    target = file_with(
        engine,
        tmp_path / "made.db",
        "CREATE TABLE readings (taken TIMESTAMP, checked TIMESTAMP, celsius DOUBLE PRECISION)",
        f"INSERT INTO readings VALUES {rows}",
    )
    profile = collected(target)
    (finding,) = run_rule(mistyped_field, profile).findings
    assert finding.message.startswith("30 rows are, unlike all others, in January 1970: ")
    (readings,) = profile.measurements
    assert readings.rows is not None
    assert readings.rows.value == 400


def test_times_after_the_year_9999_are_not_said_to_be_missing(postgresql: Postgresql) -> None:
    late = "to_timestamp(1774900000000.0 + i)"
    schema = postgresql.new_schema(
        "CREATE TABLE readings (taken TIMESTAMPTZ, celsius FLOAT)",
        f"INSERT INTO readings SELECT {late}, i FROM generate_series(1, 500) AS i",
        "ANALYZE readings",
    )
    target = Target(name="t", engine="postgresql", url=postgresql.audit_url, databases=(schema,))
    gap = next(gap for gap in collected(target).gaps if gap.fact == "row_sample" and gap.measurement == "readings")
    assert gap.reason is Reason.INCONSISTENT
    assert "the taken of all 200 rows read cannot be read as a time before the year 10000" in gap.detail
