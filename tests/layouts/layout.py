"""What a layout is: data as a known program writes it, and what somebody who knows the engine wants to hear of it.

Each module of this folder describes the layouts of one kind of program in `LAYOUTS`. What is wanted is written down
before the first run; a layout that shows the product to be wrong stays as it is, and the product is fixed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from tests.databases import Dataset


@dataclass(frozen=True, slots=True)
class Script:
    """A database made by statements: for what other people's schemas have and data sets have not."""

    statements: Sequence[str]
    """Run one after the other, in an empty schema or file. Rows come fastest from INSERT ... SELECT."""
    rows: Mapping[str, Sequence[Sequence[Any]]] = field(default_factory=dict)
    """Table to its rows, in the order of its columns, written after the statements."""
    then: Sequence[str] = ()
    """Run after the rows: ANALYZE, for example."""


Made = Dataset | Script


@dataclass(frozen=True, slots=True)
class Wanted:
    """A finding an expert wants to read, at any severity; `grades` says which of them are harmful."""

    codes: str
    """The rules that may say it, with `|` between: `TAG002|CAR004`."""
    subject: str
    """Of it: `measurement`, `measurement.column`, or with `*`; empty for the database."""
    why: str
    """One line: what is wrong, and why the owner would act."""


@dataclass(frozen=True, slots=True)
class Layout:
    """How one program lays out its data on one engine: as it goes wrong, as it is kept well, or both."""

    name: str
    """Unique, with hyphens: `telegraf-docker`."""
    engine: str
    source: str
    """The public document that the layout follows."""
    dirty: Callable[[], Made] | None = None
    clean: Callable[[], Made] | None = None
    """The twin on which nobody would act: verdict ok, exit code 0."""
    wanted: tuple[Wanted, ...] = ()
    """Of the dirty one."""
    fine: tuple[Wanted, ...] = ()
    """Of the dirty one: right to say, but nobody would miss it."""
    yesterday: Callable[[], Made] | None = None
    """What the dirty one held a day earlier, where that is needed to see what is wrong."""
    columns: Mapping[str, Any] = field(default_factory=dict)
    """The entry `columns:` of the target; a layout should need none."""
    now: datetime | None = None
    """When the audit runs; None for the tests' usual time, up to which the newest rows should reach."""
