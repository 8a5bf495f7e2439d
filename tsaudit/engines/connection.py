"""What an engine has to provide so that tsaudit can audit it, and how it says that something cannot be had."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

from tsaudit import secrets
from tsaudit.model.facts import Given
from tsaudit.model.profile import Reason
from tsaudit.secrets import MaskedError

if TYPE_CHECKING:
    import pyarrow as pa


class ConnectorError(MaskedError):
    """The target cannot be audited at all: no driver, no server, no access. One line, with what to do."""


class FactError(MaskedError):
    """One statement failed; the rest of the audit goes on. Becomes a gap."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = secrets.mask(detail)


class Rows:
    """The answer to one statement, read as it arrives.

    Iterate once, over Arrow record batches; leaving the iteration early cancels the statement on the server. A batch
    without columns says that the server is at work: it lets the reader look at the cost so far.
    A statement that breaks off raises FactError from the iteration: what came before is not the answer.
    """

    def __init__(self, statement: str, batches: Iterator[pa.RecordBatch]) -> None:
        self.statement = statement
        """As sent, without parameters left to fill in."""
        self.bytes: int | None = None
        """Received so far; None where the driver does not tell."""
        self.bytes_scanned: int | None = None
        """Read by the server so far to answer; None where it does not tell."""
        self.bytes_metered: int | None = None
        """Those of them that the provider charges for; None where it does not tell."""
        self.statements = 1
        """Sent so far: one, unless the answer has pages or has to be put together."""
        self.query = ""
        """The query file below `sql/`, where it was not the normal one for the fact."""
        self.scope = ""
        """What the answer covers or counts, in words, where the engine has several ways to it."""
        self.at_most = ""
        """Why the answer may hold more than was asked for; empty where it holds just that."""
        self.path: tuple[str, ...] = ()
        """What stood before the names of measurements, where the answer came by a name of the database's own; see
        `profile.Measurement.path`."""
        self.since: datetime | None = None
        """Where the answer begins, if later than asked for: the engine reads no longer window at once."""
        self._batches = batches

    def reading(self, batches: Iterator[pa.RecordBatch]) -> Rows:
        """The same answer, read from `batches`: for a source that itself reports to these rows."""
        self._batches = batches
        return self

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self._batches

    def close(self) -> None:
        """Give the statement up."""
        close = getattr(self._batches, "close", None)
        if close is not None:
            close()


class Connection(Protocol):
    """An open connection to one target. Not for use by two threads at once."""

    server_version: str

    def query(self, fact: str, timeout_s: float, given: Given) -> Rows:
        """Run `sql/<engine>/<fact>.*`, filled in with what is given: an instance of `facts.FACTS[fact].given`.

        Each batch has the columns that `facts.FACTS[fact]` names. Raises FactError, here or while the rows are read.
        The statement is cancelled, on the server where the engine can, `timeout_s` seconds after the call.
        """
        ...

    def reconnect(self) -> Connection:
        """A further connection to the same target, for use by another thread, or after this one was aborted."""
        ...

    def abort(self) -> None:
        """Break off whatever runs, at once and from another thread, by shutting the socket down; raises nothing.

        The thread that waits gets an error. Nothing can be asked of this connection afterwards; `reconnect()` may work.
        """
        ...

    def close(self) -> None:
        """Release it."""
        ...


class Connector(Protocol):
    """What a module in `tsaudit.engines.opening` defines: the way to open a connection."""

    def connect(
        self, url: str, *, username: str | None, password: str | None, options: Mapping[str, Any]
    ) -> AbstractContextManager[Connection]:
        """Raises ConnectorError."""
        ...
