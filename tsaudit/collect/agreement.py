"""Compares figures of a profile that should agree and come from different statements.

A difference within a pair's tolerance is expected: statistics lag, and rows arrive between two statements. If it is
larger, one of the two is wrong and there is no way to tell which: both get a gap that names both figures and both
queries, and neither counts as exact any more.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from tsaudit.collect.comparison import CrossCheck, Pair, Relation
from tsaudit.collect.figure_pairs import PAIRS
from tsaudit.model.profile import Gap, How, Profile, Reason, Source

T = TypeVar("T")

_STANDARD_ERRORS: Final = 3.0
"""An estimate may be off by this many of its standard errors."""


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A failed comparison, and its pair."""

    pair: Pair
    compared: CrossCheck

    @property
    def detail(self) -> str:
        """Both figures and both queries, in one line."""
        first, second = self.compared.first, self.compared.second
        return f"{first} {self.compared.relation.value} {second}; one of the two figures is wrong"

    def gaps(self) -> Iterator[Gap]:
        """One gap for each of the two facts."""
        for fact in sorted({self.compared.first.fact, self.compared.second.fact}):
            yield Gap(fact, Reason.DISPUTED, self.detail, self.compared.database, self.compared.measurement)


def disagreements(
    profile: Profile, previous: Profile | None = None, asked: frozenset[str] | None = None
) -> Iterator[Disagreement]:
    """All pairs of figures that contradict each other. `previous`: the previous profile, None for none. `asked`: the
    collected facts, None for all.
    """
    for pair in PAIRS:
        if asked is not None and not pair.needs <= asked:
            continue
        for compared in pair.compared(profile, previous):
            if not _agree(pair, compared):
                yield Disagreement(pair, compared)


def reconciled(profile: Profile, previous: Profile | None = None, asked: frozenset[str] | None = None) -> Profile:
    """The profile with a gap for each contradicted figure, none of which is exact any more. Parameters as for
    `disagreements`.
    """
    found = list(disagreements(profile, previous, asked))
    if not found:
        return profile
    gaps = {gap for one in found for gap in one.gaps()}
    within: dict[str, list[Disagreement]] = defaultdict(list)
    about: dict[tuple[str, str | None], list[Disagreement]] = defaultdict(list)
    for one in found:
        within[one.compared.database].append(one)
        about[one.compared.database, one.compared.measurement].append(one)
    return dataclasses.replace(
        profile,
        databases=tuple(_disputed(d, within[d.name]) for d in profile.databases),
        measurements=tuple(
            _disputed(m, [*about[m.database, None], *about[m.database, m.name]]) for m in profile.measurements
        ),
        gaps=in_order({*profile.gaps, *gaps}),
    )


def in_order(gaps: Iterable[Gap]) -> tuple[Gap, ...]:
    """The gaps in the order of a profile."""
    return tuple(sorted(gaps, key=lambda g: (g.fact, g.database or "", g.measurement or "", g.reason, g.detail)))


def inexact(value: T, query: str, words: str) -> T:
    """The dataclass, with all exact figures from this query turned into estimates, at any depth."""
    if isinstance(value, Source):
        if value.query != query or value.how is not How.EXACT:
            return value
        return dataclasses.replace(value, how=How.ESTIMATE, scope="; ".join(filter(None, (words, value.scope))))
    if isinstance(value, tuple):
        changed: Any = tuple(inexact(item, query, words) for item in value)
        return changed if any(new is not old for new, old in zip(changed, value, strict=True)) else value
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        return value
    new = {f.name: inexact(getattr(value, f.name), query, words) for f in dataclasses.fields(value)}
    new = {name: item for name, item in new.items() if item is not getattr(value, name)}
    return dataclasses.replace(value, **new) if new else value


def _disputed(subject: T, found: Iterable[Disagreement]) -> T:
    for one in found:
        first, second = one.compared.first, one.compared.second
        subject = inexact(subject, first.query, f"contradicted by {second}")
        subject = inexact(subject, second.query, f"contradicted by {first}")
    return subject


def _agree(pair: Pair, compared: CrossCheck) -> bool:
    first, second = compared.first, compared.second
    if compared.relation is Relation.AT_MOST and first.value <= second.value:
        return True
    if 0 in (first.value, second.value):
        return first.value == second.value
    ratio = pair.allowed_ratio if compared.allowed_ratio is None else compared.allowed_ratio
    allowed = max(pair.allowed, ratio * max(first.value, second.value))
    return abs(first.value - second.value) <= allowed + _STANDARD_ERRORS * (first.error + second.error)
