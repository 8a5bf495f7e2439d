"""Ever cheaper ways to query a fact about rows: everything wanted, then less and less, for
`QueryRunner.first_answered`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final, TypeVar

from tsaudit.model.query_parameters import OfBuckets, OfDocuments, OfMeasurement, OfRowSample, TablePart

_PARTS: Final = (4, 16, 64, 256)
_FEWEST_ROWS: Final = 100
"""Fewest rows to ask for: a smaller sample shows too little."""

About = TypeVar("About", bound=OfMeasurement)
Limited = TypeVar("Limited", OfRowSample, OfDocuments, OfBuckets)


def shorter(given: About) -> Iterator[About]:
    """The whole window, then smaller and smaller newest parts of it: engines that store rows by time then read less.
    For a table of which only a part may be read, smaller and smaller parts.
    """
    yield given
    part: TablePart | None = getattr(given, "partial_scan", None)
    for by in _PARTS:
        if part is not None:
            yield replace(given, partial_scan=_smaller(part, by))  # type: ignore[call-arg]
        elif given.time is not None:
            yield replace(given, start=given.end - (given.end - given.start) / by)


def fewer(given: Limited) -> Iterator[Limited]:
    """The number of rows wanted, then fewer."""
    yield given
    for by in _PARTS:
        if given.limit // by >= _FEWEST_ROWS:
            yield replace(given, limit=given.limit // by)


def fewer_and_shorter(given: OfRowSample) -> Iterator[OfRowSample]:
    """Fewer rows, in case rows are wide; then fewer rows from the newest parts of the window, in case there are many
    rows.
    """
    sizes = list(fewer(given))
    yield from sizes
    # All combinations would take longer than the audit may, so only a few parts are tried, with a small number of rows.
    few = sizes[min(2, len(sizes) - 1)]
    _whole, *parts = shorter(few)
    yield from parts[1::2]


def _smaller(part: TablePart, by: int) -> TablePart:
    return TablePart(part.newest, max(part.rows // by, 1), f"{float(part.percent) / by:.6f}")
