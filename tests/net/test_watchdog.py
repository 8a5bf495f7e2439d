"""Limits by the wall clock: work is broken off on time, is cheap to watch, and never keeps a process from ending."""

from __future__ import annotations

import multiprocessing
import socket
import subprocess
import sys
import threading
import time
import weakref

import pytest

from tsaudit.net import watchdog
from tsaudit.net.watchdog import Deadline, OutOfTimeError, bounded, each, shut_down, within

pytestmark = pytest.mark.wall_clock


@pytest.mark.wall_clock
def test_a_read_that_never_ends_is_broken_off_on_time() -> None:
    ours, theirs = socket.socketpair()
    began = time.monotonic()
    with ours, theirs, pytest.raises(OutOfTimeError), bounded(0.2, lambda: shut_down(ours.fileno())) as limit:
        ours.recv(1)
    assert limit.fired
    assert 0.2 <= time.monotonic() - began < 1


@pytest.mark.wall_clock
def test_a_peer_that_drips_outlives_no_limit() -> None:
    ours, theirs = socket.socketpair()
    stop = threading.Event()

    def drip() -> None:
        while not stop.wait(0.02):
            theirs.sendall(b".")

    threading.Thread(target=drip, daemon=True).start()
    ours.settimeout(5)
    began = time.monotonic()
    with ours, theirs:
        with pytest.raises(OutOfTimeError), bounded(0.3, lambda: shut_down(ours.fileno())):
            list(iter(lambda: ours.recv(1), b""))
        stop.set()
    assert time.monotonic() - began < 1


def test_what_comes_back_after_the_limit_is_no_answer() -> None:
    with pytest.raises(OutOfTimeError), bounded(0.05, lambda: None):
        time.sleep(0.2)


def test_an_error_after_the_limit_is_the_limit() -> None:
    def fail() -> None:
        time.sleep(0.2)
        raise ValueError("the connection was shut down")

    with pytest.raises(OutOfTimeError) as raised, bounded(0.05, lambda: None):
        fail()
    assert isinstance(raised.value.__cause__, ValueError)


def test_work_in_time_is_left_alone() -> None:
    called: list[int] = []
    with bounded(0.1, lambda: called.append(1)) as limit:
        pass
    with pytest.raises(KeyError), bounded(0.1, lambda: called.append(1)):
        raise KeyError
    time.sleep(0.25)
    assert not limit.fired
    assert called == []


@pytest.mark.wall_clock
def test_an_abort_that_hangs_or_fails_keeps_no_other_waiting() -> None:
    def hang() -> None:
        time.sleep(3)

    def fail() -> None:
        raise OSError("no such socket")

    began = time.monotonic()
    fired = threading.Event()
    with (
        pytest.raises(OutOfTimeError),
        bounded(0.05, hang),
        bounded(0.1, fail),
        bounded(0.15, fired.set),
    ):
        assert fired.wait(2)
    assert time.monotonic() - began < 2.5


@pytest.mark.wall_clock
def test_thousands_of_statements_cost_next_to_nothing() -> None:
    began = time.process_time()
    for _ in range(20_000):
        with bounded(60, lambda: None):
            pass
    # 50 microseconds each, on the slowest machine; in fact about 5.
    assert time.process_time() - began < 1


def test_statements_that_are_done_are_forgotten_before_their_deadlines() -> None:
    limits = []
    for _ in range(2_000):
        with bounded(60, lambda: None) as limit:
            limits.append(weakref.ref(limit))
    del limit
    assert sum(found() is not None for found in limits) < 300


def test_statements_at_work_are_kept_when_the_others_are_forgotten() -> None:
    ended = threading.Event()

    def ask_often() -> None:
        for _ in range(2_000):
            with bounded(60, lambda: None):
                pass
        assert ended.wait(5)

    with pytest.raises(OutOfTimeError), bounded(0.5, ended.set):
        ask_often()


def _without_threads(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """The system gives no thread of this name once."""
    start, refused = threading.Thread.start, list[str]()

    def refuse(thread: threading.Thread) -> None:
        if thread.name == name and not refused:
            refused.append(name)
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refuse)


def test_watching_goes_on_when_no_thread_could_be_had_for_an_abort(monkeypatch: pytest.MonkeyPatch) -> None:
    _without_threads(monkeypatch, "tsaudit-abort")
    for _ in range(2):
        ended = threading.Event()
        with pytest.raises(OutOfTimeError), bounded(0.05, ended.set):
            assert ended.wait(2)


def test_watching_begins_later_when_no_thread_could_be_had_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watchdog, "_watchdog", watchdog._Watchdog())
    _without_threads(monkeypatch, "tsaudit-watchdog")
    with pytest.raises(RuntimeError), bounded(0.05, lambda: None):
        pass
    ended = threading.Event()
    with pytest.raises(OutOfTimeError), bounded(0.05, ended.set):
        assert ended.wait(2)


def test_limits_fire_in_the_order_of_their_deadlines() -> None:
    fired: list[int] = []

    def wait(number: int) -> None:
        done = threading.Event()
        with pytest.raises(OutOfTimeError), bounded(0.4 - 0.1 * number, lambda: (fired.append(number), done.set())):
            done.wait(2)

    each(wait, [0, 1, 2], 3)
    assert fired == [2, 1, 0]


def _in_child(results: multiprocessing.Queue[bool]) -> None:
    with pytest.raises(OutOfTimeError), bounded(0.05, lambda: None):
        time.sleep(0.2)
    results.put(True)


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_forked_process_has_a_watchdog_of_its_own() -> None:
    with bounded(0.01, lambda: None):
        pass
    forked = multiprocessing.get_context("fork")
    results: multiprocessing.Queue[bool] = forked.Queue()
    child = forked.Process(target=_in_child, args=[results])
    child.start()
    child.join(5)
    assert child.exitcode == 0


@pytest.mark.wall_clock
def test_work_that_cannot_be_interrupted_is_left_behind() -> None:
    late: list[int] = []
    given_up: list[bool] = []
    began = time.monotonic()
    with pytest.raises(OutOfTimeError):
        within(0.1, lambda: time.sleep(0.4) or 7, give_up=lambda: given_up.append(True), too_late=late.append)
    assert time.monotonic() - began < 0.3
    assert given_up == [True]
    time.sleep(0.5)
    assert late == [7]


def test_within_returns_and_raises_what_the_work_does() -> None:
    assert within(1, lambda: 3) == 3
    with pytest.raises(ZeroDivisionError):
        within(1, lambda: 1 / 0)


@pytest.mark.wall_clock
def test_neither_keeps_the_process_from_ending() -> None:
    script = (
        "import threading, time\n"
        "from tsaudit.net.watchdog import bounded, each, within\n"
        "never = threading.Event()\n"
        "def wait(): never.wait(60)\n"
        "try: within(0.1, lambda: each(lambda _: wait(), [1, 2, 3], 3))\n"
        "except TimeoutError: print('left behind')\n"
    )
    began = time.monotonic()
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=20, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("left behind\n", "", 0)
    assert time.monotonic() - began < 10


def test_each_does_every_subject_once_and_raises_what_broke() -> None:
    seen: list[int] = []
    each(seen.append, range(100), 4)
    assert sorted(seen) == list(range(100))

    def breaks(number: int) -> None:
        raise ValueError(number)

    with pytest.raises(ValueError, match=r"[12]"):
        each(breaks, [1, 2], 2)


def test_each_begins_no_further_subject_after_an_error() -> None:
    begun: list[int] = []

    def breaks(number: int) -> None:
        begun.append(number)
        raise ValueError(number)

    with pytest.raises(ValueError, match="0"):
        each(breaks, range(100), 1)
    assert begun == [0]


def test_a_deadline_can_be_ended() -> None:
    deadline = Deadline(60)
    assert 59 < deadline.left() <= 60
    deadline.end_now()
    assert deadline.left() < 0
