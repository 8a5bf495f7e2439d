"""Computes how many documents can be read at random without making the server read all of them."""

from __future__ import annotations

from typing import Final

from tsaudit.text import many, number

FEWEST: Final = 100
"""Up to this many documents, `$sample` reads the whole collection:
https://www.mongodb.com/docs/manual/reference/operator/aggregation/sample/
"""
LARGEST_SHARE: Final = 0.05
"""From this share of the documents on, `$sample` also reads the whole collection."""


def sample_size(total: int | None, most: int, *, may_choose: bool = True) -> tuple[int, bool]:
    """How many documents to request, and whether to select them at random; otherwise, the first ones are read.

    `total`: number of documents in the collection; None if not known. If most of them are read anyway, the first ones
    suffice. `may_choose`: whether the server can select at random.
    """
    if not may_choose or total is None or total <= FEWEST or total <= 2 * most:
        return most, False
    if most < LARGEST_SHARE * total:
        return most, True
    # Slightly below the share, because the count is an estimate.
    return max(1, int(0.98 * LARGEST_SHARE * total)), True


def description(read: int, total: int | None, limit: int, random: bool) -> str:
    """Which documents were read, in words. `limit`: how many were requested; if that many were read, there may be more
    than `total` says.
    """
    if total is not None and total <= read < limit:
        return f"all {many(read, 'document')}"
    of = (
        f"{number(read)} of {many(total, 'document')}" if total is not None and read < total else many(read, "document")
    )
    return f"{of}, chosen randomly" if random else f"the first {of}"
