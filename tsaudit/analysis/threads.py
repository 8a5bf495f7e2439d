"""Divides work on big columns among threads: Arrow and numpy release the GIL while they look up, sort, and copy."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

Part = TypeVar("Part")
Result = TypeVar("Result")

_THREADS: Final = 2
_WORTH_A_THREAD: Final = 20_000
"""With fewer rows, starting a thread takes longer than the work itself."""


def in_threads(work: Callable[[Part], Result], parts: Iterable[Part], rows: int) -> list[Result]:
    """The results for all parts, in order. `rows`: the number of rows that each part processes."""
    if rows < _WORTH_A_THREAD:
        return [work(part) for part in parts]
    with ThreadPoolExecutor(_THREADS) as threads:
        return list(threads.map(work, parts))
