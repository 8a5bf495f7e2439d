"""How arrays grow, by the times in their items."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, timedelta
from typing import Any, Final

import bson
import pytest

from tests.builders import NOW
from tests.databases import Collection, Dataset, times, write
from tests.planning.places import Place
from tsaudit.engines.mongodb.documents import DatedArray, ends, growth
from tsaudit.model.finding import Finding, Severity

_DAY: Final = timedelta(days=1)
_ID: Final = bson.ObjectId.from_datetime(NOW)


@pytest.mark.parametrize(
    "item",
    [
        NOW,
        {"at": NOW, "v": 1.5},
        {"user": bson.ObjectId(), "v": 1.5, "seen": NOW},
        [NOW, 1.5],
        {"ts": int(NOW.timestamp())},
        {"timestamp": NOW.timestamp() * 1000},
        {"_id": _ID, "v": 1},
        {"tm": int(NOW.timestamp())},
        {"read_time": NOW.timestamp() * 1000},
        NOW.isoformat(),
        {"text": "2026-03", "when": f"{NOW:%Y-%m-%d %H:%M}"},
        {"v": 1, "source": {"unit": 7, "read": NOW}},
    ],
)
def test_time_of_an_item(item: Any) -> None:
    assert ends([item, 7, item]) == (NOW, NOW)


def test_items_that_are_added_at_the_start() -> None:
    assert ends([{"at": NOW}, {"at": NOW - _DAY}]) == (NOW - _DAY, NOW)


@pytest.mark.parametrize(
    "item", [7, 1_774_000_000, "2026", "2026-03-31 99:00", {"v": 1_774_000_000}, {"user": _ID}, _ID, [], [[NOW]], {}]
)
def test_item_without_a_time(item: Any) -> None:
    assert ends([item]) == (None, None)
    assert ends([]) == (None, None)


def _array(days: float, ended: float = 0, items: int = 1_000, created: float | None = None) -> DatedArray:
    """One with items of so many days, the last of them so many days ago. `created`: days before its first item."""
    first = NOW - _DAY * (days + ended)
    began = None if created is None else first - _DAY * created
    return DatedArray(1_000_000, 900_000, items, first, NOW - _DAY * ended, began)


def test_rate_of_the_array_that_will_be_the_largest() -> None:
    found = growth([_array(10), _array(3, items=900), _array(5, items=800)], NOW)
    assert found is not None
    assert (found.bytes_per_day, found.items_per_day) == pytest.approx((300_000, 300))
    assert (found.document_bytes, found.days) == (1_000_000, pytest.approx(3))


@pytest.mark.parametrize(
    "arrays",
    [
        [],
        [_array(0.01)],
        # One day after the other: the documents of a period.
        [_array(1, ended=days, items=1000 + days) for days in range(9)],
        # As long as each other: the oldest items are removed.
        [_array(3), _array(3)],
        [_array(3, created=100), _array(3, created=90)],
        # What is planned.
        [_array(3, ended=-20)],
        [_array(3, ended=2)],
    ],
)
def test_no_rate_when_none_grows_without_bound(arrays: list[DatedArray]) -> None:
    assert growth(arrays, NOW) is None


def test_arrays_that_ended_early_show_no_period() -> None:
    """Most machines were taken away within days; one has been logging for a month."""
    taken_away = [_array(days, ended=9, items=days) for days in (1, 2, 3, 5)]
    found = growth([_array(30), *taken_away], NOW)
    assert found is not None
    assert found.days == pytest.approx(30)
    assert growth([_array(30), *taken_away, _array(16, ended=9)], NOW) is None


def test_rate_when_arrays_are_as_long_as_their_documents_are_old() -> None:
    found = growth([_array(3, created=0), _array(3, created=0)], NOW)
    assert found is not None
    assert replace(found, days=3.0) == replace(found, days=round(found.days, 6))


def _cranes(points_a_day: int, *, days: int = 3) -> Dataset:
    """Cranes, whose positions are appended to their documents."""
    step = _DAY / points_a_day
    cranes = [
        {
            "_id": bson.ObjectId.from_datetime((NOW - _DAY * days).astimezone(UTC)),
            "yard": f"y{number % 3}",
            "path": [
                {"t": at, "x": number + n / 9, "y": n / 7, "load": n % 900 / 10, "speed": n % 40 / 10}
                for n, at in enumerate(times(days * points_a_day, step))
            ],
        }
        for number in range(6)
    ]
    cranes = [crane | {"_id": bson.ObjectId(f"{str(crane['_id'])[:8]}{n:016x}")} for n, crane in enumerate(cranes)]
    return Dataset(collections=[Collection("cranes", cranes)])


def _found(mongodb: str, dataset: Dataset) -> Finding:
    _, result = Place(write(dataset, "mongodb", mongodb)).audited()
    (finding,) = (found for rule, found in result.findings() if rule.code == "DOC005")
    return finding


@pytest.mark.costly
@pytest.mark.parametrize(("points_a_day", "expected"), [(4_320, Severity.WARNING), (720, Severity.NOTE)])
def test_days_to_the_limit_on_the_first_audit(mongodb: str, points_a_day: int, expected: Severity) -> None:
    """66 bytes a point: 16 MiB in two months, or in a year."""
    finding = _found(mongodb, _cranes(points_a_day))
    assert finding.severity is expected
    assert finding.impact is not None
    assert finding.impact.days_left is not None
    assert finding.impact.days_left == pytest.approx(16 * 1024 * 1024 / finding.impact.per_day - 3, rel=0.01)
    assert f"{points_a_day:,} more a day" in finding.message
