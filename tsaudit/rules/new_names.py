"""New names for things, chosen so that no two are the same and none is already taken."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator

from tsaudit.rule import Case


def distinct(names: Iterable[str], propose: Callable[[str], str], taken: Iterable[str]) -> dict[str, str]:
    """Each name to the new name proposed for it, with a number appended if that is taken. Case is ignored."""
    used = {name.lower() for name in taken}
    numbers: dict[str, Iterator[int]] = {}
    found: dict[str, str] = {}
    for name in names:
        found[name] = proposed = propose(name)
        # Numbers that are taken stay taken, so each is tried only once, however many names are alike.
        following = numbers.setdefault(proposed.lower(), itertools.count(2))
        while found[name].lower() in used:
            found[name] = f"{proposed}_{next(following)}"
        used.add(found[name].lower())
    return found


def in_families(case: Case, database: str) -> frozenset[str]:
    """Measurements of the database that other rules ask to merge, so that a new name would be of no use."""
    names = [m.name for m in case.profile.measurements if m.database == database]
    return frozenset(name for family in case.name_families(names) for name in family.members)
