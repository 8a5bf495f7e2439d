"""Functions for rules about measurements whose names differ only in data, and about databases that are created per
tenant.
"""

from __future__ import annotations

import dataclasses
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from tsaudit.analysis.columns.columns import is_integer, is_number, is_text
from tsaudit.analysis.shapes.name_families import (
    STATISTIC,
    Grid,
    NameFamily,
    grids,
    parsed_names,
    quantities_of_things,
    whole_list,
    word_lists,
)
from tsaudit.analysis.shapes.periods import period_families
from tsaudit.analysis.shapes.shape_rules import is_random
from tsaudit.model.change import ColumnPart, Merged, MergeMeasurements
from tsaudit.model.columns import Field
from tsaudit.model.figures import SERIES_KINDS, Subject, TableKind
from tsaudit.model.profile import Database, Measurement, Profile
from tsaudit.rule import Case

_MERGED_KINDS: Final = SERIES_KINDS | {TableKind.EVENTS}
"""Kinds of tables whose rows can be stored together in one table."""
_QUANTITY: Final = "quantity"
"""The name of the tag for what is measured."""


def unmerged(case: Case, database: str) -> list[Measurement]:
    """The measurements of the database without tables that inherit from another, which already reads all their rows."""
    return [m for m in case.measurements if m.database == database and "inherits" not in (m.options or {})]


def merged(database: str, family: NameFamily, inside: Mapping[str, Measurement]) -> MergeMeasurements:
    """The change that merges the family into one measurement, in which the varying parts are tags. `inside`: the
    measurements by name.
    """
    family = with_quantity(family, inside)
    if family.tags and family.tags[-1].name == _QUANTITY:
        parsed = parsed_names(dataclasses.replace(family, field=family.tags[-1].example))
        both = (dataclasses.replace(one, tags=(*one.tags, (_QUANTITY, one.field)), field="") for one in parsed)
        return _merged(database, family, both)
    return _merged(database, family, parsed_names(family))


def with_quantity(family: NameFamily, inside: Mapping[str, Measurement]) -> NameFamily:
    """The family. If its measurements have several fields, the quantity in their names becomes a tag.

    As the name of a field, the quantity would only distinguish measurements with one field each; other measurements
    would overwrite each other. `inside`: the measurements by name.
    """
    if family.field is None or all(len(inside[name].fields) == 1 for name in family.members if name in inside):
        return family
    quantity = (ColumnPart(_QUANTITY, family.field),) if "{field}" in family.template else ()
    return dataclasses.replace(family, tags=(*family.tags, *quantity), field=None)


def merged_grid(database: str, grid: Grid) -> MergeMeasurements:
    """The change that merges all names of the grid into one measurement, in which the varying words are tags."""
    return _merged(database, grid.family, grid.parsed_names())


def grids_of(case: Case, inside: Mapping[str, Measurement]) -> list[Grid]:
    """Grids and lists of words among the names of measurements with the same columns.

    Measurements with a single number, which collectors name after quantities, do not count as a list of words; their
    names must form a grid. `inside`: the measurements to look at, by name.
    """
    alike: dict[frozenset[str], list[str]] = defaultdict(list)
    for name, measurement in inside.items():
        if not case.engine.has_given_columns(measurement):
            alike[_schema(case, measurement)].append(name)
    found: list[Grid] = []
    for names in alike.values():
        first, rest = inside[names[0]], set(names)
        searches: list[Callable[[Collection[str]], list[Grid]]] = [grids, quantities_of_things]
        searches += [word_lists] if _is_wide(first) else []
        searches += [whole_list] if _has_readings(first) else []
        for search in searches:
            more = search(rest)
            found += more
            rest -= {name for one in more for name in one.members}
    return sorted(found, key=lambda one: one.template)


def families_of_one_schema(case: Case, database: str) -> list[tuple[NameFamily, MergeMeasurements]]:
    """Tables of series or events with the same columns, whose names differ in data or, if they are a list, in one word;
    each family with the change that merges it.

    Tables of events only count if they have measured values or a period in their names: applications create one log of
    changes per table on purpose.
    """
    inside = {m.name: m for m in unmerged(case, database) if m.kind in _MERGED_KINDS}
    found: list[tuple[NameFamily, MergeMeasurements]] = []
    for family in case.name_families(inside):
        alike: dict[frozenset[str], list[str]] = defaultdict(list)
        for name in family.members:
            alike[_schema(case, inside[name])].append(name)
        members = max(alike.values(), key=len)
        is_dated = "{date}" in family.template
        if len(members) > 1 and (is_dated or _has_values(inside[members[0]])):
            same = dataclasses.replace(family, members=tuple(members))
            found.append((same, merged(database, same, inside)))
    taken = {name for family, _ in found for name in family.members}
    rest = {name: m for name, m in inside.items() if name not in taken and _has_values(m)}
    return [*found, *((grid.family, merged_grid(database, grid)) for grid in grids_of(case, rest))]


def _schema(case: Case, measurement: Measurement) -> frozenset[str]:
    """The names of the measurement's columns; in SQL with their types, because tables with different types of values
    cannot be merged.
    """
    types = {field.key: " ".join(map(_wide, field.types)) for field in measurement.fields}
    is_typed = case.engine.infers_roles
    return frozenset(f"{name} {types.get(name, '')}" if is_typed else name for name in measurement.columns)


def _wide(data_type: str) -> str:
    """The type without its size: nobody creates separate tables because of that."""
    if is_integer(data_type):
        return "integer"
    return "number" if is_number(data_type) else "text" if is_text(data_type) else data_type.upper()


def _has_values(measurement: Measurement) -> bool:
    is_log = measurement.kind is TableKind.EVENTS and not any(map(_is_measured, measurement.fields))
    return _is_wide(measurement) and not is_log


def _is_wide(measurement: Measurement) -> bool:
    """Whether the measurement has several fields that are not text, and whose names are not just statistics."""
    return sum(not all(map(is_text, f.types)) and not STATISTIC.fullmatch(f.key) for f in measurement.fields) > 1


def _has_readings(measurement: Measurement) -> bool:
    """Whether the measurement has several measured values. Whole numbers are not counted, because they may be positions
    in a list, or states.
    """
    return measurement.time_column is not None and sum(map(_is_measured, measurement.fields)) > 1


def _is_measured(field: Field) -> bool:
    return not STATISTIC.fullmatch(field.key) and any(is_number(t) and not is_integer(t) for t in field.types)


def _merged(database: str, family: NameFamily, parsed: Iterable[Merged]) -> MergeMeasurements:
    return MergeMeasurements(Subject(database), family.measurement, family.template, tuple(parsed))


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
