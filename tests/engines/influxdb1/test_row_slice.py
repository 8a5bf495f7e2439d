"""How many points would overwrite another one without a tag, from a slice of all series, against counting all."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

import numpy as np
import pytest

from tests.builders import DAY, NOW
from tests.databases import Dataset, Row, Table, write
from tests.servers import Influxd
from tsaudit.collect import collect
from tsaudit.engines.influx import row_slice
from tsaudit.engines.opening import open_connection
from tsaudit.evaluation import evaluate
from tsaudit.model.figures import How
from tsaudit.model.plan import StepKind
from tsaudit.model.profile import Profile
from tsaudit.model.rows import RowsApart


def compared(rows: Sequence[Row], influxd: Influxd, **budget: int) -> tuple[RowsApart, Profile]:
    """What the audit of the points found."""
    tags = tuple(rows[0].tags)
    target = write(Dataset([Table("t", tags, {"v": "float"}, rows)]), "influxdb1", influxd.url, budget=budget)
    with open_connection(target) as connection:
        profile = collect(target, connection, day=DAY, now=NOW)
    apart = profile.measurements[0].rows_apart
    assert apart is not None
    return apart, profile


def truth(rows: Sequence[Row], gone: Collection[str], start: datetime | None = None) -> int:
    """Points that would overwrite another one, of those from the start on."""
    chosen = [row for row in rows if start is None or row.time >= start]
    keys = {(row.time, *(v for k, v in row.tags.items() if k not in gone)) for row in chosen}
    return len({(row.time, *row.tags.values()) for row in chosen}) - len(keys)


def test_series_of_one_point_each(influxd: Influxd) -> None:
    """9,000 series, each a point, within a window that has no more: exactly those that share a second and a host."""
    random = np.random.default_rng(7)
    seconds = random.integers(1, 100_000, 9_000)
    rows = [
        Row(NOW - timedelta(seconds=int(at)), {"host": f"h{n % 3}", "request": f"r{n}"}, {"v": 1.0})
        for n, at in enumerate(seconds)
    ]
    apart, profile = compared(rows, influxd)
    assert truth(rows, ("request",)) == 108
    assert apart.lost(("request",)) == (108, True)
    assert apart.lost(("host",)) == (0, True)
    assert apart.lost(("host", "request")) == (truth(rows, ("host", "request")), True)
    assert (apart.rows, apart.source.how) == (9_000, How.EXACT)
    cost = next(cost for cost in profile.costs if cost.fact == "row_slice")
    assert (cost.statements, cost.rows) == (1, 9_000)


def test_points_with_a_tag_that_is_new_are_compared(influxd: Influxd) -> None:
    """Of a month of points, only those of the last hours have the tag: a sample of its series shows few points, so that
    too long a part would be read, and of that only its oldest points.
    """
    old = [Row(NOW - timedelta(minutes=720 + 5 * n), {"host": f"h{n % 3}"}, {"v": 1.0}) for n in range(6_000)]
    new = [
        Row(NOW - timedelta(seconds=1 + 60 * (n // 2)), {"host": "h0", "request": f"{n * 7919:08x}"}, {"v": 1.0})
        for n in range(1_400)
    ]
    apart, _ = compared([*new, *old], influxd, max_rows=2_000)
    assert apart.rows >= 1_000
    assert not apart.absent
    lost, is_exact = apart.lost(("request",))
    assert is_exact
    assert lost >= 200


def test_plan_says_how_many_points_are_lost(influxd: Influxd) -> None:
    """The loss is counted though rows were sampled by series, and stands beside the setting for the writer."""
    rows = [
        Row(NOW - timedelta(seconds=1 + n // 30), {"host": f"h{n % 5}", "request": f"{n * 7919:08x}"}, {"v": 1.0})
        for n in range(3_000)
    ]
    _, profile = compared(rows, influxd)
    plan = next(plan for plan in evaluate(profile).plans if "TAG002" in plan.rules)
    (gone,) = {name for asked in plan.changes for (aspect, name), to in asked.change.claims().items() if to == "field"}
    assert gone == "request"
    loss = plan.effect.loss
    assert loss is not None
    assert (loss.rows, loss.compared, loss.is_exact) == (truth(rows, ("request",)), 3_000, True)
    writer = next(step for step in plan.steps if step.kind is StepKind.WRITER)
    assert writer.text
    assert not plan.effect.loss_unknown


@pytest.mark.full
def test_slice_of_points_that_keep_coming(influxd: Influxd) -> None:
    """2,000 sources a minute: of the 30,000 points only so many are read as may be."""
    rows = [
        Row(
            NOW - timedelta(minutes=minute, seconds=source % 10 + 1),
            {"rack": f"k{source % 40}", "id": f"i{source}"},
            {"v": 1.0},
        )
        for minute in range(15)
        for source in range(2_000)
    ]
    apart, profile = compared(rows, influxd)
    assert 2_000 <= apart.rows < 10_000
    assert (apart.source.how, apart.whole) == (How.SAMPLED, True)
    lost, is_exact = apart.lost(("id",))
    assert is_exact
    # In each second 200 of the sources report, from four racks.
    assert lost / apart.rows == pytest.approx(1 - 4 / 200)
    assert apart.source.scope.startswith("all 2,000 series, ")
    assert sum(cost.rows for cost in profile.costs if cost.fact == "row_slice") <= 20_000


@pytest.mark.full
def test_more_points_of_one_time_than_may_be_read(influxd: Influxd) -> None:
    rows = [Row(NOW - timedelta(hours=1), {"id": f"i{n}"}, {"v": 1.0}) for n in range(1_500)]
    apart, _ = compared(rows, influxd, max_rows=500)
    assert not apart.whole
    assert apart.lost(("id",)) == (499, False)


def test_more_series_than_a_slice_may_have(influxd: Influxd, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of one rack are read: what it says of the racks is not exact."""
    monkeypatch.setattr(row_slice, "MOST_SERIES", 1_200)
    rows = [
        Row(NOW - timedelta(seconds=n // 8 % 60 + 1), {"rack": f"k{n % 4}", "id": f"i{n}"}, {"v": 1.0})
        for n in range(2_000)
    ]
    apart, _ = compared(rows, influxd)
    assert apart.within == "rack"
    assert "one value of rack" in apart.source.scope
    lost, is_exact = apart.lost(("id",))
    assert is_exact
    # Two sources of a rack report in each second.
    assert 0.8 < lost / apart.rows < 1
    assert apart.lost(("rack",)) == (0, False)


def test_series_that_no_tag_divides(influxd: Influxd, monkeypatch: pytest.MonkeyPatch) -> None:
    """Too many for a slice: the rows of a few series are compared, which proves nothing about the others."""
    monkeypatch.setattr(row_slice, "MOST_SERIES", 1_200)
    rows = [Row(NOW - timedelta(hours=1), {"id": f"i{n}"}, {"v": 1.0}) for n in range(1_500)]
    apart, profile = compared(rows, influxd)
    assert not apart.whole
    assert apart.lost(("id",)) == (apart.rows - 1, False)
    assert not [cost for cost in profile.costs if cost.fact == "row_slice"]


@pytest.mark.parametrize("is_compared", [True, False])
def test_no_tag_is_removed_if_rows_of_all_series_were_not_compared(
    influxd: Influxd, monkeypatch: pytest.MonkeyPatch, *, is_compared: bool
) -> None:
    """Without the tag every second point is lost, but hardly any two of the few series read share a time."""
    monkeypatch.setattr(row_slice, "MOST_SERIES", 10_000 if is_compared else 1_200)
    rows = [Row(NOW - timedelta(seconds=1 + n // 2), {"request": f"{n * 7919:08x}"}, {"v": 1.0}) for n in range(3_000)]
    apart, profile = compared(rows, influxd)
    assert (apart.rows, apart.covers(("request",))) == (3_000 if is_compared else 64, is_compared)
    outcome = evaluate(profile)
    writers = [step for plan in outcome.plans for step in plan.steps if step.kind is StepKind.WRITER]
    assert bool(writers) == is_compared
    finding = next(f for r, f in outcome.findings() if r.code == "TAG002")
    assert ("were not compared" in finding.fix) != is_compared
    if is_compared:
        assert apart.lost(("request",)) == (1_500, True)


def test_rows_of_all_series_tell_until_when_they_are_written(influxd: Influxd) -> None:
    """Of 4,000 orders, the rows of a few are read first, and these may all be older than the newest of all."""
    times = [NOW - timedelta(minutes=7 * n + 1) for n in range(4_000)]
    rows = [
        Row(at, {"shop": f"s{n % 3}", "order": f"{n * 7919 % 4_000:04d}-{n % 7}"}, {"v": 1.0})
        for n, at in enumerate(times)
    ]
    _, profile = compared(rows, influxd)
    (orders,) = profile.measurements
    assert (orders.first_time, orders.last_time) == (min(times), max(times))
    growth = next(f.impact for r, f in evaluate(profile).findings() if r.code == "TAG002")
    assert growth is not None
    # One comes each 7 minutes; those that were there at first came before.
    assert growth.per_day == pytest.approx(24 * 60 / 7, rel=0.1)
