"""Rows read, and what is said of their times."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

from tests.builders import a_source
from tsaudit.collect.row_times import repeats, time_lag
from tsaudit.model.profile import TimeLag

START = datetime(2026, 3, 1, tzinfo=UTC)
MINUTES = pa.chunked_array([[START + timedelta(minutes=i) for i in (0, 0, 0, 1, 1)]])


def _texts(*values: str | None) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(values, pa.string())])


def test_repeats_when_rows_differ_in_nothing_or_in_a_field() -> None:
    tags = {"host": _texts("a", "a", "a", "a", None)}
    fields = {"line": _texts("x", "x", "y", "x", "x")}
    found = repeats(tags, fields, MINUTES, a_source())
    assert (found.rows, found.repeated, found.identical) == (5, 2, 1)


def test_repeats_when_there_is_no_tag_and_a_time_is_missing() -> None:
    times = pa.chunked_array([pa.array([START, START, None, None], pa.timestamp("us", "UTC"))])
    found = repeats({}, {"line": _texts("x", "y", "x", "x")}, times, a_source())
    assert (found.rows, found.repeated, found.identical) == (2, 1, 0)


def test_lag_when_events_come_late() -> None:
    arrived = pa.chunked_array([[START + timedelta(seconds=i) for i in range(11)]])
    happened = pa.chunked_array(
        [pa.array([START + timedelta(seconds=0 if i else 1) for i in range(10)] + [None], pa.timestamp("ns", "UTC"))]
    )
    assert time_lag(happened, arrived) == TimeLag(10, 0.9, 4.5, pytest.approx(7.3))
    assert time_lag(arrived, happened).median_s == -4.5  # type: ignore[union-attr]


def test_no_lag_when_it_holds_no_times() -> None:
    nothing = pa.chunked_array([pa.array([None] * 5, pa.timestamp("us"))])
    assert time_lag(_texts("x", "x", "y", "x", "x"), MINUTES) is None
    assert time_lag(nothing, MINUTES) is None
    assert time_lag(MINUTES, pa.chunked_array([[1, 2, 3, 4, 5]])) is None
