"""The values of each tag over time in the history: a full set now and then, and the changes of each day since.

A day's row is written in the transaction of the day's snapshot and replaced if the day is audited again. A past day is
inserted in its place, and a removed day is taken out: the following days are recomputed from what they saw. Nothing is
written for a day before the oldest remaining set, because the days before that set are no longer known, nor if another
audit of the target has changed the earlier days in the meantime. A set that this version cannot read is left alone, and
a new one is started.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Connection, delete, func, insert, select

from tsaudit.history.points import stored_subject
from tsaudit.history.schema import value_set
from tsaudit.history.store import LONGEST_SUBJECT_BYTES, Store

if TYPE_CHECKING:
    from tsaudit.analysis.values.value_sets import ValueSet
    from tsaudit.model.subject import Subject

MOST_CHANGES: Final = 14
"""Number of consecutive days stored as changes; reading a set takes this many steps."""
REMEMBERED: Final = timedelta(days=90)
"""Days after which an unseen value is forgotten with the next full set; if it comes back, it is new."""


class RememberedValues:
    """The value sets of one target before a day, and those with the day's values until they are written.

    Any number of threads may use it, for different subjects. Methods raise HistoryError.
    """

    def __init__(self, store: Store, target: str, day: date) -> None:
        self._store = store
        self._target = target
        self._day = day
        self._before: dict[str, _Chain] = {}
        self._kept: list[_Row] = []

    def of(self, subject: Subject) -> ValueSet:
        """The set before the day, empty if there is none."""
        key = stored_subject(subject)
        with self._store.reading() as connection:
            chain = self._before[key] = _chain(_rows(connection, self._target, key, before=self._day))
        return chain.values

    def keep(self, subject: Subject, after: ValueSet) -> None:
        """Take the set with the day's values, which starts with the result of `of`."""
        key = stored_subject(subject)
        if len(key.encode()) <= LONGEST_SUBJECT_BYTES:
            self._kept.append(self._before.pop(key).grown(key, self._day, after).row)

    def write(self, connection: Connection) -> None:
        """Write all sets taken, in the transaction of the day's snapshot."""
        newest = self._newest(connection, None)
        before = self._newest(connection, self._day)
        known = {
            row.subject: row.checksum
            for row in connection.execute(
                select(value_set.c.subject, value_set.c.day, value_set.c.checksum).where(
                    value_set.c.target == self._target, value_set.c.day.in_(sorted(set(before.values())))
                )
            )
            if before.get(row.subject) == row.day
        }
        rows: list[dict[str, Any]] = []
        for row in self._kept:
            if known.get(row.subject) != row.follows:
                continue
            later = newest.get(row.subject, self._day) > self._day
            grown = list(self._replayed(connection, row)) if later else [row]
            if grown:
                _delete_from(connection, self._target, row.subject, self._day)
            rows += [r.stored(self._target) for r in grown]
        if rows:
            connection.execute(insert(value_set), rows)

    def _newest(self, connection: Connection, before: date | None) -> dict[str, date]:
        """Subject to its newest day before the given one."""
        query = select(value_set.c.subject, func.max(value_set.c.day).label("day")).group_by(value_set.c.subject)
        query = query.where(value_set.c.target == self._target)
        if before is not None:
            query = query.where(value_set.c.day < before)
        return {row.subject: row.day for row in connection.execute(query)}

    def _replayed(self, connection: Connection, row: _Row) -> Iterator[_Row]:
        """The rows of a past day and of the days after it; none if those cannot be continued."""
        chain = _chain(_rows(connection, self._target, row.subject, before=self._day))
        try:
            known = list(_observed(connection, self._target, row.subject, self._day))
        except ValueError:
            return
        if not chain.rows and known[0].knows_the_past:
            return
        grown = chain.grown(row.subject, row.day, chain.extended(row))
        yield grown.row
        for seen in known:
            if seen.day <= self._day:
                continue
            after = grown.chain.values.observe_hashes(seen.hashes, seen.day, seen.distinct)
            grown = grown.chain.grown(row.subject, seen.day, after)
            yield grown.row


def remove_day(connection: Connection, target: str, day: date) -> tuple[int, int]:
    """Remove what the day saw from all sets of the target, in the transaction that removes the day's snapshot.

    Returns the number of sets it was removed from, and the number it stays in: those that cannot be read, and those
    whose record of earlier days starts with that day.
    """
    mine = (value_set.c.target == target, value_set.c.day == day)
    subjects = list(connection.execute(select(value_set.c.subject).where(*mine)).scalars())
    removed = sum(_removed(connection, target, subject, day) for subject in subjects)
    return removed, len(subjects) - removed


def _removed(connection: Connection, target: str, subject: str, day: date) -> bool:
    chain = _chain(_rows(connection, target, subject, before=day))
    try:
        seen = [found for found in _observed(connection, target, subject, day) if found.day >= day]
    except ValueError:
        return False
    if not chain.rows and (chain.checksum is not None or seen[0].knows_the_past):
        return False
    _delete_from(connection, target, subject, day)
    rows = []
    for found in seen[1:]:
        grown = chain.grown(subject, found.day, chain.values.observe_hashes(found.hashes, found.day, found.distinct))
        rows.append(grown.row.stored(target))
        chain = grown.chain
    if rows:
        connection.execute(insert(value_set), rows)
    return True


@dataclass(frozen=True, slots=True)
class _Row:
    """The row for one subject and day."""

    subject: str
    day: date
    whole: bool
    data: bytes
    checksum: int
    """Length of the set with this day."""
    follows: int | None
    """Checksum of the previous set; None if there was none."""

    def stored(self, target: str) -> dict[str, Any]:
        return {
            "target": target,
            "subject": self.subject,
            "day": self.day,
            "whole": int(self.whole),
            "checksum": self.checksum,
            "data": self.data,
        }


@dataclass(frozen=True, slots=True)
class _Chain:
    """A set, and what is needed to read it."""

    values: ValueSet
    rows: int = 0
    """0 if none can be read."""
    whole_bytes: int = 0
    changes_bytes: int = 0
    checksum: int | None = None
    """As stored with the newest row, even if that cannot be read."""

    def grown(self, subject: str, day: date, after: ValueSet) -> _Grown:
        """The set plus one day: as that day's changes, or in full once reading becomes slow."""
        from tsaudit.analysis.values import stored_value_sets

        if self.rows and self.rows <= MOST_CHANGES and stored_value_sets.continues(self.values, after):
            changes = stored_value_sets.delta(self.values, after)
            if self.changes_bytes + len(changes) <= self.whole_bytes:
                row = _Row(subject, day, False, changes, stored_value_sets.checksum(after), self.checksum)
                size = self.changes_bytes + len(changes)
                return _Grown(row, _Chain(after, self.rows + 1, self.whole_bytes, size, row.checksum))
        after = after.forget(day - REMEMBERED)
        data = stored_value_sets.to_bytes(after)
        row = _Row(subject, day, True, data, stored_value_sets.checksum(after), self.checksum)
        return _Grown(row, _Chain(after, 1, len(data), 0, row.checksum))

    def extended(self, row: _Row) -> ValueSet:
        """The set that follows from the row."""
        return _after(self.values, row)


@dataclass(frozen=True, slots=True)
class _Grown:
    row: _Row
    chain: _Chain


@dataclass(frozen=True, slots=True)
class _Observation:
    """What a day saw of a subject."""

    day: date
    hashes: Any
    distinct: int
    knows_the_past: bool
    """Whether its set contains values from days before it."""


def _rows(connection: Connection, target: str, subject: str, before: date | None = None) -> Sequence[Any]:
    """The newest full set before the day, and the changes since."""
    mine = [value_set.c.target == target, value_set.c.subject == subject]
    within = [*mine, value_set.c.day < before] if before else mine
    start = select(func.max(value_set.c.day)).where(*within, value_set.c.whole == 1).scalar_subquery()
    return connection.execute(
        select(value_set).where(*within, value_set.c.day >= start).order_by(value_set.c.day)
    ).all()


def _chain(rows: Sequence[Any]) -> _Chain:
    """The set that the rows lead to; empty if there are none, or if they cannot be read."""
    from tsaudit.analysis.values.value_sets import ValueSet

    if not rows:
        return _Chain(ValueSet.empty())
    try:
        values = ValueSet.empty()
        for row in rows:
            values = _after(values, row)
    except ValueError:
        return _Chain(ValueSet.empty(), checksum=rows[-1].checksum)
    sizes = [len(row.data) for row in rows]
    return _Chain(values, len(rows), sizes[0], sum(sizes[1:]), rows[-1].checksum)


def _observed(connection: Connection, target: str, subject: str, since: date) -> Iterator[_Observation]:
    """What each day saw since the last full set up to `since`. ValueError if one cannot be read."""
    from tsaudit.analysis.values.value_sets import ValueSet

    mine = (value_set.c.target == target, value_set.c.subject == subject)
    start = select(func.max(value_set.c.day)).where(*mine, value_set.c.day <= since, value_set.c.whole == 1)
    first = connection.execute(start).scalar() or since
    values = ValueSet.empty()
    for row in connection.execute(select(value_set).where(*mine, value_set.c.day >= first).order_by(value_set.c.day)):
        values = _after(values, row)
        past = bool((values.first < row.day.toordinal()).any())
        yield _Observation(row.day, values.seen_last(), int(values.distinct[-1]), past)


def _after(before: ValueSet, row: Any) -> ValueSet:
    """The set that a row leads to. ValueError if it cannot be read, or follows another set."""
    from tsaudit.analysis.values import stored_value_sets

    return stored_value_sets.from_bytes(row.data) if row.whole else stored_value_sets.with_delta(before, row.data)


def _delete_from(connection: Connection, target: str, subject: str, day: date) -> None:
    mine = (value_set.c.target == target, value_set.c.subject == subject)
    connection.execute(delete(value_set).where(*mine, value_set.c.day >= day))
