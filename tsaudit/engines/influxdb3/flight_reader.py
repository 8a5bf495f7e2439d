"""Manages the processes that read Arrow Flight: starts, queries, reuses, and ends them."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import select
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator
from typing import Any, Final

from tsaudit.engines.influxdb3.flight_process import DONE, HEADER, IDLE_S
from tsaudit.errors import TsauditError

_MOST_IDLE: Final = 2
_CODE: Final = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from tsaudit.engines.influxdb3.flight_process import serve; serve()"
)


class EndedError(TsauditError):
    """The process ended instead of responding."""

    def __init__(self, code: int) -> None:
        super().__init__(f"the process that reads Arrow Flight ended with code {code}")
        self.code = code


class FlightReader:
    """A process that reads one response at a time."""

    def __init__(self) -> None:
        """Start the process without waiting until it is ready. Raises OSError."""
        # The command line contains no secrets: addresses, tokens, and statements go through the pipe.
        self._process = subprocess.Popen(
            [sys.executable, "-c", _CODE, json.dumps(sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            start_new_session=True,  # only this process handles keyboard interrupts
        )
        self._ready = False
        self.since = time.monotonic()

    @property
    def pid(self) -> int:
        return self._process.pid

    def alive(self) -> bool:
        return self._process.poll() is None

    def start(self, until: float) -> None:
        """Wait until the process reads requests. Raises TimeoutError at that time, and EndedError."""
        if not self._ready:
            self._frame(until)
            self._ready = True

    def answer(self, request: dict[str, Any], until: float) -> Iterator[tuple[bytes, bytearray]]:
        """The frames of the response, up to the one that ends it. Raises TimeoutError at that time, and EndedError."""
        self._write(request)
        kind = b""
        while kind != DONE:
            kind, body = self._frame(until)
            yield kind, body

    def release(self) -> None:
        """Tell the process that no connection is using it for now. Raises OSError."""
        self._write(None)
        self.since = time.monotonic()

    def kill(self) -> None:
        """End the process, from any thread; a thread that is waiting for its response gets EndedError."""
        self._process.kill()

    def end(self) -> None:
        """End the process, and release its resources."""
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(5)

    def _write(self, request: dict[str, Any] | None) -> None:
        left = memoryview(json.dumps(request).encode() + b"\n")
        assert self._process.stdin is not None
        while left:
            try:
                left = left[os.write(self._process.stdin.fileno(), left) :]
            except BrokenPipeError:
                raise self._ended() from None

    def _frame(self, until: float) -> tuple[bytes, bytearray]:
        kind, length = HEADER.unpack(self._read(HEADER.size, until))
        return kind, self._read(length, until)

    def _read(self, length: int, until: float) -> bytearray:
        whole = bytearray(length)
        left = memoryview(whole)
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        waiting = select.poll()
        waiting.register(descriptor, select.POLLIN)
        while left:
            if not waiting.poll(max(0.0, until - time.monotonic()) * 1000):
                raise TimeoutError
            count = os.readv(descriptor, [left])
            if not count:
                raise self._ended()
            left = left[count:]
        return whole

    def _ended(self) -> EndedError:
        try:
            return EndedError(self._process.wait(5))
        except subprocess.TimeoutExpired:
            return EndedError(-1)


_idle: deque[FlightReader] = deque()
"""Idle processes. Starting a process takes about a second, so those of a closed connection are reused for
the next one.
"""
# A fork inherits the pipes, but the processes belong to its parent.
os.register_at_fork(after_in_child=_idle.clear)


def take() -> FlightReader:
    """An idle process, or a new one. Raises OSError if none can be started."""
    while True:
        try:
            reader = _idle.pop()
        except IndexError:
            return FlightReader()
        # A process that has been idle for a long time may be about to end.
        if reader.alive() and time.monotonic() - reader.since < IDLE_S / 2:
            return reader
        reader.end()


def give_back(reader: FlightReader) -> None:
    """Make the process available to another connection, unless enough are idle. It must not be in the middle of a
    response.
    """
    if len(_idle) < _MOST_IDLE:
        with contextlib.suppress(OSError, EndedError):
            reader.release()
            _idle.append(reader)
            return
    reader.end()


@atexit.register
def _end_idle() -> None:
    with contextlib.suppress(IndexError):
        while True:
            _idle.pop().end()
