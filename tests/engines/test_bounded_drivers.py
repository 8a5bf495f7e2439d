"""Engines with protocols of their own: whatever the peer does, one clear line, in time, and in little memory.

In front of the real server, or its stand-in, is a proxy that misbehaves: from the first byte, or from a given question.
"""

from __future__ import annotations

import itertools
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import pytest
from sqlalchemy import make_url

from tests.databases import Dataset, Row, Table, times, write
from tests.engines.greptimedb.double import READER, GreptimeDB
from tests.faults import proxy
from tests.faults.proxy import FaultyProxy, Moment, Pieces, Strike
from tests.memory import watched
from tests.query_parameters import filled
from tests.servers import PASSWORD, MongoDB, Postgresql
from tsaudit.collect import collect
from tsaudit.config.settings import Budget, Target
from tsaudit.engines.connection import Connection, ConnectorError, FactError
from tsaudit.engines.opening import open_connection, with_connection
from tsaudit.model.figures import Reason

pytestmark = pytest.mark.wall_clock

STATEMENT_S: Final = 0.6
LATE_S: Final = 3.0
"""How much later than its time a statement may end, on a busy machine."""
MOST_MB: Final = 300
PORT: Final = "PORT"

_DATA: Final = Dataset(
    [Table("t", ("host",), {"v": "float"}, [Row(t, {"host": f"h{i}"}, {"v": 1.0}) for i, t in enumerate(times(9))])],
    database="shop",
)


@dataclass(frozen=True, slots=True)
class Healthy:
    """A server that is well, and how to audit it through a proxy."""

    engine: str
    port: int
    url: str
    """With `PORT` where the port belongs."""
    databases: tuple[str, ...]

    def target(self, port: int, **budget: float) -> Target:
        given = {"statement_timeout_s": STATEMENT_S, "deadline_s": 10.0} | budget
        url = self.url.replace(PORT, str(port))
        return Target(name="t", engine=self.engine, url=url, databases=self.databases, budget=Budget(**given))


@pytest.fixture(params=["postgresql", "greptimedb", "mongodb"])
def healthy(request: pytest.FixtureRequest) -> Iterator[Healthy]:
    engine = request.param
    if engine == "postgresql":
        server: Postgresql = request.getfixturevalue("postgresql")
        target = write(_DATA, "postgresql", server)
        yield Healthy(engine, server.port, server.audit_url.replace(str(server.port), PORT), target.databases)
        return
    stand_in: Any = GreptimeDB() if engine == "greptimedb" else MongoDB()
    if engine == "greptimedb":
        stand_in.write(_DATA)
    else:
        write(_DATA, engine, stand_in.url)
    port = int(str(make_url(stand_in.url).port))
    login = "{}:{}@".format(*READER) if engine == "greptimedb" else ""
    scheme = "mysql" if engine == "greptimedb" else "mongodb"
    yield Healthy(engine, port, f"{scheme}://{login}127.0.0.1:{PORT}/", ("shop",))
    stand_in.stop()


@contextmanager
def _in_time(seconds: float) -> Iterator[None]:
    began = time.monotonic()
    with watched() as peak:
        yield
    assert time.monotonic() - began < seconds
    assert peak.megabytes < MOST_MB


@contextmanager
def _proxied(server: Healthy, strike: Strike, when: Callable[[bytes], bool] | None = None) -> Iterator[FaultyProxy]:
    faulty = FaultyProxy(("127.0.0.1", server.port), strike, Moment(when))
    try:
        yield faulty
    finally:
        faulty.close()


@contextmanager
def _connected(server: Healthy, strike: Strike, asks: bytes) -> Iterator[tuple[FaultyProxy, Connection]]:
    """Connected while all was well; the proxy strikes when something is asked that holds these bytes."""
    armed: list[int] = []
    with (
        _proxied(server, strike, lambda piece: bool(armed) and asks in piece) as faulty,
        # On a busy machine a healthy server takes a while, too.
        open_connection(server.target(faulty.port, statement_timeout_s=10.0)) as connection,
    ):
        armed.append(1)
        yield faulty, connection


def _refusal(target: Target) -> str:
    """Why there is no connection, which is told in time."""
    with _in_time(2 * STATEMENT_S + 2 + LATE_S), pytest.raises(ConnectorError) as raised, open_connection(target):
        pass
    return _line(raised.value)


def _line(error: Exception) -> str:
    text = str(error)
    assert "\n" not in text
    assert PASSWORD not in text
    assert READER[1] not in text
    assert len(text) < 400
    return text


# --- From the first byte --------------------------------------------------------------------------------------------

FROM_THE_START: Final[dict[str, Strike]] = {
    "silent": proxy.silent,
    "closed": proxy.closed,
    "dripping": partial(proxy.dripping, pauses=6),
    "endless text": proxy.endless(b"", b"no server at all "),
    "absurd length": proxy.endless(b"\xff\xff\xff\x7f", b"\xff\xff\xff\0"),
}


@pytest.mark.parametrize("strike", FROM_THE_START.values(), ids=FROM_THE_START)
def test_no_connection(healthy: Healthy, strike: Strike) -> None:
    with _proxied(healthy, strike) as faulty:
        said = _refusal(healthy.target(faulty.port))
    assert "127.0.0.1" in said or "server" in said


OTHERS: Final = {
    b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n": "an HTTP server responds, not ",
    b"SSH-2.0-OpenSSH_9.9\r\n": "an SSH server responds, not ",
    b"220 mail.example.org ESMTP\r\n": "a mail or FTP server responds, not ",
    b"-ERR unknown command 'GET'\r\n": "Redis responds, not ",
}


@pytest.mark.parametrize(("greeting", "said"), OTHERS.items(), ids=["http", "ssh", "smtp", "redis"])
def test_another_server_on_the_port_is_named(healthy: Healthy, greeting: bytes, said: str) -> None:
    with _proxied(healthy, proxy.saying(greeting)) as faulty:
        assert said in _refusal(healthy.target(faulty.port))


def test_each_server_is_told_from_the_others(healthy: Healthy, postgresql: Postgresql) -> None:
    """A real one of another kind on the port, which speaks only after it was spoken to."""
    if healthy.engine != "postgresql":
        assert "PostgreSQL responds, not " in _refusal(healthy.target(postgresql.port))
        return
    mongodb, greptimedb = MongoDB(), GreptimeDB()
    for server, said in ((mongodb, "MongoDB responds, not "), (greptimedb, "a server with MySQL's protocol (")):
        assert said in _refusal(healthy.target(int(str(make_url(server.url).port))))
        server.stop()


# --- From a question on ---------------------------------------------------------------------------------------------

MEANWHILE: Final[dict[str, tuple[Strike, Reason]]] = {
    "silent": (proxy.silent, Reason.TIMED_OUT),
    "dripping": (partial(proxy.dripping, pauses=6), Reason.TIMED_OUT),
    "stalled": (partial(proxy.stalled, after=9), Reason.TIMED_OUT),
    "closed": (proxy.closed, Reason.UNREACHABLE),
    "reset": (proxy.reset, Reason.UNREACHABLE),
    "cut": (partial(proxy.cut, after=9), Reason.UNREACHABLE),
}
_ASKS: Final = {"postgresql": b"COPY", "greptimedb": b"information_schema", "mongodb": b"listDatabases"}


@pytest.mark.wall_clock
@pytest.mark.parametrize(("strike", "reason"), MEANWHILE.values(), ids=MEANWHILE)
def test_statement_ends_in_time(healthy: Healthy, strike: Strike, reason: Reason) -> None:
    with _connected(healthy, strike, _ASKS[healthy.engine]) as (faulty, connection):
        with _in_time(STATEMENT_S + LATE_S), pytest.raises(FactError) as raised:
            list(connection.query("databases", STATEMENT_S, filled("databases")))
        assert raised.value.reason is reason
        assert _line(raised.value)
        faulty.strike = proxy.healthy
        # The server is well again: so is this connection.
        assert [
            name
            for b in connection.query("databases", 10, filled("databases"))
            for name in b.column("database").to_pylist()
        ]


@pytest.mark.wall_clock
def test_waiting_thread_is_woken_by_an_abort(healthy: Healthy) -> None:
    with _connected(healthy, proxy.silent, _ASKS[healthy.engine]) as (faulty, connection):
        threading.Timer(0.3, connection.abort).start()
        with _in_time(3.0), pytest.raises(FactError):
            list(connection.query("databases", 20, filled("databases")))
        faulty.strike = proxy.healthy
        again = connection.reconnect()
        assert list(again.query("databases", 10, filled("databases")))
        again.close()


@pytest.mark.wall_clock
def test_audit_ends_by_its_deadline_whatever_drips(healthy: Healthy) -> None:
    """The whole way: connecting, catalogue, statements; the first answers come, then a byte now and then."""
    seen, connected = itertools.count(), 20 if healthy.engine != "mongodb" else 6
    with _proxied(healthy, partial(proxy.dripping, pauses=3), lambda _: next(seen) == connected) as faulty:
        target = healthy.target(faulty.port, deadline_s=5.0, statement_timeout_s=5.0)
        day = times(1)[0].date()
        with _in_time(5.0 + 10.0):
            profile = with_connection(
                target, lambda connection, end: collect(target, connection, day=day, deadline=end)
            )
    assert profile.gaps


# --- Answers beyond all measure -------------------------------------------------------------------------------------


def _postgres_rows(server: Pieces, *, row: bytes) -> Pieces:
    yield b"H" + struct.pack(">ibhh", 9, 0, 1, 0)
    yield from itertools.repeat(row * max(1, 65_536 // len(row)))


def _postgresql(server: Postgresql) -> Healthy:
    return Healthy("postgresql", server.port, server.audit_url.replace(str(server.port), PORT), ())


_TINY: Final = b"d" + struct.pack(">i", 4 + 2) + b"x\n"
_WIDE: Final = b"d" + struct.pack(">i", 4 + 60_000) + b"x" * 59_999 + b"\n"
_NOTICE: Final = b"N" + struct.pack(">i", 4 + 20_002) + b"M" + b"x" * 20_000 + b"\0"


@pytest.mark.wall_clock
@pytest.mark.parametrize(
    ("row", "seconds", "reason"),
    [(_TINY, 2, Reason.TIMED_OUT), (_WIDE, 2, Reason.TIMED_OUT), (_NOTICE, 20, Reason.OVER_BUDGET)],
    ids=["rows", "wide rows", "notices"],
)
def test_postgresql_without_end(postgresql: Postgresql, row: bytes, seconds: int, reason: Reason) -> None:
    """Rows are given up on when they are read, by whoever keeps them; what is no row fills the memory of the driver."""
    with _connected(_postgresql(postgresql), partial(_postgres_rows, row=row), b"COPY") as (_, connection):
        with _in_time(seconds + LATE_S), pytest.raises(FactError) as raised:
            for _batch in connection.query("databases", seconds, filled("databases")):
                pass
        assert raised.value.reason is reason


@pytest.mark.wall_clock
def test_postgresql_says_that_two_gigabytes_follow(postgresql: Postgresql) -> None:
    absurd = b"H" + struct.pack(">ibhh", 9, 0, 1, 0) + b"d" + struct.pack(">i", 0x7FFFFFFF)
    endless = proxy.endless(absurd, b"x" * 65_536)
    with _connected(_postgresql(postgresql), endless, b"COPY") as (_, connection), _in_time(20 + LATE_S):
        with pytest.raises(FactError) as raised:
            list(connection.query("databases", 20, filled("databases")))
        assert _line(raised.value)


@pytest.mark.wall_clock
def test_postgresql_rows_that_are_honestly_wide(postgresql: Postgresql) -> None:
    """150 MB, of which the driver and Arrow make several times as much, are read bit by bit."""
    schema = "wide_rows"
    postgresql.execute(f"CREATE SCHEMA {schema}; GRANT USAGE ON SCHEMA {schema} TO tsaudit")
    postgresql.execute(
        f"CREATE TABLE {schema}.t AS SELECT repeat('x', 100000) || i AS host FROM generate_series(1, 1500) i"
    )
    postgresql.execute(f"GRANT SELECT ON {schema}.t TO tsaudit")
    try:
        about = {"database": schema, "measurement": "t", "tags": ["host"], "time": None, "limit": 10_000}
        target = Target(name="t", engine="postgresql", url=postgresql.audit_url)
        with open_connection(target) as connection, _in_time(60):
            listing = connection.query("series_listing", 60, filled("series_listing", **about))
            assert sum(batch.num_rows for batch in listing) == 1500
    finally:
        postgresql.execute(f"DROP SCHEMA {schema} CASCADE")


def _mysql(number: int, body: bytes) -> bytes:
    return struct.pack("<I", len(body))[:3] + bytes([number % 256]) + body


def _mysql_wide(server: Pieces) -> Pieces:
    """One packet of 16 MB after the other, all of one value."""
    for number in itertools.count(1):
        yield b"\xff\xff\xff" + bytes([number % 256]) + b"\x01" + b"x" * (0xFFFFFF - 1)


def _mysql_columns(server: Pieces) -> Pieces:
    """A billion columns."""
    yield _mysql(1, b"\xfe" + struct.pack("<Q", 10**9))
    column = b"\x03def" + b"\0" * 5 + b"\x0c" + struct.pack("<HIBHB", 45, 10, 253, 0, 0) + b"\0\0"
    for start in itertools.count(2, 256):
        yield b"".join(_mysql(number, column) for number in range(start, start + 256))


def _mysql_rows(server: Pieces) -> Pieces:
    """One column, and rows of 100 KB without end."""
    column = b"\x03def" + b"\0\0\0\x01c\0" + b"\x0c" + struct.pack("<HIBHB", 45, 10, 253, 0, 0) + b"\0\0"
    yield _mysql(1, b"\x01") + _mysql(2, column) + _mysql(3, b"\xfe\0\0\x02\0")
    value = b"x" * 100_000
    row = b"\xfd" + struct.pack("<I", len(value))[:3] + value
    for number in itertools.count(4):
        yield _mysql(number, row)


@pytest.mark.wall_clock
@pytest.mark.parametrize("strike", [_mysql_wide, _mysql_columns, _mysql_rows])
def test_greptimedb_without_end(strike: Strike) -> None:
    stand_in = GreptimeDB()
    port = int(str(make_url(stand_in.url).port))
    server = Healthy("greptimedb", port, "mysql://{}:{}@127.0.0.1:PORT/".format(*READER), ())
    with _connected(server, strike, b"information_schema") as (_, connection):
        with _in_time(5 + LATE_S), pytest.raises(FactError) as raised:
            for _batch in connection.query("databases", 5, filled("databases")):
                pass
        assert raised.value.reason in (Reason.OVER_BUDGET, Reason.TIMED_OUT, Reason.UNREACHABLE)
    stand_in.stop()


def _bson_big(server: Pieces, *, claimed: int, body: bytes) -> Pieces:
    """The true answer's header, except that it is much longer."""
    first = next(piece for piece in server if piece)
    yield struct.pack("<i", claimed) + first[4:16]
    yield from (body[start : start + 65_536] for start in range(0, len(body), 65_536))
    yield from itertools.repeat(b"\0" * 65_536)


def _document(size: int) -> bytes:
    """A message with a document that has as many keys as fit into so many bytes."""
    fields = b"".join(b"\x0a%07x\0" % number for number in range((size - 32) // 9))
    return struct.pack("<iBi", 0, 0, len(fields) + 5) + fields + b"\0"


@pytest.mark.wall_clock
@pytest.mark.parametrize("size", [None, 47_000_000, 15_000_000], ids=["2 GB", "47 MB", "15 MB"])
def test_mongodb_beyond_measure(size: int | None) -> None:
    stand_in = MongoDB()
    server = Healthy("mongodb", int(str(make_url(stand_in.url).port)), "mongodb://127.0.0.1:PORT/", ())
    body = _document(size) if size else b""
    strike = partial(_bson_big, claimed=16 + len(body) if size else 0x7FFFFFFF, body=body)
    with _connected(server, strike, b"listDatabases") as (_, connection):
        # What can be read, and makes no sense, is for whoever asks to make a gap of.
        with _in_time(10 + LATE_S), pytest.raises((FactError, KeyError)) as raised:
            list(connection.query("databases", 10, filled("databases")))
        assert len(str(raised.value)) < 400
        assert isinstance(raised.value, FactError) or size == 15_000_000
    stand_in.stop()
