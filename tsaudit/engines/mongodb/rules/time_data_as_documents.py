"""DOC007."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tsaudit import costs
from tsaudit.analysis.columns.columns import CHANGED, STATE, distinct_types, names_numbered, words_of
from tsaudit.analysis.significance import ENOUGH
from tsaudit.engines.mongodb import DOCUMENT_ID
from tsaudit.engines.mongodb.collections import MakeTimeSeries, is_more_than_room, is_series, left_by_compression
from tsaudit.model.columns import Field
from tsaudit.model.finding import Currency, Evidence, Finding, Impact
from tsaudit.model.profile import Measurement
from tsaudit.rule import Case, rule, subject_of
from tsaudit.text import listed, number, size

_NAMES: Final = frozenset({"string", "int", "long", "objectId"})
_MOST_SOURCES: Final = 0.2
"""Maximum distinct values per document read for a source, because sources are repeated."""
_FEWEST_VALUES: Final = 0.05
"""Minimum distinct values per document read for a measured value, because measured values vary."""

_OWN_TEXTS: Final = 0.5
"""Values for each document that has one, from which on most texts occur once."""
_MOST_OWN: Final = 0.25
"""Part of a document that such texts fill."""


@rule(
    code="DOC007",
    title="Measurements are stored as plain documents",
    costs={Currency.BYTES},
    guidelines=("H6",),
    requires={"documents", "options", "row_estimate"},
    uses={"indexes"},
    shows={"storage"},
)
def time_data_as_documents(case: Case) -> Iterator[Finding]:
    """Collections that should be time series: a time, a repeated source, and numbers that vary.

    Documents with a meaningful ID, as `_id` or under another unique index, are not measurements: a time series
    collection cannot enforce uniqueness. Nor are documents of which texts that hardly come again, such as the bodies of
    requests, fill a quarter or more: these are events. Nor are documents with the time of their last change, and a
    state, a flag, or an ID of their own, such as jobs and messages. Numbers of things, such as those of orders, are not
    measured.

    The cost is what would certainly be saved: the index on `_id`, which a time series collection does not have, and in
    each document the names of the fields and the source, which a bucket contains only once. What compression already
    saves is subtracted; what storing the values column by column would save is not counted.

    ## Why it matters

    Each measurement takes a separate document with its field names, an `_id`, and an entry in each index. A time series
    collection stores an hour of a source together, column by column, and needs a fraction of the space.

    ## Example

    A million documents `{ time: ..., sensor: "TLM0101", celsius: 21.5 }`.

    ## Fix

    Use a time series collection (MongoDB 5.0 and later), unless documents are updated after they are written or must be
    unique.

    ## References

    - Time series collections: https://www.mongodb.com/docs/manual/core/timeseries-collections/
    - Limitations: https://www.mongodb.com/docs/manual/core/timeseries/timeseries-limitations/
    """
    yield from case.once_for_family(lambda measurement: _evaluate(case, measurement))


def _evaluate(case: Case, measurement: Measurement) -> Iterator[Finding]:
    rows, options = measurement.rows, measurement.options
    if measurement.time_column is None or rows is None or options is None or is_series(measurement):
        return
    read = measurement.documents.read if measurement.documents else 0
    if read < ENOUGH or _has_to_be_unique(measurement) or _are_events(measurement) or _change(measurement):
        return
    sources = [f for f in measurement.fields if _names_source(measurement, f)]
    values = [f for f in measurement.fields if _is_measured(case, measurement, f)]
    if sources and values:
        yield _finding(case, measurement, sources, values)


def _has_to_be_unique(measurement: Measurement) -> bool:
    """Whether a meaningful ID, such as an order number, is unique; a time series collection cannot enforce that."""
    own = next((f for f in measurement.fields if f.key == DOCUMENT_ID), None)
    if own is not None and own.types != ("objectId",):
        return True
    return any(index.unique and index.columns != (DOCUMENT_ID,) for index in measurement.indexes or ())


def _are_events(measurement: Measurement) -> bool:
    """Whether much of each document is text of its own, such as the body of a request: no bucket contains that once,
    and whoever looks for it wants the document. IDs are no such texts.
    """
    from tsaudit.analysis.shapes.identifiers import identifier_kind

    read = measurement.documents.read if measurement.documents else 0
    mean = measurement.documents.mean_bytes if measurement.documents else 0.0
    own = 0.0
    for field in measurement.fields:
        present = field.present_ratio
        varies = field.distinct is not None and field.distinct.value > _OWN_TEXTS * present * read
        if field.types == ("string",) and varies and identifier_kind(field.sample) is None:
            own += present * (field.value_bytes or 0.0)
    return own >= _MOST_OWN * mean > 0


def _change(measurement: Measurement) -> bool:
    """Whether the documents are about things that change, such as jobs: they say when, and have a state, a flag, or an
    ID of their own. Drivers add the time of the last change to all documents, also to measurements.
    """
    says_when = any(field.types == ("date",) and words_of(field.key) & CHANGED for field in measurement.fields)
    return says_when and any(_is_of_thing(measurement, field) for field in measurement.fields)


def _is_of_thing(measurement: Measurement, field: Field) -> bool:
    from tsaudit.analysis.shapes.identifiers import identifier_kind

    if field.key == DOCUMENT_ID:
        return False
    if field.types == ("bool",) or words_of(field.key) & STATE:
        return True
    is_own = _share(measurement, field) > _OWN_TEXTS * field.present_ratio
    return is_own and field.types == ("string",) and identifier_kind(field.sample) is not None


def _share(measurement: Measurement, field: Field) -> float:
    """Distinct values per document read."""
    read = measurement.documents.read if measurement.documents else 0
    return field.distinct.value / read if field.distinct and read else 0.0


def _names_source(measurement: Measurement, field: Field) -> bool:
    everywhere = field.null_ratio is not None and field.null_ratio.value == 0
    again = _share(measurement, field) <= _MOST_SOURCES
    # A constant, such as the type of a position, does not identify a source.
    again = again and field.distinct is not None and field.distinct.value > 1
    return everywhere and again and len(field.types) == 1 and field.types[0] in _NAMES


def _is_measured(case: Case, measurement: Measurement, field: Field) -> bool:
    numbers = distinct_types(case.profile.engine, field.types) == ("number",)
    varies = _share(measurement, field) >= _FEWEST_VALUES
    return field.key != DOCUMENT_ID and numbers and varies and not names_numbered(field.key)


def _impact(case: Case, measurement: Measurement, sources: list[Field]) -> Impact | None:
    """What a time series collection would save; None if no bytes are known."""
    kept, rows, documents = measurement.storage, measurement.rows, measurement.documents
    if kept is None or kept.data_bytes is None or rows is None or documents is None:
        return None
    names = [field for field in measurement.fields if field.key != DOCUMENT_ID]
    each = _name_bytes(measurement.time_column or "") + sum(f.present_ratio * _name_bytes(f.key) for f in names)
    each += sum(field.value_bytes or 0.0 for field in sources)
    own = next((index for index in measurement.indexes or () if index.columns == (DOCUMENT_ID,)), None)
    saved = left_by_compression(measurement, each) + ((own.size_bytes or 0) if own else 0)
    how = (
        f"the index on _id, and {number(round(each))} B of names and sources in each document of "
        f"{size(documents.mean_bytes)} by the BSON specification, less what compression saves of a document"
    )
    return costs.of_bytes(case, measurement, saved, how=how, is_row_data=is_more_than_room(measurement))


def _name_bytes(path: str) -> int:
    """Bytes of a field without its value: its name, a zero byte, and its type."""
    return len(path.rpartition(".")[2].encode()) + 2


def _finding(case: Case, measurement: Measurement, sources: list[Field], values: list[Field]) -> Finding:
    assert measurement.rows is not None
    assert measurement.documents is not None
    source = max(sources, key=lambda f: f.distinct.value if f.distinct else 0)
    stored = measurement.storage.data_bytes if measurement.storage else None
    return Finding(
        subject=subject_of(measurement),
        impact=_impact(case, measurement, sources),
        message=(
            f"{number(measurement.rows.value)} documents of {size(measurement.documents.mean_bytes)} each are "
            f"measurements at a {measurement.time_column}: {listed([f.key for f in values], 4)} by "
            f"{listed([f.key for f in sources], 4)}."
        ),
        # If several parts of one subdocument identify the source, use the whole subdocument.
        changes=(MakeTimeSeries(subject_of(measurement), str(measurement.time_column), source.key.partition(".")[0]),),
        observed=float(measurement.rows.value),
        unit="documents",
        main_contributor=source.key,
        samples=source.sample[:3],
        evidence=(
            Evidence("time", str(measurement.time_column)),
            Evidence("sources", listed([f.key for f in sources])),
            Evidence("measured", listed([f.key for f in values])),
            *([Evidence("bytes of documents", size(stored))] if stored is not None else []),
        ),
        facts=("documents", "options", "row_estimate", "storage", "indexes"),
        source=measurement.documents.source,
    )
