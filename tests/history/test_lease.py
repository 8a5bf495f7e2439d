"""Who may audit a database at the moment: one, until it is done or killed."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Never

import pytest
from pydantic import SecretStr
from sqlalchemy import func, select, update

from tsaudit.config.settings import Target
from tsaudit.history import lease, schema
from tsaudit.history.database import HistoryError
from tsaudit.history.store import Store

pytestmark = pytest.mark.wall_clock


def a_target(name: str = "shop", url: str = "influxdb1://db:8086", **changes: object) -> Target:
    return Target.model_validate({"name": name, "engine": "influxdb1", "url": url} | changes)


class Clock:
    """Time that passes only while somebody sleeps, and no further than every heart that is due has beaten.

    So a busy machine delays the tests, and never makes a holder look dead.
    """

    def __init__(self) -> None:
        self.now = 0.0
        self.changed = threading.Condition()
        self.due: dict[Ended, float] = {}
        """When each heart beats next; in the past until it has."""

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        with self.changed:
            self.now += seconds
            self.changed.notify_all()
            assert self.changed.wait_for(lambda: all(due > self.now for due in self.due.values()), timeout=300)


class Ended:
    """A threading.Event by that clock."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._is_set = False
        with clock.changed:
            clock.due[self] = clock.now

    def wait(self, seconds: float) -> bool:
        with self._clock.changed:
            due = self._clock.now + seconds
            if not self._is_set:
                self._clock.due[self] = due
            self._clock.changed.notify_all()
            assert self._clock.changed.wait_for(lambda: self._is_set or self._clock.now >= due, timeout=300)
            return self._is_set

    def set(self) -> None:
        with self._clock.changed:
            self._is_set = True
            self._clock.due.pop(self)
            self._clock.changed.notify_all()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """What holders and waiters of this process take for the time; a waiter looks every second."""
    made = Clock()
    monkeypatch.setattr(lease, "time", made)
    monkeypatch.setattr(lease, "threading", SimpleNamespace(Event=lambda: Ended(made), Thread=threading.Thread))
    monkeypatch.setattr(lease, "_LOOK_S", 1.0)
    return made


def rows(store: Store) -> int:
    with store.reading() as connection:
        return connection.execute(select(func.count()).select_from(schema.lease)).scalar_one()


def test_held_by_many_threads_lets_in_one_at_a_time(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "_LOOK_S", 0.02)
    inside, most, lock = 0, 0, threading.Lock()

    def audit(number: int) -> None:
        nonlocal inside, most
        # The same database under other names, as two code locations may know it.
        with lease.held(store, lease.identity(a_target(f"t{number}")), wait_s=300):
            with lock:
                inside += 1
                most = max(most, inside)
            time.sleep(0.03)
            with lock:
                inside -= 1

    with ThreadPoolExecutor(12) as pool:
        list(pool.map(audit, range(12)))
    assert most == 1
    assert rows(store) == 0


def test_held_when_it_takes_longer_than_a_dead_one_is_waited_for_stays_held(store: Store, clock: Clock) -> None:
    lines: list[str] = []
    second = lease.held(store, lease.identity(a_target()), wait_s=2.5 * lease.STALE_S, say=lines.append)
    with lease.held(store, lease.identity(a_target()), wait_s=1), pytest.raises(lease.InUseError) as refused, second:
        pytest.fail("the holder is alive")
    assert clock.now == 2.5 * lease.STALE_S
    assert "process" in str(refused.value)
    (line,) = lines
    assert line.startswith("waiting for process ")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("visible", [True, False], ids=["same machine", "another machine"])
def test_held_by_a_killed_process_is_free_within_the_bound(address: str, clock: Clock, visible: bool) -> None:
    holder = (
        "import sys, time\nfrom tests.history.test_lease import a_target\n"
        "from tsaudit.history import lease\nfrom tsaudit.history.store import Store\n"
        "with Store.open(sys.argv[1]) as store, lease.held(store, lease.identity(a_target()), 5):\n"
        "    print('held', flush=True)\n    time.sleep(60)\n"
    )
    root = Path(__file__).parents[2]
    victim = subprocess.Popen([sys.executable, "-c", holder, address], stdout=subprocess.PIPE, text=True, cwd=root)
    try:
        assert victim.stdout is not None
        assert victim.stdout.readline() == "held\n"
    finally:
        victim.kill()
        victim.wait()
    with Store.open(address) as store:
        assert rows(store) == 1, "a killed process cannot take its row along"
        if not visible:
            with store.writing("test") as connection:
                connection.execute(update(schema.lease).values(process="another-boot/1/2/3"))
        with lease.held(store, lease.identity(a_target()), wait_s=90):
            assert clock.now == (0 if visible else lease.STALE_S)
        assert rows(store) == 0


def test_held_when_the_body_fails_is_released(store: Store) -> None:
    with pytest.raises(ZeroDivisionError), lease.held(store, lease.identity(a_target()), wait_s=1):
        raise ZeroDivisionError
    assert rows(store) == 0


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (a_target("other", "influxdb1://u:p@DB:8086/"), True),
        (a_target(url="influxdb1://db:8087"), False),
        (a_target(databases=("a",)), False),
    ],
)
def test_identity_is_the_database_not_its_name_or_who_asks(other: Target, same: bool) -> None:
    assert (lease.identity(other) == lease.identity(a_target())) is same


def test_identity_holds_no_secret() -> None:
    target = a_target().model_copy(update={"url": SecretStr("influxdb1://u:hunter2@db")})
    assert "hunter2" not in lease.identity(target)


def test_identity_is_the_same_in_whatever_order_the_databases_are_named() -> None:
    """Two code locations that list them differently audit the same."""
    one, other = (a_target(databases=names) for names in (("a", "b"), ("b", "a")))
    assert lease.identity(one) == lease.identity(other)


def test_held_again_when_the_history_did_not_let_it_go(
    store: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_name: str) -> Never:
        raise HistoryError("the history is gone")

    with monkeypatch.context() as patch, lease.held(store, lease.identity(a_target()), wait_s=1):
        patch.setattr(store, "writing", refuse)
    with lease.held(store, lease.identity(a_target()), wait_s=1):
        assert clock.now == 0
    assert rows(store) == 0


def test_identity_of_two_engines_at_one_address_differs() -> None:
    other = a_target(engine="influxdb2")
    assert lease.identity(other) != lease.identity(a_target())


def test_release_leaves_the_row_of_whoever_came_after(store: Store) -> None:
    with lease.held(store, lease.identity(a_target()), wait_s=1), store.writing("test") as connection:
        connection.execute(update(schema.lease).values(holder="another"))
    assert rows(store) == 1
