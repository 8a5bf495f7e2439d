"""MongoDB: commands over its own protocol, through pymongo."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import pymongo
from pymongo import errors, uri_parser
from pymongo.read_preferences import ReadPreference

from tsaudit.engines.connection import Access, ConnectorError, Rows
from tsaudit.engines.mongodb.answers import READERS
from tsaudit.engines.mongodb.commands import Client, Query, Row, Server, in_short
from tsaudit.model.query_parameters import Given
from tsaudit.net.port_probe import what_listens

_AUTHENTICATION_FAILED: Final = 18
"""https://www.mongodb.com/docs/manual/reference/error-codes/"""


@contextmanager
def connect(access: Access) -> Iterator[MongoConnection]:
    """An open connection to the server or cluster, whose version is known. Raises ConnectorError."""
    if not access.url.startswith(("mongodb://", "mongodb+srv://")):
        raise ConnectorError("the URL is not of the form mongodb://host:27017 or mongodb+srv://host")
    timeout_s = access.connect_timeout_s
    login: dict[str, Any] = {"username": access.username, "password": access.password} if access.username else {}
    try:
        client = Client(access.url, timeout_s, login)
    except (errors.PyMongoError, ValueError) as error:
        # The driver's message may quote a password that it mistook for a port.
        kind = type(error).__name__
        seek = " Does the domain name have an SRV record?" if access.url.startswith("mongodb+srv://") else ""
        raise ConnectorError(
            f"MongoDB's driver does not understand the URL ({kind}); is it mongodb://user:password@host:27017, "
            f"with special characters in user and password percent-encoded?{seek}"
        ) from None
    try:
        yield MongoConnection(Server(client, _build_info(client.driver, access.url, timeout_s)))
    finally:
        client.driver.close()


class MongoConnection:
    """A connection to a server, which threads may share: the client has several connections."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self.server_version = server.version

    def query(self, fact: str, timeout_s: float, given: Given) -> Rows:
        """Run `sql/mongodb/<fact>.json`, once or for each collection; see `connection.Connection`."""
        parameters = given.variables()
        rows = Rows()
        rows.statements = 0
        return rows.reading(READERS[fact](Query(self._server, fact, rows, timeout_s, parameters)))

    def reconnect(self) -> MongoConnection:
        """The same client, or a new one if it was closed, including what is known about the server."""
        self._server.client.open_again()
        return MongoConnection(self._server)

    def close(self) -> None:
        """Does nothing: the code that connected closes the client."""

    def abort(self) -> None:
        """Abort the current operations of all threads that share the client."""
        self._server.client.abort()


def _build_info(client: pymongo.MongoClient[Any], url: str, timeout_s: float) -> Row:
    try:
        with pymongo.timeout(timeout_s):
            found: Row = client.admin.command("buildInfo", read_preference=ReadPreference.SECONDARY_PREFERRED)
        return found
    except errors.PyMongoError as error:
        if not isinstance(error, errors.OperationFailure):
            _name_another(url)
        hint = "; is the address correct?" if error.timeout else ""
        raise ConnectorError(f"{_what_failed(error)} ({in_short(error)}){hint}") from error


def _what_failed(error: errors.PyMongoError) -> str:
    if error.timeout:
        return "the server does not respond"
    if isinstance(error, errors.OperationFailure):
        if error.code == _AUTHENTICATION_FAILED:
            return "the server rejects the user name or the password"
        return "the server rejects the command buildInfo"
    if isinstance(error, errors.ConnectionFailure):
        return "the connection broke before the server sent its version"
    return "MongoDB's driver does not support this server"


def _name_another(url: str) -> None:
    """Raises ConnectorError if another product is recognized at the address."""
    if not url.startswith("mongodb://"):
        return  # only DNS knows the hosts
    host, port = uri_parser.parse_uri(url)["nodelist"][0]
    other = what_listens(host, port) if port else ""
    if other not in ("", "MongoDB"):
        raise ConnectorError(f"{host}:{port}: {other} responds, not MongoDB")
