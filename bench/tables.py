"""What a table costs: the whole audit of a DuckDB file with many, against SUMMARIZE of each in the same file.

Each table has 12 columns (the time, tags, texts, floats, a number, and one that is mostly null) and, unless another
number is given, 10,000 rows. Seconds are those of the processor, the lowest of three, and the memory is the highest of
the process. Exits with 1 if a goal is missed; the goals are those of 10,000 rows.

    python -m bench.tables [number of tables] [rows of each]
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import process_time

import duckdb

ROUNDS = 3
TABLES, ROWS = 200, 10_000
MOST_RATIO, MOST_MB = 2.5, 550
_TABLE = """CREATE TABLE t{number:05} AS SELECT
    TIMESTAMP '{end}' - i * INTERVAL 6 SECOND AS ts,
    'host-' || i % {hosts} AS host, ['eu-west', 'eu-central', 'us-east'][1 + i % 3] AS region, 'rack ' || i % 7 AS rack,
    ['ok', 'warn', 'error timeout', 'retry'][1 + i * 7919 % 4] AS state,
    'the request with number ' || hash(i) || ' was answered after ' || i % 977 || ' milliseconds' AS message,
    sin(i) AS heat, cos(i / 100.0) + 20 AS load, hash(i + 7) % 100000 / 7.0 AS latency, 1.5 * (i % 40) AS v,
    (hash(i) % 500)::INTEGER AS requests, CASE WHEN i % 50 = 0 THEN i / 3.0 END AS extra
FROM range({rows}) AS t(i)"""
_CONFIGURATION = """history: sqlite:///{folder}/history.sqlite
report: {{folder: {folder}/reports}}
targets:
  - {{name: fleet, engine: duckdb, url: "duckdb:///{folder}/fleet.duckdb"}}
"""


def write(folder: Path, tables: int, rows: int) -> None:
    """The database and the configuration."""
    end = datetime.now(UTC) - timedelta(minutes=1)
    with duckdb.connect(str(folder / "fleet.duckdb")) as connection:
        for number in range(tables):
            connection.execute(
                _TABLE.format(number=number, end=f"{end:%Y-%m-%d %H:%M:%S}", hosts=20 + number % 13, rows=rows)
            )
    (folder / "tsaudit.yaml").write_text(_CONFIGURATION.format(folder=folder))


def summarized(folder: Path) -> float:
    """Seconds of SUMMARIZE, which counts, sorts, and estimates distinct values, for each table."""
    with duckdb.connect(str(folder / "fleet.duckdb"), read_only=True, config={"threads": 2}) as connection:
        names = [name for (name,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()]
        began = process_time()
        for name in names:
            connection.execute(f'SUMMARIZE "{name}"').fetchall()
        return process_time() - began


def audited(folder: Path) -> tuple[float, float]:
    """Seconds of an audit, with Python's start and the report, and megabytes."""
    for stored in folder.glob("history.sqlite*"):
        stored.unlink()
    root = str(Path(__file__).parents[1])
    command = [sys.executable, "-m", "tsaudit", "audit", "-q", "--fail-on", "never"]
    process = subprocess.Popen(command, cwd=folder, env={**os.environ, "PYTHONPATH": root})
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"the audit ended with {process.returncode}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def main() -> int:
    tables, rows = (*map(int, sys.argv[1:3]), *(TABLES, ROWS)[len(sys.argv) - 1 :])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, tables, rows)
        audits, plain = [], []
        for _ in range(ROUNDS):
            plain.append(summarized(folder))
            audits.append(audited(folder))
    seconds, memory = min(audit[0] for audit in audits), min(audit[1] for audit in audits)
    ratio = seconds / min(plain)
    print(f"{tables:,} tables: {seconds:.1f} s, {seconds / tables * 1000:.0f} ms a table, {memory:.0f} MB")
    print(f"  SUMMARIZE of each: {min(plain):.1f} s; the audit is {ratio:.1f} times that (at most {MOST_RATIO:g})")
    return int(ratio > MOST_RATIO or memory > MOST_MB)


if __name__ == "__main__":
    sys.exit(main())
