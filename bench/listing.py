"""How long a listing takes to be understood: parsed, against Python's `split`; counted, at two sizes.

To hold: parsing at least three times as fast as splitting each key in Python. Runs alternate, so that a busy machine
slows both alike.
"""

from __future__ import annotations

import random
import statistics
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime

import pyarrow as pa

from tsaudit.analysis.cardinality.tag_sets import TagSetCounter
from tsaudit.engines.influx.series_keys import parse
from tsaudit.model.figures import How, Source

KEYS = 300_000
RUNS = 5
LIMIT = 3.0
BATCH = 10_000
SIZES = ((100_000, 3), (1_000_000, 8))


def series_keys(count: int) -> list[str]:
    """Keys of eight tags, one of them unique to the series."""
    draw = random.Random(0)
    return [
        f"http_requests,dc=eu-{i % 7},env=prod,host=host-{i % 5000:05d},path=/api/v1/thing{i % 311},rack=r{i % 97},"
        f"region=r{i % 3},trace={draw.getrandbits(64):016x},version=1.{i % 30}"
        for i in range(count)
    ]


def split(keys: list[str]) -> pa.RecordBatch:
    """What most people would write; it knows neither escapes nor a value with a comma."""
    columns: dict[str, list[str | None]] = {}
    for row, key in enumerate(keys):
        for pair in key.split(",")[1:]:
            name, value = pair.split("=", 1)
            if name not in columns:
                columns[name] = [None] * len(keys)
            columns[name][row] = value
    return pa.record_batch({name: pa.array(values) for name, values in columns.items()})


def tag_sets(count: int, tags: int) -> pa.RecordBatch:
    """Hosts in racks in data centres, services of teams, and an id that is different for each."""
    columns: dict[str, Callable[[int], str]] = {
        "id": lambda i: f"{i:036x}",
        "host": lambda i: f"host-{i // 20}",
        "dc": lambda i: f"dc-{i // 80_000}",
        "rack": lambda i: f"rack-{i // 800}",
        "service": lambda i: f"service-{i * 7919 % 60}",
        "team": lambda i: f"team-{i * 7919 % 60 // 5}",
        "version": lambda i: f"v{i * 104729 % 300}",
        "env": lambda i: f"env-{i * 15485863 % 4}",
    }
    return pa.record_batch(
        {name: pa.array([make(i) for i in range(count)]) for name, make in list(columns.items())[:tags]}
    )


def seconds(run: Callable[[], object]) -> float:
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


def count_all(batch: pa.RecordBatch) -> None:
    """Print how long it takes to count the tag sets, and how long to tell what they say."""
    counter = TagSetCounter(batch.schema.names)

    def count() -> None:
        for at in range(0, batch.num_rows, BATCH):
            counter.add(batch.slice(at, BATCH))

    counting = seconds(count)
    numbering = seconds(lambda: counter.series)
    source = Source("bench", How.EXACT, datetime.now(UTC))
    telling = seconds(lambda: counter.tag_sets(source))
    columns = seconds(counter.columns)
    print(
        f"{batch.num_rows} series x {batch.num_columns} tags: add {counting:.2f} s, series {numbering:.2f} s, "
        f"tag_sets {telling:.2f} s, columns {columns:.2f} s"
    )


def main() -> int:
    """0 when parsing is fast enough."""
    keys = series_keys(KEYS)
    array = pa.array(keys)
    pairs = [(seconds(lambda: split(keys)), seconds(lambda: parse(array))) for _ in range(RUNS)]
    ratio = statistics.median(slow / fast for slow, fast in pairs)
    fast = statistics.median(fast for _, fast in pairs)
    print(f"parse: {KEYS / fast / 1e6:.2f} million keys/s, {ratio:.1f} times as fast as split")
    for count, tags in SIZES:
        count_all(tag_sets(count, tags))
    return 0 if ratio >= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
