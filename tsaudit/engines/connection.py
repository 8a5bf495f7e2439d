"""What an engine has to provide so that tsaudit can audit it, and the errors that report that something is unavailable.
For engines that refuse statements that read too many files, the longest readable window is found by repeatedly halving
it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, Protocol, Self

from tsaudit import secrets
from tsaudit.errors import TsauditError
from tsaudit.model.facts import FACTS, Given
from tsaudit.model.figures import Reason

if TYPE_CHECKING:
    import pyarrow as pa

    from tsaudit.model.facts import OfMeasurement


@dataclass(frozen=True, slots=True)
class Access:
    """Where a target's server or file is, and how to sign in."""

    url: str = field(repr=False)
    """The address, with the engine's own scheme. It may contain a login."""
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    databases: tuple[str, ...] = ()
    """The databases that the target names; empty for all."""
    connect_timeout_s: float = 10.0
    """Time limit of one step of connecting, in seconds."""


class ConnectorError(TsauditError):
    """The target cannot be audited at all: no driver, no server, no access. The text, one line, says what to do."""


class AddressError(ConnectorError):
    """The URL of a target is none of its engine's. The text shows only how the URL begins: more of it may be secret."""

    def __init__(self, form: str, url: str) -> None:
        """`form`: an example, and in parentheses what else to know."""
        scheme, separator, _ = url.partition("://")
        is_scheme = bool(separator) and scheme.replace("+", "").replace("-", "").replace(".", "").isalnum()
        is_other = is_scheme and scheme.removesuffix("s") not in form
        super().__init__(f"the URL is not of the form {form}{f': it starts with `{scheme}://`' if is_other else ''}")


class FactError(TsauditError):
    """One statement failed. The rest of the audit continues, and the fact becomes a gap."""

    def __init__(self, reason: Reason, cause: str, fix: str = "", *, cheaper_helps: bool | None = None) -> None:
        """`cause`: what happened. `fix`: what would help, such as a right; empty if nothing is known to.
        `cheaper_helps`: whether asking for less might help; None: True if it took too long or returned too much.
        """
        self.cause, self.fix = secrets.mask(cause), secrets.mask(fix)
        super().__init__(f"{reason}: {self.detail}")
        self.reason = reason
        too_much = (Reason.TIMED_OUT, Reason.OVER_BUDGET)
        self.cheaper_helps = reason in too_much if cheaper_helps is None else cheaper_helps

    @property
    def detail(self) -> str:
        """In one line: what happened, and what would help."""
        return "; ".join(filter(None, (self.cause, self.fix)))


class Rows:
    """The response to one statement, read as it arrives.

    Iterate over the Arrow record batches once; leaving the iteration early cancels the statement on the server. A batch
    without columns means that the server is still working, and allows the reader to check the cost so far. If the
    statement fails midway, the iteration raises FactError: the batches before that are not a valid response.
    """

    def __init__(self, statement: str = "", batches: Iterator[pa.RecordBatch] | None = None) -> None:
        self.statement = statement
        """The statement as sent, with all parameters filled in; empty before it is known."""
        self.bytes: int | None = None
        """Bytes received so far; None if the driver does not report them."""
        self.bytes_scanned: int | None = None
        """Bytes read by the server so far; None if it does not report them."""
        self.bytes_metered: int | None = None
        """Bytes that the provider bills; None if it does not report them."""
        self.statements = 1
        """Requests sent so far: one, unless the response has pages or is put together from several."""
        self.query = ""
        """The query file below `sql/`, if it is not the normal one for the fact."""
        self.scope = ""
        """What the response covers or counts, in words, if the engine can obtain it in several ways."""
        self.at_most = ""
        """Why the response may contain more than was requested; empty if it does not."""
        self.path: tuple[str, ...] = ()
        """The prefix of measurement names, if it uses another name for the database; see `profile.Measurement.path`."""
        self.refused: dict[str, FactError] = {}
        """Measurement to the error, for measurements that the server refused to report in a response about several."""
        self.since: datetime | None = None
        """Where the response begins, if the engine reads no window as long as requested in one query; or None."""
        self._batches = batches or iter(())

    def reading(self, batches: Iterator[pa.RecordBatch]) -> Self:
        """The same response, read from `batches`. For a source that updates these rows itself."""
        self._batches = batches
        return self

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self._batches

    def close(self) -> None:
        """Cancel the statement, and keep no batch of the response."""
        close = getattr(self._batches, "close", None)
        if close is not None:
            close()
        self._batches = iter(())


def fact_batch(fact: str, rows: Iterable[Mapping[str, Any]], *further: str) -> pa.RecordBatch:
    """The rows with the fact's columns and `further` ones, null where a row lacks one. Types follow from the values."""
    import pyarrow as pa

    found = list(rows)
    columns = [*FACTS[fact].columns, *further]
    return pa.record_batch([pa.array([row.get(name) for row in found]) for name in columns], names=columns)


class RowsOfSeveral(Rows):
    """The response to one statement about several measurements of a database, each batch about one of them."""

    def __init__(self, statement: str, alone: dict[str, str]) -> None:
        super().__init__(statement)
        self.alone = alone
        """Measurement to the statement that returns the same rows for that measurement alone, for all measurements that
        the response covers. Once the response is complete, a measurement without batches has no rows.
        """
        self.measurement = ""
        """The measurement that the last batch is about."""


@dataclass(frozen=True, slots=True)
class FactQuery:
    """One query for a fact, and where its response is recorded. It may need several statements."""

    fact: str
    about: Mapping[str, Any]
    """The parameters of the statement."""
    rows: Rows
    timeout_s: float
    """The time limit for all statements together, in seconds."""
    began: float = field(default_factory=time.monotonic)

    @property
    def deadline(self) -> float:
        """When the time is up, as a reading of `time.monotonic()`."""
        return self.began + self.timeout_s

    @property
    def left_s(self) -> float:
        """Seconds left for another statement, always positive."""
        return max(self.deadline - time.monotonic(), 0.001)


class Connection(Protocol):
    """An open connection to one target. Not thread-safe."""

    server_version: str

    def query(self, fact: str, timeout_s: float, given: Given) -> Rows:
        """Run `sql/<engine>/<fact>.*` with the given parameters: an instance of `facts.FACTS[fact].given`.

        Each batch has the columns listed in `facts.FACTS[fact]`. Raises FactError, here or while the rows are read. The
        statement is canceled `timeout_s` seconds after the call, on the server if the engine supports it.
        """
        ...

    def reconnect(self) -> Connection:
        """Another connection to the same target, for use by another thread, or if this one was aborted."""
        ...

    def abort(self) -> None:
        """Abort the current statement immediately, from another thread, by shutting the socket down; raises nothing.

        The waiting thread gets an error. This connection cannot be used afterward; `reconnect()` may work.
        """
        ...

    def close(self) -> None:
        """Close the connection."""
        ...


class QueriesBatches(Connection, Protocol):
    """A connection that can query some facts for several measurements at once: those in `Engine.batched_facts`."""

    def query_together(self, fact: str, timeout_s: float, given: Sequence[OfMeasurement]) -> RowsOfSeveral:
        """The same as `query`, for several measurements of one database, whose columns of the same name have the same
        type.

        It may leave out some of the measurements, which are then queried one by one.
        """
        ...


_SHORTEST: Final = timedelta(minutes=10)
"""The time range of one file in InfluxDB 3 Core by default: a shorter window would not read fewer files."""

Sending = Callable[[dict[str, Any]], "Iterator[pa.RecordBatch]"]


class TooManyFilesError(FactError):
    """The statement would read more files than the server allows; a shorter window may work."""


class FileLimit:
    """The limits found on one server, for each measurement."""

    def __init__(self) -> None:
        self._since: dict[tuple[str, str], datetime] = {}
        """(database, measurement) to the start of the longest window within the limit."""

    def is_known(self, database: str, measurement: str) -> bool:
        """Whether the server has refused to read the measurement's whole window before."""
        return (database, measurement) in self._since

    def read(self, rows: Rows, parameters: Mapping[str, Any], send: Sending) -> Iterator[pa.RecordBatch]:
        """The response for the window, or for the longest part at its end that can be read; `rows.since` says where
        that begins.

        `send` is called with the parameters, including the start to use. Raises FactError if even the shortest part has
        too many files.
        """
        table = parameters["database"], parameters["measurement"]
        asked, end = parameters["start"], parameters["end"]
        start = max(asked, self._since.get(table, asked))
        while True:
            rows.since = start if start > asked else None
            try:
                yield from send({**parameters, "start": start})
                return
            except TooManyFilesError as error:
                if (end - start) / 2 < _SHORTEST:
                    detail = f"even {end - start} of data are in more files than the server reads in one query"
                    raise FactError(Reason.OVER_BUDGET, f"{detail} ({error.detail})") from error
            start = end - (end - start) / 2
            self._since[table] = start
            rows.statements += 1
