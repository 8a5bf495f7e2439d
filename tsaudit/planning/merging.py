"""Changes of several findings about one thing: the same ones are one, and of two that contradict each other the one of
the worse finding stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tsaudit.model.change import Change, Claim
from tsaudit.model.plan import LeftOut, Requested


@dataclass(frozen=True, slots=True)
class Wanted:
    """A change, and the rule whose finding asks for it."""

    change: Change
    rule: str


def merge(wanted: Iterable[Wanted]) -> tuple[tuple[Requested, ...], tuple[LeftOut, ...]]:
    """The changes of one measurement that can be made together, and those that cannot, with the reason for each.

    `wanted`: those of the worst finding first.
    """
    kept: list[Requested] = []
    left_out: list[LeftOut] = []
    for one in wanted:
        same = next((known for known in kept if _one_of(known.change, one.change) is not None), None)
        change = one.change if same is None else _one_of(same.change, one.change) or one.change
        rules = tuple(dict.fromkeys((*(same.rules if same else ()), one.rule)))
        others = [known for known in kept if known is not same]
        if reason := _conflict(change, others):
            left_out.append(LeftOut(one.change, (one.rule,), reason))
        elif same is not None:
            kept[kept.index(same)] = Requested(change, rules)
        else:
            kept.append(Requested(change, rules))
    return tuple(kept), tuple(left_out)


def _one_of(known: Change, other: Change) -> Change | None:
    """The change that says what both say; None where they are two."""
    if known == other:
        return known
    mine, its = known.claims(), other.claims()
    if type(known) is not type(other) or not mine or not its:
        return None
    if mine == its:
        # Where one of them relies on nothing, both are wanted whatever else is changed.
        return min(known, other, key=lambda one: len(one.relies_on()))
    if its.items() <= mine.items():
        return known
    return other if mine.items() <= its.items() else None


def _conflict(change: Change, kept: Sequence[Requested]) -> str:
    """Why the change cannot be made beside those; empty if it can."""
    for other in kept:
        rules = ", ".join(other.rules)
        if (claim := _broken(change.claims(), other.change.claims())) is not None:
            return f"{rules} asks for something else for {_named(claim)}, and comes first"
        if (claim := _broken(change.relies_on(), other.change.claims())) is not None:
            return f"it depends on {_named(claim)}, which {rules} changes"
        if (claim := _broken(other.change.relies_on(), change.claims())) is not None:
            return f"{rules} depends on {_named(claim)}"
    return ""


def _broken(needed: Mapping[Claim, str], decided: Mapping[Claim, str]) -> Claim | None:
    return next((claim for claim, value in decided.items() if needed.get(claim, value) != value), None)


def _named(claim: Claim) -> str:
    aspect, name = claim[0], ", ".join(filter(None, claim[1].split("\x1f")))
    return f"the {aspect} of {name}" if name else f"the {aspect}"
