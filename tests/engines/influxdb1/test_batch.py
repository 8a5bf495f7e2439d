"""What one statement returns about several measurements of InfluxDB 1.x is what a statement about each returns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.builders import NOW
from tests.collecting import apart, collected, figures, statements
from tests.databases import influxql, write_lines
from tests.examples import examples
from tests.servers import Influxd, run_influxd
from tsaudit.config.settings import Budget, Target
from tsaudit.engines.influxdb1.connector import Client
from tsaudit.model.figures import utc_now

pytestmark = pytest.mark.full

_NEWEST = round(NOW.timestamp()) - 600
SMALL = [f"m{i:03},host=h{j} v={i}.5,w={j}i" for i in range(250) for j in range(3)]
ODD = [
    r"a\,b,host=x v=1",
    r"sp\ ace,host=x v=1",
    "eq=x,host=x v=1",
    "back\\\\,host=x v=1",
    "same,host=x host=1,v=2",
    'word,host=x v="text"',
    "whole,host=x v=1i",
    "yes,host=x v=true",
    "none v=1",
    "wide,host=x,dc=y " + ",".join(f"f{i}={i}" for i in range(60)),
    *(f"many,host=h{i} v=1" for i in range(1200)),
]
BLURRED = [
    *(f"b\\\\,c={c} v=1" for c in (1, 1, 2)),
    r"b\,c\=1 v=1",
    r"b\,c\=2,d=3 v=1",
    r"b\,c,d=1 v=1",
    *(f"x\\\\\\,y,host={host} v=1" for host in "ab"),
    r"x\y,host=a v=1",
    "plain,host=a v=1",
    "plainer,host=a v=1",
]
FULL = [f"full{i},host=h{j % 2} v={j}" for i in range(3) for j in range(140)]
LAYOUTS: Mapping[str, Mapping[str, Iterable[str]]] = {
    "small": {"": SMALL},
    "odd": {"": ODD},
    "names that run into tags": {"": BLURRED},
    "more rows than are read": {"": FULL},
    "two policies": {"": SMALL[:30], "year": [*SMALL[15:60], "only,host=y v=1"]},
}


@pytest.fixture(scope="module", params=["tsi1", "inmem"])
def url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    for running in run_influxd(tmp_path_factory.mktemp("together"), index=request.param):
        yield running.url


def written(
    url: str, layout: Mapping[str, Iterable[str]], database: str, newest: datetime = NOW, **budget: Any
) -> Target:
    """The layout in a database, a point every millisecond up to ten minutes before `newest`."""
    last = round(newest.timestamp()) - 600
    influxql(url, f'CREATE DATABASE "{database}"')
    for policy, lines in layout.items():
        if policy:
            influxql(url, f'CREATE RETENTION POLICY "{policy}" ON "{database}" DURATION INF REPLICATION 1')
        write_lines(url, database, (f"{x} {last * 10**9 - i * 10**6}" for i, x in enumerate(lines)), policy=policy)
    return Target(name="t", engine="influxdb1", url=url, databases=(database,), budget=Budget(**budget))


ABOUT_EACH = ("series_listing", "row_sample", "row_count")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_profile_is_the_same_as_with_a_statement_for_each(
    url: str, layout: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = written(url, LAYOUTS[layout], layout, max_rows=100, concurrency=2)
    together, alone = collected(target), apart(target, monkeypatch)
    assert figures(together) == figures(alone)
    assert statements(together, *ABOUT_EACH) < statements(alone, *ABOUT_EACH)


def test_statements_do_not_grow_with_the_number_of_small_measurements(influxd: Influxd) -> None:
    profile = collected(written(influxd.url, {"": SMALL}, "few_statements"))
    assert statements(profile, "series_listing") == 1
    assert statements(profile, "row_sample") == 3
    # One of them asks for the heap profile.
    assert sum(cost.statements for cost in profile.costs) <= 16
    assert all(m.series is not None and m.series.value == 3 for m in profile.measurements)


def test_what_is_suspicious_is_asked_alone(influxd: Influxd) -> None:
    big = [f"big,host=h{i} v=1" for i in range(1500)]
    profile = collected(written(influxd.url, {"": [*SMALL[:60], *big]}, "one_big"))
    rows = {m.name: m.statements["row_sample"] for m in profile.measurements}
    assert "::tag = " in rows["big"]
    assert statements(profile, "row_sample") == 2
    assert statements(profile, "series_listing") == 1


def test_database_with_too_many_series_is_listed_by_measurement(influxd: Influxd) -> None:
    profile = collected(written(influxd.url, {"": SMALL[:30]}, "too_many", max_series=29))
    assert statements(profile, "series_listing") == 10


def test_few_of_many_are_listed_alone(influxd: Influxd) -> None:
    """Nobody knows how many series the excluded ones have."""
    crowd = [f"crowd,host=h{j} v=1" for j in range(4000)]
    target = written(influxd.url, {"": [*SMALL[:9], *crowd]}, "few_of_many")
    profile = collected(target.model_copy(update={"include": ("m*",)}))
    assert [cost.rows for cost in profile.costs if cost.fact == "series_listing"] == [9]
    assert statements(profile, "series_listing") == 3
    assert statements(collected(target), "series_listing") == 1


def test_few_that_changed_are_listed_alone(influxd: Influxd) -> None:
    """The others have more series than a statement is worth."""
    crowd = [f"crowd{i},host=h{j} v=1" for i in range(2) for j in range(1500)]
    now = utc_now()
    target = written(influxd.url, {"": [*SMALL[:6], *crowd]}, "two_changed", newest=now)
    first = collected(target, now=now)
    changed = (f"{name},host=h0 added=1 {round(now.timestamp())}000000000" for name in ("m000", "m001"))
    write_lines(influxd.url, "two_changed", changed)
    second = collected(target, previous=first, now=now)
    assert second.reused == 2
    assert statements(second, "series_listing") == 2


def test_failure_of_a_statement_about_several_is_no_gap(influxd: Influxd, monkeypatch: pytest.MonkeyPatch) -> None:
    target = written(influxd.url, {"": SMALL[:30]}, "broken_once")
    series = Client.series

    def breaks(self: Client, statement: str, *more: Any, **named: Any) -> Any:
        is_of_rows = "::field" in statement and statement.count('"m0') > 1
        if statement == 'SHOW SERIES ON "broken_once"' or is_of_rows:
            raise OSError("the connection broke")
        return series(self, statement, *more, **named)

    whole = collected(target)
    monkeypatch.setattr(Client, "series", breaks)
    broken = collected(target)
    assert not broken.gaps
    assert figures(broken) == figures(whole)


def test_no_statement_reads_rows_of_several_measurements(influxd: Influxd, monkeypatch: pytest.MonkeyPatch) -> None:
    """Canceled at the wrong moment, it would take the server down."""
    # Enough points for what is left of them to be counted, and one written in a wrong unit.
    lines = [f"m{i},host=h{j % 3} v={j}" for i in range(3) for j in range(600)]
    target = written(influxd.url, {"": lines, "year": SMALL[:30]}, "one_at_a_time")
    write_lines(influxd.url, "one_at_a_time", iter([f"m0,host=h0 v=1 {round(NOW.timestamp()) * 1000}"]))
    series, sent = Client.series, list[str]()

    def notes(self: Client, statement: str, *more: Any, **named: Any) -> Any:
        sent.extend(statement.split(";\n"))
        return series(self, statement, *more, **named)

    monkeypatch.setattr(Client, "series", notes)
    assert not collected(target).gaps
    selects = [one for one in sent if "SELECT" in one and "_internal" not in one]
    assert {"31536000s", "count(*::field)", "LIMIT"} <= {word for one in selects for word in one.split()}
    assert all(re.fullmatch(r'"one_at_a_time"\.("\w+")?\."m\w+"', _sources(one)) for one in selects)


def _sources(select: str) -> str:
    return " ".join(select.partition("FROM")[2].partition("WHERE")[0].split())


NAMES = st.sampled_from(["a", "a,b", "a b", "a=b", "b\\", "b,c=1", "ü", '"q"', "x\\y"])
KINDS = st.sampled_from(["1", "1i", "true", '"t"'])
POINTS = st.tuples(
    NAMES, st.dictionaries(NAMES, NAMES, max_size=2), st.dictionaries(NAMES, KINDS, min_size=1, max_size=3)
)


def line(point: tuple[str, dict[str, str], dict[str, str]]) -> str:
    def escaped(text: str, characters: str) -> str:
        return "".join("\\" + c if c in characters else c for c in text)

    name, tags, fields = point
    head = ",".join(
        [escaped(name, ", "), *(f"{escaped(k, ',= ')}={escaped(v, ',= ')}" for k, v in sorted(tags.items()))]
    )
    return f"{head} " + ",".join(f"{escaped(k, ',= ')}={v}" for k, v in fields.items())


@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(points=st.lists(POINTS, min_size=2, max_size=12), number=st.uuids())
def test_any_names_and_types(
    points: list[Any], number: object, own_influxd: Influxd, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = f"any_{number}"
    influxql(own_influxd.url, f'CREATE DATABASE "{database}"')
    for i, point in enumerate(points):
        try:
            write_lines(own_influxd.url, database, iter([f"{line(point)} {_NEWEST * 10**9 - i * 10**6}"]))
        except AssertionError:
            continue  # The server refuses a field of another type.
    target = Target(name="t", engine="influxdb1", url=own_influxd.url, databases=(database,))
    assert figures(collected(target)) == figures(apart(target, monkeypatch))
    influxql(own_influxd.url, f'DROP DATABASE "{database}"')
