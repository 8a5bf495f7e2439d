"""How much more memory this process, and those it started, took while something ran."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Container, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_STATUS: Final = Path("/proc/self/statm")
_PAGE: Final = 4096
_NOT_EXECUTED_YET: Final = 0x40  # PF_FORKNOEXEC of the kernel, see proc(5)


@dataclass(slots=True)
class Peak:
    """Above what the process had when the watching began."""

    megabytes: float = 0.0


@contextmanager
def watched(children: bool = False, besides: Container[int] = ()) -> Iterator[Peak]:
    """The highest resident size so far, looked at every 5 ms; with that of its children, but for some, if told to."""
    if not _STATUS.exists():
        import pytest  # not at the top: the processes whose memory is measured import this, too

        pytest.skip("needs /proc to tell how much memory is taken")
    peak, ended, before = Peak(), threading.Event(), _resident()
    if children:
        before += of_children(besides=besides)

    def watch() -> None:
        while not ended.is_set():
            now = _resident() + (of_children(besides=besides) if children else 0)
            peak.megabytes = max(peak.megabytes, (now - before) / 1e6)
            time.sleep(0.005)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield peak
    finally:
        ended.set()
        watcher.join()


def _resident() -> int:
    return int(_STATUS.read_text().split()[1]) * _PAGE


def of_children(pid: int | str = "self", *, besides: Container[int] = ()) -> int:
    """The highest that each child of the process had so far: what was reached between two looks counts, too."""
    highest = 0
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in set(map(int, children.read_text().split())):
                if child not in besides and _of_its_own(child):
                    highest += _highest(child)
    return highest


def _of_its_own(pid: int) -> bool:
    """Whether it runs its own program: one that is being started shares, and reports, the memory of this process."""
    with contextlib.suppress(OSError):
        flags = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[6])
        return not flags & _NOT_EXECUTED_YET
    return False


def _highest(pid: int) -> int:
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return 0
