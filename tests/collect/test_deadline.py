"""`deadline_s` and `statement_timeout_s` hold by the wall clock, whatever the server and its driver do."""

from __future__ import annotations

import _thread
import itertools
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pytest

from tests.builders import DAY, NOW
from tsaudit.collect import collect
from tsaudit.config.settings import Target
from tsaudit.engines import opening as connectors
from tsaudit.engines.connection import Access, Connection, ConnectorError, FactError, Rows
from tsaudit.engines.opening import with_connection
from tsaudit.engines.registry import ENGINES
from tsaudit.model.facts import Given
from tsaudit.model.figures import Reason
from tsaudit.model.profile import Profile
from tsaudit.net.watchdog import Deadline

pytestmark = pytest.mark.wall_clock


class Stubborn:
    """A server with 20 measurements whose tag sets never come, and a driver that keeps to no timeout.

    Only `abort` wakes who waits for it.
    """

    server_version = "2.7"

    def __init__(self, silent: str = "series_listing") -> None:
        self.silent = silent
        self.endless = ""
        self.timeouts: list[tuple[str, float]] = []
        self.aborted = threading.Event()
        self.children: list[Stubborn] = []
        self.closed = 0

    def query(self, fact: str, timeout_s: float, given: Given) -> Rows:
        assert not self.aborted.is_set(), "an aborted connection is asked"
        self.timeouts.append((fact, timeout_s))
        return Rows(f"{fact}?", self._answer(fact))

    def _answer(self, fact: str) -> Iterator[pa.RecordBatch]:
        if fact == self.endless:
            for start in itertools.count(step=10_000):
                yield pa.record_batch({"measurement": [f"measurement_{start + i}" for i in range(10_000)]})
        if fact == self.silent:
            assert self.aborted.wait(30)
            raise FactError(Reason.UNREACHABLE, "the connection was lost")
        names = [f"m{i}" for i in range(20)]
        answers: dict[str, dict[str, Any]] = {
            "databases": {"database": ["db"]},
            "measurements": {"measurement": names},
            "tag_keys": {"measurement": names, "tag": ["host"] * 20},
            "field_types": {"measurement": names, "field": ["v"] * 20, "data_type": ["float"] * 20},
        }
        if fact not in answers:
            raise FactError(Reason.UNSUPPORTED, "not here")
        yield pa.record_batch({k: pa.array(v) for k, v in answers[fact].items()})

    def reconnect(self) -> Stubborn:
        self.children.append(Stubborn(self.silent))
        return self.children[-1]

    def abort(self) -> None:
        self.aborted.set()

    def close(self) -> None:
        self.closed += 1


def _target(**budget: Any) -> Target:
    return Target(name="t", engine="influxdb2", url="http://x:1", budget=budget)


def _all_timeouts(server: Stubborn) -> list[tuple[str, float]]:
    return [*server.timeouts, *(t for child in server.children for t in _all_timeouts(child))]


@pytest.mark.wall_clock
@pytest.mark.parametrize("concurrency", [1, 4])
def test_statements_are_cut_at_the_deadline(concurrency: int) -> None:
    server = Stubborn()
    began = time.monotonic()
    profile = collect(_target(deadline_s=1, concurrency=concurrency), server, day=DAY, now=NOW)
    took = time.monotonic() - began
    # None gets more than what is left, though each may take a minute.
    assert max(seconds for _, seconds in _all_timeouts(server)) <= 1
    assert 1 <= took < 5
    gaps = [gap for gap in profile.gaps if gap.fact == "series_listing"]
    assert {gap.measurement for gap in gaps} == {f"m{i}" for i in range(20)}
    assert {(gap.reason, "raise budget.deadline_s" in gap.detail) for gap in gaps} == {(Reason.TIMED_OUT, True)}


@pytest.mark.wall_clock
def test_statement_outlives_its_timeout() -> None:
    server = Stubborn(silent="retention")
    began = time.monotonic()
    profile = collect(_target(statement_timeout_s=0.3), server, day=DAY, now=NOW, wanted=frozenset({"retention"}))
    assert time.monotonic() - began < 4
    (gap,) = [gap for gap in profile.gaps if gap.fact == "retention"]
    assert (gap.reason, gap.detail) == (Reason.TIMED_OUT, "no response within 0.3 s; the connection was closed")
    # Whether the server is still there is asked on a new connection, which is closed at the end.
    (child,) = server.children
    assert child.timeouts[0][0] == "databases"
    assert (child.closed, server.closed) == (1, 0)


@pytest.mark.wall_clock
def test_silence_to_the_first_statement_and_to_the_probe_ends_it() -> None:
    server = Stubborn(silent="databases")
    began = time.monotonic()
    profile = collect(_target(statement_timeout_s=0.2, deadline_s=0.5), server, day=DAY, now=NOW)
    assert time.monotonic() - began < 6
    assert profile.databases == ()
    assert any(gap.fact == "databases" and gap.reason is Reason.TIMED_OUT for gap in profile.gaps)


def test_list_of_names_without_end_is_cut() -> None:
    server = Stubborn(silent="nothing")
    server.endless = "measurements"
    profile = collect(_target(), server, day=DAY, now=NOW, wanted=frozenset({"measurements"}))
    (gap,) = [gap for gap in profile.gaps if gap.fact == "measurements"]
    assert (gap.reason, gap.detail) == (Reason.OVER_BUDGET, "the response has more than 16 MiB")


def _connecting(
    monkeypatch: pytest.MonkeyPatch, connection: Connection, before: Callable[[], object] = lambda: None
) -> None:
    @contextmanager
    def connect(access: Access) -> Iterator[Connection]:
        before()
        yield connection
        connection.close()

    monkeypatch.setattr(ENGINES[_target().engine], "connect", connect)


@pytest.mark.wall_clock
def test_connecting_counts_and_is_cut_at_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    _connecting(monkeypatch, Stubborn(), lambda: time.sleep(1.5))
    began = time.monotonic()
    with pytest.raises(ConnectorError, match=r"no connection within 0\.\d"):
        with_connection(_target(deadline_s=0.4), lambda connection, deadline: None)
    assert time.monotonic() - began < 1.4


@pytest.mark.wall_clock
def test_connecting_is_taken_off_the_time_for_statements(monkeypatch: pytest.MonkeyPatch) -> None:
    _connecting(monkeypatch, server := Stubborn("nothing"), lambda: time.sleep(0.5))

    def measure(connection: Connection, deadline: Deadline) -> Profile:
        return collect(_target(deadline_s=60), connection, day=DAY, now=NOW, deadline=deadline)

    with_connection(_target(deadline_s=2), measure)
    assert max(seconds for _, seconds in server.timeouts) <= 1.5


@pytest.mark.wall_clock
def test_a_driver_that_cannot_be_interrupted_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    _connecting(monkeypatch, Stubborn())
    monkeypatch.setattr(connectors, "_LAST_RESORT_S", 0.3)
    never = threading.Event()
    began = time.monotonic()
    with pytest.raises(ConnectorError, match=r"the audit did not end within 0\.5 s"):
        with_connection(_target(deadline_s=0.2), lambda connection, deadline: never.wait(20))
    assert time.monotonic() - began < 2
    never.set()


def test_who_is_interrupted_breaks_off_what_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    _connecting(monkeypatch, server := Stubborn())
    deadlines: list[Deadline] = []

    def measure(connection: Connection, deadline: Deadline) -> None:
        deadlines.append(deadline)
        _thread.interrupt_main()
        server.aborted.wait(10)

    # A shell that started this in the background has it ignore the signal, and Python then does nothing.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            with_connection(_target(), measure)
    finally:
        signal.signal(signal.SIGINT, before)
    assert server.aborted.is_set()
    assert deadlines[0].left() <= 0


class Interrupted(Stubborn):
    """A server that never lists its databases, and whose next connection is there when somebody presses Ctrl-C."""

    def reconnect(self) -> Stubborn:
        self.children.append(_PressesCtrlC())
        return self.children[-1]


class _PressesCtrlC(Stubborn):
    def query(self, fact: str, timeout_s: float, given: Given) -> Rows:
        raise KeyboardInterrupt


@pytest.mark.wall_clock
def test_connections_opened_on_the_way_are_closed_when_the_audit_is_interrupted() -> None:
    server = Interrupted(silent="databases")
    with pytest.raises(KeyboardInterrupt):
        collect(_target(statement_timeout_s=0.1), server, day=DAY, now=NOW)
    assert [child.closed for child in server.children] == [1]
