"""Memory of taking in a listing: 10 million series of 16 tags one and all, and the same above a ceiling.

Each measurement runs in a process of its own, whose peak is compared with that of the imports alone. To hold: under
4 GB for all of them, tag sets told; and above the ceiling memory that does not grow with what streams by: four times as
many series take at most 1.1 times as much. `--rows N` measures N series instead.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa

ROWS = 10_000_000
BATCH = 10_000
MOST_MB = 4096
FLAT = 1.1
CEILING_SHARE = 0.05
"""Of the series, what is kept in the case above the ceiling."""
FREE = {"service": 60, "version": 300, "env": 4, "cpu": 64, "path": 500, "method": 5, "status": 12, "pool": 20}


def batches(rows: int) -> Iterator[pa.RecordBatch]:
    """Hosts in racks in data centres in regions, with what follows from a host, an id for each series, and more."""
    draw = np.random.default_rng(0)
    free = {name: pa.array([f"{name}-{i}" for i in range(values)]) for name, values in FREE.items()}
    for at in range(0, rows, BATCH):
        number = np.arange(at, min(at + BATCH, rows))
        host = number // 50
        follows = {"host": host, "rack": host // 40, "dc": host // 7000, "region": host // 30_000}
        follows |= {"os": host % 5, "arch": host % 3, "itype": host % 40}
        columns = {name: text(name, codes) for name, codes in follows.items()}
        columns |= {name: values.take(draw.integers(0, len(values), len(number))) for name, values in free.items()}
        columns["uuid"] = pa.array([f"{i * 0x9E3779B97F4A7C15 % 2**64:032x}" for i in number.tolist()])
        yield pa.record_batch(columns)


def text(name: str, codes: np.ndarray) -> pa.Array:
    """`name-code` per row, made once per code."""
    used, places = np.unique(codes, return_inverse=True)
    return pa.array([f"{name}-{code}" for code in used.tolist()]).take(places)


def measured(rows: int, ceiling: int | None) -> dict[str, float]:
    """Peak memory in MB, with and without telling what the listing says, and the series counted."""
    from tsaudit.analysis.cardinality.tag_sets import TagSetCounter
    from tsaudit.model.figures import How, Source

    before = peak_mb()
    began = time.perf_counter()
    counter: TagSetCounter | None = None
    for batch in batches(rows):
        counter = counter or TagSetCounter(batch.schema.names, ceiling=ceiling)
        counter.add(batch)
    assert counter is not None
    series = counter.series
    taken_in, took = peak_mb(), time.perf_counter() - began
    counter.columns()
    counter.tag_sets(Source("bench", How.EXACT, datetime.now(UTC)))
    return {
        "imports": before,
        "taken_in": taken_in,
        "told": peak_mb(),
        "series": series.value,
        "error": series.standard_error or 0.0,
        "kept": counter.sampled or series.value,
        "add_s": took,
        "all_s": time.perf_counter() - began,
    }


def peak_mb() -> float:
    """The most memory this process had so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def apart(rows: int, ceiling: int | None) -> dict[str, float]:
    """`measured` in a process of its own, printed."""
    arguments = [sys.executable, "-m", "bench.listing_memory", "--rows", str(rows), "--case", str(ceiling or 0)]
    found: dict[str, float] = json.loads(subprocess.run(arguments, check=True, capture_output=True).stdout)
    print(
        f"{rows:>11,} series x 16 tags, {'all' if ceiling is None else f'at most {ceiling:,}'} kept: "
        f"{found['taken_in']:,.0f} MB taken in, {found['told']:,.0f} MB with what they tell "
        f"({found['imports']:,.0f} MB before); {found['add_s']:.0f} + {found['all_s'] - found['add_s']:.0f} s; "
        f"counted {found['series']:,.0f} ± {found['error']:,.0f}",
        flush=True,
    )
    return found


def main() -> int:
    """0 when memory stays within what is promised."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--case", type=int)
    chosen = parser.parse_args()
    if chosen.case is not None:
        print(json.dumps(measured(chosen.rows, chosen.case or None)))
        return 0
    whole = apart(chosen.rows, None)
    ceiling = int(chosen.rows * CEILING_SHARE)
    few, many = (apart(rows, ceiling) for rows in (chosen.rows // 4, chosen.rows))
    growth = many["told"] / few["told"]
    off = abs(many["series"] - chosen.rows) / many["error"]
    print(f"above the ceiling: {growth:.2f} times the memory for 4 times the series; off by {off:.1f} standard errors")
    held = whole["told"] <= MOST_MB and growth <= FLAT and whole["series"] == chosen.rows and off < 4
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
