"""Databases that nobody writes to anymore, on a real server: their newest rows are what there is to audit."""

from __future__ import annotations

from dataclasses import replace
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


def test_few_series_that_go_on_among_many_that_have_stopped_are_read(influxd: Influxd) -> None:
    """A writer was fixed, and nobody dropped what it had made: none of a few series chosen from all of them goes on."""
    stopped = [Row(NOW - timedelta(days=50), {"oven": f"job{n}"}, {"celsius": 20.0}) for n in range(1_500)]
    going_on = table("firing", 0, series=3)
    target = write(
        Dataset([replace(going_on, rows=[*stopped, *going_on.rows]), table("glazing", 0)]), "influxdb1", influxd.url
    )
    profile, result = Place(target, now=NOW + HOUR).audited()
    assert profile.gaps == ()
    assert not [one.code for one in result.results if one.verdict == "unknown"]
    (firing,) = (m for m in profile.measurements if m.name == "firing")
    assert firing.rows is not None
    assert firing.rows.is_lower_bound, "those of the last day were read"
    assert firing.rows.value == 3 * 24
    assert firing.last_time == NOW


def test_what_stopped_a_while_ago_with_many_series_says_what_to_do(influxd: Influxd) -> None:
    stopped = [Row(NOW - timedelta(days=50), {"oven": f"job{n}"}, {"celsius": 20.0}) for n in range(1_500)]
    target = write(Dataset([replace(table("firing", 0), rows=stopped), table("glazing", 0)]), "influxdb1", influxd.url)
    profile, _ = Place(target, now=NOW + HOUR).audited()
    (gap,) = [one for one in profile.gaps if one.fact == "row_sample"]
    assert "most have stopped; drop series whose points nobody needs" in gap.detail
