"""Estimates how many kinds there are in a population from the kinds in a random sample."""

from __future__ import annotations


def kinds_in_all(drawn: int, kinds: int, total: int) -> float:
    """The number of kinds among `total` items if `drawn` of them have `kinds` kinds and all kinds are equally common.

    With K kinds, there are total / K items of each, and the probability that none of them is drawn is (1 - drawn /
    total) ** (total / K). So the expected number of kinds seen is K * (1 - that), which grows with K. If all drawn
    items are of different kinds, all items may be: then the result is `total`.
    """
    if drawn >= total or not drawn:
        return float(kinds)
    low, high = float(kinds), float(total)
    missed = 1 - drawn / total
    for _ in range(60):
        middle = (low + high) / 2
        if middle * (1 - missed ** (total / middle)) < kinds:
            low = middle
        else:
            high = middle
    return high
