"""What a SQL database holds, and what of it is gone after a plan: rows, and distinct values of each column."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from tsaudit.engines.quoting import Qualified, quote_name
from tsaudit.model.change import Change, MergeMeasurements, Rename, SplitColumn, SplitMeasurement
from tsaudit.model.plan import Phase, Plan
from tsaudit.model.profile import Measurement, Profile

Execute = Callable[[str], Any]
"""Runs a statement and returns its rows."""

_CHANGE: Final = (Phase.PREPARE, Phase.COPY, Phase.SWITCH, Phase.REMOVE)
_WORDS: Final = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


@dataclass(frozen=True, slots=True)
class Held:
    """What a table holds."""

    rows: int
    values: Mapping[str, frozenset[str]]
    """Column to its distinct values, nulls left out; in one form, whatever the type."""


@dataclass(slots=True)
class Run:
    """What became of a plan."""

    executed: int = 0
    named: list[str] = field(default_factory=list)
    """What depends on the table, as its looks have shown it."""
    shown: set[str] = field(default_factory=set)
    """Values that its checks have shown before anything was removed."""
    refused: list[str] = field(default_factory=list)
    """What the server did not accept, a line each."""


def held(profile: Profile, execute: Execute) -> dict[tuple[str, str], Held]:
    """By database and name."""
    return {(m.database, m.name): _held(profile.engine, m, execute) for m in profile.measurements}


def _held(engine: str, table: Measurement, execute: Execute) -> Held:
    name = quote_name(engine, Qualified(table.database, table.name))
    listed = ", ".join(quote_name(engine, column) for column in table.columns)
    rows = execute(f"SELECT {listed} FROM {name}")
    columns = zip(*rows, strict=True) if rows else [()] * len(table.columns)
    values = (frozenset(map(one_form, _distinct(column))) for column in columns)
    return Held(len(rows), dict(zip(table.columns, values, strict=True)))


def _distinct(column: Iterable[Any]) -> Iterable[Any]:
    """Its values but nulls, each once where that is quick to find out."""
    present = [value for value in column if value is not None]
    try:
        return set(present)
    except TypeError:  # Lists and documents.
        return present


def one_form(value: Any) -> str:
    """A number, a boolean, a time or a text in the form that is the same for all types it may be kept as."""
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).astimezone(UTC).isoformat()
    if isinstance(value, bool):
        return str(float(value))
    text = str(value).strip()
    if text.lower() in _WORDS:
        return str(float(_WORDS[text.lower()]))
    if re.match(r"\d{4}-\d\d-\d\d", text):
        with suppress(ValueError):
            return one_form(datetime.fromisoformat(text))
    try:
        number = float(text)
    except ValueError:
        return text
    number += 0.0  # -0.0 is 0.0.
    return repr(number) if math.isfinite(number) and "_" not in text else text


def lost(
    before: Mapping[tuple[str, str], Held], after: Mapping[tuple[str, str], Held], plan: Plan, shown: Iterable[str]
) -> Iterator[str]:
    """What the plan lost of its table and did not name, a line each."""
    at = (plan.subject.database, plan.subject.measurement)
    changes = [asked.change for asked in plan.changes]
    for change in changes:
        if isinstance(change, MergeMeasurements):
            yield from _lost_in_merging(change, before, after)
    if at not in before or not any(step.text for step in plan.steps if step.phase in _CHANGE):
        return
    loses = " ".join(step.loses for step in plan.steps)
    homes = _homes(at, changes, before, after)
    if not homes:
        yield f"{at}: the table is gone"
        return
    if max(after[home].rows for home in homes) < before[at].rows and not _may_merge(loses):
        yield f"{at}: {before[at].rows} rows became {max(after[home].rows for home in homes)}"
    if _may_merge(loses):
        return  # with them go values of any column
    for column, values in before[at].values.items():
        kept = frozenset().union(*(v for home in homes for v in _successors(column, changes, after[home])))
        gone = values - kept - set(shown)
        if gone == {""} and "empty" in loses and column in loses:
            continue
        if gone and not (_is_taken_apart(column, changes) and column in loses):
            yield f"{at} {column}: {sorted(gone)[:5]} of {len(values)}"


def _lost_in_merging(
    merge: MergeMeasurements, before: Mapping[tuple[str, str], Held], after: Mapping[tuple[str, str], Held]
) -> Iterator[str]:
    members = [(merge.at.database, member.measurement) for member in merge.members]
    gone = [before[one] for one in members if one in before and one not in after]
    if not gone:
        return
    homes = [after[key] for key in after if key not in before and key[1].casefold().startswith(merge.into.casefold())]
    if sum(one.rows for one in gone) > sum(home.rows for home in homes):
        yield f"{members}: {sum(one.rows for one in gone)} rows became {sum(home.rows for home in homes)}"
    kept = frozenset().union(*(values for home in homes for values in home.values.values()))
    had = frozenset().union(*(values for one in gone for values in one.values.values()))
    if had - kept:
        yield f"{members}: {sorted(had - kept)[:5]} of {len(had)} values"


def _homes(
    at: tuple[str, str],
    changes: Iterable[Change],
    before: Mapping[tuple[str, str], Held],
    after: Mapping[tuple[str, str], Held],
) -> list[tuple[str, str]]:
    """Where the rows are: the table itself or the one of its new name, and tables that took some of its columns."""
    names = [c.new for c in changes if isinstance(c, Rename) and not c.old]
    names += [c.name for c in changes if isinstance(c, SplitMeasurement)]
    new = [key for key in after if key not in before and any(key[1].casefold().startswith(n.casefold()) for n in names)]
    return [key for key in (at, *new) if key in after]


def _successors(column: str, changes: Iterable[Change], now: Held) -> Iterator[frozenset[str]]:
    names = [c.new for c in changes if isinstance(c, Rename) and c.old == column]
    for name, values in now.values.items():
        if name == column or any(name == n or name.startswith(f"{n}_") for n in names):
            yield values


def _is_taken_apart(column: str, changes: Iterable[Change]) -> bool:
    return any(isinstance(c, SplitColumn) and c.column == column for c in changes)


def _may_merge(loses: str) -> bool:
    """Whether the plan says that rows become one, or go."""
    return any(words in loses for words in ("one of each", "become one", "last one stays", "older than"))
