"""Queries that show who writes the values of a tag, run on real databases."""

from __future__ import annotations

import sqlite3
from datetime import timedelta
from pathlib import Path

import duckdb
import pytest

from tests.builders import a_count, a_measurement, a_profile, a_tag
from tests.collecting import collected
from tests.databases import Dataset, Row, Table, times, write
from tests.engines.influxdb3.double import InfluxDB3
from tests.engines.influxdb3.server import RealInfluxDB3
from tests.planning.on_influxdb1 import answers
from tests.servers import Influxd
from tsaudit.config.settings import Target
from tsaudit.engines.rendering import Place
from tsaudit.model.change import Inspect
from tsaudit.model.finding import Severity
from tsaudit.model.profile import Profile, Tag
from tsaudit.model.subject import Subject
from tsaudit.planning.merging import Wanted
from tsaudit.planning.plans import _plan

# `api` writes 60 requests in two zones, `web` writes 20 in one; `version` is the same everywhere.
_ROWS = [
    Row(
        time,
        {
            "request": f"r{number:03}",
            "app": "web" if number % 4 == 0 else "api",
            "zone": "z2" if number % 4 == 3 else "z1",
            "version": "1",
        },
        {"ms": number / 7},
    )
    for number, time in enumerate(times(80))
]
REQUESTS = Table("requests", ("app", "request", "version", "zone"), {"ms": "float"}, _ROWS)


def _text(profile: Profile) -> str:
    (here,) = profile.measurements
    at = Subject(here.database, here.name)
    plan = _plan(profile, at, here, [Wanted(Inspect(at, "new values", "request"), "X", Severity.WARN)])
    (step,) = plan.steps
    return step.text


@pytest.fixture(params=["duckdb", "sqlite"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Target:
    return write(Dataset([REQUESTS]), request.param, tmp_path / "t.db")


def test_the_source_that_writes_most_values_comes_first_in_sql(target: Target) -> None:
    text = _text(collected(target))
    path = str(target.url.get_secret_value()).partition("///")[2]
    with (duckdb if target.engine == "duckdb" else sqlite3).connect(path) as connection:
        rows = connection.execute(text).fetchall()
    # The sources with their counts, and no value, which a report would redact.
    assert sorted(rows) == [("api", "z1", 40), ("api", "z2", 20), ("web", "z1", 20)]
    assert rows[0][2] == 40


def test_only_the_newest_day_is_read_in_sql(tmp_path: Path) -> None:
    earlier = [
        Row(row.time - timedelta(days=9), {**row.tags, "request": f"old-{row.tags['request']}"}, row.fields)
        for row in _ROWS
    ]
    table = Table("requests", REQUESTS.tags, REQUESTS.fields, [*earlier, *_ROWS])
    target = write(Dataset([table]), "duckdb", tmp_path / "t.db").model_copy(update={"window": timedelta(days=9000)})
    text = _text(collected(target))
    with duckdb.connect(str(tmp_path / "t.db")) as connection:
        (counted,) = connection.execute(f"SELECT sum(distinct_values) FROM ({text.rstrip(';')})").fetchall()
    assert counted[0] == 80


def test_the_source_that_writes_most_values_comes_first_in_influxdb_3(influxdb3: InfluxDB3 | RealInfluxDB3) -> None:
    target = write(Dataset([REQUESTS]), "influxdb3", influxdb3)
    text = _text(collected(target))
    assert "'1 day'" in text
    rows = influxdb3.rows(target.databases[0], text.replace("now() - INTERVAL '1 day'", "'1970-01-01'"))
    assert [list(row.values())[2] for row in rows] == [40, 20, 20]


def test_the_series_of_each_source_in_influxql(influxd: Influxd) -> None:
    target = write(Dataset([REQUESTS]), "influxdb1", influxd.url)
    profile = collected(target)
    (answer,) = answers(influxd.url, _text(profile), profile.databases[0].name)
    found = {(s["tags"]["app"], s["tags"]["zone"]): s["values"][0][0] for s in answer["series"]}
    assert found == {("api", "z1"): 40, ("api", "z2"): 20, ("web", "z1"): 20}


def _writers(*tags: Tag) -> tuple[str, ...]:
    here = a_measurement(tags=(a_tag("id", values=200), *tags))
    return Place(a_profile(here), "main", here).writers_of("id")


def test_writers_are_tags_with_far_fewer_values() -> None:
    assert _writers(a_tag("host", values=20), a_tag("zone", values=2)) == ("host", "zone")
    assert _writers(a_tag("twin", values=200), a_tag("host", values=21), a_tag("version", values=1)) == ()
    assert _writers(a_tag("uncounted", values=a_count(2).value, label_of="labels")) == ()
    several = [a_tag(f"t{n}", values=n + 2) for n in range(5)]
    assert _writers(*several) == ("t4", "t3", "t2")
    unknown = a_measurement(tags=(a_tag("id", values=200), a_tag("host", values=2)))
    assert Place(a_profile(unknown), "main", unknown).writers_of("other") == ()
