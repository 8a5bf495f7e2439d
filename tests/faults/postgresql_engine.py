"""A real PostgreSQL, whose messages a proxy changes on their way."""

from __future__ import annotations

import functools
import itertools
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from tests.databases import write
from tests.faults import proxy
from tests.faults.engine import Settings, behind
from tests.faults.expectations import Fault, Moment
from tests.faults.http_engines import DATA
from tests.faults.proxy import FaultyProxy, Pieces, Strike
from tests.faults.wire_engine import None_, WireEngine
from tests.postgresql_programs import programs, unprivileged
from tests.servers import PASSWORD, run_postgresql

_STARTUP: Final = proxy.Moment(lambda piece: b"user\0" in piece, each=True)
_ERRORS: Final = {
    "401": ("28P01", 'password authentication failed for user "tsaudit"'),
    "403": ("42501", "permission denied for schema pg_catalog"),
    "404": ("3D000", 'database "shop" does not exist'),
    "429": ("53300", "sorry, too many clients already"),
    "500": ("XX000", 'could not open file "base/5/1259": Input/output error'),
    "503": ("57P03", "the database system is starting up"),
}

NONE: Final[None_] = {
    ("redirect", None): "the protocol has no redirects",
    ("bomb", None): "the protocol has no compression",
}


def postgresql() -> WireEngine:
    running = run_postgresql()
    server = next(running)
    target = write(DATA, "postgresql", server)
    (schema,) = target.databases

    def role(name: str, options: str = "LOGIN") -> dict[str, str]:
        server.execute(f"CREATE ROLE {name} {options} PASSWORD '{PASSWORD}' IN ROLE tsaudit")
        return {"username": name}

    def settings(host: str, port: int, database: str = "postgres") -> Settings:
        return {
            # Without TLS every byte is a message's, and the proxy can read them.
            "url": f"postgresql://{host}:{port}/{database}?sslmode=disable",
            "username": "tsaudit",
            "password": PASSWORD,
            "databases": [schema],
        }

    def losing_rights() -> FaultyProxy:
        server.execute("GRANT tsaudit TO fired")
        return FaultyProxy(
            ("127.0.0.1", server.port),
            moment=proxy.Moment(_measures),
            action=lambda: server.execute("REVOKE tsaudit FROM fired"),
        )

    def restarting() -> FaultyProxy:
        folder = Path(server.rows("SHOW data_directory")[0][0])
        command = [programs() / "pg_ctl", "-D", folder, "-m", "immediate", "-w", "restart"]
        user: dict[str, Any] = unprivileged(folder.parent)
        return FaultyProxy(
            ("127.0.0.1", server.port),
            moment=proxy.Moment(_measures),
            action=lambda: _run(command, folder.parent, user),
        )

    engine = WireEngine(
        "postgresql",
        ("127.0.0.1", server.port),
        settings,
        {Moment.LIST: _asks, Moment.MEASURE: _measures},
        _strikes,
        NONE,
        lambda: running.close(),
    )

    def plain() -> FaultyProxy:
        return FaultyProxy(engine.upstream)

    at_startup = {
        (name, Moment.CONNECT): engine.through(
            lambda name=name: FaultyProxy(engine.upstream, proxy.saying(_error(name)), _STARTUP, answers_alone=True)
        )
        for name in ("500", "503")
    }
    role("fired"), role("out", "NOLOGIN"), role("crowd", "LOGIN CONNECTION LIMIT 0")
    engine.stages = {
        **at_startup,
        ("401", Moment.CONNECT): engine.through(plain, password="rotated-since"),
        ("403", Moment.CONNECT): engine.through(plain, username="out"),
        ("404", Moment.CONNECT): behind(plain, functools.partial(settings, database="gone")),
        ("429", Moment.CONNECT): engine.through(plain, username="crowd"),
        ("rights", Moment.MEASURE): engine.through(losing_rights, username="fired"),
        ("restart", Moment.MEASURE): engine.through(restarting),
    }
    return engine


def _run(command: list[Any], folder: Path, user: dict[str, Any]) -> None:
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "check": True, "timeout": 60}
    subprocess.run(command, cwd=folder, **user, **quiet)


def _asks(piece: bytes) -> bool:
    """A statement after those with which a connection begins."""
    return b"SELECT" in piece and b"pg_catalog.pg_proc" not in piece and b"pg_catalog.pg_inherits" not in piece


def _measures(piece: bytes) -> bool:
    return b'"http"' in piece


def _strikes(fault: Fault) -> tuple[Strike, bool] | None:
    if fault.name == "503":
        return proxy.saying(_error("503")), True
    if fault.name in _ERRORS:
        return _refusing(_error(fault.name, b"ERROR")), False
    own: dict[str, tuple[Strike, bool]] = {
        "empty": (proxy.saying(_message(b"R") if fault.moment is Moment.CONNECT else _message(b"I") + _ready()), True),
        "null": (_with_nulls, False),
        "shape": (_of_another_shape, False),
        "drip-error": (proxy.slowly(proxy.saying(_error("500") * 20)), True),
        "endless": (_notices if fault.moment is Moment.CONNECT else _rows_without_end, False),
        "long-line": (_long_message, False),
    }
    return own.get(fault.name)


def _message(kind: bytes, body: bytes = b"") -> bytes:
    return kind + struct.pack("!I", len(body) + 4) + body


def _ready() -> bytes:
    return _message(b"Z", b"I")


def _error(name: str, severity: bytes = b"FATAL") -> bytes:
    code, text = _ERRORS[name]
    fields = b"S" + severity + b"\0C" + code.encode() + b"\0M" + text.encode() + b"\0\0"
    return _message(b"E", fields) + (_ready() if severity == b"ERROR" else b"")


def _refusing(error: bytes) -> Strike:
    """The error in place of every answer; the connection stays."""

    def strike(server: Pieces) -> Pieces:
        for kind, _ in _messages(server):
            yield error if kind == b"Z" else b""

    return strike


def _messages(server: Pieces) -> Iterator[tuple[bytes, bytes]]:
    """Kind and body of each; a pause has no kind."""
    unread = b""
    for piece in server:
        if not piece:
            yield b"", b""
        unread += piece
        while len(unread) >= 5 and len(unread) >= (size := 1 + struct.unpack("!I", unread[1:5])[0]):
            yield unread[:1], unread[5:size]
            unread = unread[size:]


def _changed(server: Pieces, changes: dict[bytes, bytes | None]) -> Pieces:
    """Other bodies for some kinds of messages; None for as many nulls as the copied row has values."""
    columns = 1
    for kind, body in _messages(server):
        if kind == b"H":
            (columns,) = struct.unpack("!H", body[1:3])
        if not kind:
            yield b""
        elif kind in changes:
            put = changes[kind]
            yield _message(kind, b"," * (columns - 1) + b"\n" if put is None else put)
        else:
            yield _message(kind, body)


def _with_nulls(server: Pieces) -> Pieces:
    return _changed(server, {b"d": None})


def _of_another_shape(server: Pieces) -> Pieces:
    column = struct.pack("!H", 1) + b"surprise\0" + struct.pack("!IHIhih", 0, 0, 25, -1, -1, 0)
    return _changed(server, {b"T": column, b"D": struct.pack("!HI", 1, 2) + b"42", b"d": b"42\n"})


def _rows_without_end(server: Pieces) -> Pieces:
    for kind, body in _messages(server):
        if kind == b"d":
            block = _message(kind, body)
            yield from itertools.repeat(block * max(1, 65_536 // len(block)))
        yield _message(kind, body) if kind else b""


def _notices(server: Pieces) -> Pieces:
    notice = _message(b"N", b"SNOTICE\0C00000\0Mhello\0\0")
    yield from itertools.repeat(notice * 500)


def _long_message(server: Pieces) -> Pieces:
    """One row of a gigabyte."""
    for kind, body in _messages(server):
        if kind == b"d":
            yield b"d" + struct.pack("!I", 1_000_000_000)
            yield from itertools.repeat(b"x" * 65_536)
        yield _message(kind, body) if kind else b""
