"""Nothing is quadratic: the calls that an audit makes grow as what it audits does.

Calls of functions are counted, in Python and in C, and no time: the machine may be busy. What every audit does, however
little there is to audit, drops out of the differences between three sizes. In the sum of all calls, a function that is
called for each pair of tables shows only when there are thousands; by itself, it shows at once.
"""

from __future__ import annotations

import itertools
import json
import math
import sqlite3
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import date, timedelta
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final

import pytest

from tests.command import CliRunner
from tsaudit.cli import main

_SIZES: Final = (3, 12, 48)
_STEEPEST: Final = 1.15
"""The exponent of a curve through the three sizes: 1 is linear, 2 quadratic."""
_TIMES: Final = 4
"""From each size to the next."""
_MANY: Final = (12, 48, 192)
"""Tables: every rule about families of them looks at the fewest of these, too."""
_PAIRS: Final = (_MANY[2] ** 2 - _MANY[1] ** 2) // 2
"""More calls than this are made for each pair of so many tables."""
_PAIRWISE: Final = 1.6
_ROWS: Final = 30
_SINCE: Final = date(2026, 9, 1)


def _database(
    path: Path,
    tables: int = 1,
    *,
    fields: int = 2,
    tags: int = 1,
    name: str = "cpu{}",
    as_text: bool = False,
    tag: str = "v{0}",
) -> None:
    columns = [f"tag{k} text" for k in range(tags)] + [f"f{k} {'text' if as_text else 'real'}" for k in range(fields)]
    key = ", ".join(["time", *(f"tag{k}" for k in range(tags))])
    rows = [
        (
            f"2026-08-31 00:{i:02}:00",
            *(tag.format(i % (k + 2), i) for k in range(tags)),
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
    "findings about tags": lambda folder, n: _database(folder / "db0.db", n, tag="eu{0}|srv{1}|r{0}"),
    "fields": lambda folder, n: _database(folder / "db0.db", fields=n),
    "tags": lambda folder, n: _database(folder / "db0.db", tags=n),
    "targets": _databases,
    "days": _days,
}


def _configure(folder: Path) -> None:
    files = sorted(folder.glob("*.db"))
    # All rows are within it on each audited day, so that each has the same to do.
    targets = [{"name": f.stem, "engine": "sqlite", "url": f"sqlite:///{f.name}", "window": "90d"} for f in files]
    (folder / "tsaudit.yaml").write_text(json.dumps({"targets": targets}))


def _audit(*arguments: str) -> None:
    outcome = CliRunner().invoke(main, ["audit", "--fail-on", "never", *arguments], prog_name="tsaudit")
    assert outcome.exit_code == 0, outcome.output


_Calls = dict[str, int]
"""By function."""


@contextmanager
def _counted() -> Iterator[Callable[[], _Calls]]:
    """The calls so far, of all threads."""
    # Counters that no thread interrupts.
    counts: defaultdict[Any, itertools.count[int]] = defaultdict(itertools.count)
    calls: _Calls = {}

    def note(frame: FrameType, event: str, called: Any) -> None:
        if event == "call":
            next(counts[frame.f_code])
        elif event == "c_call":
            next(counts[getattr(called, "__qualname__", "")])

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield lambda: calls
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
        for function, count in counts.items():
            is_python = isinstance(function, CodeType)
            name = f"{function.co_filename}:{function.co_qualname}" if is_python else str(function)
            calls[name] = calls.get(name, 0) + next(count)


def _forget() -> None:
    """Names and values that another test had would be free for one size, and not for the next."""
    for name, module in list(sys.modules.items()):
        if name.startswith("tsaudit.analysis."):
            for one in vars(module).values():
                if hasattr(one, "cache_clear"):
                    one.cache_clear()


def _calls(kind: str, sizes: Sequence[int], folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[_Calls]:
    """Those of an audit of each size."""
    found = []
    # The first one also imports, and compiles templates.
    for run, size in enumerate((sizes[0], *sizes)):
        own = folder / str(run)
        own.mkdir()
        monkeypatch.chdir(own)
        KINDS[kind](own, size)
        _configure(own)
        _forget()
        with _counted() as calls:
            _audit()
        found.append(calls())
    return found[1:]


def _exponent(few: int, more: int, many: int) -> float:
    return math.log(max(many - more, 1) / max(more - few, 1), _TIMES)


@pytest.mark.full
@pytest.mark.parametrize("kind", KINDS)
def test_calls_grow_as_what_is_audited(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few, more, many = (sum(calls.values()) for calls in _calls(kind, _SIZES, tmp_path, monkeypatch))
    assert _exponent(few, more, many) < _STEEPEST, f"{few:,} calls, {more:,}, {many:,}"


@pytest.mark.full
@pytest.mark.parametrize("kind", ["tables", "tables of one family", "findings", "findings about tags"])
def test_no_function_is_called_for_each_pair_of_tables(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few, more, many = _calls(kind, _MANY, tmp_path, monkeypatch)
    steep = {
        name: (few.get(name, 0), more.get(name, 0), count)
        for name, count in many.items()
        if count - more.get(name, 0) > _PAIRS and _exponent(few.get(name, 0), more.get(name, 0), count) > _PAIRWISE
    }
    assert not steep
