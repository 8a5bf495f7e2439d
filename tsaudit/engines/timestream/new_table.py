"""Replaces a Timestream table with a new one that has other columns or another partition key.

Timestream cannot change the role or the type of a column, a dimension and a measure cannot share a name, and the
partition key is set when the table is created. So one new table makes all changes at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from tsaudit.engines.rendering import Place
from tsaudit.engines.rewriting import Column, Rewriting, rewriting
from tsaudit.engines.timestream import SINGLE_VALUE, copying
from tsaudit.engines.timestream.columns import TYPES, Read, can_split, converted, fits, reads
from tsaudit.engines.timestream.kinds import EnforceKey, PartitionBy
from tsaudit.engines.timestream.tables import ENFORCEMENT, KEY, create_like, delete_table
from tsaudit.model.change import Change
from tsaudit.model.plan import Phase, Step
from tsaudit.text import listed

_MOST_NAMES: Final = 100
"""Measure names that a scheduled query maps one by one."""


def new_tables(place: Place, changes: Sequence[Change]) -> tuple[list[str], Iterator[Step]]:
    """Their names, and the steps to them."""
    rewrite = rewriting(place, changes)
    return list(rewrite.targets), _steps(rewrite, changes)


def _steps(rewrite: Rewriting, changes: Sequence[Change]) -> Iterator[Step]:
    place, lost = rewrite.place, _rejected(rewrite.place)
    key, is_new_key = _partition_key(rewrite, changes)
    yield Step(
        Phase.WRITE,
        " ".join([*_in_words(rewrite), _new_home(rewrite)]),
        loses=lost,
    )
    for target in rewrite.targets:
        yield Step(Phase.PREPARE, _created(target, key), _like(rewrite, changes, target, key), "sh")
    if reasons := list(_beyond(rewrite)):
        yield _by_program(rewrite, reasons, lost)
    else:
        missing = f"records without {key}, which the new table rejects; how many was not counted" if is_new_key else ""
        said = "; ".join(filter(None, (lost, missing)))
        for target in rewrite.targets:
            yield from _copied(rewrite, target, said)
        yield copying.stopped()
    for target in rewrite.targets:
        yield copying.counted(place, place.table(), place.table(target), _filled(rewrite, target))
    yield from _unfitting(rewrite)
    yield Step(Phase.SWITCH, f"Have queries, dashboards, and scheduled queries read {listed(rewrite.targets, 6)}.")
    yield Step(
        Phase.REMOVE,
        f"Delete {rewrite.old} once nobody needs it, or keep it until its records expire.",
        delete_table(place.database, rewrite.old),
        "sh",
        can_undo=False,
        loses=f"all records of {rewrite.old}",
    )


def _new_home(rewrite: Rewriting) -> str:
    replaces = "replaces" if len(rewrite.targets) == 1 else "replace"
    return f"Write to {listed(rewrite.targets, 6)}, which {replaces} {rewrite.old}."


def _in_words(rewrite: Rewriting) -> Iterator[str]:
    """What writers send from now on: a sentence for each kind of change."""
    demoted = [c.old for c in rewrite.columns if c.changes_role and not c.is_tag]
    promoted = [c.old for c in rewrite.columns if c.changes_role and c.is_tag]
    if demoted:
        one = len(demoted) == 1
        yield (
            f"Write {listed(demoted, 20)} as {'a measure' if one else 'measures'}, in one multi-measure record with "
            f"the others, not as {'a dimension' if one else 'dimensions'}."
        )
    if promoted:
        one = len(promoted) == 1
        yield f"Write {listed(promoted, 20)} as {'a dimension, not as a measure' if one else 'dimensions'}."
    for column in rewrite.columns:
        if column.split is not None:
            parts = ", ".join(f"{part.name}={part.example}" for part in column.split.parts)
            role = "dimension" if column.is_tag else "measure"
            yield f"Write one {role} per attribute: {parts} instead of {column.old}={column.split.example}."
    if renamed := [f"{c.old} as {c.new}" for c in rewrite.columns if c.new != c.old]:
        yield f"Write {listed(renamed, 20)}."
    if typed := [f"{c.new} as {TYPES[c.to]}" for c in rewrite.columns if c.to in TYPES]:
        yield f"Write {listed(typed, 20)}."
    for target in rewrite.moved:
        moved = [column.new for column in rewrite.fields_of(target)]
        yield f"Write {listed(moved, 20)} to a table of {'its' if len(moved) == 1 else 'their'} own, {target}, with "
        yield "the same dimensions."


def _rejected(place: Place) -> str:
    """What is lost where records get the dimensions and the time of others; empty where none does."""
    sharing = "then have dimensions, measure name and time in common, and reject or replace each other"
    return place.lost("record", sharing)


# --- The new table ---------------------------------------------------------------------------------------------------


def _partition_key(rewrite: Rewriting, changes: Sequence[Change]) -> tuple[str, bool]:
    """The dimension that the new table is partitioned by, empty for none, and whether it is another one than before."""
    before = (rewrite.place.here.options or {}).get(KEY, "")
    wanted = next((change.dimension for change in changes if isinstance(change, PartitionBy)), "")
    column = next((c for c in rewrite.tags if c.old == (wanted or before)), None)
    if column is None:
        return "", False
    name = column.split.parts[0].name if column.split else column.new
    return name, bool(wanted) and wanted != before


def _created(target: str, key: str) -> str:
    by = f", partitioned by {key}" if key else ""
    return (
        f"Create {target}{by}. It accepts records that are older than its memory store, as long as their retention "
        "allows."
    )


def _like(rewrite: Rewriting, changes: Sequence[Change], target: str, key: str) -> str:
    options = rewrite.place.here.options or {}
    asked = any(isinstance(change, PartitionBy | EnforceKey) for change in changes)
    return create_like(rewrite.place.here, target, key, "REQUIRED" if asked else options.get(ENFORCEMENT, "OPTIONAL"))


# --- Stored records --------------------------------------------------------------------------------------------------


def _beyond(rewrite: Rewriting) -> Iterator[str]:
    """What no scheduled query does."""
    single = [column for column in rewrite.columns if column.old.startswith(SINGLE_VALUE)]
    names = rewrite.place.here.measure_names
    for column in rewrite.columns:
        if column.split is not None and not can_split(column.split):
            yield f"split the values of {column.old}"
        elif column in single and (column.to or column.split or column.moves_to or column.changes_role):
            yield f"change the records of a single value in {column.old}"
    if single and (names is None or len(names.names) > _MOST_NAMES or names.count.value > len(names.names)):
        yield f"map more than {_MOST_NAMES} measure names one by one"
    elif single and names is not None and not all(name.data_type for name in names.names):
        yield "map measure names whose type is not known"
    for target in rewrite.targets:
        if all(column.was_tag for column in rewrite.fields_of(target)) and not single:
            yield f"write records to {target} that have no measure"


def _by_program(rewrite: Rewriting, reasons: Sequence[str], lost: str) -> Step:
    return Step(
        Phase.COPY,
        f"A scheduled query cannot {listed(reasons, 6)}. Export the stored records with UNLOAD, one day at a time, "
        f"change them in the same way, and load them into {listed(rewrite.targets, 6)} with a batch load task. Count "
        "what does not fit, and keep it as it is.",
        cost=copying.COST,
        loses=lost,
    )


def _copied(rewrite: Rewriting, target: str, lost: str) -> Iterator[Step]:
    place, columns = rewrite.place, reads(rewrite, target)
    single = {c.old: c for c in rewrite.columns if c.old.startswith(SINGLE_VALUE)}
    if single:
        columns = [_without_colon(place, column, single) for column in columns]
        mapping = copying.mixed(columns, _by_name(place, columns), _multi_names(place))
    else:
        mapping = copying.multi(columns)
    query = copying.select(place, place.table(), columns, _filled(rewrite, target))
    beside = [column.name for column in columns if column.is_left_over]
    kept = f" Values that do not convert are kept in {listed(beside, 8)}." if beside else ""
    yield from copying.steps(place, target, query, mapping, lost, kept)


def _without_colon(place: Place, column: Read, single: Mapping[str, Column]) -> Read:
    """The column under a name that a query may give it."""
    if column.name not in single:
        return column
    kind = column.name.removeprefix(SINGLE_VALUE)
    return Read(f"value_{kind}", place.quoted([column.name]), False, kind.upper())


def _by_name(place: Place, columns: Sequence[Read]) -> dict[str, list[Read]]:
    names = place.here.measure_names.names if place.here.measure_names else ()
    by_kind = {column.name: column for column in columns}
    return {
        name.name: [by_kind[f"value_{name.data_type.lower()}"]]
        for name in names
        if not name.is_multi and f"value_{name.data_type.lower()}" in by_kind
    }


def _multi_names(place: Place) -> list[str]:
    return [name.name for name in place.here.measure_names.names if name.is_multi] if place.here.measure_names else []


def _filled(rewrite: Rewriting, target: str) -> str:
    """A condition for records that have a measure of the table, where others have measures of another one."""
    if not rewrite.moved:
        return ""
    return " OR ".join(f"{rewrite.place.quoted([column.old])} IS NOT NULL" for column in rewrite.fields_of(target))


def _unfitting(rewrite: Rewriting) -> Iterator[Step]:
    """Queries for values that do not convert."""
    place, day = rewrite.place, copying.within(copying.last_day(rewrite.place))
    for column in rewrite.columns:
        name = place.quoted([column.old])
        if column.split is not None and can_split(column.split):
            condition = f"NOT ({fits(place, column.old, column.split)})"
        elif column.to and not column.old.startswith(SINGLE_VALUE):
            condition = f"{converted(place, column)} IS NULL"
        else:
            continue
        yield Step(
            Phase.CHECK,
            f"See which values of {column.old} do not convert. The copy keeps them as they are.",
            f"SELECT {name}, count(*) FROM {place.table()} WHERE {day} AND {name} IS NOT NULL "  # noqa: S608 -- shown
            f"AND {condition} GROUP BY {name} ORDER BY 2 DESC LIMIT 20",
            "sql",
            cost="reads all stored records, which is charged",
            repeat_every=copying.A_DAY,
        )
