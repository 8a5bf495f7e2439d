"""Peers that speak HTTP badly: each gives one line that says what they are, on time, and takes no memory."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import pytest

from tests.builders import DAY, NOW
from tests.hostile import FAULTS, hostile
from tsaudit.collect import collect
from tsaudit.config.settings import Target
from tsaudit.engines.connection import Connection, ConnectorError
from tsaudit.engines.opening import with_connection
from tsaudit.model.profile import Profile, Reason

pytestmark = pytest.mark.wall_clock

_ENGINES: Final = {
    "influxdb1": {"version": "1.8.10", "build": "OSS"},
    "influxdb2": {"version": "v2.7.12", "build": "OSS"},
    "influxdb3": {"version": "3.4.1", "build": "Core"},
}
_TIMEOUT_S: Final = 0.5
_DEADLINE_S: Final = 1.4

CONNECTING: Final = {
    "401": "rejects|requires a token",
    "403": "denies access|rejects the token",
    "404": "responds, but not like InfluxDB",
    "407": "is a proxy that requires a login",
    "429": r"is busy or down \(HTTP 429\)",
    "500": "responds, but not like InfluxDB",
    "503": r"is busy or down \(HTTP 503\)",
    "web page": "responds with a web page",
    "redirect": r"it redirects to http://127.0.0.1:1/elsewhere, which tsaudit does not follow",
    "permanent redirect": "it redirects to /elsewhere",
    "cut before the status": "does not respond: connection lost",
    "cut in a header": "responds, but not like InfluxDB|does not respond: connection lost",
    "cut in the body": "responds, but not like InfluxDB",
    "silence": "does not respond: no response in time",
    "silence mid-answer": "responds, but not like InfluxDB|no response in time",
    "drip in the status": "does not respond: (no response in time|the server does not speak HTTP)",
    "drip in a header": "does not respond: no response in time",
    "drip in the body": "responds, but not like InfluxDB|no response in time",
    "drip in the body of an error": "responds, but not like InfluxDB|no response in time",
    "endless headers": "does not respond: its headers are endless",
    "endless header": "does not respond: its headers are endless",
    "endless interim answers": "does not respond: no response in time",
    "endless line": "responds, but not like InfluxDB",
    "endless error": "responds, but not like InfluxDB",
    "endless trailer": "responds, but not like InfluxDB|no response in time",
    "bomb": "responds, but not like InfluxDB|encoded|no response in time",
    "bomb in an error": "responds, but not like InfluxDB",
    "another protocol": "does not respond: the server does not speak HTTP",
    "TLS": "does not respond: it uses TLS on this port; write https://",
    "TLS, as Go says it": "speaks TLS on this port; write https://",
    "garbage": "does not respond: the server does not speak HTTP",
}
"""Fault to what is said of the peer when it is all that it ever answers."""

ASKING: Final = {
    "401": (Reason.DENIED, "HTTP 401|token"),
    "403": (Reason.DENIED, "grants.md"),
    "404": (Reason.FAILED, "404"),
    "429": (None, "429|busy"),
    "500": (None, "timeout|HTTP 500"),
    "503": (None, "503|busy"),
    "web page": (Reason.FAILED, "web page|not annotated CSV|not JSON|broke off"),
    "redirect": (Reason.FAILED, "it redirects to http://127.0.0.1:1/elsewhere, which tsaudit does not follow"),
    "cut before the status": (None, "connection lost"),
    "cut in the body": (None, "connection lost|broke off"),
    "empty": (Reason.FAILED, "broke off|ended before its last part|not JSON|no database to audit"),
    "array": (Reason.FAILED, "not an object|not a JSON object"),
    "null": (Reason.FAILED, "not an object|not a JSON object"),
    "number": (Reason.FAILED, "not an object|not a JSON object"),
    "object": (
        Reason.FAILED,
        "not from InfluxDB|does not understand|cannot be right|not list|none of the requested columns|without a name",
    ),
    "deep": (Reason.FAILED, "not JSON|broke off"),
    "deep object": (Reason.FAILED, "not JSON|broke off"),
    "silence": (Reason.TIMED_OUT, "after 0"),
    "silence mid-answer": (Reason.TIMED_OUT, "after 0"),
    "drip in the status": (None, "after 0|connection|speak HTTP"),
    "drip in a header": (Reason.TIMED_OUT, "after 0"),
    "drip in the body": (Reason.TIMED_OUT, "after 0"),
    "drip in the body of an error": (None, "HTTP 500|after 0"),
    "drip in chunks": (Reason.TIMED_OUT, "after 0"),
    "endless headers": (None, "headers are endless"),
    "endless interim answers": (Reason.TIMED_OUT, "after 0"),
    "endless line": (None, "a line of the response has more than 24 MiB|more than (8|20) MiB|after 0"),
    "endless error": (None, "HTTP 500|x+"),
    "endless lines": (
        None,
        "not from InfluxDB|more than|after 0|does not understand|cannot be right|not list|none of the|without a name",
    ),
    "endless array": (None, "more than|after 0|values"),
    "bomb": (Reason.FAILED, r"encoded \(gzip\), which was not requested"),
    "bomb in an error": (None, "HTTP 500"),
    "another protocol": (None, "does not speak HTTP|connection"),
    "TLS": (None, "TLS|connection"),
    "garbage": (None, "does not speak HTTP|connection"),
}
"""Fault to reason and detail of the gap in `databases` when it comes after a greeting as it should be. None: any."""


def _target(engine: str, url: str, **budget: Any) -> Target:
    login = {"password": "s3cret-token"} if engine in ("influxdb2", "influxdb3") else {}
    limits = {"statement_timeout_s": _TIMEOUT_S, "deadline_s": _DEADLINE_S} | budget
    return Target(name="t", engine=engine, url=url, budget=limits, **login)


def _collected(target: Target) -> Profile:
    def measure(connection: Connection, deadline: Any) -> Profile:
        return collect(target, connection, day=DAY, now=NOW, deadline=deadline)

    return with_connection(target, measure)


def _refused(target: Target) -> str:
    began = time.monotonic()
    with pytest.raises(ConnectorError) as raised:
        _collected(target)
    assert time.monotonic() - began < _DEADLINE_S + 2
    text = str(raised.value)
    assert "\n" not in text
    assert len(text) < 400
    assert "s3cret" not in text
    assert "pw@" not in text
    assert "abc" not in text
    return text


def test_every_fault_is_tried() -> None:
    assert FAULTS.keys() == CONNECTING.keys() | ASKING.keys() | {fault for fault, _ in _GREEDY}


@pytest.mark.parametrize("fault", CONNECTING)
@pytest.mark.parametrize("engine", _ENGINES)
def test_peer_is_none(engine: str, fault: str) -> None:
    with hostile(fault, greets=False) as server:
        text = _refused(_target(engine, f"http://127.0.0.1:{server.port}"))
    assert re.search(CONNECTING[fault], text), text


@pytest.mark.parametrize("engine", _ENGINES)
def test_plain_http_where_tls_is_expected(engine: str) -> None:
    with hostile("404") as server:
        text = _refused(_target(engine, f"https://127.0.0.1:{server.port}"))
    assert "it does not use TLS on this port; write http:// in `url`" in text


@pytest.mark.parametrize("engine", _ENGINES)
def test_nothing_listens_and_no_such_name(engine: str) -> None:
    with hostile("404") as server:
        port = server.port
    assert "connection refused: nothing listens on that port" in _refused(_target(engine, f"http://127.0.0.1:{port}"))
    assert "its host name is not known to DNS" in _refused(_target(engine, "http://no-such-host.invalid:8086"))


@pytest.mark.wall_clock
@pytest.mark.parametrize("fault", ASKING)
@pytest.mark.parametrize("engine", _ENGINES)
def test_peer_turns_bad_after_its_greeting(engine: str, fault: str) -> None:
    began = time.monotonic()
    with hostile(fault, **_ENGINES[engine]) as server:
        profile = _collected(_target(engine, f"http://127.0.0.1:{server.port}"))
        hosts = {line.split()[1] for line, _ in server.asked}
    assert time.monotonic() - began < _DEADLINE_S + 5
    gap = next(gap for gap in profile.gaps if gap.fact == "databases")
    reason, detail = ASKING[fault]
    assert re.search(detail, gap.detail), gap
    assert reason in (None, gap.reason), gap
    assert "\n" not in gap.detail
    assert "s3cret" not in gap.detail
    assert not any("elsewhere" in path for path in hosts)
    assert profile.databases == ()


# --- Memory ------------------------------------------------------------------------------------------------------

_MEASURED: Final = """
import sys
from tests.engines.test_http_faults import _collected, _target

def held():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) // 1024

def said(url, **budget):
    try:
        gaps = _collected(_target(sys.argv[1], url, **budget)).gaps
    except Exception as error:
        return str(error)
    return next(gap.detail for gap in gaps if gap.fact == "databases")

said(sys.argv[2].rpartition(":")[0] + ":1")
before = held()
for url in sys.argv[2:]:
    print(held() - before, said(url, statement_timeout_s=3, deadline_s=5), held() - before, sep="|")
"""
_GREEDY: Final = [
    *((fault, False) for fault in ("endless line", "endless error", "endless header", "bomb", "bomb in an error")),
    *((fault, True) for fault in ("endless line", "endless lines", "endless array", "endless error", "bomb")),
    *((fault, True) for fault in ("endless documents of InfluxDB 1", "endless rows of InfluxDB 3")),
]
"""Fault, and whether a greeting comes before it."""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of memory is read from /proc")
@pytest.mark.parametrize("engine", [*_ENGINES, "timestream"])
def test_no_peer_takes_much_memory(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIATEST")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    form = "timestream://eu-central-1?endpoint=http://127.0.0.1:{}" if engine == "timestream" else "http://127.0.0.1:{}"
    greeting = _ENGINES.get(engine, {})
    cases = [case for case in _GREEDY if engine != "timestream" or not case[1]]
    with ExitStack() as stack:
        peers = [stack.enter_context(hostile(fault, greets=greets, **greeting)) for fault, greets in cases]
        command = [sys.executable, "-c", _MEASURED, engine, *(form.format(peer.port) for peer in peers)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=90, check=True)
    lines = done.stdout.splitlines()
    print("\n".join(f"{case}: {line}" for case, line in zip(cases, lines, strict=True)))
    assert all(int(line.rpartition("|")[2]) < 300 for line in lines), lines
