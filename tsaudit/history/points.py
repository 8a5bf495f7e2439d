"""Figures of earlier days, read as the points of a timeline."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import date

from sqlalchemy import Connection, select

from tsaudit.history.schema import figure, snapshot
from tsaudit.model.subject import Subject
from tsaudit.model.timeline import Point


def stored_subject(subject: Subject) -> str:
    """The subject in storable form: PostgreSQL rejects NUL in text, and no database stores half a character."""
    return subject.key.replace("\x00", "%00").encode(errors="backslashreplace").decode()


def subject_from(stored: str) -> Subject:
    """The subject that was passed to `stored_subject`."""
    return Subject.from_key(stored.replace("%00", "\x00"))


class Points(Mapping[tuple[str, Subject], tuple[Point, ...]]):
    """Figures to their values. They become points on first access, because most figures of a big target are
    never used.
    """

    def __init__(self, rows: Iterable[tuple[str, str, date, float]]) -> None:
        """`rows`: name, stored subject, day, and value of each figure, oldest first."""
        found: defaultdict[tuple[str, str], tuple[list[date], list[float]]] = defaultdict(lambda: ([], []))
        for name, subject, day, value in rows:
            days, values = found[name, subject]
            days.append(day)
            values.append(value)
        self._found = dict(found)

    def __getitem__(self, key: tuple[str, Subject]) -> tuple[Point, ...]:
        name, subject = key
        return tuple(map(Point, *self._found[name, stored_subject(subject)]))

    def __iter__(self) -> Iterator[tuple[str, Subject]]:
        return ((name, subject_from(subject)) for name, subject in self._found)

    def __len__(self) -> int:
        return len(self._found)


def points(connection: Connection, target: str, first: date, last: date) -> Points:
    """Every figure of the target from the first to the last day, oldest first."""
    within = (snapshot.c.target == target, snapshot.c.day.between(first, last))
    # By ID, because reading the day's text once for every figure takes longer than everything else.
    days = {row.id: row.day for row in connection.execute(select(snapshot.c.id, snapshot.c.day).where(*within))}
    query = (
        select(figure.c.name, figure.c.subject, figure.c.snapshot_id, figure.c.value)
        .join(snapshot, figure.c.snapshot_id == snapshot.c.id)
        .where(*within)
        .order_by(snapshot.c.day)
    )
    rows = connection.execute(query).all()
    return Points((name, subject, days[snapshot_id], value) for name, subject, snapshot_id, value in rows)
