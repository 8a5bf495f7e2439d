"""Reads annotated CSV, the format of Flux responses, row by row as they arrive.

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
"""Request parameters that give the response the format read here."""
_ERROR: Final = ["error", "reference"]


@dataclass(frozen=True, slots=True)
class Record:
    """One row of a table. Tables of one response may have different columns."""

    types: Mapping[str, str]
    """Column to data type: `string`, `double`, `long`, `unsignedLong`, `boolean`, `dateTime:RFC3339`, ..."""
    values: Mapping[str, str]
    """Column to value, as a string. Null and the empty string cannot be distinguished."""


def records(lines: Iterator[bytes]) -> Iterator[Record]:
    """The rows of all tables. Raises FactError for an error table, which may also follow regular rows."""
    types: list[str] = []
    names: list[str] | None = None
    # A quoted value may contain line breaks, so the CSV reader requests as many lines as it needs.
    for cells in csv.reader(line.decode() + "\n" for line in lines):
        if not cells:
            names, types = None, []
        elif cells[0].startswith("#"):
            names, types = None, cells[1:] if cells[0] == "#datatype" else types
        elif names is None:
            names = cells[1:]
        elif names == _ERROR:
            raise FactError(Reason.FAILED, f"the response broke off: {' '.join(cells[1].split())[:300]}")
        elif len(cells) != len(names) + 1:
            raise FactError(Reason.FAILED, "the response is not annotated CSV; is there a proxy in between?")
        else:
            yield Record(dict(zip(names, types, strict=False)), dict(zip(names, cells[1:], strict=True)))
