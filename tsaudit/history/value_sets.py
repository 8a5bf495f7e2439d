"""The values of each tag over time in the history: a full set each month, and the changes of each day since.

A subject's set is stored in full on the first day of a calendar month on which it was listed, and whenever it does not
follow from the previous set. The other days store only their changes. So a set is read in at most 31 steps, and
compaction deletes whole months.

A day's row is written in the transaction of the day's snapshot and replaced if the day is audited again. If a past day
is inserted or a day is removed, the following days are recomputed from what was listed on them. Nothing is written for
a day before the oldest remaining set, because the days before that set are no longer known, nor if another audit of the
target has changed the earlier days in the meantime. A set that this version cannot read is left unchanged, and a new
set is started.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Connection, Select, bindparam, case, delete, func, insert, select

from tsaudit.analysis.alike import Alike
from tsaudit.history.schema import value_set
from tsaudit.history.store import LONGEST_SUBJECT_BYTES, Store, month_of, stored_subject

if TYPE_CHECKING:
    from tsaudit.analysis.values.hashes import Hashes
    from tsaudit.analysis.values.value_sets import ValueSet
    from tsaudit.model.figures import Subject

REMEMBERED: Final = timedelta(days=90)
"""Age after which an unseen value is forgotten with the next full set; if it comes back, it counts as new."""
_MOST_ALIKE: Final = 20_000
"""Values of a set, before and after a day, that is compared with those of other subjects."""


@dataclass(frozen=True, slots=True)
class _Row:
    """A stored row: one subject on one day."""

    subject: str
    day: date
    whole: int
    """1 if `data` is the full set including this day, 0 if it is only the day's changes."""
    checksum: int
    """Checksum of the full set including this day."""
    data: bytes

    def of(self, target: str) -> dict[str, Any]:
        """The row of this target, by column."""
        about = {"target": target, "subject": self.subject, "day": self.day}
        return about | {"whole": self.whole, "checksum": self.checksum, "data": self.data}


@dataclass(frozen=True, slots=True)
class _Known:
    """A subject's set after a day, as read from the history."""

    values: ValueSet
    day: date | None = None
    """The day of the set; None if no earlier day is known, or if its set cannot be read."""
    checksum: int | None = None
    """Checksum of the newest row, even if that row cannot be read."""

    def plus(self, subject: str, day: date, after: ValueSet) -> tuple[_Row, _Known]:
        """The row of the next day, and the resulting state. `after`: the set including that day."""
        from tsaudit.analysis.values import stored_value_sets

        starts = self.day is None or month_of(self.day) != month_of(day)
        if starts or not stored_value_sets.continues(self.values, after):
            after = after.prune(day - REMEMBERED)
            whole, data = 1, stored_value_sets.to_bytes(after)
        else:
            whole, data = 0, stored_value_sets.delta(self.values, after)
        checksum = stored_value_sets.checksum(after)
        return _Row(subject, day, whole, checksum, data), _Known(after, day, checksum)


@dataclass(frozen=True, slots=True)
class _Seen:
    """What was listed on a day for a subject."""

    day: date
    hashes: Hashes
    distinct: int
    knows_the_past: bool
    """Whether the subject's set includes earlier days."""

    @classmethod
    def on_last_day(cls, values: ValueSet, day: date) -> _Seen:
        return cls(day, values.seen_last(), int(values.distinct[-1]), len(values.days) > 1)


class RememberedValues:
    """The value sets of one target before a day, and the sets including the day's values until they are written.

    Thread-safe if each subject is used by one thread only. Methods raise HistoryError.
    """

    def __init__(self, store: Store, target: str, day: date) -> None:
        self._store = store
        self._target = target
        self._day = day
        self._listed: Set[str] | None = None
        """The subjects that were listed on an earlier day; None before they are needed."""
        self._read: dict[str, Sequence[Any]] = {}
        self._before: dict[str, _Known] = {}
        self._alike = Alike()
        self._kept: list[tuple[_Row, int | None]] = []
        """Rows to write, each with the checksum of the set that it follows."""

    def expect(self, subjects: Sequence[Subject]) -> None:
        """Read the rows of these subjects in one statement. They stay packed until `of` is called for the subject."""
        keys = [stored_subject(subject) for subject in subjects]
        if not keys:
            return
        if self._listed is None:
            with self._store.reading() as connection:
                self._listed = _listed_before(connection, self._target, self._day)
        self._read |= dict.fromkeys(keys, ())
        # Of those that are listed for the first time, such as all on the first day, there is nothing to read.
        if known := [key for key in keys if key in self._listed]:
            with self._store.reading() as connection:
                self._read |= _rows_before(connection, self._target, known, self._day)

    def of(self, subject: Subject) -> ValueSet:
        """The subject's set before the day; empty if there is none."""
        key = stored_subject(subject)
        if key not in self._read:
            self.expect([subject])
        known = self._before[key] = _known(self._read.pop(key))
        return known.values

    def keep(self, subject: Subject, after: ValueSet) -> None:
        """Keep the set including the day's values for `write`; it must be derived from the result of `of`."""
        key = stored_subject(subject)
        if len(key.encode()) > LONGEST_SUBJECT_BYTES:
            return
        before = self._before.pop(key)

        def following() -> _Row:
            return before.plus(key, self._day, after)[0]

        if len(before.values.hashes) + len(after.hashes) > _MOST_ALIKE:
            row = following()
        else:
            # Measurements of one collector mostly have the same values.
            row = replace(self._alike.of((before.day, before.values.content, after.content), following), subject=key)
        self._kept.append((row, before.checksum))

    def write(self, connection: Connection) -> None:
        """Write all kept sets, in the transaction of the day's snapshot."""
        newest = _newest(connection, self._target)
        rows: list[_Row] = []
        for row, follows in self._kept:
            last = newest.get(row.subject)
            if last is not None and last.day >= self._day:
                rows += _rebuilt(connection, self._target, row.subject, self._day, row, follows) or ()
            elif (last.checksum if last else None) == follows:
                rows.append(row)
        _insert(connection, self._target, rows)


def remove_day(connection: Connection, target: str, day: date) -> tuple[int, int]:
    """Remove what was listed on the day from all sets of the target, in the transaction that removes the day's
    snapshot.

    Returns the number of sets it was removed from, and the number it stays in: those that cannot be read, and those
    whose record of earlier days starts with that day.
    """
    mine = (value_set.c.target == target, value_set.c.day == day)
    subjects = list(connection.execute(select(value_set.c.subject).where(*mine)).scalars())
    removed = 0
    for subject in subjects:
        rows = _rebuilt(connection, target, subject, day, None)
        _insert(connection, target, rows or ())
        removed += rows is not None
    return removed, len(subjects) - removed


def prune(connection: Connection, target: str, since: date, listed_since: date) -> None:
    """Delete the days that are not needed to compute the sets before `since` and before each later day.

    Also deletes all days of a subject that has not been listed since `listed_since`.
    """
    day = value_set.c.day
    start = func.max(case(((value_set.c.whole == 1) & (day < since), day))).label("start")
    query = select(value_set.c.subject, func.min(day).label("first"), func.max(day).label("last"), start)
    found = connection.execute(query.where(value_set.c.target == target).group_by(value_set.c.subject)).all()
    needed = [(row, date.max if row.last < listed_since else row.start) for row in found]
    old = [{"of": row.subject, "until": start} for row, start in needed if start is not None and row.first < start]
    if old:
        own = (value_set.c.target == target, value_set.c.subject == bindparam("of"), day < bindparam("until"))
        connection.execute(delete(value_set).where(*own), old)


def _select_rows_before() -> Select[Any]:
    within = [value_set.c.target == bindparam("of"), value_set.c.subject.in_(bindparam("about", expanding=True))]
    within.append(value_set.c.day < bindparam("before"))
    starts = select(value_set.c.subject, func.max(value_set.c.day).label("day"))
    start = starts.where(*within, value_set.c.whole == 1).group_by(value_set.c.subject).subquery()
    since = select(value_set).join(start, value_set.c.subject == start.c.subject)
    return since.where(*within, value_set.c.day >= start.c.day).order_by(value_set.c.subject, value_set.c.day)


_ROWS_BEFORE: Final = _select_rows_before()
"""Built once, because an audit executes it for each measurement."""


def _rows_before(connection: Connection, target: str, subjects: Sequence[str], day: date) -> dict[str, list[Any]]:
    """For each subject, the newest full set before the day and the changes since then, oldest first; empty if there is
    none.
    """
    found: dict[str, list[Any]] = {subject: [] for subject in subjects}
    for row in connection.execute(_ROWS_BEFORE, {"of": target, "about": subjects, "before": day}).all():
        found[row.subject].append(row)
    return found


def _listed_before(connection: Connection, target: str, day: date) -> Set[str]:
    """The subjects with any row before the day."""
    own = (value_set.c.target == target, value_set.c.day < day)
    return set(connection.execute(select(value_set.c.subject).where(*own).distinct()).scalars())


def _known(rows: Sequence[Any]) -> _Known:
    """The set that results from the rows; empty if there are none, or if they cannot be read."""
    from tsaudit.analysis.values.value_sets import ValueSet

    values = ValueSet.empty()
    if not rows:
        return _Known(values)
    try:
        for row in rows:
            values = _after(values, row)
    except ValueError:
        return _Known(ValueSet.empty(), None, rows[-1].checksum)
    return _Known(values, rows[-1].day, rows[-1].checksum)


def _after(before: ValueSet, row: Any) -> ValueSet:
    """The set including the row's day. Raises ValueError if the row cannot be read, or follows another set."""
    from tsaudit.analysis.values import stored_value_sets

    return stored_value_sets.from_bytes(row.data) if row.whole else stored_value_sets.with_delta(before, row.data)


def _newest(connection: Connection, target: str) -> dict[str, Any]:
    """The newest day of each subject, with the checksum of its set."""
    mine = value_set.c.target == target
    days = select(value_set.c.subject, func.max(value_set.c.day).label("day")).where(mine)
    newest = days.group_by(value_set.c.subject).subquery()
    same = (value_set.c.subject == newest.c.subject) & (value_set.c.day == newest.c.day)
    query = select(value_set.c.subject, value_set.c.day, value_set.c.checksum).join(newest, same).where(mine)
    return {row.subject: row for row in connection.execute(query)}


def _insert(connection: Connection, target: str, rows: Sequence[_Row]) -> None:
    if rows:
        connection.execute(insert(value_set), [row.of(target) for row in rows])


def _rebuilt(
    connection: Connection, target: str, subject: str, day: date, added: _Row | None = None, follows: int | None = None
) -> list[_Row] | None:
    """Delete the rows from the day on, and return the rows to insert instead, with `added` as the day's row if given.

    Deletes nothing and returns None if the later days cannot be read, if the days before are no longer known, or if
    `added` does not follow the set that is stored.
    """
    known = _known(_rows_before(connection, target, [subject], day)[subject])
    try:
        seen = _seen_from(connection, target, subject, day)
    except ValueError:
        return None
    if (added is not None and known.checksum != follows) or (known.day is None and seen[0].knows_the_past):
        return None
    own = (value_set.c.target == target, value_set.c.subject == subject)
    connection.execute(delete(value_set).where(*own, value_set.c.day >= day))
    today = [_Seen.on_last_day(_after(known.values, added), day)] if added is not None else []
    rows = []
    for one in [*today, *(one for one in seen if one.day > day)]:
        row, known = known.plus(subject, one.day, known.values.observe_hashes(one.hashes, one.day, one.distinct))
        rows.append(row)
    return rows


def _seen_from(connection: Connection, target: str, subject: str, day: date) -> list[_Seen]:
    """What was listed on the day and on each later day. Raises ValueError if a day cannot be read."""
    from tsaudit.analysis.values.value_sets import ValueSet

    own = (value_set.c.target == target, value_set.c.subject == subject)
    start = select(func.max(value_set.c.day)).where(*own, value_set.c.day <= day, value_set.c.whole == 1)
    first = connection.execute(start).scalar() or day
    values, found = ValueSet.empty(), []
    for row in connection.execute(select(value_set).where(*own, value_set.c.day >= first).order_by(value_set.c.day)):
        values = _after(values, row)
        if row.day >= day:
            found.append(_Seen.on_last_day(values, row.day))
    return found
