"""InfluxDB 1.x over HTTP: which statements measure each fact, for databases with one or several retention policies."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import urllib3

from tsaudit.engines import http_client, queries
from tsaudit.engines.connection import (
    Access,
    AddressError,
    FactError,
    FactQuery,
    Rows,
    RowsOfSeveral,
    fact_batch,
)
from tsaudit.engines.http_client import HttpClient
from tsaudit.engines.influx import influxql
from tsaudit.engines.influx.influxql import Reader, Series
from tsaudit.engines.influxdb1 import answers
from tsaudit.engines.influxdb1 import policies as retention
from tsaudit.engines.quoting import Language
from tsaudit.model.facts import FACTS, Given, OfMeasurement
from tsaudit.model.figures import Reason

_GRANT: Final = "grant READ on the database, see sql/influxdb1/grants.md"


class Client(HttpClient):
    """A client of one server. Raises ConnectorError if it is not InfluxDB 1.x."""

    def __init__(self, access: Access) -> None:
        """`access`: with a URL that contains no login."""
        self.access = access
        login = None if access.username is None else f"{access.username}:{access.password or ''}"
        super().__init__(access.url, urllib3.make_headers(basic_auth=login), access.connect_timeout_s)
        self.version = self.greet(self._version)

    def _version(self, greeting: urllib3.BaseHTTPResponse) -> str:
        return influxql.server_version(self.url, greeting, "the user name or the password", 1)

    def whole(
        self, statement: str, timeout_s: float, rows: Rows, policy: str = "", database: str = "", statements: int = 1
    ) -> Iterator[Series]:
        """The series of a response that is kept in memory, so that its size is limited. See `series`."""
        return self.series(statement, timeout_s, rows, http_client.MOST_BYTES, policy, database, statements)

    def series(
        self,
        statement: str,
        timeout_s: float,
        rows: Rows,
        most: int | None = None,
        policy: str = "",
        database: str = "",
        statements: int = 1,
    ) -> Iterator[Series]:
        """The series of the response as they arrive. Raises FactError unless the response is complete and without
        error.

        `most`: maximum size in bytes; None for a response that is used as it arrives. `policy`: the retention policy
        for statements that name none; empty for the default one. `database`: the same for the database; empty for none.
        `statements`: how many statements there are, at least.
        """
        named = {name: value for name, value in (("rp", policy), ("db", database)) if value}
        form = {"q": statement, **named, **influxql.PARAMETERS}
        # A connection with unread data is not reused: closing it makes the server stop.
        with (
            self.translated(timeout_s),
            closing(self.send("POST", "/query", timeout_s, fields=form, encode_multipart=False)) as response,
        ):
            if response.status != 200:
                raise influxql.refused(response, _GRANT)
            yield from influxql.read_series(response, rows, _GRANT, most, statements)


_ENGINE: Final = "influxdb1"
_STREAMED: Final = frozenset({"series_listing", "row_sample", "row_slice"})
"""Facts whose rows are used as they arrive, or whose number of rows is limited by the statement."""
_TAKES_POLICY: Final = (1, 6)
"""Since this version, a request may set the retention policy of its statement."""
_COUNTING_S: Final = 5.0
"""Maximum seconds that the server may spend on counting what is left of a shard."""
_LISTED_AS_ONE: Final = (
    "the index lists the series of all retention policies together (`inmem`; build `tsi1` with influx_inspect buildtsi)"
)


@contextmanager
def connect(access: Access) -> Iterator[InfluxConnection]:
    """An open connection to the server, whose version is known. Raises ConnectorError."""
    parts = urlsplit(access.url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query:
        form = "http://host:8086 (`databases`, `username`, and `password` are set beside it)"
        raise AddressError(form, access.url)
    server = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path.rstrip('/')}"
    username, password = access.username or _decoded(parts.username), access.password or _decoded(parts.password)
    connection = InfluxConnection(replace(access, url=server, username=username, password=password))
    try:
        yield connection
    finally:
        connection.close()


def _decoded(text: str | None) -> str | None:
    return None if text is None else unquote(text)


@dataclass(frozen=True, slots=True)
class _Ask(FactQuery):
    """A query about a part of a database. In its parameters, `database` is the server's name for it."""

    part: retention.Part = field(kw_only=True)


class InfluxConnection:
    """A client, and what is known about the server's retention policies."""

    def __init__(self, access: Access, known: retention.KnownParts | None = None) -> None:
        self._known = known or retention.KnownParts()
        self._client = Client(access)
        self.server_version = self._client.version
        self._shards: tuple[str, list[answers.Shard], bool] | FactError | None = None
        """The statement that returned the shards, all shards, and whether it is known which have expired; or the error
        that prevented reading them. None before they were queried.
        """
        self._accepted: list[answers.AcceptedShard] | None = None
        """The shards whose points can be counted, newest first; None before they were queried."""

    def query(self, fact: str, timeout_s: float, given: Given) -> Rows:
        """Run `sql/influxdb1/<fact>.influxql`; see `connection.Connection`."""
        parameters = given.variables()
        part = self._known.of(parameters.get("database") or "")
        about = _about(part, parameters)
        rows = Rows(queries.render(_ENGINE, fact, **about))
        ask = _Ask(fact, about, rows, timeout_s, part=part)
        own = {**_ANSWERED, **(_OF_PARTS if part.is_divided else {})}
        return rows.reading(own.get(fact, InfluxConnection._read)(self, ask))

    def query_together(self, fact: str, timeout_s: float, given: Sequence[OfMeasurement]) -> RowsOfSeveral:
        """Run the same query for several measurements of a database; see `connection.QueriesBatches`."""
        part = self._known.of(given[0].database)
        policy = part.policy_name if fact == "series_listing" and part.is_divided else ""
        if policy and _version(self.server_version) < _TAKES_POLICY:
            given = ()
        taken = [one for one in given if not (policy and self._known.is_ambiguous(part, one.measurement))]
        alone = {one.measurement: queries.render(_ENGINE, fact, **_about(part, one.variables())) for one in taken}
        if not taken:
            nothing = RowsOfSeveral("", {})
            nothing.statements = 0
            return nothing
        rows = RowsOfSeveral(queries.render(_ENGINE, fact, **_about(part, influxql.united(taken))), alone)
        count = 1 if fact == "series_listing" else len(taken)
        answer = self._client.series(rows.statement, timeout_s, rows, policy=policy, statements=count)
        return rows.reading(influxql.TOGETHER[fact](answer, taken, rows))

    def reconnect(self) -> InfluxConnection:
        """Another connection to the same server."""
        return InfluxConnection(self._client.access, self._known)

    def close(self) -> None:
        """Close the connection; the server aborts its current statement."""
        self._client.close()

    def abort(self) -> None:
        """Shut the connection down; the server aborts the statement."""
        self._client.abort()

    # --- Facts that need several statements, or none -------------------------------------------------------------

    def _read(self, ask: _Ask) -> Iterator[pa.RecordBatch]:
        """The response to the fact's own statement."""
        most = None if ask.fact in _STREAMED else http_client.MOST_BYTES
        return _READERS[ask.fact](self._client.series(ask.rows.statement, ask.timeout_s, ask.rows, most), ask.about)

    def _policies(self, ask: _Ask) -> Iterator[pa.RecordBatch]:
        """The names of the parts of the database that are audited, once it is known which policies contain data."""
        database = ask.about["database"]
        listed = [
            p for s in self._client.whole(ask.rows.statement, ask.timeout_s, ask.rows) for p in answers.described(s)
        ]
        contents = retention.read_contents(listed, lambda policy: self._fields_in(ask, policy))
        found = list(retention.parts(database, contents, lambda *about: self._lists(ask, *about)))
        self._known.remember(database, contents, found)
        yield fact_batch(
            ask.fact, [{"database": p.name, "policy": p.policy_name, "policy_of": p.policy_of} for p in found]
        )

    def _fields_in(self, ask: _Ask, policy: str) -> list[retention.FieldRow]:
        """Fields and their types in one policy. Raises FactError."""
        by_url = _version(self.server_version) >= _TAKES_POLICY
        about = {"database": ask.about["database"], "named_policy": "" if by_url else policy}
        statement = queries.render(_ENGINE, "field_types", **about)
        ask.rows.statements += 1
        answer = self._client.whole(statement, ask.left_s, ask.rows, policy if by_url else "")
        batches = _READERS["field_types"](answer, about)
        return [(r["measurement"], r["field"], r["data_type"]) for batch in batches for r in batch.to_pylist()]

    def _lists(self, ask: _Ask, policy: str, measurement: str) -> bool:
        """Whether the index lists series of the measurement in the policy. Raises FactError."""
        about = {"database": ask.about["database"], "policy": policy, "measurement": measurement}
        statement = queries.render_file(_ENGINE, "_listed_series.influxql", **about)
        ask.rows.statements += 1
        return any(series.get("values") for series in self._client.whole(statement, ask.left_s, ask.rows))

    def _retention(self, ask: _Ask) -> Iterator[pa.RecordBatch]:
        if ask.part.database not in self._known.contents:
            yield from self._read(ask)
            return
        ask.rows.statements = 0
        yield answers.as_batch([ask.part.policy] if ask.part.policy else [])

    def _measurements(self, ask: _Ask) -> Iterator[pa.RecordBatch]:
        listed: list[str] = []
        if ask.part.policy_of:
            ask.rows.statements = 0
        else:
            listed = [name for batch in self._read(ask) for name in batch.column(0).to_pylist()]
        yield fact_batch(ask.fact, [{"measurement": name} for name in self._known.measurements(ask.part, listed)])

    def _tag_keys(self, ask: _Ask) -> Iterator[pa.RecordBatch]:
        """The tag keys. The server lists those of all policies together, so they are queried only once."""
        contents = self._known.contents[ask.part.database]
        if contents.tags is None:
            rows = [row for batch in self._read(ask) for row in batch.to_pylist()]
            contents.tags = [(row["measurement"], row["tag"]) for row in rows]
        else:
            ask.rows.statements = 0
        held = contents.holds(ask.part.policy_name)
        yield fact_batch(ask.fact, [{"measurement": name, "tag": tag} for name, tag in contents.tags if name in held])

    def _field_types(self, ask: _Ask) -> Iterator[pa.RecordBatch]:
        ask.rows.statements = 0
        fields = self._known.contents[ask.part.database].fields.get(ask.part.policy_name, [])
        columns = FACTS[ask.fact].columns
        yield fact_batch(ask.fact, [dict(zip(columns, row, strict=True)) for row in fields])

    def _early_rows(self, ask: _Ask) -> Iterator[pa.RecordBatch]:
        """The measurements of the part with rows in 1970: their newest ones, and then, if there are any, the oldest."""
        about = {**ask.about, "named_policy": ask.part.policy_name if ask.part.is_divided else ""}
        ask.rows.statement = queries.render(_ENGINE, "early_rows", **about)
        names = about["measurements"]
        found = list(self._client.whole(ask.rows.statement, ask.timeout_s, ask.rows, statements=len(names)))
        if found:
            ask.rows.statements += 1
            about |= {"measurements": [series["name"] for series in found], "oldest": True}
            statement = queries.render(_ENGINE, "early_rows", **about)
            found += self._client.whole(statement, ask.left_s, ask.rows, statements=len(found))
        yield answers.early_rows(found)

    def _series_listing(self, ask: _Ask) -> Iterator[pa.RecordBatch]:
        """The series in the index. If the index also lists series of other policies, and there are not too many, only
        series that have rows in the policy.
        """
        if ask.about["singly"]:
            yield from self._tag_values(ask)
            return
        measurement = ask.about["measurement"]
        # A probe needs only one tag set, of any policy.
        if not self._known.is_ambiguous(ask.part, measurement) or ask.about.get("limit") == 1:
            yield from self._read(ask)
            return
        answer, first, listed = self._read(ask), [], 0
        for batch in answer:
            first.append(batch)
            listed += batch.num_rows
            if listed > retention.MAX_DISTINGUISHED:
                ask.rows.at_most = f"{_LISTED_AS_ONE}; there are too many to look them up by their rows"
                break
        else:
            try:
                first = self._with_rows(ask)
            except FactError as error:
                ask.rows.at_most = f"{_LISTED_AS_ONE}; looked up by their rows: {error.reason}: {error.detail}"
        yield from first
        yield from answer

    def _tag_values(self, ask: _Ask) -> Iterator[pa.RecordBatch]:
        """The values of each tag, with one statement per tag."""
        ask.rows.statements = 0
        for tag in ask.about["tags"]:
            ask.rows.statement = queries.render_file(_ENGINE, "_tag_values.influxql", **ask.about, tag=tag)
            ask.rows.statements += 1
            for series in self._client.series(ask.rows.statement, ask.left_s, ask.rows):
                yield pa.record_batch({tag: pa.array(influxql.column(series, "value"), pa.string())})

    def _with_rows(self, ask: _Ask) -> list[pa.RecordBatch]:
        """The tag sets of the measurement that have rows in the policy. Raises FactError."""
        statement = queries.render_file(_ENGINE, "_series_with_rows.influxql", **ask.about)
        ask.rows.statements += 1
        found = list(influxql.listing(self._client.whole(statement, ask.left_s, ask.rows), ask.about))
        ask.rows.statement = statement
        return found

    def _scheduled_queries(self, ask: _Ask) -> Iterator[pa.RecordBatch]:
        """The continuous queries. Users who are no administrators have to name a database that they may read."""
        known = next(iter(self._known.contents), "")
        answer = self._client.whole(ask.rows.statement, ask.timeout_s, ask.rows, database=known)
        yield from answers.continuous_queries(answer)

    def _server_status(self, ask: _Ask) -> Iterator[pa.RecordBatch]:
        """What the server reports about itself: everything to administrators, to others recorded counters."""
        statement, answer = self._about_shards(ask, "limits and dropped points")
        ask.rows.statement = statement
        found = list(answers.status_rows(iter(answer)))
        settings = {name for kind, name, _, _ in found if kind == "setting"}
        if settings and answers.INDEX_IN_MEMORY not in settings:
            found.extend(answers.index_row(self._heap_profile(ask)))
        yield http_client.status_batch(found)

    def _heap_profile(self, ask: _Ask) -> list[bytes]:
        """The lines of the server's heap profile; none if they cannot be read."""
        request = json.loads(queries.render_file(_ENGINE, "_heap_profile.json"))
        ask.rows.statements += 1
        try:
            return http_client.read_page(f"{self._client.url}{request['path']}", self._client.headers, ask.left_s)
        except FactError:
            return []

    def _kept_points(self, ask: _Ask) -> Iterator[pa.RecordBatch]:
        """The number of points that the server accepted for the newest shard that is not too large, and how many of
        them are left; no row if that cannot be determined, or takes too long.
        """
        rows = list[dict[str, Any]]()
        with suppress(FactError):
            if self._accepted is None:
                self._accepted = []
                self._accepted = answers.accepted_shards(
                    self._client.whole(ask.rows.statement, ask.timeout_s, ask.rows)
                )
            else:
                ask.rows.statements = 0
            about = ask.part.database, ask.part.takes
            shard = next((one for one in self._accepted if one.database == about[0] and about[1](one.policy)), None)
            if shard is not None:
                rows = self._kept_in(ask, shard)
        yield fact_batch(ask.fact, rows)

    def _kept_in(self, ask: _Ask, shard: answers.AcceptedShard) -> list[dict[str, Any]]:
        """The row about the shard; none if there are too many measurements, or too many fields in one of them, to count
        their values. Raises FactError.
        """
        known = self._known.contents.get(shard.database)
        listed = (known.fields.get(shard.policy) if known else None) or self._fields_in(ask, shard.policy)
        fields = Counter(measurement for measurement, _ in {(name, field) for name, field, _ in listed})
        if not fields or len(fields) > answers.MOST_SERIES or max(fields.values()) > answers.MOST_FIELDS:
            return []
        about = {"database": shard.database, "policy": shard.policy, "first": shard.first, "last": shard.last}
        names = sorted(fields)
        statement = queries.render_file(_ENGINE, "_kept_values.influxql", **about, measurements=names)
        ask.rows.statements += 1
        seconds = min(ask.left_s, _COUNTING_S)
        held = answers.kept(self._client.series(statement, seconds, ask.rows, statements=len(names)))
        ask.rows.statement = statement
        measurement, lost = answers.overwritten(shard, held)
        found = {"measurement": measurement, "accepted": shard.accepted, "overwritten": lost}
        return [found | {"first": shard.first, "last": shard.last, "counted": shard.values is not None}]

    def _database_bytes(self, ask: _Ask) -> Iterator[pa.RecordBatch]:
        """The shards and their bytes, from statistics that are queried only once for all databases."""
        if self._shards is None:
            try:
                statement, answer = self._about_shards(ask, "bytes")
                self._shards = statement, *answers.shards(answer)
            except FactError as error:
                self._shards = error
        else:
            ask.rows.statements = 0
        if isinstance(self._shards, FactError):
            raise FactError(self._shards.reason, self._shards.cause, self._shards.fix)
        ask.rows.statement, listed, knows_expiry = self._shards
        # All shards of the database, unless several of its policies contain data.
        own = [one for one in listed if one.database == ask.part.database and ask.part.takes(one.policy)]
        figures = {"data_bytes": sum(one.bytes for one in own), "shards": len(own)}
        figures["shard_series"] = sum(one.series for one in own)
        expired = [one for one in own if one.expired is not None]
        if knows_expiry or not own:
            figures |= {"expired_shards": len(expired), "expired_bytes": sum(one.bytes for one in expired)}
        if expired:
            figures["expired_since"] = int(min(one.expired for one in expired if one.expired).timestamp())
        yield fact_batch(
            ask.fact, [figures], "shards", "shard_series", "expired_shards", "expired_bytes", "expired_since"
        )

    def _about_shards(self, ask: _Ask, hidden: str) -> tuple[str, list[Series]]:
        """The current statistics of the shards, which the server reports only to administrators; for others, what it
        recorded about itself. Also returns the statement that was answered. `hidden`: what other users cannot see.
        Raises FactError.
        """
        rows = ask.rows
        try:
            return rows.statement, list(self._client.whole(rows.statement, ask.timeout_s, rows))
        except FactError as error:
            if error.reason is not Reason.DENIED:
                raise
        statement = queries.render_file(_ENGINE, "_noted_statistics.influxql")
        rows.statements += 1
        try:
            answer = list(self._client.whole(statement, ask.left_s, rows))
        except FactError as error:
            if error.reason is not Reason.DENIED:
                raise
            user = Language.INFLUXQL.identifier(self._client.access.username or "")
            fix = f'`GRANT READ ON "_internal" TO {user}` lets others see it'
            raise FactError(Reason.DENIED, f"only administrators can see {hidden}", fix) from error
        if not answer:
            # If it recorded statistics, there would be at least those of its own database.
            cause = "the server does not record statistics about itself"
            raise FactError(Reason.UNSUPPORTED, cause, "set [monitor] store-enabled to true")
        return statement, answer


def _about(part: retention.Part, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a query file for the part."""
    about: dict[str, Any] = {"policies": [], "several": [], "named_policy": "", "oldest": False, **parameters}
    about["database"] = part.database
    if part.is_divided:
        about["policies"] = [part.policy_name] if part.policy else []
    return about


def _version(text: str) -> tuple[int, int]:
    """Major and minor version; (0, 0) if it is not known."""
    match = re.match(r"(\d+)\.(\d+)", text)
    return (int(match[1]), int(match[2])) if match else (0, 0)


_READERS: Final[Mapping[str, Reader]] = {
    **influxql.READERS,
    "databases": answers.databases,
    "measurements": influxql.columns_of(measurement="name"),
    "retention": answers.retention_rows,
    "database_series": answers.database_series,
}
_Answer = Callable[[InfluxConnection, _Ask], Iterator[pa.RecordBatch]]
_ANSWERED: Final[Mapping[str, _Answer]] = {
    "policies": InfluxConnection._policies,
    "retention": InfluxConnection._retention,
    "early_rows": InfluxConnection._early_rows,
    "series_listing": InfluxConnection._series_listing,
    "database_bytes": InfluxConnection._database_bytes,
    "scheduled_queries": InfluxConnection._scheduled_queries,
    "server_status": InfluxConnection._server_status,
    "kept_points": InfluxConnection._kept_points,
}
"""Facts that may need other statements than their own."""
_OF_PARTS: Final[Mapping[str, _Answer]] = {
    "measurements": InfluxConnection._measurements,
    "tag_keys": InfluxConnection._tag_keys,
    "field_types": InfluxConnection._field_types,
}
"""The same where several policies of a database contain data."""
