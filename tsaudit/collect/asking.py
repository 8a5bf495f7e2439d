"""Asks an audited database within its budget: each failure becomes a gap, each statement is on the bill."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Final, TypeVar

from tsaudit.collect.agreement import in_order
from tsaudit.collect.bill import Bill
from tsaudit.collect.connections import Connections
from tsaudit.engines.connection import Connection, ConnectorError, FactError
from tsaudit.engines.engine import Engine
from tsaudit.engines.queries import query_name
from tsaudit.engines.registry import ENGINES
from tsaudit.model.facts import FACTS, Given, Scope
from tsaudit.model.facts.given import OfTarget
from tsaudit.model.profile import Cost, Gap, How, Reason, Source, Window
from tsaudit.net import watchdog
from tsaudit.net.watchdog import Deadline, OutOfTimeError, bounded

if TYPE_CHECKING:
    import pyarrow as pa

    from tsaudit.config.settings import Target

T = TypeVar("T")

_ALIVE_TIMEOUT_S: Final = 5.0
_GRACE_S: Final = 2.0
"""How much later than the connection itself the watchdog breaks off: a server's own words on a timeout say more."""
_MOST_HELD: Final = 64 << 20
"""Bytes of an answer about one measurement that is gathered before it is used."""
_MOST_NAMES: Final = 16 << 20
"""The same of lists of names, some 800,000 of them: each takes ten times its bytes once it is on a list."""
_STREAMED: Final = frozenset({"series_listing"})
"""Facts whose rows are used as they arrive; how many is for their own limits to say."""
_SILENCE: Final = frozenset({Reason.UNREACHABLE, Reason.TIMED_OUT})


_NAMES: Final = {"databases": "database", "measurements": "measurement"}
"""Lists of names to the column that has them."""


class TooMuchError(Exception):
    """Raised by a consumer that may read no more: the statement is given up and leaves a gap over budget."""


def _see_names(fact: str, batch: pa.RecordBatch) -> None:
    """ValueError where a name is missing from a list of names: everything after it would break over that."""
    if fact in _NAMES and batch.column(_NAMES[fact]).null_count:
        raise ValueError("a name is null")


def not_understood(error: Exception) -> str:
    """What a gap says of an answer that tsaudit is not prepared for."""
    text = str(error).strip() or "no message"
    return f"tsaudit cannot make sense of the answer ({type(error).__name__}: {text.splitlines()[0][:200]})"


class Asker:
    """Runs statements one target at a time, and keeps the gaps and the costs. Safe for use by several threads."""

    def __init__(
        self, target: Target, connection: Connection, window: Window, deadline: Deadline | None = None
    ) -> None:
        self.target = target
        self.window = window
        self.gaps: list[Gap] = []
        self.statements: dict[str, str] = {}
        """Fact to statement, of the facts about a database or the target."""
        self._deadline = deadline or Deadline(target.budget.deadline_s)
        self._connections = Connections(connection, self._deadline)
        self._bill = Bill(target.budget.max_bytes_scanned)
        self._ways: dict[tuple[str, str | None, str | None], tuple[str, str]] = {}
        """(fact, database, measurement) to query file and scope, of answers that did not come the normal way."""
        self._since: dict[tuple[str, str | None, str | None], datetime] = {}
        """The same to where an answer begins that does not cover the whole window."""
        self._at_most: dict[tuple[str, str | None, str | None], str] = {}
        """The same to why an answer may hold more than was asked for."""
        self._paths: dict[tuple[str, str | None], tuple[str, ...]] = {}
        """(fact, database) to the path that the answer came by, where there was one."""
        self._reasons: dict[tuple[str, str | None, str | None], Reason] = {}
        self._lock = threading.Lock()
        self._gone = ""
        """Why nothing more is asked: the server is gone. Empty while it is there."""

    @property
    def engine(self) -> Engine:
        """What is true of the target's engine."""
        return ENGINES[self.target.engine]

    @property
    def now(self) -> datetime:
        """The instant the figures are as of."""
        return self.window.end

    def source(
        self,
        fact: str,
        how: How = How.EXACT,
        scope: str = "",
        *,
        database: str | None = None,
        measurement: str | None = None,
    ) -> Source:
        """Where a figure had by this fact's query, about the measurement or database, comes from."""
        query, own_scope = self._ways.get((fact, database, measurement), ("", ""))
        return Source(query or query_name(self.target.engine, fact), how, self.now, scope or own_scope)

    def at_most(self, fact: str, database: str, measurement: str) -> str:
        """Why the fact's answer about the measurement may hold more than belongs to it; empty where it does not."""
        return self._at_most.get((fact, database, measurement), "")

    def path_of(self, fact: str, database: str) -> tuple[str, ...]:
        """By which path the fact's answer about the database came; see `connector.Rows`."""
        return self._paths.get((fact, database), ())

    def window_of(self, fact: str, database: str, measurement: str) -> Window:
        """What the answer covers: the window, or the part of it that the engine read at once."""
        return Window(self._since.get((fact, database, measurement), self.window.start), self.window.end)

    def ask(
        self,
        fact: str,
        consume: Callable[[pa.RecordBatch], None],
        given: Given,
        *,
        measurement: str | None = None,
        first_only: bool = False,
    ) -> str | None:
        """Feed the whole answer to `consume`; the statement that was sent. None: a gap was left, forget what came.

        `given` fills in the query. `measurement`: the one that a query about several is about this time.
        `first_only`: give the statement up after the first batch.
        """
        if type(given) is not FACTS[fact].given:
            raise TypeError(f"{fact} is given {FACTS[fact].given.__name__}, not {type(given).__name__}")
        database, measurement = given.subject[0], measurement or given.subject[1]
        if self._gone:
            self.gap(fact, Reason.UNREACHABLE, self._gone, database, measurement)
            return None
        left = self._deadline.left()
        if left <= 0:
            self.gap(fact, Reason.OVER_BUDGET, self._out_of_time(), database, measurement)
            return None
        if overspent := self._bill.overspent():
            self.gap(fact, Reason.OVER_BUDGET, overspent, database, measurement)
            return None
        timeout = min(self.target.budget.statement_timeout_s, left)
        try:
            return self._run(fact, consume, timeout, first_only, given, measurement)
        except TooMuchError as error:
            self.gap(fact, Reason.OVER_BUDGET, str(error), database, measurement)
        except (FactError, OutOfTimeError) as error:
            reason, detail = _reason(error, timeout)
            if reason is Reason.TIMED_OUT and timeout < self.target.budget.statement_timeout_s:
                reason, detail = Reason.OVER_BUDGET, self._out_of_time()
            self.gap(fact, reason, detail, database, measurement)
            if reason in _SILENCE:
                self._see_whether_gone(detail)
        except ConnectorError as error:
            self.gap(fact, Reason.UNREACHABLE, str(error), database, measurement)
            self._see_whether_gone(str(error))
        except Exception as error:
            # Whatever a database may answer, one statement's answer must not end the audit.
            self.gap(fact, Reason.FAILED, not_understood(error), database, measurement)
        return None

    @contextmanager
    def understanding(self, fact: str, database: str, measurement: str | None = None) -> Iterator[None]:
        """What breaks inside over the fact's answer is a gap in it, and the audit goes on."""
        try:
            yield
        except Exception as error:
            self.gap(fact, Reason.FAILED, not_understood(error), database, measurement)

    def gap(
        self, fact: str, reason: Reason, detail: str, database: str | None = None, measurement: str | None = None
    ) -> None:
        """Note that something was not measured."""
        with self._lock:
            self.gaps.append(Gap(fact, reason, detail, database, measurement))
            self._reasons[fact, database, measurement] = reason

    def why(self, facts: tuple[str, ...], database: str, measurement: str) -> Reason:
        """Why one of the facts is missing for the measurement; FAILED when there is no gap that says so."""
        keys = [(fact, database, name) for fact in facts for name in (measurement, None)]
        return next((self._reasons[key] for key in keys if key in self._reasons), Reason.FAILED)

    def gap_in(self, fact: str, database: str, measurement: str) -> Gap | None:
        """The last gap that was left in the fact about the measurement."""
        found = (gap for gap in reversed(self.gaps) if (gap.database, gap.measurement) == (database, measurement))
        return next((gap for gap in found if gap.fact == fact), None)

    def gap_in_all(self, facts: Iterable[str], reason: Reason, detail: str, database: str | None = None) -> None:
        """Note the same for all the facts that are about a database or its measurements."""
        for fact in sorted(facts):
            if FACTS[fact].scope is not Scope.TARGET:
                self.gap(fact, reason, detail, database)

    def each(self, step: Callable[[T], T], subjects: Sequence[T]) -> list[T]:
        """What the step makes of every subject, in their order.

        `budget.concurrency` of them at a time, each worker with a connection of its own.
        """
        workers = min(self.target.budget.concurrency, len(subjects))
        if workers <= 1:
            return [step(subject) for subject in subjects]
        made = list(subjects)

        def make(place: int) -> None:
            made[place] = step(subjects[place])

        try:
            watchdog.each(make, range(len(subjects)), workers)
        finally:
            self._connections.close_others()
        return made

    def close(self) -> None:
        """Close the connections that were opened while asking."""
        self._connections.close()

    def costs(self) -> tuple[Cost, ...]:
        """The bill so far, by fact."""
        return self._bill.costs()

    def sorted_gaps(self) -> tuple[Gap, ...]:
        """The gaps, each once, in an order that does not depend on which worker was faster."""
        return in_order(set(self.gaps))

    def _run(
        self,
        fact: str,
        consume: Callable[[pa.RecordBatch], None],
        timeout: float,
        first_only: bool,
        given: Given,
        measurement: str | None,
    ) -> str:
        connection = self._connections.here()
        with self._bill.statement(fact) as count, self._bounded(timeout, connection):
            rows = connection.query(fact, timeout, given)
            held, most = 0, _MOST_HELD if FACTS[fact].scope is Scope.MEASUREMENT else _MOST_NAMES
            try:
                for batch in rows:
                    running = count(batch.num_rows, rows)
                    held += batch.nbytes
                    if held > most and fact not in _STREAMED:
                        raise TooMuchError(f"the answer has more than {most >> 20} MiB")
                    if overspent := self._bill.overspent(running):
                        raise TooMuchError(overspent)
                    if batch.num_columns:
                        _see_names(fact, batch)
                        consume(batch)
                    if first_only and batch.num_columns:
                        break
            finally:
                rows.close()
                count(0, rows)
        about = fact, given.subject[0], measurement
        with self._lock:
            if rows.since is not None:
                self._since[about] = rows.since
            if rows.at_most:
                self._at_most[about] = rows.at_most
            if rows.path:
                self._paths[about[:2]] = rows.path
            if rows.query or rows.scope:
                self._ways[about] = (rows.query, rows.scope)
            if FACTS[fact].scope is not Scope.MEASUREMENT:
                self.statements[fact] = rows.statement
        return rows.statement

    @contextmanager
    def _bounded(self, timeout: float, connection: Connection) -> Iterator[None]:
        """Break the connection off soon after the timeout, if it does not keep to it. OutOfTimeError."""
        limit = bounded(timeout + _GRACE_S, connection.abort)
        try:
            with limit:
                yield
        finally:
            if limit.fired:
                self._connections.broke_off()

    def _see_whether_gone(self, detail: str) -> None:
        """Try once whether the server answers at all; if not, nothing more is asked, so that no timeouts add up."""
        timeout = min(_ALIVE_TIMEOUT_S, self._deadline.left())
        if timeout <= 0:
            return  # nothing more is asked anyway
        try:
            connection = self._connections.here()
            with self._bill.statement("databases"), self._bounded(timeout, connection):
                for _ in connection.query("databases", timeout, OfTarget()):
                    pass
        except FactError as error:
            if error.reason in _SILENCE:
                self._gone = f"the server no longer answers: {detail}"
        except (ConnectorError, OutOfTimeError):
            self._gone = f"the server no longer answers: {detail}"
        except Exception:  # noqa: S110 -- it did answer, whatever that was
            pass

    def _out_of_time(self) -> str:
        return f"the audit's {self.target.budget.deadline_s:g} s were used up; raise budget.deadline_s"


def _reason(error: FactError | OutOfTimeError, timeout: float) -> tuple[Reason, str]:
    if isinstance(error, FactError):
        return error.reason, error.detail
    return Reason.TIMED_OUT, f"no answer within {timeout:.3g} s; the connection was broken off"
