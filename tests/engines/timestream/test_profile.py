"""Collecting from Timestream: any name comes back as it was written, and measure names are told apart."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import NOW
from tests.collecting import collected
from tests.databases import Dataset, Row, Table, Value, times, write
from tests.engines.timestream.double import Timestream
from tests.examples import examples
from tsaudit.collect.probing import probe
from tsaudit.engines.opening import open_connection
from tsaudit.model.figures import How
from tsaudit.model.profile import Measurement

_PARTS = ["a", "é", '"', "'", "\\", "\n", ";", "--", "/*", " ", ",", "=", "'; --", "{{ x }}", "$1", "?", "::double"]
_NAMES = st.lists(st.sampled_from(_PARTS), max_size=5).map(lambda parts: "n" + "".join(parts))


@pytest.mark.full
@settings(deadline=None, max_examples=examples(25))
@given(table=_NAMES, tag=_NAMES, field=_NAMES, value=_NAMES, name=_NAMES)
def test_whatever_it_is_called_comes_back_as_it_was_written(
    timestream: Timestream, table: str, tag: str, field: str, value: str, name: str
) -> None:
    rows = [Row(at, {f"t{tag}": value}, {f"f{field}": 1.5, f"s{field}": value}, name) for at in times(2)]
    fields = {f"f{field}": "float", f"s{field}": "string"}
    dataset = Dataset([Table(table, (f"t{tag}",), fields, rows)], database=f"hostile {name}")
    target = write(dataset, "timestream", timestream)
    profile = collected(target)
    assert profile.gaps == ()
    (found,) = profile.measurements
    assert (found.name, [t.key for t in found.tags], [f.key for f in found.fields]) == (
        table,
        [f"t{tag}"],
        sorted(fields),
    )
    assert found.tags[0].sample == (value,)
    assert {f.key: f.sample for f in found.fields} == {f"f{field}": ("1.5",), f"s{field}": (value,)}
    assert found.measure_names is not None
    assert [(n.name, n.dimensions, n.rows) for n in found.measure_names.names] == [(name, (f"t{tag}",), 2)]
    with open_connection(target) as connection:
        assert probe(target, connection, NOW).profile.gaps == ()


def _written(timestream: Timestream, rows: list[Row], **settings: object) -> Measurement:
    fields = dict.fromkeys((key for row in rows for key in row.fields), "float")
    tags = tuple(dict.fromkeys(key for row in rows for key in row.tags))
    (found,) = collected(
        write(Dataset([Table("t", tags, fields, rows)]), "timestream", timestream, **settings)
    ).measurements
    return found


def test_records_of_one_name_source_and_time_are_one_row(timestream: Timestream) -> None:
    (at,) = times(1)
    values: list[dict[str, Value]] = [{"x": 1.0}, {"y": 2.0}, {"x": 3.0}]
    found = _written(
        timestream, [Row(at, {"host": "a"}, v) for v in values] + [Row(at, {"host": "a"}, {"x": 9.0}, "b")]
    )
    assert (found.rows and found.rows.value, [f.sample for f in found.fields]) == (2, [("3", "9"), ("2",)])
    assert found.series is not None
    assert found.series.value == 1


def test_nulls_are_counted_by_measure_name(timestream: Timestream) -> None:
    rows = [
        Row(at, {"host": "a"}, {"cpu": 1.0, "load": None if i % 4 else 2.0}, "metrics")
        for i, at in enumerate(times(40))
    ]
    rows += [Row(at, {"host": "a"}, {"pause": 1.0}, "events") for at in times(10, timedelta(minutes=7))]
    found = _written(timestream, rows)
    assert {f.key: f.null_ratio and f.null_ratio.value for f in found.fields} == {"cpu": 0, "load": 0.75, "pause": 0}
    assert found.measure_names is not None
    assert {n.name: (n.rows, dict(n.filled)) for n in found.measure_names.names} == {
        "metrics": (40, {"host": 40, "cpu": 40, "load": 10}),
        "events": (10, {"host": 10, "pause": 10}),
    }
    assert {n.name: n.row_patterns and n.row_patterns.rows for n in found.measure_names.names} == {
        "metrics": 40,
        "events": 10,
    }


def test_names_without_a_row_in_the_window_are_known_all_the_same(timestream: Timestream) -> None:
    rows = [
        Row(NOW - timedelta(days=40), {"host": "a"}, {"v": 1.0}, "old"),
        Row(times(1)[0], {"host": "a"}, {"v": 1.0}),
    ]
    found = _written(timestream, rows)
    assert found.measure_names is not None
    assert found.measure_names.count.value == 2
    assert [(n.name, n.rows) for n in found.measure_names.names] == [("metrics", 1), ("old", 0)]


def test_more_names_than_a_profile_keeps(timestream: Timestream) -> None:
    rows = [Row(at, {"host": "a"}, {"v": 1.0}, f"n{i:03}") for i, at in enumerate(times(200))]
    rows += [Row(at, {"host": "b"}, {"v": 1.0}, "n150") for at in times(3)]
    found = _written(timestream, rows)
    assert found.measure_names is not None
    assert (found.measure_names.count.value, found.measure_names.count.source.how) == (200, How.EXACT)
    assert len(found.measure_names.names) == 128
    assert (found.measure_names.names[0].name, found.measure_names.names[0].rows) == ("n150", 4)


@pytest.mark.parametrize("max_rows", [100, 400])
def test_rows_are_read_from_the_newest_part_of_the_window(timestream: Timestream, max_rows: int) -> None:
    rows = [Row(at, {"host": f"h{i % 3}"}, {"v": float(i)}) for i, at in enumerate(times(2_000))]
    found = _written(timestream, rows, budget={"max_rows": max_rows})
    assert found.rows is not None
    assert found.row_patterns is not None
    assert (found.rows.value, found.row_patterns.rows) == (2_000, max_rows)
    assert found.row_patterns.source.how is How.SAMPLED
    newest = max(float(text) for text in found.fields[0].sample)
    assert newest == 1_999
    assert min(float(text) for text in found.fields[0].sample) == 2_000 - max_rows
