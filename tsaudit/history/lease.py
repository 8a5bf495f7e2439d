"""One audit of a database at a time, whoever starts it: cron, a colleague's shell, one code location or two.

An audit holds a row under the address of what it audits, and moves its beat every few seconds. Whoever finds a row
waits until it is gone, or until its beat has stood still for `STALE_S` by the waiter's own monotonic clock: then its
holder was killed. So neither a killed process nor a wrong clock on any machine holds the next audit up for longer. A
holder on the waiter's own machine is seen to be gone at once, where /proc shows processes.
"""

from __future__ import annotations

import hashlib
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit
from uuid import uuid4

from sqlalchemy import Connection, delete, insert, select, update

from tsaudit.history.database import HistoryError
from tsaudit.history.schema import lease

if TYPE_CHECKING:
    from tsaudit.config.settings import Target
    from tsaudit.history.store import Store

BEAT_S: Final = 10.0
"""How often a holder shows that it is alive."""

STALE_S: Final = 60.0
"""How long a beat stands still before its holder counts as killed. Six beats: a busy history may delay a few."""

_LOOK_S: Final = 0.25
"""How often a waiter looks."""


_released: Final[set[str]] = set()
"""Holders in this process whose audit is over, though the history did not let them go."""


class InUseError(Exception):
    """Another audit of the same database did not end in time. One line, with who it is."""


@contextmanager
def held(
    store: Store, target: Target, wait_s: float, say: Callable[[str], None] = lambda _line: None
) -> Iterator[None]:
    """Keep every other audit of the target's database out while inside.

    Waits up to `wait_s` seconds for an audit that is under way, which `say` is given a line about, then raises
    InUseError. HistoryError.
    """
    name, holder = identity(target), uuid4().hex
    _wait(store, name, holder, time.monotonic() + wait_s, say)
    ended = threading.Event()
    heart = threading.Thread(target=_beat, args=(store, name, holder, ended), name="tsaudit-lease", daemon=True)
    heart.start()
    try:
        yield
    finally:
        ended.set()
        heart.join(BEAT_S)
        # A history that is gone by now has told so itself.
        _released.add(holder)
        with suppress(HistoryError):
            with store.writing(f"lease {name}") as connection:
                connection.execute(delete(lease).where(lease.c.name == name, lease.c.holder == holder))
            _released.discard(holder)


def identity(target: Target) -> str:
    """The audited database in 32 hex digits: engine, address and databases; no credentials, not the target's name."""
    parts = urlsplit(target.url.get_secret_value())
    place = f"{parts.netloc.rpartition('@')[2].lower()}{parts.path.rstrip('/')}"
    text = "\x1f".join((target.engine, place, *sorted(target.databases)))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class _Holder:
    """Who audits at the moment."""

    holder: str
    beat: int
    process: str
    """`_process` of it."""
    who: str


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
            raise InUseError(f"is being audited by {found.who}, which did not end in time; nothing was audited here")
        if found.holder != waits_for:
            waits_for = found.holder
            say(f"waiting for {found.who}, which is auditing it")
        time.sleep(_LOOK_S)


def _holder(connection: Connection, name: str) -> _Holder | None:
    """None when nobody audits."""
    row = connection.execute(select(lease).where(lease.c.name == name)).one_or_none()
    return None if row is None else _Holder(row.holder, row.beat, row.process, row.who)


def _taken(store: Store, name: str, holder: str, instead_of: str | None) -> bool:
    """Whether the row is ours now: nobody was quicker than us since we looked."""
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
    """A process as nothing else ever is called: boot, PID namespace, PID, start. Empty where /proc does not say.

    The namespace, because containers may share a host's name and each have a process 7; the start, because PIDs come
    again.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        namespace = Path("/proc/self/ns/pid").stat().st_ino
        # The second field is the program's name in parentheses, which may hold anything.
        after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    state, started = after_name[0], after_name[19]
    return "" if state in "ZX" else f"{boot}/{namespace}/{pid}/{started}"


def _is_gone(process: str) -> bool:
    """Whether the process was one of this machine and is no more; False where that cannot be seen from here."""
    here, there = _process(os.getpid()).split("/"), process.split("/")
    return len(here) == len(there) == 4 and here[:2] == there[:2] and _process(int(there[2])) != process


def _beat(store: Store, name: str, holder: str, ended: threading.Event) -> None:
    while not ended.wait(BEAT_S):
        # What cannot be written now can be at the next beat.
        with suppress(HistoryError), store.writing(f"lease {name}") as connection:
            own = (lease.c.name == name, lease.c.holder == holder)
            connection.execute(update(lease).where(*own).values(beat=lease.c.beat + 1))
