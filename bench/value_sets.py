"""What the values of a tag over time cost: bytes per value, and values per second to hash and to merge.

To hold: a set written whole takes at most 5 bytes for each value it has ever seen, with 1,000 as with 1,000,000 values,
after its first day and after four weeks in which 5 % of the values were new each day.
"""

from __future__ import annotations

import random
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
    worst = max(worst, *(churning(size) for size in SIZES[:2]))
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


def churning(size: int) -> float:
    """Bytes a value after four weeks in which each value had a chance of 5 % a day to give way to a new one."""
    draw, live, made = random.Random(0), list(range(size)), size
    before = ValueSet.empty().observe((f"host-{i}" for i in live), FIRST)
    for number in range(1, DAYS):
        live = [i for i in live if draw.random() >= CHURN]
        new = size - len(live)
        live += range(made, made + new)
        made += new
        values = before.observe((f"host-{i}" for i in live), FIRST + timedelta(days=number))
        before, delta = values, len(values.delta_since(before))
    base = len(values.to_bytes()) / made
    print(
        f"{size:>9,} values, {CHURN:.0%} new a day for {DAYS} days: base {base:.2f} bytes for each of {made:,} values "
        f"ever seen, last day's delta {delta / new:.2f} bytes a new value"
    )
    return base


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
