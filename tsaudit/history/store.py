"""What tsaudit remembers of each target and day: profile, result, and every figure as a row."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final, Protocol, TypeVar

from sqlalchemy import Connection, Engine, delete, func, insert, select, update

from tsaudit.history import clock, database
from tsaudit.history.database import HistoryError
from tsaudit.history.schema import figure, incident_day, snapshot
from tsaudit.model.facts import STRUCTURE
from tsaudit.model.finding import AuditResult, Finding
from tsaudit.model.jsonfile import from_json, to_json
from tsaudit.model.profile import SCHEMA_VERSION, Profile
from tsaudit.model.subject import Subject
from tsaudit.model.timeline import Episode, Point, Timeline, figures_of_its_day
from tsaudit.silenced_rules import RuleOutcomes, outcomes_of

__all__ = ["HistoryError", "Store"]

T = TypeVar("T")

_OLD_RESULTS: Final = 14
"""How many results are read to see which rules judged, of days audited before that was noted beside them."""
_WHOLE_WITHIN: Final = timedelta(days=7)

LONGEST_SUBJECT_BYTES: Final = 2000
"""PostgreSQL indexes no longer text than about 2,700 bytes; the figures and values of longer names are not followed."""


class Unwritten(Protocol):
    """What goes into the history together with a day's snapshot, or not at all."""

    def write(self, connection: Connection) -> None:
        """Write it in the snapshot's transaction."""


class Store:
    """The history, open. Any number of threads and processes may use it at once. Methods raise HistoryError."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    @classmethod
    def open(cls, url: str) -> Store:
        """The history at a SQLAlchemy URL, made when it is not there, its schema brought up to date."""
        return cls(database.open_engine(url))

    def close(self) -> None:
        """Let go of all connections."""
        self.engine.dispose()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def reading(self) -> AbstractContextManager[Connection]:
        """A connection that sees one state of the history throughout."""
        return database.reading(self.engine)

    def writing(self, name: str) -> AbstractContextManager[Connection]:
        """One transaction, all or nothing; of those with the same name only one runs at a time."""
        return database.writing(self.engine, name)

    def save(
        self,
        profile: Profile | None,
        result: AuditResult,
        report_url: str | None,
        values: Unwritten | None = None,
    ) -> None:
        """Remember one audit; it replaces an earlier one of the same target and day, in one transaction.

        `values`: the value sets with what the audit listed; a measurement it did not list keeps what the day has.
        `profile` is None when the target could not be audited. What an earlier run of that day had measured then
        stays, because it is still what is known of the day; the result, and with it the verdict, is the new one.
        """
        row = _row(profile, result, report_url)
        key = (snapshot.c.target == result.target, snapshot.c.day == result.day)
        with self.writing(result.target) as connection:
            if values is not None:
                values.write(connection)
            known = connection.execute(select(snapshot.c.id, snapshot.c.profile).where(*key)).one_or_none()
            if known is not None and (profile is None or known.profile == row["profile"]):
                kept = {k: v for k, v in row.items() if k not in ("profile", "schema_complete")}
                connection.execute(update(snapshot).where(snapshot.c.id == known.id).values(kept))
                return
            connection.execute(delete(snapshot).where(*key))
            new_id = connection.execute(insert(snapshot).values(row)).inserted_primary_key
            numbers = _figure_rows(profile, new_id[0]) if profile and new_id else []
            if numbers:
                connection.execute(insert(figure), numbers)

    def profile(self, target: str, day: date) -> Profile | None:
        """What was measured on the day; None when nothing was, or not in a form this version reads."""
        with self.reading() as connection:
            return _profile(connection.execute(_of_day(snapshot.c.profile, target, day)).scalar())

    def result(self, target: str, day: date) -> AuditResult | None:
        """What the day's audit came to; None without one, or when this version cannot read it."""
        with self.reading() as connection:
            return unpacked_result(connection.execute(_of_day(snapshot.c.result, target, day)).scalar())

    def rule_outcomes(self, target: str, before: date) -> list[RuleOutcomes]:
        """Which rules judged on the audited days before the day, newest first."""
        columns = (snapshot.c.day, snapshot.c.rules)
        query = select(*columns).where(snapshot.c.target == target, snapshot.c.day < before)
        with self.reading() as connection:
            rows = connection.execute(query.order_by(snapshot.c.day.desc())).all()
            # Days that were audited before it was noted: a few of them do, and each is a whole result to read.
            old = [row.day for row in rows if row.rules is None][:_OLD_RESULTS]
            results = {day: connection.execute(_of_day(snapshot.c.result, target, day)).scalar() for day in old}
        noted = [_outcomes(row.day, row.rules) for row in rows if row.rules is not None]
        read = [outcomes_of(result) for blob in results.values() if (result := _unpack(AuditResult, blob)) is not None]
        return sorted([*noted, *read], key=lambda one: one.day, reverse=True)

    def days(self, target: str) -> list[date]:
        """The audited days, those without a profile included, oldest first."""
        with self.reading() as connection:
            query = select(snapshot.c.day).where(snapshot.c.target == target).order_by(snapshot.c.day)
            return list(connection.execute(query).scalars())

    def past_days(self, target: str) -> list[date]:
        """The audited days without those still to come, which a wrong clock left; oldest first."""
        return [day for day in self.days(target) if day <= clock.today()]

    def targets(self) -> list[str]:
        """All targets ever audited, by name."""
        with self.reading() as connection:
            return list(connection.execute(select(snapshot.c.target).distinct().order_by("target")).scalars())

    def newest_days(self) -> dict[str, date]:
        """Each target ever audited, with its newest audited day that is not still to come."""
        with self.reading() as connection:
            query = select(snapshot.c.target, func.max(snapshot.c.day).label("day")).group_by(snapshot.c.target)
            query = query.where(snapshot.c.day <= clock.today())
            return {row.target: row.day for row in connection.execute(query)}

    def timeline(self, target: str, before: date, days: int = 90) -> Timeline:
        """All figures of the `days` days before the day, what was resolved in them, and the snapshot to compare with.

        That is the newest whole one, if it is at most a week older than the newest: where the last audits saw only
        a part of the schema, what changed in the rest shows up all the same. Where no audit sees everything, a
        database being denied for good, it is the newest, whose gaps say what it cannot tell.
        """
        with self.reading() as connection:
            return Timeline(
                previous=_previous(connection, target, before),
                points=_points(connection, target, before - timedelta(days=days), before - timedelta(days=1)),
                episodes=_episodes(connection, target, before - timedelta(days=days), before - timedelta(days=1)),
            )

    def trend(self, target: str, name: str, subject: Subject, days: int, until: date) -> tuple[Point, ...]:
        """One figure on the `days` days up to and including `until`, oldest first."""
        query = (
            select(snapshot.c.day, figure.c.value)
            .join(figure, figure.c.snapshot_id == snapshot.c.id)
            .where(snapshot.c.target == target, snapshot.c.day > until - timedelta(days=days), snapshot.c.day <= until)
            .where(figure.c.name == name, figure.c.subject == stored_subject(subject))
            .order_by(snapshot.c.day)
        )
        with self.reading() as connection:
            return tuple(Point(day, value) for day, value in connection.execute(query))


def unpacked_result(blob: bytes | None) -> AuditResult | None:
    """The result as the history keeps it; None for none, or for one that this version cannot read."""
    return _unpack(AuditResult, blob)


def stored_subject(subject: Subject) -> str:
    """The subject as the history keeps it; PostgreSQL takes no NUL in a text, and no database half a character."""
    return subject.key.replace("\x00", "%00").encode(errors="backslashreplace").decode()


def subject_from(stored: str) -> Subject:
    """The subject that `stored_subject` was given."""
    return Subject.from_key(stored.replace("%00", "\x00"))


def naive(instant: datetime) -> datetime:
    """The instant as the history keeps it: UTC, without a zone."""
    return instant.astimezone(UTC).replace(tzinfo=None)


def _row(profile: Profile | None, result: AuditResult, report_url: str | None) -> dict[str, Any]:
    return {
        "target": result.target,
        "day": result.day,
        "engine": result.engine,
        "audited_at": naive(result.audited_at),
        "tsaudit_version": result.tsaudit_version,
        "verdict": str(result.verdict),
        "schema_complete": int(profile is not None and not any(g.fact in STRUCTURE for g in profile.gaps)),
        "report_url": report_url,
        "profile": zlib.compress(to_json(profile)) if profile else None,
        "result": zlib.compress(to_json(result)),
        "rules": _noted(outcomes_of(result)),
    }


def _noted(outcomes: RuleOutcomes) -> str:
    return json.dumps({"judged": sorted(outcomes.judged), "unknown": sorted(outcomes.unknown)}, separators=(",", ":"))


def _outcomes(day: date, noted: str) -> RuleOutcomes:
    """None of a text that this version cannot read, as if the day had not been audited."""
    try:
        known = json.loads(noted)
        return RuleOutcomes(day, frozenset(known["judged"]), frozenset(known["unknown"]))
    except (ValueError, KeyError, TypeError):
        return RuleOutcomes(day, frozenset(), frozenset())


def _figure_rows(profile: Profile, snapshot_id: int) -> list[dict[str, Any]]:
    """One row per figure of the day, without those that are no number or that could not be indexed."""
    return [
        {
            "snapshot_id": snapshot_id,
            "name": f.name,
            "subject": subject,
            "value": f.value,
            "how": str(f.how),
            "standard_error": f.standard_error,
        }
        for f, subject in ((f, stored_subject(f.subject)) for f in figures_of_its_day(profile))
        if math.isfinite(f.value) and len(subject.encode()) <= LONGEST_SUBJECT_BYTES
    ]


def _of_day(column: Any, target: str, day: date) -> Any:
    return select(column).where(snapshot.c.target == target, snapshot.c.day == day)


def _previous(connection: Connection, target: str, before: date) -> Profile | None:
    measured = (
        select(snapshot.c.id, snapshot.c.day, snapshot.c.schema_complete)
        .where(snapshot.c.target == target, snapshot.c.day < before, snapshot.c.profile.is_not(None))
        .order_by(snapshot.c.day.desc())
    )
    rows = connection.execute(measured).all()
    whole = [row for row in rows if row.schema_complete and row.day >= rows[0].day - _WHOLE_WITHIN]
    for row in (*whole, *rows):
        blob = connection.execute(select(snapshot.c.profile).where(snapshot.c.id == row.id)).scalar()
        if (found := _profile(blob)) is not None:
            return found
    return None


class _Points(Mapping[tuple[str, Subject], tuple[Point, ...]]):
    """Figures to their values, each made into points when somebody asks: most of a big target nobody does."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], tuple[list[date], list[float]]] = {}

    def add(self, name: str, subject: str, day: date, value: float) -> None:
        key = name, subject
        columns = self._found.get(key)
        if columns is None:
            columns = self._found[key] = ([], [])
        columns[0].append(day)
        columns[1].append(value)

    def __getitem__(self, key: tuple[str, Subject]) -> tuple[Point, ...]:
        name, subject = key
        return tuple(map(Point, *self._found[name, stored_subject(subject)]))

    def __iter__(self) -> Iterator[tuple[str, Subject]]:
        return ((name, subject_from(subject)) for name, subject in self._found)

    def __len__(self) -> int:
        return len(self._found)


def _points(connection: Connection, target: str, first: date, last: date) -> _Points:
    within = (snapshot.c.target == target, snapshot.c.day.between(first, last))
    # By id, because to read the day's text once for every figure takes longer than all the rest.
    days = {row.id: row.day for row in connection.execute(select(snapshot.c.id, snapshot.c.day).where(*within))}
    query = (
        select(figure.c.name, figure.c.subject, figure.c.snapshot_id, figure.c.value)
        .join(snapshot, figure.c.snapshot_id == snapshot.c.id)
        .where(*within)
        .order_by(snapshot.c.day)
    )
    points = _Points()
    for name, subject, snapshot_id, value in connection.execute(query):
        points.add(name, subject, days[snapshot_id], value)
    return points


def _episodes(connection: Connection, target: str, first: date, last: date) -> tuple[Episode, ...]:
    """Of the incidents that had opened, those resolved within these days, oldest first."""
    row = incident_day.c
    query = (
        select(row.code, row.subject, row.opened, row.resolved, row.finding)
        .where(row.target == target, row.day == row.resolved, row.resolved.between(first, last))
        .where(row.opened.is_not(None))
        .order_by(row.resolved, row.fingerprint)
    )
    return tuple(
        Episode(code, subject_from(subject), min(opened, _since(finding) or opened), resolved)
        for code, subject, opened, resolved, finding in connection.execute(query)
    )


def _since(finding: str) -> date | None:
    """Also None where another version of tsaudit wrote the finding."""
    try:
        return from_json(Finding, finding).since
    except ValueError:
        return None


def _profile(blob: bytes | None) -> Profile | None:
    found = _unpack(Profile, blob)
    return found if found is not None and found.schema_version == SCHEMA_VERSION else None


def _unpack(cls: type[T], blob: bytes | None) -> T | None:
    if blob is None:
        return None
    try:
        return from_json(cls, zlib.decompress(blob))
    except (ValueError, zlib.error):
        return None
