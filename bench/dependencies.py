"""All dependencies among 16 tags against the best forms in polars and DuckDB, on the same data and machine.

To hold at ten million series, or it fails: from codes at least ten times as fast as the better of the two, in under
1.5 GB; what each tag contributes in under ten times one search; and ten times the series take at most twelve times the
work of a processor, which is linear but for memory that is farther away. From texts, numbering them included, eight
times as fast as DuckDB on texts, in under 4.5 GB with the file that is mapped into memory; DuckDB takes 5 to 6 GB,
and minutes on a busy machine. `--texts N` tries another number and holds it to the same. A form of DuckDB that numbers
texts first is faster; it is printed, and nothing is promised.

Each form runs in a process of its own, in turns, so that a busy machine slows all alike; ratios are taken within each
round, and their medians count. tsaudit searches in one thread and counts in two; polars and DuckDB take as many as
there are processors. `--rows N` measures that size alone, and holds it to the same.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path

from bench.dependency_forms.process import Cost, Form

ROOT = Path(__file__).parent.parent
SIZES = (100_000, 1_000_000, 10_000_000)
TEXTS = 10_000_000
ROUNDS = 7
FASTER = 10.0
FASTER_ON_TEXTS = 8.0
MOST_MB = 1500
MOST_MB_ON_TEXTS = 4500
CONTRIBUTIONS = 10.0
LINEAR = 12.0

Costs = Mapping[str, Sequence[Cost]]


def in_turns(names: Sequence[str], file: Path, rounds: int) -> dict[str, list[Cost]]:
    """The costs of each form, round by round; all are loaded before, and warmed up by one run."""
    with ExitStack() as stack:
        forms = [stack.enter_context(Form(name, file)) for name in names]
        turns = [[form.run() for form in forms] for _ in range(rounds + 1)]
    return {name: [turn[at] for turn in turns[1:]] for at, name in enumerate(names)}


def on_texts(file: Path) -> dict[str, list[Cost]]:
    """Runs around each of the others, one process at a time: all of them together need too much memory.

    Each is warmed up by one run, as the forms on codes are.
    """
    costs: dict[str, list[Cost]] = {}
    for name in ("search_texts", "duckdb_texts", "search_texts", "duckdb_enums", "search_texts"):
        with Form(name, file) as form:
            form.run()
            costs.setdefault(name, []).append(form.run())
    return costs


def seconds(costs: Sequence[Cost]) -> float:
    return statistics.median(cost.seconds for cost in costs)


def times(costs: Costs, name: str, other: str) -> float:
    """How many times as long a form takes as another one."""
    return statistics.median(a.seconds / b.seconds for a, b in zip(costs[name], costs[other], strict=True))


def print_costs(costs: Costs, own: str) -> None:
    for name, runs in costs.items():
        processor_s = statistics.median(cost.processor_s for cost in runs)
        print(
            f"  {name:<14} {seconds(runs):9.4f} s  {seconds(runs) / seconds(costs[own]):8.2f} x {own}  "
            f"{processor_s:9.4f} s of processors  {runs[-1].peak_mb:7,.0f} MB at most"
        )


def gate(claim: str, found: float, holds: bool) -> list[str]:
    """Prints a figure that is to hold; returns it where it does not."""
    print(f"  {'holds' if holds else 'MISSED'}: {found:,.1f} {claim}")
    return [] if holds else [f"{found:,.1f} {claim}"]


def report_codes(costs: Costs) -> list[str]:
    """Prints the figures of one size; returns what does not hold."""
    print_costs(costs, "search")
    faster = min(times(costs, "polars", "search"), times(costs, "duckdb", "search"))
    print(f"  {times(costs, 'search', 'one_read'):.0f} times as long as one read of the codes")
    peak = costs["search"][-1].peak_mb
    share = times(costs, "contributions", "search")
    return [
        *gate(f"times as fast as the better form (at least {FASTER:g})", faster, faster >= FASTER),
        *gate(f"MB at most (under {MOST_MB:,})", peak, peak < MOST_MB),
        *gate(f"searches' time for all contributions (under {CONTRIBUTIONS:g})", share, share < CONTRIBUTIONS),
    ]


def report_texts(costs: Costs) -> list[str]:
    """Prints the figures; returns what does not hold."""
    print_costs(costs, "search_texts")
    first, second, third = (cost.seconds for cost in costs["search_texts"])
    numbered = seconds(costs["duckdb_enums"]) / statistics.mean((second, third))
    print(f"  {numbered:.1f} times as fast as DuckDB that numbers all but the id first")
    faster = seconds(costs["duckdb_texts"]) / statistics.mean((first, second))
    peak = max(cost.peak_mb for cost in costs["search_texts"])
    return [
        *gate(f"times as fast as DuckDB on texts (at least {FASTER_ON_TEXTS:g})", faster, faster >= FASTER_ON_TEXTS),
        *gate(f"MB at most (under {MOST_MB_ON_TEXTS:,})", peak, peak < MOST_MB_ON_TEXTS),
    ]


def measured(rows: int) -> tuple[float, list[str]]:
    """What one search takes of a processor, in seconds, and what does not hold."""
    print(f"{rows:,} series of 16 tags, as codes")
    with made("codes", rows) as file:
        costs = in_turns(["search", "contributions", "polars", "duckdb", "one_read"], file, ROUNDS)
    return statistics.median(cost.processor_s for cost in costs["search"]), report_codes(costs)


@contextmanager
def made(kind: str, rows: int) -> Iterator[Path]:
    """A file of the tags, made in a process of its own: a child starts with the peak of its parent."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / kind
        write = f"import pathlib, bench.dependency_forms.data as d; d.write_{kind}({rows}, pathlib.Path({str(file)!r}))"
        subprocess.run([sys.executable, "-c", write], check=True, cwd=ROOT)
        yield file


def main() -> int:
    """0 when everything holds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int)
    parser.add_argument("--texts", type=int, default=TEXTS)
    given = parser.parse_args()
    sizes = (given.rows,) if given.rows else SIZES
    print(f"{os.cpu_count()} processors; load {os.getloadavg()[0]:.1f}")
    took: list[float] = []
    missed: list[str] = []
    for rows in sizes:
        one, missed = measured(rows)
        took.append(one)
        if missed and rows != sizes[-1]:
            print(f"  (promised at {sizes[-1]:,}, not here)")
    for (few, many), (short, long) in zip(pairwise(sizes), pairwise(took), strict=True):
        claim = f"times the work for {many / few:g} times the series (at most {LINEAR:g})"
        missed += gate(claim, long / short, long / short <= LINEAR)
    print(f"{given.texts:,} series of 16 tags, as texts")
    with made("texts", given.texts) as file:
        missed += report_texts(on_texts(file))
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
