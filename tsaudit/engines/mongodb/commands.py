"""Sends read commands within the remaining time, with limits on the size of responses, and explains failures."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, cast

import pymongo
from bson import json_util
from bson.codec_options import CodecOptions
from pymongo import errors
from pymongo.read_preferences import ReadPreference
from pymongo.synchronous.pool import Connection, Pool

from tsaudit.engines import queries
from tsaudit.engines.connection import FactError, Rows
from tsaudit.engines.mongodb.documents import READ
from tsaudit.model.figures import Reason

_MOST_BYTES: Final = 17_000_000
"""Maximum size of a response: a document of 16 MiB, or a batch of that size, plus overhead.
https://www.mongodb.com/docs/manual/reference/limits/#mongodb-limit-BSON-Document-Size
"""
_MOST_OF_MONITOR: Final = 1_000_000
"""Maximum size of the server's description of itself."""
_HEARTBEAT_MS: Final = 24 * 3_600_000
"""How often the driver asks the server unprompted whether it is there. When a busy server responds late to that, the
driver cancels all operations, however long they may take. Statements have their own limits, and after an error the
driver asks at once.
"""


class _Pool(Pool):
    """Connections with a limited response size. Without the limit, a server may announce a response of 2 GB."""

    def connect(self, *arguments: Any, **settings: Any) -> Connection:
        made = super().connect(*arguments, **settings)
        most = _MOST_OF_MONITOR if self.is_sdam else _MOST_BYTES
        receive = made.receive_message

        def receive_bounded(request_id: int | None) -> Any:
            # Set here, because every hello response of the server sets it again.
            made.max_message_size = min(made.max_message_size, most)
            return receive(request_id)

        cast("Any", made).receive_message = receive_bounded
        return made


class Client:
    """One server or cluster, whose connections are shared by threads. Connects on first use."""

    def __init__(self, url: str, timeout_s: float, login: dict[str, Any]) -> None:
        self._url, self._timeout_ms, self._login = url, int(timeout_s * 1000), login
        self._pools: weakref.WeakSet[_Pool] = weakref.WeakSet()
        self._closed = False
        self.driver = self._made()
        """pymongo's client; a new one after `open_again`."""

    def abort(self) -> None:
        """Abort all operations in all threads: within half a second, they raise an error."""
        self._closed = True
        for pool in tuple(self._pools):
            pool.reset(interrupt_connections=True)
        self.driver.close()

    def open_again(self) -> None:
        """Continue with new connections after the previous ones were aborted."""
        if self._closed:
            self.driver, self._closed = self._made(), False

    def _made(self) -> pymongo.MongoClient[Any]:
        def pool(*arguments: Any, **settings: Any) -> _Pool:
            made = _Pool(*arguments, **settings)
            self._pools.add(made)
            return made

        return pymongo.MongoClient(
            self._url,
            appname="tsaudit",
            serverSelectionTimeoutMS=self._timeout_ms,
            connectTimeoutMS=self._timeout_ms,
            # For operations without a time limit, such as the last message of a connection; statements have their own
            # limits.
            timeoutMS=self._timeout_ms,
            heartbeatFrequencyMS=_HEARTBEAT_MS,
            _pool_class=pool,
            **self._login,
        )


ENGINE: Final = "mongodb"

_COUNTERS: Final = frozenset({"activity", "index_use", "server_status"})
"""Facts whose counters each server keeps apart. Only the primary counts writes; elsewhere, all would look unused."""

_LOGIN: Final = "set the target's username and password, or put them into its url"
_READ: Final = "grant it read on the database"
_MONITOR: Final = "grant it clusterMonitor on admin"
_RIGHTS: Final = {
    "index_use": f"{_MONITOR} (action indexStats)",
    "activity": f"{_MONITOR} (actions top and serverStatus)",
    "server_status": f"{_MONITOR} (action serverStatus)",
    "buckets": "grant it readAnyDatabase on admin (action find on system.buckets.*)",
}
_GONE: Final = frozenset({26, 166})
"""NamespaceNotFound, CommandNotSupportedOnView: the collection was dropped meanwhile, or is a view."""
_UNKNOWN: Final = frozenset({59, 115, 238, 40324, 304, 305})
"""CommandNotFound, CommandNotSupported, NotImplemented, an unknown stage; the last two also Amazon DocumentDB's."""
_SAYS_NO: Final = frozenset({13, 8000})
"""Codes of denied access: Unauthorized, and Atlas' own code for operations that a shared cluster does not allow."""
_MOST_REFUSED: Final = 20
"""If none of this many collections may be read, the others are not tried, but assumed to be unreadable, too."""

Row = dict[str, Any]


@dataclass(slots=True)
class Server:
    """A client, which threads may share, and what is known about the server or cluster so far."""

    client: Client
    build: Row
    """The version information that the server reports."""
    kinds: dict[tuple[str, str], str] = field(default_factory=dict)
    """(database, collection) to type, for all listed collections, including the server's own."""
    stats: dict[tuple[str, str], list[Row]] = field(default_factory=dict)
    """(database, collection) to the storage statistics of each shard."""
    activity: tuple[Row, Row] | None = None
    """How often each collection was used, and since when the server counts; None before it was queried."""

    @property
    def ferretdb(self) -> str:
        """FerretDB's version if the server is FerretDB, which speaks the same protocol; empty for MongoDB."""
        return str(self.build.get("ferretdbVersion", "")).lstrip("v")

    @property
    def is_ferretdb1(self) -> bool:
        """FerretDB 1 has no `$sample`, and closes the connection on a `$project` after `$collStats`."""
        return self.ferretdb.startswith("1.")

    @property
    def version(self) -> str:
        """The version, including the name of the product if it is not MongoDB."""
        return f"FerretDB {self.ferretdb}" if self.ferretdb else str(self.build["version"])


class Query:
    """A query for one fact. `about`: the parameters of the query."""

    def __init__(self, server: Server, fact: str, rows: Rows, timeout_s: float, about: Mapping[str, Any]) -> None:
        self.server, self.fact, self.rows, self.about = server, fact, rows, about
        self._deadline, self._timeout_s = time.monotonic() + timeout_s, timeout_s
        self._reading = ReadPreference.PRIMARY_PREFERRED if fact in _COUNTERS else ReadPreference.SECONDARY_PREFERRED

    @property
    def database(self) -> str:
        return str(self.about["database"])

    @property
    def collections(self) -> Sequence[str]:
        """The collections to query individually."""
        return tuple(self.about["measurements"])

    def statement(self, fact: str = "", **more: Any) -> Row:
        """The command for the fact, or for another one, with its parameters filled in."""
        return self.parsed(queries.render(ENGINE, fact or self.fact, **{**self.about, **more}))

    def parsed(self, text: str) -> Row:
        """The command as a document. If there is one command per collection, the first one represents all."""
        self.rows.statement = self.rows.statement or text
        command: Row = json_util.loads(text)
        return command

    def command(self, command: Row) -> Row:
        """The response to a command that returns a single document."""
        with self._within_time():
            answer: Row = self._of(command, READ).command(command, read_preference=self._reading)
            return answer

    def documents(self, command: Row, options: CodecOptions[Any] = READ) -> Generator[Any, None, None]:
        """The documents of a response in batches. If the iteration ends early, the cursor is closed on the server."""
        with self._within_time():
            database = self._of(command, options)
            cursor = database.cursor_command(command, read_preference=self._reading, codec_options=options)
        with cursor:
            while True:
                with self._within_time():
                    found = next(cursor, None)
                if found is None:
                    return
                yield found

    def _of(self, command: Row, options: CodecOptions[Any]) -> Any:
        """The database object for the command, whose options also apply to later batches."""
        self.rows.statements += 1
        return self.server.client.driver.get_database(command.pop("$db"), codec_options=options)

    @contextmanager
    def _within_time(self) -> Iterator[None]:
        """Limits the time, also on the server, and converts the driver's errors to FactError."""
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
            return FactError(Reason.TIMED_OUT, f"no response within {self._timeout_s:g} s")
        if isinstance(error, errors.ConnectionFailure):
            return FactError(Reason.UNREACHABLE, f"the connection broke ({in_short(error)})")
        if not isinstance(error, errors.OperationFailure):
            return FactError(Reason.FAILED, in_short(error))
        if error.code in _SAYS_NO:
            right = _LOGIN if "requires authentication" in str(error) else _RIGHTS.get(self.fact, _READ)
            return FactError(Reason.DENIED, in_short(error), f"{right}, see sql/mongodb/grants.md")
        if error.code in _UNKNOWN:
            return FactError(Reason.UNSUPPORTED, f"this server does not support it ({in_short(error)})")
        return (_CollectionGone if error.code in _GONE else FactError)(Reason.FAILED, in_short(error))

    def each(self, ask: Callable[[str], Iterator[Row]]) -> Iterator[Row]:
        """The rows of each collection; no rows for one that was dropped, is a view, or may not be read by the user.

        Raises FactError if none of the first `_MOST_REFUSED` collections may be read.
        """
        answered = False
        for collection in self.collections:
            try:
                yield from ask(collection)
                answered = True
            except _CollectionGone:
                continue
            except FactError as error:
                refused = self.rows.refused
                refused[collection] = error
                enough = min(len(self.collections), _MOST_REFUSED)
                if error.reason is not Reason.DENIED or (not answered and len(refused) == enough):
                    raise

    def stats(self, collection: str) -> list[Row]:
        """The storage statistics of each shard for the collection; queried only once."""
        key = self.database, collection
        if key not in self.server.stats:
            command = self.statement("storage", measurement=collection, whole=self.server.is_ferretdb1)
            self.server.stats[key] = [answer["storageStats"] for answer in self.documents(command)]
        return self.server.stats[key]


class _CollectionGone(FactError):  # noqa: N818 -- never leaves this module
    """The collection was dropped since it was listed, or is a view."""


def in_short(error: Exception) -> str:
    """The driver's message without the server's full response and the client settings that follow it."""
    text = str(error).split(", full error:")[0].split(" (configured timeouts:")[0].split(", Timeout:")[0]
    words = " ".join(text.split()).rstrip(".")
    # If a server of another product leaves out a field, the driver prints Python's None.
    return "an error without a message" if words in ("", "None") else words
