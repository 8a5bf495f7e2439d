"""The values of each tag over time in the history: a full set now and then, and the changes of each day since.

Reading starts with a full set. Only those stay from which something is likely to be read: the oldest, and the newest
one before the newest day. Of the others, the day's changes stay, so that every set can still be computed.

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
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Connection, Select, bindparam, case, delete, func, insert, select, update

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


class Form(IntEnum):
    """How a day is stored."""

    CHANGES = 0
    WHOLE = 1
    """The set with this day."""
    WAS_WHOLE = 2
    """The set was stored in full, and values were forgotten with it; what is left are the day's changes."""


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
        newest, before = self._newest(connection)
        columns = (value_set.c.subject, value_set.c.day, value_set.c.checksum, value_set.c.whole)
        of_days = (value_set.c.target == self._target, value_set.c.day.in_(sorted(set(before.values()))))
        previous = {
            row.subject: row
            for row in connection.execute(select(*columns).where(*of_days))
            if before.get(row.subject) == row.day
        }
        rows: list[dict[str, Any]] = []
        for row in self._kept:
            known = previous.get(row.subject)
            if (known.checksum if known else None) != row.follows:
                continue
            last = newest.get(row.subject)
            grown = list(self._replayed(connection, row)) if last is not None and last > self._day else [row]
            if grown and last is not None and last >= self._day:
                _delete_from(connection, self._target, row.subject, self._day)
            rows += [r.stored(self._target) for r in grown]
        if rows:
            connection.execute(insert(value_set), rows)
        for row in self._kept:
            known = previous.get(row.subject)
            if known is not None and known.whole == Form.WHOLE:
                _shorten(connection, self._target, row.subject, known.day)

    def _newest(self, connection: Connection) -> tuple[dict[str, date], dict[str, date]]:
        """Each subject with its newest day, and with its newest one before the audited day."""
        earlier = case((value_set.c.day < self._day, value_set.c.day))
        days = (func.max(value_set.c.day).label("newest"), func.max(earlier).label("before"))
        query = select(value_set.c.subject, *days).where(value_set.c.target == self._target)
        rows = connection.execute(query.group_by(value_set.c.subject)).all()
        return {row.subject: row.newest for row in rows}, {row.subject: row.before for row in rows if row.before}

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
                row = _Row(subject, day, Form.CHANGES, changes, stored_value_sets.checksum(after), self.checksum)
                size = self.changes_bytes + len(changes)
                return _Grown(row, _Chain(after, self.rows + 1, self.whole_bytes, size, row.checksum))
        forgotten = day - REMEMBERED
        after = after.forget(forgotten)
        follows = self.rows and stored_value_sets.continues(self.values.forget(forgotten), after)
        instead = stored_value_sets.delta(self.values, after, forgotten) if follows else None
        data = stored_value_sets.to_bytes(after)
        row = _Row(subject, day, Form.WHOLE, data, stored_value_sets.checksum(after), self.checksum, instead)
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


def _rows_before() -> Select[Any]:
    within = [value_set.c.target == bindparam("of"), value_set.c.subject == bindparam("about")]
    within.append(value_set.c.day < bindparam("before"))
    start = select(func.max(value_set.c.day)).where(*within, value_set.c.whole == Form.WHOLE).scalar_subquery()
    return select(value_set).where(*within, value_set.c.day >= start).order_by(value_set.c.day)


_ROWS_BEFORE: Final = _rows_before()
"""Made once, because an audit executes it for each tag."""


def _rows(connection: Connection, target: str, subject: str, before: date) -> Sequence[Any]:
    """The newest full set before the day, and the changes since."""
    return connection.execute(_ROWS_BEFORE, {"of": target, "about": subject, "before": before}).all()


def _chain(rows: Sequence[Any]) -> _Chain:
    """The set that the rows lead to; empty if there are none, or if they cannot be read."""
    from tsaudit.analysis.values.value_sets import ValueSet

    if not rows:
        return _Chain(ValueSet.empty())
    chain = _Chain(ValueSet.empty())
    try:
        for row in rows:
            chain = _longer(chain, row)
    except ValueError:
        return _Chain(ValueSet.empty(), checksum=rows[-1].checksum)
    return chain


def _longer(chain: _Chain, row: Any) -> _Chain:
    """The chain with one more row. ValueError if that cannot be read."""
    from tsaudit.analysis.values import stored_value_sets

    values = _after(chain.values, row)
    if row.whole == Form.CHANGES:
        return _Chain(values, chain.rows + 1, chain.whole_bytes, chain.changes_bytes + len(row.data), row.checksum)
    # As before it was compacted, so that the next full sets are due on the same days.
    size = len(row.data) if row.whole == Form.WHOLE else len(stored_value_sets.to_bytes(values))
    return _Chain(values, 1, size, 0, row.checksum)


def _observed(connection: Connection, target: str, subject: str, since: date) -> Iterator[_Observation]:
    """What each day saw since the last full set up to `since`. ValueError if one cannot be read."""
    from tsaudit.analysis.values.value_sets import ValueSet

    mine = (value_set.c.target == target, value_set.c.subject == subject)
    start = select(func.max(value_set.c.day)).where(*mine, value_set.c.day <= since, value_set.c.whole == Form.WHOLE)
    first = connection.execute(start).scalar() or since
    values = ValueSet.empty()
    for row in connection.execute(select(value_set).where(*mine, value_set.c.day >= first).order_by(value_set.c.day)):
        values = _after(values, row)
        past = bool((values.first < row.day.toordinal()).any())
        yield _Observation(row.day, values.seen_last(), int(values.distinct[-1]), past)


def _after(before: ValueSet, row: Any) -> ValueSet:
    """The set that a row leads to. ValueError if it cannot be read, or follows another set."""
    from tsaudit.analysis.values import stored_value_sets

    if row.whole == Form.WHOLE:
        return stored_value_sets.from_bytes(row.data)
    return stored_value_sets.with_delta(before, row.data)


def _delete_from(connection: Connection, target: str, subject: str, day: date) -> None:
    mine = (value_set.c.target == target, value_set.c.subject == subject)
    connection.execute(delete(value_set).where(*mine, value_set.c.day >= day))


def _shorten(connection: Connection, target: str, subject: str, read: date) -> None:
    """Leave only the changes of the days before `read`, from which the newest day is read."""
    old = (value_set.c.target == target, value_set.c.subject == subject, value_set.c.day < read)
    shorter = {"whole": Form.WAS_WHOLE, "data": value_set.c.changes, "changes": None}
    connection.execute(update(value_set).where(*old, value_set.c.changes.is_not(None)).values(shorter))


def thin(connection: Connection, target: str, since: date, listed_since: date) -> None:
    """Delete the days that are not needed to compute the sets before `since` and before each later day.

    Also all days of a tag that no day from `listed_since` on has listed.
    """
    extents = (value_set.c.subject, func.min(value_set.c.day).label("first"), func.max(value_set.c.day).label("last"))
    query = select(*extents).where(value_set.c.target == target).group_by(value_set.c.subject)
    for row in connection.execute(query).all():
        own = (value_set.c.target == target, value_set.c.subject == row.subject)
        if row.last < listed_since:
            connection.execute(delete(value_set).where(*own))
        # Not every day, because a set is then stored in full that takes as many steps to read.
        elif row.first < since - timedelta(days=MOST_CHANGES):
            newest = select(func.max(value_set.c.day)).where(*own, value_set.c.whole != Form.CHANGES)
            start = connection.execute(newest.where(value_set.c.day < since)).scalar()
            if start is not None and start > row.first:
                _start_at(connection, target, row.subject, start)


def _start_at(connection: Connection, target: str, subject: str, day: date) -> None:
    """Delete the days before that one, after storing its set in full; none if that cannot be read."""
    from tsaudit.analysis.values import stored_value_sets

    own = (value_set.c.target == target, value_set.c.subject == subject)
    chain = _chain(_rows(connection, target, subject, before=day + timedelta(days=1)))
    if chain.rows:
        full = {"whole": Form.WHOLE, "data": stored_value_sets.to_bytes(chain.values), "changes": None}
        connection.execute(update(value_set).where(*own, value_set.c.day == day).values(full))
        connection.execute(delete(value_set).where(*own, value_set.c.day < day))
