"""MongoDB: commands over its own protocol, through pymongo, and their responses, including those about the server
itself, as the columns of each fact.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, Final

import pyarrow as pa
import pymongo
from bson.codec_options import CodecOptions
from bson.raw_bson import RawBSONDocument
from pymongo import errors, uri_parser
from pymongo.read_preferences import ReadPreference

from tsaudit.engines import queries
from tsaudit.engines.connection import Access, AddressError, ConnectorError, FactError, Rows, fact_batch
from tsaudit.engines.mongodb.commands import ENGINE, Client, Query, Row, Server, in_short
from tsaudit.engines.mongodb.documents import as_text, batch
from tsaudit.model.facts import FACTS, Given
from tsaudit.net.port_probe import what_listens
from tsaudit.text import many, number

_OWN: Final = frozenset({"admin", "config", "local"})
_BATCH: Final = 500
"""Number of documents converted to rows together, unless their bytes reach a limit first."""
_BATCH_BYTES: Final = 4_000_000
MOST_BYTES: Final = 100_000_000
"""Bytes after which no more documents of a collection are read: a thousand documents may have 16 MB each."""
_CLOSED: Final = "numBucketsClosedDueTo"
_CLOSED_BY_CHANGE: Final = f"{_CLOSED}SchemaChange"
"""Names of counters in `$collStats`: src/mongo/db/timeseries/timeseries_stats.cpp."""
_VIEWLESS: Final = 9
"""From this version on, time series have no separate collection of buckets."""
_RAW: Final[CodecOptions[RawBSONDocument]] = CodecOptions(document_class=RawBSONDocument)


def _databases(query: Query) -> Iterator[pa.RecordBatch]:
    names = [d["name"] for d in query.command(query.statement())["databases"]]
    own = [n for n in names if n not in _OWN and not n.startswith("__mdb_internal")]
    yield fact_batch("databases", [{"database": name} for name in own])


def _listed(query: Query) -> Iterator[Row]:
    """The collections of the database, without the server's own, and without views, which contain no data."""
    for document in query.documents(query.statement()):
        kind = document.get("type", "collection")
        query.server.kinds[query.database, document["name"]] = kind
        if not document["name"].startswith("system.") and kind != "view":
            yield document


def _measurements(query: Query) -> Iterator[pa.RecordBatch]:
    yield fact_batch("measurements", [{"measurement": document["name"]} for document in _listed(query)])


def _options(query: Query) -> Iterator[pa.RecordBatch]:
    rows = [
        {"measurement": document["name"], "option": option, "value": value}
        for document in _listed(query)
        for option, value in _flat({"type": document.get("type", "collection"), **document.get("options", {})})
    ]
    yield fact_batch("options", rows)


_WHOLE: Final = frozenset({"validator", "pipeline", "collation", "clusteredIndex", "storageEngine"})
"""Options whose value is stored as one string."""


def _flat(options: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    for option, value in options.items():
        if isinstance(value, Mapping) and option not in _WHOLE:
            yield from _flat(value, f"{above}{option}.")
        else:
            yield f"{above}{option}", value if isinstance(value, str) else json.dumps(value, default=str)


def _row_estimate(query: Query) -> Iterator[pa.RecordBatch]:
    def ask(collection: str) -> Iterator[Row]:
        if query.server.kinds.get((query.database, collection)) == "timeseries":
            return  # there, `count` would read all buckets
        yield {"measurement": collection, "rows": query.command(query.statement(measurement=collection))["n"]}

    yield fact_batch("row_estimate", query.each(ask))


def _storage(query: Query) -> Iterator[pa.RecordBatch]:
    def ask(collection: str) -> Iterator[Row]:
        shards = query.stats(collection)
        data, index = (sum(int(s[k]) for s in shards) for k in ("storageSize", "totalIndexSize"))
        mean = None if query.server.ferretdb else _mean_bytes(shards)
        yield {"measurement": collection, "data_bytes": data, "index_bytes": index, "mean_row_bytes": mean}

    yield fact_batch("storage", query.each(ask), "mean_row_bytes")


def _mean_bytes(shards: Sequence[Row]) -> float | None:
    """The bytes of a document, before compression; None if they are not known, or are those of a bucket."""
    if not all("size" in s and "count" in s and "timeseries" not in s for s in shards):
        return None
    documents = sum(int(s["count"]) for s in shards)
    return sum(int(s["size"]) for s in shards) / documents if documents else None


def _largest_document(query: Query) -> Iterator[pa.RecordBatch]:
    for document in query.documents(query.statement(), _RAW):
        query.rows.bytes = len(document.raw)
        yield batch(0, [document.raw])


def _indexes(query: Query) -> Iterator[pa.RecordBatch]:
    def ask(collection: str) -> Iterator[Row]:
        specs = list(query.documents(query.statement(measurement=collection)))
        shards = query.stats(collection)
        for spec in specs:
            sizes = [s["indexSizes"][spec["name"]] for s in shards if spec["name"] in s.get("indexSizes", {})]
            yield from _columns_of(collection, spec, int(sum(sizes)) if sizes else None)

    yield fact_batch("indexes", query.each(ask), "expires_s")


def _columns_of(collection: str, spec: Row, size: int | None) -> Iterator[Row]:
    primary = spec["name"] == "_id_"
    for position, (column, direction) in enumerate(spec["key"].items(), 1):
        yield {
            "measurement": collection,
            "index": spec["name"],
            "kind": direction if isinstance(direction, str) else "btree",
            "position": position,
            # A wildcard index covers all fields; an index with a collation has its own order and equality.
            "column": None if "$**" in column or "collation" in spec else column,
            "is_unique": primary or bool(spec.get("unique")),
            "is_constraint": primary or bool(spec.get("unique")),
            "is_partial": "partialFilterExpression" in spec or bool(spec.get("sparse")),
            "size_bytes": size,
            "expires_s": int(spec["expireAfterSeconds"]) if "expireAfterSeconds" in spec else None,
        }


def _index_use(query: Query) -> Iterator[pa.RecordBatch]:
    def ask(collection: str) -> Iterator[Row]:
        uses: dict[str, list[Row]] = {}
        for answer in query.documents(query.statement(measurement=collection)):
            uses.setdefault(answer["name"], []).append(answer["accesses"])
        for name, parts in uses.items():
            # If there are several shards, uses are counted from the start of the shard that started last.
            since = max(part["since"] for part in parts)
            scans = sum(int(part["ops"]) for part in parts)
            yield {"measurement": collection, "index": name, "scans": scans, "counted_since": since}

    yield fact_batch("index_use", query.each(ask))


_READS: Final = ("queries", "getmore")
_WRITES: Final = ("insert", "update", "remove")


def _activity(query: Query) -> Iterator[pa.RecordBatch]:
    if query.server.activity is None:
        totals = query.command(query.statement())["totals"]
        status = query.command(query.parsed(queries.render_file(ENGINE, "_uptime.json")))
        query.server.activity = totals, status
    totals, status = query.server.activity
    began = status["localTime"] - timedelta(seconds=float(status["uptime"]), milliseconds=-500)
    since = began.replace(microsecond=0)
    rows = []
    for namespace, counts in totals.items():
        database, _, collection = namespace.partition(".")
        if database == query.database and isinstance(counts, Mapping):
            reads, writes = (sum(int(counts[k]["count"]) for k in kinds if k in counts) for kinds in (_READS, _WRITES))
            rows.append({"measurement": collection, "reads": reads, "writes": writes, "counted_since": since})
    yield fact_batch("activity", rows)


def _server_status(query: Query) -> Iterator[pa.RecordBatch]:
    status, host = query.command(query.statement()), Row()
    # A figure that a service or a mongos does not report is not known.
    with contextlib.suppress(FactError):
        host = query.command(query.parsed(queries.render_file(ENGINE, "_host_info.json")))
    rows = [
        {"kind": kind, "name": name, "database": "", "value": value} for kind, name, value in status_rows(status, host)
    ]
    yield fact_batch("server_status", rows)


def _database_storage(query: Query) -> Iterator[pa.RecordBatch]:
    stats = query.command(query.statement())
    # Each shard has its own disk; the shard whose disk is fullest stops first.
    disks = [d for d in (stats, *stats.get("raw", {}).values()) if d.get("fsTotalSize")]
    disk: Row = max(disks[1:] or disks, key=lambda d: d["fsUsedSize"] / d["fsTotalSize"], default={})
    figures = [stats.get("storageSize"), stats.get("indexSize"), disk.get("fsUsedSize"), disk.get("fsTotalSize")]
    whole = [None if figure is None else int(figure) for figure in figures]
    yield fact_batch("database_storage", [dict(zip(FACTS["database_storage"].columns, whole, strict=True))])


def _documents(query: Query) -> Iterator[pa.RecordBatch]:
    total: int | None = query.about["total"]
    limit, random = sample_size(total, int(query.about["limit"]), may_choose=not query.server.is_ferretdb1)
    number, waiting, held, read = 0, [], 0, 0
    with contextlib.closing(query.documents(query.statement(limit=limit, random=random), _RAW)) as documents:
        for document in documents:
            waiting.append(document.raw)
            held, read = held + len(document.raw), read + len(document.raw)
            query.rows.bytes = read
            if len(waiting) == _BATCH or held >= _BATCH_BYTES:
                yield batch(number, waiting)
                number, waiting, held = number + len(waiting), [], 0
            if read >= MOST_BYTES:
                break
    query.rows.scope = description(number + len(waiting), total, limit, random)
    yield batch(number, waiting)


def _buckets(query: Query) -> Iterator[pa.RecordBatch]:
    name = str(query.about["measurement"])
    shards = query.stats(name)
    total = sum(int(s.get("timeseries", {}).get("bucketCount", 0)) for s in shards)
    counted = [(k, int(n)) for s in shards for k, n in s.get("timeseries", {}).items() if k.startswith(_CLOSED)]
    closed = sum(n for _, n in counted) if counted else None
    changed = sum(n for k, n in counted if k == _CLOSED_BY_CHANGE) if counted else None
    limit, random = sample_size(total, int(query.about["limit"]))
    found = list(query.documents(query.statement(viewless=_is_viewless(query, name), limit=limit, random=random)))
    query.rows.scope = description(len(found), total, limit, random).replace("documents", "buckets")
    yield pa.record_batch(
        {
            "buckets": pa.array([total] * len(found), pa.int64()),
            "source": pa.array([as_text(b.get("meta")) for b in found], pa.string()),
            "rows": pa.array([b.get("rows") for b in found], pa.int64()),
            "closed": pa.array([closed] * len(found), pa.int64()),
            "closed_by_change": pa.array([changed] * len(found), pa.int64()),
        }
    )


def _is_viewless(query: Query, series: str) -> bool:
    """Whether the time series has no separate collection of buckets. One that is listed exists, whatever the version:
    it is only removed once an upgrade is finished.
    """
    newer = int(query.server.build["version"].partition(".")[0]) >= _VIEWLESS
    return newer and (query.database, f"system.buckets.{series}") not in query.server.kinds


READERS: Final[Mapping[str, Callable[[Query], Iterator[pa.RecordBatch]]]] = {
    "databases": _databases,
    "measurements": _measurements,
    "options": _options,
    "row_estimate": _row_estimate,
    "storage": _storage,
    "indexes": _indexes,
    "index_use": _index_use,
    "activity": _activity,
    "server_status": _server_status,
    "database_storage": _database_storage,
    "documents": _documents,
    "largest_document": _largest_document,
    "buckets": _buckets,
}
"""Fact to the function that converts the response to it."""


_DIRTY: Final = 0.2
"""Share of the cache that has not been written to disk, above which WiredTiger makes operations write it first:
`eviction_dirty_trigger`, https://source.wiredtiger.com/develop/group__wt.html
"""
_FULL: Final = 0.95
"""Share of the cache that is used, above which WiredTiger has operations free some of it first: `eviction_trigger`."""
_PASS_S: Final = 3_600
"""Seconds of uptime after which a server that never looked for expired documents, as it does each minute, will not."""

StatusRow = tuple[str, str, float]
"""Kind, name, and value of the fact `server_status`."""


def status_rows(status: Mapping[str, Any], host: Mapping[str, Any]) -> Iterator[StatusRow]:
    """The rows for the responses of `serverStatus` and `hostInfo`, which may be empty."""
    if "localTime" in status:
        yield "started", "", status["localTime"].timestamp() - float(status.get("uptime", 0.0))
    errors = status.get("asserts", {})
    yield "counter", "server_errors", float(errors.get("regular", 0)) + float(errors.get("msg", 0))
    clients = status.get("connections", {})
    if "available" in clients:
        yield "counter", "connections", float(clients["current"])
        yield "setting", "connections", float(clients["current"]) + float(clients["available"])
    engine = status.get("wiredTiger", {})
    most_files = host.get("extra", {}).get("maxOpenFiles")
    if (files := engine.get("connection", {}).get("files currently open")) is not None and most_files:
        # A connection takes a file descriptor, too.
        yield "counter", "open_files", float(files) + float(clients.get("current", 0))
        yield "setting", "open_files", float(most_files)
    yield from _failures(status, engine.get("cache", {}))


def _failures(status: Mapping[str, Any], cache: Mapping[str, Any]) -> Iterator[StatusRow]:
    size = float(cache.get("maximum bytes configured", 0))
    dirty, held = (
        float(cache.get(name, 0)) for name in ("tracked dirty bytes in the cache", "bytes currently in the cache")
    )
    if size and (dirty >= _DIRTY * size or held >= _FULL * size):
        yield "failure", "cache", 1.0
    passes = status.get("metrics", {}).get("ttl", {}).get("passes")
    is_primary = status.get("repl", {}).get("isWritablePrimary", True)
    if passes == 0 and is_primary and float(status.get("uptime", 0)) > _PASS_S:
        yield "failure", "expiry", 1.0


FEWEST: Final = 100
"""Up to this many documents, `$sample` reads the whole collection:
https://www.mongodb.com/docs/manual/reference/operator/aggregation/sample/
"""
LARGEST_SHARE: Final = 0.05
"""From this share of the documents on, `$sample` also reads the whole collection."""


def sample_size(total: int | None, most: int, *, may_choose: bool = True) -> tuple[int, bool]:
    """How many documents to request, and whether to select them at random; otherwise, the first ones are read.

    `total`: number of documents in the collection; None if not known. If most of them are read anyway, the first ones
    suffice. `may_choose`: whether the server can select at random.
    """
    if not may_choose or total is None or total <= FEWEST or total <= 2 * most:
        return most, False
    if most < LARGEST_SHARE * total:
        return most, True
    # Slightly below the share, because the count is an estimate.
    return max(1, int(0.98 * LARGEST_SHARE * total)), True


def description(read: int, total: int | None, limit: int, random: bool) -> str:
    """Which documents were read, in words. `limit`: the number requested; if all came, `total` may be too low."""
    if total is not None and total <= read < limit:
        return f"all {many(read, 'document')}"
    of = (
        f"{number(read)} of {many(total, 'document')}" if total is not None and read < total else many(read, "document")
    )
    return f"{of}, chosen randomly" if random else f"the first {of}"


_AUTHENTICATION_FAILED: Final = 18
"""https://www.mongodb.com/docs/manual/reference/error-codes/"""


@contextmanager
def connect(access: Access) -> Iterator[MongoConnection]:
    """An open connection to the server or cluster, whose version is known. Raises ConnectorError."""
    if not access.url.startswith(("mongodb://", "mongodb+srv://")):
        raise AddressError("mongodb://host:27017 or mongodb+srv://host", access.url)
    timeout_s = access.connect_timeout_s
    login: dict[str, Any] = {"username": access.username, "password": access.password} if access.username else {}
    try:
        client = Client(access.url, timeout_s, login)
    except (errors.PyMongoError, ValueError) as error:
        # The driver's message may quote a password that it mistook for a port.
        kind = type(error).__name__
        seek = " Does the domain name have an SRV record?" if access.url.startswith("mongodb+srv://") else ""
        raise ConnectorError(
            f"MongoDB's driver does not understand the URL ({kind}); is it mongodb://user:password@host:27017, "
            f"with special characters in user and password percent-encoded?{seek}"
        ) from None
    try:
        yield MongoConnection(Server(client, _build_info(client.driver, access.url, timeout_s)))
    finally:
        client.driver.close()


class MongoConnection:
    """A connection to a server, which threads may share: the client has several connections."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self.server_version = server.version

    def query(self, fact: str, timeout_s: float, given: Given) -> Rows:
        """Run `sql/mongodb/<fact>.json`, once or for each collection; see `connection.Connection`."""
        parameters = given.variables()
        rows = Rows()
        rows.statements = 0
        return rows.reading(READERS[fact](Query(self._server, fact, rows, timeout_s, parameters)))

    def reconnect(self) -> MongoConnection:
        """The same client, or a new one if it was closed, including what is known about the server."""
        self._server.client.open_again()
        return MongoConnection(self._server)

    def close(self) -> None:
        """Does nothing: the code that connected closes the client."""

    def abort(self) -> None:
        """Abort the current operations of all threads that share the client."""
        self._server.client.abort()


def _build_info(client: pymongo.MongoClient[Any], url: str, timeout_s: float) -> Row:
    try:
        with pymongo.timeout(timeout_s):
            found: Row = client.admin.command("buildInfo", read_preference=ReadPreference.SECONDARY_PREFERRED)
        return found
    except errors.PyMongoError as error:
        if not isinstance(error, errors.OperationFailure):
            _name_another(url)
        hint = "; is the address correct?" if error.timeout else ""
        raise ConnectorError(f"{_what_failed(error)} ({in_short(error)}){hint}") from error


def _what_failed(error: errors.PyMongoError) -> str:
    if error.timeout:
        return "the server does not respond"
    if isinstance(error, errors.OperationFailure):
        if error.code == _AUTHENTICATION_FAILED:
            return "the server rejects the user name or the password"
        return "the server rejects the command buildInfo"
    if isinstance(error, errors.ConnectionFailure):
        return "the connection broke before the server sent its version"
    return "MongoDB's driver does not support this server"


def _name_another(url: str) -> None:
    """Raises ConnectorError if another product is recognized at the address."""
    if not url.startswith("mongodb://"):
        return  # only DNS knows the hosts
    host, port = uri_parser.parse_uri(url)["nodelist"][0]
    other = what_listens(host, port) if port else ""
    if other not in ("", "MongoDB"):
        raise ConnectorError(f"{host}:{port}: {other} responds, not MongoDB")
