"""MongoDB: commands over its own protocol, by pymongo."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import pymongo
from pymongo import errors, uri_parser
from pymongo.read_preferences import ReadPreference

from tsaudit.engines.connection import ConnectorError, Rows
from tsaudit.engines.mongodb.answers import READERS
from tsaudit.engines.mongodb.asking import Asking, Row, Server, in_short
from tsaudit.engines.mongodb.client import Client
from tsaudit.model.facts import Given
from tsaudit.net.port_probe import what_listens

_AUTHENTICATION_FAILED: Final = 18
"""https://www.mongodb.com/docs/manual/reference/error-codes/"""


@contextmanager
def connect(
    url: str, *, username: str | None, password: str | None, options: Mapping[str, Any]
) -> Iterator[MongoConnection]:
    """A connection to the server or cluster, whose version has been asked for. ConnectorError."""
    if not url.startswith(("mongodb://", "mongodb+srv://")):
        raise ConnectorError("the URL is not of the form mongodb://host:27017 or mongodb+srv://host")
    timeout_s = float(options.get("connect_timeout_s", 10.0))
    login: dict[str, Any] = {"username": username, "password": password} if username else {}
    try:
        client = Client(url, timeout_s, login)
    except (errors.PyMongoError, ValueError) as error:
        # What the driver says may quote a password that it took for a port.
        kind = type(error).__name__
        seek = " Does the domain name have an SRV record?" if url.startswith("mongodb+srv://") else ""
        raise ConnectorError(
            f"the URL is none that MongoDB's driver understands ({kind}); is it mongodb://user:password@host:27017, "
            f"with what is special in user and password percent-encoded?{seek}"
        ) from None
    try:
        yield MongoConnection(Server(client, _build_info(client.driver, url, timeout_s)))
    finally:
        client.driver.close()


class MongoConnection:
    """A server, which threads may share: the client keeps connections of its own."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self.server_version = server.version

    def query(self, fact: str, timeout_s: float, given: Given) -> Rows:
        """Run `sql/mongodb/<fact>.json`, once or for each collection; see `connector.Connection`."""
        parameters = given.variables()
        rows = Rows("", iter(()))
        rows.statements = 0
        return rows.reading(READERS[fact](Asking(self._server, fact, rows, timeout_s, parameters)))

    def reconnect(self) -> MongoConnection:
        """The same client, or a new one after it was closed, and what is known of the server."""
        self._server.client.open_again()
        return MongoConnection(self._server)

    def close(self) -> None:
        """Nothing: the client is closed by whoever connected."""

    def abort(self) -> None:
        """Break off what runs, for all threads that share the client."""
        self._server.client.abort()


def _build_info(client: pymongo.MongoClient[Any], url: str, timeout_s: float) -> Row:
    try:
        with pymongo.timeout(timeout_s):
            found: Row = client.admin.command("buildInfo", read_preference=ReadPreference.SECONDARY_PREFERRED)
        return found
    except errors.PyMongoError as error:
        if not isinstance(error, errors.OperationFailure):
            _name_another(url)
        hint = "; is it the right address?" if error.timeout else ""
        raise ConnectorError(f"{_what_failed(error)} ({in_short(error)}){hint}") from error


def _what_failed(error: errors.PyMongoError) -> str:
    if error.timeout:
        return "the server does not answer"
    if isinstance(error, errors.OperationFailure):
        if error.code == _AUTHENTICATION_FAILED:
            return "the server refuses the user name or the password"
        return "the server refuses the command buildInfo"
    if isinstance(error, errors.ConnectionFailure):
        return "the connection broke off before the server sent its version"
    return "MongoDB's driver cannot talk to this server"


def _name_another(url: str) -> None:
    """ConnectorError if what listens there is known for something else."""
    if not url.startswith("mongodb://"):
        return  # the hosts are only known to the domain name system
    host, port = uri_parser.parse_uri(url)["nodelist"][0]
    other = what_listens(host, port) if port else ""
    if other not in ("", "MongoDB"):
        raise ConnectorError(f"{host}:{port}: {other} answers, not MongoDB")
