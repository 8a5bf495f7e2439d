"""Which shards should have been deleted, by the server's lists."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from tsaudit.engines.influxdb1.answers import Shard, shards


def _series(name: str, columns: list[str], *values: list[Any], **tags: str) -> dict[str, Any]:
    return {"name": name, "tags": tags, "columns": columns, "values": list(values)}


def _stats(number: int, policy: str) -> dict[str, Any]:
    tags = {"database": "plant", "retentionPolicy": policy, "id": str(number)}
    return _series("shard", ["diskBytes", "seriesCreate"], [100 * number, 7], **tags)


def _answer(interval: str | None = "30m0s") -> list[dict[str, Any]]:
    """Shards of a policy of two days, and one of a policy that keeps everything; now it is the tenth, noon."""
    listed = _series(
        "plant",
        ["id", "end_time", "expiry_time"],
        [1, "2026-05-02T00:00:00Z", "2026-05-04T00:00:00Z"],
        [2, "2026-05-06T00:00:00Z", "2026-05-08T00:00:00Z"],
        [3, "2026-05-08T00:00:00Z", "2026-05-10T00:00:00Z"],
        [4, "2026-05-02T00:00:00Z", "2026-05-02T00:00:00Z"],
    )
    clock = _series("system", ["currentTime"], ["2026-05-10T12:00:00.123456789Z"])
    settings = [["enabled"], [False]] if interval is None else [["check-interval", "enabled"], [interval, True]]
    stats = [_stats(number, "short") for number in (1, 2, 3)] + [_stats(4, "forever")]
    return [*stats, listed, clock, _series("config-retention", *settings)]


@pytest.mark.parametrize(
    ("interval", "expired"), [(None, [1, 2]), ("30m0s", [1, 2]), ("24h0m0s", [1]), ("72h0m0s", [])]
)
def test_shards_that_are_there_a_day_and_several_checks_after_their_retention(
    interval: str | None, expired: list[int]
) -> None:
    found, knows_expiry = shards(_answer(interval))
    assert knows_expiry
    passed = {1: datetime(2026, 5, 4, tzinfo=UTC), 2: datetime(2026, 5, 8, tzinfo=UTC)}
    short = [Shard("plant", "short", 100 * n, 7, passed[n] if n in expired else None) for n in (1, 2, 3)]
    assert found == [*short, Shard("plant", "forever", 400, 7, None)]


def test_what_the_server_records_of_itself_does_not_show_it() -> None:
    assert shards([_stats(1, "short")]) == ([Shard("plant", "short", 100, 7, None)], False)
