"""How long the commands that only print take, against `python -c "import click"`. To hold: less than twice as long."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time

RUNS = 15
LIMIT = 2.0
COMMANDS = (["--help"], ["rules"], ["explain", "CAR001"], ["guidelines"])


def environment(bytecode: str) -> dict[str, str]:
    """One in which Python keeps bytecode, as it does wherever nobody forbids it."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"PYTHONPYCACHEPREFIX": bytecode}


def main() -> int:
    """Print the ratio of medians per command; runs alternate, so that a busy machine slows both alike."""
    with tempfile.TemporaryDirectory() as folder:
        return measure(environment(folder))


def measure(variables: dict[str, str]) -> int:
    """0 when every ratio is below the limit."""

    def seconds(*arguments: str) -> float:
        began = time.perf_counter()
        subprocess.run([sys.executable, *arguments], env=variables, check=True, capture_output=True)
        return time.perf_counter() - began

    worst = 0.0
    for command in COMMANDS:
        seconds("-m", "tsaudit", *command)  # the first call writes the bytecode
        pairs = [(seconds("-c", "import click"), seconds("-m", "tsaudit", *command)) for _ in range(RUNS)]
        floor, found = (statistics.median(side) for side in zip(*pairs, strict=True))
        print(f"tsaudit {' '.join(command):18} {found * 1000:6.0f} ms, {found / floor:.2f} x import click")
        worst = max(worst, found / floor)
    return int(worst > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
