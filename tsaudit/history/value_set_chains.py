"""How the value set of a tag is stored from day to day: a chain of a full set and the changes of the days since."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Connection, Select, bindparam, func, select

from tsaudit.history.schema import value_set

if TYPE_CHECKING:
    from tsaudit.analysis.values.value_sets import ValueSet

MOST_CHANGES: Final = 14
"""Number of consecutive days stored as changes; reading a set takes this many steps."""
REMEMBERED: Final = timedelta(days=90)
"""Days after which an unseen value is forgotten with the next full set; if it comes back, it is new."""


class Form(IntEnum):
    """How a day is stored."""

    CHANGES = 0
    WHOLE = 1
    """The set with this day."""
    WAS_WHOLE = 2
    """The set was stored in full, and values were forgotten with it; what is left are the day's changes."""


@dataclass(frozen=True, slots=True)
class Row:
    """The row for one subject and day."""

    subject: str
    day: date
    whole: Form
    data: bytes
    checksum: int
    """Of the set with this day."""
    follows: int | None
    """Checksum of the previous set; None if there was none."""
    changes: bytes | None = None
    """What the day changed, if the set is stored in full and follows another one."""

    def stored(self, target: str) -> dict[str, Any]:
        return {
            "target": target,
            "subject": self.subject,
            "day": self.day,
            "whole": int(self.whole),
            "checksum": self.checksum,
            "data": self.data,
            "changes": self.changes,
        }


@dataclass(frozen=True, slots=True)
class Chain:
    """A set, and what is needed to read it."""

    values: ValueSet
    rows: int = 0
    """0 if none can be read."""
    whole_bytes: int = 0
    changes_bytes: int = 0
    checksum: int | None = None
    """As stored with the newest row, even if that cannot be read."""

    def grown(self, subject: str, day: date, after: ValueSet) -> Grown:
        """The set plus one day: as that day's changes, or in full once reading becomes slow."""
        from tsaudit.analysis.values import stored_value_sets

        if self.rows and self.rows <= MOST_CHANGES and stored_value_sets.continues(self.values, after):
            changes = stored_value_sets.delta(self.values, after)
            if self.changes_bytes + len(changes) <= self.whole_bytes:
                row = Row(subject, day, Form.CHANGES, changes, stored_value_sets.checksum(after), self.checksum)
                size = self.changes_bytes + len(changes)
                return Grown(row, Chain(after, self.rows + 1, self.whole_bytes, size, row.checksum))
        forgotten = day - REMEMBERED
        after = after.forget(forgotten)
        follows = self.rows and stored_value_sets.continues(self.values.forget(forgotten), after)
        instead = stored_value_sets.delta(self.values, after, forgotten) if follows else None
        data = stored_value_sets.to_bytes(after)
        row = Row(subject, day, Form.WHOLE, data, stored_value_sets.checksum(after), self.checksum, instead)
        return Grown(row, Chain(after, 1, len(data), 0, row.checksum))

    def extended(self, row: Row) -> ValueSet:
        """The set that follows from the row."""
        return set_after(self.values, row)


@dataclass(frozen=True, slots=True)
class Grown:
    """A chain plus one day, and the row for that day."""

    row: Row
    chain: Chain


def _rows_before() -> Select[Any]:
    within = [value_set.c.target == bindparam("of"), value_set.c.subject.in_(bindparam("about", expanding=True))]
    within.append(value_set.c.day < bindparam("before"))
    starts = select(value_set.c.subject, func.max(value_set.c.day).label("day"))
    start = starts.where(*within, value_set.c.whole == Form.WHOLE).group_by(value_set.c.subject).subquery()
    since = select(value_set).join(start, value_set.c.subject == start.c.subject)
    return since.where(*within, value_set.c.day >= start.c.day).order_by(value_set.c.subject, value_set.c.day)


_ROWS_BEFORE: Final = _rows_before()
"""Made once, because an audit executes it for each measurement."""


def stored_rows(connection: Connection, target: str, subjects: Sequence[str], before: date) -> dict[str, list[Any]]:
    """Of each subject, the newest full set before the day and the changes since, oldest first; empty if none."""
    found: dict[str, list[Any]] = {subject: [] for subject in subjects}
    for row in connection.execute(_ROWS_BEFORE, {"of": target, "about": subjects, "before": before}).all():
        found[row.subject].append(row)
    return found


def chain_before(connection: Connection, target: str, subject: str, day: date) -> Chain:
    """The subject's set before the day."""
    return chain_of(stored_rows(connection, target, [subject], day)[subject])


def chain_of(rows: Sequence[Any]) -> Chain:
    """The set that the rows lead to; empty if there are none, or if they cannot be read."""
    from tsaudit.analysis.values.value_sets import ValueSet

    if not rows:
        return Chain(ValueSet.empty())
    chain = Chain(ValueSet.empty())
    try:
        for row in rows:
            chain = _longer(chain, row)
    except ValueError:
        return Chain(ValueSet.empty(), checksum=rows[-1].checksum)
    return chain


def _longer(chain: Chain, row: Any) -> Chain:
    """The chain with one more row. ValueError if that cannot be read."""
    from tsaudit.analysis.values import stored_value_sets

    values = set_after(chain.values, row)
    if row.whole == Form.CHANGES:
        return Chain(values, chain.rows + 1, chain.whole_bytes, chain.changes_bytes + len(row.data), row.checksum)
    # As before it was compacted, so that the next full sets are due on the same days.
    size = len(row.data) if row.whole == Form.WHOLE else len(stored_value_sets.to_bytes(values))
    return Chain(values, 1, size, 0, row.checksum)


def set_after(before: ValueSet, row: Any) -> ValueSet:
    """The set that a row leads to. ValueError if it cannot be read, or follows another set."""
    from tsaudit.analysis.values import stored_value_sets

    if row.whole == Form.WHOLE:
        return stored_value_sets.from_bytes(row.data)
    return stored_value_sets.with_delta(before, row.data)
