"""Lets something happen in the middle of an audit, or to the responses, where no server is there to do it.

Installed in the process that audits, it counts the statements and does what was asked before the given one.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from tests.faults.damage import KINDS, Damaged
from tsaudit.engines import opening as connectors
from tsaudit.engines.connection import Connection, Rows
from tsaudit.model.facts import Given


def _delete(file: Path, _: Path) -> None:
    file.unlink()


def _replace(file: Path, other: Path) -> None:
    new = file.with_name("new")
    shutil.copyfile(other, new)
    new.replace(file)


def _overwrite(file: Path, other: Path) -> None:
    """In place, as a copy over a database in use does it."""
    with file.open("r+b") as target:
        target.write(other.read_bytes())
        target.truncate()


def _truncate(file: Path, _: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


def _forbid(file: Path, _: Path) -> None:
    file.chmod(0)


_ACTIONS: Final[Mapping[str, Callable[[Path, Path], None]]] = {
    "delete": _delete,
    "replace": _replace,
    "overwrite": _overwrite,
    "truncate": _truncate,
    "forbid": _forbid,
}


DONE: Final = Path("done")
"""In the folder of the command: there once it has happened."""


class _Watched:
    def __init__(self, connection: Connection, left: list[str], act: Callable[[], None]) -> None:
        self._connection, self._left, self._act = connection, left, act
        self.server_version = connection.server_version

    def query(self, fact: str, timeout_s: float, given: Given) -> Rows:
        if fact in self._left:
            self._left.clear()
            self._act()
            DONE.touch()
        return self._connection.query(fact, timeout_s, given)

    def reconnect(self) -> Connection:
        return _Watched(self._connection.reconnect(), self._left, self._act)

    def close(self) -> None:
        self._connection.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


def install(watch: Mapping[str, str]) -> None:
    """`before`: the fact; `action`, `file`, `other`: what to do. Or `damage`: what to do to the responses."""
    left = [watch.get("before", "")]
    opened = connectors.open_connection

    @contextlib.contextmanager
    def watched(*arguments: Any, **settings: Any) -> Iterator[Connection]:
        with opened(*arguments, **settings) as connection:
            if kind := watch.get("damage"):
                yield Damaged(connection, KINDS[kind], DONE.touch)
                return
            act = _ACTIONS[watch["action"]]
            yield _Watched(connection, left, lambda: act(Path(watch["file"]), Path(watch.get("other", ""))))

    connectors.open_connection = watched
