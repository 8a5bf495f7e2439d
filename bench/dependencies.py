"""All dependencies among 16 tags against the best forms in polars and DuckDB, on the same codes and machine.

Each measurement runs in a process of its own, so that its peak of memory is its own; medians are compared. The SQL and
data frame forms get the same help from counting: a tag is only tried against tags of no more values, and one that is
different in each row is not tried at all. To hold at the largest size: under 1.5 GB. Two goals are not reached for sure
yet; they are printed, and fail nothing: ten times as fast as the better of the two (9 to 18 times, by how busy the
machine is), and what each tag contributes in under ten times one search.

`--rows N` measures that size alone.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

sys.path.insert(0, str(Path(__file__).parent.parent))

SIZES = (100_000, 1_000_000, 10_000_000)
FASTER = 10.0
MOST_MB = 1500
CONTRIBUTIONS = 10.0
DEPENDENCIES = 25

Codes = np.ndarray[Any, Any]


def tag_codes(rows: int) -> dict[str, Codes]:
    """Regions of data centres of racks of hosts, services of teams, and more; the id differs in each row."""
    draw = np.random.default_rng(0)

    def follows(base: Codes, values: int) -> Codes:
        return draw.integers(0, values, int(base.max()) + 1)[base]

    host = draw.integers(0, max(rows // 50, 60), rows)
    rack = follows(host, max(rows // 2000, 40))
    datacenter = follows(rack, 30)
    service = draw.integers(0, 60, rows)
    columns = {"region": follows(datacenter, 8), "datacenter": datacenter, "rack": rack, "host": host}
    columns |= {"service": service, "team": follows(service, 12), "uuid": draw.permutation(rows)}
    columns |= {"os": follows(host, 5), "arch": follows(host, 3), "itype": follows(host, 40)}
    free = {"version": 300, "env": 4, "cpu": 64, "path": 500, "method": 5, "status": 12}
    columns |= {name: draw.integers(0, values, rows) for name, values in free.items()}
    return {name: _dense(codes) for name, codes in columns.items()}


def _dense(codes: Codes) -> Codes:
    """The same codes without gaps, in the narrowest type."""
    used = np.bincount(codes) > 0
    return (np.cumsum(used) - 1)[codes].astype(np.min_scalar_type(int(used.sum())))


def by_tsaudit(columns: dict[str, Codes], levels: list[int]) -> Callable[[], int]:
    from tsaudit.analysis import dependencies

    codes = list(columns.values())
    return lambda: int(dependencies.single(codes, levels, len(codes[0])).sum())


def contributions(columns: dict[str, Codes], levels: list[int]) -> Callable[[], int]:
    from tsaudit.analysis.series_table import SeriesTable

    table = SeriesTable(list(columns.values()), levels, len(columns["uuid"]), len(columns["uuid"]))
    found = int(table.determines.sum())

    def run() -> int:
        return len(table.contributions()) and found

    return run


def by_polars(columns: dict[str, Codes], levels: list[int]) -> Callable[[], int]:
    import polars as pl

    frame = pl.DataFrame(columns)
    tried = _tried(list(columns), levels, len(columns["uuid"]))

    def run() -> int:
        found = _unique(levels, len(frame))
        for x, others in tried.items():
            extremes = [pl.col(y).min().alias(f"{y}_min") for y in others] + [pl.col(y).max() for y in others]
            same = (
                frame.lazy().group_by(x).agg(extremes).select((pl.col(f"{y}_min") == pl.col(y)).all() for y in others)
            )
            found += sum(same.rename({f"{y}_min": y for y in others}).collect().row(0))
        return found

    return run


def by_duckdb(columns: dict[str, Codes], levels: list[int]) -> Callable[[], int]:
    import duckdb

    connection = duckdb.connect()
    connection.register("arrow_tags", pa.table(columns))
    connection.execute("CREATE TABLE tags AS FROM arrow_tags")
    tried = _tried(list(columns), levels, len(columns["uuid"]))

    def run() -> int:
        found = _unique(levels, len(columns["uuid"]))
        for x, others in tried.items():
            extremes = ", ".join(f"min({y}) AS {y}_min, max({y}) AS {y}_max" for y in others)
            same = ", ".join(f"bool_and({y}_min = {y}_max)" for y in others)
            row = connection.execute(f"SELECT {same} FROM (SELECT {x}, {extremes} FROM tags GROUP BY {x})").fetchone()
            found += sum(row)
        return found

    return run


def read_codes(columns: dict[str, Codes], _levels: list[int]) -> Callable[[], int]:
    """One read of the memory that holds the codes."""
    words = [codes[: len(codes) // 8 * 8].view(np.uint64) for codes in columns.values()]

    def run() -> int:
        for column in words:
            np.bitwise_xor.reduce(column)
        return DEPENDENCIES

    return run


def _tried(names: list[str], levels: list[int], rows: int) -> dict[str, list[str]]:
    known = dict(zip(names, levels, strict=True))
    tried = {x: [y for y in names if y != x and known[y] <= known[x]] for x in names if known[x] < rows}
    return {x: others for x, others in tried.items() if others}


def _unique(levels: list[int], rows: int) -> int:
    """Dependencies on tags that differ in each row: nothing to be read for them."""
    return sum(len(levels) - 1 for count in levels if count == rows)


FORMS = {
    "tsaudit": by_tsaudit,
    "contributions": contributions,
    "polars": by_polars,
    "duckdb": by_duckdb,
    "one read": read_codes,
}


def measure(form: str, file: Path, rounds: int) -> None:
    """One form in this process: prints its median seconds and its peak in MB, the codes included."""
    with file.open("rb") as opened:
        names, levels = json.loads(opened.readline())
        columns = {name: np.load(opened) for name in names}
    run = FORMS[form](columns, levels)
    seconds = []
    for _ in range(rounds):
        began = time.perf_counter()
        found = run()
        seconds.append(time.perf_counter() - began)
        assert found == DEPENDENCIES, f"{form} found {found} dependencies"
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps([statistics.median(seconds), peak]))


def measured(rows: int) -> dict[str, tuple[float, float]]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "codes"
        # Made in a process of its own too: a child starts with the peak of its parent.
        subprocess.run([sys.executable, __file__, "--make", str(rows), "--file", file], check=True)
        results = {}
        for form in FORMS:
            rounds = 3 if rows > 1_000_000 else 5
            command = [sys.executable, __file__, "--measure", form, "--file", file, "--rounds", str(rounds)]
            results[form] = tuple(json.loads(subprocess.run(command, check=True, capture_output=True).stdout))
    return results


def make(rows: int, file: Path) -> None:
    columns = tag_codes(rows)
    with file.open("wb") as opened:
        opened.write(json.dumps([list(columns), [int(c.max()) + 1 for c in columns.values()]]).encode() + b"\n")
        for codes in columns.values():
            np.save(opened, codes)


def report(rows: int, found: dict[str, tuple[float, float]]) -> list[str]:
    """Prints the figures of one size; returns what is not reached."""
    own, peak = found["tsaudit"]
    print(f"{rows:,} series of 16 tags")
    for form, (seconds, megabytes) in found.items():
        print(f"  {form:<14} {seconds:8.4f} s  {seconds / own:7.2f} x tsaudit  {megabytes:7,.0f} MB at most")
    faster = min(found["polars"][0], found["duckdb"][0]) / own
    share = found["contributions"][0] / own
    print(f"  {faster:.1f}x as fast as the better (goal: {FASTER:g}x); {own / found['one read'][0]:.0f}x one read")
    print(f"  {share:.1f}x one search to tell what each tag contributes (goal: under {CONTRIBUTIONS:g}x)")
    return [f"{peak:,.0f} MB, not under {MOST_MB:,}"] if peak >= MOST_MB else []


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int)
    for hidden, kind in (("--measure", str), ("--file", Path), ("--rounds", int), ("--make", int)):
        parser.add_argument(hidden, type=kind, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.make:
        make(given.make, given.file)
        return 0
    if given.measure:
        measure(given.measure, given.file, given.rounds)
        return 0
    sizes = (given.rows,) if given.rows else SIZES
    seconds = []
    missed: list[str] = []
    for rows in sizes:
        found = measured(rows)
        missed = report(rows, found)
        seconds.append(found["tsaudit"][0])
    for (few, many), (short, long) in zip(pairwise(sizes), pairwise(seconds), strict=True):
        print(f"{many / few:g}x the series take {long / short:.1f}x as long")
    for text in missed if sizes[-1] == SIZES[-1] else []:
        print(f"not reached at {SIZES[-1]:,}: {text}")
    return int(bool(missed) and sizes[-1] == SIZES[-1])


if __name__ == "__main__":
    sys.exit(main())
