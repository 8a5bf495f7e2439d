"""How MongoDB's users make the changes of a plan: writers send different documents, and commands change the rest."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

from tsaudit.engines.advice import WRITTEN, Advice, Piece, together
from tsaudit.engines.mongodb.collections import (
    ItemsToDocuments,
    KeepCounts,
    LongerSpan,
    MakeTimeSeries,
    UseAsId,
    Validate,
    is_series,
)
from tsaudit.engines.mongodb.mongosh import (
    Blank,
    beside,
    collection,
    copied_series,
    diagnostic_query,
    nested,
    script,
    series_options,
    text,
    updated,
    wrapped,
)
from tsaudit.model.change import (
    AddIndex,
    Change,
    ChangeType,
    Diagnose,
    DropIndex,
    LeaveOut,
    MakeField,
    MakeTag,
    MergeMeasurements,
    Rename,
    SetRetention,
    SplitColumn,
    SplitMeasurement,
)
from tsaudit.model.plan import Step, StepKind
from tsaudit.model.profile import Measurement
from tsaudit.text import listed, many

_MOST_NAMES: Final = 6
_MOST_QUERIES: Final = 3
_MOST_COMMANDS: Final = 6
_MOST_EXAMPLES: Final = 12
_ONE_DAY: Final = timedelta(days=1)
_BSON_TYPES: Final = {"integer": "long", "float": "double", "boolean": "bool", "time": "date"}


class MongoAdvice(Advice):
    """The steps of a plan on MongoDB, where no document overwrites another: two may be equal except for their `_id`."""

    also: Sequence[MongoAdvice]
    handles = frozenset(
        {
            *WRITTEN,
            AddIndex,
            Diagnose,
            DropIndex,
            ItemsToDocuments,
            KeepCounts,
            LongerSpan,
            MakeTimeSeries,
            SetRetention,
            UseAsId,
            Validate,
        }
    ) - {Rename}

    def find(self) -> Step | None:
        asked = self.asked_for() or self.new_values()
        queries = (diagnostic_query(self.place, change) for change in asked)
        found = [one for one in queries if one is not None]
        return together(StepKind.FIND, found[:_MOST_QUERIES], "mongosh", _lines)

    def writer(self) -> Step | None:
        said = [*self._columns_to_write(), *self._documents_to_write()]
        if not said:
            return None
        example = self._example()
        return Step(StepKind.WRITER, " ".join(said), example, "text" if example else "")

    def schema(self) -> Step | None:
        own = [piece for change in self.changes for piece in self._schema(change)]
        others = [piece.text for other in self.also for change in other.changes for piece in other._schema(change)]
        return together(StepKind.SCHEMA, own, "mongosh", _lines, others, _MOST_COMMANDS, "collection")

    def stored(self) -> Step | None:
        found = [piece for change in self.changes for piece in self._stored(change)]
        if self.place.measurement is not None:
            found += self._rewritten()
        if any(piece.text for piece in found) and self.also:
            found.append(Piece(f"Each of the {many(len(self.also), 'other collection')} takes the same command."))
        return together(StepKind.STORED, found, "mongosh", _lines)

    def verify(self) -> Step | None:
        kinds = {type(change) for change in self.changes} - {Diagnose}
        if not kinds:
            return None
        if kinds & {MakeField, MakeTag, LeaveOut, LongerSpan} and self._is_series:
            said = "Look at the documents per bucket in the audit of tomorrow: they must have become more."
        elif kinds & {DropIndex, AddIndex}:
            said = "Watch the slow query log for a week: no query may read all documents."
        elif SetRetention in kinds:
            said = "Look at the oldest document after one day: the server deletes expired ones about once a minute."
        elif Validate in kinds:
            said = "Read the log for a week: it names each write that does not fit. Then set validationAction to error."
        elif kinds & {MergeMeasurements, KeepCounts}:
            said = "Look at the number of collections in the audit of tomorrow, and again in a month: it must not grow."
        else:
            said = "The audit of tomorrow must no longer list the finding for new documents."
        return Step(StepKind.VERIFY, said)

    @property
    def _is_series(self) -> bool:
        return self.place.measurement is not None and is_series(self.place.measurement)

    @property
    def _here(self) -> str:
        return collection(self.place.database, self.place.here.name)

    @property
    def _database(self) -> str:
        return f"db.getSiblingDB({text(self.place.database)})"

    # --- Writers --------------------------------------------------------------------------------------------------

    def _columns_to_write(self) -> Iterator[str]:
        """A sentence for each kind of change to fields."""
        changes = self.changes
        if left := [change.column for change in changes if isinstance(change, LeaveOut)]:
            yield f"Stop writing {listed(left, _MOST_NAMES)}."
        fields = [change.tag for change in changes if isinstance(change, MakeField)]
        if fields and self._is_series:
            yield f"Write {listed(fields, _MOST_NAMES)} beside the metaField, as a measurement, not in it."
        elif fields:
            yield f"Leave {listed(fields, _MOST_NAMES)} out of what identifies a source, and out of indexes."
        tags = [change.column for change in changes if isinstance(change, MakeTag)]
        if tags and self._is_series:
            yield f"Write {listed(tags, _MOST_NAMES)} in the metaField."
        for change in changes:
            if isinstance(change, Diagnose) and change.what == "types":
                yield f"Write {change.column} with one type in all documents."
            elif isinstance(change, SplitColumn):
                parts = {part.name: part.example for part in change.parts}
                yield f"Write one field per attribute: {script(parts)} instead of {change.column}: {change.example}."
        typed = [f"{c.column} as {_BSON_TYPES[c.to]}" for c in changes if isinstance(c, ChangeType)]
        if typed:
            yield f"Write {listed(typed, _MOST_NAMES)}."

    def _documents_to_write(self) -> Iterator[str]:
        """A sentence for each change of what forms one document, or one collection."""
        for change in self.changes:
            match change:
                case UseAsId(field=field):
                    yield f"Write {field} as the document's _id, and query by _id instead of {field}."
                case ItemsToDocuments(field=field):
                    yield (
                        f"Write each item of {field} as a document of its own, with the _id of the document it belongs "
                        "to and an index on it; or, if nobody needs old items, drop them on each write with $push and "
                        "$slice."
                    )
                case SplitMeasurement(name=name, columns=columns):
                    its = "its" if len(columns) == 1 else "their"
                    yield f"Write {listed(columns, _MOST_NAMES)} to a collection of {its} own, {name}."
                case MergeMeasurements(into=into, members=members):
                    first = members[0]
                    what = f" with {script(dict(first.tags))} in each document" if first.tags else ""
                    yield f"Write to {into}{what}, instead of to {first.measurement}."
                case MakeTimeSeries(time=time, source=source):
                    yield (
                        f"Write to the time series collection of the next step, with {time} as a date and {source} to "
                        "name the source."
                    )

    def _example(self) -> str:
        """An example of a document as it should be written, with the fields that matter for the changes; empty if the
        changes need no example.
        """
        if self.place.measurement is None:
            return ""
        gone = {change.column for change in self.changes if isinstance(change, LeaveOut | SplitColumn)}
        fields = [change.tag for change in self.changes if isinstance(change, MakeField)]
        if not fields and not gone:
            return ""
        here = self.place.here
        kept = [key for key in (here.time_column, *(tag.key for tag in here.tags)) if key]
        kept = [key for key in kept if key not in gone and key not in fields]
        kept += [field.rpartition(".")[2] for field in fields]
        for change in self.changes:
            if isinstance(change, SplitColumn):
                kept += [beside(change.column, part.name) for part in change.parts]
        document = nested(dict.fromkeys(kept[:_MOST_EXAMPLES], Blank()))
        return wrapped(f"{self._here}.insertOne({script(document)})") + ";"

    # --- The schema -----------------------------------------------------------------------------------------------

    def _schema(self, change: Change) -> Iterator[Piece]:
        match change:
            case AddIndex(columns=columns):
                yield self._indexed(columns)
            case MakeTag(column=column) if not self._is_series:
                time = self.place.here.time_column
                yield self._indexed((column, time) if time else (column,))
            case DropIndex(index=index):
                yield Piece(
                    f"Drop the index {index}. To try it first, hide it with hideIndex for some days: unhideIndex "
                    "brings it back at once.",
                    f"{self._here}.dropIndex({text(index)})",
                )
            case SetRetention(keep=keep):
                yield self._kept_for(keep)
            case Validate(schema=schema):
                yield self._validated(json.loads(schema))
            case LongerSpan(granularity=granularity):
                asked = {"collMod": self.place.here.name, "timeseries": {"granularity": granularity}}
                yield Piece(
                    "Let a bucket cover more time, which keeps more of each source together. It cannot be undone.",
                    f"{self._database}.runCommand({script(asked)})",
                )
            case MakeTimeSeries(time=time, source=source):
                options = {"timeField": time, "metaField": source}
                yield Piece(
                    "Create a time series collection. It has no unique index, and updates documents only by their "
                    "source. The metaField cannot be changed later.",
                    f"{self._database}.createCollection({text(self._series_name)}, {script({'timeseries': options})})",
                )
            case MakeField(tag=name) if self._is_series and name == self._options.get("timeseries.metaField"):
                yield self._new_series()

    @property
    def _options(self) -> Mapping[str, str]:
        return self.place.here.options or {}

    def _new_series(self) -> Piece:
        name, options = self.place.free(f"{self.place.here.name}_new"), series_options(self.place.here, "")
        return Piece(
            f"The metaField of a collection cannot be changed. Create {name}, and write to it.",
            f"{self._database}.createCollection({text(name)}, {script({'timeseries': options})})",
        )

    @property
    def _series_name(self) -> str:
        return self.place.free(f"{self.place.here.name}_series")

    def _indexed(self, columns: Sequence[str]) -> Piece:
        keys = script(dict.fromkeys(columns, 1))
        words = f"Index {listed(columns, _MOST_NAMES)}."
        return Piece(words, f"{self._here}.createIndex({keys})", "reads all documents")

    def _kept_for(self, keep: timedelta) -> Piece:
        seconds, days = int(keep.total_seconds()), many(round(keep / _ONE_DAY), "day")
        if self._is_series:
            asked = {"collMod": self.place.here.name, "expireAfterSeconds": seconds}
            command = f"{self._database}.runCommand({script(asked)})"
        else:
            key = script({self.place.here.time_column or "time": 1})
            command = f"{self._here}.createIndex({key}, {script({'expireAfterSeconds': seconds})})"
        return Piece(
            f"Decide how long the documents are needed, and let older ones expire: here after {days}.",
            command,
            loses=f"documents older than {days}, from then on",
        )

    def _validated(self, schema: Mapping[str, Any]) -> Piece:
        asked = {
            "collMod": self.place.here.name,
            "validationLevel": "moderate",
            "validationAction": "warn",
            "validator": schema,
        }
        return Piece(
            "Decide what the documents have to look like, and let the server check it. This is by what is stored "
            "today; the server only logs what does not fit.",
            f"{self._database}.runCommand({script(asked)})",
        )

    # --- Stored documents -----------------------------------------------------------------------------------------

    def _stored(self, change: Change) -> Iterator[Piece]:
        match change:
            case UseAsId():
                yield self._by_own_id(change)
            case KeepCounts():
                yield self._counts(change)
            case ItemsToDocuments(field=field):
                yield self._items(field)
            case MakeTimeSeries(time=time, source=source):
                into = {
                    "db": self.place.database,
                    "coll": self._series_name,
                    "timeseries": {"timeField": time, "metaField": source},
                }
                yield Piece(
                    "With the writers stopped, copy the documents before anything else is written to it: $out replaces "
                    "what is there, and takes MongoDB 7.0.3 or later.",
                    f"{self._here}.aggregate({script([{'$out': into}])})",
                    "reads and writes all documents",
                )
            case MergeMeasurements(into=into, members=members):
                yield Piece(
                    f"Stored documents can stay in the {many(len(members), 'collection')} until nobody needs them. In "
                    f"{into}, each would need what the name of its collection says."
                )
            case SplitMeasurement(columns=columns):
                yield Piece(f"Stored documents keep {listed(columns, _MOST_NAMES)}.")

    def _by_own_id(self, change: UseAsId) -> Piece:
        """`$out` writes nothing if two documents would have the same `_id`."""
        name = change.collections[-1]
        copy = self.place.free(f"{name}_by_id")
        stages = [{"$set": {"_id": f"${change.field}"}}, {"$unset": change.field}, {"$out": copy}]
        each = "" if len(change.collections) == 1 else f" This is for {name}; the others go in the same way."
        return Piece(
            f"Nothing changes a stored _id. Past documents can stay as they are, or be copied to {copy} with the "
            f"writers stopped, which writes nothing if two of them have the same {change.field}.{each}",
            f"{collection(change.at.database, name)}.aggregate({script(stages)})",
            "reads and writes all documents",
            "the generated _id of each document, once the old collection is dropped",
        )

    def _counts(self, change: KeepCounts) -> Piece:
        name = change.collections[0]
        stages = [
            {"$count": "n"},
            {"$set": {"_id": name}},
            {"$merge": {"into": change.into, "whenMatched": "keepExisting"}},
        ]
        others = (
            "" if len(change.collections) == 1 else f", one by one for {many(len(change.collections), 'collection')}"
        )
        return Piece(
            f"If past periods are only ever counted, keep the count in {change.into}, and drop the collection once its "
            f"count can be read there{others}.",
            f"{collection(change.at.database, name)}.aggregate({script(stages)})",
            "counts all documents",
            "the documents of the collections that are dropped, and with them how many different ones several periods "
            "had together",
        )

    def _items(self, field: str) -> Piece:
        copy = self.place.free(f"{self.place.here.name}_{field.rpartition('.')[2]}")
        stages: list[Any] = [
            {"$unwind": {"path": f"${field}", "includeArrayIndex": "place"}},
            {"$project": {"_id": {"of": "$_id", "at": "$place"}, "of": "$_id", "item": f"${field}"}},
            {"$merge": {"into": copy, "whenMatched": "keepExisting"}},
        ]
        return Piece(
            f"Copy the stored items to {copy}. It may be repeated: what is there already stays.",
            f"{self._here}.aggregate({script(stages)})",
            "reads all documents, and writes one for each item",
        )

    def _rewritten(self) -> Iterator[Piece]:
        """The parts that rename, convert, or move fields of stored documents."""
        here = self.place.here
        split = [change.column for change in self.changes if isinstance(change, SplitColumn)]
        if split:
            yield Piece(f"Stored values of {listed(split, _MOST_NAMES)} stay whole.")
        if self._is_series:
            yield from self._rewritten_series(here)
            return
        if command := updated(self._here, self.changes):
            yield Piece(
                "Change the stored documents. What does not convert stays as it is.",
                command,
                "reads and writes all documents",
            )
        elif left := [change.column for change in self.changes if isinstance(change, LeaveOut)]:
            yield Piece(
                f"Stored documents keep {listed(left, _MOST_NAMES)}. To free the space, remove it.",
                f"{self._here}.updateMany({{}}, {script({'$unset': dict.fromkeys(left, '')})})",
                "reads and writes all documents",
                f"all stored values of {listed(left, _MOST_NAMES)}",
            )

    def _rewritten_series(self, here: Measurement) -> Iterator[Piece]:
        copy = self.place.free(f"{here.name}_new")
        command = copied_series(self.place, copy, self.changes)
        if not command:
            if any(isinstance(change, MakeField) for change in self.changes):
                yield Piece(f"Stored documents stay in {here.name} until they expire, or nobody needs them.")
            return
        expiry = self._options.get("expireAfterSeconds")
        if expiry:
            days = many(max(round(int(expiry) / _ONE_DAY.total_seconds()), 1), "day")
            yield Piece(f"Stored documents stay in their buckets, and expire by themselves {days} after their time.")
            return
        yield Piece(
            "Stored documents stay in their buckets, and nothing expires them. With the writers stopped, this copies "
            f"them to {copy}, for writers to use from then on. It takes MongoDB 7.0.3 or later.",
            command,
            "reads and writes all documents",
        )


def _lines(commands: Sequence[str]) -> str:
    """The commands, each starting on a new line."""
    return "\n".join(f"{wrapped(command)};" for command in dict.fromkeys(commands))
