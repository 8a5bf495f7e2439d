"""GreptimeDB: how it is connected to, what its errors mean, and which types its values have."""

from __future__ import annotations

import contextlib
import dataclasses
import socketserver
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import NOW
from tests.collecting import collected
from tests.databases import Dataset, Row, Table, times
from tests.engines.greptimedb.double import READER
from tests.engines.greptimedb.mysql_server import Answer, MysqlError, MysqlServer, ResultColumn, Session
from tests.engines.greptimedb.server import a_table, a_target, running, sent
from tests.query_parameters import filled
from tests.serving import serving
from tsaudit.config.settings import Budget, Target
from tsaudit.engines.connection import ConnectorError, FactError
from tsaudit.engines.greptimedb.wire import array, arrow_type, rounded_up
from tsaudit.engines.opening import open_connection
from tsaudit.model.figures import Reason

pytestmark = pytest.mark.wall_clock

WINDOW = {"start": NOW - timedelta(days=30), "end": NOW, "time": "ts", "time_kind": "timestamp"}


def test_several_connections_know_what_one_has_read() -> None:
    with running() as server:
        tables = [dataclasses.replace(a_table(6), name=f"m{i}") for i in range(6)]
        profile = collected(a_target(server, Dataset(tables, database="many"), budget={"concurrency": 3}))
        assert len(sent(server, "information_schema.columns")) == 1
    assert profile.gaps == ()
    assert len(profile.measurements) == 6


def test_listing_that_is_left_early_hangs_up() -> None:
    rows = [Row(at, {"id": f"{i}"}, {"v": 1.0}) for i, at in enumerate(times(20_000, timedelta(seconds=1)))]
    with running() as server:
        target = a_target(server, Dataset([Table("t", ("id",), {"v": "float"}, rows)], database="d"))
        with open_connection(target) as connection:
            about = {"database": "d", "measurement": "t", "tags": ["id"], "limit": 100_000} | WINDOW | {"time": "time"}
            listing = connection.query("series_listing", 60, filled("series_listing", **about))
            assert 0 < next(iter(listing)).num_rows < 5_000
            listing.close()
            total = sum(
                batch.num_rows for batch in connection.query("series_listing", 60, filled("series_listing", **about))
            )
    assert total == 20_000


def test_unknown_table_and_broken_statement() -> None:
    with running() as server, open_connection(a_target(server)) as connection:
        about = {"database": "shop", "measurement": "no\npe", "tags": ["a"], "limit": 1, "fields": []}
        with pytest.raises(FactError) as caught:
            list(connection.query("series_listing", 60, filled("series_listing", **about, **WINDOW)))
        assert caught.value.reason is Reason.FAILED
        assert caught.value.detail.startswith("(TableNotFound)")
        assert "\n" not in caught.value.detail
        assert [
            b.num_rows for b in connection.query("measurements", 60, filled("measurements", database="elsewhere"))
        ] == [0]


def test_table_that_is_dropped_during_the_audit() -> None:
    with running() as server, open_connection(a_target(server)) as connection:
        list(connection.query("columns", 60, filled("columns", database="shop")))
        server.write(Dataset([], database="shop"))
        (batch,) = connection.query("options", 60, filled("options", database="shop"))
        assert batch.num_rows == 0


@pytest.mark.parametrize(
    ("code", "message", "reason"),
    [
        (1045, "(PermissionDenied): no", Reason.DENIED),
        (1317, "(Cancelled): stopped", Reason.TIMED_OUT),
        (1041, "(RuntimeResourcesExhausted): memory", Reason.OVER_BUDGET),
        (1637, "(RateLimited): too many\nqueries", Reason.OVER_BUDGET),
        (1815, "(Internal): oops", Reason.FAILED),
    ],
)
def test_errors(code: int, message: str, reason: Reason) -> None:
    with _refusing(code, message) as url, open_connection(Target(name="t", engine="greptimedb", url=url)) as connection:
        with pytest.raises(FactError) as caught:
            list(connection.query("measurements", 60, filled("measurements", database="d")))
        assert caught.value.reason is reason
        assert caught.value.detail.startswith(message.replace("\n", " "))
        assert ("grants.md" in caught.value.detail) == (reason is Reason.DENIED)


class _Refusing:
    greeting = "8.4.2"

    def __init__(self, code: int, message: str) -> None:
        self._error = MysqlError(code, message)

    def password_of(self, user: str) -> str | None:
        return ""

    def run(self, statement: str, session: Session) -> Answer:
        if "build_info" in statement and self._error.code != 1146:
            return Answer([ResultColumn("pkg_version", 253)], iter([(b"1.1.4",)]))
        if statement.startswith("SELECT @@"):
            return Answer([ResultColumn("x", 253)], iter([(b"0",)]))
        if statement.startswith(("SET", "ROLLBACK")):
            return Answer()
        if statement.upper() in ("SELECT VERSION()", "SELECT DATABASE()"):
            return Answer([ResultColumn("x", 253)], iter([(b"8.4.2",)]))
        raise self._error


@contextlib.contextmanager
def _refusing(code: int, message: str) -> Iterator[str]:
    server = MysqlServer(_Refusing(code, message))
    try:
        yield f"mysql://nobody@127.0.0.1:{server.port}"
    finally:
        server.stop()


def test_a_mysql_that_is_no_greptimedb() -> None:
    with (
        _refusing(1146, "Table 'information_schema.build_info' doesn't exist") as url,
        pytest.raises(ConnectorError, match=r"is not GreptimeDB .*; tsaudit cannot audit MySQL and MariaDB"),
        open_connection(Target(name="t", engine="greptimedb", url=url)),
    ):
        pass


@pytest.mark.parametrize(("user", "password"), [(READER[0], "wrong"), ("nobody", "")])
def test_login_is_refused(user: str, password: str) -> None:
    with (
        running() as server,
        pytest.raises(
            ConnectorError, match=r"rejects the user or the password .*; set username and password of the target"
        ),
        open_connection(Target(name="t", engine="greptimedb", url=server.url, username=user, password=password or "x")),
    ):
        pass


def test_login_in_the_address() -> None:
    with running() as server:
        user, password = READER
        url = server.url.replace("127", f"{user}:{password}@127").replace("mysql+pymysql", "greptimedb")
        with open_connection(Target(name="t", engine="greptimedb", url=f"{url}/public")) as connection:
            assert connection.server_version == "1.1.4"


@pytest.mark.parametrize("url", ["127.0.0.1:4002", "http://127.0.0.1:4000", "mysql://", "mysql+pymysql://h:x/public"])
def test_url_is_of_another_form(url: str) -> None:
    with (
        pytest.raises(ConnectorError, match="not of the form mysql\\+pymysql://host:4002/public"),
        open_connection(Target(name="t", engine="greptimedb", url=url)),
    ):
        pass


def test_server_is_not_there() -> None:
    target = Target(name="t", engine="greptimedb", url="mysql://127.0.0.1:9")
    with pytest.raises(ConnectorError, match="does not respond"), open_connection(target):
        pass


def test_server_goes_away_in_the_middle() -> None:
    with running() as server, open_connection(a_target(server)) as connection:
        server.stop()
        with pytest.raises(FactError) as caught:
            list(connection.query("measurements", 60, filled("measurements", database="shop")))
        assert caught.value.reason is Reason.UNREACHABLE


@pytest.mark.wall_clock
@pytest.mark.parametrize(
    ("greeting", "said"),
    [
        (b"", "does not respond"),
        (b"\x04\x00\x00\x00\x0aabc", "not like GreptimeDB"),
        (
            b"HTTP/1.1 400 Bad Request\r\n\r\n",
            "an HTTP server responds, not GreptimeDB; its MySQL protocol uses a separate port",
        ),
        (b"SSH-2.0-OpenSSH_9.9\r\n", "an SSH server responds, not GreptimeDB"),
    ],
)
def test_a_server_that_speaks_something_else_or_nothing(greeting: bytes, said: str) -> None:
    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with contextlib.suppress(OSError):
                self.request.sendall(greeting)
                self.request.recv(1) if greeting else silent.wait(20)

    silent = threading.Event()
    with serving(socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)) as server:
        server.daemon_threads = True
        url = f"mysql://127.0.0.1:{server.server_address[1]}"
        target = Target(name="t", engine="greptimedb", url=url, budget=Budget(statement_timeout_s=1))
        began = time.monotonic()
        try:
            with pytest.raises(ConnectorError, match=said), open_connection(target):
                pass
            assert time.monotonic() - began < 10
        finally:
            silent.set()


@pytest.mark.parametrize(
    ("data_type", "expected"),
    [
        ("string", pa.string()),
        ("double", pa.float64()),
        ("float", pa.float64()),
        ("boolean", pa.bool_()),
        ("tinyint", pa.int64()),
        ("int unsigned", pa.int64()),
        ("bigint", pa.int64()),
        ("bigint unsigned", pa.uint64()),
        ("varbinary", pa.binary()),
        ("timestamp(0)", pa.timestamp("s")),
        ("timestamp(3)", pa.timestamp("ms")),
        ("timestamp(9)", pa.timestamp("ns")),
        ("decimal(10,2)", pa.string()),
        ("json", pa.string()),
        ("date", pa.string()),
    ],
)
def test_type_of_a_column(data_type: str, expected: pa.DataType) -> None:
    assert arrow_type(data_type) == expected


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        ([1, None, 0], pa.bool_(), [True, None, False]),
        ([2**64 - 1], pa.uint64(), [2**64 - 1]),
        ([b"\xff", None], pa.binary(), [b"\xff", None]),
        (["abc", None], pa.string(), ["ab", None]),
        ([1, b"\xff\x00", "z"], pa.string(), ["1", "ff", "z"]),
        (["1.5", 2], pa.int64(), ["1.", "2"]),
        ([2**70], pa.int64(), [str(2**70)[:2]]),
        ([], pa.int64(), []),
    ],
)
def test_values(values: list[Any], kind: pa.DataType, expected: list[Any]) -> None:
    assert array(values, kind, longest=2).to_pylist() == expected


def test_text_is_kept_whole_unless_told_otherwise() -> None:
    assert array(["x" * 5000], pa.string()).to_pylist() == ["x" * 5000]


@given(st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)), st.sampled_from("0369"))  # noqa: DTZ001
def test_bound_selects_the_same_instants(time: datetime, digits: str) -> None:
    unit = {"0": timedelta(seconds=1), "3": timedelta(milliseconds=1)}.get(digits, timedelta(microseconds=1))
    found = rounded_up(time, f"timestamp({digits})")
    assert time <= found < time + unit
    assert (found - datetime.fromtimestamp(0, UTC)) % unit == timedelta(0)
