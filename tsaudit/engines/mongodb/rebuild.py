"""A collection whose documents are to look different: a copy beside it, made a day at a time, that replaces it.

Copying can be repeated: `$merge` skips documents that are in the copy already. A time series collection is no target of
`$merge`, cannot be renamed, and has no unique index, so a script copies a day into one only if it has none of that day.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from tsaudit.engines.mongodb import DOCUMENT_ID
from tsaudit.engines.mongodb.mongosh import collection, script
from tsaudit.engines.mongodb.pipelines import Meta, Stage, home, meta_of, stages
from tsaudit.engines.rendering import Place
from tsaudit.engines.rewriting import Rewriting
from tsaudit.model.plan import Phase, Step
from tsaudit.model.profile import Measurement
from tsaudit.text import listed

A_DAY: Final = timedelta(days=1)
_COPY_SERIES: Final = """\
const day = {day}, written = {written};
const old = {old};
const copy = {copy};
const chosen = {chosen};
const n = old.countDocuments(chosen), there = copy.countDocuments(written);
if (there === 0) {{
  let batch = [];
  old.aggregate([{{ $match: day }}{stages}]).forEach(found => {{
    batch.push(found);
    if (batch.length === 1000) {{ copy.insertMany(batch); batch = []; }}
  }});
  if (batch.length > 0) copy.insertMany(batch);
}} else if (there !== n) {{
  print(there, "of", n, "documents are there: delete those of the day with deleteMany, and run this again");
}}"""
"""For mongosh. A day that was copied as a whole is left alone."""

_INDEXES: Final = """\
const names = {names};
const left = {left};
for (const {{ v, ns, key, name, ...options }} of {old}.getIndexes()) {{
  if (name === "_id_" || left.includes(name) || "_fts" in key) continue;
  const columns = Object.entries(key).map(([column, how]) => [names[column] ?? column, how]);
  {copy}.createIndex(Object.fromEntries(columns), options);
}}"""


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """A collection, and what replaces it."""

    rewrite: Rewriting
    more: tuple[Stage, ...] = ()
    """Stages after all others."""
    without: tuple[str, ...] = ()
    """Indexes that the copy does not get."""
    granularity: str = ""
    """Of a time series, where it changes."""

    @property
    def is_series(self) -> bool:
        return is_series(self.rewrite.place.here)

    @property
    def final(self) -> str:
        """The name of the collection that replaces the old one, once all is done."""
        return self.rewrite.old if self.is_swapped else self.rewrite.new

    @property
    def is_swapped(self) -> bool:
        """Whether the copy takes the old one's name. No time series is renamed."""
        renamed = self.rewrite.new.startswith(f"{self.rewrite.old}_new")
        return renamed and not self.is_series and self.rewrite.new in self.rewrite.targets

    @property
    def backup(self) -> str:
        """What the old collection is called at last."""
        return self.rewrite.place.free(f"{self.rewrite.old}_old") if self.is_swapped else self.rewrite.old

    @property
    def meta(self) -> Meta:
        own = (self.rewrite.place.here.options or {}).get("timeseries.metaField", "")
        return meta_of(self.rewrite, own) if self.is_series else Meta("")

    def pipeline(self, target: str) -> list[Stage]:
        return [*stages(self.rewrite, target, self.meta), *(self.more if target == self.rewrite.new else ())]

    @property
    def names(self) -> dict[str, str]:
        """Old path to the new one, of those that change."""
        return {c.old: to for c in self.rewrite.columns if (to := home(c, self.meta)) != c.old and c.split is None}


def is_series(measurement: Measurement) -> bool:
    """Whether it is a time series collection."""
    return (measurement.options or {}).get("type") == "timeseries"


def last_day(place: Place) -> datetime:
    """The beginning of the last day that there are documents of."""
    newest = (place.measurement.last_time if place.measurement else None) or place.profile.window.end
    return newest.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


def of_day(measurement: Measurement, place: Place) -> dict[str, Any]:
    """A condition for the documents of one day; empty if they have no time."""
    day = last_day(place)
    return {measurement.time_column: {"$gte": day, "$lt": day + A_DAY}} if measurement.time_column else {}


def of_no_day(measurement: Measurement) -> dict[str, Any]:
    """A condition for the documents that `of_day` finds on no day; empty if it finds all."""
    return {measurement.time_column: {"$not": {"$type": "date"}}} if measurement.time_column else {}


def has_generated_ids(measurement: Measurement) -> bool:
    """Whether each `_id` is an ObjectId, as far as documents were read."""
    return any(field.key == DOCUMENT_ID and field.types == ("objectId",) for field in measurement.fields)


def steps(found: Rebuilt) -> Iterator[Step]:
    """The steps to it, after what writers are to do."""
    for target in found.rewrite.targets:
        if found.is_series:
            yield _created(found, target)
            yield _copied_series(found, target)
        else:
            yield from _copied(found, target)
        yield from _indexed(found, target)
        yield _counted(found, target)
    yield from _switched(found)
    yield _removed(found)


def _created(found: Rebuilt, target: str) -> Step:
    place, options = found.rewrite.place, found.rewrite.place.here.options or {}
    settings: dict[str, Any] = {"timeField": options.get("timeseries.timeField", place.here.time_column or "time")}
    if found.meta.name:
        settings["metaField"] = found.meta.name
    spans = ("bucketMaxSpanSeconds", "bucketRoundingSeconds")
    numbers = {name: int(options[f"timeseries.{name}"]) for name in spans if f"timeseries.{name}" in options}
    granularity = found.granularity or options.get("timeseries.granularity", "")
    settings |= {"granularity": granularity} if granularity else numbers
    expiry = {"expireAfterSeconds": int(options["expireAfterSeconds"])} if "expireAfterSeconds" in options else {}
    return Step(
        Phase.PREPARE,
        f"Create the time series collection {target}: a metaField cannot be changed later, and time series documents "
        "are hardly ever updated.",
        f"db.getSiblingDB({script(place.database)}).createCollection("
        f"{script(target)}, {script({'timeseries': settings, **expiry})})",
        "mongosh",
    )


def _copied_series(found: Rebuilt, target: str) -> Step:
    place, pipeline = found.rewrite.place, found.pipeline(target)
    day = of_day(place.here, place)
    first = pipeline[0]["$match"] if pipeline and "$match" in pipeline[0] else {}
    text = _COPY_SERIES.format(
        day=script(day),
        written=script(day),
        old=collection(place.database, place.here.name),
        copy=collection(place.database, target),
        chosen=script({"$and": [day, first]} if first else day),
        stages="".join(f", {script(stage)}" for stage in pipeline),
    )
    return Step(
        Phase.COPY,
        "Stop the writers, and copy the documents, one day at a time, the newest day first. A day that has been copied "
        "is skipped.",
        text,
        "mongosh",
        cost="reads and writes all documents",
        repeat_every=A_DAY,
    )


def _copied(found: Rebuilt, target: str) -> Iterator[Step]:
    place, pipeline = found.rewrite.place, found.pipeline(target)
    day, others = of_day(place.here, place), of_no_day(place.here)
    merge: dict[str, Any] = {"into": target, "on": DOCUMENT_ID, "whenMatched": "keepExisting"}

    def text(chosen: Mapping[str, Any]) -> str:
        first: list[Any] = [{"$match": chosen}] if chosen else []
        return (
            f"{collection(place.database, place.here.name)}.aggregate({script([*first, *pipeline, {'$merge': merge}])})"
        )

    said = ", one day at a time, the newest day first" if day else ""
    yield Step(
        Phase.COPY,
        f"Stop the writers, and copy the documents to {target}{said}. This can be repeated: documents that are there "
        "stay.",
        text(day),
        "mongosh",
        cost="reads and writes all documents",
        repeat_every=A_DAY if day else None,
    )
    if others:
        yield Step(Phase.COPY, "Copy the documents without a date.", text(others), "mongosh")


def _indexed(found: Rebuilt, target: str) -> Iterator[Step]:
    place = found.rewrite.place
    if target != found.rewrite.new:
        return
    text = _INDEXES.format(
        names=script(found.names),
        left=script(list(found.without)),
        old=collection(place.database, place.here.name),
        copy=collection(place.database, target),
    )
    by_hand = "" if found.is_series else " A text index, a validator, and a shard key have to be set by hand."
    yield Step(Phase.COPY, f"Index {target} like {place.here.name}.{by_hand}", text, "mongosh", cost="reads the copy")


def _counted(found: Rebuilt, target: str) -> Step:
    place, pipeline = found.rewrite.place, found.pipeline(target)
    first = pipeline[0]["$match"] if pipeline and "$match" in pipeline[0] else {}
    old = f"{collection(place.database, place.here.name)}.countDocuments({script(first)})"
    new = f"{collection(place.database, target)}.countDocuments({{}})"
    return Step(
        Phase.CHECK, "Compare the counts: they must be equal.", f"{old};\n{new}", "mongosh", cost="reads all documents"
    )


def _switched(found: Rebuilt) -> Iterator[Step]:
    place, rewrite = found.rewrite.place, found.rewrite
    if not found.is_swapped:
        yield Step(Phase.SWITCH, f"Have writers and queries use {listed(rewrite.targets, 6)}.")
        return
    old, new = collection(place.database, rewrite.old), collection(place.database, rewrite.new)
    yield Step(
        Phase.SWITCH,
        f"Swap the two: {rewrite.old} becomes {found.backup}, and the copy becomes {rewrite.old}. Then start the "
        "writers again, with the new form.",
        f"{old}.renameCollection({script(found.backup)});\n{new}.renameCollection({script(rewrite.old)});",
        "mongosh",
        locks="readers and writers of the two, for a moment",
    )


def _removed(found: Rebuilt) -> Step:
    place = found.rewrite.place
    kept = [found.final if target == found.rewrite.new else target for target in found.rewrite.targets]
    return Step(
        Phase.REMOVE,
        f"Drop {found.backup} once the counts are equal and nobody needs it.",
        f"{collection(place.database, found.backup)}.drop()",
        "mongosh",
        can_undo=False,
        loses=f"{found.backup}, whose documents are in {listed(kept, 6)} by then",
    )


def unfitting(found: Rebuilt, columns: Collection[str], kinds: Mapping[str, Sequence[str]]) -> Iterator[Step]:
    """Queries for values that do not convert, in the copy. `kinds`: path to the types that its values may have then."""
    place = found.rewrite.place
    for column in found.rewrite.columns:
        if column.old not in columns:
            continue
        path = column.old if column.split else home(column, found.meta)
        if column.split and column.is_tag and found.meta.name:
            path = found.meta.path(column.old)
        left: Any = {"$exists": True}
        if column.old in kinds:
            left = {"$exists": True, "$not": {"$type": list(kinds[column.old])}}
        yield Step(
            Phase.CHECK,
            f"See which values of {column.old} do not convert. The copy keeps them as they are.",
            f"{collection(place.database, found.rewrite.new)}.find({script({path: left})}).limit(20)",
            "mongosh",
            cost="reads the copy",
        )
