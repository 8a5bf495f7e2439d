"""When ranges of time end, as PostgreSQL writes their bounds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from tsaudit.analysis.partition_ranges import added_a_day, next_ranges, range_of
from tsaudit.model.storage import Partition

MARCH, APRIL = datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 4, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    "bounds",
    [
        "FOR VALUES FROM ('2026-03-01') TO ('2026-04-01')",
        "FOR VALUES FROM ('2026-03-01 00:00:00') TO ('2026-04-01 00:00:00')",
        "FOR VALUES FROM ('2026-03-01 00:00:00+00') TO ('2026-04-01 00:00:00+00')",
        "FOR VALUES FROM ('2026-03-01', 5) TO ('2026-04-01', MAXVALUE)",
        "FOR VALUES FROM (1772323200) TO (1775001600)",
        "FOR VALUES FROM ('1772323200000') TO ('1775001600000')",
        "FOR VALUES FROM ('1772323200000000000') TO ('1775001600000000000')",
    ],
)
def test_range_of_times(bounds: str) -> None:
    assert range_of(bounds) == (MARCH, APRIL)


@pytest.mark.parametrize(("days_after", "expected"), [(-2, 1.0), (1, 1.0), (2, None)])
def test_partitions_added_a_day(days_after: int, expected: float | None) -> None:
    """By the last range, whatever the older ones are, as long as it has not ended for longer than it is long."""
    bounds = ("('2025-01-01') TO ('2026-01-01')", "('2026-02-28') TO ('2026-03-01')", "(MINVALUE) TO ('2025-01-01')")
    parts = [Partition(f"p{n}", f"FOR VALUES FROM {one}", None, None) for n, one in enumerate(bounds)]
    assert added_a_day(parts, MARCH + timedelta(days=days_after)) == expected
    assert added_a_day([Partition("p", "FOR VALUES IN (1)", None, None)], MARCH) is None


def test_zone_and_open_beginning() -> None:
    zone = timezone(timedelta(hours=2))
    bounds = "FOR VALUES FROM (MINVALUE) TO ('2026-04-01 02:00:00+02')"
    assert range_of(bounds) == (None, datetime(2026, 4, 1, 2, tzinfo=zone))


@pytest.mark.parametrize(
    "bounds",
    [
        "DEFAULT",
        "",
        "FOR VALUES IN ('2026-04-01')",
        "FOR VALUES WITH (modulus 4, remainder 0)",
        "FOR VALUES FROM ('2026-03-01') TO (MAXVALUE)",
        "FOR VALUES FROM ('a') TO ('m')",
        "FOR VALUES FROM (0) TO (1000)",
        "FROM 2026-03-01 00:00:00+00 TO 2026-04-01 00:00:00+00",
    ],
)
def test_what_is_no_range_of_times_or_has_no_end(bounds: str) -> None:
    assert range_of(bounds) is None


def _next(*parts: tuple[str, str, str], count: int = 1) -> list[tuple[str, str]]:
    made = [Partition(name, f"FOR VALUES FROM ({first}) TO ({end})", None, None) for name, first, end in parts]
    return [(one.name, one.bounds.removeprefix("FOR VALUES ")) for one in next_ranges("load", made, count)]


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (
            [("load_2026_11", "'2026-11-01'", "'2026-12-01'")],
            [
                ("load_2026_12", "FROM ('2026-12-01') TO ('2027-01-01')"),
                ("load_2027_01", "FROM ('2027-01-01') TO ('2027-02-01')"),
            ],
        ),
        (
            [("y2025", "'2025-01-01 00:00:00+00'", "'2026-01-01 00:00:00+00'")],
            [
                ("y2026", "FROM ('2026-01-01 00:00:00+00') TO ('2027-01-01 00:00:00+00')"),
                ("y2027", "FROM ('2027-01-01 00:00:00+00') TO ('2028-01-01 00:00:00+00')"),
            ],
        ),
        (
            [("p1", "'2026-03-02 00:00:00'", "'2026-03-09 00:00:00'")],
            [
                ("load_20260309", "FROM ('2026-03-09 00:00:00') TO ('2026-03-16 00:00:00')"),
                ("load_20260316", "FROM ('2026-03-16 00:00:00') TO ('2026-03-23 00:00:00')"),
            ],
        ),
        (
            [("p20260301", "1772323200000", "1772409600000")],
            [
                ("p20260302", "FROM (1772409600000) TO (1772496000000)"),
                ("p20260303", "FROM (1772496000000) TO (1772582400000)"),
            ],
        ),
        (
            [
                ("a", "'2026-03-01 00:00:00'", "'2026-03-01 06:00:00'"),
                ("b", "'2026-03-01 06:00:00'", "'2026-03-01 12:00:00'"),
            ],
            [
                ("load_20260301_1200", "FROM ('2026-03-01 12:00:00') TO ('2026-03-01 18:00:00')"),
                ("load_20260301_1800", "FROM ('2026-03-01 18:00:00') TO ('2026-03-02 00:00:00')"),
            ],
        ),
    ],
    ids=["month", "year", "week", "number", "hours"],
)
def test_ranges_that_follow(parts: list[tuple[str, str, str]], expected: list[tuple[str, str]]) -> None:
    assert _next(*parts, count=2) == expected


@pytest.mark.parametrize(
    "parts",
    [
        [],
        [("a", "MINVALUE", "'2026-03-01'")],
        [("a", "'2026-03-01', 5", "'2026-04-01', 5")],
        # Months of another zone.
        [
            ("a", "'2026-01-31 23:00:00+00'", "'2026-02-28 23:00:00+00'"),
            ("b", "'2026-02-28 23:00:00+00'", "'2026-03-31 22:00:00+00'"),
        ],
        [("b", "'2026-02-28 23:00:00+00'", "'2026-03-31 22:00:00+00'")],
    ],
)
def test_no_range_that_follows_where_its_length_is_not_known(parts: list[tuple[str, str, str]]) -> None:
    assert not _next(*parts)
