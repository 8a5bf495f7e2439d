"""Derives the size of documents from the file sizes that MongoDB reports."""

from __future__ import annotations

from typing import Final

from tsaudit.model.profile import Measurement

_ROOM_BYTES: Final = 1_000_000
"""Minimum file size in bytes: smaller files may be mostly unused space, allocated in advance or left by moved
documents.
"""


def is_more_than_room(measurement: Measurement) -> bool:
    """Whether the files are large enough to grow with the documents in them."""
    kept = measurement.storage
    return kept is not None and (kept.data_bytes or 0) + (kept.index_bytes or 0) >= _ROOM_BYTES


def left_by_compression(measurement: Measurement, repeated: float) -> float:
    """How many of the bytes that each document repeats still take space after compression, over all documents.

    Compression saves repeated bytes first, so everything it saved is subtracted from them. 0 if there are no documents,
    or no size is known.
    """
    rows, documents, kept = measurement.rows, measurement.documents, measurement.storage
    if rows is None or not rows.value or documents is None or kept is None or kept.data_bytes is None:
        return 0.0
    saved = max(documents.mean_bytes - kept.data_bytes / rows.value, 0.0)
    return max(repeated - saved, 0.0) * rows.value
