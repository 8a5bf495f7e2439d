"""Loading a code location of 10,000 targets, its tsaudit.yaml included, against `import dagster`.

Both start in processes of their own, in turn; the medians of CPU seconds are compared. Exits with 1 when loading 500
targets as an asset each, or 10,000 in groups, takes more than five times as long.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROUNDS = 3
MOST = 5.0

IMPORT = "import dagster"
LOAD = """
import dagster as dg
from pathlib import Path
from dagster_tsaudit.automation import definitions_of
from dagster_tsaudit.plan import make_plan
from tsaudit.config import file as config_file
settings = config_file.load(Path({path!r}), resolve_env=False)
plan = make_plan("shop", settings, lambda: settings)
definitions_of(plan).get_repository_def().load_all_definitions()
"""


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        codes = {"import dagster": IMPORT}
        for count, name in ((500, "an asset each"), (10_000, "in 100 groups")):
            codes[f"{count:,} targets, {name}"] = LOAD.format(path=str(_config(Path(folder), count)))
        seconds = {name: statistics.median(_cpu(code) for _ in range(ROUNDS)) for name, code in codes.items()}
    base = seconds["import dagster"]
    for name, took in seconds.items():
        print(f"{name:<30} {took:6.2f} s CPU   {took / base:5.1f} x")
    return int(max(seconds.values()) > MOST * base)


def _config(folder: Path, count: int) -> Path:
    lines = ["targets:"]
    for n in range(count):
        lines += [f"  - name: shop-{n}", "    engine: duckdb", f"    url: duckdb:///shop{n}.duckdb"]
        lines += [f"    group: group {n % 100}"]
    file = folder / f"{count}.yaml"
    file.write_text("\n".join(lines) + "\n")
    return file


def _cpu(code: str) -> float:
    """CPU seconds of a Python process that runs the code."""
    last = "\nimport time; print(time.process_time())"
    root = Path(__file__).parent.parent
    done = subprocess.run([sys.executable, "-c", code + last], capture_output=True, text=True, cwd=root, check=True)
    return float(done.stdout)


if __name__ == "__main__":
    sys.exit(main())
