"""How MongoDB makes changes: writers send other documents, and scripts for mongosh convert what is stored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Final

from tsaudit.engines.mongodb.collection_changes import CHANGES, collection_changes
from tsaudit.engines.mongodb.kinds import ItemsToDocuments, KeepCounts, OneCollection, UseAsId
from tsaudit.engines.mongodb.looks import inspect
from tsaudit.engines.mongodb.merging import merge
from tsaudit.engines.mongodb.mongosh import collection, is_one_of, text
from tsaudit.engines.rendering import Place, Renderers
from tsaudit.engines.sql import changes as sql
from tsaudit.model.change import Inspect, LeaveOut, MergeMeasurements
from tsaudit.model.plan import Phase, Step

_KEEP: Final = timedelta(days=400)
_EXPIRING: Final = """\
for (const {{ name }} of {into}.getIndexes()) if (name === "period_1") {into}.dropIndex(name);
{into}.createIndex({{ period: 1 }}, {{ expireAfterSeconds: {seconds} }})"""
"""The server refuses a second index on the same field that differs in its options only."""
_IDS: Final = """\
const apply = false;  // as it is, it only shows what it would do
const database = db.getSiblingDB({database});
const chosen = name => {chosen};
for (const name of database.getCollectionNames().filter(chosen).sort()) {{
  const copy = name + "_by_own_id";
  const old = database.getCollection(name);
  const n = old.countDocuments({{}});
  const without = old.countDocuments({{ {field}: null }});
  if (without > 0 || database.getCollectionNames().includes(copy)) {{
    print(name, "is left alone:", without > 0 ? without + " documents lack " + {field} : copy + " is there already");
    continue;
  }}
  print(name, n);
  if (!apply) continue;
  old.aggregate([{{ $set: {{ _id: {path} }} }}, {{ $unset: {field} }}, {{ $out: copy }}]);
  const others = old.getIndexes().filter(index => !["_id_", {index}].includes(index.name));
  if (others.length > 0) database.runCommand({{ createIndexes: copy, indexes: others }});
  const same = database.getCollection(copy).countDocuments({{}}) === n && old.countDocuments({{}}) === n;
  const indexed = database.getCollection(copy).getIndexes().length === others.length + 1;
  if (same && indexed) database.getCollection(copy).renameCollection(name, true);
  else print(name, "is left as it is: it was written to, or an index could not be made; drop", copy);
}}"""
"""For mongosh. It drops the old collection only if the copy has as many documents, and all other indexes."""

_COUNTS: Final = """\
const apply = false;  // as it is, it only shows what it would do
const database = db.getSiblingDB({database});
const counts = database.getCollection({counts});
const closed = name => {closed};
for (const name of database.getCollectionNames().filter(closed).sort()) {{
  const n = database.getCollection(name).countDocuments({{}});
  const before = counts.findOne({{ _id: name }});
  if (before !== null && before.n !== n) {{
    print(name, n, "is left alone: it was counted before, as", before.n);
    continue;
  }}
  print(name, n);
  if (!apply) continue;
  counts.updateOne({{ _id: name }}, {{ $set: {{ n: n }} }}, {{ upsert: true, writeConcern: {{ w: "majority" }} }});
  const kept = counts.findOne({{ _id: name }});
  const again = database.getCollection(name).countDocuments({{}});
  if (kept !== null && kept.n === again) database.getCollection(name).drop();
}}"""
"""For mongosh. It drops a collection only after its count can be read and nothing was written to it meanwhile.

If a late writer created the collection again after it was dropped, it is left alone: its count would replace the full
one. Only names that were closed on the day of the audit count as closed, so a collection created later, or of another
kind, is never touched.
"""


def use_as_id(place: Place, changes: Sequence[UseAsId]) -> Iterator[Step]:
    """An ID takes the place of the generated one."""
    for change in changes:
        yield Step(
            Phase.WRITE,
            f"Write {change.field} as the document's _id from now on, and query by _id instead of {change.field}.",
        )
        script = _IDS.format(
            database=text(change.at.database),
            chosen=is_one_of(place.profile, change.at.database, change.collections),
            path=text(f"${change.field}"),
            field=text(change.field),
            index=text(change.index),
        )
        yield Step(
            Phase.COPY,
            "With the writers stopped, convert what is stored. As it is, the script only prints what it would do. A "
            "validator has to be set again, and a sharded collection keeps its shard key.",
            script,
            "mongosh",
            can_undo=False,
            cost="reads and writes all documents",
            loses="the generated _id of each document: first make sure that nothing refers to it",
        )


def keep_counts(place: Place, changes: Sequence[KeepCounts]) -> Iterator[Step]:
    """Counts take the place of collections that are only ever counted."""
    for change in changes:
        script = _COUNTS.format(
            database=text(change.at.database),
            counts=text(change.into),
            closed=is_one_of(place.profile, change.at.database, change.collections),
        )
        yield Step(
            Phase.REMOVE,
            "If the past is only ever counted, keep the counts and drop the collections. As it is, the script only "
            "prints what it would do. For what closes later, a nightly job can do the same, working out the last name "
            "by itself.",
            script,
            "mongosh",
            can_undo=False,
            cost="counts all documents",
            loses="every document of the closed periods, and with them how many different ones several periods had "
            "together",
        )


def one_collection(place: Place, changes: Sequence[OneCollection]) -> Iterator[Step]:
    """One collection for all periods, and two ways to keep it small."""
    for change in changes:
        at = change.at.database if place.measurement or change.at.measurement else ""
        database = f"db.getSiblingDB({text(at)})" if at else "db"
        into = f"{database}.getCollection({text(change.into)})"
        yield Step(
            Phase.WRITE,
            "Write the documents of all periods to one collection, with the period as a date in a field. Measurements "
            "with a time belong in a time series collection. If closed periods are only ever counted, keep their "
            "counts instead (closed-period-kept).",
        )
        yield Step(Phase.PREPARE, "Index the period.", f"{into}.createIndex({{ period: 1 }})", "mongosh")
        yield Step(
            Phase.REMOVE,
            "Or, in place of that index, let documents expire by their period.",
            _EXPIRING.format(into=into, seconds=int(_KEEP.total_seconds())),
            "mongosh",
            can_undo=False,
            loses=f"documents whose period is more than {_KEEP.days} days ago",
        )


def items_to_documents(place: Place, changes: Sequence[ItemsToDocuments]) -> Iterator[Step]:
    """Items become documents of a collection beside."""
    for change in changes:
        copy = place.free(f"{place.here.name}_{change.field.rpartition('.')[2]}")
        yield Step(
            Phase.WRITE,
            f"Write each item of {change.field} as a document of its own, with the _id of the document that it belongs "
            "to and an index on it; or limit the array on each write with $push and $slice.",
        )
        unwound = text(f"${change.field}")
        yield Step(
            Phase.COPY,
            f"Copy what is stored to {copy}. It may be repeated: what is there already stays.",
            f"{collection(place.database, place.here.name)}.aggregate("
            f'[{{ $unwind: {{ path: {unwound}, includeArrayIndex: "place" }} }}, '
            f'{{ $project: {{ _id: {{ of: "$_id", at: "$place" }}, of: "$_id", item: {unwound} }} }}, '
            f'{{ $merge: {{ into: {text(copy)}, whenMatched: "keepExisting" }} }}])',
            "mongosh",
            cost="reads all documents, and writes one for each item",
        )


RENDERERS: Final[Renderers] = {
    Inspect: inspect,
    ItemsToDocuments: items_to_documents,
    KeepCounts: keep_counts,
    LeaveOut: sql.leave_out,
    MergeMeasurements: merge,
    OneCollection: one_collection,
    UseAsId: use_as_id,
    **dict.fromkeys(CHANGES, collection_changes),
}
