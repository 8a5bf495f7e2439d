"""Names proposed for others, so that no two become one and none takes the place of what is there."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tsaudit.model.profile import Profile


def distinct(names: Iterable[str], propose: Callable[[str], str], taken: Iterable[str]) -> dict[str, str]:
    """Each name with the one proposed for it, numbered where that is taken. Case does not tell names apart."""
    used = {name.lower() for name in taken}
    found: dict[str, str] = {}
    for name in names:
        proposed = propose(name)
        others = (f"{proposed}_{number}" for number in range(2, len(used) + 3))
        found[name] = proposed if proposed.lower() not in used else next(o for o in others if o.lower() not in used)
        used.add(found[name].lower())
    return found


def in_families(profile: Profile, database: str) -> frozenset[str]:
    """Measurements of the database that are to become one with others: a name of their own would be of no use."""
    from tsaudit.analysis.shapes import shapes

    names = [m.name for m in profile.measurements if m.database == database]
    return frozenset(name for family in shapes.name_families(names) for name in family.members)
