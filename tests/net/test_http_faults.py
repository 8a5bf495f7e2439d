"""Peers that speak HTTP badly: what is wrong with each, in a few words, on time, and without much memory.

How an audit ends that meets one is in `tests/faults`.
"""

from __future__ import annotations

import re
import time
from typing import Final

import pytest
import urllib3
from urllib3.exceptions import HTTPError

from tests.hostile import FAULTS, hostile
from tests.memory import watched
from tsaudit.engines import http_client
from tsaudit.engines.connection import Rows
from tsaudit.net import http
from tsaudit.net.http import BoundedPool

pytestmark = pytest.mark.wall_clock

_LIMIT_S: Final = 0.5
_MOST_MB: Final = 300

GREETED: Final = {
    "401": r"rejects the token \(HTTP 401\)",
    "403": r"denies access: the token has no permission, or there is a proxy in between \(HTTP 403\)",
    "404": "",
    "407": "is a proxy that requires a login",
    "429": r"is busy or down \(HTTP 429\)",
    "500": "",
    "503": r"is busy or down \(HTTP 503\)",
    "web page": r"responds with a web page \(HTTP 200\)",
    "redirect": "it redirects to http://127.0.0.1:1/elsewhere, which tsaudit does not follow: set that as `url`",
    "permanent redirect": "it redirects to /elsewhere",
    "cut before the status": "connection lost",
    "cut in a header": "|connection lost",
    "cut in the body": "",
    "silence": "no response in time",
    "silence mid-answer": "|no response in time",
    "drip in the status": "no response in time|the server does not speak HTTP",
    "drip in a header": "no response in time",
    "drip in the body": "|no response in time",
    "drip in the body of an error": "|no response in time",
    "endless headers": "its headers are endless",
    "endless header": "its headers are endless",
    "endless interim answers": "no response in time",
    "endless line": "",
    "endless error": "",
    "endless trailer": "|no response in time",
    "bomb": "|encoded|no response in time",
    "bomb in an error": "",
    "another protocol": "the server does not speak HTTP",
    "TLS": "it uses TLS on this port; write https:// in `url`",
    "TLS, as Go says it": "speaks TLS on this port; write https:// in `url`",
    "garbage": "the server does not speak HTTP",
}
"""Fault to what is said of a peer that is asked for a greeting; empty: it may be any server."""

READ: Final = {
    "cut in the body": "connection lost",
    "silence mid-answer": "no response in time",
    "drip in the body": "no response in time",
    "drip in chunks": "no response in time",
    "endless line": "the response has more than 20 MiB|no response in time",
    "endless lines": "the response has more than 20 MiB|no response in time",
    "endless array": "the response has more than 20 MiB|no response in time",
    "bomb": r"the response is encoded \(gzip\), which was not requested",
}
"""Fault to what is said of a peer in the middle of a long response."""


def _asked(fault: str, *, greeting: bool) -> str:
    """What is wrong with the peer; empty if nothing is seen."""
    pool, began = BoundedPool(), time.monotonic()
    with hostile(fault) as server, watched() as peak:
        try:
            with pool.until(_LIMIT_S):
                url = f"http://127.0.0.1:{server.port}/"
                response = pool.request("GET", url, timeout=_LIMIT_S, preload_content=greeting)
                said = http.what_it_is(response, "the token") if greeting else _read(response)
        except (HTTPError, OSError) as error:
            said = http.cause_of(error)
        finally:
            pool.clear()
        assert len(server.asked) == 1, "nobody follows a redirect, or asks again"
    assert time.monotonic() - began < _LIMIT_S + 2
    assert peak.megabytes < _MOST_MB
    assert "\n" not in said
    assert not re.search("user:pw|token=abc", said)
    return said


def _read(response: urllib3.BaseHTTPResponse) -> str:
    for _ in http_client.lines(response, Rows(), http_client.MOST_BYTES):
        pass
    return ""


def test_every_fault_is_tried() -> None:
    assert FAULTS.keys() == GREETED.keys() | READ.keys()


@pytest.mark.parametrize("fault", GREETED)
def test_greeting(fault: str) -> None:
    said = _asked(fault, greeting=True)
    assert re.match(f"({GREETED[fault]})", said), said
    assert GREETED[fault] != "" or not said


@pytest.mark.parametrize("fault", READ)
def test_long_response(fault: str) -> None:
    said = _asked(fault, greeting=False)
    assert re.match(READ[fault], said), said


def test_plain_http_where_tls_is_expected() -> None:
    pool = BoundedPool()
    with hostile("404") as server, pytest.raises(HTTPError) as raised, pool.until(2):
        pool.request("GET", f"https://127.0.0.1:{server.port}/", timeout=2)
    assert http.cause_of(raised.value) == "it does not use TLS on this port; write http:// in `url`"


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("127.0.0.1:1", "connection refused: nothing listens on that port"),
        ("no-such-host.invalid:8086", "its host name is not known to DNS"),
    ],
)
def test_nobody_is_there(address: str, said: str) -> None:
    pool = BoundedPool()
    with pytest.raises(HTTPError) as raised, pool.until(5):
        pool.request("GET", f"http://{address}/", timeout=5)
    assert http.cause_of(raised.value) == said
