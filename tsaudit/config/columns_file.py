"""Columns files: what a measurement may contain, one file each, in the format of InfluxDB's explicit buckets.

<folder>/<database>/<measurement>.csv; names are percent-encoded. The format is that of `influx bucket-schema create
--columns-file`: https://docs.influxdata.com/influxdb/cloud/admin/buckets/bucket-schema/
"""

from __future__ import annotations

import csv
import io
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, cast, get_args
from urllib.parse import quote, unquote

from tsaudit.errors import TsauditError

Semantic = Literal["timestamp", "tag", "field"]

_SUFFIX: Final = ".csv"
_HEADER: Final = ["name", "type", "data_type"]


class ColumnsFileError(TsauditError):
    """A columns file that cannot be read or written. The error's text is one line: where the problem is, what it is,
    and what to do.
    """


@dataclass(frozen=True, slots=True)
class FileColumn:
    """One column of a measurement."""

    name: str
    type: Semantic
    data_type: str | None = None
    """For fields: float, integer, unsigned, string, or boolean in InfluxDB, otherwise the engine's own name."""


Schema = Mapping[tuple[str, str], tuple[FileColumn, ...]]
"""(database, measurement) to its columns."""


def write(folder: Path, schema: Schema, *, replace: bool) -> list[Path]:
    """Write a file per measurement, all or none, and return them. Raises ColumnsFileError.

    `replace`: remove existing columns files; without it, they are an error.
    """
    there = list(_files(folder)) if folder.is_dir() else []
    if there and not replace:
        raise ColumnsFileError(
            f"{folder} already contains columns files, such as {there[0].name}; pass --replace to remove them"
        )
    names = {
        folder / _encoded(database) / f"{_encoded(name)}{_SUFFIX}": key for key in schema for database, name in [key]
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".new-") as made:
            for file, key in names.items():
                beside = Path(made) / file.relative_to(folder)
                beside.parent.mkdir(exist_ok=True)
                beside.write_bytes(dumps(schema[key]).encode())
            for old in there:
                old.unlink()
            for file in names:
                file.parent.mkdir(exist_ok=True)
                shutil.move(Path(made) / file.relative_to(folder), file)
    except OSError as error:
        raise ColumnsFileError(f"{error.filename or folder}: {error.strerror or error}") from error
    return list(names)


def read(folder: Path) -> Schema:
    """The schema declared by the folder's files. Raises ColumnsFileError if there are none, or one is malformed."""
    found: dict[tuple[str, str], tuple[FileColumn, ...]] = {}
    for file in _files(folder):
        found[unquote(file.parent.name), unquote(file.name.removesuffix(_SUFFIX))] = _loaded(file)
    if not found:
        raise ColumnsFileError(f"{folder} contains no columns files; `tsaudit schema export` writes them")
    return found


def dumps(columns: Sequence[FileColumn]) -> str:
    """The text of a columns file."""
    text = io.StringIO(newline="")
    # Python before 3.13 leaves a carriage return unquoted, and then reads it as the end of a row.
    returns = any("\r" in c.name for c in columns)
    rows = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL if returns else csv.QUOTE_MINIMAL)
    rows.writerow(_HEADER)
    rows.writerows([c.name, c.type, c.data_type or ""] for c in columns)
    return text.getvalue()


def loads(text: str) -> tuple[FileColumn, ...]:
    """The columns that the text declares. Raises ValueError, which says what is wrong, and on which line."""
    columns = tuple(_columns(text))
    names = [c.name for c in columns]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ValueError(f"column `{twice}` is declared twice")
    return columns


def _loaded(file: Path) -> tuple[FileColumn, ...]:
    try:
        # Read as bytes, because text mode would treat some characters in a name as the end of a line.
        return loads(file.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise ColumnsFileError(f"{file}: {error.strerror or error}") from error
    except ValueError as error:
        raise ColumnsFileError(f"{file}: {error}") from error


def _files(folder: Path) -> Iterator[Path]:
    return iter(sorted(file for file in folder.glob(f"*/*{_SUFFIX}") if not file.parent.name.startswith(".new-")))


_LONGEST: Final = 255 - len(_SUFFIX)
"""Maximum length of a file name without its suffix, in bytes, on common file systems."""


def has_file_name(name: str) -> bool:
    """Whether the name can be used for a file or folder."""
    return len(_encoded(name).encode()) <= _LONGEST


def _encoded(name: str) -> str:
    # Dots are encoded, because a name of only dots would be the folder itself, or its parent.
    return quote(name, safe=" ") if name.strip(".") else name.replace(".", "%2E")


def _columns(text: str) -> Iterator[FileColumn]:
    rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        if next(rows, []) != _HEADER:
            raise ValueError(f"line 1: expected {','.join(_HEADER)}")
        for row in rows:
            if len(row) not in (0, len(_HEADER)):
                raise ValueError(f"line {rows.line_num}: expected {len(_HEADER)} values, found {len(row)}")
            if row:
                yield _column(f"line {rows.line_num}", *row)
    except csv.Error as error:
        raise ValueError(f"line {rows.line_num}: {error}") from error


def _column(at: str, name: str, semantic: str, data_type: str) -> FileColumn:
    if not name:
        raise ValueError(f"{at}: a column needs a name")
    if semantic not in get_args(Semantic):
        raise ValueError(f"{at}: type `{semantic}` is not one of {', '.join(get_args(Semantic))}")
    if data_type and semantic != "field":
        raise ValueError(f"{at}: only a field has a data type")
    return FileColumn(name, cast("Semantic", semantic), data_type or None)
