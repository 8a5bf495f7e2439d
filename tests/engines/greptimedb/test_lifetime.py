"""Lengths of time as the option `ttl` has them."""

from __future__ import annotations

import pytest

from tsaudit.engines.greptimedb.catalog import lifetime_s

DAY = 86_400


@pytest.mark.parametrize(
    ("ttl", "seconds"),
    [
        ("7days", 7 * DAY),
        ("1day", DAY),
        ("6h", 21_600),
        ("90m", 5_400),
        ("1M", 2_630_016),
        ("1year 2days", 31_557_600 + 2 * DAY),
        ("1day 2h 3s", DAY + 7_203),
        ("1500ms", 2),
        ("1ns", 1),
        ("instant", 1),
        ("forever", 0),
        ("", 0),
        ("soon", None),
        ("7", None),
        ("7 fortnights", None),
        ("-7days", None),
    ],
)
def test_seconds_when_read(ttl: str, seconds: int | None) -> None:
    assert lifetime_s(ttl) == seconds
