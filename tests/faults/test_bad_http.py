"""The HTTP proxy passes requests on as a client can rely on."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing

import pytest
import urllib3

from tests.faults.bad_http import FaultyHttp, html
from tests.serving import Handler, serving_http


class _KeepsAlive(Handler):
    """Ends a connection when it was asked to, some time after its answer, and does not say so in the answer."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.answer(200, b"ok")
        time.sleep(0.3)


@pytest.fixture
def upstream() -> Iterator[tuple[str, int]]:
    with serving_http(_KeepsAlive) as server:
        yield "127.0.0.1", server.server_port


def test_client_sends_nothing_to_a_connection_that_is_about_to_end(upstream: tuple[str, int]) -> None:
    with closing(FaultyHttp(upstream, html, lambda _: False)) as faulty, urllib3.PoolManager() as client:
        for _ in range(2):
            answer = client.request("GET", f"http://127.0.0.1:{faulty.port}/", retries=False)
            assert (answer.status, answer.data) == (200, b"ok")
