"""Changes of one collection: all that take a copy in one copy, and the others as settings of what is used then."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Final

from tsaudit.engines.mongodb.kinds import LongerSpan, MakeTimeSeries, NamesToValues, Validate
from tsaudit.engines.mongodb.mongosh import collection, script, text
from tsaudit.engines.mongodb.pipelines import MAY_BE, Stage, can_split, clashes, home
from tsaudit.engines.mongodb.rebuild import Rebuilt, is_series, steps, unfitting
from tsaudit.engines.rendering import Place
from tsaudit.engines.rewriting import KINDS, rewriting
from tsaudit.model.change import AddIndex, Change, DropIndex, MakeField, MakeTag, SetRetention
from tsaudit.model.plan import Phase, Step
from tsaudit.text import listed, many


def collection_changes(place: Place, changes: Sequence[Change]) -> Iterator[Step]:
    """All changes of a collection: at most one copy of it, and its indexes, options and validator."""
    arrays = [change for change in changes if isinstance(change, NamesToValues)]
    copied = [change for change in changes if isinstance(change, KINDS)]
    if not is_series(place.here):
        copied = [change for change in copied if not isinstance(change, MakeTag | MakeField)]
    found = None
    if arrays or copied:
        found = _rebuilt(place, copied, arrays, changes)
        yield from _copied(found, arrays)
    elif any(isinstance(change, MakeTag) for change in changes):
        tags = [change.column for change in changes if isinstance(change, MakeTag)]
        yield from (_indexed(place, place.here.name, _by_time(place, tag)) for tag in tags)
    name = found.final if found else place.here.name
    yield from _settings(place, changes, name, is_copied=found is not None)


def _rebuilt(
    place: Place, copied: Sequence[Change], arrays: Sequence[NamesToValues], changes: Sequence[Change]
) -> Rebuilt:
    gone = tuple(change.index for change in changes if isinstance(change, DropIndex))
    coarser = next((change.granularity for change in changes if isinstance(change, LongerSpan)), "")
    return Rebuilt(rewriting(place, copied), tuple(map(_as_array, arrays)), gone, coarser)


def _copied(found: Rebuilt, arrays: Sequence[NamesToValues]) -> Iterator[Step]:
    rewritten = found.rewrite
    said = [*_in_words(found), *map(_array_in_words, arrays)]
    if not found.is_swapped:
        said.append(f"Write to {listed(rewritten.targets, 6)}, which replaces {rewritten.old}.")
    yield Step(Phase.WRITE, " ".join(said))
    odd = [c.old for c in rewritten.columns if c.split and not can_split(c.split)]
    odd += [path for target in rewritten.targets for path in clashes(found.pipeline(target))]
    if odd:
        yield Step(
            Phase.COPY,
            f"No pipeline changes {listed(odd, 6)} together with the others: write a script that reads the documents "
            f"one day at a time, changes them in the same way, and writes them to {listed(rewritten.targets, 6)}. It "
            "should count what does not fit, and leave that as it is.",
            cost="reads and writes all documents",
        )
        return
    yield from steps(found)
    for change in arrays:
        yield _indexed(rewritten.place, rewritten.new, (f"{change.name}.k", f"{change.name}.v"))
    kinds = {c.old: MAY_BE[c.to] for c in rewritten.columns if c.to}
    yield from unfitting(found, [c.old for c in rewritten.columns if c.split or c.to], kinds)


def _in_words(found: Rebuilt) -> Iterator[str]:
    """What writers send from now on: a sentence for each kind of change."""
    rewritten, meta = found.rewrite, found.meta
    demoted = [f"{c.old} as {home(c, meta)}" for c in rewritten.columns if c.changes_role and not c.is_tag]
    promoted = [f"{c.old} as {home(c, meta)}" for c in rewritten.columns if c.changes_role and c.is_tag]
    if demoted:
        yield f"Write {listed(demoted, 20)}, outside the metaField."
    if promoted:
        yield f"Write {listed(promoted, 20)}, in the metaField."
    for column in rewritten.columns:
        if column.split is not None:
            parts = {part.name: part.example for part in column.split.parts}
            yield f"Write one field per attribute: {script(parts)} instead of {column.old}: {column.split.example}."
    renamed = {c.old: home(c, meta) for c in rewritten.columns if c.new != c.old and not c.changes_role}
    if renamed:
        yield f"Write {listed([f'{old} as {new}' for old, new in renamed.items()], 20)}."
    if typed := [f"{home(c, meta)} as {MAY_BE[c.to][0]}" for c in rewritten.columns if c.to]:
        yield f"Write {listed(typed, 20)}."
    for target in rewritten.moved:
        moved = [column.new for column in rewritten.fields_of(target)]
        yield f"Write {listed(moved, 20)} to a collection of {'its' if len(moved) == 1 else 'their'} own, {target}."


def _array_in_words(change: NamesToValues) -> str:
    return (
        "Write the varying part of the names as a value, so that one index serves all: "
        f"{{ {text(change.name)}: [{{ k: {text(change.example)}, v: ... }}] }}"
    )


def _as_array(change: NamesToValues) -> Stage:
    """The stage that turns names into values; at the top, all fields except `_id`."""
    if change.above:
        return {"$set": {change.above: {"$objectToArray": f"${change.above}"}}}
    pairs = {"$filter": {"input": {"$objectToArray": "$$ROOT"}, "cond": {"$ne": ["$$this.k", "_id"]}}}
    return {"$project": {change.name: pairs}}


# --- Settings of a collection ----------------------------------------------------------------------------------------


def _settings(place: Place, changes: Sequence[Change], name: str, *, is_copied: bool) -> Iterator[Step]:
    """`name`: of the collection once all is done; `is_copied`: whether a copy takes its place."""
    for change in changes:
        if isinstance(change, AddIndex):
            yield _indexed(place, name, change.columns, Phase.REMOVE if is_copied else Phase.PREPARE)
        elif isinstance(change, DropIndex) and not is_copied:
            yield from _index_dropped(place, change)
        elif isinstance(change, SetRetention):
            yield _kept_for(place, name, change)
        elif isinstance(change, LongerSpan) and not is_copied:
            yield _longer_span(place, change)
        elif isinstance(change, Validate):
            yield _validated(place, change) if not is_copied else _later("Validate documents")
        elif isinstance(change, MakeTimeSeries):
            yield from _time_series(place, change) if not is_copied else [_later("Make it a time series")]


def _later(what: str) -> Step:
    return Step(Phase.REMOVE, f"{what} once the copy is in use: audit again then, for the new names.")


def _by_time(place: Place, column: str) -> tuple[str, ...]:
    return (column, place.here.time_column) if place.here.time_column else (column,)


def _indexed(place: Place, name: str, columns: Sequence[str], phase: Phase = Phase.PREPARE) -> Step:
    keys = script(dict.fromkeys(columns, 1))
    return Step(
        phase,
        f"Index {listed(columns)} in {name}.",
        f"{collection(place.database, name)}.createIndex({keys})",
        "mongosh",
        cost="reads all documents",
    )


def _index_dropped(place: Place, change: DropIndex) -> Iterator[Step]:
    yield Step(
        Phase.PREPARE,
        f"Hide {change.index}, and watch the slow queries for some days: unhideIndex brings it back at once.",
        f"{collection(place.database, place.here.name)}.hideIndex({text(change.index)})",
        "mongosh",
    )
    yield Step(
        Phase.REMOVE,
        f"Then drop {change.index}.",
        f"{collection(place.database, place.here.name)}.dropIndex({text(change.index)})",
        "mongosh",
        can_undo=False,
    )


def _kept_for(place: Place, name: str, change: SetRetention) -> Step:
    seconds, days = int(change.keep.total_seconds()), many(round(change.keep / timedelta(days=1)), "day")
    if is_series(place.here):
        asked = {"collMod": name, "expireAfterSeconds": seconds}
        command = f"db.getSiblingDB({text(place.database)}).runCommand({script(asked)})"
    else:
        key = script({place.here.time_column or "time": 1})
        command = f"{collection(place.database, name)}.createIndex({key}, {script({'expireAfterSeconds': seconds})})"
    return Step(
        Phase.REMOVE,
        f"Decide how long the documents of {name} are needed, and let older ones expire.",
        command,
        "mongosh",
        can_undo=False,
        loses=f"documents older than {days}; how many there are is not known",
    )


def _validated(place: Place, change: Validate) -> Step:
    command = f'collMod: {text(place.here.name)}, validationLevel: "moderate", validationAction: "warn"'
    return Step(
        Phase.PREPARE,
        "Decide what the documents have to look like, and let the server check it. At first it only logs what does "
        'not fit; when the log is silent, set validationAction to "error". By what is there today:',
        f"db.getSiblingDB({text(place.database)}).runCommand({{ {command}, validator: {change.schema} }})",
        "mongosh",
    )


def _time_series(place: Place, change: MakeTimeSeries) -> Iterator[Step]:
    """A time series collection, and the copy into it."""
    series, database = place.free(f"{place.here.name}_series"), text(place.database)
    options = f"timeField: {text(change.time)}, metaField: {text(change.source)}"
    yield Step(
        Phase.PREPARE,
        "Create a time series collection. It has no unique index, and it updates documents only by their source.",
        f"db.getSiblingDB({database}).createCollection({text(series)}, {{ timeseries: {{ {options} }} }})",
        "mongosh",
    )
    yield Step(
        Phase.COPY,
        "Stop the writers, and copy the documents before anything else is written to it: $out replaces what is there. "
        "This takes MongoDB 7.0.3 or later.",
        f"{collection(place.database, place.here.name)}.aggregate([{{ $out: {{ db: {database}, coll: {text(series)}, "
        f"timeseries: {{ {options} }} }} }}])",
        "mongosh",
        cost="reads and writes all documents",
    )
    counts = [f"{collection(place.database, name)}.countDocuments({{}})" for name in (place.here.name, series)]
    yield Step(Phase.CHECK, "Compare the counts: they must be equal.", ";\n".join(counts), "mongosh")
    yield Step(Phase.SWITCH, f"Have writers and queries use {series}.")


def _longer_span(place: Place, change: LongerSpan) -> Step:
    settings = f"timeseries: {{ granularity: {text(change.granularity)} }}"
    return Step(
        Phase.PREPARE,
        "Let a bucket cover more time, which keeps more of each source together.",
        f"db.getSiblingDB({text(place.database)}).runCommand({{ collMod: {text(place.here.name)}, {settings} }})",
        "mongosh",
        can_undo=False,
    )


CHANGES: Final[tuple[type[Change], ...]] = (
    *KINDS,
    AddIndex,
    DropIndex,
    LongerSpan,
    MakeTimeSeries,
    NamesToValues,
    SetRetention,
    Validate,
)
"""What `collection_changes` renders."""
