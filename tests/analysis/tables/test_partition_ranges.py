"""When ranges of time end, as PostgreSQL writes their bounds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from tsaudit.analysis.tables.partition_ranges import range_of

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
