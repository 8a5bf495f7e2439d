"""DuckDB and SQLite: what can happen to a file, before an audit of it and in the middle of one."""

from __future__ import annotations

import gzip
import os
import random
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.databases import write
from tests.faults import bad_http, watching
from tests.faults.engine import Scene, Settings, Stage
from tests.faults.expectations import Fault
from tests.faults.http_engines import DATA

_OTHER: Final = {"sqlite": "duckdb", "duckdb": "sqlite"}
_HEADER_BYTES: Final = {"sqlite": 100, "duckdb": 3 * 4096}
_VERSION_AT: Final = {"sqlite": 18, "duckdb": 12}
"""Where in a file the version is that a reader must know."""

Spoil = Callable[[Path], None]
"""Does something to the good file at this path."""


@dataclass(slots=True)
class FileEngine:
    """Copies of one good file, spoiled."""

    name: str
    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict)

    def healthy(self) -> Stage:
        return self._spoiled(lambda path: None)

    def close(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def stage(self, fault: Fault) -> Stage | str:
        if fault.name in _MIDDLE:
            return self._in_the_middle(_MIDDLE[fault.name])
        if fault.name == "locked":
            return self._locked
        if fault.name == "long-name":
            return self._named(f"db/{'x' * 300}.db")
        without_rights = fault.name in ("unreadable", "unreadable-folder", "read-only-folder")
        return self._spoiled(self._spoils()[fault.name], without_rights=without_rights)

    def _file(self, folder: Path) -> Path:
        """A good copy, in a folder of its own below the cell's."""
        path = folder / "db" / f"main.{self.name}"
        path.parent.mkdir()
        shutil.copyfile(self.folder / path.name, path)
        return path

    def _settings(self, path: str = "") -> Settings:
        return {"url": f"{self.name}:///{path or f'db/main.{self.name}'}"}

    def _spoiled(self, spoil: Spoil, *, without_rights: bool = False) -> Stage:
        @contextmanager
        def stage(folder: Path) -> Iterator[Scene]:
            path = self._file(folder)
            spoil(path)
            try:
                yield Scene(self._settings(), without_override=without_rights)
            finally:
                if path.parent.exists():
                    path.parent.chmod(0o755)

        return stage

    def _named(self, path: str) -> Stage:
        @contextmanager
        def stage(folder: Path) -> Iterator[Scene]:
            yield Scene(self._settings(path))

        return stage

    def _in_the_middle(self, action: str) -> Stage:
        @contextmanager
        def stage(folder: Path) -> Iterator[Scene]:
            path = self._file(folder)
            other = folder / "other"
            if action == "overwrite":
                _garbage(other, path.stat().st_size)
            else:
                shutil.copyfile(self.folder / f"main.{_OTHER[self.name]}", other)
            watch = {"before": "series_listing", "action": action, "file": str(path), "other": str(other)}

            def check() -> str | None:
                return None if (folder / watching.DONE).exists() else "it never happened"

            yield Scene(self._settings(), watch=watch, without_override=action == "forbid", check=check)

        return stage

    @contextmanager
    def _locked(self, folder: Path) -> Iterator[Scene]:
        path = self._file(folder)
        if self.name == "sqlite":
            writer = sqlite3.connect(path, isolation_level=None)
            writer.execute("BEGIN EXCLUSIVE")
        else:
            import duckdb

            writer = duckdb.connect(str(path))
        try:
            yield Scene(self._settings())
        finally:
            writer.close()

    def _spoils(self) -> Mapping[str, Spoil]:
        def link(to: str) -> Spoil:
            def spoil(path: Path) -> None:
                path.unlink()
                path.symlink_to(to)

            return spoil

        def put(content: Callable[[bytes], bytes]) -> Spoil:
            return lambda path: path.write_bytes(content(path.read_bytes())) and None

        def instead(make: Callable[[Path], object]) -> Spoil:
            def spoil(path: Path) -> None:
                path.unlink()
                make(path)

            return spoil

        head, version = _HEADER_BYTES[self.name], _VERSION_AT[self.name]
        return {
            "missing": Path.unlink,
            "no-folder": lambda path: shutil.rmtree(path.parent),
            "dangling": link("nowhere.db"),
            "link-loop": link(f"main.{self.name}"),
            "directory": instead(Path.mkdir),
            "pipe": instead(os.mkfifo),
            "device": link("/dev/zero"),
            "unreadable": lambda path: path.chmod(0),
            "unreadable-folder": lambda path: path.parent.chmod(0),
            "zero": put(lambda _: b""),
            "garbage": lambda path: _garbage(path, 100_000),
            "zeros": instead(_a_terabyte),
            "page": put(lambda _: bad_http.PAGE * 50),
            "other-engine": instead(lambda path: shutil.copyfile(self.folder / f"main.{_OTHER[self.name]}", path)),
            "compressed": put(gzip.compress),
            "head-only": put(lambda whole: whole[:head]),
            "half": put(lambda whole: whole[: len(whole) // 2]),
            "newer": put(lambda whole: whole[:version] + b"\x63\x63" + whole[version + 2 :]),
            "no-tables": instead(self._without_tables),
            "read-only-folder": _may_not_be_written,
            "left-journal": instead(self._crashed),
        }

    def _without_tables(self, path: Path) -> None:
        if self.name == "sqlite":
            with sqlite3.connect(path) as connection:
                connection.execute("CREATE TABLE gone (x)")
                connection.execute("DROP TABLE gone")
            connection.close()
        else:
            import duckdb

            duckdb.connect(str(path)).close()

    def _crashed(self, path: Path) -> None:
        """The good file as a writer leaves it that dies before its log is merged into the file."""
        good = self.folder / f"main.{self.name}"
        at_work = path.with_name("at-work.db")
        if self.name == "sqlite":
            writer = sqlite3.connect(at_work)
            writer.execute("PRAGMA journal_mode = wal")
            writer.execute("PRAGMA wal_autocheckpoint = 0")
            source = sqlite3.connect(good)
            writer.executescript("\n".join(source.iterdump()))
            source.close()
            log = "-wal"
        else:
            import duckdb

            writer = duckdb.connect(str(at_work))
            writer.execute("PRAGMA disable_checkpoint_on_shutdown")
            writer.execute("SET wal_autocheckpoint = '1GB'")
            writer.execute(f"ATTACH '{good}' AS good (READ_ONLY)")
            ((made,),) = writer.execute("SELECT sql FROM duckdb_tables() WHERE database_name = 'good'").fetchall()
            writer.execute(made)
            writer.execute("INSERT INTO http SELECT * FROM good.http")
            log = ".wal"
        shutil.copyfile(at_work, path)
        shutil.copyfile(f"{at_work}{log}", f"{path}{log}")
        writer.close()


_MIDDLE: Final = {
    "deleted": "delete",
    "replaced": "replace",
    "overwritten": "overwrite",
    "truncated": "truncate",
    "rights-lost": "forbid",
}


def _garbage(path: Path, size: int) -> None:
    path.write_bytes(random.Random(7).randbytes(size))


def _a_terabyte(path: Path) -> None:
    """Of which the disk keeps nothing."""
    path.touch()
    os.truncate(path, 10**12)


def _may_not_be_written(path: Path) -> None:
    path.chmod(0o444)
    path.parent.chmod(0o555)


def _engine(name: str) -> FileEngine:
    folder = Path(tempfile.mkdtemp(prefix=f"tsaudit-{name}-"))
    for each in _OTHER:
        write(DATA, each, folder / f"main.{each}")
    return FileEngine(name, folder)


def sqlite() -> FileEngine:
    return _engine("sqlite")


def duckdb() -> FileEngine:
    return _engine("duckdb")
