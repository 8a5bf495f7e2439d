"""What the values of a tag over time cost: bytes per value, and values per second to hash and to merge.

To hold: a set written whole takes at most 5 bytes for each value it has ever seen, with 1,000 as with 1,000,000 values,
after its first day and after four weeks in which 5% of the values were new each day. And the history takes at most 6
for each value of a tag of a million that keeps its values for two weeks, all of the database included. In a year of
200,000 values of which 5% are new each day, the number of new ones is within 3% on every day, and a day's set is read
and written in at most a second of processor time.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import date, timedelta
from statistics import median
from typing import TypeVar

import numpy as np
from sqlalchemy import text

from tsaudit.analysis.values import stored_value_sets as stored
from tsaudit.analysis.values.hashes import HASH_BITS, hash_values
from tsaudit.analysis.values.value_sets import ValueSet
from tsaudit.history.removal import compact, is_due
from tsaudit.history.store import Store
from tsaudit.history.value_sets import RememberedValues
from tsaudit.model.figures import Subject, utc_now
from tsaudit.model.finding import AuditResult
from tsaudit.model.version import VERSION

SIZES = (1_000, 100_000, 1_000_000)
MOST_BYTES = 5.0
MOST_HISTORY_BYTES = 6.0
MOST_ERROR = 0.03
MOST_S = 1.0
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
    kept = max(remembered(1, 1_000_000), *(remembered(*shape) for shape in ((1_000, 10), (100, 1_000))))
    print(f"bytes a value in the history of a million: {kept:.2f}, at most {MOST_HISTORY_BYTES:g}")
    error, seconds = year(200_000)
    print(f"worst day of the year: {error:.2%} off, at most {MOST_ERROR:.0%}; {seconds:.2f} s, at most {MOST_S:g}")
    return int(worst > MOST_BYTES or kept > MOST_HISTORY_BYTES or error > MOST_ERROR or seconds > MOST_S)


def one_day(size: int) -> float:
    """Bytes a value; prints them and the speeds."""
    names = [f"host-{i}" for i in range(size)]
    hashing, _ = quickest(lambda: hash_values(names))
    first, values = quickest(lambda: ValueSet.empty().observe(names, FIRST))
    again, later = quickest(lambda: values.observe(names, FIRST + timedelta(days=1)))
    writing, data = quickest(lambda: stored.to_bytes(values))
    reading, _ = quickest(lambda: stored.from_bytes(data))
    unchanged = len(stored.delta(values, later))
    print(
        f"{size:>9,} values: base {len(data) / size:.2f} bytes a value, unchanged day {unchanged} bytes; M values/s: "
        f"hash {size / hashing / 1e6:.2f}, first day {size / first / 1e6:.2f}, next day {size / again / 1e6:.2f}, "
        f"write {size / writing / 1e6:.1f}, read {size / reading / 1e6:.1f}"
    )
    return len(data) / size


def churning(size: int) -> float:
    """Bytes a value after four weeks in which each value had a chance of 5% a day to give way to a new one."""
    draw, live, made = random.Random(0), list(range(size)), size
    before = ValueSet.empty().observe((f"host-{i}" for i in live), FIRST)
    for number in range(1, DAYS):
        live = [i for i in live if draw.random() >= CHURN]
        new = size - len(live)
        live += range(made, made + new)
        made += new
        values = before.observe((f"host-{i}" for i in live), FIRST + timedelta(days=number))
        before, delta = values, len(stored.delta(before, values))
    base = len(stored.to_bytes(values)) / made
    print(
        f"{size:>9,} values, {CHURN:.0%} new a day for {DAYS} days: base {base:.2f} bytes for each of {made:,} values "
        f"ever seen, last day's delta {delta / new:.2f} bytes a new value"
    )
    return base


def remembered(tags: int, size: int) -> float:
    """Bytes a value of the whole history on SQLite after two weeks of a day each; prints them and the seconds of a day.

    0 for less than a million values: there rows and pages, not values, are what takes the room.
    """
    names = [f"host-{i}" for i in range(size)]
    subjects = [Subject("main", f"table-{n // 10}", f"tag-{n}") for n in range(tags)]
    hashes = hash_values(names)
    with tempfile.TemporaryDirectory() as folder, Store.open(f"sqlite:///{folder}/h.db") as store:
        empty, spent = size_of(store), []
        for number in range(14):
            day, began = FIRST + timedelta(days=number), time.perf_counter()
            values = RememberedValues(store, "target", day)
            for subject in subjects:
                values.keep(subject, values.of(subject).observe_hashes(hashes, day))
            merged = time.perf_counter()
            with store.writing("target") as connection:
                values.write(connection)
            spent.append((merged - began, time.perf_counter() - merged))
        taken = size_of(store) - empty
    (first, _), (last, writing) = spent[0], spent[-1]
    per_value = taken / (tags * size)
    print(
        f"{tags:>9,} x {size:,} unchanged values, 14 days: {taken / 1e6:.1f} MB of history, {per_value:.2f} bytes a "
        f"value, {taken / tags / 14:,.0f} a tag and day; seconds to read and merge on day 1: {first:.2f}, "
        f"on day 14: {last:.2f}, to write: {writing:.2f}"
    )
    return per_value if tags * size >= 1_000_000 else 0.0


def year(size: int) -> tuple[float, float]:
    """The worst day of a year with churn: the error of its number of new values, and its seconds of processor time.

    The history is compacted on the days on which an audit would do so. Prints both, and the history's size.
    """
    draw, subject = np.random.default_rng(0), Subject("main", "table", "tag")
    live, spent, waited, errors = draw.integers(0, 1 << HASH_BITS, size, np.uint64), [], [], [0.0]
    with tempfile.TemporaryDirectory() as folder, Store.open(f"sqlite:///{folder}/h.db") as store:
        empty, largest, days = size_of(store), 0, list[date]()
        for number in range(365):
            day = FIRST + timedelta(days=number)
            if number:
                live = live[draw.random(len(live)) >= CHURN]
                new = size - len(live)
                live = np.concatenate([live, draw.integers(0, 1 << HASH_BITS, new, np.uint64)])
            began, at = time.process_time(), time.perf_counter()
            values = RememberedValues(store, "target", day)
            after = values.of(subject).observe_hashes(live, day)
            values.keep(subject, after)
            store.save(None, AuditResult("target", "duckdb", "", day, utc_now(), VERSION, ()), None, values.write)
            spent.append(time.process_time() - began)
            waited.append(time.perf_counter() - at)
            if is_due("target", [*days, day], day):
                compact(store, "target", day)
            days.append(day)
            largest = max(largest, size_of(store) - empty)
            if number:
                errors.append(abs(after.new_on(day).value / new - 1))
    print(
        f"{size:>9,} values, {CHURN:.0%} new a day for a year: new values at most {max(errors):.2%} off; seconds to "
        f"read, merge and write a day: median {median(spent):.2f}, worst {max(spent):.2f} of the processor, "
        f"{max(waited):.2f} by the clock; history at most {largest / 1e6:.1f} MB"
    )
    return max(errors), max(spent)


def size_of(store: Store) -> int:
    """Bytes of the database's pages in use, its log left out."""
    with store.reading() as connection:
        pages, free, page = (
            int(connection.execute(text(f"PRAGMA {name}")).scalar_one())
            for name in ("page_count", "freelist_count", "page_size")
        )
    return (pages - free) * page


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
