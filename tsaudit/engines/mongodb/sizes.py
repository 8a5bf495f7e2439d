"""What the sizes that MongoDB reports tell of its documents."""

from __future__ import annotations

from typing import Final

from tsaudit.model.profile import Measurement

_ROOM_BYTES: Final = 1_000_000
"""Smaller files may be mostly room that was allocated in advance, or is left from documents that moved."""


def is_more_than_room(measurement: Measurement) -> bool:
    """Whether its files are large enough to grow with the documents in them."""
    kept = measurement.storage
    return kept is not None and (kept.data_bytes or 0) + (kept.index_bytes or 0) >= _ROOM_BYTES


def left_by_compression(measurement: Measurement, repeated: float) -> float:
    """How much of the bytes that each document repeats takes space, in all documents.

    Compression saves these first, so what it saved is taken off them; no documents and no size are no bytes.
    """
    rows, documents, kept = measurement.rows, measurement.documents, measurement.storage
    if rows is None or not rows.value or documents is None or kept is None or kept.data_bytes is None:
        return 0.0
    saved = max(documents.mean_bytes - kept.data_bytes / rows.value, 0.0)
    return max(repeated - saved, 0.0) * rows.value
