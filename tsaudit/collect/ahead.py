"""Responses about several measurements, obtained with one statement and kept until each measurement is examined."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Final

from tsaudit.engines.connection import Rows, RowsOfSeveral
from tsaudit.model.facts import Given
from tsaudit.model.facts.given import OfMeasurement

if TYPE_CHECKING:
    import pyarrow as pa

_MOST_HELD: Final = 256 << 20
"""Maximum size of one response, in bytes. A bigger one is dropped, and each measurement is queried by itself."""


class Ahead:
    """Each response is kept until it is taken. Thread-safe: every measurement is examined by one thread."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str, str], tuple[OfMeasurement, Rows]] = {}

    def read(self, fact: str, given: Sequence[OfMeasurement], rows: RowsOfSeveral, enough: Callable[[], bool]) -> None:
        """Keep the response, unless it is too big, or `enough` after some batch. Errors are the connection's."""
        batches: dict[str, list[pa.RecordBatch]] = {one.measurement: [] for one in given}
        held = 0
        with closing(rows):
            for batch in rows:
                held += batch.nbytes
                if enough() or held > _MOST_HELD:
                    return
                batches[rows.measurement].append(batch)
            enough()
        for one in given:
            if one.measurement in rows.alone:
                kept = Rows(rows.alone[one.measurement], iter(batches[one.measurement]))
                # It was counted when it was sent.
                kept.statements = 0
                self._kept[fact, one.database, one.measurement] = one, kept

    def taken(self, fact: str, given: Given) -> Rows | None:
        """The response to exactly this query, which is not kept any longer; None if there is none."""
        database, measurement = given.subject
        asked, rows = self._kept.pop((fact, database or "", measurement or ""), (None, None))
        return rows if asked == given else None
