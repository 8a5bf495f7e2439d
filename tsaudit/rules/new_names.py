"""Names proposed for others, so that no two become one and none takes the place of what is there."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator

from tsaudit.rule import Case


def distinct(names: Iterable[str], propose: Callable[[str], str], taken: Iterable[str]) -> dict[str, str]:
    """Each name with the one proposed for it, numbered where that is taken. Case does not tell names apart."""
    used = {name.lower() for name in taken}
    numbers: dict[str, Iterator[int]] = {}
    found: dict[str, str] = {}
    for name in names:
        found[name] = proposed = propose(name)
        # Numbers that were taken stay taken: each is tried once, however many names are alike.
        following = numbers.setdefault(proposed.lower(), itertools.count(2))
        while found[name].lower() in used:
            found[name] = f"{proposed}_{next(following)}"
        used.add(found[name].lower())
    return found


def in_families(case: Case, database: str) -> frozenset[str]:
    """Measurements of the database that are to become one with others: a name of their own would be of no use."""
    names = [m.name for m in case.profile.measurements if m.database == database]
    return frozenset(name for family in case.name_families(names) for name in family.members)
