"""How much more memory this process took while something ran."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

_STATUS: Final = Path("/proc/self/statm")
_PAGE: Final = 4096


@dataclass(slots=True)
class Peak:
    """Above what the process had when the watching began."""

    megabytes: float = 0.0


@contextmanager
def watched() -> Iterator[Peak]:
    """The highest resident size so far, looked at every 5 ms."""
    if not _STATUS.exists():
        pytest.skip("needs /proc to tell how much memory is taken")
    peak, ended, before = Peak(), threading.Event(), _resident()

    def watch() -> None:
        while not ended.is_set():
            peak.megabytes = max(peak.megabytes, (_resident() - before) / 1e6)
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
