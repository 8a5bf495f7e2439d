"""HTTP connections: what is closed, or not used after all, is closed for the peer, too."""

from __future__ import annotations

import gc
import queue
import socketserver
from collections.abc import Iterator
from http.client import parse_headers

import pytest

from tests.serving import serving
from tsaudit.config.settings import Target
from tsaudit.engines.connection import ConnectorError
from tsaudit.engines.opening import open_connection
from tsaudit.net.http import BoundedPool


class _Peer(socketserver.ThreadingTCPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.left: queue.Queue[bytes] = queue.Queue()
        """What was read after the answer, as soon as that ends: nothing."""


class _Handler(socketserver.StreamRequestHandler):
    server: _Peer

    def handle(self) -> None:
        self.rfile.readline()
        self.rfile.read(int(parse_headers(self.rfile).get("Content-Length", 0)))
        self.wfile.write(b"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n")
        self.server.left.put(self.rfile.read(1))


@pytest.fixture
def peer() -> Iterator[_Peer]:
    with serving(_Peer()) as found:
        gc.disable()  # it would close what was only forgotten
        yield found
        gc.enable()


def test_peer_sees_the_end_of_a_connection_that_was_kept(peer: _Peer) -> None:
    pool = BoundedPool()
    with pool.until(5):
        assert pool.request("GET", f"http://127.0.0.1:{peer.server_address[1]}/").status == 204
    assert peer.left.empty(), "the connection is kept for the next request"
    pool.clear()
    assert peer.left.get(timeout=5) == b""


@pytest.mark.parametrize(
    ("engine", "url", "login"),
    [
        ("influxdb1", "http://127.0.0.1:{}", {}),
        ("influxdb2", "http://127.0.0.1:{}", {"password": "token"}),
        ("influxdb3", "http://127.0.0.1:{}", {"password": "token"}),
        ("timestream", "timestream://eu-central-1?endpoint=http://127.0.0.1:{}", {}),
    ],
)
def test_connection_to_another_kind_of_server_is_closed(
    engine: str, url: str, login: dict[str, str], peer: _Peer, aws_credentials: None
) -> None:
    target = Target(name="t", engine=engine, url=url.format(peer.server_address[1]), **login)
    with pytest.raises(ConnectorError, match=r"not like InfluxDB|not Timestream"), open_connection(target):
        pass
    assert peer.left.get(timeout=5) == b""
