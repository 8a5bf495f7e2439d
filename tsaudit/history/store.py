"""The history of each target and day: profile, result, and every figure as a row."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final, Protocol, TypeVar

from sqlalchemy import ColumnElement, Connection, Engine, and_, delete, func, insert, select, update

from tsaudit.history import base_texts, clock, database, rule_outcomes
from tsaudit.history.base_texts import Packers
from tsaudit.history.database import HistoryError
from tsaudit.history.points import points, stored_subject, subject_from
from tsaudit.history.schema import duration, figure, incident_day, snapshot
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
"""Number of results to read to see which rules ran, on days from before that was stored separately."""
_WHOLE_WITHIN: Final = timedelta(days=7)
_CARRIED_OUT_WITHIN: Final = timedelta(days=14)
"""How long after a finding is gone the last step of its plan may be taken, such as dropping the old column."""
_MOST_ASKING: Final = 8
"""Most results that are read for what they asked for."""

LONGEST_SUBJECT_BYTES: Final = 2000
"""PostgreSQL cannot index text longer than about 2,700 bytes; figures and values with longer names are not stored."""


class Unwritten(Protocol):
    """What goes into the history together with a day's snapshot, or not at all."""

    def write(self, connection: Connection) -> None:
        """Write it in the snapshot's transaction."""


class Store:
    """The open history. Any number of threads and processes may use it at once. Methods raise HistoryError."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    @classmethod
    def open(cls, url: str) -> Store:
        """The history at a SQLAlchemy URL, created if it does not exist, with its schema up to date."""
        return cls(database.open_engine(url))

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def reading(self) -> AbstractContextManager[Connection]:
        """A connection that sees one consistent snapshot."""
        return database.reading(self.engine)

    def writing(self, name: str) -> AbstractContextManager[Connection]:
        """One transaction, all or nothing; transactions with the same name run one at a time."""
        return database.writing(self.engine, name)

    def save(
        self,
        profile: Profile | None,
        result: AuditResult,
        report_url: str | None,
        values: Unwritten | None = None,
    ) -> None:
        """Store one audit; it replaces an earlier one of the same target and day, in one transaction.

        `values`: the value sets with what the audit listed; a measurement it did not list keeps the day's earlier set.
        `profile` is None if the target could not be audited. Figures from an earlier run of that day then stay, because
        they are still what is known about the day; the result, and with it the verdict, is the new one.
        """
        key = (snapshot.c.target == result.target, snapshot.c.day == result.day)
        text = to_json(profile) if profile else None
        row = _row(profile, result, report_url)
        with self.writing(result.target) as connection:
            if values is not None:
                values.write(connection)
            columns = (snapshot.c.id, snapshot.c.profile, snapshot.c.base_id)
            known = connection.execute(select(*columns).where(*key)).one_or_none()
            if known is not None and (text is None or _is_packed(connection, known, text)):
                packed = base_texts.pack_with(connection, known.base_id, None, to_json(result))
                kept = {k: v for k, v in row.items() if k != "schema_complete"} | {"result": packed.result}
                connection.execute(update(snapshot).where(snapshot.c.id == known.id).values(kept))
                return
            packed = base_texts.pack(connection, result.target, result.day, text, to_json(result))
            row |= {"profile": packed.profile, "result": packed.result, "base_id": packed.base_id}
            connection.execute(delete(snapshot).where(*key))
            new_id = connection.execute(insert(snapshot).values(row)).inserted_primary_key
            numbers = _figure_rows(profile, new_id[0]) if profile and new_id else []
            if numbers:
                connection.execute(insert(figure), numbers)

    def published(self, target: str, day: date, report_url: str) -> None:
        """Note the address of the day's report; nothing happens if the day was not audited."""
        with self.writing(target) as connection:
            where = (snapshot.c.target == target, snapshot.c.day == day)
            connection.execute(update(snapshot).where(*where).values(report_url=report_url))

    def profile(self, target: str, day: date) -> Profile | None:
        """The day's profile; None if there is none, or not in a format that this version reads."""
        with self.reading() as connection:
            return _profile(connection, _of_day(target, day))

    def result(self, target: str, day: date) -> AuditResult | None:
        """The result of the day's audit; None if there is none, or if this version cannot read it."""
        with self.reading() as connection:
            return _result(connection, target, day)

    def rule_outcomes(self, target: str, before: date) -> list[RuleOutcomes]:
        """Which rules ran on the audited days before the day, newest first."""
        columns = (snapshot.c.day, snapshot.c.rules)
        query = select(*columns).where(snapshot.c.target == target, snapshot.c.day < before)
        with self.reading() as connection:
            rows = connection.execute(query.order_by(snapshot.c.day.desc())).all()
            # Days from before this was stored separately: a few are enough, because each is a whole result to read.
            old = [row.day for row in rows if row.rules is None][:_OLD_RESULTS]
            results = [_result(connection, target, day) for day in old]
            removed = rule_outcomes.past(connection, target, before)
        noted = [rule_outcomes.read(row.day, row.rules) for row in rows if row.rules is not None] + removed
        read = [outcomes_of(result) for result in results if result is not None]
        return sorted([*noted, *read], key=lambda one: one.day, reverse=True)

    def days(self, target: str) -> list[date]:
        """The audited days, including those without a profile, oldest first."""
        with self.reading() as connection:
            query = select(snapshot.c.day).where(snapshot.c.target == target).order_by(snapshot.c.day)
            return list(connection.execute(query).scalars())

    def past_days(self, target: str) -> list[date]:
        """The audited days without future ones, which a wrong clock left; oldest first."""
        return [day for day in self.days(target) if day <= clock.today()]

    def took(self, target: str, seconds: float) -> None:
        """Remember how long the target's audit took, in place of the time of the one before."""
        with self.writing(target) as connection:
            connection.execute(delete(duration).where(duration.c.target == target))
            connection.execute(insert(duration).values(target=target, seconds=round(seconds, 3)))

    def seconds(self) -> dict[str, float]:
        """How long the last audit of each target took, in seconds."""
        with self.reading() as connection:
            return {row.target: row.seconds for row in connection.execute(select(duration))}

    def targets(self) -> list[str]:
        """All targets ever audited, by name."""
        with self.reading() as connection:
            return list(connection.execute(select(snapshot.c.target).distinct().order_by("target")).scalars())

    def newest_days(self) -> dict[str, date]:
        """Each audited target with its newest audited day that is not in the future."""
        with self.reading() as connection:
            query = select(snapshot.c.target, func.max(snapshot.c.day).label("day")).group_by(snapshot.c.target)
            query = query.where(snapshot.c.day <= clock.today())
            return {row.target: row.day for row in connection.execute(query)}

    def timeline(self, target: str, before: date, days: int = 90) -> Timeline:
        """All figures of the `days` days before the day, incidents resolved in them, and the snapshot to compare with.

        That snapshot is the newest complete one, if it is at most a week older than the newest: if the last audits saw
        only part of the schema, changes in the rest show up all the same. If no audit is complete, for example because
        a database is denied permanently, it is the newest, whose gaps say what it cannot show.
        """
        with self.reading() as connection:
            previous = _previous(connection, target, before)
            episodes = _episodes(connection, target, before - timedelta(days=days), before - timedelta(days=1))
            results = _asking(connection, target, previous.day, before, episodes) if previous else []
            return Timeline(
                previous=previous,
                plans=tuple(plan for result in results for plan in result.plans),
                wanted=tuple(one for result in results for one in result.wanted()),
                points=points(connection, target, before - timedelta(days=days), before - timedelta(days=1)),
                episodes=episodes,
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


def unpacked(cls: type[T], packers: Packers, data: bytes | None, base_id: int | None) -> T | None:
    """What is stored with that base; None if there is none, or if this version cannot read it."""
    if data is None:
        return None
    try:
        return from_json(cls, packers.of(base_id).unpacked(data))
    except ValueError:
        return None


def naive(instant: datetime) -> datetime:
    """The time in storable form: UTC, without a time zone."""
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
        "rules": rule_outcomes.written(outcomes_of(result)),
    }


def _figure_rows(profile: Profile, snapshot_id: int) -> list[dict[str, Any]]:
    """One row per figure of the day, without those that are not numbers or cannot be indexed."""
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


def _is_packed(connection: Connection, row: Any, text: bytes) -> bool:
    """Whether the row's profile is that text."""
    try:
        return row.profile is not None and Packers(connection).of(row.base_id).unpacked(row.profile) == text
    except ValueError:
        return False


def _of_day(target: str, day: date) -> ColumnElement[bool]:
    return and_(snapshot.c.target == target, snapshot.c.day == day)


def _result(connection: Connection, target: str, day: date) -> AuditResult | None:
    query = select(snapshot.c.result, snapshot.c.base_id).where(_of_day(target, day))
    row = connection.execute(query).one_or_none()
    return unpacked(AuditResult, Packers(connection), row.result, row.base_id) if row else None


def _profile(connection: Connection, where: ColumnElement[bool]) -> Profile | None:
    row = connection.execute(select(snapshot.c.profile, snapshot.c.base_id).where(where)).one_or_none()
    found = unpacked(Profile, Packers(connection), row.profile, row.base_id) if row else None
    return found if found is not None and found.schema_version == SCHEMA_VERSION else None


def _previous(connection: Connection, target: str, before: date) -> Profile | None:
    measured = (
        select(snapshot.c.id, snapshot.c.day, snapshot.c.schema_complete)
        .where(snapshot.c.target == target, snapshot.c.day < before, snapshot.c.profile.is_not(None))
        .order_by(snapshot.c.day.desc())
    )
    rows = connection.execute(measured).all()
    whole = [row for row in rows if row.schema_complete and row.day >= rows[0].day - _WHOLE_WITHIN]
    for row in (*whole, *rows):
        if (found := _profile(connection, snapshot.c.id == row.id)) is not None:
            return found
    return None


def _asking(
    connection: Connection, target: str, previous: date, before: date, episodes: tuple[Episode, ...]
) -> list[AuditResult]:
    """Audits whose advice may have been followed between the two days: those since the first, and those that an audit
    gave last before the finding was gone.
    """
    query = select(snapshot.c.day).where(snapshot.c.target == target, snapshot.c.day < before)
    days = list(connection.execute(query.order_by(snapshot.c.day.desc())).scalars())
    ended = {e.resolved for e in episodes if e.resolved >= before - _CARRIED_OUT_WITHIN}
    chosen = [day for day in days if day >= previous]
    # An incident is resolved by an audit that finds nothing, and perhaps only by the second one.
    chosen += [day for end in sorted(ended, reverse=True) for day in [d for d in days if d < end][:2]]
    results = (_result(connection, target, day) for day in list(dict.fromkeys(chosen))[:_MOST_ASKING])
    return [result for result in results if result is not None]


def _episodes(connection: Connection, target: str, first: date, last: date) -> tuple[Episode, ...]:
    """Of the incidents that had opened, those resolved within these days, oldest first."""
    row = incident_day.c
    query = (
        select(row.code, row.subject, row.opened, row.resolved, row.finding, row.base_id)
        .where(row.target == target, row.day == row.resolved, row.resolved.between(first, last))
        .where(row.opened.is_not(None))
        .order_by(row.resolved, row.code, row.subject)
    )
    packers = Packers(connection)
    found = []
    for code, subject, opened, resolved, data, base_id in connection.execute(query).all():
        finding = unpacked(Finding, packers, data, base_id)  # None also if another version of tsaudit wrote it.
        since = finding.since if finding else None
        found.append(Episode(code, subject_from(subject), min(opened, since or opened), resolved))
    return tuple(found)
