"""Collecting from InfluxDB 3: any name comes back as it was written, whichever way the statements go."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import NOW
from tests.collecting import collected
from tests.databases import Dataset, Row, Table, times, write
from tests.engines.influxdb3.double import InfluxDB3
from tests.engines.influxdb3.server import RealInfluxDB3, influxdb3_server
from tests.examples import examples
from tsaudit.collect.probing import probe
from tsaudit.engines.opening import open_connection

# Line protocol has no names with a newline, and takes a backslash for itself before a comma, a blank or `=`.
_PARTS = ["a", "é", '"', "'", "\\a", ";", "--", "/*", " ", ",", "=", '"]) |> drop(', "'; --", "{{ x }}", "$1", "?"]
_NAMES = st.lists(st.sampled_from(_PARTS)).map(lambda parts: "n" + "".join(parts))
_TEXTS = st.lists(st.sampled_from([*_PARTS, "\n", "\\"])).map("".join)
_DATABASES = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}", fullmatch=True)


@pytest.fixture(scope="module")
def behind_a_proxy() -> Iterator[InfluxDB3 | RealInfluxDB3]:
    server = influxdb3_server(with_flight=False)
    yield server
    server.stop()


@pytest.fixture(params=["flight", "http"])
def server(request: pytest.FixtureRequest) -> InfluxDB3 | RealInfluxDB3:
    found: InfluxDB3 | RealInfluxDB3 = request.getfixturevalue(
        {"flight": "influxdb3", "http": "behind_a_proxy"}[request.param]
    )
    return found


@pytest.mark.full
@settings(deadline=None, max_examples=examples(25))
@given(measurement=_NAMES, tag=_NAMES, field=_NAMES, value=_NAMES, text=_TEXTS)
def test_whatever_it_is_called_comes_back_as_it_was_written(
    server: InfluxDB3 | RealInfluxDB3, measurement: str, tag: str, field: str, value: str, text: str
) -> None:
    rows = [Row(at, {f"t{tag}": value}, {f"f{field}": 1.5, f"s{field}": text}) for at in times(2)]
    fields = {f"f{field}": "float", f"s{field}": "string"}
    dataset = Dataset([Table(measurement, (f"t{tag}",), fields, rows)], database="hostile")
    target = write(dataset, "influxdb3", server)
    profile = collected(target)
    assert profile.gaps == ()
    (found,) = profile.measurements
    assert (found.name, [t.key for t in found.tags], [f.key for f in found.fields]) == (
        measurement,
        [f"t{tag}"],
        sorted(fields),
    )
    assert found.tags[0].sample == (value,)
    assert {f.key: f.sample for f in found.fields} == {f"f{field}": ("1.5",), f"s{field}": (text,)}
    assert all(f.null_ratio is not None and f.null_ratio.value == 0 for f in found.fields)
    assert (found.rows and found.rows.value, found.series and found.series.value) == (2, 1)
    with open_connection(target) as connection:
        assert probe(target, connection, NOW).profile.gaps == ()


@pytest.mark.full
@settings(deadline=None, max_examples=examples(15))
@given(database=_DATABASES)
def test_retention_of_a_database_of_any_name(influxdb3: InfluxDB3 | RealInfluxDB3, database: str) -> None:
    rows = [Row(times(1)[0], {"a": "x"}, {"v": 1.0})]
    profile = collected(
        write(Dataset([Table("t", ("a",), {"v": "float"}, rows)], database=database), "influxdb3", influxdb3)
    )
    assert profile.gaps == ()
    assert [(d.name, [r.policy for r in d.retention or ()]) for d in profile.databases] == [(database, [database])]


def test_points_of_one_source_and_time_are_one_row(influxdb3: InfluxDB3 | RealInfluxDB3) -> None:
    (at,) = times(1)
    rows = [
        Row(at, {"host": "a"}, {"x": 1.0}),
        Row(at, {"host": "a"}, {"y": 2.0}),
        Row(at, {"host": "a"}, {"x": 3.0}),
    ]
    (t,) = collected(
        write(Dataset([Table("t", ("host",), {"x": "float", "y": "float"}, rows)]), "influxdb3", influxdb3)
    ).measurements
    assert (t.rows and t.rows.value, [f.sample for f in t.fields]) == (1, [("3",), ("2",)])
