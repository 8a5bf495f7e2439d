"""What several rules want of measurements whose names differ in data only."""

from __future__ import annotations

import dataclasses
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Final

from tsaudit.engines.sql.types import is_integer, is_number, is_text
from tsaudit.model.change import Merged, MergeMeasurements
from tsaudit.model.profile import SERIES_KINDS, Field, Measurement, TableKind
from tsaudit.model.subject import Subject
from tsaudit.rule import Case

if TYPE_CHECKING:
    from tsaudit.analysis.shapes.name_families import Told
    from tsaudit.analysis.shapes.shapes import NameFamily
    from tsaudit.analysis.tables.grids import Grid

_MERGED_KINDS: Final = SERIES_KINDS | {TableKind.EVENTS}
"""Of what is in such tables, one table can hold all."""
_STATISTIC: Final = re.compile(
    r"(n|num|count|counter|sum|mean|avg|average|median|min|minimum|max|maximum|upper|lower|std|stddev|std_dev|var"
    r"|variance|first|last|value|gauge|rate|delta|histogram|(m\d+|mean|one_minute|five_minute|fifteen_minute)_?rate"
    r"|(upper|lower|mean|sum|count|p|pct|percentile|quantile)?_?\d+(_?\d+)?(_?(pct|percentile|th|ile))?|sum_squares)",
    re.IGNORECASE,
)
"""Fields that any quantity has: their names do not say what is measured, so that of the measurement has to."""


def merged(database: str, family: NameFamily) -> MergeMeasurements:
    """All of them as one measurement, with what varies as tags."""
    from tsaudit.analysis.shapes.name_families import told_by

    return _merged(database, family, told_by(family))


def merged_grid(database: str, grid: Grid) -> MergeMeasurements:
    """All names of the grid as one measurement, with the words that vary as tags."""
    return _merged(database, grid.family, grid.told())


def grids_of(case: Case, inside: Mapping[str, Measurement]) -> list[Grid]:
    """Grids and lists of words among the names of measurements with the same columns.

    Measurements of a single number, which a collector names after quantities, are no list: their names have to be a
    grid. `inside`: the measurements to look at, by name.
    """
    from tsaudit.analysis.tables import grids

    alike: dict[frozenset[str], list[str]] = defaultdict(list)
    for name, measurement in inside.items():
        if not case.tables.has_given_columns(measurement):
            alike[frozenset(measurement.columns)].append(name)
    found: list[Grid] = []
    for names in alike.values():
        first, rest = inside[names[0]], set(names)
        searches: list[Callable[[Collection[str]], list[Grid]]] = [grids.grids]
        searches += [grids.lists] if _is_wide(first) else []
        searches += [grids.whole] if _has_readings(first) else []
        for search in searches:
            more = search(rest)
            found += more
            rest -= {name for one in more for name in one.members}
    return sorted(found, key=lambda one: one.template)


def families_of_one_schema(case: Case, database: str) -> list[tuple[NameFamily, MergeMeasurements]]:
    """Tables of series or events with the same columns, whose names differ in data or in one word, with the merge of
    each.

    Tables of events need measured values or a period in their names: a log of changes for each table has a schema of
    its own by design.
    """
    from tsaudit.analysis.shapes import shapes

    inside = {m.name: m for m in case.measurements if m.database == database and m.kind in _MERGED_KINDS}
    found: list[tuple[NameFamily, MergeMeasurements]] = []
    for family in shapes.name_families(list(inside)):
        alike: dict[frozenset[str], list[str]] = defaultdict(list)
        for name in family.members:
            alike[frozenset(inside[name].columns)].append(name)
        members = max(alike.values(), key=len)
        is_dated = "{date}" in family.template
        if len(members) > 1 and (is_dated or _has_values(inside[members[0]])):
            same = dataclasses.replace(family, members=tuple(members))
            found.append((same, merged(database, same)))
    taken = {name for family, _ in found for name in family.members}
    rest = {name: m for name, m in inside.items() if name not in taken and _has_values(m)}
    return [*found, *((grid.family, merged_grid(database, grid)) for grid in grids_of(case, rest))]


def _has_values(measurement: Measurement) -> bool:
    is_log = measurement.kind is TableKind.EVENTS and not any(map(_is_measured, measurement.fields))
    return _is_wide(measurement) and not is_log


def _is_wide(measurement: Measurement) -> bool:
    """Whether it has several fields that say what they are, and that are not text."""
    return sum(not all(map(is_text, f.types)) and not _STATISTIC.fullmatch(f.key) for f in measurement.fields) > 1


def _has_readings(measurement: Measurement) -> bool:
    """Whether it has several measured values: whole numbers may also be positions in a list, or states."""
    return measurement.time_column is not None and sum(map(_is_measured, measurement.fields)) > 1


def _is_measured(field: Field) -> bool:
    return not _STATISTIC.fullmatch(field.key) and any(is_number(t) and not is_integer(t) for t in field.types)


def _merged(database: str, family: NameFamily, told: Iterable[Told]) -> MergeMeasurements:
    members = tuple(Merged(one.name, one.tags, one.field) for one in told)
    return MergeMeasurements(Subject(database), family.measurement, family.template, members)
