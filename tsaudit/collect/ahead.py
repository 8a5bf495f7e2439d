"""Responses about several measurements, obtained with one statement and kept until each measurement is examined."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Final

from tsaudit.engines.connection import Rows, RowsOfSeveral
from tsaudit.model.facts import Given
from tsaudit.model.facts.given import OfMeasurement
from tsaudit.net.watchdog import Deadline

if TYPE_CHECKING:
    import pyarrow as pa

_MOST_HELD: Final = 256 << 20
"""Maximum size of all responses kept at a time, in bytes. If one does not fit, it is dropped, and each of its
measurements is queried by itself.
"""
_SHARE: Final = 0.25
"""The share of the time left that a statement about several may take: if it fails, each is queried by itself."""
_MOST_WASTED: Final = 0.1
"""The share of the audit's time limit that statements about several may take in vain."""


class Ahead:
    """Each response is kept until it is taken. Thread-safe: every measurement is examined by one thread."""

    def __init__(self, deadline: Deadline) -> None:
        """`deadline`: of the audit."""
        self._deadline = deadline
        self._kept: dict[tuple[str, str, str], tuple[OfMeasurement, Rows, int]] = {}
        """(fact, database, measurement) to the query, the response, and its size."""
        self._held = 0
        self._overflowed = False
        self._wasted_s = 0.0
        self._lock = threading.Lock()

    def seconds_for(self, statement_timeout_s: float) -> float:
        """The seconds that the next statement about several may take; 0 if none should be sent, because there is no
        time or memory left for one that may turn out to be useless.
        """
        is_full = self._overflowed or self._held >= _MOST_HELD
        if is_full or self._wasted_s > self._deadline.seconds * _MOST_WASTED:
            return 0.0
        return max(0.0, min(statement_timeout_s, self._deadline.left() * _SHARE))

    def waste(self, seconds: float) -> None:
        """Note that a statement took this long and brought nothing."""
        with self._lock:
            self._wasted_s += seconds

    def read(self, fact: str, given: Sequence[OfMeasurement], rows: RowsOfSeveral, enough: Callable[[], bool]) -> None:
        """Keep the response, unless it is too big, or `enough` after some batch. Errors are the connection's."""
        batches: dict[str, list[pa.RecordBatch]] = {one.measurement: [] for one in given}
        sizes = dict.fromkeys(batches, 0)
        try:
            with closing(rows):
                for batch in rows:
                    sizes[rows.measurement] += batch.nbytes
                    self._hold(batch.nbytes)
                    if self._held > _MOST_HELD:
                        self._overflowed = True
                        return
                    if enough():
                        return
                    batches[rows.measurement].append(batch)
                enough()
            for one in given:
                if one.measurement in rows.alone:
                    kept = Rows(rows.alone[one.measurement], iter(batches[one.measurement]))
                    # It was counted when it was sent.
                    kept.statements = 0
                    self._kept[fact, one.database, one.measurement] = one, kept, sizes.pop(one.measurement)
        finally:
            self._hold(-sum(sizes.values()))

    def taken(self, fact: str, given: Given) -> Rows | None:
        """The response to exactly this query, which is not kept any longer; None if there is none."""
        database, measurement = given.subject
        asked, rows, size = self._kept.pop((fact, database or "", measurement or ""), (None, None, 0))
        self._hold(-size)
        return rows if asked == given else None

    def drop(self) -> None:
        """Keep nothing any longer: whoever has not taken its response so far does not need it."""
        self._kept.clear()
        self._held, self._overflowed = 0, False

    def _hold(self, size: int) -> None:
        with self._lock:
            self._held += size
