"""Reads annotated CSV, the answers of Flux, row by row as they arrive.

https://docs.influxdata.com/influxdb/v2/reference/syntax/annotated-csv/
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from tsaudit.engines.connection import FactError
from tsaudit.model.profile import Reason

DIALECT: Final = {"annotations": ["datatype"], "header": True, "delimiter": ","}
"""What a request says of the answer, so that it can be read here."""
_ERROR: Final = ["error", "reference"]


@dataclass(frozen=True, slots=True)
class Record:
    """One row of a table. Tables of one answer may have different columns."""

    types: Mapping[str, str]
    """Column to data type: `string`, `double`, `long`, `unsignedLong`, `boolean`, `dateTime:RFC3339`, ..."""
    values: Mapping[str, str]
    """Column to value, as text. Null and the empty text are written alike, as nothing."""


def records(lines: Iterator[bytes]) -> Iterator[Record]:
    """The rows of all tables. FactError for an error table, which may follow rows of an answer that began well."""
    types: list[str] = []
    names: list[str] | None = None
    # A quoted value may hold line ends: the reader asks for as many lines as it needs.
    for cells in csv.reader(line.decode() + "\n" for line in lines):
        if not cells:
            names, types = None, []
        elif cells[0].startswith("#"):
            names, types = None, cells[1:] if cells[0] == "#datatype" else types
        elif names is None:
            names = cells[1:]
        elif names == _ERROR:
            raise FactError(Reason.FAILED, f"the answer broke off: {' '.join(cells[1].split())[:300]}")
        elif len(cells) != len(names) + 1:
            raise FactError(Reason.FAILED, "the answer is no annotated CSV; is a proxy in between?")
        else:
            yield Record(dict(zip(names, types, strict=False)), dict(zip(names, cells[1:], strict=True)))
