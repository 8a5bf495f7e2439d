"""Reads chunked responses of InfluxQL: from JSON documents to the columns of a fact."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import urllib3

from tsaudit.engines.connection import ConnectorError, FactError, Rows, RowsOfSeveral
from tsaudit.engines.http_client import json_object, lines
from tsaudit.engines.influx.series_keys import by_measurement, parse, read_listing
from tsaudit.model.facts import OfMeasurement
from tsaudit.model.figures import Reason, Role
from tsaudit.net import http

CHUNK_ROWS: Final = 10_000
PARAMETERS: Final = {"epoch": "ns", "chunked": "true", "chunk_size": str(CHUNK_ROWS)}
"""Request parameters in addition to the statement that give the response the format read here."""
_MOST_VALUES: Final = 3_000_000
"""Maximum number of values per chunk; in memory, each takes many times its size. 10,000 rows of 300 columns occur."""
_DENIED: Final = re.compile(
    r"not authorized|authorization|authenticat|requires? admin|unable to parse auth", re.IGNORECASE
)
_NO_LOGIN: Final = "unable to parse auth"
"""In the response to a request without a user name."""
_TIMED_OUT: Final = re.compile(r"timeout|interrupted|timed out", re.IGNORECASE)
_TOO_MUCH: Final = re.compile(r"max-select-\w+ limit exceeded")
"""Error of a server whose settings limit how much one statement may read."""

Series = Mapping[str, Any]
"""One series of a response: `name`, `columns`, and `values`, as sent by the server; see `series_keys.read_listing`."""
Reader = Callable[[Iterator[Series], Mapping[str, Any]], Iterator[pa.RecordBatch]]
"""Converts the series of a response, and the parameters of the statement, to the columns of a fact."""


def server_version(url: str, response: urllib3.BaseHTTPResponse, login: str, major: int) -> str:
    """The version in the response to `/ping`. Raises ConnectorError if it is no InfluxDB, or of another major version.

    `login`: what the server may reject. A server that was built from source reports no number, and may be any.
    """
    if what := http.what_it_is(response, login):
        raise ConnectorError(f"{url} {what}")
    version = response.headers.get("X-Influxdb-Version")
    if version is None:
        raise ConnectorError(f"{url} responds, but not like InfluxDB (HTTP {response.status})")
    numbered = re.match(r"v?(\d+)\.", version)
    if numbered is not None and int(numbered[1]) != major:
        raise of_another_version(url, version[:40], major)
    return version.removeprefix("v")[:40]


def of_another_version(url: str, version: str, major: int) -> ConnectorError:
    """The error for a server of another major version than the engine's. `version`: begins with its number."""
    other = version.removeprefix("v").partition(".")[0]
    password = "" if other == "1" else ", a token as `password`"
    advice = f"set `engine: influxdb{other}`{password}, and a target name of its own"
    return ConnectorError(f"{url} is InfluxDB {version}, and this engine is for {major}.x; {advice}")


def read_series(
    response: urllib3.BaseHTTPResponse, rows: Rows, grant: str, most: int | None = None, statements: int = 1
) -> Iterator[Series]:
    """The series of the response as they arrive. Raises FactError unless the response is complete and without error.

    `grant`: the permission to suggest if access is denied. `statements`: how many the response is to, at least. For
    `most` and errors of the connection, see `http_client.lines`.
    """
    ended, is_last_partial = 0, True
    for line in lines(response, rows, most):
        for document in _documents_in(line, grant):
            for result in _results(document, grant):
                is_last_partial = _partial(result)
                ended += not is_last_partial
                yield from map(_checked, result.get("series", ()))
    if is_last_partial or ended < statements:
        raise FactError(Reason.FAILED, "the response ended before its last part")


def refused(response: urllib3.BaseHTTPResponse, grant: str) -> FactError:
    """The error for an HTTP status other than 200."""
    status = response.status
    try:
        text = str(json.loads(response.data)["error"])
    except (ValueError, KeyError, TypeError, RecursionError):
        text = http.what_it_is(response, "the login")
        if status not in (401, 403):
            return FactError(Reason.FAILED, f"the server {text}" if text else f"HTTP {status}")
    if status == 401:
        what = "requires a login" if _NO_LOGIN in text else "rejects the user name or the password"
        said = f": {_first(text)}" if text else ""
        fix = "check `username` and `password` of the target"
        return FactError(Reason.DENIED, f"the server {what} (HTTP 401){said}", fix)
    if status == 403:
        return FactError(Reason.DENIED, f"{_first(text)} (HTTP 403)", grant)
    return _said(text, grant)


def _documents_in(line: bytes, grant: str) -> Iterator[dict[str, Any]]:
    """The document in one line; none if the line is empty."""
    if not line.strip():
        return
    if (keys := read_listing(line)) is not None:
        yield keys
        return
    if line.count(b",") + line.count(b"[") + line.count(b"{") > _MOST_VALUES:
        raise FactError(Reason.OVER_BUDGET, f"a part of the response has more than {_MOST_VALUES:,} values")
    document = json_object(line)
    if "error" in document:
        raise _said(str(document["error"]), grant)
    yield document


def _results(document: Mapping[str, Any], grant: str) -> list[Mapping[str, Any]]:
    """The results of one document. They may contain errors, whatever the HTTP status."""
    results = document.get("results")
    # A statement without results still has a result, which is empty.
    if not isinstance(results, list) or not results or not all(isinstance(result, dict) for result in results):
        raise _misshapen()
    for result in results:
        if "error" in result:
            raise _said(str(result["error"]), grant)
        if not isinstance(result.get("series", []), list):
            raise _misshapen()
    return results


def _checked(series: Any) -> Series:
    """The series, after checking that its rows have as many values as there are columns."""
    if not isinstance(series, dict) or not isinstance(series.get("columns"), list):
        raise _misshapen()
    if not isinstance(series.get("name", ""), str):
        raise _misshapen()
    values, width = series.get("values", []), len(series["columns"])
    if isinstance(values, pa.StringArray):
        return series
    if not isinstance(values, list) or not all(type(row) is list and len(row) == width for row in values):
        raise _misshapen()
    return series


def _misshapen() -> FactError:
    return FactError(Reason.FAILED, "the response is JSON, but not from InfluxDB; is the address correct?")


def _partial(result: Mapping[str, Any]) -> bool:
    """Whether this result continues in the next document."""
    return bool(result.get("partial")) or any(
        isinstance(series, dict) and series.get("partial") for series in result.get("series", ())
    )


def _said(text: str, grant: str) -> FactError:
    """The error with the server's own message, and with the matching reason."""
    line = _first(text) or "error without a message"
    if _DENIED.search(line):
        return FactError(Reason.DENIED, line, grant)
    if _TIMED_OUT.search(line):
        return FactError(Reason.TIMED_OUT, f"the server gave up: {line}")
    return FactError(Reason.OVER_BUDGET if _TOO_MUCH.search(line) else Reason.FAILED, line)


def _first(text: str) -> str:
    return text.strip().splitlines()[0][:300] if text.strip() else ""


# --- From series to the columns of a fact ------------------------------------------------------------------------


def columns_of(**columns: str) -> Reader:
    """A reader that renames columns; `name` stands for the name of the series, which is that of the measurement."""

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
    """One column per tag, from series keys."""
    tags: Sequence[str] = parameters["tags"]
    for series in answer:
        try:
            found = parse(keys_of(series))
        except ValueError as error:
            raise FactError(Reason.FAILED, str(error)) from error
        unknown = set(found.schema.names) - set(tags)
        if unknown:
            raise FactError(Reason.FAILED, f"tag {min(unknown)} appeared while the schema was being read")
        nothing = pa.nulls(found.num_rows, pa.string())
        arrays = [found.column(tag) if tag in found.schema.names else nothing for tag in tags]
        yield pa.RecordBatch.from_arrays(arrays, names=list(tags))


def keys_of(series: Series) -> pa.StringArray:
    """The series keys in a part of the response to `SHOW SERIES`."""
    values = series.get("values", ())
    return values if isinstance(values, pa.StringArray) else pa.array(column(series, "key"), pa.string())


def sample(answer: Iterator[Series], parameters: Mapping[str, Any]) -> Iterator[pa.RecordBatch]:
    """Time, fields, and tags, by position, because a tag and a field may share a name."""
    each_type = parameters.get("each_type", {})
    types = [each_type.get(field, ()) for field in parameters["fields"]]
    several = [field for field in parameters["fields"] if field in each_type]
    names = ["time", *parameters["fields"], *parameters["tags"], *(f"type {field}" for field in several)]
    width = 1 + sum(len(kinds) or 1 for kinds in types) + len(parameters["tags"])
    for series in answer:
        columns = iter(list(zip(*series.get("values", ()), strict=True)) or [()] * width)
        arrays, of_types = [pa.array(next(columns), pa.timestamp("ns", "UTC"))], []
        for kinds in types:
            if kinds:
                texts, found = _of_several_types(kinds, [next(columns) for _ in kinds])
                arrays.append(texts)
                of_types.append(found)
            else:
                arrays.append(_values(next(columns)))
        yield pa.RecordBatch.from_arrays([*arrays, *map(_values, columns), *of_types], names=names)


def _of_several_types(types: Sequence[str], columns: Sequence[Sequence[Any]]) -> tuple[pa.Array, pa.Array]:
    """The values of one field as strings, and the type of each. `columns`: its values of each type."""
    texts, found = list[str | None](), list[str | None]()
    for row in zip(*columns, strict=True):
        place = next((place for place, value in enumerate(row) if value is not None), None)
        texts.append(None if place is None else str(row[place]))
        found.append(None if place is None else types[place])
    return pa.array(texts, pa.string()), pa.array(found, pa.string())


def _values(values: Sequence[Any]) -> pa.Array:
    """The values as an array. In JSON, whole floats arrive as integers. Mixed types become strings."""
    kinds = {type(v) for v in values if v is not None}
    if not kinds:
        return pa.nulls(len(values))
    if kinds <= {int, float}:
        if int in kinds and float in kinds:
            # Arrow takes no whole number beyond 2^53 for a float.
            values = [None if v is None else float(v) for v in values]
        return pa.array(values, pa.float64() if float in kinds else pa.int64())
    if len(kinds) == 1:
        return pa.array(values)
    return pa.array([None if v is None else str(v) for v in values], pa.string())


def whole(value: Any) -> int:
    """A count in a response, 0 if it is null. Raises ValueError if it is negative or not whole."""
    if value is None:
        return 0
    # In Python, true is an integer.
    if (type(value) is int or (type(value) is float and value.is_integer())) and value >= 0:
        return int(value)
    raise ValueError(f"a count is {value!r}")


def row_count(answer: Iterator[Series], _: Mapping[str, Any]) -> Iterator[pa.RecordBatch]:
    """One row per series: the number of values of its fullest field, then its tags; empty for none."""
    found = [(max(map(whole, row[1:]), default=0), s.get("tags") or {}) for s in answer for row in s.get("values", ())]
    keys = dict.fromkeys(key for _, tags in found for key in tags)
    counts = {"rows": pa.array([count for count, _ in found], pa.int64())}
    yield pa.record_batch(
        counts | {f"{Role.TAG} {key}": pa.array([tags.get(key, "") for _, tags in found], pa.string()) for key in keys}
    )


READERS: Final[Mapping[str, Reader]] = {
    "tag_keys": columns_of(measurement="name of series", tag="tagKey"),
    "field_types": columns_of(measurement="name of series", field="fieldKey", data_type="fieldType"),
    "series_listing": listing,
    "row_sample": sample,
    "row_slice": sample,
    "row_count": row_count,
}
"""Fact to the function that reads the response about one measurement, or about one database."""


# --- Several measurements in one response ---------------------------------------------------------------------------


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
        "each_type": {field: types for one in given for field, types in getattr(one, "each_type", {}).items()},
    }


def _listings(
    answer: Iterator[Series], given: Sequence[OfMeasurement], rows: RowsOfSeveral
) -> Iterator[pa.RecordBatch]:
    """The listings, with one column per tag of the measurement; its tags are already known."""
    tags = {one.measurement: one.tags for one in given}
    for name in [name for name in rows.alone if not _BLURS_A_NAME.isdisjoint(name)]:
        del rows.alone[name]
    for series in answer:
        keys = keys_of(series)
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


def _samples(answer: Iterator[Series], given: Sequence[OfMeasurement], rows: RowsOfSeveral) -> Iterator[pa.RecordBatch]:
    """The samples: time, and the fields and tags of the measurement."""
    about = united(given)
    fields = {name: place for place, name in enumerate(about["fields"], 1)}
    tags = {name: place for place, name in enumerate(about["tags"], 1 + len(fields))}
    types = {
        name: place for place, name in enumerate(filter(about["each_type"].get, fields), 1 + len(fields) + len(tags))
    }
    own = {
        one.measurement: [
            0,
            *map(fields.__getitem__, one.fields),
            *map(tags.__getitem__, one.tags),
            *(types[name] for name in one.fields if name in types),
        ]
        for one in given
    }
    for series in answer:
        rows.measurement = series["name"]
        for batch in sample(iter([series]), about):
            yield batch.select(own[rows.measurement])


def _row_counts(answer: Iterator[Series], _: Sequence[OfMeasurement], rows: RowsOfSeveral) -> Iterator[pa.RecordBatch]:
    """The counts, one row per series: the number of values of its fullest field."""
    for series in answer:
        rows.measurement = series["name"]
        yield from row_count(iter([series]), {})


TOGETHER: Final[
    Mapping[str, Callable[[Iterator[Series], Sequence[OfMeasurement], RowsOfSeveral], Iterator[pa.RecordBatch]]]
] = {"series_listing": _listings, "row_sample": _samples, "row_count": _row_counts}
"""Fact to the function that reads the response about several measurements."""
