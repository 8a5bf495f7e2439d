"""The demo's database: a day is there whole or not at all, and always the same."""

from __future__ import annotations

import subprocess
import sys
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest

from dagster_project import tables
from dagster_project.world import DAYS, DemoError, World
from tsaudit.config.settings import Settings

FIRST = date(2026, 3, 1)


def rows(world: World, query: str) -> list[Any]:
    with duckdb.connect(str(world.path)) as connection:
        return connection.sql(query).fetchall()


def after(world: World, days: int) -> World:
    for n in range(days):
        world.advance(FIRST + timedelta(days=n))
    return world


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "new folder" / "demo.duckdb")


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The data of three days: firmware on the second, deployment on the third."""
    monkeypatch.setattr(tables, "FIRMWARE", 1)
    monkeypatch.setattr(tables, "DEPLOYMENT", 2)


def test_a_month_is_of_the_promised_size_and_has_its_deployment_near_its_end() -> None:
    assert DAYS == 35
    assert 15 < tables.FIRMWARE < tables.DEPLOYMENT < 25


def test_nothing_is_there_before_the_first_day(world: World) -> None:
    assert (world.first_day(), world.last_day()) == (None, None)
    assert world.missing(FIRST, days=3) == [FIRST - timedelta(days=2), FIRST - timedelta(days=1), FIRST]


def test_each_day_adds_its_rows_once(world: World) -> None:
    after(after(world, 2), 2)
    assert (world.first_day(), world.last_day()) == (FIRST, FIRST + timedelta(days=1))
    assert world.missing(FIRST + timedelta(days=3)) == [FIRST + timedelta(days=n) for n in (2, 3)]
    assert world.missing(FIRST) == []
    per_day = rows(world, "SELECT CAST(time AS DATE), count(*) FROM http_requests GROUP BY 1 ORDER BY 1")
    assert per_day == [(FIRST, 6144), (FIRST + timedelta(days=1), 6144)]


def test_the_same_days_always_hold_the_same_rows(world: World, tmp_path: Path, quick: None) -> None:
    other = after(World(tmp_path / "other.duckdb"), 3)
    after(world, 3)
    for table in ("http_requests", "home_sensors", "air_quality", "power_meters", "cpu", "machine_temperature"):
        query = f"SELECT count(*), sum(hash(t)) FROM {table} AS t"
        assert rows(world, query) == rows(other, query)


def test_a_day_broken_off_leaves_nothing_and_is_written_on_the_next_try(
    world: World, monkeypatch: pytest.MonkeyPatch, quick: None
) -> None:
    after(world, 2)
    with monkeypatch.context() as broken:
        broken.setattr(tables, "EVERY_DAY", (*tables.EVERY_DAY[:3], "SELECT no_such_column FROM cpu"))
        with pytest.raises(DemoError, match="no_such_column"):
            world.advance(FIRST + timedelta(days=2))
    assert world.last_day() == FIRST + timedelta(days=1)
    assert ("request_id",) not in rows(world, "SELECT column_name FROM (DESCRIBE http_requests)")
    world.advance(FIRST + timedelta(days=2))
    assert ("request_id",) in rows(world, "SELECT column_name FROM (DESCRIBE http_requests)")


def test_the_deployment_makes_series_run_away_and_the_firmware_leaves_gaps(world: World, quick: None) -> None:
    after(world, 4)
    ids = "SELECT count(DISTINCT request_id) FROM http_requests GROUP BY CAST(time AS DATE) ORDER BY min(time)"
    assert rows(world, ids) == [(0,), (0,), (1536,), (3072,)]
    filled = "SELECT count(no2) / count(*) FROM air_quality GROUP BY CAST(time AS DATE) ORDER BY min(time)"
    assert [round(share, 4) for (share,) in rows(world, filled)] == [1.0, 0.0625, 0.0625, 0.0625]


def test_series_are_all_there_from_the_first_day(world: World) -> None:
    after(world, 2)
    series = (
        "SELECT count(DISTINCT (host, region, method, status, path)) FROM http_requests GROUP BY CAST(time AS DATE)"
    )
    assert rows(world, series) == [(768,), (768,)]
    assert rows(world, "SELECT count(DISTINCT sensor) FROM home_sensors") == [(40,)]


@pytest.mark.parametrize(("day", "message"), [(3, "write 2026-03-02 before"), (-1, "can no longer be written")])
def test_days_are_written_in_order(world: World, day: int, message: str) -> None:
    after(world, 1)
    with pytest.raises(DemoError, match=message):
        world.advance(FIRST + timedelta(days=day))


def test_a_file_that_is_no_database_is_told_in_one_line(world: World) -> None:
    world.path.parent.mkdir()
    world.path.write_text("no database " * 1000)
    with pytest.raises(DemoError, match=r"remove the file to restart the demo$") as caught:
        world.advance(FIRST)
    assert "\n" not in str(caught.value)


def test_a_file_that_another_process_holds_is_not_to_be_removed(world: World) -> None:
    after(world, 1)
    code = f"import duckdb, sys; c = duckdb.connect({str(world.path)!r}); print('open', flush=True); sys.stdin.read()"
    holder = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"open\n"
        with pytest.raises(DemoError, match=r"stop the other process, or wait for it$"):
            world.last_day()
    finally:
        holder.communicate()


def test_the_database_is_that_of_the_first_target(tmp_path: Path) -> None:
    target = {"name": "demo", "engine": "duckdb", "url": f"duckdb:///{tmp_path}/x.duckdb"}
    assert World.of(Settings.model_validate({"targets": [target]})).path == tmp_path / "x.duckdb"
