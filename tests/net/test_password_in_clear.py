"""A server that asks for the password in clear text gets it only over TLS, or on this machine."""

from __future__ import annotations

import socketserver
import struct
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.serving import serving
from tsaudit.config.settings import Target
from tsaudit.engines.connection import ConnectorError
from tsaudit.engines.greptimedb import wire as mysql_wire
from tsaudit.engines.opening import open_connection
from tsaudit.errors import TsauditError
from tsaudit.history.store import Store
from tsaudit.net import postgresql as wire

PASSWORD = "s3cret-of-the-auditor"


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    received = b""


class _Postgresql(socketserver.BaseRequestHandler):
    """Has no TLS, and asks for the password in clear text."""

    server: _Server

    def handle(self) -> None:
        if self.request.recv(8)[4:] == struct.pack("!I", 80877103):  # it asks for TLS
            self.request.sendall(b"N")
            self.request.recv(4096)
        self.request.sendall(b"R" + struct.pack("!II", 8, 3))
        self.server.received += self.request.recv(4096)


class _Mysql(socketserver.BaseRequestHandler):
    """Has no TLS, and switches to the plug-in that asks for the password in clear text."""

    server: _Server

    def handle(self) -> None:
        greeting = b"\x0a8.4.2\0" + bytes(4) + b"12345678\0" + struct.pack("<HBHH", 0xA209, 45, 2, 0x0028)
        greeting += bytes([21]) + bytes(10) + b"123456789012\0mysql_native_password\0"
        self._send(0, greeting)
        self.request.recv(4096)
        self._send(2, b"\xfemysql_clear_password\0")
        self.server.received += self.request.recv(4096)

    def _send(self, number: int, payload: bytes) -> None:
        self.request.sendall(struct.pack("<I", len(payload))[:3] + bytes([number]) + payload)


@contextmanager
def _asking(handler: type[socketserver.BaseRequestHandler]) -> Iterator[_Server]:
    with serving(_Server(("127.0.0.1", 0), handler)) as server:
        yield server


def _said(server: _Server, url: str) -> str:
    engine = "postgresql" if url.startswith("postgresql") else "greptimedb"
    target = Target(name="t", engine=engine, url=url.replace("PORT", str(server.server_address[1])), password=PASSWORD)
    with pytest.raises(ConnectorError) as raised, open_connection(target):
        pass
    return str(raised.value)


CASES = pytest.mark.parametrize(
    ("handler", "url"),
    [(_Postgresql, "postgresql://tsaudit@127.0.0.1:PORT/shop"), (_Mysql, "mysql://tsaudit@127.0.0.1:PORT/public")],
    ids=["postgresql", "greptimedb"],
)


@CASES
def test_password_is_not_sent_over_a_network(
    handler: type[socketserver.BaseRequestHandler], url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire, "is_loopback", lambda host: False)
    monkeypatch.setattr(mysql_wire, "is_loopback", lambda host: False)
    with _asking(handler) as server:
        said = _said(server, url)
        assert "asks for the password in clear text over a connection that is not encrypted, so it was not sent" in said
        assert PASSWORD.encode() not in server.received


@CASES
def test_password_is_sent_on_this_machine(handler: type[socketserver.BaseRequestHandler], url: str) -> None:
    with _asking(handler) as server:
        _said(server, url)
        assert PASSWORD.encode() in server.received


def test_password_is_sent_where_the_url_allows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "is_loopback", lambda host: False)
    with _asking(_Postgresql) as server:
        _said(server, "postgresql://tsaudit@127.0.0.1:PORT/shop?require_auth=password")
        assert PASSWORD.encode() in server.received


def test_history_does_not_send_it_either(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "is_loopback", lambda host: False)
    with _asking(_Postgresql) as server:
        address = f"127.0.0.1:{server.server_address[1]}/history"
        with pytest.raises(TsauditError, match="cleartext password"):
            Store.open(f"postgresql+psycopg://tsaudit:{PASSWORD}@{address}")
        assert PASSWORD.encode() not in server.received


@pytest.mark.parametrize(
    ("parameters", "is_checked"),
    [
        ({"host": "db.example"}, True),
        ({"host": "db.example", "sslmode": "prefer"}, True),
        ({"host": "db.example", "sslmode": "verify-full"}, False),
        ({"host": "localhost"}, False),
        ({"host": "localhost", "hostaddr": "10.0.0.1"}, True),
        ({"host": "localhost,db.example"}, True),
        ({"host": "/run/postgresql"}, False),
        ({}, False),
    ],
)
def test_of_which_servers_it_is_asked(
    parameters: dict[str, str], is_checked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PGHOST", "PGSSLMODE"):
        monkeypatch.delenv(name, raising=False)
    assert bool(wire.authentication(parameters)) is is_checked


def test_of_a_server_that_only_the_environment_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGHOST", "db.example")
    assert wire.authentication({})
