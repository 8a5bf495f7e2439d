"""Databases that nobody writes to anymore, on a real server: their newest rows are what there is to audit."""

from __future__ import annotations

from datetime import timedelta

from tests.builders import NOW
from tests.databases import Dataset, Row, Table, write
from tests.planning.places import Place
from tests.servers import Influxd

HOUR = timedelta(hours=1)


def table(name: str, days_ago: int, series: int = 2) -> Table:
    """Rows of two days, each hour, up to so many days ago."""
    until = NOW - timedelta(days=days_ago)
    rows = [
        Row(until - step * HOUR, {"oven": f"o{number}"}, {"celsius": 180.0 + number + 0.5 * step})
        for step in range(48)
        for number in range(series)
    ]
    return Table(name, ("oven",), {"celsius": "float"}, rows)


def test_newest_rows_of_a_database_at_rest_are_measured(influxd: Influxd) -> None:
    target = write(Dataset([table("firing", 50), table("glazing", 70, series=400)]), "influxdb1", influxd.url)
    profile, result = Place(target, now=NOW).audited()
    assert (result.verdict, profile.gaps) == ("ok", ())
    firing, glazing = profile.measurements
    assert firing.rows is not None
    assert firing.rows.value == 96
    assert glazing.rows is not None
    assert glazing.rows.value == 400 * 48
    assert firing.own_window is not None
    assert firing.own_window.end == NOW - timedelta(days=50) + timedelta(seconds=1)


def test_rows_of_a_measurement_at_rest_are_not_looked_for_beside_others_that_are_written(influxd: Influxd) -> None:
    target = write(Dataset([table("firing", 50), table("glazing", 0)]), "influxdb1", influxd.url)
    profile, result = Place(target, now=NOW + HOUR).audited()
    assert (result.verdict, profile.gaps) == ("ok", ())
    firing, glazing = profile.measurements
    assert (firing.own_window, firing.last_time) == (None, None)
    assert glazing.rows is not None
    assert glazing.rows.value == 96
