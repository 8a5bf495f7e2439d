"""The HTTP proxy passes requests on as a client can rely on."""

from __future__ import annotations

import http.server
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
import urllib3

from tests.faults.bad_http import FaultyHttp, html


class _KeepsAlive(http.server.BaseHTTPRequestHandler):
    """Ends a connection when it was asked to, some time after its answer, and does not say so in the answer."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")
        time.sleep(0.3)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def upstream() -> Iterator[tuple[str, int]]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _KeepsAlive) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield "127.0.0.1", server.server_port
        server.shutdown()


def test_client_sends_nothing_to_a_connection_that_is_about_to_end(upstream: tuple[str, int]) -> None:
    with closing(FaultyHttp(upstream, html, lambda _: False)) as faulty, urllib3.PoolManager() as client:
        for _ in range(2):
            answer = client.request("GET", f"http://127.0.0.1:{faulty.port}/", retries=False)
            assert (answer.status, answer.data) == (200, b"ok")
