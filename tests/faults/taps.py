"""Each response of a server as a tree of lists and objects, which may be changed before the audit gets it."""

from __future__ import annotations

import contextlib
import json
import struct
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any, Final

import urllib3

from tests.databases import write
from tests.engines.greptimedb.double import GreptimeDB
from tests.engines.greptimedb.mysql_server import Answer, MysqlServer, Session
from tests.engines.mongodb.double import MongoDB
from tests.engines.mongodb.wire import Server
from tests.faults import http_engines, postgresql_engine
from tests.faults.bad_http import FaultyHttp, Request
from tests.faults.engine import Settings
from tests.faults.http_engines import DATA, HttpEngine
from tests.faults.proxy import FaultyProxy, Pieces
from tests.serving import serving

Tree = Any
"""Lists, objects by name, texts, numbers, booleans, and None."""
Alter = Callable[[Tree], Tree]
Tap = Callable[[Alter], contextlib.AbstractContextManager[Settings]]
"""Settings of a target that gets each response as it was altered, for as long as the context lasts."""

_OWN_HEADERS: Final = frozenset(
    {"content-length", "content-encoding", "transfer-encoding", "connection", "content-type"}
)
_GREETS: Final = ("hello", "isMaster", "ismaster", "sasl", "ping", "endSessions", "buildInfo")


def _through_http(engine: HttpEngine) -> Tap:
    """JSON, or a line of it for each tree; what is neither passes as it is."""

    @contextmanager
    def tap(alter: Alter) -> Iterator[Settings]:
        def answer(request: Request, _: object) -> Pieces:
            method, path, _ = request.head.decode("latin-1").split(" ", 2)
            lines = request.head.decode("latin-1").split("\r\n")[1:]
            headers = dict(one.split(": ", 1) for one in lines if ": " in one)
            headers.pop("Connection", None)
            url = f"http://{engine.upstream[0]}:{engine.upstream[1]}{path}"
            true = urllib3.request(method, url, body=request.body or None, headers=headers, retries=False)
            kept = {name: value for name, value in true.headers.items() if name.lower() not in _OWN_HEADERS}
            body = true.data if true.status >= 300 or not true.data else _altered(true.data, alter)
            head = f"HTTP/1.1 {true.status} X\r\nContent-Type: {true.headers.get('Content-Type', '')}\r\n"
            head += "".join(f"{name}: {value}\r\n" for name, value in kept.items())
            length = "" if true.status == 204 else f"Content-Length: {len(body)}\r\n"
            yield f"{head}{length}Connection: close\r\n\r\n".encode("latin-1") + body

        with closing(FaultyHttp(engine.upstream, answer, lambda _: True)) as proxy:
            yield engine.settings("127.0.0.1", proxy.port)

    return tap


def _altered(body: bytes, alter: Alter) -> bytes:
    try:
        tree = json.loads(body)
    except ValueError:
        pass
    else:
        return json.dumps(alter(tree)).encode()
    try:
        trees = [json.loads(line) for line in body.splitlines()]
    except ValueError:
        return body
    return b"".join(json.dumps(alter(tree)).encode() + b"\n" for tree in trees)


@contextmanager
def _http(make: Callable[[], HttpEngine]) -> Iterator[Tap]:
    with closing(make()) as engine:
        yield _through_http(engine)


@contextmanager
def _greptimedb() -> Iterator[Tap]:
    """All rows of an answer are a tree; what the protocol sends as text is one."""
    server = GreptimeDB()
    name = server.write(DATA)

    @contextmanager
    def tap(alter: Alter) -> Iterator[Settings]:
        class Altered:
            greeting = server.greeting
            password_of = staticmethod(server.password_of)

            def run(self, statement: str, session: Session) -> Answer:
                answer = server.run(statement, session)
                rows = alter([[None if v is None else v.decode() for v in row] for row in answer.rows])
                back = (tuple(None if v is None else str(v).encode() for v in row) for row in rows)
                return Answer(answer.columns, back)

        own = MysqlServer(Altered())
        try:
            yield {"url": f"mysql+pymysql://127.0.0.1:{own.port}", "databases": [name], **server.login}
        finally:
            own.stop()

    try:
        yield tap
    finally:
        server.stop()


@contextmanager
def _mongodb() -> Iterator[Tap]:
    server = MongoDB()
    (name,) = write(DATA, "mongodb", server.url).databases

    @contextmanager
    def tap(alter: Alter) -> Iterator[Settings]:
        def run(command: dict[str, Any], session: Any) -> Any:
            try:
                answer = server.run(command, session)
            except TypeError as error:  # asked for what an answer made no sense of
                return {"ok": 0.0, "errmsg": str(error), "code": 2, "codeName": "BadValue"}
            return answer if next(iter(command)).startswith(_GREETS) else alter(answer)

        with serving(Server(run)) as own:
            yield {"url": f"mongodb://127.0.0.1:{own.server_address[1]}/", "databases": [name]}

    try:
        yield tap
    finally:
        server.stop()


@contextmanager
def _postgresql() -> Iterator[Tap]:
    """Each row is a tree of texts."""
    with closing(postgresql_engine.postgresql()) as engine:

        @contextmanager
        def tap(alter: Alter) -> Iterator[Settings]:
            def strike(server: Pieces) -> Pieces:
                for kind, body in postgresql_engine._messages(server):
                    if kind == b"D":
                        body = _row(alter(_values(body)))
                    yield postgresql_engine._message(kind, body) if kind else b""

            with closing(FaultyProxy(engine.upstream, strike)) as proxy:
                yield engine.settings("127.0.0.1", proxy.port)

        yield tap


def _values(body: bytes) -> list[str | None]:
    (count,) = struct.unpack("!H", body[:2])
    found: list[str | None] = []
    at = 2
    for _ in range(count):
        (size,) = struct.unpack("!i", body[at : at + 4])
        found.append(None if size < 0 else body[at + 4 : at + 4 + size].decode())
        at += 4 + max(size, 0)
    return found


def _row(values: list[str | None]) -> bytes:
    parts = [b"\xff\xff\xff\xff" if v is None else struct.pack("!i", len(v.encode())) + v.encode() for v in values]
    return struct.pack("!H", len(values)) + b"".join(parts)


TAPS: Final[dict[str, Callable[[], contextlib.AbstractContextManager[Tap]]]] = {
    "influxdb1": lambda: _http(http_engines.influxdb1),
    "influxdb2": lambda: _http(http_engines.influxdb2),
    "influxdb3": lambda: _http(http_engines.influxdb3),
    "timestream": lambda: _http(http_engines.timestream),
    "postgresql": _postgresql,
    "greptimedb": _greptimedb,
    "mongodb": _mongodb,
}
"""The engines with a wire."""
ARE_TEXT: Final = frozenset({"postgresql", "greptimedb", "timestream"})
"""Numbers arrive as texts, so that only their columns say what they are, or the driver makes texts of all."""
