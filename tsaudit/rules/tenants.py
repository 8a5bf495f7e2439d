"""Finds databases that are created per tenant, for use by several rules."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from tsaudit.model.profile import Database, Profile

_PART: Final = re.compile(r"([-_.])")


@dataclass(frozen=True, slots=True)
class Tenants:
    """Databases whose names differ in one part, and that have the same contents."""

    template: str
    """The common name: `tenant_{id}`."""
    databases: tuple[Database, ...]
    shared: tuple[str, ...]
    """The names of the measurements that all of them contain."""
    measurements: int
    """Number of measurements in all of them."""


def tenants(profile: Profile, fewest: int) -> Iterator[Tenants]:
    """Families of at least `fewest` databases, the largest first; databases per day, week, or month are left out."""
    from tsaudit.analysis.shapes.periods import period_families

    # Retention policies of one database are not databases of tenants.
    wholes = profile.wholes
    inside = {database.name: {measurement.name for measurement in profile.inside(database)} for database in wholes}
    found_periods = period_families(list(inside), now=profile.window.end)
    of_periods = {period.name for family in found_periods for period in family.members}
    families: dict[str, list[Database]] = defaultdict(list)
    for database in wholes:
        for template in () if database.name in of_periods else _templates(database.name):
            families[template].append(database)
    reported: set[str] = set()
    for template, members in sorted(families.items(), key=lambda one: (-len(one[1]), one[0])):
        alike = [m for m in members if m.name not in reported and _alike(inside[m.name], inside[members[0].name])]
        if len(alike) >= fewest:
            reported |= {m.name for m in alike}
            shared = set.intersection(*(inside[m.name] for m in alike))
            yield Tenants(template, tuple(alike), tuple(sorted(shared)), sum(len(inside[m.name]) for m in alike))


def _templates(name: str) -> Iterator[str]:
    """The name with a placeholder for one of its parts: `tenant_0001` as `tenant_{id}`, `acme-shop` as `{id}-shop`."""
    from tsaudit.analysis.shapes.shape_rules import is_random

    parts = _PART.split(name)
    for at in range(0, len(parts), 2):
        if len(parts) > 1 and parts[at]:
            yield "".join([*parts[:at], "{id}", *parts[at + 1 :]])
    if numbered := re.fullmatch(r"(\D*[A-Za-z])\d{2,}", name):
        yield f"{numbered[1]}{{id}}"
    if re.fullmatch(r"[0-9a-f]{8,}", name) or is_random(name):
        yield "{id}"


def _alike(one: set[str], other: set[str]) -> bool:
    """Whether two databases have at least half of their measurements in common."""
    return 2 * len(one & other) >= max(len(one), len(other)) > 0
