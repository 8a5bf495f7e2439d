"""What the stand-in for MongoDB keeps: collections of BSON with their indexes, and the buckets of time series."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

import bson
from bson.codec_options import CodecOptions

from tests.engines.mongodb.pipeline import Document, at

OPTIONS: Final[CodecOptions[Document]] = CodecOptions(tz_aware=True)
_RECORD: Final = 8
"""Bytes by which an index entry points to its document."""
_SPANS: Final = {"seconds": 3600, "minutes": 86_400, "hours": 2_592_000}
_PER_BUCKET: Final = 1000


@dataclass(slots=True)
class Index:
    name: str
    key: dict[str, Any]
    settings: dict[str, Any] = field(default_factory=dict)
    uses: int = 0

    @property
    def spec(self) -> dict[str, Any]:
        return {"v": 2, "key": self.key, "name": self.name, **self.settings}


@dataclass(slots=True)
class Collection:
    options: dict[str, Any] = field(default_factory=dict)
    kind: str = "collection"
    documents: list[bytes] = field(default_factory=list)
    indexes: dict[str, Index] = field(default_factory=dict)
    unique: dict[str, set[bytes]] = field(default_factory=dict)
    reads: int = 0
    writes: int = 0

    def read(self) -> Iterator[Document]:
        return (bson.decode(raw, OPTIONS) for raw in self.documents)

    @property
    def size(self) -> int:
        return sum(map(len, self.documents))

    def index_size(self, index: Index, documents: Sequence[Document]) -> int:
        """Bytes of its keys, and what points to the documents."""
        total = 0
        for document in documents:
            for path in index.key:
                value = at(document, path)
                known = isinstance(value, bool | int | float | str | bytes | datetime | bson.ObjectId | Mapping | list)
                # An empty document with one unnamed element takes seven bytes besides the value.
                total += len(bson.encode({"": value})) - 7 if known else 1
        return total + _RECORD * len(documents)


_APART: Final = ("unique", "sparse", "partialFilterExpression", "collation")
"""Options by which two indexes on the same fields may differ: they are part of what the server tells them apart by."""


def conflict_with(collection: Collection, index: Index) -> tuple[int, str] | None:
    """The code and name of the server's error if another index stands in the way of this one."""
    for other in collection.indexes.values():
        same = [(*one.key.items(), *(one.settings.get(option) for option in _APART)) for one in (other, index)]
        if same[0] == same[1] and (other.name, other.settings) != (index.name, index.settings):
            return 85, "IndexOptionsConflict"
        if same[0] != same[1] and other.name == index.name:
            return 86, "IndexKeySpecsConflict"
    return None


def add_index(collection: Collection, index: Index) -> None:
    collection.indexes[index.name] = index
    if index.settings.get("unique") or index.name == "_id_":
        collection.unique[index.name] = {_key(index, document) for document in collection.read()}


def _key(index: Index, document: Document) -> bytes:
    values = {path: at(document, path) for path in index.key}
    return bson.encode({path: value for path, value in values.items() if type(value) is not object})


def duplicate_in(collection: Collection, document: Document) -> str:
    """The unique index that already has the document's key; empty for none, and then it has it from now on."""
    keys = {name: _key(collection.indexes[name], document) for name in collection.unique}
    for name, key in keys.items():
        if key in collection.unique[name]:
            return name
    for name, key in keys.items():
        collection.unique[name].add(key)
    return ""


def _chunks(members: Sequence[Document]) -> Iterator[list[Document]]:
    """What one bucket takes: a thousand at most, and no two in which a field has different types, null included."""
    chunk: list[Document] = []
    known: dict[str, str] = {}
    for document in members:
        types = {name: _type(value) for name, value in document.items()}
        if chunk and (len(chunk) == _PER_BUCKET or any(known.get(name, one) != one for name, one in types.items())):
            yield chunk
            chunk, known = [], {}
        chunk.append(document)
        known |= types
    yield chunk


def _type(value: Any) -> str:
    """All numbers are one type."""
    return "number" if isinstance(value, int | float) and not isinstance(value, bool) else type(value).__name__


def closings(collection: Collection) -> dict[str, int]:
    """Why buckets were closed, by the names of the server's counters."""
    spans = [found for _, found in _grouped(collection)]
    ended = [chunk for found in spans for chunk in found[:-1]]
    full = sum(len(chunk) == _PER_BUCKET for chunk in ended)
    return {
        "numBucketsClosedDueToCount": full,
        "numBucketsClosedDueToSchemaChange": len(ended) - full,
        "numBucketsClosedDueToTimeForward": len(spans),
    }


def _grouped(collection: Collection) -> Iterator[tuple[bytes, list[list[Document]]]]:
    """Each meta, as BSON, with what the buckets of each span of time hold."""
    settings = collection.options["timeseries"]
    span = settings.get("bucketMaxSpanSeconds") or _SPANS[settings.get("granularity", "seconds")]
    groups: dict[tuple[bytes, int], list[Document]] = {}
    for document in collection.read():
        source = {"": document.get(settings.get("metaField"))}
        slot = int(document[settings["timeField"]].timestamp() // span)
        groups.setdefault((bson.encode(source), slot), []).append(document)
    for (meta, _), members in groups.items():
        yield meta, list(_chunks(members))


def buckets(collection: Collection, *, compressed: bool) -> Iterator[Document]:
    """Of a time series, in each the measurements of one meta and one span of time, a thousand at most.

    `compressed`: those that are still written, too, as from 8.0 on; else these have a place for each row.
    """
    settings = collection.options["timeseries"]
    for meta_bytes, found in _grouped(collection):
        meta_value = bson.decode(meta_bytes, OPTIONS)[""]
        for chunk in found:
            times = [d[settings["timeField"]] for d in chunk]
            control: dict[str, Any] = {
                "version": 2,
                "min": {settings["timeField"]: min(times)},
                "max": {settings["timeField"]: max(times)},
            }
            is_open = len(chunk) < _PER_BUCKET and not compressed
            places = {str(i): at for i, at in enumerate(times)} if is_open else b"compressed"
            control |= {"version": 1} if is_open else {"count": len(chunk)}
            bucket: dict[str, Any] = {"_id": bson.ObjectId.from_datetime(min(times)), "control": control}
            data = {settings["timeField"]: places}
            yield bucket | ({} if meta_value is None else {"meta": meta_value}) | {"data": data}
