"""One audit of a database at a time, whoever starts it: cron, a colleague's shell, one code location or two.

An audit holds a row under the address of what it audits, and moves its beat every few seconds. Whoever finds a row
waits until it is gone, or until its beat has stood still for `STALE_S` by the waiter's own monotonic clock: then its
holder was killed. So neither a killed process nor a wrong clock on any machine holds the next audit up for longer.
"""

from __future__ import annotations

import hashlib
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit
from uuid import uuid4

from sqlalchemy import Connection, delete, insert, select, update

from tsaudit.history.database import HistoryError
from tsaudit.history.schema import lease

if TYPE_CHECKING:
    from tsaudit.config import Target
    from tsaudit.history.store import Store

BEAT_S: Final = 10.0
"""How often a holder shows that it is alive."""

STALE_S: Final = 60.0
"""How long a beat stands still before its holder counts as killed. Six beats: a busy history may delay a few."""

_LOOK_S: Final = 0.25
"""How often a waiter looks."""


class InUseError(Exception):
    """Another audit of the same database did not end in time. One line, with who it is."""


@contextmanager
def held(store: Store, target: Target, wait_s: float) -> Iterator[None]:
    """Keep every other audit of the target's database out while inside.

    Waits up to `wait_s` seconds for an audit that is under way, then raises InUseError. HistoryError.
    """
    name, holder = identity(target), uuid4().hex
    _wait(store, name, holder, time.monotonic() + wait_s)
    ended = threading.Event()
    heart = threading.Thread(target=_beat, args=(store, name, holder, ended), name="tsaudit-lease", daemon=True)
    heart.start()
    try:
        yield
    finally:
        ended.set()
        heart.join(BEAT_S)
        # A history that is gone by now has told so itself; the row goes stale.
        with suppress(HistoryError), store.writing(f"lease {name}") as connection:
            connection.execute(delete(lease).where(lease.c.name == name, lease.c.holder == holder))


def identity(target: Target) -> str:
    """The audited database in 32 hex digits: engine, address and databases; no credentials, not the target's name."""
    parts = urlsplit(target.url.get_secret_value())
    place = f"{parts.netloc.rpartition('@')[2].lower()}{parts.path.rstrip('/')}"
    text = "\x1f".join((target.engine, place, *sorted(target.databases)))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _wait(store: Store, name: str, holder: str, deadline: float) -> None:
    seen: tuple[str, int] | None = None
    since = time.monotonic()
    while True:
        with store.reading() as connection:
            found = _row(connection, name)
        if found is None or (found[:2] == seen and time.monotonic() - since >= STALE_S):
            if _taken(store, name, holder, instead_of=found and found[0]):
                return
            continue
        if found[:2] != seen:
            seen, since = found[:2], time.monotonic()
        if time.monotonic() >= deadline:
            raise InUseError(f"is being audited by {found[2]}, which did not end in time; nothing was audited here")
        time.sleep(_LOOK_S)


def _row(connection: Connection, name: str) -> tuple[str, int, str] | None:
    """Holder, beat and who that is; None when nobody audits."""
    row = connection.execute(
        select(lease.c.holder, lease.c.beat, lease.c.who).where(lease.c.name == name)
    ).one_or_none()
    return None if row is None else (row.holder, row.beat, row.who)


def _taken(store: Store, name: str, holder: str, instead_of: str | None) -> bool:
    """Whether the row is ours now: nobody was quicker than us since we looked."""
    with store.writing(f"lease {name}") as connection:
        found = _row(connection, name)
        if (found and found[0]) != instead_of:
            return False
        connection.execute(delete(lease).where(lease.c.name == name))
        who = f"process {os.getpid()} on {socket.gethostname()}"[:200]
        connection.execute(insert(lease).values(name=name, holder=holder, beat=0, who=who))
        return True


def _beat(store: Store, name: str, holder: str, ended: threading.Event) -> None:
    while not ended.wait(BEAT_S):
        # What cannot be written now can be at the next beat.
        with suppress(HistoryError), store.writing(f"lease {name}") as connection:
            own = (lease.c.name == name, lease.c.holder == holder)
            connection.execute(update(lease).where(*own).values(beat=lease.c.beat + 1))
