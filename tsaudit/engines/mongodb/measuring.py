"""Measures MongoDB: families of collections, and the fields that randomly selected documents of each show."""

from __future__ import annotations

import hashlib
import json
import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from tsaudit.analysis.collection_families import spread
from tsaudit.analysis.columns.columns import OTHER, Column, TimeColumn, TimeKind, distinct_types, words_of
from tsaudit.analysis.columns.time_columns import Extent, time_column
from tsaudit.collect.draft import Draft
from tsaudit.collect.measuring import Measuring, MeasuringContext, MeasuringStep
from tsaudit.collect.query_runner import QueryRunner, keeping
from tsaudit.collect.reading import fewer
from tsaudit.collect.row_figures import some_texts
from tsaudit.engines.mongodb.collections import is_series
from tsaudit.engines.mongodb.connector import LARGEST_SHARE
from tsaudit.engines.mongodb.documents import DatedArray, growth, time_form
from tsaudit.model.columns import Field, ItemGrowth, Items, Tag, ValuesOfType
from tsaudit.model.facts import OfBuckets, OfDocuments, OfMeasurement
from tsaudit.model.figures import Count, How, Ratio, Reason, Source, TableKind, Window
from tsaudit.model.rows import MAX_PATTERNS, Documents, KeyedFields, RowPattern, RowPatterns
from tsaudit.model.storage import Buckets
from tsaudit.text import many, size

if TYPE_CHECKING:
    import pyarrow as pa

_SINGLY: Final = frozenset({"row_estimate", "storage", "indexes", "index_use"})
"""Facts about a database that MongoDB reports only for one collection at a time."""
_BY_FEW: Final = (_SINGLY | {"documents"}) - {"row_estimate"}
"""Facts for which a few members represent the rest of a family; for time series, also `buckets`."""
MOST: Final = 1000
"""Maximum number of documents read per collection, or buckets of a time series, as in MongoDB's schema analysis."""
MOST_PATHS: Final = 1000
"""Maximum number of distinct fields kept per collection. Documents with more fields mostly have data in their names:
one field then stands for all whose names differ only in data.
"""
_FEWEST: Final = 10
"""Documents, of which fewer are no rate."""
_LEAST_SPAN: Final = timedelta(hours=1)
"""Documents that came in less time were loaded at once."""
_MOST_SEEN: Final = 20 * MOST_PATHS
"""Maximum number of distinct fields examined; the most common of them are kept."""


class MongodbMeasuring(Measuring):
    """Measures collections, which have no schema: their contents are inferred from documents selected at random.

    If the names of collections differ only in a period or number, a few of them represent the others: querying
    thousands of collections makes the server open their files, which is itself a load.
    """

    lists_columns = False
    uses_column_settings = False
    decided = frozenset({"documents"})
    # The storage options of a collection, and its number of documents, decide how it is read.
    deciding = frozenset({"options", "buckets"})

    def __init__(self, runner: QueryRunner) -> None:
        super().__init__(runner)
        self._family: dict[tuple[str, str], str] = {}
        """(database, collection) to its family, for collections that other members represent."""

    def outline(self, database: str, names: list[str]) -> dict[str, Draft] | None:
        return {}

    def is_measured(self, draft: Draft) -> bool:
        return (draft.database, draft.name) not in self._family

    def with_catalog(self, database: str, drafts: list[Draft], queried: Set[str]) -> list[Draft]:
        for family, names in _alike([draft.name for draft in drafts], self.runner.now):
            chosen = spread(len(names), self.runner.target.budget.max_family)
            left_out = (name for place, name in enumerate(names) if place not in chosen)
            self._family |= {(database, name): family for name in left_out}
        # An update does not change the number of documents, so no fingerprint would show it.
        drafts = [
            replace(d, measurement=replace(d.measurement, rows=_counted(self.runner, d), fingerprint=""))
            for d in drafts
        ]
        drafts = super().with_catalog(database, drafts, queried)
        self._note_left_out(drafts, queried)
        return drafts

    def _note_left_out(self, drafts: Sequence[Draft], queried: Set[str]) -> None:
        """Add a gap for each fact that was not queried for all members of a family, at the first omitted member.

        The gap concerns that collection only: what is known about other members, and so about the family, remains
        valid.
        """
        left_out: dict[str, list[Draft]] = defaultdict(list)
        for draft in drafts:
            if family := self._family.get((draft.database, draft.name)):
                left_out[family].append(draft)
        most = self.runner.target.budget.max_family
        for family, members in left_out.items():
            cause = (
                f"{many(len(members), 'collection')} named {family}, of which this is the first, are not measured: "
                f"{most} others represent them"
            )
            of_series = any(is_series(draft.measurement) for draft in members)
            for fact in sorted(queried & (_BY_FEW | ({"buckets"} if of_series else frozenset()))):
                first = members[0]
                self.runner.gap(
                    fact, Reason.OVER_BUDGET, cause, first.database, first.name, fix="raise budget.max_family"
                )

    def steps(self, context: MeasuringContext) -> Iterator[MeasuringStep]:
        if "documents" in context.queried:
            wanted = "largest_document" in context.queried
            yield MeasuringStep("documents", lambda draft: self._read(draft, wanted))

    def _read(self, draft: Draft, largest: bool) -> Draft:
        return read_documents(self.runner, draft, largest=largest) if self.is_measured(draft) else draft


def read_documents(runner: QueryRunner, draft: Draft, *, largest: bool) -> Draft:
    """Read the documents and analyze them. `largest`: whether to look for a larger one than those read, too."""
    options = draft.measurement.options or {}
    of_series = is_series(draft.measurement)
    if of_series:
        draft = draft.with_time(TimeColumn(options["timeseries.timeField"], TimeKind.ZONED))
        draft = _with_buckets(runner, draft)
    tried: list[_Sample] = []

    def consumer(_: OfDocuments) -> Callable[[pa.RecordBatch], None]:
        tried.append(_Sample())
        return tried[-1].add

    rows = draft.measurement.rows
    total = rows.value if rows else None
    most = min(runner.rows_each, MOST)
    given = OfDocuments(**draft.about(runner.window), total=total, limit=most)
    answer = runner.first_answered("documents", map(_in_order, fewer(given)), consumer)
    if answer is None:
        return draft
    draft, sample = draft.sent("documents", answer.statement), tried[-1]
    if not sample.bytes:
        return draft
    known = rows is not None and (not of_series or rows.source.how is How.EXACT)
    # Exact only if fewer documents than requested were returned: the count in the metadata may be too low.
    exact = known and (total or 0) <= len(sample.bytes) < answer.given.limit
    about = {"database": draft.database, "measurement": draft.name}
    source = runner.source("documents", How.EXACT if exact else How.SAMPLED, **about)
    if exact:
        rows = Count(len(sample.bytes), source)
    sample.paths = _most_common(runner, draft, sample, options.get("timeseries.metaField"))
    draft = _described(draft, sample, rows, source, options if of_series else {}, runner.window)
    return _with_largest(runner, draft, sample) if largest and not exact else draft


_HIDDEN: Final = 8 * 1024 * 1024
"""Bytes that a document must have to be near the maximum, of which it is a half."""
_ERRORS: Final = 3
"""Standard errors by which the means of a sample and of the whole may differ."""


def _with_largest(runner: QueryRunner, draft: Draft, sample: _Sample) -> Draft:
    """The draft with the largest document, if the collection has so many more bytes than documents like those of the
    sample that some that were not read must be much larger. A few among many are in no sample.
    """
    sizes = list(sample.bytes.values())
    documents, storage, rows = draft.measurement.documents, draft.measurement.storage, draft.measurement.rows
    if documents is None or storage is None or storage.mean_row_bytes is None or rows is None:
        return draft
    error = statistics.stdev(sizes) / math.sqrt(len(sizes)) if len(sizes) > 1 else 0.0
    beyond = storage.mean_row_bytes - documents.mean_bytes
    if beyond <= _ERRORS * error or beyond * rows.value < _HIDDEN:
        return draft
    if rows.value > (most := runner.target.budget.max_scan_rows) > 0:
        detail = (
            f"documents have {size(storage.mean_row_bytes)} on average, and the {len(sizes):,} that were read "
            f"{size(documents.mean_bytes)}, so others must be much larger; to find the largest, all "
            f"{rows.value:,} have to be read, and budget.max_scan_rows allows {most:,}"
        )
        runner.gap("largest_document", Reason.OVER_BUDGET, detail, draft.database, draft.name)
        return draft
    largest = _Sample()
    statement = runner.query("largest_document", largest.add, OfMeasurement(**draft.about(runner.window)))
    if statement is None or not largest.bytes:
        return draft
    paths: dict[str, _Path] = defaultdict(_Path)
    for key, standing in sample.standing_for(largest.paths).items():
        paths[standing].add(largest.paths[key])
    key, path = max(paths.items(), key=lambda one: one[1].value_bytes)
    most = max(documents.max_bytes, *largest.bytes.values())
    documents = replace(
        documents, max_bytes=most, is_max_of_all=True, largest_field=key, largest_id=largest.id_of_only()
    )
    fields = {field.key: field for field in draft.measurement.fields}
    if path.items and key.partition(".")[0] != (draft.measurement.options or {}).get("timeseries.metaField"):
        # One of all documents has it; those that were read do not.
        path.documents = sorted(set(path.documents))
        alone = replace(_field(key, path, 1, documents.source, None), null_ratio=Ratio(1 - 1 / rows.value, rows.source))
        read = sample.dated_at(sample.paths.get(key))
        own = [array for array in largest.dated_at(path) if array not in read]
        fields[key] = _with_longest(fields.get(key, alone), max(path.items), growth([*read, *own], runner.window.end))
    known = replace(draft.measurement, documents=documents, fields=tuple(fields.values()))
    return replace(draft, measurement=known).sent("largest_document", statement)


def _with_longest(field: Field, most: int, growth: ItemGrowth | None) -> Field:
    """The field with an array of the largest document, of `most` items. `growth`: that of the arrays read and of this
    one, which are weighed together, so that it is the same whether a sample happens to contain others that grow.
    """
    items = field.items or Items(float(most), most)
    return replace(field, items=Items(items.mean, max(items.most, most), growth or items.growth))


def _in_order(given: OfDocuments) -> OfDocuments:
    """The parameters for reading the first documents instead, if too few can be selected at random: the server selects
    individual documents only up to a share of all.
    """
    is_share = given.limit < MOST and (given.total or 0) * LARGEST_SHARE < given.limit
    return replace(given, total=None) if is_share else given


_Kind = tuple[str, bool]
"""A type of values, and whether they are or contain times."""


@dataclass(slots=True)
class _Values:
    """The values of one kind at a path."""

    documents: set[int] = field(default_factory=set)
    texts: set[str] = field(default_factory=set)


@dataclass(slots=True)
class _Path:
    """One path in the documents that were read."""

    types: set[str] = field(default_factory=set)
    by_kind: dict[_Kind, _Values] = field(default_factory=lambda: defaultdict(_Values))
    says_null: bool = False
    values: Counter[str] = field(default_factory=Counter)
    value_bytes: int = 0
    items: list[int] = field(default_factory=list)
    dated: list[Mapping[str, Any]] = field(default_factory=list)
    """The arrays whose first and last items have times."""
    documents: list[int] = field(default_factory=list)
    """Numbers of the documents in which the path has a value."""
    times: dict[int, datetime] = field(default_factory=dict)
    """Number of a document to the time in its value: a date, or what an ObjectId contains."""
    has_type_by_name: bool = False
    """Whether it stands for many names, none of which has several types."""

    def add(self, other: _Path) -> None:
        """Add the values of another path. Documents that have both are listed twice."""
        self.types |= other.types
        for kind, values in other.by_kind.items():
            self.by_kind[kind].documents |= values.documents
            self.by_kind[kind].texts |= values.texts
        self.says_null |= other.says_null
        self.values += other.values
        self.value_bytes += other.value_bytes
        self.items += other.items
        self.dated += other.dated
        self.documents += other.documents
        self.times |= other.times


@dataclass(slots=True)
class _Sample:
    """The documents read so far."""

    bytes: dict[int, int] = field(default_factory=dict)
    paths: dict[str, _Path] = field(default_factory=lambda: defaultdict(_Path))
    keyed: tuple[KeyedFields, ...] = ()
    beyond: set[str] = field(default_factory=set)
    """Where fields are that exceeded the limit: the known paths that contain them."""
    objects: frozenset[str] = frozenset()
    """All paths that contain others, once the limit is reached."""

    def add(self, batch: pa.RecordBatch) -> None:
        for row in batch.to_pylist():
            self.bytes[row["document"]] = row["bytes"]
            if row["path"] not in self.paths and len(self.paths) >= _MOST_SEEN:
                self.objects = self.objects or frozenset(above for key in self.paths for above in _above(key))
                self.beyond.add(next(above for above in _above(row["path"]) if not above or above in self.objects))
                continue
            path = self.paths[row["path"]]
            if row["data_type"] is None:
                path.says_null = True
                continue
            path.types.add(row["data_type"])
            of_kind = path.by_kind[row["data_type"], row["data_type"] == "date" or row["first_item"] is not None]
            of_kind.documents.add(row["document"])
            of_kind.texts.add(row["value"])
            path.values[row["value"]] += 1
            path.value_bytes += row["value_bytes"]
            path.documents.append(row["document"])
            if row["items"] is not None:
                path.items.append(row["items"])
            if row["first_item"] is not None and row["last_item"] is not None:
                path.dated.append(row)
            if row["data_type"] == "objectId":
                path.times[row["document"]] = created_at(row["value"])
            elif row["data_type"] == "date" and "T" in row["value"]:
                # A date that is out of range is decoded as a number.
                path.times[row["document"]] = datetime.fromisoformat(row["value"])

    def dated_at(self, path: _Path | None) -> list[DatedArray]:
        """The arrays at the path whose items have times."""
        created = self.paths["_id"].times if "_id" in self.paths else {}
        return [
            DatedArray(
                row["bytes"],
                row["value_bytes"],
                row["items"],
                row["first_item"],
                row["last_item"],
                created.get(row["document"]),
            )
            for row in (path.dated if path else ())
        ]

    def standing_for(self, keys: Collection[str]) -> dict[str, str]:
        """Each path of another document, which may contain other names that are data, to the one that stands for it."""
        from tsaudit.analysis.shapes.name_families import keyed_fields

        if not self.keyed:
            return {key: key for key in keys}
        known = {above for path in self.paths for above in (path, *_above(path))}
        names = [path for one in self.keyed for path in one.paths]
        stands = {
            path: one.path
            for one in (*keyed_fields([*names, *keys]), *self.keyed)
            if one.path in known
            for path in one.paths
        }
        # At the top, other fields stand beside names that are data.
        beside = {above: path for path in sorted(known) if "{" in path[len(above := path.rpartition(".")[0]) :]}
        beside.pop("", None)
        found: dict[str, str] = {}
        for key in keys:
            at = ""
            for part in key.split("."):
                path = f"{at}.{part}" if at else part
                at = path if path in known else stands.get(path) or beside.get(at, path)
            found[key] = at
        return found

    def id_of_only(self) -> str | None:
        """A hash of the `_id` of the only document read, so that it can be recognized; None if it has none."""
        parts = sorted(
            (key, *path.types, *path.values) for key, path in self.paths.items() if key.partition(".")[0] == "_id"
        )
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16] if parts else None


def _described(
    draft: Draft, sample: _Sample, rows: Count | None, source: Source, options: Mapping[str, str], window: Window
) -> Draft:
    """The draft with what the documents show.

    `options`: the options of a time series, which declare its time field and the field that identifies the source;
    otherwise empty.
    """
    sizes = list(sample.bytes.values())
    paths = _with_objects(sample.paths)
    name = options.get("timeseries.timeField") or _time_among(draft, paths, len(sizes), window)
    times = _times(paths, name)
    first, last = _ends(times)
    meta = options.get("timeseries.metaField")
    expiring = {i.columns[0] for i in draft.measurement.indexes or () if i.expires_s is not None}
    naming = {key for key in paths if meta is not None and (key == meta or key.startswith(f"{meta}."))}
    known = replace(
        draft.measurement,
        rows=rows,
        documents=Documents(
            len(sizes),
            statistics.fmean(sizes),
            max(sizes),
            source,
            keyed=sample.keyed,
            added_ratio=_added_a_day(sample.bytes, times, window),
        ),
        first_time=first,
        last_time=last,
        tags=tuple(_tag(key, path, len(sizes), source) for key, path in paths.items() if key in naming),
        fields=tuple(
            replace(
                _field(key, path, len(sizes), source, growth(sample.dated_at(path), window.end)),
                by_type=_by_type(path, sample.bytes) if len(path.by_kind) > 1 or key in expiring else (),
            )
            for key, path in paths.items()
            if key not in naming and key != name
        ),
        row_patterns=_patterns({k: p for k, p in paths.items() if k != name}, len(sizes), source),
    )
    return replace(draft, measurement=known).with_time(TimeColumn(name, TimeKind.ZONED) if name else None)


def _most_common(runner: QueryRunner, draft: Draft, sample: _Sample, meta: str | None) -> dict[str, _Path]:
    """The paths to describe. `meta`: the field that names the source, whose members are tags."""
    if len(sample.paths) > MOST_PATHS:
        _fold(sample, meta)
    paths = sample.paths
    if len(paths) > MOST_PATHS or sample.beyond:
        different = f"more than {_MOST_SEEN:,}" if sample.beyond else f"{len(paths):,}"
        described = f"only the {min(len(paths), MOST_PATHS):,} most common are described"
        # The list of fields is incomplete; what the documents show otherwise, such as their sizes, is not.
        cause = f"of {different} different fields, {described}"
        runner.gap("field_types", Reason.OVER_BUDGET, cause, draft.database, draft.name)
    kept = sorted(paths, key=lambda key: (-len(paths[key].documents), key))[:MOST_PATHS]
    return {key: paths[key] for key in sorted(kept)}


def _fold(sample: _Sample, meta: str | None) -> None:
    """Let one path stand for all that differ only in names that are data, until no such names are left."""
    from tsaudit.analysis.shapes.name_families import is_in, keyed_fields, keyed_objects

    single = set(sample.paths)
    objects = {above for key in sample.paths for above in _above(key)}
    mixed = {
        key
        for key, path in sample.paths.items()
        if len(distinct_types("mongodb", [*path.types, *(["object"] if key in objects else [])])) > 1
    }
    while True:
        keys = {k: p.documents for k, p in sample.paths.items() if meta is None or k.partition(".")[0] != meta}
        many_alike = list(keyed_objects(keys))
        inside = {path for one in many_alike for path in one.paths}
        found = [*many_alike, *keyed_fields(key for key in keys if not is_in(key, inside))]
        if not found:
            break
        stands = {path: one.path for one in found for path in one.paths}
        folded: dict[str, _Path] = defaultdict(_Path)
        for key, path in sample.paths.items():
            keyed = next((above for above in (key, *_above(key)) if above in stands), None)
            standing = key if keyed is None else stands[keyed] + key.removeprefix(keyed)
            folded[standing].add(path)
            if key in mixed:
                mixed.add(standing)
        for path in folded.values():
            path.documents = sorted(set(path.documents))
        sample.paths = folded
        # Families inside the reported ones are left out.
        sample.keyed += tuple(one for one in found if "{" not in one.above)
        at = {one.above for one in found}
        sample.beyond = {above for above in sample.beyond if above not in at and not is_in(above, stands)}
    for key, path in sample.paths.items():
        path.has_type_by_name = key not in single and key not in mixed


def _above(path: str) -> Iterator[str]:
    """The paths that contain it, inner ones first; the last one is empty."""
    while path:
        path = path.rpartition(".")[0]
        yield path


def _with_objects(paths: dict[str, _Path]) -> dict[str, _Path]:
    """The paths; one that is a value in some documents and a subdocument in others gets both types."""
    for key, path in paths.items():
        parts = key.split(".")
        for above in (paths.get(".".join(parts[:depth])) for depth in range(1, len(parts))):
            if above is not None and above.types:
                above.types.add("object")
                above.by_kind["object", False].documents.update(path.documents)
                above.documents = sorted({*above.documents, *path.documents})
    return paths


def _time_among(draft: Draft, paths: Mapping[str, _Path], read: int, window: Window) -> str | None:
    """The field that contains the time of an event, a date in every document; None if there is none."""
    dated = [k for k, p in paths.items() if p.types == {"date"} and len(p.documents) == read and "." not in k]
    ends = {key: _ends(paths[key].times) for key in dated if not words_of(key) & OTHER}
    # Times in the future, such as the day on which a document expires, are not times of events.
    past = {key: (first, last) for key, (first, last) in ends.items() if first and first <= window.end}
    indexes = draft.measurement.indexes or ()
    found = time_column(
        [Column(key, "TIMESTAMPTZ") for key in past],
        {key: Extent(read, read, first, last) for key, (first, last) in past.items()},
        window,
        indexed=frozenset(index.columns[0] or "" for index in indexes),
        before=draft.previous.time_column if draft.previous else None,
    )
    return found.name if found else None


def _times(paths: Mapping[str, _Path], name: str | None) -> Mapping[int, datetime]:
    """Number of a document to its time: in that field, or without one in its ObjectId."""
    if name is None:
        return paths["_id"].times if "_id" in paths and paths["_id"].types == {"objectId"} else {}
    return paths[name].times if name in paths else {}


def _ends(times: Mapping[int, datetime]) -> tuple[datetime | None, datetime | None]:
    """The oldest and the newest time."""
    return min(times.values(), default=None), max(times.values(), default=None)


def _added_a_day(sizes: Mapping[int, int], times: Mapping[int, datetime], window: Window) -> float | None:
    """The share of the bytes read that is added each day at present: by the documents of the window, or by a tenth of
    all if they are fewer. None if too few have a time, or those came at once.
    """
    newest = sorted(((min(time, window.end), sizes[number]) for number, time in times.items()), reverse=True)
    least = max(_FEWEST, math.ceil(len(newest) / 10))
    recent = [one for place, one in enumerate(newest) if place < least or one[0] >= window.start]
    if len(recent) < _FEWEST or (span := recent[0][0] - recent[-1][0]) < _LEAST_SPAN:
        return None
    return sum(size for _, size in recent) / sum(sizes.values()) / (span / timedelta(days=1))


def created_at(document_id: str) -> datetime:
    """The time in an ObjectId."""
    return datetime.fromtimestamp(int(document_id[:8], 16), UTC)


def _share(part: int, read: int, source: Source) -> Ratio:
    share = part / read
    error = None if source.how is How.EXACT else math.sqrt(share * (1 - share) / read)
    return Ratio(share, source, error)


def _tag(key: str, path: _Path, read: int, source: Source) -> Tag:
    return Tag(
        key,
        "/".join(sorted(path.types)) or "null",
        values=Count(len(path.values), source),
        sample=some_texts(path.values),
        absent=_share(read - len(path.documents), read, source),
    )


def _field(key: str, path: _Path, read: int, source: Source, growth: ItemGrowth | None) -> Field:
    present = len(path.documents)
    return Field(
        key,
        tuple(sorted(path.types)),
        has_type_by_name=path.has_type_by_name,
        null_ratio=_share(read - present, read, source),
        says_null=path.says_null,
        distinct=Count(len(path.values), source),
        sample=some_texts(path.values),
        value_bytes=path.value_bytes / present if present else None,
        items=Items(statistics.fmean(path.items), max(path.items), growth) if path.items else None,
    )


def _by_type(path: _Path, sizes: Mapping[int, int]) -> tuple[ValuesOfType, ...]:
    found = [
        ValuesOfType(
            kind,
            len(of_kind.documents),
            sum(sizes[number] for number in of_kind.documents),
            len(of_kind.texts),
            has_dates,
            tuple(sorted({form for text in of_kind.texts if (form := time_form(kind, text))})),
        )
        for (kind, has_dates), of_kind in path.by_kind.items()
    ]
    return tuple(sorted(found, key=lambda one: (-one.documents, one.type, one.has_dates)))


def _patterns(paths: Mapping[str, _Path], read: int, source: Source) -> RowPatterns:
    """The combinations of fields that occur. Documents are not in series, so consecutive documents are not compared."""
    filled: dict[int, list[str]] = defaultdict(list)
    for key in sorted(paths):
        for number in paths[key].documents:
            filled[number].append(key)
    common = Counter(tuple(keys) for keys in filled.values()).most_common(MAX_PATTERNS)
    ordered = sorted(common, key=lambda one: (-one[1], one[0]))
    return RowPatterns(tuple(RowPattern(keys, rows) for keys, rows in ordered), read, 0, 0, source)


def _with_buckets(runner: QueryRunner, draft: Draft) -> Draft:
    """The draft with the number of rows in a bucket, and the resulting total number of rows."""
    batches: list[pa.RecordBatch] = []
    queries = fewer(OfBuckets(**draft.about(runner.window), limit=MOST))
    answer = runner.first_answered("buckets", queries, keeping(batches))
    if answer is None:
        return draft
    rows = [row for batch in batches for row in batch.to_pylist()]
    draft = draft.sent("buckets", answer.statement)
    if not rows:
        return draft
    total = rows[0]["buckets"]
    about = {"database": draft.database, "measurement": draft.name}
    source = runner.source("buckets", How.EXACT if len(rows) >= total else How.SAMPLED, **about)
    held = [row["rows"] for row in rows if row["rows"] is not None]
    if not held:
        runner.gap("buckets", Reason.FAILED, "no bucket reports its number of rows", draft.database, draft.name)
    middle = statistics.median(held) if held else None
    closed = (rows[0]["closed"], rows[0]["closed_by_change"])
    buckets = Buckets(total, len(rows), len({row["source"] for row in rows}), middle, source, *closed)
    known = replace(
        draft.measurement,
        kind=TableKind.SERIES,
        kind_reason="a time series collection",
        buckets=buckets,
        rows=_scaled(held, total, source) if len(held) == len(rows) else draft.measurement.rows,
    )
    return replace(draft, measurement=known)


def _scaled(held: Sequence[int], total: int, source: Source) -> Count:
    """The number of rows in all buckets, scaled up from the buckets read."""
    if source.how is How.EXACT:
        return Count(sum(held), source)
    deviation = statistics.stdev(held) if len(held) > 1 else 0.0
    estimate = Source(source.query, How.ESTIMATE, source.as_of, f"scaled up from {source.scope}")
    return Count(round(statistics.fmean(held) * total), estimate, total * deviation / math.sqrt(len(held)))


def _counted(runner: QueryRunner, draft: Draft) -> Count | None:
    if draft.estimated_rows is None:
        return draft.measurement.rows
    source = runner.source("row_estimate", How.ESTIMATE, "all documents, according to the metadata")
    return Count(draft.estimated_rows, source)


def _alike(names: Sequence[str], now: datetime) -> Iterator[tuple[str, Sequence[str]]]:
    """Each template with the collections that differ only in a period, oldest first, or only in a number or an ID."""
    from tsaudit.analysis.shapes.name_families import name_families
    from tsaudit.analysis.shapes.periods import period_families

    by_period: set[str] = set()
    for family in period_families(names, now=now):
        members = [period.name for period in family.members]
        by_period |= set(members)
        yield family.template, members
    for other in name_families([name for name in names if name not in by_period]):
        yield other.template, other.members


MEASURING: Final = MongodbMeasuring
