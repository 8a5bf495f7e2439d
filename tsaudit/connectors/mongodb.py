"""MongoDB: commands over its own protocol, by pymongo."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, Final

import pyarrow as pa
import pymongo
from bson import json_util
from bson.codec_options import CodecOptions
from bson.raw_bson import RawBSONDocument
from pymongo import errors
from pymongo.read_preferences import ReadPreference

from tsaudit import queries
from tsaudit.connector import ConnectorError, FactError, Rows
from tsaudit.facts import FACTS
from tsaudit.mongodb.documents import READ, as_text, batch
from tsaudit.mongodb.sampling import in_words, sample_size
from tsaudit.profile import Reason

_ENGINE: Final = "mongodb"
_OWN: Final = frozenset({"admin", "config", "local"})
_BATCH: Final = 500
_VIEWLESS: Final = 9
"""From this version on time series have no collection of buckets beside them."""
_RAW: Final[CodecOptions[RawBSONDocument]] = CodecOptions(document_class=RawBSONDocument)

_READ: Final = "grant it read on the database"
_MONITOR: Final = "grant it clusterMonitor on admin"
_RIGHTS: Final = {
    "index_use": f"{_MONITOR} (action indexStats)",
    "activity": f"{_MONITOR} (actions top and serverStatus)",
    "buckets": "grant it readAnyDatabase on admin (action find on system.buckets.*)",
}
_GONE: Final = frozenset({26, 166, 263})
"""A collection that was dropped meanwhile, or is a view."""
_UNKNOWN: Final = frozenset({59, 115, 238, 304, 40324})
"""Commands and stages that this server does not have."""
_SAYS_NO: Final = frozenset({13, 8000})

Parameters = Mapping[str, Any]
Row = dict[str, Any]


@contextmanager
def connect(
    url: str, *, username: str | None, password: str | None, options: Mapping[str, Any]
) -> Iterator[MongoConnection]:
    """A connection to the server or cluster, whose version has been asked for. ConnectorError."""
    if not url.startswith(("mongodb://", "mongodb+srv://")):
        raise ConnectorError("the URL is not of the form mongodb://host:27017 or mongodb+srv://host")
    timeout_ms = int(float(options.get("connect_timeout_s", 10.0)) * 1000)
    login: dict[str, Any] = {"username": username, "password": password} if username else {}
    try:
        client: pymongo.MongoClient[Any] = pymongo.MongoClient(
            url, appname="tsaudit", serverSelectionTimeoutMS=timeout_ms, connectTimeoutMS=timeout_ms, **login
        )
    except (errors.PyMongoError, ValueError) as error:
        # What the driver says may quote a password that it took for a port.
        kind = type(error).__name__
        raise ConnectorError(
            f"the URL is none that MongoDB's driver understands ({kind}); is it mongodb://user:password@host:27017, "
            "with what is special in user and password percent-encoded?"
        ) from None
    try:
        yield MongoConnection(client)
    finally:
        client.close()


class MongoConnection:
    """A client, which keeps its own connections, and what was told of collections so far."""

    def __init__(self, client: pymongo.MongoClient[Any], server: Row | None = None) -> None:
        self.client = client
        self.server = server or self._build_info()
        self.kinds: dict[tuple[str, str], str] = {}
        """(database, collection) to its type, of those that were listed."""
        self.stats: dict[tuple[str, str], list[Row]] = {}
        """(database, collection) to what each shard says of its storage."""
        self.is_ferretdb = "ferretdbVersion" in self.server
        own = str(self.server.get("ferretdbVersion", "")).lstrip("v")
        self.server_version = f"FerretDB {own}" if self.is_ferretdb else str(self.server["version"])

    def query(self, fact: str, timeout_s: float, **parameters: Any) -> Rows:
        """Run `sql/mongodb/<fact>.json`, once or for each collection; see `connector.Connection`."""
        rows = Rows("", iter(()))
        rows.statements = 0
        asking = _Asking(self, fact, rows, time.monotonic() + timeout_s, timeout_s, parameters)
        return rows.reading(_READERS[fact](asking))

    def reconnect(self) -> MongoConnection:
        """The same client, which threads may share, with a memory of its own."""
        return MongoConnection(self.client, self.server)

    def close(self) -> None:
        """Nothing: the client is closed by whoever connected."""

    def _build_info(self) -> Row:
        try:
            found: Row = self.client.admin.command("buildInfo")
            return found
        except errors.ServerSelectionTimeoutError as error:
            raise ConnectorError(f"the server does not answer ({_words(error)}); is it the right address?") from error
        except errors.PyMongoError as error:
            raise ConnectorError(f"the server refuses to be asked ({_words(error)})") from error


class _Asking:
    """One fact being asked for."""

    def __init__(
        self, connection: MongoConnection, fact: str, rows: Rows, deadline: float, timeout_s: float, about: Parameters
    ) -> None:
        self.connection, self.fact, self.rows, self.about = connection, fact, rows, about
        self._deadline, self._timeout_s = deadline, timeout_s

    @property
    def database(self) -> str:
        return str(self.about["database"])

    @property
    def collections(self) -> Sequence[str]:
        """Those that are to be asked one by one."""
        return tuple(self.about["measurements"])

    def statement(self, **more: Any) -> Row:
        """The fact's command, with its parameters filled in."""
        text = queries.render(_ENGINE, self.fact, **{**self.about, **more})
        return self.parsed(text)

    def parsed(self, text: str) -> Row:
        """A command as a document. The first one stands for all where there is one for each collection."""
        self.rows.statement = self.rows.statement or text
        command: Row = json_util.loads(text)
        return command

    def command(self, command: Row) -> Row:
        """The answer to a command that has a single document for it."""
        with self._within_time():
            answer: Row = self._of(command, READ).command(command, read_preference=ReadPreference.SECONDARY_PREFERRED)
            return answer

    def documents(self, command: Row, options: CodecOptions[Any] = READ) -> Iterator[Any]:
        """The documents of an answer that comes in batches. The cursor is closed on the server when left early."""
        with self._within_time():
            database = self._of(command, options)
            cursor = database.cursor_command(
                command, read_preference=ReadPreference.SECONDARY_PREFERRED, codec_options=options
            )
        with cursor:
            while True:
                with self._within_time():
                    found = next(cursor, None)
                if found is None:
                    return
                yield found

    def _of(self, command: Row, options: CodecOptions[Any]) -> Any:
        """The database that the command is for; later batches are decoded by its options too."""
        self.rows.statements += 1
        return self.connection.client.get_database(command.pop("$db"), codec_options=options)

    @contextmanager
    def _within_time(self) -> Iterator[None]:
        """For what is left of the time, also on the server; the driver's errors as a FactError."""
        left = self._deadline - time.monotonic()
        try:
            if left <= 0:
                raise errors.ExecutionTimeout("no time left")
            with pymongo.timeout(left):
                yield
        except errors.PyMongoError as error:
            raise self._said(error) from error

    def _said(self, error: errors.PyMongoError) -> FactError:
        if getattr(error, "timeout", False):
            return FactError(Reason.TIMED_OUT, f"no answer within {self._timeout_s:g} s")
        if isinstance(error, errors.ConnectionFailure):
            return FactError(Reason.UNREACHABLE, f"the connection broke off ({_words(error)})")
        if not isinstance(error, errors.OperationFailure):
            return FactError(Reason.FAILED, _words(error))
        if error.code in _SAYS_NO:
            right = _RIGHTS.get(self.fact, _READ)
            return FactError(Reason.DENIED, f"{_words(error)}; {right}, see sql/mongodb/grants.md")
        if error.code in _UNKNOWN:
            return FactError(Reason.UNSUPPORTED, f"this server does not do it ({_words(error)})")
        return (
            _CollectionGone(Reason.FAILED, _words(error))
            if error.code in _GONE
            else FactError(Reason.FAILED, _words(error))
        )

    def each(self, ask: Callable[[str], Iterator[Row]]) -> Iterator[Row]:
        """The rows of each collection; nothing of one that is gone or is a view."""
        for collection in self.collections:
            try:
                yield from ask(collection)
            except _CollectionGone:
                continue

    def stats(self, collection: str) -> list[Row]:
        """What each shard says of the collection's storage; asked for once."""
        key = self.database, collection
        if key not in self.connection.stats:
            about: dict[str, Any] = {
                "database": key[0],
                "measurement": collection,
                "whole": self.connection.is_ferretdb,
            }
            command = self.parsed(queries.render(_ENGINE, "storage", **about))
            self.connection.stats[key] = [answer["storageStats"] for answer in self.documents(command)]
        return self.connection.stats[key]


class _CollectionGone(FactError):  # noqa: N818 -- never leaves this module
    """The collection was dropped since it was listed, or is a view."""


def _words(error: Exception) -> str:
    """The driver's message without the server's whole answer and the client's settings behind it."""
    text = str(error).split(", full error:")[0].split(" (configured timeouts:")[0].split(", Timeout:")[0]
    return " ".join(text.split()).rstrip(".")


# --- From answers to the columns of a fact -----------------------------------------------------------------------


def _table(fact: str, rows: Sequence[Row]) -> pa.RecordBatch:
    columns = FACTS[fact].columns
    return pa.record_batch([pa.array([row[c] for row in rows]) for c in columns], names=list(columns))


def _databases(asking: _Asking) -> Iterator[pa.RecordBatch]:
    names = [d["name"] for d in asking.command(asking.statement())["databases"]]
    own = [n for n in names if n not in _OWN and not n.startswith("__mdb_internal")]
    yield pa.record_batch({"database": pa.array(own, pa.string())})


def _listed(asking: _Asking) -> Iterator[Row]:
    """The collections, without what is the server's own, and without views, which hold nothing."""
    for document in asking.documents(asking.statement()):
        if not document["name"].startswith("system.") and document.get("type") != "view":
            asking.connection.kinds[asking.database, document["name"]] = document.get("type", "collection")
            yield document


def _measurements(asking: _Asking) -> Iterator[pa.RecordBatch]:
    yield pa.record_batch({"measurement": pa.array([d["name"] for d in _listed(asking)], pa.string())})


def _options(asking: _Asking) -> Iterator[pa.RecordBatch]:
    rows = [
        {"measurement": document["name"], "option": option, "value": value}
        for document in _listed(asking)
        for option, value in _flat({"type": document.get("type", "collection"), **document.get("options", {})})
    ]
    yield _table("options", rows)


_WHOLE: Final = frozenset({"validator", "pipeline", "collation", "clusteredIndex", "storageEngine"})
"""Options that are kept as one text."""


def _flat(options: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    for option, value in options.items():
        if isinstance(value, Mapping) and option not in _WHOLE:
            yield from _flat(value, f"{above}{option}.")
        else:
            yield f"{above}{option}", value if isinstance(value, str) else json.dumps(value, default=str)


def _row_estimate(asking: _Asking) -> Iterator[pa.RecordBatch]:
    def ask(collection: str) -> Iterator[Row]:
        if asking.connection.kinds.get((asking.database, collection)) == "timeseries":
            return  # there it would go through all buckets
        yield {"measurement": collection, "rows": asking.command(asking.statement(measurement=collection))["n"]}

    yield _table("row_estimate", list(asking.each(ask)))


def _storage(asking: _Asking) -> Iterator[pa.RecordBatch]:
    def ask(collection: str) -> Iterator[Row]:
        shards = asking.stats(collection)
        data, index = (sum(int(s[k]) for s in shards) for k in ("storageSize", "totalIndexSize"))
        yield {"measurement": collection, "data_bytes": data, "index_bytes": index}

    yield _table("storage", list(asking.each(ask)))


def _indexes(asking: _Asking) -> Iterator[pa.RecordBatch]:
    def ask(collection: str) -> Iterator[Row]:
        specs = list(asking.documents(asking.statement(measurement=collection)))
        shards = asking.stats(collection)
        for spec in specs:
            sizes = [s["indexSizes"][spec["name"]] for s in shards if spec["name"] in s.get("indexSizes", {})]
            yield from _columns_of(collection, spec, int(sum(sizes)) if sizes else None)

    yield _table("indexes", list(asking.each(ask)))


def _columns_of(collection: str, spec: Row, size: int | None) -> Iterator[Row]:
    primary = spec["name"] == "_id_"
    for position, (column, direction) in enumerate(spec["key"].items(), 1):
        yield {
            "measurement": collection,
            "index": spec["name"],
            "kind": direction if isinstance(direction, str) else "btree",
            "position": position,
            # A wildcard covers whatever there is.
            "column": None if "$**" in column else column,
            "is_unique": primary or bool(spec.get("unique")),
            "is_constraint": primary or bool(spec.get("unique")),
            "is_partial": "partialFilterExpression" in spec or bool(spec.get("sparse")),
            "size_bytes": size,
            "scans": None,
            "counted_since": None,
        }


def _index_use(asking: _Asking) -> Iterator[pa.RecordBatch]:
    def ask(collection: str) -> Iterator[Row]:
        uses: dict[str, list[Row]] = {}
        for answer in asking.documents(asking.statement(measurement=collection)):
            uses.setdefault(answer["name"], []).append(answer["accesses"])
        for name, parts in uses.items():
            # All shards have counted only since the last of them began to.
            since = max(part["since"] for part in parts)
            scans = sum(int(part["ops"]) for part in parts)
            yield {"measurement": collection, "index": name, "scans": scans, "counted_since": since}

    yield _table("index_use", list(asking.each(ask)))


_READS: Final = ("queries", "getmore")
_WRITES: Final = ("insert", "update", "remove")


def _activity(asking: _Asking) -> Iterator[pa.RecordBatch]:
    totals = asking.command(asking.statement())["totals"]
    status = asking.command(json_util.loads(queries.render_file(queries.root() / _ENGINE / "_uptime.json")))
    began = status["localTime"] - timedelta(seconds=float(status["uptime"]), milliseconds=-500)
    since = began.replace(microsecond=0)
    rows = []
    for namespace, counts in totals.items():
        database, _, collection = namespace.partition(".")
        if database == asking.database and isinstance(counts, Mapping):
            reads, writes = (sum(int(counts[k]["count"]) for k in kinds if k in counts) for kinds in (_READS, _WRITES))
            rows.append({"measurement": collection, "reads": reads, "writes": writes, "counted_since": since})
    yield _table("activity", rows)


def _database_storage(asking: _Asking) -> Iterator[pa.RecordBatch]:
    stats = asking.command(asking.statement())
    keys = ("storageSize", "indexSize", "fsUsedSize", "fsTotalSize")
    figures = [int(stats[key]) if key in stats else None for key in keys]
    yield _table("database_storage", [dict(zip(FACTS["database_storage"].columns, figures, strict=True))])


def _documents(asking: _Asking) -> Iterator[pa.RecordBatch]:
    total: int | None = asking.about["total"]
    limit, random = sample_size(total, int(asking.about["limit"]))
    number, waiting = 0, []
    for document in asking.documents(asking.statement(limit=limit, random=random), _RAW):
        waiting.append(document.raw)
        if len(waiting) == _BATCH:
            yield batch(number, waiting)
            number, waiting = number + _BATCH, []
    asking.rows.scope = in_words(number + len(waiting), total, random)
    yield batch(number, waiting)


def _buckets(asking: _Asking) -> Iterator[pa.RecordBatch]:
    viewless = int(asking.connection.server["version"].partition(".")[0]) >= _VIEWLESS
    shards = asking.stats(str(asking.about["measurement"]))
    total = sum(int(s.get("timeseries", {}).get("bucketCount", 0)) for s in shards)
    limit, random = sample_size(total, int(asking.about["limit"]))
    found = list(asking.documents(asking.statement(viewless=viewless, limit=limit, random=random)))
    asking.rows.scope = in_words(len(found), total, random).replace("documents", "buckets")
    yield pa.record_batch(
        {
            "buckets": pa.array([total] * len(found), pa.int64()),
            "source": pa.array([as_text(b.get("meta")) for b in found], pa.string()),
            "rows": pa.array([b.get("control", {}).get("count") for b in found], pa.int64()),
        }
    )


_READERS: Final[Mapping[str, Callable[[_Asking], Iterator[pa.RecordBatch]]]] = {
    "databases": _databases,
    "measurements": _measurements,
    "options": _options,
    "row_estimate": _row_estimate,
    "storage": _storage,
    "indexes": _indexes,
    "index_use": _index_use,
    "activity": _activity,
    "database_storage": _database_storage,
    "documents": _documents,
    "buckets": _buckets,
}
