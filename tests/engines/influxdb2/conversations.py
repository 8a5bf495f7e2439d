"""Conversations with a real InfluxDB 2.x: recorded through a proxy, replayed where there is no such server.

With TSAUDIT_INFLUXDB2_URL and TSAUDIT_INFLUXDB2_TOKEN (an operator's) set, tests write their data sets to that server
and talk to it; with TSAUDIT_INFLUXDB2_RECORD too, what they say and hear is kept under `tests/recordings/influxdb2`, a
file for each test module: `make record-influxdb2 URL=... TOKEN=...`. Without them the files answer. A test that was not
recorded is skipped, in CI it fails; a request that was not is refused, and a data set that has changed since fails the
test: record again.

Kept of a request are method, path, query, body, and which of the test's tokens it came with; never a token.
"""

from __future__ import annotations

import functools
import hashlib
import http.server
import itertools
import json
import lzma
import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

import pytest
import urllib3

from tests.databases import Dataset, line
from tests.servers import missing
from tests.serving import Handler, serving
from tsaudit.model.figures import Gap

FOLDER: Final = Path(__file__).parents[2] / "recordings" / "influxdb2"
REAL: Final = os.environ.get("TSAUDIT_INFLUXDB2_URL", "").rstrip("/")
RECORDS: Final = bool(REAL and os.environ.get("TSAUDIT_INFLUXDB2_RECORD"))
_TOKEN: Final = os.environ.get("TSAUDIT_INFLUXDB2_TOKEN", "")
_AGAIN: Final = "record again: make record-influxdb2 URL=... TOKEN=..."
_KEPT: Final = ("Content-Type", "Retry-After", "X-Influxdb-Build", "X-Influxdb-Version", "X-Platform-Error-Code")
_BATCH: Final = 50_000
_GAUGES: Final = re.compile(rb"storage_(bucket_|shard_series|tsm_files_|wal_size)")
_PATHS: Final = re.compile(rb',(path|walPath)="[^"]*"')

_recorded: dict[str, dict[str, Any]] = {}
"""Test module to test to its scenes, of this run."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server says to one request."""

    status: int
    headers: dict[str, str]
    body: bytes
    broken: bool = False
    """The connection ends in the middle of the body."""


Tampering = Callable[[str, bytes, Callable[[], Answer]], Answer]
"""Given path, body and the way to the true answer: what to say instead."""


@dataclass(slots=True)
class Scene:
    """What is asked after a data set was written, and before the next one is."""

    fingerprint: str = ""
    """Of the data set."""
    answers: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    """Request to its answers, in the order in which it was made."""
    given: dict[str, int] = field(default_factory=dict)
    """How many of them were given in this run."""


class Conversation(http.server.ThreadingHTTPServer):
    """A server that answers as a real InfluxDB 2.x does, or did."""

    daemon_threads = True

    def __init__(self, name: str, *, scripted: bool = False) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.token = _TOKEN if REAL else "owner"
        self.login = {"password": self.token}
        self.metrics = False
        """Whether /metrics is there. Its figures are up to 10 s old: tests that do not look at it need not wait."""
        self.tampering: Tampering | None = None
        self.asked: list[str] = []
        """Path and body of each request."""
        self.refused: list[str] = []
        self._name = name
        self._labels = {self.token: "owner"}
        self._numbers = itertools.count()
        self._made: list[str] = []
        self._lock = threading.Lock()
        self._scripted = scripted
        self._scenes = [Scene()] if REAL or scripted else _scenes(name)
        self._scene = 0

    # --- What tests do -------------------------------------------------------------------------------------------

    def write(self, dataset: Dataset) -> str:
        """Write the data set into a new bucket, in place of one of the same name; the bucket's name."""
        made = hashlib.sha256(self._name.encode()).hexdigest()[:8]
        bucket = dataset.database or f"t{made}_{next(self._numbers)}"
        digest = hashlib.sha256(repr((bucket, dataset.retention, dataset.partition)).encode())
        lines = [text for table in dataset.tables for row in table.rows if (text := line(table, row)) is not None]
        for text in lines:
            digest.update(text.encode() + b"\n")
        self._scene += 1
        if REAL:
            self._scenes.append(Scene(digest.hexdigest()))
            self._write(bucket, dataset, lines)
        elif self._scene >= len(self._scenes) or self._scenes[self._scene].fingerprint != digest.hexdigest():
            pytest.fail(f"the data set is not the one that was recorded for {self._name}; {_AGAIN}")
        return bucket

    def reader_of(self, bucket: str) -> str:
        """A token that may read one bucket, and nothing else."""
        label = f"reader-{next(self._numbers)}"
        if not REAL:
            self._labels[label] = label
            return label
        (found,) = _admin("GET", "/api/v2/buckets?" + urlencode({"name": bucket}))["buckets"]
        resource = {"type": "buckets", "id": found["id"], "orgID": found["orgID"]}
        permissions = [{"action": "read", "resource": resource}]
        body = {"orgID": found["orgID"], "permissions": permissions}
        made = _admin("POST", "/api/v2/authorizations", body)
        self._made.append(f"/api/v2/authorizations/{made['id']}")
        self._labels[made["token"]] = label
        return str(made["token"])

    def map(self, bucket: str, database: str, policy: str) -> None:
        """Make InfluxQL call the bucket so, as the database's default."""
        if REAL:
            (found,) = _admin("GET", "/api/v2/buckets?" + urlencode({"name": bucket}))["buckets"]
            mapping = {"bucketID": found["id"], "orgID": found["orgID"], "database": database, "default": True}
            made = _admin("POST", "/api/v2/dbrps", mapping | {"retention_policy": policy})
            self._made.append(f"/api/v2/dbrps/{made['id']}?orgID={found['orgID']}")

    def wait_for_metrics(self, bucket: str, series: int) -> None:
        """Let the server bring its metrics up to date, and have them from now on."""
        self.metrics = True
        if REAL:
            (found,) = _admin("GET", "/api/v2/buckets?" + urlencode({"name": bucket}))["buckets"]
            wanted = f'storage_bucket_series_num{{bucket="{found["id"]}"}} {series}\n'.encode()
            deadline = time.monotonic() + 30
            while wanted not in urllib3.request("GET", f"{REAL}/metrics").data:
                assert time.monotonic() < deadline, "the server's metrics do not show the series"
                time.sleep(0.5)

    # --- Answering -----------------------------------------------------------------------------------------------

    def answer(self, method: str, path: str, headers: Any, body: bytes) -> Answer:
        """What to say to a request."""
        with self._lock:
            self.asked.append(f"{path}\n{body.decode()}")
        if path == "/metrics" and not self.metrics:
            return _error(403, "metrics are disabled")
        true = functools.partial(self._true_answer, method, path, headers, body)
        return self.tampering(path, body, true) if self.tampering else true()

    def _true_answer(self, method: str, path: str, headers: Any, body: bytes) -> Answer:
        label = self._labels.get(headers.get("Authorization", "").removeprefix("Token "), "stranger")
        request = f"{label}: {method} {path}\n{body.decode()}"
        if not REAL:
            return self._replayed(request)
        sent = {name: headers[name] for name in ("Authorization", "Content-Type") if name in headers}
        real = urllib3.request(method, f"{REAL}{path}", body=body or None, headers=sent, timeout=600, retries=False)
        data = real.data
        if path == "/metrics":
            # All else it tells is of no concern, and much of it is about the machine.
            made = [path.rpartition("/")[2].encode() for path in self._made if "/buckets/" in path]
            gauges = (text for text in data.split(b"\n") if _GAUGES.match(text) and any(b in text for b in made))
            data = b"\n".join(_PATHS.sub(b"", text) for text in gauges) + b"\n"
        kept = {name: real.headers[name] for name in _KEPT if name in real.headers}
        with self._lock:
            said = {"status": real.status, "headers": kept, "body": data.decode()}
            self._scenes[self._scene].answers.setdefault(request, []).append(said)
        return Answer(real.status, kept, data)

    def _replayed(self, request: str) -> Answer:
        with self._lock:
            for scene in reversed(self._scenes[: self._scene + 1]):
                if answers := scene.answers.get(request):
                    # Asked again, it says again what it said last: how often workers connect is left to chance.
                    place = scene.given.get(request, 0)
                    scene.given[request] = place + 1
                    said = answers[min(place, len(answers) - 1)]
                    return Answer(said["status"], said["headers"], said["body"].encode())
            if not _may_be_missing(request):
                self.refused.append(request)
        return _error(501, f"this was not recorded; {_AGAIN}")

    def _write(self, bucket: str, dataset: Dataset, lines: list[str]) -> None:
        for old in _admin("GET", "/api/v2/buckets?" + urlencode({"name": bucket}))["buckets"]:
            _admin("DELETE", f"/api/v2/buckets/{old['id']}")
        rule = {
            "type": "expire",
            "everySeconds": round(dataset.retention.total_seconds()) if dataset.retention else 0,
            "shardGroupDurationSeconds": round(dataset.partition.total_seconds()) if dataset.partition else 0,
        }
        org = _org()
        made = _admin("POST", "/api/v2/buckets", {"orgID": org, "name": bucket, "retentionRules": [rule]})
        self._made.append(f"/api/v2/buckets/{made['id']}")
        query = urlencode({"orgID": org, "bucket": made["id"], "precision": "ns"})
        for start in range(0, len(lines), _BATCH):
            _admin("POST", f"/api/v2/write?{query}", "\n".join(lines[start : start + _BATCH]))

    def finish(self) -> None:
        """Keep what was said, and take away from the server what was made there."""
        for path in reversed(self._made):
            _admin("DELETE", path, must=False)
        if RECORDS and not self._scripted:
            module = self._name.split("::")[0]
            scenes = [{"fingerprint": s.fingerprint, "answers": s.answers} for s in self._scenes]
            _recorded.setdefault(module, {})[self._name] = scenes
        assert not self.refused, f"{len(self.refused)} requests were not recorded, first {self.refused[0]}\n{_AGAIN}"


class _Handler(Handler):
    protocol_version = "HTTP/1.1"
    server: Conversation

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        answer = self.server.answer(self.command, self.path, self.headers, body)
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        if answer.status == 204:
            self.end_headers()
            return
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        data = answer.body[: len(answer.body) // 2] if answer.broken else answer.body
        for start in range(0, len(data), 1 << 16):
            part = data[start : start + (1 << 16)]
            self.wfile.write(f"{len(part):x}\r\n".encode() + part + b"\r\n")
        if answer.broken:
            self.close_connection = True
        else:
            self.wfile.write(b"0\r\n\r\n")

    def do_POST(self) -> None:
        self.do_GET()

    def handle(self) -> None:
        try:
            super().handle()
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # the client has read enough


@contextmanager
def conversation(name: str, *, scripted: bool = False) -> Iterator[Conversation]:
    """`name` is the test's id, or anything that begins with its module's path and `::`.

    `scripted`: there is no real server, and no recording; the test's `tampering` says it all.
    """
    with serving(Conversation(name, scripted=scripted)) as server:
        yield server
        server.finish()


def _may_be_missing(request: str) -> bool:
    """Whether it may ask for a slice of all series, for rows of whole sources, or for the values of a tag: these were
    added when no real server was at hand to record them. A sample of rows that is not recorded leaves a gap, see
    `is_kept_back`.
    """
    return ("%3A%3Afield%2C" in request and "LIMIT+" in request) or "SHOW+TAG+VALUES" in request


def is_kept_back(gap: Gap) -> bool:
    """Whether it is for want of what only /metrics tells, which most conversations keep back, or of a row slice that
    was not recorded.
    """
    if gap.fact == "row_slice":
        return _AGAIN in gap.detail
    return (gap.fact == "database_bytes" and "/metrics" in gap.detail) or (
        gap.fact == "server_counters" and "only /metrics" in gap.detail
    )


@pytest.fixture
def influxdb2(request: pytest.FixtureRequest) -> Iterator[Conversation]:
    """An InfluxDB 2.x for one test."""
    with conversation(request.node.nodeid) as server:
        yield server


def keep_recordings() -> None:
    """Write down what this run recorded; other tests' recordings stay."""
    for module, tests in _recorded.items():
        path = _file(module)
        path.parent.mkdir(parents=True, exist_ok=True)
        ping = urllib3.request("GET", f"{REAL}/ping").headers
        server = f"InfluxDB {ping['X-Influxdb-Build']} {ping['X-Influxdb-Version']}"
        kept = (_load(module)["tests"] if path.exists() else {}) | tests
        text = json.dumps({"server": server, "tests": dict(sorted(kept.items()))}, ensure_ascii=False, indent=0)
        path.write_bytes(lzma.compress(text.encode(), preset=9))


def _file(module: str) -> Path:
    return FOLDER / (Path(module).with_suffix("").as_posix().removeprefix("tests/").replace("/", "-") + ".json.xz")


@functools.cache
def _load(module: str) -> Any:
    return json.loads(lzma.decompress(_file(module).read_bytes()))


def _scenes(name: str) -> list[Scene]:
    module = name.split("::")[0]
    if not _file(module).exists() or name not in _load(module)["tests"]:
        missing(f"nothing was recorded for {name}; {_AGAIN}")
    return [Scene(scene["fingerprint"], scene["answers"]) for scene in _load(module)["tests"][name]]


def _error(status: int, message: str) -> Answer:
    body = json.dumps({"code": "refused", "message": message}).encode()
    return Answer(status, {"Content-Type": "application/json"}, body)


def _admin(method: str, path: str, body: Any = None, must: bool = True) -> Any:
    data = body if isinstance(body, str) else json.dumps(body) if body is not None else ""
    headers = {"Authorization": f"Token {_TOKEN}"}
    answer = urllib3.request(method, f"{REAL}{path}", body=data.encode(), headers=headers, timeout=600)
    assert not must or answer.status < 300, answer.data
    return json.loads(answer.data) if answer.data else None


@functools.cache
def _org() -> str:
    return str(_admin("GET", "/api/v2/orgs")["orgs"][0]["id"])
