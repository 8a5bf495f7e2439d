"""Tables whose rows multiplied because one writer reports far more often than before."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from tests.builders import DAY, NOW
from tests.collecting import collected, file_with, statements
from tests.rules.cases import run_rule
from tests.servers import Postgresql
from tsaudit.collect.excess import rise_of
from tsaudit.config.settings import Target
from tsaudit.model.finding import Finding
from tsaudit.model.profile import Profile
from tsaudit.rules.drift.multiplied_rows import multiplied_rows

Row = tuple[datetime, str, str, float]
Rows = Iterable[Row]
Made = Callable[[Rows], Target]
_numbers = itertools.count()
_A_DAY = timedelta(days=1)
_HOUR = timedelta(hours=1)
_MINUTE = timedelta(minutes=1)
DAYS = 12


def reported(device: str, reading: str, every: timedelta, first: float = DAYS, last: float = 0.0) -> Iterator[Row]:
    """Its rows from `first` days ago to `last` days ago."""
    count = int((first - last) * _A_DAY / every)
    offset = timedelta(seconds=sum(map(ord, device + reading)) % 500)
    for n in range(1, count + 1):
        yield NOW - last * _A_DAY - n * every - min(offset, every / 2), device, reading, 20 + n % 13 + n % 7 / 10


def home(of: int = 4, first: float = DAYS, every: timedelta = 30 * _MINUTE, name: str = "room") -> Iterator[Row]:
    for letter in "abcdefghijklmnopqrstuvwxyz"[:of]:
        yield from reported(f"{name} {letter}", "temperature", every, first)
        yield from reported(f"{name} {letter}", "humidity", every, first)


def cellars(of: int) -> Iterator[Row]:
    """Devices of one kind, of which there was one."""
    yield from reported("cellar z", "moisture", 30 * _MINUTE)
    for letter in "abcdefghijklmnopqrstuvwxy"[:of]:
        yield from reported(f"cellar {letter}", "moisture", 10 * _MINUTE, 1.5)


def meter(reading: str, since: float, last: float = 0.0, every: timedelta = timedelta(seconds=20)) -> Iterator[Row]:
    """Reports every half hour, but for a time."""
    yield from reported("meter", reading, 30 * _MINUTE)
    yield from reported("meter", reading, every, since, last)


@pytest.fixture(params=["postgresql", "sqlite"])
def made(request: pytest.FixtureRequest, tmp_path: Path) -> Made:
    """A table of readings."""

    def make(rows: Rows) -> Target:
        values = ", ".join(
            f"('{at:%Y-%m-%d %H:%M:%S}', '{device}', '{reading}', '{value:.1f}')"
            for at, device, reading, value in sorted(rows)
        )
        texts = (
            "CREATE TABLE history (taken TIMESTAMP, device TEXT, reading TEXT, value TEXT)",
            f"INSERT INTO history VALUES {values}",
            "CREATE INDEX by_time ON history (taken)",
        )
        if request.param != "postgresql":
            return file_with(request.param, tmp_path / f"made{next(_numbers)}.db", *texts)
        server: Postgresql = request.getfixturevalue("postgresql")
        schema = server.new_schema(*texts, "ANALYZE history")
        return Target(name="t", engine="postgresql", url=server.audit_url, databases=(schema,))

    return make


def audited(target: Target, ago: float = 0.0, previous: Profile | None = None) -> Profile:
    """A profile as of some days ago: what was written since then is not in its window."""
    then = ago * _A_DAY
    return collected(target, day=(NOW - then).date(), now=NOW - then, previous=previous)


def found_in(target: Target) -> Finding | None:
    profile = audited(target, previous=audited(target, 1))
    found = run_rule(multiplied_rows, profile).findings
    return found[0] if found else None


@pytest.mark.parametrize("made", ["duckdb", "postgresql", "sqlite"], indirect=True)
def test_a_reading_that_is_logged_all_the_time(made: Made) -> None:
    target = made([*home(), *meter("power_now", 1.5)])
    before = audited(target, 1)
    profile = audited(target, previous=before)
    (found,) = run_rule(multiplied_rows, profile).findings
    excess = profile.measurements[0].excess
    assert excess is not None
    assert (excess.column, excess.value, excess.also) == ("device", "meter", (("reading", "power_now"),))
    assert excess.before_per_day == pytest.approx(8 * 48 + 48, rel=0.05)
    assert excess.per_day == pytest.approx(8 * 48 + 48 + 4320, rel=0.05)
    assert excess.share_before == pytest.approx(1 / 9, abs=0.02)
    assert excess.share == pytest.approx(4368 / 4752, abs=0.02)
    assert abs(excess.since - (NOW - 1.5 * _A_DAY)) < 2 * _HOUR
    # A small DuckDB file does not show the bytes of a table.
    assert (found.impact and found.impact.after(365) > 30_000_000) or profile.engine == "duckdb"
    assert found.since is not None
    assert found.since <= DAY
    assert "of device=meter (reading=power_now), which had " in found.message
    assert statements(profile, "row_sample") <= statements(before, "row_sample") + 1


@pytest.mark.full
def test_it_stays_until_it_is_over(made: Made) -> None:
    target = made([*home(), *meter("power_now", 3, 0.6)])
    first = audited(target, 1, previous=audited(target, 2))
    seen = first.measurements[0].excess
    assert seen is not None
    assert audited(target, 0.7, previous=first).measurements[0].excess == seen
    assert audited(target, previous=first).measurements[0].excess is None


@pytest.mark.full
@pytest.mark.parametrize("made", ["sqlite"], indirect=True)
def test_it_is_over_where_rows_come_in_batches(made: Made) -> None:
    """Rows of six hours have one time, those of the others of a day: the newest are all of the one that was too fast,
    and come at the rate of six hours, not at that of an instant.
    """

    def batch(rows: Rows, hours: int) -> Iterator[Row]:
        for at, *rest in rows:
            whole = at - timedelta(hours=(at.hour - 12) % hours, minutes=at.minute, seconds=at.second)
            yield whole, *rest

    target = made([*batch(home(), 24), *batch(meter("power_now", 3, 1), 6)])
    first = audited(target, 1, previous=audited(target, 2))
    assert first.measurements[0].excess is not None
    assert audited(target, previous=first).measurements[0].excess is None


def test_two_readings_of_a_device(made: Made) -> None:
    found = found_in(made([*home(), *meter("power_now", 1.5), *meter("voltage", 1.5)]))
    assert found is not None
    assert found.main_contributor == "device"
    assert "are of device=meter, which had" in found.message


@pytest.mark.parametrize("made", ["postgresql"], indirect=True)
def test_a_table_too_big_to_read(made: Made) -> None:
    target = made([*home(), *meter("power_now", 2.5, every=timedelta(seconds=10))])
    target = target.model_copy(update={"budget": target.budget.model_copy(update={"max_scan_rows": 12_000})})
    profile = audited(target, 1, previous=audited(target, 2))
    excess = profile.measurements[0].excess
    assert excess is not None
    assert (excess.column, excess.value) == ("device", "meter")
    assert excess.per_day == pytest.approx(8 * 48 + 48 + 8640, rel=0.3)


@pytest.mark.parametrize("made", ["sqlite"], indirect=True)
def test_a_table_without_statistics_is_not_read_beyond_the_budget(made: Made) -> None:
    target = made([*home(), *meter("power_now", 1.5)])
    budget = target.budget.model_copy(update={"max_scan_rows": 5_000})
    target = target.model_copy(update={"sample_rows": 1_000, "budget": budget})
    profile = audited(target, previous=audited(target, 1))
    assert profile.measurements[0].excess is None
    assert statements(profile, "row_sample") == statements(audited(target), "row_sample")


@pytest.mark.costly
@pytest.mark.parametrize(
    "rows",
    [
        pytest.param([*home(), *home(26, 1.5, 10 * _MINUTE, "flat")], id="fleet"),
        pytest.param([*home(), *cellars(20)], id="more of a kind"),
        pytest.param([*home(), *meter("power_now", 12, 9)], id="old rows"),
        pytest.param([*home(), *meter("power_now", 1.6, 0.4)], id="over"),
        pytest.param([*home(), *meter("power_now", 0.5)], id="today"),
        pytest.param(list(meter("power_now", 1.5)) + list(home(first=3)), id="young"),
    ],
)
def test_silence(made: Made, rows: Rows) -> None:
    assert found_in(made(rows)) is None


def test_silence_on_weekends(made: Made) -> None:
    weekends = (d for d in range(DAYS) if d % 7 in (0, 1))
    busy = [row for d in weekends for row in reported("shop", "visits", timedelta(seconds=30), d + 1, d)]
    assert found_in(made([*home(), *reported("shop", "visits", 30 * _MINUTE), *busy])) is None


def test_silence_where_old_rows_are_thinned_out(made: Made) -> None:
    target = made([*home(), *meter("power_now", 1.5)])
    then = audited(target, 1)
    (history,) = then.measurements
    # It had as many rows then.
    rows = audited(target).measurements[0].rows
    then = replace(then, measurements=(replace(history, rows=rows),))
    assert audited(target, previous=then).measurements[0].excess is None


def test_silence_on_the_first_audit(made: Made) -> None:
    assert audited(made([*home(), *meter("power_now", 1.5)])).measurements[0].excess is None


def _ages(per_day: list[int]) -> np.ndarray:
    """Newest day first."""
    return np.concatenate([d + np.arange(count) / count for d, count in enumerate(per_day)])


@pytest.mark.parametrize(
    ("per_day", "days"),
    [
        ([900, *[100] * 9], 1),
        ([900, 500, *[100] * 9], 1.5),
        ([900, 900, 900, 100, *[100] * 9], 3),
        # Not three times as many as on the busiest day, too few to tell, or not for a week.
        ([900, *[100] * 5, 400, *[100] * 9], None),
        ([90, *[10] * 9], None),
        ([900, *[100] * 7], None),
    ],
)
def test_rise(per_day: list[int], days: float | None) -> None:
    found = rise_of(_ages(per_day))
    assert (found and found.days) == (None if days is None else pytest.approx(days, abs=0.02))
