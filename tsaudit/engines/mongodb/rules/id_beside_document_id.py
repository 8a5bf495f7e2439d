"""DOC002."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from tsaudit.engines.mongodb import DOCUMENT_ID
from tsaudit.engines.mongodb.collection_families import CollectionFamily, families_by_member
from tsaudit.engines.mongodb.mongosh import is_one_of, text
from tsaudit.model.finding import Evidence, Finding, Severity
from tsaudit.model.profile import Field, Index, Measurement
from tsaudit.model.subject import Subject
from tsaudit.rule import Case, Threshold, rule
from tsaudit.text import listed, many, number, percent, size

_NAMED: Final = re.compile(
    r"(?i:(^|[._-])(id|uid|guid|uuid|key|code|sku|serial|hash)$)|[a-z](Id|ID|Uid|UID|Key)$"
    r"|(?i:(user|device|host|sensor|order|session|customer|client|account|visitor|member|object)id$)"
)
"""What fields are called whose value names a thing, and so does not change."""
_SCALARS: Final = frozenset({"int", "long", "double", "decimal", "string", "objectId", "binData", "date"})
_OBJECT_ID_BYTES: Final = 12
_MADE_BY_DRIVER: Final = ("objectId",)
_CLOSED: Final = " Closed periods that are only ever counted are better dropped before, as closed-period-kept has it."
_MOSTLY_ROOM_BYTES: Final = 65_536
"""A smaller file may be mostly room that is not used yet: that documents in it get shorter frees nothing."""


_SCRIPT: Final = """\
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
"""For mongosh. The old collection goes only when its copy has as many documents, and all other indexes."""


@rule(
    code="DOC002",
    title="An id has an index of its own, beside that of _id",
    severity=Severity.WARN,
    guidelines=("H2",),
    requires={"documents", "indexes", "storage"},
    uses={"index_use", "row_estimate"},
    thresholds=(Threshold("min_saved_bytes", 1_000_000, "bytes", "our default: less is information"),),
    fixes={
        "mongodb": (
            "Write {field} as the document's _id from now on, and ask for _id instead of {field}. What is stored "
            "follows, after writers have stopped; a validator has to be set again, and a sharded collection keeps the "
            "key it is sharded by.{closed} In mongosh:\n{script}"
        ),
    },
)
def id_beside_document_id(case: Case) -> Iterator[Finding]:
    """Collections whose `_id` is one the driver made up, while another id has a unique index of its own.

    The other id is there in every document that was read, always of one type, and its index is whole: what is asked
    of `_id` is true of it. Collections of one family of periods are one finding. Where the server counts that `_id`
    is asked for too, it is information: something may refer to it.

    ## Why it matters

    Every document has an `_id` and an index on it, which cannot be dropped. An id of one's own beside it is a second
    field, a second index to keep in memory and to write to, and the first ones serve nobody.

    ## Example

    `{ _id: ObjectId(...), user_id: 4711 }` takes 35 bytes, `{ _id: 4711 }` 14; and there is one index instead of two.
    For ids of 36 characters it is 72 and 51 bytes; kept as 16 binary bytes they would be shorter still.

    ## Fix

    Let the id be the `_id`. It can be a number, a text or a document, and has to be unique and never change.

    ## References

    - The _id field: https://www.mongodb.com/docs/manual/core/document/#the-_id-field
    - Unnecessary indexes: https://www.mongodb.com/docs/manual/data-modeling/design-antipatterns/unnecessary-indexes/
    """
    families = families_by_member(case.profile)
    of_family: dict[str, list[_Spare]] = {}
    for measurement in case.measurements:
        spare = _spare(measurement)
        if spare is None:
            continue
        family = families.get((measurement.database, measurement.name))
        if family is None:
            yield _finding(case, [spare], None)
        else:
            of_family.setdefault(f"{family.database}/{family.template}.{spare.field.key}", []).append(spare)
    for spares in of_family.values():
        newest = spares[-1].measurement
        yield _finding(case, spares, families[newest.database, newest.name])


@dataclass(frozen=True, slots=True)
class _Spare:
    """An id that could be `_id`, in one collection."""

    measurement: Measurement
    field: Field
    index: Index
    own: Index
    """That of `_id`."""
    documents: int

    @property
    def saved_each(self) -> int:
        """Bytes of a document that go: what the driver made up, and the name and type of the field."""
        return _OBJECT_ID_BYTES + len(self.field.key.rpartition(".")[2].encode()) + 2

    @property
    def mean_bytes(self) -> float:
        assert self.measurement.documents is not None
        return self.measurement.documents.mean_bytes

    @property
    def saved_data(self) -> float:
        """Bytes on disk, where documents take more or less than they are long."""
        stored = self.measurement.storage.data_bytes if self.measurement.storage else None
        share = stored / (self.mean_bytes * self.documents) if stored is not None and self.documents else 1.0
        if stored is None or stored < _MOSTLY_ROOM_BYTES:
            share = min(1.0, share)
        return self.saved_each * self.documents * share

    @property
    def saved_index(self) -> float:
        """Bytes of the index that goes: then the one on `_id` has the keys that the other one has now."""
        return float(self.own.size_bytes or 0)


def _spare(measurement: Measurement) -> _Spare | None:
    """The id that could be `_id`; None where there is none."""
    fields = {field.key: field for field in measurement.fields}
    indexes = {index.columns: index for index in measurement.indexes or ()}
    made, own = fields.get(DOCUMENT_ID), indexes.get((DOCUMENT_ID,))
    if made is None or own is None or made.types != _MADE_BY_DRIVER or measurement.documents is None:
        return None
    documents = measurement.rows.value if measurement.rows else measurement.documents.read
    found = [
        _Spare(measurement, fields[key], index, own, documents)
        for (key, *rest), index in indexes.items()
        if key is not None and not rest and index is not own and key in fields and _could_be(fields[key], index)
    ]
    # Of several the one that is asked for most; then the shortest.
    return min(found, key=lambda s: (-(s.index.scans or 0), s.field.value_bytes or 0, s.field.key), default=None)


def _could_be(field: Field, index: Index) -> bool:
    whole = index.unique and not index.partial and index.kind == "btree"
    everywhere = field.null_ratio is not None and field.null_ratio.value == 0
    return (
        whole and everywhere and len(field.types) == 1 and field.types[0] in _SCALARS and bool(_NAMED.search(field.key))
    )


def _finding(case: Case, spares: Sequence[_Spare], family: CollectionFamily | None) -> Finding:
    """`spares`: one for a single collection, else those of the family that were read."""
    first = spares[-1]
    scale = _scale(spares, family)
    data, index = (scale * sum(parts) for parts in zip(*((s.saved_data, s.saved_index) for s in spares), strict=True))
    limit = case.limit("min_saved_bytes", first.measurement)
    asked = _asked_for(spares)
    bad = data + index >= limit.value and not asked
    smaller = percent(1 - first.saved_each / first.mean_bytes)
    key, kind = first.field.key, first.field.types[0]
    where = f"{many(len(family.members), 'collection')} named {family.template}" if family else "the collection"
    return Finding(
        subject=Subject(first.measurement.database, family.template if family else first.measurement.name, key),
        severity=Severity.WARN if bad else Severity.INFO,
        message=(
            f"{key} could be the _id: in {where} that would save {size(data + index)}, {size(data)} of documents and "
            f"{size(index)} of an index."
        ),
        fix=case.fix(
            field=key,
            closed=_CLOSED if family else "",
            script=_script(case, first, family),
        ),
        observed=data + index,
        limit=limit,
        unit="bytes",
        guilty=key,
        evidence=(
            Evidence("bytes saved", number(data + index)),
            Evidence("a document", f"{number(round(first.mean_bytes, 1))} bytes, then {smaller} of that"),
            Evidence("unique indexes", f"{first.own.name} and {first.index.name}, then one"),
            Evidence("type", f"{kind}, {number(round(first.field.value_bytes or 0, 1))} bytes a value"),
            *_uses(spares),
            *([Evidence("bytes by", family.how)] if family else []),
        ),
        facts=("documents", "indexes", "storage", "index_use"),
        source=first.measurement.documents.source if first.measurement.documents else None,
    )


def _scale(spares: Sequence[_Spare], family: CollectionFamily | None) -> float:
    """By how much what the measured ones save is less than what all do: of a family, only some were measured.

    The others save as much for each document.
    """
    read = sum(s.documents for s in spares)
    if family is None or not read:
        return 1.0
    documents = family.documents
    return documents / read if documents is not None else len(family.members) / len(spares)


def _script(case: Case, spare: _Spare, family: CollectionFamily | None) -> str:
    names = [member.name for member in family.members] if family else [spare.measurement.name]
    return _SCRIPT.format(
        database=text(spare.measurement.database),
        chosen=is_one_of(case.profile, spare.measurement.database, names),
        path=text(f"${spare.field.key}"),
        field=text(spare.field.key),
        index=text(spare.index.name),
    )


def _asked_for(spares: Sequence[_Spare]) -> bool:
    """Whether something is known to ask by the `_id` that was made up."""
    return any((s.own.scans or 0) > 0 for s in spares)


def _uses(spares: Sequence[_Spare]) -> Iterator[Evidence]:
    if all(s.own.scans is not None and s.index.scans is not None for s in spares):
        own, other = sum(s.own.scans or 0 for s in spares), sum(s.index.scans or 0 for s in spares)
        since = max((s.own.counted_since for s in spares if s.own.counted_since), default=None)
        counted = f", since {since:%Y-%m-%d}" if since else ""
        names = listed([f"{spares[-1].own.name} {number(own)}", f"{spares[-1].index.name} {number(other)}"])
        yield Evidence("times the indexes were used", f"{names}{counted}")
