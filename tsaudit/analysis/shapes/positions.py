"""Places in a row of things: some of them spread over all, and values for those between known ones."""

from __future__ import annotations

from collections.abc import Mapping


def spread(count: int, most: int) -> list[int]:
    """Up to `most` of the positions 0 to `count` - 1, evenly spread, the first and the last among them."""
    if count <= most:
        return list(range(count))
    return sorted({i * (count - 1) // (most - 1) for i in range(most)})


def interpolated(known: Mapping[int, float], count: int) -> list[float]:
    """A value for each position from 0 to `count` - 1: between the known ones on a straight line, beyond them level."""
    places = sorted(known)
    found = []
    for place in range(count):
        before = max((p for p in places if p <= place), default=places[0])
        after = min((p for p in places if p >= place), default=places[-1])
        share = (place - before) / (after - before) if after > before else 0.0
        found.append(known[before] + share * (known[after] - known[before]))
    return found
