"""Ensures that only one audit of a database runs at a time, whether cron, a shell, or one of several code locations
starts it.

A Dagster run also holds a row, so that others can tell whether its process is alive, and so does the writer of the
index of reports.

An audit holds a row with the address of what it audits, and updates its heartbeat every few seconds. If another audit
finds a row, it waits until the row is gone, or until the heartbeat has not changed for `STALE_S` seconds on the
waiter's own monotonic clock: the holder was then killed. So neither a killed process nor a wrong clock on any machine
delays the next audit for longer. On the same machine, a dead holder is detected immediately if /proc shows processes.
"""

from __future__ import annotations

import hashlib
import os
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit
from uuid import uuid4

from sqlalchemy import Connection, Row, delete, insert, select, update

from tsaudit.errors import TsauditError
from tsaudit.history.database import HistoryError, patience
from tsaudit.history.schema import lease

if TYPE_CHECKING:
    from tsaudit.config.settings import Target
    from tsaudit.history.store import Store

BEAT_S: Final = 10.0
"""Seconds between heartbeats."""

STALE_S: Final = 60.0
"""Seconds without a heartbeat after which a holder counts as killed. Six heartbeats, because a busy history may delay a
few.
"""

_LOOK_S: Final = 0.25
"""Seconds between a waiter's checks."""


_released: Final[set[str]] = set()
"""Holders in this process whose audit has ended, but whose row could not be deleted from the history."""


class InUseError(TsauditError):
    """Another audit of the same database did not end in time. The error's text is one line that names it."""


@contextmanager
def held(store: Store, name: str, wait_s: float, say: Callable[[str], None] = lambda _line: None) -> Iterator[None]:
    """Keep all others that hold the name out inside the `with` block: see `identity`, `identity_of_run`, and
    `identity_of_folder`.

    Waits up to `wait_s` seconds for an audit in progress, calls `say` with a line about it, then raises InUseError.
    Raises HistoryError.
    """
    holder = uuid4().hex
    _wait(store, name, holder, time.monotonic() + wait_s, say)
    ended = threading.Event()
    heart = threading.Thread(target=_beat, args=(store, name, holder, ended), name="tsaudit-lease", daemon=True)
    heart.start()
    try:
        yield
    finally:
        ended.set()
        heart.join(BEAT_S)
        # If the history is unreachable by now, the audit has already reported that.
        _released.add(holder)
        with suppress(HistoryError):
            with store.writing(f"lease {name}") as connection:
                connection.execute(delete(lease).where(lease.c.name == name, lease.c.holder == holder))
            _released.discard(holder)


def identity(target: Target) -> str:
    """The audited database as 32 hex digits: a hash of engine, address, and databases, but not of credentials or the
    target's name.
    """
    parts = urlsplit(target.url.get_secret_value())
    place = f"{parts.netloc.rpartition('@')[2].lower()}{parts.path.rstrip('/')}"
    text = "\x1f".join((target.engine, place, *sorted(target.databases)))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def identity_of_run(run_id: str, step: str) -> str:
    """One step of a Dagster run, as 32 hex digits."""
    return hashlib.sha256(f"run\x1f{run_id}\x1f{step}".encode()).hexdigest()[:32]


def identity_of_folder(address: str) -> str:
    """The report folder, as 32 hex digits."""
    return hashlib.sha256(f"folder\x1f{address}".encode("utf-8", "surrogatepass")).hexdigest()[:32]


def beats(store: Store, names: Iterable[str]) -> dict[str, str]:
    """For each of the names that is held, a text that changes as long as the holder lives. Raises HistoryError."""
    with store.reading() as connection:
        rows = connection.execute(select(lease).where(lease.c.name.in_(list(names))))
        return {row.name: f"{row.holder}/{row.beat}" for row in rows}


def release_all(store: Store, names: Iterable[str]) -> None:
    """Delete the rows of the names, and all other rows of the same processes, which no longer exist. Raises
    HistoryError.
    """
    given = list(names)
    with store.writing("lease") as connection:
        found = set(connection.scalars(select(lease.c.process).where(lease.c.name.in_(given)))) - {""}
        connection.execute(delete(lease).where(lease.c.name.in_(given) | lease.c.process.in_(found)))


def _wait(store: Store, name: str, holder: str, deadline: float, say: Callable[[str], None]) -> None:
    seen: tuple[str, int] | None = None
    since = time.monotonic()
    waits_for = ""
    while True:
        with store.reading() as connection:
            found = _holder(connection, name)
        if found is None:
            if _taken(store, name, holder, instead_of=None):
                return
            continue
        if (found.holder, found.beat) != seen:
            seen, since = (found.holder, found.beat), time.monotonic()
        if found.holder in _released or _is_gone(found.process) or time.monotonic() - since >= STALE_S:
            if _taken(store, name, holder, instead_of=found.holder):
                return
            continue
        if time.monotonic() >= deadline:
            why = "which did not finish in time, so nothing was audited here; end it if it hangs"
            raise InUseError(f"is being audited by {found.who}, {why}")
        if found.holder != waits_for:
            waits_for = found.holder
            say(f"waiting for {found.who}, which is auditing it")
        time.sleep(_LOOK_S)


def _holder(connection: Connection, name: str) -> Row[Any] | None:
    """The row of the name's holder; None if nobody holds it."""
    return connection.execute(select(lease).where(lease.c.name == name)).one_or_none()


def _taken(store: Store, name: str, holder: str, instead_of: str | None) -> bool:
    """Try to take the row from `instead_of`; returns whether it is ours now. False if somebody was faster since the
    check.
    """
    with store.writing(f"lease {name}") as connection:
        found = _holder(connection, name)
        if (found and found.holder) != instead_of:
            return False
        connection.execute(delete(lease).where(lease.c.name == name))
        who = f"process {os.getpid()} on {socket.gethostname()}"
        row = {"name": name, "holder": holder, "beat": 0, "process": _process(os.getpid()), "who": who}
        connection.execute(insert(lease).values(row))
        return True


def _process(pid: int) -> str:
    """A unique identity of a process: boot, PID namespace, PID, start time. Empty if /proc does not provide it.

    The namespace is included because containers may share a host name and each have a process 7, and the start time
    because PIDs are reused.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        namespace = Path("/proc/self/ns/pid").stat().st_ino
        # The second field is the program's name in parentheses, which may contain anything.
        after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    state, started = after_name[0], after_name[19]
    return "" if state in "ZX" else f"{boot}/{namespace}/{pid}/{started}"


def _is_gone(process: str) -> bool:
    """Whether the process ran on this machine and has ended; False if that cannot be determined from here."""
    here, there = _process(os.getpid()).split("/"), process.split("/")
    return len(here) == len(there) == 4 and here[:2] == there[:2] and _process(int(there[2])) != process


def _beat(store: Store, name: str, holder: str, ended: threading.Event) -> None:
    while not ended.wait(BEAT_S):
        # If the write fails now, the next beat may succeed.
        with suppress(HistoryError), patience(BEAT_S / 2), store.writing(f"lease {name}") as connection:
            own = (lease.c.name == name, lease.c.holder == holder)
            connection.execute(update(lease).where(*own).values(beat=lease.c.beat + 1))
