"""The rows of many series, of which few may have most: those of an even sample do not show them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from tests.builders import DAY, NOW
from tests.databases import Dataset, Row, Table, write
from tests.servers import Influxd
from tsaudit.collect import collect
from tsaudit.collect.series import SERIES_KEPT
from tsaudit.config.settings import Target
from tsaudit.engines.influx import row_slice
from tsaudit.engines.opening import open_connection
from tsaudit.model.columns import SeriesSince
from tsaudit.model.figures import Count, How

SHAPES = {
    "even": [10] * 1_500,
    "one of 1,200 has 90%": [21_600, *[2] * 1_199],
    "zipf": [3_000 // rank + 1 for rank in range(1, 1_501)],
    "a tenth has nine tenths": [*[90] * 120, *[1] * 1_080],
}
"""The number of rows of each series."""


def written(counts: list[int], influxd: Influxd) -> Target:
    """A database of series with so many rows each, over a day."""
    random = np.random.default_rng(3)
    rows = [
        Row(NOW - timedelta(milliseconds=1_000 + int(at)), {"room": f"r{n % 7}", "id": f"{n * 7919:08x}"}, {"v": 1.0})
        for n, count in enumerate(counts)
        for at in random.choice(86_000_000, count, replace=False)
    ]
    return write(Dataset([Table("t", ("room", "id"), {"v": "float"}, rows)]), "influxdb1", influxd.url)


def rows_of(target: Target) -> Count:
    """The number of rows that an audit gives."""
    with open_connection(target) as connection:
        found = collect(target, connection, day=DAY, now=NOW).measurements[0].rows
    assert found is not None
    return found


@pytest.mark.costly
@pytest.mark.parametrize("shape", SHAPES)
def test_estimated_rows_are_about_right(influxd: Influxd, shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    target, truth = written(SHAPES[shape], influxd), sum(SHAPES[shape])
    found = rows_of(target)
    assert found.source.how is How.ESTIMATE
    assert found.standard_error is not None
    assert 0.5 < found.value / truth < 2, found
    assert abs(found.value - truth) <= 4 * found.standard_error, found
    # More series than a slice may have, so that nothing shows the others.
    monkeypatch.setattr(row_slice, "MOST_SERIES", 500)
    unseen = rows_of(target)
    assert unseen.is_lower_bound, unseen
    assert unseen.value <= truth, unseen


def test_rows_of_all_series_in_one_slice_are_counted(influxd: Influxd) -> None:
    found = rows_of(written([3] * 1_200, influxd))
    assert (found.value, found.source.how) == (3_600, How.EXACT)


def test_series_of_a_sample_are_dated_by_their_first_rows(influxd: Influxd) -> None:
    """300 that stay, and 300 each day that report for an hour, for the last four days; a third is silent for long."""
    hour = timedelta(hours=1)
    rows = [Row(NOW - n // 300 * 24 * hour - hour, {"id": f"s{n % 300}"}, {"v": 1.0}) for n in range(6_000)]
    rows += [
        Row(NOW - day * 24 * hour - (1 + n % 22) * hour, {"id": f"d{day}-{n}"}, {"v": 1.0})
        for day in range(4)
        for n in range(300)
    ]
    rows += [Row(NOW - timedelta(days=50), {"id": f"old{n}"}, {"v": 1.0}) for n in range(750)]
    target = write(Dataset([Table("t", ("id",), {"v": "float"}, rows)]), "influxdb1", influxd.url)
    with open_connection(target) as connection:
        (found,) = collect(target, connection, day=DAY, now=NOW).measurements
    days = {(DAY - one.day).days: one.series for one in found.first_rows}
    assert sum(days.values()) == SERIES_KEPT
    # Of 2,250 series. Those that stay are as old as the oldest rows, 19 days.
    assert abs(days[30] - 64 / 3) < 12
    assert all(abs(days[day] - 64 * 300 / 2_250) < 9 for day in (19, 3, 2, 1, 0)), days
    assert set(days) == {30, 19, 3, 2, 1, 0}


def test_level_before_that_one_sample_has_shown_is_kept(influxd: Influxd) -> None:
    """Of few old series among many new ones, the next sample may have none."""
    target = written([1] * 1_200, influxd)
    with open_connection(target) as connection:
        profile = collect(target, connection, day=DAY, now=NOW)
        (found,) = profile.measurements
        ago = {days: SeriesSince(DAY - timedelta(days=days), 1) for days in (20, 40, 0)}
        assert found.first_rows == (SeriesSince(DAY, SERIES_KEPT),)
        before = replace(found, first_rows=(ago[40], ago[20], ago[0]))
        yesterday = replace(profile, day=DAY - timedelta(days=1), measurements=(before,))
        (again,) = collect(target, connection, day=DAY, now=NOW, previous=yesterday).measurements
    assert again.first_rows == (ago[20], *found.first_rows)
