"""Wall-clock limits on work that waits for something else: one thread watches all deadlines and stops late work.

Socket timeouts restart with each packet, so a peer that sends one byte a second never exceeds them. Here the limit
applies to the whole work, whatever happens inside it.
"""

from __future__ import annotations

import contextlib
import contextvars
import heapq
import itertools
import math
import os
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Final, Self, TypeVar

from tsaudit.errors import TsauditError

T = TypeVar("T")

_ABORT_S: Final = 1.0
"""Seconds that a stopped thread waits for the abort to finish."""
_FEW: Final = 128


class OutOfTimeError(TsauditError, TimeoutError):
    """The wall clock passed the limit, and the work was stopped."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"stopped after {seconds:.3g} s")
        self.seconds = seconds


class Deadline:
    """The time by which some work, such as an audit, has to end. Safe for use by several threads."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        """Seconds from the start of the work."""
        self._at = time.monotonic() + seconds

    def left(self) -> float:
        """Seconds left; 0 or less once the deadline has passed."""
        return self._at - time.monotonic()

    def end_now(self) -> None:
        """End the time now: every thread stops at its next check."""
        self._at = -math.inf


class bounded:  # noqa: N801 -- a context manager, named as the ones of contextlib are
    """Stops the work inside the `with` block by calling `abort()` once `seconds` have passed; the block then raises
    OutOfTimeError.

    `abort` is called from another thread, at most once, and has to wake up the waiting thread, for example by shutting
    down a socket. Whatever the work raises or returns after that is discarded: the context raises OutOfTimeError.
    """

    def __init__(self, seconds: float, abort: Callable[[], object]) -> None:
        self.fired = False
        """Whether the limit has passed, and `abort` was called."""
        self._seconds = seconds
        self._abort: Callable[[], object] | None = abort
        self._done = threading.Event()

    def __enter__(self) -> Self:
        _watchdog.watch(self, self._seconds)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _watchdog.release(self)
        if not self.fired:
            return
        # A late shutdown must not affect the next work on the same connection.
        self._done.wait(_ABORT_S)
        if error is None or isinstance(error, Exception):
            raise OutOfTimeError(self._seconds) from error

    def _break_off(self, abort: Callable[[], object]) -> None:
        try:
            abort()
        except Exception:  # noqa: S110 -- the work ends in OutOfTimeError, whatever its connection says to that
            pass
        finally:
            self._done.set()


class _Watchdog:
    """A heap of deadlines, and the thread that sleeps until the first of them."""

    def __init__(self) -> None:
        self._wake = threading.Condition()
        self._heap: list[tuple[float, int, bounded]] = []
        self._numbers = itertools.count()
        self._sweep_at = _FEW
        """Size of the heap above which entries of finished work are removed."""
        self._thread: threading.Thread | None = None

    def watch(self, work: bounded, seconds: float) -> None:
        entry = (time.monotonic() + seconds, next(self._numbers), work)
        with self._wake:
            if self._thread is None:
                thread = threading.Thread(target=self._run, name="tsaudit-watchdog", daemon=True)
                thread.start()
                self._thread = thread
            if len(self._heap) >= self._sweep_at:
                # Otherwise the entries of thousands of quick statements would stay until their deadlines.
                self._heap = [kept for kept in self._heap if kept[2]._abort is not None]
                heapq.heapify(self._heap)
                self._sweep_at = max(_FEW, 2 * len(self._heap))
            heapq.heappush(self._heap, entry)
            if self._heap[0] is entry:
                self._wake.notify()

    def release(self, work: bounded) -> None:
        with self._wake:
            work._abort = None

    def _run(self) -> None:
        while True:
            with self._wake:
                late = self._late()
                if not late:
                    self._wake.wait(self._heap[0][0] - time.monotonic() if self._heap else None)
            for work, abort in late:
                # In a separate thread: a hanging abort must not delay the others.
                thread = threading.Thread(target=work._break_off, args=[abort], name="tsaudit-abort", daemon=True)
                try:
                    thread.start()
                except RuntimeError:  # The system has no more threads.
                    work._break_off(abort)

    def _late(self) -> list[tuple[bounded, Callable[[], object]]]:
        found: list[tuple[bounded, Callable[[], object]]] = []
        while self._heap and (self._heap[0][2]._abort is None or self._heap[0][0] <= time.monotonic()):
            work = heapq.heappop(self._heap)[2]
            if work._abort is not None:
                found.append((work, work._abort))
                work.fired, work._abort = True, None
        return found


_watchdog = _Watchdog()


def _begin_anew() -> None:
    global _watchdog
    _watchdog = _Watchdog()


# A forked process inherits the deadlines but not the thread.
os.register_at_fork(after_in_child=_begin_anew)


def within(
    seconds: float,
    work: Callable[[], T],
    *,
    give_up: Callable[[], object] | None = None,
    too_late: Callable[[T], object] | None = None,
) -> T:
    """The result of `work`, for work that cannot be interrupted, such as a DNS lookup: it runs in a separate thread.

    Raises OutOfTimeError after `seconds`; the thread then goes on, but does not keep the process from ending. `give_up`
    is called then, and also if the caller is interrupted; `too_late` gets what the thread returns after that.
    """
    results: list[T] = []
    errors: list[BaseException] = []
    ended, lock = threading.Event(), threading.Lock()
    abandoned = False

    def run() -> None:
        try:
            result = work()
        except BaseException as error:  # Raised again in the waiting thread.
            errors.append(error)
        else:
            with lock:
                results.append(result)
                late = abandoned
            if late and too_late:
                too_late(result)
        finally:
            ended.set()

    context = contextvars.copy_context()
    thread = threading.Thread(target=context.run, args=[run], name="tsaudit-within", daemon=True)
    try:
        thread.start()
        in_time = ended.wait(max(seconds, 0))
    except BaseException:
        with lock:
            abandoned = True
        if give_up:
            give_up()
        raise
    with lock:
        abandoned = not in_time and not results
    if abandoned:
        if give_up:
            give_up()
        raise OutOfTimeError(seconds)
    if errors:
        raise errors[0]
    return results[0]


def each(step: Callable[[T], object], subjects: Sequence[T], workers: int) -> None:
    """Run the step for every subject, in `workers` threads that do not keep the process from ending.

    If a step raises, the others end after their current subject, and the error is raised here.
    """
    waiting, errors = deque(subjects), list[BaseException]()

    def work() -> None:
        while not errors:
            try:
                subject = waiting.popleft()
            except IndexError:
                return
            try:
                step(subject)
            except BaseException as error:
                errors.append(error)

    threads = [
        threading.Thread(target=contextvars.copy_context().run, args=[work], name=f"tsaudit-ask-{n}", daemon=True)
        for n in range(workers)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def shut_down(descriptor: int) -> None:
    """End both directions of the socket: a thread that is reading from it immediately gets the end of the stream.

    Closing would not be enough: the waiting thread would go on waiting, and the file descriptor could be reused. The
    owner of the socket still has to close it. Nothing happens if there is no open socket.
    """
    if descriptor < 0:
        return
    with contextlib.suppress(OSError):
        copy = socket.socket(fileno=os.dup(descriptor))
        try:
            copy.shutdown(socket.SHUT_RDWR)
        finally:
            copy.close()
