"""The stand-in for MongoDB, with a server of its own for each cell in which it answers wrongly."""

from __future__ import annotations

import itertools
import struct
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from tests.databases import write
from tests.engines.mongodb.double import MongoDB, User
from tests.engines.mongodb.pipeline import CommandError, Document
from tests.engines.mongodb.wire import Server, Session
from tests.faults import proxy
from tests.faults.engine import Scene, Settings, Stage, dead_port
from tests.faults.expectations import Fault, Moment
from tests.faults.http_engines import DATA
from tests.faults.proxy import FaultyProxy, Pieces, Strike
from tests.faults.wire_engine import None_, Restarting, WireEngine
from tests.serving import serving

_ERRORS: Final = {
    "401": CommandError(13, "Unauthorized", "command requires authentication"),
    "403": CommandError(13, "Unauthorized", "not authorized on admin to execute command { listDatabases: 1 }"),
    "404": CommandError(26, "NamespaceNotFound", "database not found"),
    "429": CommandError(8000, "AtlasError", "you are over your operations limit, too many requests"),
    "500": CommandError(1, "InternalError", "WiredTiger failed: server error"),
    "503": CommandError(91, "ShutdownInProgress", "The server is in quiesce mode and will shut down, not available"),
}
_OP_MSG, _OP_COMPRESSED, _ZLIB = 2013, 2012, 2
_LARGEST: Final = 2**31 - 1

Change = Callable[[Document], Document]
_HELLO: Final = (b"hello", b"isMaster", b"ismaster", b"sasl", b"ping", b"endSessions")
_MEASURES: Final = ("find", "aggregate")

NONE: Final[None_] = {
    ("endless", Moment.LIST): "a response is one message, whose length comes first",
    ("drip-error", None): "errors are ordinary documents: covered by the response sent one byte at a time",
    ("null", Moment.MEASURE): "a document of nothing but nulls is valid data",
}


def mongodb() -> WireEngine:
    server = MongoDB()
    target = write(DATA, "mongodb", server.url)
    (name,) = target.databases
    login = {"username": "audit", "password": "reads-only-9"}
    rights = (("readAnyDatabase", "*"), ("clusterMonitor", "admin"))
    server.users = {"audit": User("reads-only-9", rights)}

    def settings(host: str, port: int) -> Settings:
        return {"url": f"mongodb://{host}:{port}/", "databases": [name], **login}

    def wrong(change: Change, moment: Moment | None, *, greeting: bool = False) -> Stage:
        def run(command: dict[str, Any], session: Session) -> Document:
            answer = server.run(command, session)
            return change(answer) if _is_bad(command, moment, greeting=greeting) else answer

        @contextmanager
        def stage(_: Path) -> Iterator[Scene]:
            with serving(Server(run)) as own:
                yield Scene(settings("127.0.0.1", own.server_address[1]))

        return stage

    def fire() -> None:
        server.users["fired"] = User("leaves-soon-9", ())

    def losing_rights() -> FaultyProxy:
        server.users["fired"] = User("leaves-soon-9", rights)
        return FaultyProxy(engine.upstream, moment=proxy.Moment(_measures), action=fire)

    engine = WireEngine(
        "mongodb",
        ("127.0.0.1", server.port),
        settings,
        {Moment.LIST: _asks, Moment.MEASURE: _measures},
        _strikes,
        NONE,
        server.stop,
    )
    engine.stages = {
        **{(kind, m): wrong(change, m) for kind, change in _CHANGES.items() for m in Moment},
        **{(kind, m): wrong(_raising(error), m) for kind, error in _ERRORS.items() for m in Moment},
        **{("redirect", m): wrong(_elsewhere(dead_port()), m, greeting=True) for m in (Moment.CONNECT, Moment.LIST)},
        ("401", Moment.CONNECT): engine.through(lambda: FaultyProxy(engine.upstream), password="rotated-since"),
        ("endless", Moment.MEASURE): wrong(_cursor_without_end, Moment.MEASURE),
        ("rights", Moment.MEASURE): engine.through(losing_rights, username="fired", password="leaves-soon-9"),
        ("restart", Moment.MEASURE): engine.through(lambda: Restarting(engine.upstream, _measures)),
    }
    _forget_rights(server)
    return engine


def _forget_rights(server: MongoDB) -> None:
    """Let a user who is signed in lose its rights, as on a real server, at once."""
    authorize = server._authorize

    def with_rights_of_now(session: Session, name: str, command: Document) -> None:
        if isinstance(session.user, User) and session.user not in server.users.values():
            raise CommandError(13, "Unauthorized", f"not authorized on {command['$db']} to execute command {name}")
        authorize(session, name, command)

    server._authorize = with_rights_of_now


def _is_bad(command: Document, moment: Moment | None, *, greeting: bool) -> bool:
    name = next(iter(command))
    if name.encode().startswith(_HELLO):
        return greeting
    if moment is Moment.CONNECT:
        return not greeting
    if moment is Moment.LIST:
        return name != "buildInfo" and not greeting
    return (
        name in _MEASURES and "$collStats" not in str(command) and "$indexStats" not in str(command)
    ) or name == "getMore"


def _asks(piece: bytes) -> bool:
    return not any(word in piece for word in (*_HELLO, b"buildInfo"))


def _measures(piece: bytes) -> bool:
    return b"$sample" in piece or b"$limit" in piece


def _raising(error: CommandError) -> Change:
    said = {"ok": 0.0, "errmsg": str(error), "code": error.code, "codeName": error.name}
    return lambda answer: dict(said)


def _nulls(answer: Document) -> Document:
    """Every value but the one that says that it went well."""

    def without(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: inner if key in ("id", "ns") else without(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [without(inner) for inner in value]
        return None

    return {**without(answer), "ok": 1.0} if "cursor" in answer else {**dict.fromkeys(answer), "ok": 1.0}


def _cursor_without_end(answer: Document) -> Document:
    cursor = dict(answer.get("cursor", {}))
    batch = cursor.pop("firstBatch", None) or cursor.pop("nextBatch", None) or [{"x": 1}]
    return {"ok": 1.0, "cursor": {"id": 4711, "ns": "a.b", "firstBatch": batch, "nextBatch": batch}}


def _elsewhere(port: int) -> Change:
    """A member of a replica set whose members are all somewhere else."""
    member = {
        "setName": "rs0",
        "hosts": [f"127.0.0.1:{port}"],
        "primary": f"127.0.0.1:{port}",
        "me": f"127.0.0.1:{port}",
    }
    return lambda answer: {**answer, **member, "isWritablePrimary": False, "ismaster": False, "secondary": False}


_CHANGES: Final[dict[str, Change]] = {
    "empty": lambda answer: {},
    "null": _nulls,
    "shape": lambda answer: {"surprise": [1, {"deep": None}], "ok": 1.0},
}


def _strikes(fault: Fault) -> tuple[Strike, bool] | None:
    own: dict[str, tuple[Strike, bool]] = {
        "endless": (_repeated, False),
        "long-line": (proxy.endless(struct.pack("<iiiiI", _LARGEST, 1, 1, _OP_MSG, 0), b"x" * 1000), True),
        "bomb": (_bomb, False),
    }
    return own.get(fault.name)


def _repeated(server: Pieces) -> Pieces:
    """The first answer over and over."""
    for piece in server:
        yield piece
        if piece:
            yield from itertools.repeat(piece * max(1, 65_536 // len(piece)))


def _bomb(server: Pieces) -> Pieces:
    """The answer as one that is compressed, a thousand times smaller on the wire than it will be."""
    packed = _packed(1_500_000_000)
    for piece in server:
        if len(piece) >= 16:
            _, number, to, _ = struct.unpack("<iiii", piece[:16])
            body = struct.pack("<iiB", _OP_MSG, 1_500_000_000, _ZLIB) + packed
            yield struct.pack("<iiii", 16 + len(body), number, to, _OP_COMPRESSED) + body
            yield from itertools.repeat(b"")
        yield piece


def _packed(size: int) -> bytes:
    """That many zeros, compressed: after a full flush the same bytes unpack to the same again."""
    packer = zlib.compressobj(1)
    first = packer.compress(bytes(1_000_000)) + packer.flush(zlib.Z_FULL_FLUSH)
    again = packer.compress(bytes(1_000_000)) + packer.flush(zlib.Z_FULL_FLUSH)
    return first + again * (size // 1_000_000 - 1)
