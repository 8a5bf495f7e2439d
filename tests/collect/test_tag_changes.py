"""Rows read, and what is said of the tags that change in them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

from tests.builders import a_source
from tsaudit.collect.draft import ReadColumn
from tsaudit.collect.row_figures import tag_changes, turnover

START = datetime(2026, 3, 1, tzinfo=UTC)
TIMES = [START + timedelta(minutes=i // 4) for i in range(80)]


def _column(values: list[object], type_: pa.DataType | None = None) -> ReadColumn:
    return ReadColumn(pa.chunked_array([pa.array(values, type_)]))


def test_sources_when_an_id_determines_what_changes_together() -> None:
    """Colour and model change at once: only the id shows it."""
    machine = [f"m{i % 4}" for i in range(80)]
    late = [i >= 40 for i in range(80)]
    colour = ["red" if x else "blue" for x in late]
    model = ["B" if x else "A" for x in late]
    tags = {"machine": _column(machine), "colour": _column(colour), "model": _column(model)}
    found = tag_changes(tags, _column(TIMES), a_source())
    others, by_id = found["colour"]
    assert (others.by, others.sources, others.changing) == (("machine", "model"), 8, 0)
    assert (by_id.by, by_id.sources, by_id.changing, by_id.changes) == (("machine",), 4, 4, 4)
    assert (by_id.values, by_id.shared, others.shared) == (2, 2, 0)
    assert found["machine"][0].clashes == found["machine"][0].instants == 20


@pytest.mark.parametrize(
    "times",
    [
        _column([*TIMES[:79], None], pa.timestamp("us", "UTC")),
        _column([*(t.isoformat() for t in TIMES[:79]), None]),
        _column([*(round(t.timestamp()) for t in TIMES[:79]), None]),
    ],
    ids=["times", "texts", "seconds"],
)
def test_rows_without_a_time_when_they_are_left_out(times: ReadColumn) -> None:
    (only,) = tag_changes({"machine": _column([f"m{i % 4}" for i in range(80)])}, times, a_source())["machine"]
    assert (only.by, only.sources, only.instants, only.clashes) == ((), 1, 20, 20)


def test_roughness_when_values_are_numbers_or_not() -> None:
    curve = [str(round(20 + i // 4 / 10, 1)) for i in range(80)]
    machine = _column([f"m{i % 4}" for i in range(80)])
    (found,) = tag_changes({"temperature": _column(curve), "machine": machine}, _column(TIMES), a_source())[
        "temperature"
    ]
    assert found.roughness is not None
    assert found.roughness < 0.2
    typed = _column([None if i < 8 else i // 8 for i in range(80)], pa.int64())
    (found,) = tag_changes({"load": typed, "machine": machine}, _column(TIMES), a_source())["load"]
    assert found.roughness is not None
    assert (found.changing, found.changes) == (4, 36)


def test_rows_without_the_tag_of_the_source_are_no_source() -> None:
    """Two berths, of which a ship names itself only while it lies there: none changes its berth."""
    times = [START + timedelta(minutes=i // 2) for i in range(80)]
    berth = ["east" if i % 2 else "west" for i in range(80)]
    # Each is empty in turn, so what reports without a ship is now the one and now the other.
    ship = [None if (i // 20 + i) % 2 else f"ship of {berth[i]}" for i in range(80)]
    tags = {"berth": _column(berth), "ship": _column(ship)}
    (found,) = tag_changes(tags, _column(times), a_source())["berth"]
    assert (found.by, found.sources, found.changing, found.instants) == (("ship",), 2, 0, 40)
    (alone,) = tag_changes({"berth": _column(berth)}, _column(times), a_source())["berth"]
    assert alone.instants == 40


@pytest.mark.parametrize(("absent", "sources"), [(40, 2), (41, 3)])
def test_turnover_of_sources_that_mostly_have_a_name(absent: int, sources: int) -> None:
    """A tag that most rows lack identifies no sources."""
    names = [None if i < absent else f"ship{i % 2}" for i in range(80)]
    order = [names[i * 37 % 80] for i in range(80)]
    times = _column([60_000_000 * i for i in range(80)], pa.int64())
    tags = {"berth": _column(["east"] * 80), "ship": _column(order)}
    found = turnover(tags, times, "berth", ("ship",), a_source())
    assert found is not None
    assert found.sources == sources
