"""Nothing is quadratic: the calls that an audit makes grow as what it audits does.

Calls of functions are counted, in Python and in C, and no time: the machine may be busy. What every audit does, however
little there is to audit, drops out of the differences between three sizes.
"""

from __future__ import annotations

import itertools
import json
import math
import sqlite3
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import date, timedelta
from pathlib import Path
from typing import Any, Final

import pytest

from tests.command import CliRunner
from tsaudit.cli import main

_SIZES: Final = (3, 12, 48)
_STEEPEST: Final = 1.15
"""The exponent of a curve through the three sizes: 1 is linear, 2 quadratic."""
_ROWS: Final = 30
_SINCE: Final = date(2026, 9, 1)


def _database(
    path: Path, tables: int = 1, *, fields: int = 2, tags: int = 1, name: str = "cpu{}", as_text: bool = False
) -> None:
    columns = [f"tag{k} text" for k in range(tags)] + [f"f{k} {'text' if as_text else 'real'}" for k in range(fields)]
    key = ", ".join(["time", *(f"tag{k}" for k in range(tags))])
    rows = [
        (
            f"2026-11-26 00:{i:02}:00",
            *(f"v{i % (k + 2)}" for k in range(tags)),
            *(str(i * (k + 1) / 7) if as_text else i * (k + 1) / 7 for k in range(fields)),
        )
        for i in range(_ROWS)
    ]
    with closing(sqlite3.connect(path)) as connection, connection:
        for number in range(tables):
            table = f'"{name.format(number)}"'
            connection.execute(f"create table {table} (time text, {', '.join(columns)}, primary key ({key}))")
            connection.executemany(f"insert into {table} values ({', '.join('?' * len(rows[0]))})", rows)


def _databases(folder: Path, count: int) -> None:
    for number in range(count):
        _database(folder / f"db{number}.db")


def _days(folder: Path, count: int) -> None:
    _database(folder / "db0.db", 3)
    _configure(folder)
    for number in range(count):
        _audit("--day", str(_SINCE + timedelta(days=number)))


KINDS: Final[dict[str, Callable[[Path, int], None]]] = {
    "tables": lambda folder, n: _database(folder / "db0.db", n),
    "tables of one family": lambda folder, n: _database(folder / "db0.db", n, name="srv.web{}.cpu.load"),
    "findings": lambda folder, n: _database(folder / "db0.db", n, as_text=True),
    "fields": lambda folder, n: _database(folder / "db0.db", fields=n),
    "tags": lambda folder, n: _database(folder / "db0.db", tags=n),
    "targets": _databases,
    "days": _days,
}


def _configure(folder: Path) -> None:
    files = sorted(folder.glob("*.db"))
    targets = [{"name": f.stem, "engine": "sqlite", "url": f"sqlite:///{f.name}"} for f in files]
    (folder / "tsaudit.yaml").write_text(json.dumps({"targets": targets}))


def _audit(*arguments: str) -> None:
    outcome = CliRunner().invoke(main, ["audit", "--fail-on", "never", *arguments], prog_name="tsaudit")
    assert outcome.exit_code == 0, outcome.output


@contextmanager
def _counted() -> Iterator[Callable[[], int]]:
    """The calls so far, of all threads."""
    # A counter that no thread interrupts.
    number, calls = itertools.count(), 0

    def note(_: Any, event: str, __: Any) -> None:
        if event in ("call", "c_call"):
            next(number)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield lambda: calls
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
        calls = next(number)


@pytest.mark.full
@pytest.mark.parametrize("kind", KINDS)
def test_calls_grow_as_what_is_audited(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    # The first one also imports, and compiles templates.
    for run, size in enumerate((_SIZES[0], *_SIZES)):
        folder = tmp_path / str(run)
        folder.mkdir()
        monkeypatch.chdir(folder)
        KINDS[kind](folder, size)
        _configure(folder)
        with _counted() as calls:
            _audit()
        found.append(calls())
    _, few, more, many = found
    exponent = math.log(max(many - more, 1) / max(more - few, 1), _SIZES[1] / _SIZES[0])
    assert exponent < _STEEPEST, f"{few:,} calls, {more:,}, {many:,}"
