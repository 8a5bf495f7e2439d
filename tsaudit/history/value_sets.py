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
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, case, delete, func, insert, select, update

from tsaudit.history import value_set_chains
from tsaudit.history.points import stored_subject
from tsaudit.history.schema import value_set
from tsaudit.history.store import LONGEST_SUBJECT_BYTES, Store
from tsaudit.history.value_set_chains import Chain, Form, Row, chain_before, chain_of, set_after, stored_rows

if TYPE_CHECKING:
    from tsaudit.analysis.values.value_sets import ValueSet
    from tsaudit.model.subject import Subject


class RememberedValues:
    """The value sets of one target before a day, and those with the day's values until they are written.

    Any number of threads may use it, for different subjects. Methods raise HistoryError.
    """

    def __init__(self, store: Store, target: str, day: date) -> None:
        self._store = store
        self._target = target
        self._day = day
        self._read: dict[str, Sequence[Any]] = {}
        self._before: dict[str, Chain] = {}
        self._kept: list[Row] = []

    def expect(self, subjects: Sequence[Subject]) -> None:
        """Read what these need in one statement. It is kept as stored, until `of` is called for the subject."""
        keys = [stored_subject(subject) for subject in subjects]
        if not keys:
            return
        with self._store.reading() as connection:
            self._read |= stored_rows(connection, self._target, keys, before=self._day)

    def of(self, subject: Subject) -> ValueSet:
        """The set before the day, empty if there is none."""
        key = stored_subject(subject)
        if key not in self._read:
            self.expect([subject])
        chain = self._before[key] = chain_of(self._read.pop(key))
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

    def _replayed(self, connection: Connection, row: Row) -> Iterator[Row]:
        """The rows of a past day and of the days after it; none if those cannot be continued."""
        chain = chain_before(connection, self._target, row.subject, self._day)
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
    chain = chain_before(connection, target, subject, day)
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
class _Observation:
    """What a day saw of a subject."""

    day: date
    hashes: Any
    distinct: int
    knows_the_past: bool
    """Whether its set contains values from days before it."""


def _observed(connection: Connection, target: str, subject: str, since: date) -> Iterator[_Observation]:
    """What each day saw since the last full set up to `since`. ValueError if one cannot be read."""
    from tsaudit.analysis.values.value_sets import ValueSet

    mine = (value_set.c.target == target, value_set.c.subject == subject)
    start = select(func.max(value_set.c.day)).where(*mine, value_set.c.day <= since, value_set.c.whole == Form.WHOLE)
    first = connection.execute(start).scalar() or since
    values = ValueSet.empty()
    for row in connection.execute(select(value_set).where(*mine, value_set.c.day >= first).order_by(value_set.c.day)):
        values = set_after(values, row)
        past = bool((values.first < row.day.toordinal()).any())
        yield _Observation(row.day, values.seen_last(), int(values.distinct[-1]), past)


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
        elif row.first < since - timedelta(days=value_set_chains.MOST_CHANGES):
            newest = select(func.max(value_set.c.day)).where(*own, value_set.c.whole != Form.CHANGES)
            start = connection.execute(newest.where(value_set.c.day < since)).scalar()
            if start is not None and start > row.first:
                _start_at(connection, target, row.subject, start)


def _start_at(connection: Connection, target: str, subject: str, day: date) -> None:
    """Delete the days before that one, after storing its set in full; none if that cannot be read."""
    from tsaudit.analysis.values import stored_value_sets

    own = (value_set.c.target == target, value_set.c.subject == subject)
    chain = chain_before(connection, target, subject, day + timedelta(days=1))
    if chain.rows:
        full = {"whole": Form.WHOLE, "data": stored_value_sets.to_bytes(chain.values), "changes": None}
        connection.execute(update(value_set).where(*own, value_set.c.day == day).values(full))
        connection.execute(delete(value_set).where(*own, value_set.c.day < day))
