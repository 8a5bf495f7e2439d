"""Records what an audit's statements have cost so far, by fact, and when their read budget is used up."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tsaudit.engines.connection import Rows
from tsaudit.model.profile import Cost
from tsaudit.text import size


class Bill:
    """The cost of each fact. Thread-safe."""

    def __init__(self, max_bytes_scanned: int | None) -> None:
        """`max_bytes_scanned`: the most that may be scanned or billed; None for no limit."""
        self._most = max_bytes_scanned
        self._costs: dict[str, Cost] = {}
        self._lock = threading.Lock()

    def costs(self) -> tuple[Cost, ...]:
        """The costs so far, by fact."""
        return tuple(self._costs[fact] for fact in sorted(self._costs))

    @contextmanager
    def statement(self, fact: str, *, timed: bool = True) -> Iterator[Callable[[int, Rows], Cost]]:
        """Record one statement when it is done. Call the returned function with the number of rows since the last call,
        and with the response: it returns the cost of the statement so far. `timed`: False for a response that was
        received earlier.
        """
        began = time.monotonic()
        total = Cost(fact, 1, 0.0, 0, None)

        def count(more_rows: int, answer: Rows) -> Cost:
            nonlocal total
            total = Cost(
                fact,
                answer.statements,
                0.0,
                total.rows + more_rows,
                answer.bytes,
                answer.bytes_scanned,
                answer.bytes_metered,
            )
            return total

        try:
            yield count
        finally:
            with self._lock:
                before = self._costs.get(fact, Cost(fact, 0, 0.0, 0, None))
                self._costs[fact] = Cost(
                    fact=fact,
                    statements=before.statements + total.statements,
                    seconds=before.seconds + (time.monotonic() - began if timed else 0.0),
                    rows=before.rows + total.rows,
                    bytes=_sum(before.bytes, total.bytes),
                    bytes_scanned=_sum(before.bytes_scanned, total.bytes_scanned),
                    bytes_metered=_sum(before.bytes_metered, total.bytes_metered),
                )

    def overspent(self, running: Cost | None = None) -> str:
        """Why no more may be read; empty as long as more may. `running`: the current statement, not recorded yet."""
        if self._most is None:
            return ""
        with self._lock:
            spent = sum(cost.bytes_charged for cost in self._costs.values())
        spent += running.bytes_charged if running else 0
        if spent < self._most:
            return ""
        return f"{size(spent)} were scanned or billed; raise budget.max_bytes_scanned"


def _sum(before: int | None, more: int | None) -> int | None:
    """The sum; None only if neither is known."""
    return more if before is None else before + (more or 0)
