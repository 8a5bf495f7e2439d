"""Queries an audited database within its budget: each failure becomes a gap, and the cost of each statement is
recorded.
"""

from __future__ import annotations

import copy
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Final, TypeVar, cast

from tsaudit.collect.agreement import in_order
from tsaudit.collect.ahead import Ahead
from tsaudit.collect.bill import Bill
from tsaudit.collect.connections import Connections
from tsaudit.collect.responses import not_understood, reason_of, see_names
from tsaudit.engines.connection import Connection, ConnectorError, FactError, QueriesBatches
from tsaudit.engines.engine import Engine
from tsaudit.engines.queries import query_name
from tsaudit.engines.registry import ENGINES
from tsaudit.errors import TsauditError
from tsaudit.model.facts import FACTS, Given, Scope
from tsaudit.model.facts.given import OfMeasurement, OfTarget
from tsaudit.model.profile import Cost, Gap, How, Reason, Source, Window
from tsaudit.net import watchdog
from tsaudit.net.watchdog import Deadline, OutOfTimeError, bounded

if TYPE_CHECKING:
    import pyarrow as pa

    from tsaudit.config.settings import Target

T = TypeVar("T")

_ALIVE_TIMEOUT_S: Final = 5.0
_GRACE_S: Final = 2.0
"""How much later than the connection's own timeout the watchdog acts: the server's error about a timeout says more."""
_MOST_HELD: Final = 64 << 20
"""Maximum size of a response about one measurement that is collected before it is used, in bytes."""
_MOST_NAMES: Final = 16 << 20
"""The same for lists of names, about 800,000 of them: in memory, each takes ten times its size."""
_STREAMED: Final = frozenset({"series_listing"})
"""Facts whose rows are used as they arrive; their own limits apply."""
_SILENCE: Final = frozenset({Reason.UNREACHABLE, Reason.TIMED_OUT})
_SPOILS: Final = _SILENCE | {Reason.DENIED, Reason.FAILED}
"""Gaps after which a measurement is no longer queried together with others."""


class TooMuchError(TsauditError):
    """Raised by a consumer that must not read any more: the statement is stopped and leaves a gap over budget."""


class Asker:
    """Runs statements on one target, and records gaps and costs. Thread-safe."""

    def __init__(
        self, target: Target, connection: Connection, window: Window, deadline: Deadline | None = None
    ) -> None:
        self.target = target
        self.window = window
        self.gaps: list[Gap] = []
        self.statements: dict[str, str] = {}
        """Fact to statement, for facts about a database or the target."""
        self._deadline = deadline or Deadline(target.budget.deadline_s)
        self._connections = Connections(connection, self._deadline)
        self._bill = Bill(target.budget.max_bytes_scanned)
        self._ahead = Ahead(self._deadline)
        self._ways: dict[tuple[str, str | None, str | None], tuple[str, str]] = {}
        """(fact, database, measurement) to query file and scope, for responses obtained in another way than usual."""
        self._since: dict[tuple[str, str | None, str | None], datetime] = {}
        """The same to the start of a response that does not cover the whole window."""
        self._at_most: dict[tuple[str, str | None, str | None], str] = {}
        """The same to the reason why a response may contain too much."""
        self._paths: dict[tuple[str, str | None], tuple[str, ...]] = {}
        """(fact, database) to the path used for the response, if there was one."""
        self._reasons: dict[tuple[str, str | None, str | None], Reason] = {}
        self._lock = threading.Lock()
        self._gone = ""
        """Why nothing more is queried: the server is gone. Empty as long as it responds."""

    @property
    def engine(self) -> Engine:
        """The target's engine."""
        return ENGINES[self.target.engine]

    def with_window(self, window: Window) -> Asker:
        """The same with another window. It uses the same connections and budget, and its gaps are its own."""
        other = copy.copy(self)
        other.window, other.gaps = window, []
        return other

    @property
    def now(self) -> datetime:
        """The time as of which the figures are."""
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
        """The source of a figure from this fact's query about the measurement or database."""
        query, own_scope = self._ways.get((fact, database, measurement), ("", ""))
        return Source(query or query_name(self.target.engine, fact), how, self.now, scope or own_scope)

    def at_most(self, fact: str, database: str, measurement: str) -> str:
        """Why the fact's response about the measurement may contain too much; empty if it does not."""
        return self._at_most.get((fact, database, measurement), "")

    def path_of(self, fact: str, database: str) -> tuple[str, ...]:
        """The path used for the fact's response about the database; see `connection.Rows`."""
        return self._paths.get((fact, database), ())

    def window_of(self, fact: str, database: str, measurement: str) -> Window:
        """The period that the response covers: the window, or the part of it that the engine reads in one query."""
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
        """Pass the whole response to `consume`, and return the statement sent. None: a gap was left; discard what was
        consumed.

        `given`: the query's parameters. `measurement`: the current one, if a query about several is sent separately for
        each. `first_only`: stop the statement after the first batch.
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
            reason, detail = reason_of(error, timeout)
            if reason is Reason.TIMED_OUT and timeout < self.target.budget.statement_timeout_s:
                reason, detail = Reason.OVER_BUDGET, self._out_of_time()
            self.gap(fact, reason, detail, database, measurement)
            if reason in _SILENCE:
                self._see_whether_gone(detail)
        except ConnectorError as error:
            self.gap(fact, Reason.UNREACHABLE, str(error), database, measurement)
            self._see_whether_gone(str(error))
        except Exception as error:
            # Whatever a database responds, the response to one statement must not end the audit.
            self.gap(fact, Reason.FAILED, not_understood(error), database, measurement)
        return None

    def ask_ahead(self, fact: str, given: Sequence[OfMeasurement]) -> None:
        """Query the fact of several measurements of one database with one statement, for later calls of `ask` with the
        same parameters. What is not obtained is left to them, and so are gaps.

        Only for facts in `Engine.batched_facts`.
        """
        timeout = self._ahead.seconds_for(self.target.budget.statement_timeout_s)
        if self._gone or timeout <= 0 or self._bill.overspent():
            return
        began = time.monotonic()
        try:
            connection = cast("QueriesBatches", self._connections.here())
            with self._bill.statement(fact) as count, self._bounded(timeout, connection):
                rows = connection.query_together(fact, timeout, given)
                self._ahead.read(fact, given, rows, lambda: bool(self._bill.overspent(count(0, rows))))
        except Exception as error:
            self._ahead.waste(time.monotonic() - began)
            if isinstance(error, (ConnectorError, OutOfTimeError)) or (
                isinstance(error, FactError) and error.reason in _SILENCE
            ):
                # Otherwise, the time limits of all statements about several would add up.
                self._see_whether_gone(str(error))

    def end_ahead(self) -> None:
        """Keep no response of `ask_ahead` any longer: the step that needed it was taken with all measurements."""
        self._ahead.drop()

    def has_failed(self, database: str, measurement: str) -> bool:
        """Whether a statement about the measurement has failed: one about several would fail with it."""
        reasons = (self._reasons.get((fact, database, measurement)) for fact in self.engine.batched_facts)
        return any(reason in _SPOILS for reason in reasons)

    @contextmanager
    def understanding(self, fact: str, database: str, measurement: str | None = None) -> Iterator[None]:
        """Turns errors in processing the fact's response into a gap, so that the audit continues."""
        try:
            yield
        except Exception as error:
            self.gap(fact, Reason.FAILED, not_understood(error), database, measurement)

    def gap(
        self, fact: str, reason: Reason, detail: str, database: str | None = None, measurement: str | None = None
    ) -> None:
        """Record that something was not measured."""
        with self._lock:
            self.gaps.append(Gap(fact, reason, detail, database, measurement))
            self._reasons[fact, database, measurement] = reason

    def why(self, facts: tuple[str, ...], database: str, measurement: str) -> Reason:
        """Why one of the facts is missing for the measurement; FAILED if no gap says so."""
        keys = [(fact, database, name) for fact in facts for name in (measurement, None)]
        return next((self._reasons[key] for key in keys if key in self._reasons), Reason.FAILED)

    def gap_in(self, fact: str, database: str, measurement: str) -> Gap | None:
        """The last gap in the fact about the measurement."""
        found = (gap for gap in reversed(self.gaps) if (gap.database, gap.measurement) == (database, measurement))
        return next((gap for gap in found if gap.fact == fact), None)

    def gap_in_all(self, facts: Iterable[str], reason: Reason, detail: str, database: str | None = None) -> None:
        """Record the same gap for all facts about a database or its measurements."""
        for fact in sorted(facts):
            if FACTS[fact].scope is not Scope.TARGET:
                self.gap(fact, reason, detail, database)

    def each(self, step: Callable[[T], T], subjects: Sequence[T]) -> list[T]:
        """The results of the step for all subjects, in their order.

        `budget.concurrency` subjects run at a time, each worker with its own connection.
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
        """Close the connections that were opened for queries."""
        self._connections.close()

    def costs(self) -> tuple[Cost, ...]:
        """The costs so far, by fact."""
        return self._bill.costs()

    def sorted_gaps(self) -> tuple[Gap, ...]:
        """The gaps, without duplicates, in an order that does not depend on the speed of the workers."""
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
        connection, kept = self._connections.here(), self._ahead.taken(fact, given)
        with self._bill.statement(fact, timed=kept is None) as count, self._bounded(timeout, connection):
            rows = kept or connection.query(fact, timeout, given)
            held, most = 0, _MOST_HELD if FACTS[fact].scope is Scope.MEASUREMENT else _MOST_NAMES
            try:
                for batch in rows:
                    running = count(batch.num_rows, rows)
                    held += batch.nbytes
                    if held > most and fact not in _STREAMED:
                        raise TooMuchError(f"the response has more than {most >> 20} MiB")
                    if overspent := self._bill.overspent(running):
                        raise TooMuchError(overspent)
                    if batch.num_columns:
                        see_names(fact, batch)
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
        """Abort the connection soon after the timeout if it exceeds it. OutOfTimeError."""
        limit = bounded(timeout + _GRACE_S, connection.abort)
        try:
            with limit:
                yield
        finally:
            if limit.fired:
                self._connections.broke_off()

    def _see_whether_gone(self, detail: str) -> None:
        """Check once whether the server responds at all; if not, stop querying, so that timeouts do not add up."""
        timeout = min(_ALIVE_TIMEOUT_S, self._deadline.left())
        if timeout <= 0:
            return  # nothing more is queried anyway
        try:
            connection = self._connections.here()
            with self._bill.statement("databases"), self._bounded(timeout, connection):
                for _ in connection.query("databases", timeout, OfTarget()):
                    pass
        except FactError as error:
            if error.reason in _SILENCE:
                self._gone = f"the server no longer responds: {detail}"
        except (ConnectorError, OutOfTimeError):
            self._gone = f"the server no longer responds: {detail}"
        except Exception:  # noqa: S110 -- it did answer, whatever that was
            pass

    def _out_of_time(self) -> str:
        return f"the audit's time limit of {self.target.budget.deadline_s:g} s is used up; raise budget.deadline_s"
