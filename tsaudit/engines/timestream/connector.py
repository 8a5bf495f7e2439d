"""Amazon Timestream for LiveAnalytics: tables through the write service, SQL through the query service."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

import pyarrow as pa

from tsaudit.engines import queries
from tsaudit.engines.connection import Access, AddressError, ConnectorError, FactError, FactQuery, Rows, fact_batch
from tsaudit.engines.timestream.client import Account, Client
from tsaudit.engines.timestream.tables import DATABASE_KEY, ENFORCEMENT, KEY, REJECTED
from tsaudit.model.facts import Given
from tsaudit.model.figures import Reason

_ENGINE: Final = "timestream"
_QUERY: Final = "timestream-query"
_WRITE: Final = "timestream-write"
_SETTINGS: Final = frozenset({"endpoint", "query_endpoint", "write_endpoint"})
_ROLES: Final = {"DIMENSION": "tag", "TIMESTAMP": "time", "MEASURE_VALUE": "field", "MULTI": "field"}
"""Attribute of a column to its role."""
_MEASURE_NAME: Final = "MEASURE_NAME"
"""The attribute of the column with the measure name, which tsaudit treats separately."""
_FOREVER_DAYS: Final = 73_000
_BEING_DELETED: Final = "DELETING"
_CANCEL_S: Final = 1.5
_MOST_LISTED: Final = 100_000
"""Maximum number of tables listed: an account has at most 50,000."""
_MOST_QUERIES: Final = 200
"""Maximum number of scheduled queries: each is described by a separate call, and five calls a second are allowed."""
_SPARE_S: Final = 2.0
"""If fewer seconds are left, no further queries are described: a timeout would leave no result, not a partial one."""
_AT_WORK: Final = pa.record_batch([], names=[])


@contextmanager
def connect(access: Access) -> Iterator[TimestreamConnection]:
    """A connection to the services of a region, one of which has responded. Raises ConnectorError."""
    parts = urlsplit(access.url)
    settings = {key: values[-1] for key, values in parse_qs(parts.query).items()}
    if parts.scheme != "timestream" or not parts.netloc or parts.path.strip("/") or settings.keys() - _SETTINGS:
        raise AddressError("timestream://eu-central-1 (`?endpoint=https://...` may follow)", access.url)
    for name, value in settings.items():
        if not re.match(r"https?://[^/]", value):
            raise ConnectorError(f"`{name}` in the URL is not an address: it must start with https://")
    if access.password:
        raise ConnectorError("AWS credentials come from the environment or a profile: do not set `password`")
    both = settings.get("endpoint")
    account = Account(
        parts.netloc,
        access.username,
        settings.get("query_endpoint", both),
        settings.get("write_endpoint", both),
        access.connect_timeout_s,
    )
    client = Client(account)
    try:
        client.greet()
        yield TimestreamConnection(client, access.databases)
    finally:
        client.close()


class TimestreamConnection:
    """Calls both services, and caches the last listing of a database's tables."""

    server_version = "LiveAnalytics 2018-11-01"
    """The product and the version of its API: the service does not report one."""

    def __init__(self, client: Client, databases: tuple[str, ...]) -> None:
        self._client = client
        self._databases = databases
        self._keys: dict[str, str] = {}
        """Database to the KMS key with which it is encrypted."""
        self._tables: tuple[str, list[dict[str, Any]]] = ("", [])
        """The database whose tables were listed last, with these tables."""

    def query(self, fact: str, timeout_s: float, given: Given) -> Rows:
        """Query the fact with `sql/timestream/<fact>.*`; see `connection.Connection`."""
        own: dict[str, Callable[[FactQuery], Iterator[pa.RecordBatch]]] = {
            "databases": self._list_databases,
            "measurements": self._list_tables,
            "retention": self._retention,
            "options": self._options,
            "columns": self._columns,
            "measure_names": self._measure_names,
            "scheduled_queries": self._scheduled_queries,
        }
        rows = Rows()
        ask = FactQuery(fact, given.variables(), rows, timeout_s)
        if fact in own:
            return rows.reading(own[fact](ask))
        rows.statement = queries.render(_ENGINE, fact, **ask.about)
        names = (*ask.about["columns"], "measure_name") if fact == "row_sample" else ()
        return rows.reading(self._run(ask, timeout_s, names))

    def reconnect(self) -> TimestreamConnection:
        """Another connection to the same account."""
        return TimestreamConnection(self._client.again(), self._databases)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def abort(self) -> None:
        """Abort the current call; a query then continues in the service until its own timeout."""
        self._client.abort()

    # --- Metadata ------------------------------------------------------------------------------------------------

    def _list_databases(self, ask: FactQuery) -> Iterator[pa.RecordBatch]:
        try:
            listed = self._pages(ask, "Databases")
        except FactError as error:
            if error.reason is not Reason.DENIED or not self._databases:
                raise
            ask.rows.scope = "those listed in tsaudit.yaml: the identity has no permission to list databases"
            listed = [{"DatabaseName": name} for name in self._databases]
        self._keys = {found["DatabaseName"]: found["KmsKeyId"] for found in listed if "KmsKeyId" in found}
        yield fact_batch("databases", [{"database": found["DatabaseName"]} for found in listed])

    def _list_tables(self, ask: FactQuery) -> Iterator[pa.RecordBatch]:
        listed = self._pages(ask, "Tables")
        tables = [table for table in listed if table.get("TableStatus") != _BEING_DELETED]
        self._tables = ask.about["database"], tables
        yield fact_batch("measurements", [{"measurement": table["TableName"]} for table in tables])

    def _tables_of(self, ask: FactQuery) -> list[dict[str, Any]]:
        """The tables, from the last listing if that was for this database, otherwise from a new one."""
        if self._tables[0] == ask.about["database"]:
            ask.rows.statements, ask.rows.statement = 0, queries.render(_ENGINE, ask.fact, **ask.about)
            return self._tables[1]
        return self._pages(ask, "Tables")

    def _retention(self, ask: FactQuery) -> Iterator[pa.RecordBatch]:
        rows = []
        for table in self._tables_of(ask):
            days = table["RetentionProperties"]["MagneticStoreRetentionPeriodInDays"]
            duration_s = 0 if days >= _FOREVER_DAYS else days * 86_400
            rows.append({"policy": table["TableName"], "duration_s": duration_s, "default": False})
        yield fact_batch("retention", rows)

    def _options(self, ask: FactQuery) -> Iterator[pa.RecordBatch]:
        tables = self._tables_of(ask)
        key = self._keys.get(ask.about["database"])
        if key is None and any(_encrypts_rejected(table) for table in tables):
            # Databases that may not be listed may still be readable. Without their key, there is nothing to compare
            # with.
            ask.rows.statements += 1
            answer = self._client.call(_WRITE, "DescribeDatabase", ask.deadline, DatabaseName=ask.about["database"])
            key = answer["Database"].get("KmsKeyId")
        yield fact_batch(
            "options",
            (
                {"measurement": table["TableName"], "option": option, "value": value}
                for table in tables
                for option, value in _set_options(table, key)
            ),
        )

    def _scheduled_queries(self, ask: FactQuery) -> Iterator[pa.RecordBatch]:
        listed = self._pages(ask, "ScheduledQueries")
        enabled = [query for query in listed if query["State"] == "ENABLED"]
        for number, query in enumerate(enabled):
            if number == _MOST_QUERIES or ask.deadline - time.monotonic() < _SPARE_S:
                yield fact_batch(ask.fact, [{"query": left["Name"], "enabled": True} for left in enabled[number:]])
                return
            ask.rows.statements += 1
            answer = self._client.call(_QUERY, "DescribeScheduledQuery", ask.deadline, ScheduledQueryArn=query["Arn"])
            yield fact_batch(ask.fact, [_last_run(answer["ScheduledQuery"])])

    def _pages(self, ask: FactQuery, word: str) -> list[dict[str, Any]]:
        """All items that the listing in the fact's query file returns, from all pages."""
        rows = ask.rows
        rows.statement, rows.statements = queries.render(_ENGINE, ask.fact, **ask.about), 0
        request = json.loads(rows.statement)
        found: list[dict[str, Any]] = []
        token: dict[str, str] = {}
        while True:
            rows.statements += 1
            answer = self._client.call(
                request["service"], request["operation"], ask.deadline, **request["parameters"], **token
            )
            found += answer[word]
            if len(found) > _MOST_LISTED:
                raise FactError(Reason.FAILED, f"the listing has more than {_MOST_LISTED:,} entries")
            if not answer.get("NextToken"):
                return found
            token = {"NextToken": answer["NextToken"]}

    def _columns(self, ask: FactQuery) -> Iterator[pa.RecordBatch]:
        for table, row in self._of_each_table(ask):
            column, data_type, attribute = list(row.values())[:3]
            if attribute != _MEASURE_NAME:
                described = {"measurement": table, "column": column, "data_type": data_type}
                # An undocumented attribute: the role follows from the column's type.
                yield fact_batch(ask.fact, [described | {"role": _ROLES.get(attribute)}], "role")

    def _measure_names(self, ask: FactQuery) -> Iterator[pa.RecordBatch]:
        for table, row in self._of_each_table(ask):
            name, data_type, dimensions = list(row.values())[:3]
            # Documented as an array of rows, but returned as JSON in the service's own examples.
            listed = json.loads(dimensions) if isinstance(dimensions, str) else dimensions or ()
            described = {"measurement": table, "measure_name": name, "data_type": data_type}
            keys = sorted(one["dimension_name"] for one in listed)
            yield fact_batch(ask.fact, [described | {"dimensions": keys}])

    def _of_each_table(self, ask: FactQuery) -> Iterator[tuple[str, dict[str, Any]]]:
        ask.rows.statements = 0
        for table in ask.about["measurements"]:
            ask.rows.statement = queries.render(_ENGINE, ask.fact, **{**ask.about, "measurement": table})
            ask.rows.statements += 1
            for page in self._run(ask, ask.left_s):
                for row in page.to_pylist() if page.num_columns else ():
                    yield table, row

    # --- SQL -----------------------------------------------------------------------------------------------------

    def _run(self, ask: FactQuery, timeout_s: float, names: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:
        """The pages of the current statement as they arrive, including pages without rows while the query is running.
        The query is canceled unless all pages are read.

        `timeout_s`: seconds left for it. `names`: names of the columns; empty to use those in the response.
        """
        rows = ask.rows
        scanned, metered = rows.bytes_scanned or 0, rows.bytes_metered or 0
        asked = {"QueryString": rows.statement}
        begun = ""
        try:
            while True:
                answer = self._client.call(_QUERY, "Query", ask.deadline, **asked)
                # The counters in the last page apply; the first page may be empty and without counters.
                status = answer.get("QueryStatus", {})
                if "CumulativeBytesScanned" in status:
                    rows.bytes_scanned = scanned + int(status["CumulativeBytesScanned"])
                if "CumulativeBytesMetered" in status:
                    rows.bytes_metered = metered + int(status["CumulativeBytesMetered"])
                begun = answer["QueryId"] if answer.get("NextToken") else ""
                yield read_page(answer, names) if answer["Rows"] or not begun else _AT_WORK
                if not begun:
                    return
                if time.monotonic() >= ask.deadline:
                    raise FactError(Reason.TIMED_OUT, f"no response within {timeout_s:g} s")
                asked["NextToken"] = answer["NextToken"]
        except FactError as error:
            if error.reason is not Reason.TIMED_OUT or not begun:
                raise
            query, begun = begun, ""
            refused = self._cancel(query)
            detail = f"abandoned after {timeout_s:g} s, and not canceled: {refused}"
            raise FactError(error.reason, detail if refused else f"canceled after {timeout_s:g} s") from error
        finally:
            if begun:
                self._cancel(begun)

    def _cancel(self, query: str) -> str:
        """Cancel the query. Returns why that failed; empty if it did not."""
        try:
            self._client.call(_QUERY, "CancelQuery", time.monotonic() + _CANCEL_S, QueryId=query)
        except FactError as error:
            return error.detail
        return ""


def _last_run(query: Mapping[str, Any]) -> dict[str, Any]:
    run = query.get("LastRunSummary", {})
    insights = run.get("QueryInsightsResponse", {})
    coverage, span = (insights.get(f"Query{of}", {}).get("Max", {}) for of in ("SpatialCoverage", "TemporalRange"))
    last, then = query.get("PreviousInvocationTime"), query.get("NextInvocationTime")
    return {
        "query": query["Name"],
        "statement": query["QueryString"],
        "enabled": True,
        "bytes_scanned": run.get("ExecutionStats", {}).get("CumulativeBytesScanned"),
        "spatial_coverage": coverage.get("Value"),
        # Reported in nanoseconds.
        "temporal_range_s": span["Value"] / 1e9 if "Value" in span else None,
        "period_s": (then - last).total_seconds() if then and last else None,
    }


def _encrypts_rejected(table: Mapping[str, Any]) -> bool:
    """Whether encryption of rejected records is configured."""
    return any(option.startswith(f"{REJECTED}.Enc") for option, _ in _set_options(table, None))


def _set_options(table: Mapping[str, Any], key: str | None) -> Iterator[tuple[str, str]]:
    """The configured options of the table, under the names of the API."""
    for option, value in table.get("RetentionProperties", {}).items():
        if not isinstance(value, int) or value < 0:
            raise FactError(Reason.FAILED, f"{option} is {value}")
        yield option, str(value)
    writes = table.get("MagneticStoreWriteProperties", {})
    yield "EnableMagneticStoreWrites", str(bool(writes.get("EnableMagneticStoreWrites"))).lower()
    rejected = writes.get(REJECTED, {}).get("S3Configuration", {})
    for option in ("BucketName", "ObjectKeyPrefix", "EncryptionOption", "KmsKeyId"):
        if rejected.get(option):
            yield f"{REJECTED}.{option}", str(rejected[option])
    for part in table.get("Schema", {}).get(KEY, ()):
        # Every table has a key of type MEASURE: the measure name.
        if part["Type"] == "DIMENSION":
            yield KEY, part["Name"]
            yield ENFORCEMENT, part.get(ENFORCEMENT, "OPTIONAL")
    if key:
        yield DATABASE_KEY, key


_SCALARS: Final[Mapping[str, pa.DataType]] = {
    "BIGINT": pa.int64(),
    "INTEGER": pa.int64(),
    "DOUBLE": pa.float64(),
    "BOOLEAN": pa.bool_(),
    "TIMESTAMP": pa.timestamp("us"),
}
"""The service's types to Arrow types. Values of other types remain strings: VARCHAR, DATE, TIME, the intervals, and
UNKNOWN, the type of columns with only nulls.
"""
_READ: Final[Mapping[pa.DataType, Callable[[str], Any]]] = {
    pa.int64(): int,
    pa.float64(): float,
    pa.bool_(): lambda text: text == "true",
}


def read_page(answer: Mapping[str, Any], names: Sequence[str] = ()) -> pa.RecordBatch:
    """The rows of one page, with times in UTC to the microsecond, without a time zone. Raises ValueError for invalid
    pages. https://docs.aws.amazon.com/timestream/latest/developerguide/API_query_Datum.html

    `names`: names of the columns; empty to use those in the response. Array elements have no names there, and are named
    by their position.
    """
    described: Sequence[Mapping[str, Any]] = answer["ColumnInfo"]
    names = names or [str(column.get("Name") or position) for position, column in enumerate(described)]
    rows = [row["Data"] for row in answer["Rows"]]
    if any(len(row) != len(described) for row in rows):
        raise ValueError("a row has fewer or more values than there are columns")
    arrays = [_array([row[i] for row in rows], arrow_type(c["Type"])) for i, c in enumerate(described)]
    return pa.RecordBatch.from_arrays(arrays, names=list(names))


def arrow_type(described: Mapping[str, Any]) -> pa.DataType:
    """The Arrow type for the service's description of a type. No query here returns a time series."""
    if "ScalarType" in described:
        return _SCALARS.get(described["ScalarType"], pa.string())
    if "ArrayColumnInfo" in described:
        return pa.list_(arrow_type(described["ArrayColumnInfo"]["Type"]))
    members = described["RowColumnInfo"]
    return pa.struct([(m.get("Name") or str(i), arrow_type(m["Type"])) for i, m in enumerate(members)])


def _array(values: Sequence[Mapping[str, Any]], kind: pa.DataType) -> pa.Array:
    if pa.types.is_timestamp(kind):
        # Times have nine digits after the decimal point, of which six are kept.
        texts = pa.array([v.get("ScalarValue") for v in values], pa.string())
        return texts.cast(pa.timestamp("ns")).cast(kind, safe=False)
    return pa.array([_value(v, kind) for v in values], kind)


def _value(datum: Mapping[str, Any], kind: pa.DataType) -> Any:
    if "ScalarValue" in datum:
        text = datum["ScalarValue"]
        if pa.types.is_timestamp(kind):
            return _array([datum], kind)[0].as_py()
        return _READ.get(kind, str)(text)
    if "ArrayValue" in datum:
        return [_value(one, kind.value_type) for one in datum["ArrayValue"]]
    if "RowValue" in datum:
        return {f.name: _value(one, f.type) for f, one in zip(kind, datum["RowValue"]["Data"], strict=True)}
    return None
