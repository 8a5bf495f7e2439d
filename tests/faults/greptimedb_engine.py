"""The stand-in for GreptimeDB, with a server of its own for each cell in which it answers wrongly."""

from __future__ import annotations

import itertools
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.engines.greptimedb.double import GreptimeDB
from tests.engines.greptimedb.mysql_server import Answer, MysqlError, MysqlServer, ResultColumn, Row, Session
from tests.faults import proxy
from tests.faults.engine import Scene, Settings, Stage
from tests.faults.expectations import Fault, Moment
from tests.faults.http_engines import DATA
from tests.faults.proxy import FaultyProxy, Pieces, Strike
from tests.faults.wire_engine import None_, Restarting, WireEngine

_ERRORS: Final = {
    "401": MysqlError(1045, "(AuthHeaderNotFound): password mismatch, username: audit", "28000"),
    "403": MysqlError(1045, "(PermissionDenied): User is not authorized to perform this action", "28000"),
    "404": MysqlError(1049, "(DatabaseNotFound): Failed to find schema, schema info: greptime.shop", "42000"),
    "429": MysqlError(1637, "(RateLimited): too many concurrent requests, limit exceeded"),
    "500": MysqlError(1815, "(Internal): Internal error: 1003"),
    "503": MysqlError(1815, "(StorageUnavailable): Service is unavailable"),
}
_GREETING: Final = {
    "401": MysqlError(1045, "Access denied for user 'audit' (using password: YES)", "28000"),
    "403": MysqlError(1130, "Host '127.0.0.1' is not allowed to connect, permission denied"),
    "429": MysqlError(1040, "Too many connections", "08004"),
    "500": MysqlError(1105, "(Internal): Internal error: 1003"),
    "503": MysqlError(1053, "Server shutdown in progress, not available", "08S01"),
}
"""What comes in place of the handshake."""

Change = Callable[[Answer], Answer]


class _Wrong:
    """The stand-in, of whose answers some are changed."""

    def __init__(self, server: GreptimeDB, is_struck: Callable[[str], bool], change: Change, *, lasting: bool) -> None:
        self.greeting = server.greeting
        self._server, self._is_struck, self._change, self._lasting = server, is_struck, change, lasting
        self._begun = False

    def password_of(self, user: str) -> str | None:
        return self._server.password_of(user)

    def run(self, statement: str, session: Session) -> Answer:
        if self._is_struck(statement) or (self._begun and _asks(statement.encode())):
            self._begun = self._lasting
            return self._change(self._server.run(statement, session))
        return self._server.run(statement, session)


def _asks(piece: bytes) -> bool:
    """A statement after the one for the version."""
    return (b"information_schema" in piece and b"build_info" not in piece) or b'"http"' in piece


def _measures(piece: bytes) -> bool:
    return b'"http"' in piece and b"SHOW CREATE" not in piece


NONE: Final[None_] = {
    ("redirect", None): "the protocol has no redirects",
    ("bomb", None): "the driver does not request compression",
    ("null", Moment.MEASURE): "a table of nothing but nulls is valid data",
}


def greptimedb() -> WireEngine:
    server = GreptimeDB()
    name = server.write(DATA)
    port = int(server.url.rpartition(":")[2])

    def settings(host: str, port: int) -> Settings:
        return {"url": f"mysql+pymysql://{host}:{port}", "databases": [name], **server.login}

    def wrong(change: Change, moment: Moment | None, *, lasting: bool = False) -> Stage:
        picks: dict[Moment | None, Callable[[str], bool]] = {
            Moment.CONNECT: lambda statement: True,
            Moment.LIST: lambda statement: _asks(statement.encode()),
            Moment.MEASURE: lambda statement: _measures(statement.encode()),
        }

        @contextmanager
        def stage(_: Path) -> Iterator[Scene]:
            own = MysqlServer(_Wrong(server, picks[moment], change, lasting=lasting))
            try:
                yield Scene(settings("127.0.0.1", own.port))
            finally:
                own.stop()

        return stage

    engine = WireEngine(
        "greptimedb",
        ("127.0.0.1", port),
        settings,
        {Moment.LIST: _asks, Moment.MEASURE: _measures},
        _strikes,
        NONE,
        server.stop,
    )
    for moment in Moment:
        engine.stages |= {(kind, moment): wrong(change, moment) for kind, change in _CHANGES.items()}
        engine.stages |= {(kind, moment): wrong(_raising(e), moment) for kind, e in _ERRORS.items()}
    for kind in _GREETING:
        del engine.stages[kind, Moment.CONNECT]
    del engine.stages["endless", Moment.CONNECT]
    engine.stages["401", Moment.CONNECT] = engine.through(lambda: FaultyProxy(engine.upstream), password="rotated")
    engine.stages["rights", Moment.MEASURE] = wrong(_raising(_ERRORS["403"]), Moment.MEASURE, lasting=True)
    engine.stages["restart", Moment.MEASURE] = engine.through(lambda: Restarting(engine.upstream, _measures))
    return engine


def _raising(error: MysqlError) -> Change:
    def change(answer: Answer) -> Answer:
        raise error

    return change


def _nulls(answer: Answer) -> Answer:
    return Answer(answer.columns, (tuple(None for _ in row) for row in answer.rows))


def _without_end(answer: Answer) -> Answer:
    """Its rows over and over."""

    def rows() -> Iterator[Row]:
        kept = list(answer.rows) or [tuple(b"x" for _ in answer.columns)]
        for _ in range(20_000_000 // len(kept)):
            yield from kept

    return Answer(answer.columns, rows())


_CHANGES: Final[dict[str, Change]] = {
    "empty": lambda answer: Answer(),
    "null": _nulls,
    "shape": lambda answer: Answer([ResultColumn("surprise", 253)], iter([(b"42",)])),
    "endless": _without_end,
}


def _strikes(fault: Fault) -> tuple[Strike, bool] | None:
    greets = fault.moment is Moment.CONNECT
    if greets and fault.name in _GREETING:
        return proxy.saying(_packet(0, _error(_GREETING[fault.name]))), True
    own: dict[str, tuple[Strike, bool]] = {
        "drip-error": (proxy.slowly(proxy.saying(_packet(0 if greets else 1, _error(_GREETING["500"]) * 20))), True),
        "endless": (proxy.endless(b"", _packet(0, b"\x0a8.4.2\0" + bytes(60))), True),
        "long-line": (lambda server: _packets_without_end(0 if greets else 1), True),
    }
    return own.get(fault.name)


def _packet(number: int, payload: bytes) -> bytes:
    return struct.pack("<I", len(payload))[:3] + bytes([number]) + payload


def _error(error: MysqlError) -> bytes:
    return b"\xff" + struct.pack("<H", error.code) + b"#" + error.state.encode() + str(error).encode()


def _packets_without_end(number: int) -> Pieces:
    """One row: every packet says that another one follows."""
    for sequence in itertools.count(number):
        yield b"\xff\xff\xff" + bytes([sequence % 256])
        yield from itertools.repeat(b"\xfc" * 65_535, 256)
        yield b"\xfc" * ((1 << 24) - 1 - 65_535 * 256)
