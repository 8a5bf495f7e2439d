"""How InfluxDB's answers are read when they are not what they should be: from a server that misbehaves on purpose."""

from __future__ import annotations

import base64
import http.server
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.query_parameters import filled
from tests.serving import Handler, serving
from tsaudit.config.settings import Target
from tsaudit.engines.connection import ConnectorError, FactError
from tsaudit.engines.influx.influxql import whole
from tsaudit.engines.influxdb1.answers import duration_s
from tsaudit.engines.opening import open_connection
from tsaudit.model.figures import Reason

pytestmark = pytest.mark.wall_clock


class Double(http.server.ThreadingHTTPServer):
    """Sends whatever a test puts into it."""

    status = 200
    version: str | None = "1.8.10"
    parts: tuple[bytes, ...] = ()
    finish = True
    pause_s = 0.0
    ping = True
    asked: list[tuple[Any, bytes]]


class _Handler(Handler):
    protocol_version = "HTTP/1.1"
    server: Double

    def do_GET(self) -> None:
        if not self.server.ping:
            self.close_connection = True
            return
        self.send_response(204)
        if self.server.version:
            self.send_header("X-Influxdb-Version", self.server.version)
        self.end_headers()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked.append((self.headers, body))
        self.send_response(self.server.status)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for part in self.server.parts:
            self.wfile.write(f"{len(part):x}\r\n".encode() + part + b"\r\n")
            self.wfile.flush()
            time.sleep(self.server.pause_s)
        if self.server.finish:
            self.wfile.write(b"0\r\n\r\n")
        else:
            self.close_connection = True


@pytest.fixture
def double() -> Iterator[Double]:
    server = Double(("127.0.0.1", 0), _Handler)
    server.asked = []
    with serving(server):
        yield server


def _target(double: Double, **settings: Any) -> Target:
    return Target(name="t", engine="influxdb1", url=f"http://127.0.0.1:{double.server_port}", **settings)


def _names(double: Double, timeout_s: float = 5, **settings: Any) -> list[str]:
    with open_connection(_target(double, **settings)) as connection:
        rows = connection.query("measurements", timeout_s, filled("measurements", database="db"))
        return [name for batch in rows for name in batch.column("measurement").to_pylist()]


def _document(*names: str, partial: bool = False, **extra: Any) -> bytes:
    series = {"name": "measurements", "columns": ["name"], "values": [[n] for n in names]}
    result = {"statement_id": 0, "series": [series]} | ({"partial": True} if partial else {}) | extra
    return json.dumps({"results": [result]}).encode() + b"\n"


def test_answer_in_several_documents(double: Double) -> None:
    whole = _document("a", "bü", partial=True) + _document("c")
    # Cut at any place, also inside of a letter.
    double.parts = tuple(whole[i : i + 7] for i in range(0, len(whole), 7))
    assert _names(double) == ["a", "bü", "c"]


def test_answer_is_empty(double: Double) -> None:
    double.parts = (b'{"results":[{"statement_id":0}]}\n',)
    assert _names(double) == []


@pytest.mark.parametrize(
    ("status", "parts", "reason", "detail"),
    [
        (401, (b'{"error":"authorization failed"}\n',), Reason.DENIED, "authorization failed"),
        (403, (b"no json",), Reason.DENIED, "HTTP 403"),
        (400, (b'{"error":"error parsing query: found X"}\n',), Reason.FAILED, "error parsing query: found X"),
        (503, (b"<html>",), Reason.FAILED, "HTTP 503"),
        (200, (b'{"error":"not authorized"}\n',), Reason.DENIED, "grant READ"),
        (200, (_document("a", error="database not found: db"),), Reason.FAILED, "database not found: db"),
        (200, (_document("a", partial=True), _document(error="query interrupted")), Reason.TIMED_OUT, "gave up"),
        (200, (_document("a", partial=True), b'{"error":"timeout"}\n'), Reason.TIMED_OUT, "timeout"),
        (200, (_document("a", partial=True),), Reason.FAILED, "ended before its last part"),
        (200, (), Reason.FAILED, "ended before its last part"),
        (200, (b"<html>\n",), Reason.FAILED, "not JSON"),
        (200, (b"[1]\n",), Reason.FAILED, "not an object"),
        (200, (b"[" * 200_000 + b"\n",), Reason.FAILED, "not JSON"),
        (200, (_document("a")[:-10],), Reason.FAILED, "not JSON"),
        (200, (b'{"error":""}\n',), Reason.FAILED, "error without a message"),
    ],
)
def test_answer_is_an_error(double: Double, status: int, parts: tuple[bytes, ...], reason: Reason, detail: str) -> None:
    double.status, double.parts = status, parts
    with pytest.raises(FactError) as raised:
        _names(double)
    assert raised.value.reason is reason
    assert detail in raised.value.detail


def test_connection_breaks_off_in_the_middle(double: Double) -> None:
    double.parts, double.finish = (_document("a"),), False
    with pytest.raises(FactError) as raised:
        _names(double)
    assert raised.value.reason is Reason.UNREACHABLE
    assert raised.value.detail == "the connection broke (connection lost)"


@pytest.mark.wall_clock
def test_answer_drips(double: Double) -> None:
    double.parts, double.pause_s = tuple(_document(f"m{i}", partial=True) for i in range(50)), 0.05
    began = time.monotonic()
    with pytest.raises(FactError) as raised:
        _names(double, timeout_s=0.3)
    assert raised.value.reason is Reason.TIMED_OUT
    assert time.monotonic() - began < 2


@pytest.mark.wall_clock
def test_server_says_nothing_at_all(double: Double) -> None:
    double.parts, double.pause_s = (b" ",), 3
    began = time.monotonic()
    with pytest.raises(FactError) as raised:
        _names(double, timeout_s=0.2)
    assert raised.value.reason is Reason.TIMED_OUT
    assert time.monotonic() - began < 2


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        (None, "responds, but not like InfluxDB"),
        ("v2.7.1", "is InfluxDB v2.7.1, and this engine is for 1.x; set `engine: influxdb2`"),
    ],
)
def test_server_is_another(double: Double, version: str | None, expected: str) -> None:
    double.version = version
    with pytest.raises(ConnectorError, match=expected):
        _names(double)


@pytest.mark.parametrize("version", ["1.8.10", "v1.12.4", "unknown", "1.x-c9e8ad3"])
def test_server_that_may_be_ours(double: Double, version: str) -> None:
    """One that was built from its source says that its version is unknown."""
    double.version, double.parts = version, (_document("a"),)
    assert _names(double) == ["a"]


@pytest.mark.parametrize("in_url", [True, False])
def test_credentials_travel_in_a_header_only(double: Double, in_url: bool) -> None:
    double.parts = (_document("a"),)
    url = f"http://me:s3cret%2F@127.0.0.1:{double.server_port}" if in_url else f"http://127.0.0.1:{double.server_port}"
    login: dict[str, Any] = {} if in_url else {"username": "me", "password": "s3cret/"}
    target = _target(double, **login).model_copy(update={"url": Target(name="t", engine="influxdb1", url=url).url})
    with open_connection(target) as connection:
        list(connection.query("measurements", 60, filled("measurements", database="db")))
    ((headers, body),) = double.asked
    assert headers["Authorization"] == "Basic " + base64.b64encode(b"me:s3cret/").decode()
    assert b"s3cret" not in body
    double.version = None
    with pytest.raises(ConnectorError) as raised, open_connection(target):
        pass
    assert "s3cret" not in str(raised.value)


def test_tag_appears_while_the_schema_is_read(double: Double) -> None:
    series = {"columns": ["key"], "values": [["m,host=a"], ["m,host=a,new=b"]]}
    double.parts = (json.dumps({"results": [{"series": [series]}]}).encode(),)
    with open_connection(_target(double)) as connection:
        rows = connection.query(
            "series_listing", 60, filled("series_listing", database="db", measurement="m", tags=["host"])
        )
        with pytest.raises(FactError, match="tag new appeared"):
            list(rows)


def test_series_key_is_none(double: Double) -> None:
    series = {"columns": ["key"], "values": [[None]]}
    double.parts = (json.dumps({"results": [{"series": [series]}]}).encode(),)
    with open_connection(_target(double)) as connection:
        rows = connection.query(
            "series_listing", 60, filled("series_listing", database="db", measurement="m", tags=["host"])
        )
        with pytest.raises(FactError, match="null"):
            list(rows)


def test_values_of_one_field_have_several_types(double: Double) -> None:
    values = [[1, 1, True, 1, None], [2, 2.5, False, "x", None]]
    series = {"columns": ["time", "n", "b", "mixed", "none"], "values": values}
    double.parts = (json.dumps({"results": [{"series": [series]}]}).encode(),)
    about = {"database": "db", "measurement": "m", "fields": ["n", "b", "mixed", "none"], "tags": [], "series": []}
    from tests.builders import NOW

    with open_connection(_target(double)) as connection:
        (batch,) = connection.query(
            "row_sample", 60, filled("row_sample", **about, policies=["p"], start=NOW, end=NOW, limit=5)
        )
    assert [column.to_pylist() for column in batch.columns[1:]] == [
        [1.0, 2.5],
        [True, False],
        ["1", "x"],
        [None, None],
    ]


@settings(deadline=None, max_examples=examples(50))
@given(st.integers(0, 10_000), st.integers(0, 59), st.integers(0, 59))
def test_duration_is_read_as_go_writes_it(hours: int, minutes: int, seconds: int) -> None:
    assert duration_s(f"{hours}h{minutes}m{seconds}s") == hours * 3600 + minutes * 60 + seconds


def test_duration_of_nothing_and_of_little() -> None:
    assert (duration_s("0s"), duration_s("1.5s"), duration_s("1500ms")) == (0, 2, 2)


@pytest.mark.parametrize("text", ["", "never", "-1h0m0s", "1e9h", "1h 30m", "7d"])
def test_what_is_no_duration_is_no_figure(text: str) -> None:
    with pytest.raises(ValueError, match="a duration is"):
        duration_s(text)


@pytest.mark.parametrize(("value", "count"), [(7, 7), (7.0, 7), (None, 0)])
def test_a_count_is_whole(value: float | None, count: int) -> None:
    assert whole(value) == count


@pytest.mark.parametrize("value", [True, 3046.5, "7", [7]])
def test_what_is_no_count_is_no_figure(value: object) -> None:
    with pytest.raises(ValueError, match="a count is"):
        whole(value)
