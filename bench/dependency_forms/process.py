"""A form in a process of its own, so that its peak of memory is its own, run again whenever it is told to."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

ROOT = Path(__file__).parent.parent.parent


@dataclass(frozen=True)
class Cost:
    """What one run took."""

    seconds: float
    processor_s: float
    """On all processors together: tells little of the speed, but a busy machine changes it least."""
    peak_mb: float


class Form:
    """Runs one of the functions of `forms` on the table of a file."""

    def __init__(self, name: str, file: Path) -> None:
        self.name = name
        command = [sys.executable, "-m", "bench.dependency_forms.process", name, str(file)]
        self._process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        self._answer()

    def run(self) -> Cost:
        assert self._process.stdin
        self._process.stdin.write("\n")
        return Cost(*self._answer())

    def _answer(self) -> list[float]:
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"{self.name} failed")
        answer: list[float] = json.loads(line)
        return answer

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait()


def main() -> None:
    from bench.dependency_forms import data, forms

    name, file = sys.argv[1:]
    run = getattr(forms, name)(data.read(Path(file)))
    print("[]", flush=True)
    for _ in sys.stdin:
        began, processor = time.perf_counter(), time.process_time()
        found = run()
        cost = time.perf_counter() - began, time.process_time() - processor
        assert found == data.DEPENDENCIES, f"{name} found {found} dependencies"
        print(json.dumps([*cost, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]), flush=True)


if __name__ == "__main__":
    main()
