"""Rows read, and what is said of their times."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest

from tests.builders import a_source
from tsaudit.collect.draft import ReadColumn
from tsaudit.collect.row_figures import repeats, reports, rise_per_day, same_tag, stopped_totals, time_lag, turnover
from tsaudit.model.columns import StoppedTotals, TimeLag

START = datetime(2026, 3, 1, tzinfo=UTC)


def _column(values: list[object], kind: pa.DataType | None = None) -> ReadColumn:
    return ReadColumn(pa.chunked_array([pa.array(values, kind)]))


MINUTES = _column([START + timedelta(minutes=i) for i in (0, 0, 0, 1, 1)])


def _texts(*values: str | None) -> ReadColumn:
    return _column(list(values), pa.string())


def test_repeats_when_rows_have_the_same_tags_and_time() -> None:
    tags = {"host": _texts("a", "a", "a", "a", None)}
    found = repeats(tags, MINUTES, a_source())
    assert (found.rows, found.repeated) == (5, 2)


def test_repeats_when_there_is_no_tag_and_a_time_is_missing() -> None:
    times = _column([START, START, None, None], pa.timestamp("us", "UTC"))
    found = repeats({}, times, a_source())
    assert (found.rows, found.repeated) == (2, 1)


def test_lag_when_events_come_late() -> None:
    arrived = _column([START + timedelta(seconds=i) for i in range(11)])
    happened = _column(
        [*(START + timedelta(seconds=0 if i else 1) for i in range(10)), None], pa.timestamp("ns", "UTC")
    )
    assert time_lag(happened, arrived) == TimeLag(10, 0.9, 4.5, pytest.approx(7.3))
    assert time_lag(arrived, happened).median_s == -4.5


def test_no_lag_when_it_holds_no_times() -> None:
    nothing = _column([None] * 5, pa.timestamp("us"))
    assert time_lag(_texts("x", "x", "y", "x", "x"), MINUTES) is None
    assert time_lag(nothing, MINUTES) is None
    assert time_lag(MINUTES, _column([1, 2, 3, 4, 5])) is None


def _rows(of: Callable[[int], str], rows: int, hours: float) -> tuple[ReadColumn, ReadColumn]:
    step = round(hours * 3_600_000_000 / (rows - 1))
    times = [None, *(i * step for i in range(rows))]
    return _texts("lost", *(of(i) for i in range(rows))), _column(times, pa.int64())


@pytest.mark.parametrize(
    ("of", "hours", "per_value", "lasting"),
    [
        (lambda i: f"pod{i // 30}", 24, 30, 1.0),
        # Over in half an hour, however often it was written; written once.
        (lambda i: f"session{i // 6}", 24, 6, 0.0),
        (lambda i: f"request{i}", 24, 1, 0.0),
        # Twice, hours apart.
        (lambda i: f"job{i % 150}", 24, 2, 0.0),
    ],
)
def test_reports_of_a_value(of: Callable[[int], str], hours: float, per_value: float, lasting: float) -> None:
    found = reports(*_rows(of, 300, hours))
    assert found is not None
    assert (found.per_value, found.lasting_ratio) == (per_value, lasting)
    assert found.hours == pytest.approx(hours, rel=0.01)


def test_no_reports_without_rows() -> None:
    nothing = _texts()
    assert reports(nothing, _column([], pa.int64())) is None


@pytest.mark.parametrize(("values", "by", "known"), [(150, None, True), (151, None, False), (151, (), True)])
def test_rows_of_a_few_series_that_are_thinner_than_the_values_show_nothing(
    values: int, by: tuple[str, ...] | None, known: bool
) -> None:
    column, times = _rows(lambda i: f"dst{i % values}", 300, 24)
    assert (turnover({"dst": column}, times, "dst", by, a_source()) is not None) is known


@pytest.mark.parametrize(
    ("numbers", "hours", "expected"),
    [
        ([7 * i for i in range(60)], 48, pytest.approx(7 * 59 / 2)),
        ([7 * i + (10**9 if i > 30 else 0) for i in range(60)], 48, pytest.approx(7 * 59 / 2)),
        ([7 * i + (3 if i % 20 else -30) for i in range(60)], 48, pytest.approx(7 * 59 / 2, rel=0.1)),
        ([7 * i for i in range(60)], 6, pytest.approx(7 * 59 * 4)),
        ([7 * i for i in range(60)], 0.9, None),
        ([i * 17 % 61 for i in range(60)], 48, None),
        ([None] * 60, 48, None),
    ],
    ids=["rising", "set once", "a few late", "some hours", "less than an hour", "in no order", "none"],
)
def test_rise_of_numbers(numbers: list[object], hours: float, expected: float | None) -> None:
    step = round(hours * 3_600_000_000 / 59)
    times = _column([step * i for i in range(60)], pa.int64())
    assert rise_per_day(_column(numbers, pa.int64()), times) == expected


def test_rise_between_rows_far_apart_is_that_of_the_others() -> None:
    """Rows of two pages, three days apart, of a sequence that gives 24 numbers an hour all the time."""
    hours = [*range(20), *range(92, 112)]
    times = _column([hour * 3_600_000_000 for hour in hours], pa.int64())
    assert rise_per_day(_column([24 * hour for hour in hours], pa.int64()), times) == pytest.approx(24 * 24)


def _liters(step: float, rows: int = 60) -> list[float]:
    """A water meter's total as a float of four bytes, read each minute, to which sixty small steps are added."""
    total, found = np.float32(2_047.9), list[float]()
    for _ in range(rows):
        for _ in range(60):
            total += np.float32(step)
        found.append(float(total))
    return found


@pytest.mark.parametrize(
    ("totals", "expected"),
    [
        ([_liters(0.0001), _liters(0.01)], StoppedTotals(1, 1, 2_048.0, 2**-12, 47)),
        # Each event counts as one, up to 2^24.
        ([[*(2.0**24 - n for n in range(30, 0, -1)), *[2.0**24] * 30]], StoppedTotals(1, 0, 2.0**24, 2.0, 30)),
        # Nothing else rises, and nobody knows whether it was used at all.
        ([[2_048.0] * 60], None),
        # Its valve is closed: the next number is near enough.
        ([[2_047.5] * 60, _liters(0.01)], None),
        ([[2_048.0] * 60, [float(n) for n in range(60)]], None),
        # A level, which falls, too.
        ([[2_048.0] * 60, [100 + n % 7 / 7 for n in range(60)]], None),
        # Idle only just now.
        ([[*_liters(0.01, 45), *[4_096.0] * 15], _liters(0.01)], None),
        # Sizes of files, which grow by blocks.
        ([[2.0**30] * 60, [2.0**24 * n for n in range(60)]], None),
    ],
    ids=["stopped", "events", "no other", "idle", "counts", "up and down", "not for long", "sizes"],
)
def test_totals_that_stop_where_floats_are_too_far_apart(
    totals: list[list[float]], expected: StoppedTotals | None
) -> None:
    times = _column([60_000_000 * n for n in range(60)] * len(totals), pa.int64())
    values = _column([value for own in totals for value in own], pa.float32())
    found = stopped_totals(values, times, np.repeat(np.arange(len(totals)), 60))
    assert found == expected


@pytest.mark.parametrize(
    ("field", "tag", "found", "found_by_name"),
    [
        ([6.0, 11.0, None, 6.5], ["6", "11", None, "6.5"], True, True),
        ([6.0, 11.0, None, 6.5], ["6", "11", "11", "6.5"], False, False),
        ([6.0, 11.0, 7.0, 6.5], ["6", "11", None, "6.5"], False, True),
        ([6.0, 11.0, 11.0, 6.5], ["6", "11", None, "6.5"], False, False),
        ([6.0, 11.0, 0.0, 6.0], ["6", "11", None, "6"], True, True),
        (["up", "", "down"], ["up", None, "down"], True, True),
        ([0.0, 1.0, 1.0], ["1", "0", "1"], False, False),
        (["up", "down", "up"], ["up", "down", "up"], True, True),
        ([6.0, None], [None, "6"], False, False),
    ],
    ids=[
        "numbers",
        "only the tag",
        "another value where there is no tag",
        "a value of the tag where there is none",
        "0 for no tag",
        "no text for no tag",
        "other rows",
        "texts",
        "no row with both",
    ],
)
def test_tag_with_the_values_of_a_field(
    field: list[object], tag: list[object], found: bool, found_by_name: bool
) -> None:
    tags = {"other": _column(["x"] * len(tag)), "tag": _column(tag, pa.string())}
    assert same_tag("field", _column(field), tags) == ("tag" if found else "")
    assert same_tag("tag", _column(field), tags) == ("tag" if found_by_name else "")
