"""A stand-in for MongoDB: runs the commands it is sent on real BSON, in memory.

Copied from the product's documentation and source (github.com/mongodb/mongo, docs of 8.x) are the commands' answers,
their error codes, which role may run which command, what `system.buckets.*` holds, and the SCRAM-SHA-256 exchange
(RFC 5802, 7677). Bytes are counted: of documents as BSON, of an index the keys of all its entries and eight bytes for
each that point to the document. A real server compresses both, and rounds up to blocks.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import itertools
import json
import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import bson

from tests.engines.mongodb.fields import refuse_unknown, wire_version
from tests.engines.mongodb.kept import Collection, Index, add_index, buckets, closings, conflict_with, duplicate_in
from tests.engines.mongodb.pipeline import CommandError, Document, matches, run
from tests.engines.mongodb.wire import Server, Session

_BATCH: Final = 101
"""Documents in the first batch of a cursor, as the server does it."""
_ITERATIONS: Final = 4096
_FREE: Final = frozenset(
    {"hello", "ismaster", "isMaster", "ping", "buildInfo", "saslStart", "saslContinue", "endSessions"}
)

_READ: Final = frozenset({"find", "count", "aggregate", "listCollections", "listIndexes", "dbStats", "$collStats"})
ROLES: Final[Mapping[str, frozenset[str]]] = {
    "read": _READ,
    "clusterMonitor": frozenset(
        {"$collStats", "$indexStats", "dbStats", "listIndexes", "serverStatus", "hostInfo", "top", "listDatabases"}
    ),
    "readWrite": _READ | {"insert", "create", "createIndexes", "drop", "dropDatabase"},
    "lister": frozenset({"listCollections", "dbStats"}),
}
"""What each role may run (src/mongo/db/auth/builtin_roles.yml); `readAnyDatabase` is `read` on all databases, `lister`
a role of the user's own.
"""


@dataclass(frozen=True, slots=True)
class User:
    password: str
    roles: tuple[tuple[str, str], ...]
    """(role, database); database `*` for the roles on any, `database.collection` for a role's own privileges."""


class MongoDB:
    """One server. `shards`: more than one for a mongos in front of so many."""

    def __init__(self, version: str = "8.0.4", *, shards: int = 0, users: Mapping[str, User] | None = None) -> None:
        self.version, self.shards = version, shards
        self.users = dict(users or {})
        self.started = datetime.now(UTC).replace(microsecond=0) - timedelta(days=30)
        self.delay_s: dict[str, float] = {}
        """Command to how long it takes."""
        self.sections: dict[str, Any] = {}
        """What serverStatus says besides how long the server has been running."""
        self.product: dict[str, Any] = {}
        """What it says of itself besides its version."""
        self.member: dict[str, Any] = {}
        """What it says of the replica set it is in, and of its part there."""
        self.refused: dict[str, int] = {}
        """Stage to the code by which it is refused, as a compatible product does it."""
        self.upgrading = False
        """Of a newer version, with the collections of the one before."""
        self.disks = [(100_000_000_000, 30_000_000_000)] * (shards or 1)
        """Bytes of each shard's file system, and how many of them are used."""
        self.counts_no_closings = False
        """As servers that do not tell why they closed the buckets of time series."""
        self.counted_wrongly = 0
        """By how much the counts in the metadata are off, as after a crash."""
        self.commands: list[dict[str, Any]] = []
        """Those that were sent, oldest first, without what belongs to the connection."""
        self.databases: dict[str, dict[str, Collection]] = {}
        self.cursors: dict[int, list[Document]] = {}
        self.killed: list[int] = []
        self._cursor_ids = itertools.count(1000)
        self._lock = threading.RLock()
        self._server = Server(self.run)
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        self.port: int = self._server.server_address[1]
        self.url = f"mongodb://127.0.0.1:{self.port}/"

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def run(self, command: dict[str, Any], session: Session) -> Document:
        """The answer to one command."""
        name = next(iter(command))
        kept = {k: v for k, v in command.items() if k not in ("lsid", "$clusterTime")}
        with self._lock:
            if name not in _FREE:
                self.commands.append(kept)
        try:
            method = getattr(self, f"_{name.lower()}", None)
            if method is None:
                raise CommandError(59, "CommandNotFound", f"no such command: '{name}'")
            if name not in _FREE:
                self._authorize(session, name, command)
            refuse_unknown(command, self.version)
            self._wait(name, command)
            with self._lock:
                return {**method(command, session), "ok": 1.0}
        except CommandError as error:
            return {"ok": 0.0, "errmsg": str(error), "code": error.code, "codeName": error.name}

    def _wait(self, name: str, command: Document) -> None:
        most = command.get("maxTimeMS", 1e9) / 1000
        time.sleep(min(self.delay_s.get(name, 0.0), most))
        if self.delay_s.get(name, 0.0) > most:
            raise CommandError(50, "MaxTimeMSExpired", "operation exceeded time limit")

    # --- Who may do what -----------------------------------------------------------------------------------------

    def _authorize(self, session: Session, name: str, command: Document) -> None:
        if not self.users:
            return
        if session.user is None:
            raise CommandError(13, "Unauthorized", f"command {name} requires authentication")
        action, database = name, command["$db"]
        if name == "aggregate" and command["pipeline"]:
            first = next(iter(command["pipeline"][0]))
            action = first if first in ("$collStats", "$indexStats") else name
        if name in ("getMore", "killCursors", "listDatabases"):
            # Whoever may open a cursor may read it; to each user those databases are listed that it may read.
            return
        namespace = str(command[name]) if isinstance(command[name], str) else ""
        if not any(self._allows(role, where, action, database, namespace) for role, where in session.user.roles):
            raise CommandError(
                13,
                "Unauthorized",
                f"not authorized on {database} to execute command {{ {name}: {json.dumps(namespace)} }}",
            )

    @staticmethod
    def _allows(role: str, where: str, action: str, database: str, namespace: str) -> bool:
        if role == "readAnyDatabase":
            return action == "listDatabases" or action in ROLES["read"]
        if role == "clusterMonitor":
            return action in ROLES[role]
        if where == f"{database}.{namespace}":
            return action in ROLES[role]
        buckets = namespace.startswith("system.buckets.") and role == "read"
        return where == database and action in ROLES[role] and not buckets

    def _saslstart(self, command: Document, session: Session) -> Document:
        bare = bytes(command["payload"]).decode().removeprefix("n,,")
        sent = dict(part.split("=", 1) for part in bare.split(","))
        user = sent["n"].replace("=2C", ",").replace("=3D", "=")
        salt, nonce = os.urandom(16), sent["r"] + base64.b64encode(os.urandom(18)).decode()
        first = f"r={nonce},s={base64.b64encode(salt).decode()},i={_ITERATIONS}"
        session.exchange = user, salt, f"{bare},{first},c={base64.b64encode(b'n,,').decode()},r={nonce}".encode()
        return {"conversationId": 1, "done": False, "payload": first.encode()}

    def _saslcontinue(self, command: Document, session: Session) -> Document:
        if session.exchange is None:
            return {"conversationId": 1, "done": True, "payload": b""}
        name, salt, message = session.exchange
        user = self.users.get(name)
        salted = hashlib.pbkdf2_hmac("sha256", (user.password if user else "").encode(), salt, _ITERATIONS)
        key = hmac.digest(salted, b"Client Key", "sha256")
        signature = hmac.digest(hashlib.sha256(key).digest(), message, "sha256")
        proof = base64.b64encode(bytes(a ^ b for a, b in zip(key, signature, strict=True))).decode()
        if user is None or f"p={proof}" != bytes(command["payload"]).decode().rpartition(",")[2]:
            raise CommandError(18, "AuthenticationFailed", "Authentication failed.")
        session.user, session.exchange = user, None
        verified = hmac.digest(hmac.digest(salted, b"Server Key", "sha256"), message, "sha256")
        return {"conversationId": 1, "done": True, "payload": b"v=" + base64.b64encode(verified)}

    # --- The server ----------------------------------------------------------------------------------------------

    def _hello(self, command: Document, session: Session) -> Document:
        del session
        found: dict[str, Any] = {
            "helloOk": True,
            "isWritablePrimary": True,
            "ismaster": True,
            "maxBsonObjectSize": 16_777_216,
            "maxMessageSizeBytes": 48_000_000,
            "maxWriteBatchSize": 100_000,
            "localTime": datetime.now(UTC),
            "minWireVersion": 0,
            "maxWireVersion": wire_version(self.version),
            "readOnly": False,
        }
        if self.shards:
            found["msg"] = "isdbgrid"
        found |= self.member
        if "saslSupportedMechs" in command:
            found["saslSupportedMechs"] = ["SCRAM-SHA-256"]
        return found

    _ismaster = _hello

    def _ping(self, command: Document, session: Session) -> Document:
        del command, session
        return {}

    _endsessions = _ping

    def _buildinfo(self, command: Document, session: Session) -> Document:
        del command, session
        return {"version": self.version, "versionArray": [*map(int, self.version.split(".")), 0], **self.product}

    def _serverstatus(self, command: Document, session: Session) -> Document:
        del command, session
        up = (datetime.now(UTC) - self.started).total_seconds()
        about = {"host": "stand-in", "version": self.version, "uptime": up, "localTime": datetime.now(UTC)}
        return about | self.sections

    def _hostinfo(self, command: Document, session: Session) -> Document:
        del command, session
        return {"extra": {"maxOpenFiles": 64_000}}

    def _top(self, command: Document, session: Session) -> Document:
        del command, session
        if self.shards:
            raise CommandError(59, "CommandNotFound", "no such command: 'top'")
        totals: dict[str, Any] = {"note": "all times in microseconds"}
        for database, collections in self.databases.items():
            for name, collection in collections.items():
                reads, writes = collection.reads, collection.writes
                counts = {"queries": reads, "insert": writes, "update": 0, "remove": 0, "getmore": 0, "commands": 0}
                totals[f"{database}.{name}"] = {what: {"time": n * 100, "count": n} for what, n in counts.items()}
        return {"totals": totals}

    def _listdatabases(self, command: Document, session: Session) -> Document:
        names = ["admin", "config", "local", *sorted(self.databases)]
        if self.users and session.user is not None:
            may = session.user.roles
            names = [n for n in names if any(where in ("*", n) or role == "clusterMonitor" for role, where in may)]
        full = [{"name": n, "sizeOnDisk": self._bytes(n), "empty": False} for n in names]
        return {"databases": [{"name": n} for n in names] if command.get("nameOnly") else full}

    def _bytes(self, database: str) -> int:
        return sum(c.size for c in self.databases.get(database, {}).values())

    def _dbstats(self, command: Document, session: Session) -> Document:
        del session
        inside = self.databases.get(command["$db"], {})
        indexes = sum(sum(self._index_sizes(c).values()) for c in inside.values())
        shards = {
            f"shard{i}/host": {"fsUsedSize": float(used), "fsTotalSize": float(total)}
            for i, (total, used) in enumerate(self.disks)
        }
        total, used = map(sum, zip(*self.disks, strict=True))
        return {
            # A mongos adds up what its shards say, and tells what each of them said.
            **({"raw": shards} if self.shards else {}),
            "db": command["$db"],
            "collections": len(inside),
            "objects": sum(len(c.documents) for c in inside.values()),
            "dataSize": float(self._bytes(command["$db"])),
            "storageSize": float(self._bytes(command["$db"])),
            "indexes": sum(len(c.indexes) for c in inside.values()),
            "indexSize": float(indexes),
            "fsUsedSize": float(used),
            "fsTotalSize": float(total),
        }

    # --- Collections ---------------------------------------------------------------------------------------------

    @property
    def _viewless(self) -> bool:
        return int(self.version.split(".")[0]) >= 9 and not self.upgrading

    def _listcollections(self, command: Document, session: Session) -> Document:
        del session
        inside = self.databases.get(command["$db"], {})
        found: list[Document] = [
            {"name": name, "type": c.kind, "options": c.options, "info": {"readOnly": c.kind == "view"}}
            for name, c in sorted(inside.items())
        ]
        series = [name for name, c in inside.items() if c.kind == "timeseries"]
        if series and not self._viewless:
            hidden = [f"system.buckets.{name}" for name in series] + ["system.views"]
            found += [{"name": name, "type": "collection", "options": {}, "info": {}} for name in hidden]
        found = [d for d in found if matches(d, command.get("filter", {}))]
        if command.get("nameOnly"):
            found = [{"name": d["name"], "type": d["type"]} for d in found]
        return self._cursor(found, command, "$cmd.listCollections")

    def _listindexes(self, command: Document, session: Session) -> Document:
        del session
        collection = self._existing(command["$db"], command["listIndexes"])
        return self._cursor([i.spec for i in collection.indexes.values()], command, command["listIndexes"])

    def _existing(self, database: str, name: str) -> Collection:
        found = self.databases.get(database, {}).get(name)
        if found is None:
            raise CommandError(26, "NamespaceNotFound", f"ns does not exist: {database}.{name}")
        if found.kind == "view":
            raise CommandError(
                166, "CommandNotSupportedOnView", f"Namespace {database}.{name} is a view, not a collection"
            )
        return found

    def _count(self, command: Document, session: Session) -> Document:
        del session
        collection = self.databases.get(command["$db"], {}).get(command["count"])
        return {"n": len(collection.documents) + self.counted_wrongly if collection else 0}

    def _find(self, command: Document, session: Session) -> Document:
        del session
        documents = self._documents(command, command["find"])
        stages: list[Document] = [{"$match": command.get("filter", {})}]
        stages += [{"$sort": command["sort"]}] if command.get("sort") else []
        stages += [{"$limit": command["limit"]}] if command.get("limit") else []
        return self._cursor(list(run(documents, stages)), command, command["find"])

    def _documents(self, command: Document, name: str) -> Iterator[Document]:
        inside = self.databases.get(command["$db"], {})
        series = inside.get(name.removeprefix("system.buckets."))
        if name.startswith("system.buckets.") and series is not None and not self._viewless:
            return iter(self._buckets_of(series))
        collection = inside.get(name)
        if collection is None:
            return iter(())
        if collection.kind == "view":
            return run(self._documents(command, collection.options["viewOn"]), collection.options["pipeline"])
        if command.get("rawData") and self._viewless and collection.kind == "timeseries":
            return iter(self._buckets_of(collection))
        collection.reads += 1
        return collection.read()

    def _aggregate(self, command: Document, session: Session) -> Document:
        pipeline, name = command["pipeline"], command["aggregate"]
        first = next(iter(pipeline[0])) if pipeline else ""
        if first in self.refused:
            raise CommandError(self.refused[first], "Refused", f"Aggregation stage not supported: '{first}'")
        if first == "$collStats":
            documents: Iterator[Document] = iter(self._stats(self._existing(command["$db"], name)))
            pipeline = pipeline[1:]
        elif first == "$indexStats":
            documents = iter(self._index_stats(self._existing(command["$db"], name)))
            pipeline = pipeline[1:]
        else:
            documents = self._documents(command, name)
        if pipeline and (last := next(iter(pipeline[-1]))) in ("$merge", "$out"):
            self._written(last, pipeline[-1][last], list(run(documents, pipeline[:-1])), command["$db"], session)
            return self._cursor([], command, name)
        return self._cursor(list(run(documents, pipeline)), command, name)

    def _written(self, stage: str, into: Any, found: list[Document], database: str, session: Session) -> None:
        """Writes what a pipeline ends with. Of documents that are there, `$merge` only knows to keep them."""
        name = into if isinstance(into, str) else into.get("into", into.get("coll"))
        options = {"timeseries": into["timeseries"]} if isinstance(into, Mapping) and "timeseries" in into else {}
        inside = self.databases.setdefault(database, {})
        if stage == "$out":
            inside.pop(name, None)
        elif into.get("whenMatched") != "keepExisting" or (name in inside and inside[name].kind != "collection"):
            raise CommandError(2, "BadValue", f"$merge cannot write into {name} like this")
        if name not in inside:
            self._create({"create": name, "$db": database, **options}, session)
        for document in found:
            made = document if "_id" in document or options else {"_id": bson.ObjectId(), **document}
            if not duplicate_in(inside[name], made):
                inside[name].documents.append(bson.encode(made))

    def _parts(self, number: int) -> Iterator[tuple[dict[str, str], int]]:
        """Shard names with each one's part of a number that is split over them."""
        for i in range(self.shards or 1):
            part = number // (self.shards or 1) + (i < number % (self.shards or 1))
            yield ({"shard": f"shard{i}"} if self.shards else {}), part

    def _index_sizes(self, collection: Collection) -> dict[str, int]:
        documents = list(collection.read()) if collection.indexes else []
        return {name: collection.index_size(index, documents) for name, index in collection.indexes.items()}

    def _stats(self, collection: Collection) -> Iterator[Document]:
        sizes = self._index_sizes(collection)
        buckets = list(self._buckets_of(collection)) if collection.kind == "timeseries" else []
        counted = self.counts_no_closings
        for (shard, size), (_, count) in zip(
            self._parts(collection.size), self._parts(len(buckets) or len(collection.documents)), strict=True
        ):
            of_shard = {name: n // (self.shards or 1) for name, n in sizes.items()}
            stats: dict[str, Any] = {
                "size": size,
                "storageSize": size,
                "freeStorageSize": 0,
                "nindexes": len(sizes),
                "indexSizes": of_shard,
                "totalIndexSize": sum(of_shard.values()),
                "totalSize": size + sum(of_shard.values()),
                "wiredTiger": {"uri": "statistics:table:x"},
            }
            if collection.kind == "timeseries":
                stats["timeseries"] = {"bucketCount": count, "avgBucketSize": size // max(count, 1)}
                # A mongos tells of each shard what it has counted; here the first one has counted all.
                stats["timeseries"] |= closings(collection) if not counted else {}
                counted = True
            else:
                stats["count"] = count
                stats |= {"avgObjSize": size // count} if count else {}
            yield {"ns": "x", **shard, "host": "stand-in", "storageStats": stats}

    def _index_stats(self, collection: Collection) -> Iterator[Document]:
        for index in collection.indexes.values():
            for shard, uses in self._parts(index.uses):
                accesses = {"ops": bson.Int64(uses), "since": self.started}
                yield {"name": index.name, "key": index.key, **shard, "accesses": accesses, "spec": index.spec}

    def _buckets_of(self, collection: Collection) -> Iterator[Document]:
        return buckets(collection, compressed=int(self.version.split(".")[0]) >= 8)

    # --- Cursors -------------------------------------------------------------------------------------------------

    def _cursor(self, found: Sequence[Document], command: Document, name: str) -> Document:
        size = command.get("cursor", {}).get("batchSize", command.get("batchSize", _BATCH))
        rest = list(found[size:])
        number = next(self._cursor_ids) if rest else 0
        if rest:
            self.cursors[number] = rest
        return {
            "cursor": {"id": bson.Int64(number), "ns": f"{command['$db']}.{name}", "firstBatch": list(found[:size])}
        }

    def _getmore(self, command: Document, session: Session) -> Document:
        del session
        number = command["getMore"]
        if number not in self.cursors:
            raise CommandError(43, "CursorNotFound", f"cursor id {number} not found")
        if "maxTimeMS" in command:
            raise CommandError(2, "BadValue", "cannot set maxTimeMS on getMore command for a non-awaitData cursor")
        size = command.get("batchSize", 1000)
        batch, rest = self.cursors[number][:size], self.cursors[number][size:]
        self.cursors[number] = rest
        if not rest:
            del self.cursors[number]
        left = bson.Int64(number if rest else 0)
        return {"cursor": {"id": left, "ns": f"{command['$db']}.{command['collection']}", "nextBatch": batch}}

    def _killcursors(self, command: Document, session: Session) -> Document:
        del session
        for number in command["cursors"]:
            self.cursors.pop(number, None)
            self.killed.append(number)
        return {"cursorsKilled": command["cursors"], "cursorsNotFound": [], "cursorsAlive": [], "cursorsUnknown": []}

    # --- Writing, for test data ----------------------------------------------------------------------------------

    def _create(self, command: Document, session: Session) -> Document:
        del session
        own = {"create", "$db", "lsid", "comment", "writeConcern", "$readPreference", "maxTimeMS"}
        options = {k: v for k, v in command.items() if k not in own}
        kind = "view" if "viewOn" in options else "timeseries" if "timeseries" in options else "collection"
        collection = Collection(options, kind)
        if kind == "collection" and "clusteredIndex" not in options:
            add_index(collection, Index("_id_", {"_id": 1}))
        self.databases.setdefault(command["$db"], {})[command["create"]] = collection
        return {}

    def _insert(self, command: Document, session: Session) -> Document:
        inside = self.databases.setdefault(command["$db"], {})
        if command["insert"] not in inside:
            self._create({"create": command["insert"], "$db": command["$db"]}, session)
        collection = inside[command["insert"]]
        errors = []
        for number, document in enumerate(command["documents"]):
            if duplicate := duplicate_in(collection, document):
                errors.append(
                    {"index": number, "code": 11000, "errmsg": f"E11000 duplicate key error index: {duplicate}"}
                )
                break
            collection.documents.append(bson.encode(document))
            collection.writes += 1
        return {"n": len(command["documents"]) - len(errors)} | ({"writeErrors": errors} if errors else {})

    def _createindexes(self, command: Document, session: Session) -> Document:
        inside = self.databases.setdefault(command["$db"], {})
        if command["createIndexes"] not in inside:
            self._create({"create": command["createIndexes"], "$db": command["$db"]}, session)
        for spec in command["indexes"]:
            settings = {k: v for k, v in spec.items() if k not in ("key", "name", "v")}
            made = Index(spec["name"], dict(spec["key"]), settings)
            if conflict := conflict_with(inside[command["createIndexes"]], made):
                raise CommandError(*conflict, f"another index stands in the way of {made.name}")
            add_index(inside[command["createIndexes"]], made)
        return {"createdCollectionAutomatically": False}

    def _dropindexes(self, command: Document, session: Session) -> Document:
        """Drops one, by its name."""
        del session
        collection, name = self._existing(command["$db"], command["dropIndexes"]), command["index"]
        if collection.indexes.pop(name, None) is None:
            raise CommandError(27, "IndexNotFound", f"index not found with name [{name}]")
        collection.unique.pop(name, None)
        return {}

    def _update(self, command: Document, session: Session) -> Document:
        """Changes the documents that match: by a pipeline, or by the operator `$unset`."""
        del session
        changed, inside = 0, self._existing(command["$db"], command["update"])
        if inside.kind != "collection":
            raise CommandError(72, "InvalidOptions", "time series measurements are hardly ever updated")
        for update in command["updates"]:
            asked = update["u"]
            stages = asked if isinstance(asked, list) else [{"$unset": list(asked["$unset"])}]
            for place, document in enumerate(inside.read()):
                if matches(document, update["q"]) and (update.get("multi") or not changed):
                    (made,) = run([document], stages)
                    inside.documents[place] = bson.encode(made)
                    changed += 1
        return {"n": changed, "nModified": changed}

    def _renamecollection(self, command: Document, session: Session) -> Document:
        """Renames a collection, with its indexes; no time series and no view."""
        del session
        (database, name), (_, to) = (command[k].split(".", 1) for k in ("renameCollection", "to"))
        inside = self.databases.get(database, {})
        if self._existing(database, name).kind != "collection":
            raise CommandError(166, "CommandNotSupportedOnView", f"{name} cannot be renamed")
        if to in inside and not command.get("dropTarget"):
            raise CommandError(48, "NamespaceExists", "target namespace exists")
        inside[to] = inside.pop(name)
        return {}

    def _collmod(self, command: Document, session: Session) -> Document:
        """Sets a validator, how it is applied, or the options of a time series."""
        del session
        collection = self._existing(command["$db"], command["collMod"])
        own = {"collMod", "$db", "lsid"}
        for option, value in command.items():
            if option == "timeseries":
                collection.options["timeseries"] = {**collection.options["timeseries"], **value}
            elif option not in own and not option.startswith("$"):
                collection.options[option] = value
        return {}

    def _drop(self, command: Document, session: Session) -> Document:
        del session
        self.databases.get(command["$db"], {}).pop(command["drop"], None)
        return {}

    def _dropdatabase(self, command: Document, session: Session) -> Document:
        del session
        self.databases.pop(command["$db"], None)
        return {}
