"""Queries an audited database within its budget: each failure becomes a gap, and the cost of statements is recorded."""

from __future__ import annotations

import contextlib
import copy
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Final, Generic, TypeVar, cast

import pyarrow as pa

from tsaudit.analysis.alike import Alike
from tsaudit.collect.plausibility import impossible
from tsaudit.engines.connection import Connection, ConnectorError, FactError, QueriesBatches, Rows, RowsOfSeveral
from tsaudit.engines.engine import Engine
from tsaudit.engines.queries import query_name
from tsaudit.engines.registry import ENGINES
from tsaudit.errors import TsauditError
from tsaudit.model.facts import FACTS, Given, OfMeasurement, OfTarget, Scope
from tsaudit.model.figures import Cost, Gap, How, Reason, Source, Window
from tsaudit.net import addresses, watchdog
from tsaudit.net.watchdog import Deadline, OutOfTimeError, bounded, within
from tsaudit.text import many, size

if TYPE_CHECKING:
    from tsaudit.config.settings import Target


def not_understood(error: Exception) -> str:
    """The text of a gap for a response that tsaudit does not expect."""
    if isinstance(error, TsauditError):
        return str(error)
    text = str(error).strip() or "no message"
    return f"tsaudit does not understand the response ({type(error).__name__}: {text.splitlines()[0][:200]})"


@dataclass(frozen=True, slots=True)
class Unanswered:
    """Why a statement was not answered."""

    reason: Reason
    cause: str
    fix: str = ""
    """What would help; empty if nothing is known to."""
    cheaper_helps: bool = False
    """Whether one that asks for less might be."""


def unanswered(error: FactError | OutOfTimeError | ConnectorError, timeout_s: float) -> Unanswered:
    """What the error of a statement says. `timeout_s`: its time limit."""
    if isinstance(error, ConnectorError):
        return Unanswered(Reason.UNREACHABLE, str(error))
    if isinstance(error, FactError):
        return Unanswered(error.reason, error.cause, error.fix, error.cheaper_helps)
    cause = f"no response within {timeout_s:.3g} s; the connection was closed"
    return Unanswered(Reason.TIMED_OUT, cause, cheaper_helps=True)


def in_order(gaps: Iterable[Gap]) -> tuple[Gap, ...]:
    """The gaps in the order of a profile."""
    return tuple(sorted(gaps, key=lambda g: (g.fact, g.database or "", g.measurement or "", g.reason, g.detail)))


class QueryCosts:
    """The cost of each fact. Thread-safe."""

    def __init__(self, max_bytes_scanned: int | None) -> None:
        """`max_bytes_scanned`: the most that may be scanned or billed; None for no limit."""
        self._most = max_bytes_scanned
        self._costs: dict[str, Cost] = {}
        self._lock = threading.Lock()

    def costs(self) -> tuple[Cost, ...]:
        """The costs so far, by fact."""
        return tuple(self._costs[fact] for fact in sorted(self._costs))

    @contextmanager
    def statement(self, fact: str, *, timed: bool = True) -> Iterator[Callable[[int, Rows], Cost]]:
        """Record one statement when it is done. Call the returned function with the number of rows since the last call,
        and with the response: it returns the cost of the statement so far. `timed`: False for a response that was
        received earlier.
        """
        began = time.monotonic()
        total = Cost(fact, 1, 0.0, 0, None)

        def count(more_rows: int, answer: Rows) -> Cost:
            nonlocal total
            total = Cost(
                fact,
                answer.statements,
                0.0,
                total.rows + more_rows,
                answer.bytes,
                answer.bytes_scanned,
                answer.bytes_metered,
            )
            return total

        try:
            yield count
        finally:
            with self._lock:
                before = self._costs.get(fact, Cost(fact, 0, 0.0, 0, None))
                self._costs[fact] = Cost(
                    fact=fact,
                    statements=before.statements + total.statements,
                    seconds=before.seconds + (time.monotonic() - began if timed else 0.0),
                    rows=before.rows + total.rows,
                    bytes=_sum(before.bytes, total.bytes),
                    bytes_scanned=_sum(before.bytes_scanned, total.bytes_scanned),
                    bytes_metered=_sum(before.bytes_metered, total.bytes_metered),
                )

    def overspent(self, running: Cost | None = None) -> str:
        """Why no more may be read; empty as long as more may. `running`: the current statement, not recorded yet."""
        if self._most is None:
            return ""
        with self._lock:
            spent = sum(cost.bytes_charged for cost in self._costs.values())
        spent += running.bytes_charged if running else 0
        if spent < self._most:
            return ""
        return f"{size(spent)} were scanned or billed"


def _sum(before: int | None, more: int | None) -> int | None:
    """The sum; None only if neither is known."""
    return more if before is None else before + (more or 0)


_RECONNECT_S: Final = 15.0
_CLOSE_S: Final = 2.0


class Connections:
    """Thread-safe. The first connection of an audit is closed by the code that opened it."""

    def __init__(self, first: Connection, deadline: Deadline) -> None:
        self._first = first
        self._deadline = deadline
        self._own = threading.local()
        self._own.connection = first
        self._opened: list[Connection] = []
        self._lock = threading.Lock()

    def here(self) -> Connection:
        """The connection of the current thread. ConnectorError if it needs a new one and none can be opened."""
        found: Connection | None = getattr(self._own, "connection", None)
        if found is None:
            found = self._own.connection = self._reconnected()
            with self._lock:
                self._opened.append(found)
        return found

    def broke_off(self) -> None:
        """Stop using the connection of this thread: it was aborted, or broke."""
        self._own.connection = None

    def close(self, *, others: bool = False) -> None:
        """Close all connections opened here, after which no queries are allowed; or those of `others`, of threads that
        are done.
        """
        keep = getattr(self._own, "connection", None) if others else None
        with self._lock:
            closing = [connection for connection in self._opened if connection is not keep]
            self._opened = [connection for connection in self._opened if connection is keep]
        for connection in closing:
            # Some drivers send a goodbye and wait for the response.
            with contextlib.suppress(OutOfTimeError):
                within(_CLOSE_S, connection.close, give_up=connection.abort)

    def _reconnected(self) -> Connection:
        limit = min(_RECONNECT_S, max(self._deadline.left(), 0.0))
        try:
            return within(limit, self._first.reconnect, too_late=lambda late: late.close())
        except OutOfTimeError as error:
            raise ConnectorError(f"no new connection within {limit:.3g} s") from error


_MOST_PREFETCHED: Final = 256 << 20
"""Maximum size of all responses kept at a time, in bytes. If one does not fit, it is dropped, and each of its
measurements is queried by itself.
"""
_SHARE: Final = 0.25
"""The share of the time left that a statement about several may take: if it fails, each is queried by itself."""
_MOST_WASTED: Final = 0.1
"""The share of the audit's time limit that statements about several may take in vain."""


class Prefetched:
    """Each response is kept until it is taken. Thread-safe: every measurement is examined by one thread."""

    def __init__(self, deadline: Deadline) -> None:
        """`deadline`: of the audit."""
        self._deadline = deadline
        self._kept: dict[tuple[str, str, str], tuple[OfMeasurement, Rows, int]] = {}
        """(fact, database, measurement) to the query, the response, and its size."""
        self._held = 0
        self._overflowed = False
        self._wasted_s = 0.0
        self._lock = threading.Lock()

    def seconds_for(self, statement_timeout_s: float) -> float:
        """The seconds that the next statement about several may take; 0 if none should be sent, because there is no
        time or memory left for one that may turn out to be useless.
        """
        is_full = self._overflowed or self._held >= _MOST_PREFETCHED
        if is_full or self._wasted_s > self._deadline.seconds * _MOST_WASTED:
            return 0.0
        return max(0.0, min(statement_timeout_s, self._deadline.left() * _SHARE))

    def waste(self, seconds: float) -> None:
        """Note that a statement took this long and brought nothing."""
        with self._lock:
            self._wasted_s += seconds

    def read(self, fact: str, given: Sequence[OfMeasurement], rows: RowsOfSeveral, enough: Callable[[], bool]) -> None:
        """Keep the response, unless it is too big, or `enough` after some batch. Errors are the connection's."""
        batches: dict[str, list[pa.RecordBatch]] = {one.measurement: [] for one in given}
        sizes = dict.fromkeys(batches, 0)
        try:
            with closing(rows):
                for batch in rows:
                    size = batch.nbytes  # Counting them takes longer than everything else here.
                    sizes[rows.measurement] += size
                    self._hold(size)
                    if self._held > _MOST_PREFETCHED:
                        self._overflowed = True
                        return
                    if enough():
                        return
                    batches[rows.measurement].append(batch)
                enough()
            for one in given:
                if one.measurement in rows.alone:
                    kept = Rows(rows.alone[one.measurement], iter(batches[one.measurement]))
                    # It was counted when it was sent.
                    kept.statements = 0
                    self._kept[fact, one.database, one.measurement] = one, kept, sizes.pop(one.measurement)
        finally:
            self._hold(-sum(sizes.values()))

    def taken(self, fact: str, given: Given) -> tuple[Rows | None, int]:
        """The response to exactly this query, which is not kept any longer, and its bytes; None if there is none."""
        database, measurement = given.subject
        queried, rows, size = self._kept.pop((fact, database or "", measurement or ""), (None, None, 0))
        self._hold(-size)
        return (rows, size) if queried == given else (None, 0)

    def drop(self) -> None:
        """Keep nothing any longer: whoever has not taken its response so far does not need it."""
        self._kept.clear()
        self._held, self._overflowed = 0, False

    def _hold(self, size: int) -> None:
        with self._lock:
            self._held += size


T = TypeVar("T")
Asked = TypeVar("Asked", bound=Given)

_ALIVE_TIMEOUT_S: Final = 5.0
_GRACE_S: Final = 2.0
"""How much later than the connection's own timeout the watchdog acts: the server's error about a timeout says more."""
_MOST_HELD: Final = 64 << 20
"""Maximum size of a response about one measurement that is collected before it is used, in bytes."""
_MOST_NAMES: Final = 16 << 20
"""The same for lists of names, about 800,000 of them: in memory, each takes ten times its size."""
_CHEAPER: Final = 0.25
"""Share of a statement's time limit that one may take which asks for less, because the full one failed."""
_STREAMED: Final = frozenset({"series_listing"})
"""Facts whose rows are used as they arrive; their own limits apply."""
_NONE: Final = Rows()
_MORE_BYTES: Final = "raise budget.max_bytes_scanned"
_SILENCE: Final = frozenset({Reason.UNREACHABLE, Reason.TIMED_OUT})
_SPOILS: Final = _SILENCE | {Reason.DENIED, Reason.FAILED}
"""Gaps after which a measurement is no longer queried together with others."""


@dataclass(frozen=True, slots=True)
class Answered(Generic[Asked]):
    """The response to one of several ways to ask for a fact."""

    statement: str
    """As sent."""
    given: Asked
    """The way."""
    failed: Unanswered | None
    """Why the first way, which asks for everything, was not answered; None if it was."""


def keeping(batches: list[pa.RecordBatch]) -> Callable[[Given], Callable[[pa.RecordBatch], None]]:
    """For `QueryRunner.first_answered`: leaves in the list the response to the way that was answered."""

    def consumer(_: Given) -> Callable[[pa.RecordBatch], None]:
        batches.clear()
        return batches.append

    return consumer


class QueryRunner:
    """Runs statements on one target, and records gaps and costs. Thread-safe."""

    def __init__(
        self, target: Target, connection: Connection, window: Window, deadline: Deadline | None = None
    ) -> None:
        self.target = target
        self.rows_each = target.budget.max_rows
        """How many rows of each measurement are read for its sample."""
        self.window = window
        self.gaps: list[Gap] = []
        self.alike = Alike()
        self._statements: dict[str | None, dict[str, str]] = {}
        """By database, None for the whole target: fact to statement, for facts that are not about a measurement."""
        self._deadline = deadline or Deadline(target.budget.deadline_s)
        self._connections = Connections(connection, self._deadline)
        self._query_costs = QueryCosts(target.budget.max_bytes_scanned)
        self._prefetched = Prefetched(self._deadline)
        self._answered: dict[tuple[str, str | None, str | None], Rows] = {}
        """(fact, database, measurement) to the last response, for what it says of itself; its batches are consumed."""
        self._reasons: dict[tuple[str, str | None, str | None], Reason] = {}
        self._lock = threading.Lock()
        self._gone = ""
        """Why nothing more is queried: the server is gone. Empty as long as it responds."""

    @property
    def engine(self) -> Engine:
        """The target's engine."""
        return ENGINES[self.target.engine]

    def with_window(self, window: Window) -> QueryRunner:
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
        answer = self._answered.get((fact, database, measurement), _NONE)
        return Source(answer.query or query_name(self.target.engine, fact), how, self.now, scope or answer.scope)

    def statements_about(self, database: str | None) -> dict[str, str]:
        """The statement of each fact about a database, by name of the fact; None for facts about the target."""
        return dict(sorted(self._statements.get(database, {}).items()))

    def at_most(self, fact: str, database: str, measurement: str) -> str:
        """Why the fact's response about the measurement may contain too much; empty if it does not."""
        return self._answered.get((fact, database, measurement), _NONE).at_most

    def path_of(self, fact: str, database: str) -> tuple[str, ...]:
        """The path used for the fact's response about the database; see `connection.Rows`."""
        return self._answered.get((fact, database, None), _NONE).path

    def window_of(self, fact: str, database: str, measurement: str) -> Window:
        """The period that the response covers: the window, or the part of it that the engine reads in one query."""
        since = self._answered.get((fact, database, measurement), _NONE).since
        return Window(since or self.window.start, self.window.end)

    def query(
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
        answer = self.first_answered(fact, [given], lambda _: consume, measurement=measurement, first_only=first_only)
        return answer.statement if answer else None

    def try_query(self, fact: str, consume: Callable[[pa.RecordBatch], None], given: Given) -> str | Unanswered:
        """As `query`, for what only adds to a fact that is known: within less time, and instead of leaving a gap, it
        returns why there was no answer.
        """
        timeout = self.target.budget.statement_timeout_s * _CHEAPER
        return self._attempt(fact, consume, given, given.subject[1], timeout, first_only=False)

    def first_answered(
        self,
        fact: str,
        queries: Iterable[Asked],
        consumer: Callable[[Asked], Callable[[pa.RecordBatch], None]],
        *,
        measurement: str | None = None,
        first_only: bool = False,
    ) -> Answered[Asked] | None:
        """Ask in the first of these ways; if that takes or returns too much, in the next, which asks for less. None: a
        gap was left about the first.

        `consumer`: for each way that is tried, what its response is passed to. What failed midway is to be discarded.
        Other ways than the first have less time, so that they take less of the server than what failed.
        """
        failed: Unanswered | None = None
        timeout = self.target.budget.statement_timeout_s
        about: tuple[str | None, str | None] = None, None
        for given in queries:
            if type(given) is not FACTS[fact].given:
                raise TypeError(f"{fact} is given {FACTS[fact].given.__name__}, not {type(given).__name__}")
            about = given.subject[0], measurement or given.subject[1]
            sent = self._attempt(fact, consumer(given), given, about[1], timeout, first_only)
            if isinstance(sent, str):
                return Answered(sent, given, failed)
            failed = failed or sent
            if not sent.cheaper_helps or self._gone:
                break
            timeout = self.target.budget.statement_timeout_s * _CHEAPER
        assert failed is not None
        self.gap(fact, failed.reason, failed.cause, *about, fix=failed.fix)
        return None

    def _attempt(
        self,
        fact: str,
        consume: Callable[[pa.RecordBatch], None],
        given: Given,
        measurement: str | None,
        timeout_s: float,
        first_only: bool,
        is_second: bool = False,
    ) -> str | Unanswered:
        """The statement that was answered, or why there was no answer. `is_second`: it was interrupted before."""
        if self._gone:
            return Unanswered(Reason.UNREACHABLE, self._gone)
        left = self._deadline.left()
        if left <= 0:
            return self._out_of_time()
        if overspent := self._query_costs.overspent():
            return Unanswered(Reason.OVER_BUDGET, overspent, _MORE_BYTES)
        timeout = min(timeout_s, left)
        consumed: list[int] = []

        def take(batch: pa.RecordBatch) -> None:
            consumed.append(batch.num_rows)
            consume(batch)

        try:
            return self._run(fact, take, timeout, first_only, given, measurement)
        except (FactError, OutOfTimeError, ConnectorError) as error:
            failed = unanswered(error, timeout)
            if failed.reason is Reason.TIMED_OUT and timeout < timeout_s:
                return self._out_of_time()
            is_unreachable = failed.reason is Reason.UNREACHABLE
            if is_unreachable:
                self._connections.broke_off()
            asked = f"`{fact}`{f' of {measurement}' if measurement else ''}"
            if failed.reason in _SILENCE and self._responds_again(failed.cause, asked) and is_unreachable:
                # Only what costs nothing is sent again: it may be the statement that broke the connection.
                if not is_second and not consumed and FACTS[fact].scope is not Scope.MEASUREMENT:
                    return self._attempt(fact, consume, given, measurement, timeout_s, first_only, is_second=True)
                return Unanswered(Reason.FAILED, f"{failed.cause}; the server still responds")
            return failed
        except Exception as error:
            # Whatever a database responds, the response to one statement must not end the audit.
            return Unanswered(Reason.FAILED, not_understood(error))

    def prefetch(self, fact: str, given: Sequence[OfMeasurement]) -> None:
        """Query the fact of several measurements of one database with one statement, for later calls of `query` with
        the same parameters. What is not obtained is left to them, and so are gaps.

        Only for facts in `Engine.batched_facts`.
        """
        timeout = self._prefetched.seconds_for(self.target.budget.statement_timeout_s)
        if self._gone or timeout <= 0 or self._query_costs.overspent():
            return
        began = time.monotonic()
        try:
            connection = cast("QueriesBatches", self._connections.here())
            with self._query_costs.statement(fact) as count, self._bounded(timeout, connection):
                rows = connection.query_together(fact, timeout, given)
                self._prefetched.read(fact, given, rows, lambda: bool(self._query_costs.overspent(count(0, rows))))
        except Exception as error:
            self._prefetched.waste(time.monotonic() - began)
            if isinstance(error, (ConnectorError, OutOfTimeError)) or (
                isinstance(error, FactError) and error.reason in _SILENCE
            ):
                # Otherwise, the time limits of all statements about several would add up.
                self._responds_again(str(error), f"`{fact}` of {many(len(given), self.engine.words.measurement)}")

    def drop_prefetched(self) -> None:
        """Keep no response of `prefetch` any longer: the step that needed it was taken with all measurements."""
        self._prefetched.drop()

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
        self,
        fact: str,
        reason: Reason,
        cause: str,
        database: str | None = None,
        measurement: str | None = None,
        *,
        fix: str = "",
    ) -> None:
        """Record that something was not measured. `fix`: what would help; empty if nothing is known to."""
        self.repeat_gap(Gap(fact, reason, cause, database, measurement, fix), fact)

    def repeat_gap(self, gap: Gap, fact: str) -> None:
        """Record that the fact was not measured, either, for the same reason."""
        with self._lock:
            self.gaps.append(replace(gap, fact=fact))
            self._reasons[fact, gap.database, gap.measurement] = gap.reason

    def why(self, facts: tuple[str, ...], database: str, measurement: str) -> Reason:
        """Why one of the facts is missing for the measurement; FAILED if no gap says so."""
        keys = [(fact, database, name) for fact in facts for name in (measurement, None)]
        return next((self._reasons[key] for key in keys if key in self._reasons), Reason.FAILED)

    def gap_in(self, fact: str, database: str, measurement: str) -> Gap | None:
        """The last gap in the fact about the measurement."""
        found = (gap for gap in reversed(self.gaps) if (gap.database, gap.measurement) == (database, measurement))
        return next((gap for gap in found if gap.fact == fact), None)

    def gap_in_all(
        self, facts: Iterable[str], reason: Reason, cause: str, database: str | None = None, *, fix: str = ""
    ) -> None:
        """Record the same gap for all facts about a database or its measurements."""
        for fact in sorted(facts):
            if FACTS[fact].scope is not Scope.TARGET:
                self.gap(fact, reason, cause, database, fix=fix)

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
            self._connections.close(others=True)
        return made

    def close(self) -> None:
        """Close the connections that were opened for queries."""
        self._connections.close()

    def costs(self) -> tuple[Cost, ...]:
        """The costs so far, by fact."""
        return self._query_costs.costs()

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
        connection = self._connections.here()
        kept, held = self._prefetched.taken(fact, given)
        # Nothing needs to be stopped while a response is read that was received earlier.
        limit = self._bounded(timeout, connection) if kept is None else contextlib.nullcontext()
        with self._query_costs.statement(fact, timed=kept is None) as count, limit:
            rows = kept or connection.query(fact, timeout, given)
            most = _MOST_HELD if FACTS[fact].scope is Scope.MEASUREMENT else _MOST_NAMES
            try:
                for batch in rows:
                    running = count(batch.num_rows, rows)
                    held += batch.nbytes if kept is None else 0
                    if held > most and fact not in _STREAMED:
                        raise FactError(Reason.OVER_BUDGET, f"the response has more than {most >> 20} MiB")
                    if overspent := self._query_costs.overspent(running):
                        raise FactError(Reason.OVER_BUDGET, overspent, _MORE_BYTES)
                    if batch.num_columns:
                        if said := impossible(fact, batch, given):
                            query = rows.query or query_name(self.target.engine, fact)
                            raise FactError(Reason.FAILED, f"the response to {query} cannot be right: {said}")
                        consume(batch)
                    if first_only and batch.num_columns:
                        break
            finally:
                rows.close()
                count(0, rows)
        about = fact, given.subject[0], measurement
        for name, error in rows.refused.items():
            self.gap(fact, error.reason, error.cause, given.subject[0], name, fix=error.fix)
        with self._lock:
            self._answered[about] = rows
            if FACTS[fact].scope is not Scope.MEASUREMENT:
                self._statements.setdefault(given.subject[0], {})[fact] = rows.statement
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

    def _responds_again(self, cause: str, asked: str) -> bool:
        """Check once whether the server responds at all; if not, stop querying, so that timeouts do not add up.

        `asked`: what it was queried for last, which may have been too much for it.
        """
        timeout = min(_ALIVE_TIMEOUT_S, self._deadline.left())
        if timeout <= 0:
            return False  # nothing more is queried anyway
        try:
            connection = self._connections.here()
            with self._query_costs.statement("databases"), self._bounded(timeout, connection):
                for _ in connection.query("databases", timeout, OfTarget()):
                    pass
            return True
        except FactError as error:
            is_gone = error.reason in _SILENCE
        except (ConnectorError, OutOfTimeError):
            is_gone = True
        except Exception:
            is_gone = False  # it did answer, whatever that was
        if is_gone:
            address = addresses.read(self.target.url.get_secret_value())
            at = f" at {address.hosts}" if address else ""
            self._gone = f"the server{at} has not responded since it was queried for {asked}: {cause}"
        return not is_gone

    def _out_of_time(self) -> Unanswered:
        cause = f"the audit's time limit of {self.target.budget.deadline_s:g} s is used up"
        return Unanswered(Reason.TIMED_OUT, cause, "raise budget.deadline_s")
