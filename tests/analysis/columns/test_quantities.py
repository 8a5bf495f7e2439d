"""Numbers that somebody measured, and digits that name something."""

from __future__ import annotations

import random

import pytest

from tsaudit.analysis.columns.columns import are_quantities

DRAWN = random.Random(4)


def _some(make: str, count: int = 64) -> list[str]:
    return [make.format(n=DRAWN.randint(1, 9_999_999), d=DRAWN.uniform(-9, 140), v=i) for i in range(count)]


@pytest.mark.parametrize(
    ("name", "values", "distinct"),
    [
        ("temperature", _some("{d:.1f}"), 400),
        ("amount", [f"{DRAWN.uniform(0.5, 2_000):.2f}" for _ in range(64)], 5_000),
        ("price", [f"{DRAWN.uniform(0.1, 120):.8f}" for _ in range(64)], 3_000),
        ("reading", [f"{DRAWN.randint(1, 999_999):06}.{DRAWN.randint(0, 999):03}" for _ in range(30)] + ["12.5"], 900),
        ("betrag", [f"{DRAWN.randint(1, 900)},{DRAWN.randint(10, 99)}" for _ in range(64)], 700),
        ("bytes_sent", [str(DRAWN.randint(100, 2_000_000)) for _ in range(64)], 9_000),
        ("in_octets", [str(DRAWN.randint(10**8, 10**10)) for _ in range(64)], 10_000),
        ("power", [str(DRAWN.randint(0, 5_000)) for _ in range(64)], 489),
    ],
)
def test_measured(name: str, values: list[str], distinct: int) -> None:
    assert are_quantities(name, values, distinct)


@pytest.mark.parametrize(
    ("name", "values", "distinct"),
    [
        ("contact", [f"+49{DRAWN.randint(10**8, 10**11)}" for _ in range(64)], 2_000),
        ("mobile", [str(DRAWN.randint(10**8, 10**11)) for _ in range(64)], 2_000),
        ("parcel", [str(DRAWN.randint(10**24, 10**25 - 1)) for _ in range(64)], 2_000),
        ("os_release", ["1.0", "1.1", "1.10", "2.0", "10.4"], 5),
        ("build", [f"{v}.0" for v in range(1, 19)], 18),
        ("DATASTREAM_ID", [str(DRAWN.randint(1, 9_999_999)) for _ in range(64)], 3_000),
        ("Device", [str(DRAWN.randint(1, 9_999_999)) for _ in range(64)], 3_000),
        ("postal", [f"{DRAWN.randint(1, 99_999):05}" for _ in range(64)], 3_000),
        ("line", [str(n) for n in range(1, 121)], 120),
        ("order", [str(n) for n in range(99_900, 100_020)], 120),
        ("invoice", [str(DRAWN.randint(1, 9_999_999)) for _ in range(64)], 3_000),
        ("skuOld", [str(DRAWN.randint(1, 9_999_999)) for _ in range(64)], 3_000),
        ("status", ["200", "204", "301", "404", "500"], 5),
        ("year", [str(n) for n in range(1900, 2026)], 126),
        ("note", ["a", "b"], 2),
        ("empty", [], 0),
    ],
)
def test_names(name: str, values: list[str], distinct: int) -> None:
    assert not are_quantities(name, values, distinct)
