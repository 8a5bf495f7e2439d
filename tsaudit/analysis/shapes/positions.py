"""Positions in a sequence: some of them spread over all, and interpolated values between known ones."""

from __future__ import annotations

from collections.abc import Mapping


def spread(count: int, most: int) -> list[int]:
    """Up to `most` of the positions 0 to `count` - 1, evenly spread, including the first and the last."""
    if count <= most:
        return list(range(count))
    return sorted({i * (count - 1) // (most - 1) for i in range(most)})


def interpolated(known: Mapping[int, float], count: int) -> list[float]:
    """A value for each position from 0 to `count` - 1: linear between known positions, constant beyond them."""
    places = sorted(known)
    found = []
    for place in range(count):
        before = max((p for p in places if p <= place), default=places[0])
        after = min((p for p in places if p >= place), default=places[-1])
        share = (place - before) / (after - before) if after > before else 0.0
        found.append(known[before] + share * (known[after] - known[before]))
    return found
