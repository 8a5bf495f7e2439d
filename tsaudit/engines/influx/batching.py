"""InfluxQL: reads the response to one statement about several measurements."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

from tsaudit.engines.connection import RowsOfSeveral
from tsaudit.engines.influx import influxql
from tsaudit.engines.influx.influxql import Series
from tsaudit.engines.influx.series_keys import by_measurement, parse
from tsaudit.model.facts.given import OfMeasurement

_BLURS_A_NAME: Final = frozenset("\\,")
"""A series key that starts with `a\\,b` may be about the measurement `a,b`, or about one whose name ends in a
backslash; one that starts with `a\\\\,b` may be about a third. A name with neither character is certain.
"""


def united(given: Sequence[OfMeasurement]) -> dict[str, Any]:
    """The parameters of a statement about all the measurements: the union of their fields, and of their tags."""
    return given[0].variables() | {
        "several": [one.measurement for one in given],
        "fields": list(dict.fromkeys(field for one in given for field in one.fields)),
        "tags": list(dict.fromkeys(tag for one in given for tag in one.tags)),
    }


def listing(answer: Iterator[Series], given: Sequence[OfMeasurement], rows: RowsOfSeveral) -> Iterator[pa.RecordBatch]:
    """The listings, with one column per tag of the measurement; its tags are already known."""
    tags = {one.measurement: one.tags for one in given}
    for name in [name for name in rows.alone if not _BLURS_A_NAME.isdisjoint(name)]:
        del rows.alone[name]
    for series in answer:
        keys = influxql.keys_of(series)
        # Parsed all at once: parsing a few keys takes as long as parsing thousands.
        found = parse(keys)
        each = {tag: found.column(tag) for tag in found.schema.names}
        present = np.zeros(len(keys), np.int64)
        for column in each.values():
            present += column.is_valid().to_numpy(zero_copy_only=False)
        for name, start, end in by_measurement(keys):
            if name not in rows.alone:
                continue
            size = end - start
            absent = pa.nulls(size, pa.string())
            own = [each[tag].slice(start, size) if tag in each else absent for tag in tags[name]]
            if sum(size - column.null_count for column in own) < present[start:end].sum():
                # The measurement has a new tag. Querying it separately shows which one.
                del rows.alone[name]
                continue
            rows.measurement = name
            yield pa.RecordBatch.from_arrays(own, names=list(tags[name]))


def sample(answer: Iterator[Series], given: Sequence[OfMeasurement], rows: RowsOfSeveral) -> Iterator[pa.RecordBatch]:
    """The samples: time, and the fields and tags of the measurement."""
    about = united(given)
    fields = {name: place for place, name in enumerate(about["fields"], 1)}
    tags = {name: place for place, name in enumerate(about["tags"], 1 + len(fields))}
    own = {
        one.measurement: [0, *map(fields.__getitem__, one.fields), *map(tags.__getitem__, one.tags)] for one in given
    }
    for series in answer:
        rows.measurement = series["name"]
        for batch in influxql.sample(iter([series]), about):
            yield batch.select(own[rows.measurement])


def row_count(answer: Iterator[Series], _: Sequence[OfMeasurement], rows: RowsOfSeveral) -> Iterator[pa.RecordBatch]:
    """The counts, one row per series: the number of values of its fullest field."""
    for series in answer:
        rows.measurement = series["name"]
        yield from influxql.row_count(iter([series]), {})


READERS: Final[
    Mapping[str, Callable[[Iterator[Series], Sequence[OfMeasurement], RowsOfSeveral], Iterator[pa.RecordBatch]]]
] = {"series_listing": listing, "row_sample": sample, "row_count": row_count}
"""Fact to the function that reads the response about several measurements."""
