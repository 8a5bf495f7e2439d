"""What the values of a tag over time cost: bytes per value, and values per second to hash and to merge.

To hold: a set of 1,000, 100,000 and 1,000,000 values, written whole after its first day, takes at most 5 bytes a value.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from datetime import date, timedelta
from typing import TypeVar

from tsaudit.analysis.value_sets import ValueSet, hash_values

SIZES = (1_000, 100_000, 1_000_000)
MOST_BYTES = 5.0
ROUNDS = 3
DAYS = 28
CHURN = 0.05
FIRST = date(2026, 1, 5)

T = TypeVar("T")


def main() -> int:
    """0 when each base is small enough."""
    worst = max(one_day(size) for size in SIZES)
    for size in SIZES[:2]:
        churning(size)
    print(f"bytes a value of a base: {worst:.2f}, at most {MOST_BYTES:g}")
    return int(worst > MOST_BYTES)


def one_day(size: int) -> float:
    """Bytes a value; prints them and the speeds."""
    names = [f"host-{i}" for i in range(size)]
    hashing, _ = quickest(lambda: hash_values(names))
    first, values = quickest(lambda: ValueSet.empty().observe(names, FIRST))
    again, later = quickest(lambda: values.observe(names, FIRST + timedelta(days=1)))
    writing, data = quickest(values.to_bytes)
    reading, _ = quickest(lambda: ValueSet.from_bytes(data))
    print(
        f"{size:>9,} values: base {len(data) / size:.2f} bytes a value, unchanged day {len(later.delta_since(values))} "
        f"bytes; M values/s: hash {size / hashing / 1e6:.2f}, first day {size / first / 1e6:.2f}, "
        f"next day {size / again / 1e6:.2f}, write {size / writing / 1e6:.1f}, read {size / reading / 1e6:.1f}"
    )
    return len(data) / size


def churning(size: int) -> None:
    """Print what four weeks cost of a tag that replaces 5 % of its values a day."""
    step, before, deltas = round(size * CHURN), ValueSet.empty(), 0
    for number in range(DAYS):
        names = (f"host-{i}" for i in range(number * step, number * step + size))
        values = before.observe(names, FIRST + timedelta(days=number))
        deltas = len(values.delta_since(before))
        before = values
    held = len(before.hashes)
    print(
        f"{size:>9,} values, {CHURN:.0%} new a day for {DAYS} days: base {len(before.to_bytes()) / held:.2f} bytes for "
        f"each of {held:,} values ever seen, last day's delta {deltas / step:.2f} bytes a new value"
    )


def quickest(run: Callable[[], T]) -> tuple[float, T]:
    """Seconds of the quickest round, which whatever else the machine does can only slow down, and what it gave."""
    taken = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        result = run()
        taken.append(time.perf_counter() - began)
    return min(taken), result


if __name__ == "__main__":
    sys.exit(main())
