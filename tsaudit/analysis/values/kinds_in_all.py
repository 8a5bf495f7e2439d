"""How many kinds there are among many things, by how many of them some things show that were drawn at random."""

from __future__ import annotations


def kinds_in_all(drawn: int, kinds: int, total: int) -> float:
    """The number of kinds among `total` things, if `drawn` of them are of so many `kinds` and all kinds are as common.

    Of each of K kinds there are total / K things, none of which is drawn with the probability
    (1 - drawn / total) ** (total / K); so K * (1 - that) kinds are seen, which grows with K. Things that are all of
    different kinds may be so throughout: then it is `total`.
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
