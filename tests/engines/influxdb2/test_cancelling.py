"""A statement that takes too long: the connection is closed, by which InfluxDB 2.x sees that nobody waits any more."""

from __future__ import annotations

import http.server
import json
import os
import queue
import re
import threading
import time
from collections.abc import Iterator

import pytest
import urllib3

from tests.engines.influxdb2.conversations import REAL
from tests.query_parameters import filled
from tests.serving import Handler, serving
from tsaudit.config.settings import Target
from tsaudit.engines.connection import Access, FactError, FactQuery, Rows
from tsaudit.engines.influxdb2.client import Client
from tsaudit.engines.opening import open_connection
from tsaudit.model.figures import Reason

pytestmark = pytest.mark.wall_clock

BUCKET = {"id": "0a", "orgID": "0b", "name": "db", "type": "user", "retentionRules": []}
LOOKED_UP = {
    "/api/v2/buckets": {"buckets": [BUCKET]},
    "/api/v2/dbrps": {"content": [{"database": "db", "retention_policy": "autogen", "default": True}]},
}
BEGINNINGS = {
    "/api/v2/query": b"#datatype,string,long,string\r\n,result,table,_value\r\n,_result,0,cpu\r\n",
    "/query": b'{"results":[{"statement_id":0,"series":[',
}


class Sleeper(http.server.ThreadingHTTPServer):
    """Answers what is looked up, and never finishes an answer to a statement."""

    daemon_threads = True

    def __init__(self, begins: bool) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.begins = begins
        """Whether head and beginning of the answer are sent."""
        self.left: queue.Queue[bool] = queue.Queue()
        """For each statement whether the client closed the connection."""


class _Handler(Handler):
    protocol_version = "HTTP/1.1"
    server: Sleeper

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = self.path.split("?")[0]
        if path in ("/query", "/api/v2/query"):
            self._sleep(BEGINNINGS[path])
            return
        body = b"" if path == "/ping" else json.dumps(LOOKED_UP[path]).encode()
        self.send_response(200)
        self.send_header("X-Influxdb-Version", "v2.7.12")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        self.do_GET()

    def _sleep(self, beginning: bytes) -> None:
        if self.server.begins:
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.wfile.write(f"{len(beginning):x}\r\n".encode() + beginning + b"\r\n")
        self.close_connection = True
        self.connection.settimeout(10)
        try:
            self.server.left.put(self.connection.recv(1) == b"")
        except TimeoutError:
            self.server.left.put(False)
        except ConnectionResetError:
            self.server.left.put(True)


@pytest.fixture(params=[False, True], ids=["before-the-answer", "within-the-answer"])
def sleeper(request: pytest.FixtureRequest) -> Iterator[Sleeper]:
    with serving(Sleeper(request.param)) as server:
        yield server


@pytest.mark.wall_clock
@pytest.mark.parametrize("fact", ["measurements", "tag_keys"], ids=["flux", "influxql"])
def test_connection_is_closed_when_the_time_is_up(sleeper: Sleeper, fact: str) -> None:
    url = f"http://127.0.0.1:{sleeper.server_port}"
    with open_connection(Target(name="t", engine="influxdb2", url=url, password="s3cret")) as connection:
        list(
            connection.query("retention", 30, filled("retention", database="db"))
        )  # looks the bucket up, so that the time is the statement's
        with pytest.raises(FactError) as raised:
            list(connection.query(fact, 1.0, filled(fact, database="db")))
        assert raised.value.reason is Reason.TIMED_OUT
        # While the pool of connections is still open: it is the statement that is given up, not the audit.
        assert sleeper.left.get(timeout=5)


ENDLESS = """import "generate"
generate.from(count: 1000000000, fn: (n) => n * n, start: 2021-01-01T00:00:00Z, stop: 2022-01-01T00:00:00Z) |> sum()"""


def _executing() -> int:
    """Statements in Flux that the real server runs."""
    metrics = urllib3.request("GET", f"{REAL}/metrics").data.decode()
    return sum(int(number) for number in re.findall(r"^qc_executing_active\{.*\} (\d+)$", metrics, re.MULTILINE))


def _wait_for(executing: int, at_most_s: float) -> None:
    deadline = time.monotonic() + at_most_s
    while (running := _executing()) != executing:
        assert time.monotonic() < deadline, f"{running} statements run, not {executing}"
        time.sleep(0.05)


@pytest.mark.skipif(not REAL, reason="only a real server can go on running: set TSAUDIT_INFLUXDB2_URL and _TOKEN")
def test_server_stops_when_the_time_is_up() -> None:
    token = os.environ["TSAUDIT_INFLUXDB2_TOKEN"]
    headers = {"Authorization": f"Token {token}"}
    org = urllib3.request("GET", f"{REAL}/api/v2/orgs", headers=headers).json()["orgs"][0]["id"]
    client = Client(Access(REAL, password=token))
    rows = Rows("", iter(()))
    rows.statements = 0
    failures: list[FactError] = []

    def run() -> None:
        try:
            with client.translated(3):
                list(client.records(ENDLESS, org, FactQuery("row_sample", {}, rows, 3)))
        except FactError as error:
            failures.append(error)

    before = _executing()
    thread = threading.Thread(target=run)
    thread.start()
    _wait_for(before + 1, at_most_s=2)
    thread.join()
    assert [error.reason for error in failures] == [Reason.TIMED_OUT]
    _wait_for(before, at_most_s=2)
    client.close()
