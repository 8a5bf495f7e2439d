"""How the users of MongoDB make the changes of a plan: writers send different documents, and commands change the rest.
The commands for mongosh are only displayed, never run; every name in them is quoted.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from tsaudit.analysis.columns.columns import distinct_types
from tsaudit.engines.advice import Advice, Piece, Place, together
from tsaudit.engines.mongodb import collections
from tsaudit.engines.mongodb.documents import EPOCHS
from tsaudit.model.change import Change, ChangeType, Diagnose, DropIndex, MergeMeasurements, SplitMeasurement
from tsaudit.model.plan import Step, StepKind
from tsaudit.text import listed, many

_WIDTH: Final = 94
"""Maximum number of characters per line: with a semicolon and an indent, a line fits into 96 columns."""
_PIECE: Final = re.compile(r'(?:"(?:[^"\\]|\\.)*"|[^",])*(?:,\s*|$)')
"""Text up to a comma outside of string literals."""
_PLAIN: Final = re.compile(r"[$A-Za-z_][$\w]*", re.ASCII)


def text(value: str | list[str]) -> str:
    """The text, or list of texts, as a JavaScript literal."""
    return json.dumps(value, ensure_ascii=False)


def script(value: Any) -> str:
    """Documents, lists, texts, numbers, and times as JavaScript literals."""
    if isinstance(value, datetime):
        return f'ISODate("{value:%Y-%m-%dT%H:%M:%SZ}")'
    if isinstance(value, Mapping):
        inside = ", ".join(f"{k if _PLAIN.fullmatch(k) else text(k)}: {script(v)}" for k, v in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(script, value))}]"
    return json.dumps(value, ensure_ascii=False)


def wrapped(command: str) -> str:
    """The command in lines of at most `_WIDTH` characters, as far as names and texts allow, broken after commas."""
    lines = [""]
    for piece in _PIECE.findall(command):
        if lines[-1].strip() and len(lines[-1]) + len(piece.rstrip()) > _WIDTH:
            lines.append("  ")
        lines[-1] += piece
    return "\n".join(line.rstrip() for line in lines)


def collection(database: str, name: str) -> str:
    """The expression for the collection, whichever database the shell is using."""
    return f"db.getSiblingDB({text(database)}).getCollection({text(name)})"


_A_DAY: Final = timedelta(days=1)


def diagnostic_query(place: Place, change: Diagnose) -> Piece | None:
    """The query for the change; None if there is none."""
    return _of_database(place, change.what) if place.measurement is None else _of_collection(place, change)


def _of_database(place: Place, what: str) -> Piece | None:
    database = f"db.getSiblingDB({text(place.database)})"
    if what == "sizes":
        size = f"{{ name: name, bytes: {database}.getCollection(name).totalSize() }}"
        largest = "sort((a, b) => b.bytes - a.bytes).slice(0, 10)"
        command = f"{database}.getCollectionNames().map(name => ({size})).{largest}"
        return Piece("Find the largest collections.", command)
    if what == "measurements":
        return Piece(f"List the collections of {place.database}.", f"{database}.getCollectionNames()")
    return None


def _of_collection(place: Place, change: Diagnose) -> Piece | None:
    here, column = collection(place.database, place.here.name), change.column
    stages: list[Any]
    if change.what == "large rows":
        stages = [{"$project": {"bytes": {"$bsonSize": "$$ROOT"}}}, {"$sort": {"bytes": -1}}, {"$limit": 5}]
        return Piece("Find the largest documents.", f"{here}.aggregate({script(stages)})", "reads all documents")
    if change.what == "types" and change.values:
        finds = [f"{here}.find({script({column: {'$type': kind}})}).limit(5)" for kind in change.values[:4]]
        return Piece(f"See some documents for each type of {column}.", ";\n".join(finds))
    if change.what == "sources":
        recent, cost = _recent(place)
        by: Any = {tag.key.replace(".", "_"): f"${tag.key}" for tag in place.here.tags} or None
        filled = {"$sum": {"$cond": [{"$eq": [{"$type": f"${column}"}, "missing"]}, 0, 1]}}
        stages = [*recent, {"$group": {"_id": by, "total": {"$sum": 1}, "filled": filled}}, {"$sort": {"filled": 1}}]
        return Piece(f"Find the sources that stopped sending {column}.", f"{here}.aggregate({script(stages)})", cost)
    if change.what == "schema":
        stages = [
            {"$sample": {"size": 100}},
            {"$project": {"field": {"$objectToArray": "$$ROOT"}}},
            {"$unwind": "$field"},
            {"$group": {"_id": "$field.k", "documents": {"$sum": 1}}},
        ]
        words = f"See which fields {place.here.name} has, in 100 documents."
        return Piece(words, f"{here}.aggregate({script(stages)})", "reads 100 documents")
    return None


def _recent(place: Place) -> tuple[list[Mapping[str, Any]], str]:
    """The stage that selects the newest day, and the cost of reading it."""
    if not place.here.time_column:
        return [{"$limit": 10_000}], "reads 10,000 documents"
    since = (place.here.last_time or place.profile.window.end) - _A_DAY
    return [{"$match": {place.here.time_column: {"$gte": since}}}], "reads a day of documents"


_MOST_NAMES: Final = 6
_MOST_QUERIES: Final = 3
_MOST_COMMANDS: Final = 6


class MongoAdvice(Advice):
    """The steps of a plan on MongoDB, where no document overwrites another: two may be equal except for their `_id`."""

    also: Sequence[MongoAdvice]
    handles = frozenset(
        {
            ChangeType,
            collections.ConvertToDates,
            Diagnose,
            DropIndex,
            collections.ItemsToDocuments,
            collections.KeepCounts,
            collections.LongerSpan,
            collections.MakeTimeSeries,
            MergeMeasurements,
            SplitMeasurement,
            collections.UseAsId,
        }
    )

    def find(self) -> Step | None:
        queries = (diagnostic_query(self.place, change) for change in self.asked_for())
        found = [one for one in queries if one is not None]
        return together(StepKind.FIND, found[:_MOST_QUERIES], "mongosh", _lines)

    def writer(self) -> Step | None:
        said = list(self._to_write())
        return Step(StepKind.WRITER, " ".join(said)) if said else None

    def schema(self) -> Step | None:
        own = [piece for change in self.changes for piece in self._schema(change)]
        others = [piece.text for other in self.also for change in other.changes for piece in other._schema(change)]
        return together(StepKind.SCHEMA, own, "mongosh", _lines, others, _MOST_COMMANDS, "collection")

    def stored(self) -> Step | None:
        found = [piece for change in self.changes for piece in self._stored(change)]
        if any(piece.text for piece in found) and self.also:
            found.append(Piece(f"Each of the {many(len(self.also), 'other collection')} takes the same command."))
        return together(StepKind.STORED, found, "mongosh", _lines)

    def verify(self) -> Step | None:
        kinds = {type(change) for change in self.changes} - {Diagnose}
        if not kinds:
            return None
        if collections.LongerSpan in kinds:
            said = "Look at the documents per bucket in the audit of tomorrow: they must have become more."
        elif DropIndex in kinds:
            said = "Watch the slow query log for a week: no query may read all documents."
        elif kinds & {MergeMeasurements, collections.KeepCounts}:
            said = "Look at the number of collections in the audit of tomorrow, and again in a month: it must not grow."
        else:
            said = "The audit of tomorrow must no longer list the finding for new documents."
        return Step(StepKind.VERIFY, said)

    @property
    def _here(self) -> str:
        return collection(self.place.database, self.place.here.name)

    @property
    def _database(self) -> str:
        return f"db.getSiblingDB({text(self.place.database)})"

    # --- Writers --------------------------------------------------------------------------------------------------

    def _to_write(self) -> Iterator[str]:
        """A sentence for each change of what writers send."""
        for change in self.changes:
            match change:
                case Diagnose(what="types", column=column):
                    yield f"Write {column} {self._type_to_keep(column)} in all documents."
                case ChangeType(column=column):
                    yield f"Write {column} as a date."
                case collections.UseAsId(field=field):
                    yield f"Write {field} as the document's _id, and query by _id instead of {field}."
                case collections.ItemsToDocuments(field=field):
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
                case collections.MakeTimeSeries(time=time, source=source):
                    yield (
                        f"Write to the time series collection of the next step, with {time} as a date and {source} to "
                        "name the source."
                    )

    def _type_to_keep(self, column: str) -> str:
        """As what to write a field that has several types, in words."""
        if any(index.expires_s is not None and index.columns == (column,) for index in self.place.here.indexes or ()):
            return "as a date, the only type that its TTL index looks at,"
        field = next((one for one in self.place.here.fields if one.key == column), None)
        counts = Counter[str]()
        for one in field.by_type if field else ():
            (kind,) = distinct_types(self.place.profile.engine, [one.type])
            counts[kind] += one.documents
        return f"as {counts.most_common(1)[0][0]}, as most have it," if counts else "with one type"

    # --- The schema -----------------------------------------------------------------------------------------------

    def _schema(self, change: Change) -> Iterator[Piece]:
        match change:
            case DropIndex(index=index):
                yield Piece(
                    f"Drop the index {index}. To try it first, hide it with hideIndex for some days: unhideIndex "
                    "brings it back at once.",
                    f"{self._here}.dropIndex({text(index)})",
                )
            case collections.LongerSpan(granularity=granularity):
                asked = {"collMod": self.place.here.name, "timeseries": {"granularity": granularity}}
                yield Piece(
                    "Let a bucket cover more time, which keeps more of each source together. It cannot be undone.",
                    f"{self._database}.runCommand({script(asked)})",
                )
            case collections.MakeTimeSeries(time=time, source=source):
                options = {"timeField": time, "metaField": source}
                yield Piece(
                    "Create a time series collection. It has no unique index, and updates documents only by their "
                    "source. The metaField cannot be changed later.",
                    f"{self._database}.createCollection({text(self._series_name)}, {script({'timeseries': options})})",
                )

    @property
    def _series_name(self) -> str:
        return self.place.free(f"{self.place.here.name}_series")

    # --- Stored documents -----------------------------------------------------------------------------------------

    def _stored(self, change: Change) -> Iterator[Piece]:
        match change:
            case ChangeType(column=column):
                value = f"${column}"
                date = {"$convert": {"input": value, "to": "date", "onError": value, "onNull": value}}
                yield Piece(
                    f"Convert the stored values of {column}. What is no time stays as it is.",
                    f"{self._here}.updateMany({{}}, {script([{'$set': {column: date}}])})",
                    "reads and writes all documents",
                    "documents that a TTL index on it finds expired, within minutes",
                )
            case collections.ConvertToDates(column=column, forms=forms):
                for form in forms:
                    yield self._converted(column, form)
            case collections.UseAsId(field=field):
                yield Piece(
                    f"Nothing changes a stored _id: documents keep theirs, and {field} with its index, until they are "
                    "written again."
                )
            case collections.KeepCounts():
                yield self._counts(change)
            case collections.ItemsToDocuments(field=field):
                yield Piece(f"Stored items stay in {field}, unless a program writes each as a document of its own.")
            case collections.MakeTimeSeries():
                yield Piece(
                    "Stored documents stay where they are until nobody needs them. Copying them takes $out in an "
                    "aggregation, with the writers stopped."
                )
            case MergeMeasurements(into=into, members=members):
                yield Piece(
                    f"Stored documents can stay in the {many(len(members), 'collection')} until nobody needs them. In "
                    f"{into}, each would need what the name of its collection says."
                )
            case SplitMeasurement(columns=columns):
                yield Piece(f"Stored documents keep {listed(columns, _MOST_NAMES)}.")

    def _converted(self, column: str, form: str) -> Piece:
        """Converts the values of a field that are times of this form."""
        value: Any = f"${column}"
        if form == "text":
            chosen: Any = {"$type": "string"}
            date: Any = {"$convert": {"input": value, "to": "date", "onError": value}}
            what = "texts"
        else:
            least, most, factor = EPOCHS[form]
            chosen = {"$type": "number", "$gte": round(least), "$lte": round(most)}
            date = {"$toDate": {"$toLong": value if factor < 1 else {"$multiply": [value, 1_000]}}}
            what = f"numbers of {form}"
        return Piece(
            f"Convert the values of {column} that are {what}. At the next run of the TTL monitor, within about a "
            "minute, the server removes the documents that are past their expiry.",
            f"{self._here}.updateMany({script({column: chosen})}, {script([{'$set': {column: date}}])})",
            "reads all documents, and writes those that it converts",
            "documents that are past their expiry",
        )

    def _counts(self, change: collections.KeepCounts) -> Piece:
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


def _lines(commands: Sequence[str]) -> str:
    """The commands, each starting on a new line."""
    return "\n".join(f"{wrapped(command)};" for command in dict.fromkeys(commands))
