"""The answers of InfluxQL, in chunks: from JSON documents to the columns of a fact."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
import urllib3

from tsaudit.analysis.series_keys import parse
from tsaudit.connector import FactError, Rows
from tsaudit.influx import listed_keys
from tsaudit.influx.streaming import lines
from tsaudit.profile import Reason

CHUNK_ROWS: Final = 10_000
PARAMETERS: Final = {"epoch": "ns", "chunked": "true", "chunk_size": str(CHUNK_ROWS)}
"""What a request says besides the statement, so that its answer can be read here."""
_DENIED: Final = re.compile(
    r"not authorized|authorization|authenticat|requires? admin|unable to parse auth", re.IGNORECASE
)
_TIMED_OUT: Final = re.compile(r"timeout|interrupted|timed out", re.IGNORECASE)

Series = Mapping[str, Any]
"""One series of an answer: `name`, `columns` and `values`, as the server sends them; see also `listed_keys`."""
Reader = Callable[[Iterator[Series], Mapping[str, Any]], Iterator[pa.RecordBatch]]
"""Turns the series of an answer, and the parameters of the statement, into the columns of a fact."""


def read_series(response: urllib3.BaseHTTPResponse, deadline: float, rows: Rows, grant: str) -> Iterator[Series]:
    """The series of the answer as they arrive. FactError unless the answer is whole and without error.

    `grant` says which right helps where one is missing. Errors of the connection are let through, see
    `streaming.lines`.
    """
    complete = False
    for line in lines(response, deadline, rows):
        for document in _documents_in(line, grant):
            results = _results(document, grant)
            complete = not any(_partial(result) for result in results)
            for result in results:
                yield from result.get("series", ())
    if not complete:
        raise FactError(Reason.FAILED, "the answer broke off before its last part")


def refused(status: int, body: bytes, grant: str) -> FactError:
    """What an HTTP status other than 200 means."""
    try:
        text = str(json.loads(body)["error"])
    except (ValueError, KeyError, TypeError):
        text = f"HTTP {status}"
    if status in (401, 403):
        return FactError(Reason.DENIED, f"{text}; {grant}")
    return _said(text, grant)


def _documents_in(line: bytes, grant: str) -> Iterator[dict[str, Any]]:
    """The document in one line; none in an empty one."""
    if not line.strip():
        return
    if (keys := listed_keys.read(line)) is not None:
        yield keys
        return
    try:
        document = json.loads(line)
    except ValueError as error:
        raise FactError(Reason.FAILED, "the answer is not JSON; is a proxy in between?") from error
    if not isinstance(document, dict):
        raise FactError(Reason.FAILED, "the answer is not an object; is a proxy in between?")
    if "error" in document:
        raise _said(str(document["error"]), grant)
    yield document


def _results(document: Mapping[str, Any], grant: str) -> list[Mapping[str, Any]]:
    """The results of one document. Errors stand here too, whatever the HTTP status was."""
    results = document.get("results", [])
    for result in results:
        if "error" in result:
            raise _said(str(result["error"]), grant)
    return list(results)


def _partial(result: Mapping[str, Any]) -> bool:
    """Whether more of this result follows."""
    return bool(result.get("partial")) or any(series.get("partial") for series in result.get("series", ()))


def _said(text: str, grant: str) -> FactError:
    """The server's own error message, with the reason it amounts to."""
    line = text.strip().splitlines()[0][:300] if text.strip() else "error without a message"
    if _DENIED.search(line):
        return FactError(Reason.DENIED, f"{line}; {grant}")
    if _TIMED_OUT.search(line):
        return FactError(Reason.TIMED_OUT, f"the server gave up: {line}")
    return FactError(Reason.FAILED, line)


# --- From series to the columns of a fact ------------------------------------------------------------------------


def columns_of(**columns: str) -> Reader:
    """A reader that renames columns; `name` stands for the name of the series, which is the measurement's."""

    def read(answer: Iterator[Series], _: Mapping[str, Any]) -> Iterator[pa.RecordBatch]:
        for series in answer:
            values = series.get("values", ())
            arrays = [
                pa.array([series["name"]] * len(values), pa.string())
                if source == "name of series"
                else pa.array(column(series, source))
                for source in columns.values()
            ]
            yield pa.RecordBatch.from_arrays(arrays, names=list(columns))

    return read


def column(series: Series, name: str) -> list[Any]:
    """The values of one column of a series."""
    place = series["columns"].index(name)
    return [row[place] for row in series.get("values", ())]


def listing(answer: Iterator[Series], parameters: Mapping[str, Any]) -> Iterator[pa.RecordBatch]:
    """A column per tag out of series keys."""
    tags: Sequence[str] = parameters["tags"]
    for series in answer:
        try:
            found = parse(_keys(series))
        except ValueError as error:
            raise FactError(Reason.FAILED, str(error)) from error
        unknown = set(found.schema.names) - set(tags)
        if unknown:
            raise FactError(Reason.FAILED, f"tag {min(unknown)} appeared while the schema was being read")
        nothing = pa.nulls(found.num_rows, pa.string())
        arrays = [found.column(tag) if tag in found.schema.names else nothing for tag in tags]
        yield pa.RecordBatch.from_arrays(arrays, names=list(tags))


def _keys(series: Series) -> pa.StringArray:
    values = series.get("values", ())
    return values if isinstance(values, pa.StringArray) else pa.array(column(series, "key"), pa.string())


def sample(answer: Iterator[Series], parameters: Mapping[str, Any]) -> Iterator[pa.RecordBatch]:
    """Time, fields, tags. By position: a tag and a field of one name are both called after it."""
    names = ["time", *parameters["fields"], *parameters["tags"]]
    for series in answer:
        columns = list(zip(*series.get("values", ()), strict=True)) or [()] * len(names)
        arrays = [pa.array(columns[0], pa.timestamp("ns", "UTC")), *(_values(c) for c in columns[1:])]
        yield pa.RecordBatch.from_arrays(arrays, names=names)


def _values(values: Sequence[Any]) -> pa.Array:
    """JSON knows no integers: a float field with whole values arrives as such. Mixed types become text."""
    kinds = {type(v) for v in values if v is not None}
    if not kinds:
        return pa.nulls(len(values))
    if kinds <= {int, float}:
        return pa.array(values, pa.int64()) if kinds == {int} else pa.array([_float(v) for v in values], pa.float64())
    if len(kinds) == 1:
        return pa.array(values)
    return pa.array([None if v is None else str(v) for v in values], pa.string())


def _float(value: float | None) -> float | None:
    return None if value is None else float(value)


def row_count(answer: Iterator[Series], _: Mapping[str, Any]) -> Iterator[pa.RecordBatch]:
    """One row per series: the values of its fullest field."""
    counts = [max((v or 0 for v in row[1:]), default=0) for s in answer for row in s.get("values", ())]
    yield pa.record_batch({"rows": pa.array(counts, pa.int64())})
