"""The server's side of the MySQL protocol, as far as text statements need it, on a loopback port.

One thread per connection; what statements mean is up to whoever answers. Written from the protocol's documentation,
https://dev.mysql.com/doc/dev/mysql-server/latest/PAGE_PROTOCOL.html: handshake version 10, mysql_native_password,
COM_QUERY with the text result set, COM_PING, COM_INIT_DB, COM_QUIT.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import socket
import socketserver
import struct
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

_CAPABILITIES: Final = 0x0008_0000 | 0x0020_0000 | 0x8000 | 0x2000 | 0x0200 | 0x0008 | 0x0004 | 0x0001
"""Plugin auth and its length, secure connection, transactions, protocol 4.1, with database, long flag and password."""
_WITH_DATABASE, _LENGTH_ENCODED_AUTH = 0x0008, 0x0020_0000
_AUTOCOMMIT: Final = 2
_UTF8, _BINARY = 45, 63
_UNSIGNED: Final = 32
_QUIT, _INIT_DB, _QUERY, _PING = 0x01, 0x02, 0x03, 0x0E
_LARGEST: Final = (1 << 24) - 1


class MysqlError(Exception):
    """What the server says instead of an answer."""

    def __init__(self, code: int, message: str, state: str = "HY000") -> None:
        super().__init__(message)
        self.code = code
        self.state = state


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """One column of an answer. `type` is the protocol's number."""

    name: str
    type: int
    unsigned: bool = False
    binary: bool = False


Row = Sequence[bytes | None]


@dataclass(frozen=True, slots=True)
class Answer:
    """A result set; without columns, an OK."""

    columns: Sequence[ResultColumn] = ()
    rows: Iterator[Row] = field(default_factory=lambda: iter(()))


@dataclass(slots=True)
class Session:
    """What one connection has said of itself."""

    user: str
    database: str
    variables: dict[str, str] = field(default_factory=dict)


class Host(Protocol):
    """Who answers."""

    greeting: str
    """The version that the handshake names."""

    def password_of(self, user: str) -> str | None:
        """None for a user that there is not."""
        ...

    def run(self, statement: str, session: Session) -> Answer:
        """The answer, or MysqlError, also while its rows are read."""
        ...


class MysqlServer(socketserver.ThreadingTCPServer):
    """Listens on a free loopback port until it is stopped."""

    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True

    def __init__(self, host: Host) -> None:
        super().__init__(("127.0.0.1", 0), _Conversation)
        self.host = host
        self.port: int = self.server_address[1]
        self.numbers = itertools.count(1)
        self._open: set[socket.socket] = set()
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no failure of the server."""

    def stop(self) -> None:
        """Listen no more, and hang up on whoever is connected."""
        self.shutdown()
        self.server_close()
        for connection in list(self._open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


class _Conversation(socketserver.BaseRequestHandler):
    server: MysqlServer

    def handle(self) -> None:
        self._sequence = 0
        # Small packets one after the other would each wait for an acknowledgement.
        self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with contextlib.suppress(OSError, EOFError):
            session = self._greet()
            while session is not None and self._command(session):
                pass

    def _greet(self) -> Session | None:
        """The session, once the user is known to be who it says; None for anybody else."""
        salt = bytes(1 + byte % 126 for byte in os.urandom(20))
        self._send(
            bytes([10])
            + self.server.host.greeting.encode()
            + b"\0"
            + struct.pack("<I", next(self.server.numbers))
            + salt[:8]
            + b"\0"
            + struct.pack("<HBHH", _CAPABILITIES & 0xFFFF, _UTF8, _AUTOCOMMIT, _CAPABILITIES >> 16)
            + bytes([len(salt) + 1])
            + bytes(10)
            + salt[8:]
            + b"\0mysql_native_password\0"
        )
        user, token, database = _login(self._receive())
        expected = self.server.host.password_of(user)
        if expected is None or token != _native(expected, salt):
            self._fail(MysqlError(1045, f"Access denied for user '{user}'", "28000"))
            return None
        self._succeed()
        return Session(user, database)

    def _command(self, session: Session) -> bool:
        """Answer one command; whether the client stays."""
        self._sequence = 0
        packet = self._receive()
        command, text = packet[0], packet[1:].decode()
        if command == _QUIT:
            return False
        try:
            if command == _INIT_DB:
                session.database = text
                self._succeed()
            elif command == _PING:
                self._succeed()
            elif command == _QUERY:
                self._answer(self.server.host.run(text, session))
            else:
                raise MysqlError(1047, f"(Unsupported): command {command}", "08S01")
        except MysqlError as error:
            self._fail(error)
        return True

    def _answer(self, answer: Answer) -> None:
        if not answer.columns:
            self._succeed()
            return
        self._send(_number(len(answer.columns)))
        for column in answer.columns:
            self._send(_definition(column))
        self._end()
        buffer = bytearray()
        try:
            for row in answer.rows:
                buffer += self._framed(b"".join(b"\xfb" if v is None else _number(len(v)) + v for v in row))
                if len(buffer) > 1 << 16:
                    self.request.sendall(buffer)
                    buffer.clear()
        finally:
            # Also what came before an error.
            self.request.sendall(buffer)
        self._end()

    def _succeed(self) -> None:
        self._send(b"\0\0\0" + struct.pack("<HH", _AUTOCOMMIT, 0))

    def _end(self) -> None:
        self._send(b"\xfe" + struct.pack("<HH", 0, _AUTOCOMMIT))

    def _fail(self, error: MysqlError) -> None:
        self._send(b"\xff" + struct.pack("<H", error.code) + b"#" + error.state.encode() + str(error).encode())

    def _framed(self, payload: bytes) -> bytes:
        assert len(payload) < _LARGEST, "rows of several packets are not spoken here"
        framed = struct.pack("<I", len(payload))[:3] + bytes([self._sequence]) + payload
        self._sequence = (self._sequence + 1) % 256
        return framed

    def _send(self, payload: bytes) -> None:
        self.request.sendall(self._framed(payload))

    def _receive(self) -> bytes:
        head = self._exactly(4)
        self._sequence = (head[3] + 1) % 256
        return self._exactly(int.from_bytes(head[:3], "little"))

    def _exactly(self, size: int) -> bytes:
        received = bytearray()
        while len(received) < size:
            part = self.request.recv(size - len(received))
            if not part:
                raise EOFError
            received += part
        return bytes(received)


def _login(packet: bytes) -> tuple[str, bytes, str]:
    """User, answer to the salt, and database, out of a HandshakeResponse41."""
    (capabilities,) = struct.unpack_from("<I", packet)
    user, _, rest = packet[32:].partition(b"\0")
    assert rest[0] < 251 or not capabilities & _LENGTH_ENCODED_AUTH
    token, rest = rest[1 : 1 + rest[0]], rest[1 + rest[0] :]
    database = rest.partition(b"\0")[0].decode() if capabilities & _WITH_DATABASE else ""
    return user.decode(), token, database


def _native(password: str, salt: bytes) -> bytes:
    """mysql_native_password: SHA1(password) XOR SHA1(salt + SHA1(SHA1(password)))."""
    if not password:
        return b""

    def sha1(data: bytes) -> bytes:
        return hashlib.sha1(data).digest()

    once = sha1(password.encode())
    return bytes(a ^ b for a, b in zip(once, sha1(salt + sha1(once)), strict=True))


def _number(value: int) -> bytes:
    """A length-encoded integer."""
    if value < 251:
        return bytes([value])
    size, mark = (2, 0xFC) if value < 1 << 16 else (3, 0xFD) if value < 1 << 24 else (8, 0xFE)
    return bytes([mark]) + value.to_bytes(size, "little")


def _definition(column: ResultColumn) -> bytes:
    def text(value: str) -> bytes:
        return _number(len(value.encode())) + value.encode()

    names = text("def") + text("") * 3 + text(column.name) * 2
    charset = _BINARY if column.binary else _UTF8
    flags = _UNSIGNED if column.unsigned else 0
    return names + b"\x0c" + struct.pack("<HIBHB", charset, 1024, column.type, flags, 0) + b"\0\0"
