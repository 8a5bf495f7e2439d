"""What a database of a blind set is, and what an expert expects to hear about it.

Whoever writes one knows the public documentation of a program and what a fault costs on its engine, and has not seen
the rules: an expectation names a place and a cause in the field's words, never a rule.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from tests.layouts.layout import Made


class Grade(enum.StrEnum):
    """Whether an expert would act this week."""

    HARMFUL = "harmful"
    """It costs something material now or within a year at the present rate, or loses data: worth a warning."""
    HARMLESS = "harmless"
    """True, and worth a line for somebody who redesigns the schema; nobody would act on it. Right as a note, wrong as a
    warning.
    """


class Cause(enum.StrEnum):
    """What is wrong."""

    ID_TAG = "a tag or key whose values are used once or a few times, so series or entries grow with traffic"
    VALUE_TAG = "a tag or key that holds a measured value, a counter, or a time"
    TEXT_TAG = "a tag or key that holds free text: log lines, messages, URLs, SQL"
    CHANGING_TAG = "a tag that changes over time for the same source"
    DEPENDENT_TAG = "a tag or dimension that follows from another one, or is constant"
    COMPOSITE = "several attributes packed into one value"
    NAMES = "measurements, tables, collections, or databases named by data: devices, days, tenants"
    COLUMN_NAMES = "fields or columns named by data"
    LIMIT = "near, or at, a limit of the server, the edition, or the owner"
    LOST = "rows or points rejected, dropped, or overwritten"
    TYPE_CONFLICT = "one field with several types, or one name as tag and field"
    NUMBER_AS_TEXT = "numbers or times stored as text"
    REPEATED_BYTES = "the same text or document stored again in many rows"
    INDEX = "an index that is redundant, unused, unsuitable, or invalid"
    NO_INDEX = "an index that is missing"
    PARTITIONS = "partitions, chunks, or shards: too many, too long, too short, the default fills, the last one ends"
    ROWS_LAYOUT = "rows that should be one, or rows of several kinds in one table"
    SPARSE = "columns that are mostly empty"
    RETENTION = "nothing removes old data, or what should does not"
    DEAD_ROWS = "dead rows, bloat, or bulk deletes"
    ARRAY = "an array or document that grows without end"
    BUCKETS = "buckets of a time series collection that are nearly empty, or documents that should be one"
    OPTIONS = "a storage option, key, or mode that does not fit what is written"
    MONEY = "something that is billed and could be avoided"


@dataclass(frozen=True, slots=True)
class Expected:
    """Something to say about the database."""

    cause: Cause
    subject: str
    """`measurement`, `measurement.column`, `index name`, with `*` for what varies; empty for the database."""
    grade: Grade
    why: str
    """One sentence with the figures: what it costs, now and in a year, or why it costs nothing."""


@dataclass(frozen=True, slots=True)
class BlindDatabase:
    """One database of a blind set."""

    name: str
    engine: str
    source: str
    """The address of the public document that the data follow."""
    made: Callable[[], Made]
    expected: tuple[Expected, ...] = ()
    """Empty: nothing is worth a word."""
    quiet: bool = False
    """An application's database on which a warning of any kind would be false."""
    yesterday: Callable[[], Made] | None = None
    """What it held a day earlier, where a difference matters."""
    columns: Mapping[str, Any] = field(default_factory=dict)
    """What the owner declares in `columns:`; mostly nothing."""
    now: datetime | None = None
    """When the audit runs; None for the tests' usual time (`tests.builders.NOW`)."""
