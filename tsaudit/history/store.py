"""The history of each target and day: profile, result, which rules ran, and every figure as a row.

Texts are compressed as differences from one base text for each target and calendar month. An audit's profile and result
repeat nearly everything that an earlier audit of the target wrote. With an earlier text as the dictionary, a day takes
a few hundred bytes where its text alone takes 20 kB. The first audit of a month that measures something provides the
month's base, which stays unchanged until no day of the month is left. The first base of a year is stored by itself, and
the year's other bases as differences from it. Texts that were packed without a base can also be unpacked by a packer
that has one.
"""

from __future__ import annotations

import functools
import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from datetime import UTC, date, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeVar

import zstandard
from sqlalchemy import ColumnElement, Connection, Engine, and_, delete, func, insert, select, update

from tsaudit.history import clock, database
from tsaudit.history.schema import base_text, duration, figure, incident_day, rule_outcome, snapshot
from tsaudit.model.figures import Subject, utc_now
from tsaudit.model.finding import AuditResult, Finding
from tsaudit.model.jsonfile import from_json, in_parts, to_json
from tsaudit.model.timeline import OF_ROWS, Episode, Point, Timeline, figures_of_its_day

if TYPE_CHECKING:
    from tsaudit.model.profile import Profile
    from tsaudit.not_audited import RuleOutcomes


LARGEST_BASE: Final = 1 << 26
"""Bytes. A base and a text of this length together fit into the largest window that zstd reads without a special
setting.
"""

_LEVEL: Final = 10
"""For a text that is mostly in its base, level 6 is hardly faster, and level 12 takes ten times as long."""
_LARGEST_WINDOW: Final = 27
_SMALLEST_WINDOW: Final = 17


class Packer:
    """Packs and unpacks texts that share a base. Not thread-safe.

    `base`: at most `LARGEST_BASE` bytes; empty for texts that are packed by themselves.
    """

    def __init__(self, base: bytes = b"") -> None:
        self._base = base

    def packed(self, text: bytes) -> bytes:
        """The compressed text, with a checksum."""
        return self._compressor.compress(text)

    def packed_parts(self, parts: Iterable[bytes], size: int) -> bytes:
        """The same for a text in parts, which need not be in memory together. `size`: of all of them, in bytes."""
        compressing = self._compressor.compressobj(size=size)
        return b"".join([*map(compressing.compress, parts), compressing.flush()])

    def unpacked(self, data: bytes) -> bytes:
        """The text that was packed with this base, or without one. Raises ValueError if the data is damaged or was
        packed with another base.
        """
        try:
            return self._decompressor.decompress(data)
        except zstandard.ZstdError as error:
            raise ValueError(f"cannot be decompressed: {error}") from error

    @cached_property
    def _compressor(self) -> zstandard.ZstdCompressor:
        # The window must be large enough for the text and the base; zstd ignores what is further back.
        window = min(max((2 * len(self._base)).bit_length() + 1, _SMALLEST_WINDOW), _LARGEST_WINDOW)
        settings = zstandard.ZstdCompressionParameters.from_level(
            _LEVEL, dict_size=len(self._base), window_log=window, write_checksum=1
        )
        found = self._dictionary
        if found is not None:
            # Without this, the base would be indexed again for every text, although the text of an incident is much
            # shorter.
            found.precompute_compress(compression_params=settings)
        return zstandard.ZstdCompressor(dict_data=found, compression_params=settings)

    @cached_property
    def _decompressor(self) -> zstandard.ZstdDecompressor:
        return zstandard.ZstdDecompressor(dict_data=self._dictionary)

    @property
    def _dictionary(self) -> zstandard.ZstdCompressionDict | None:
        return zstandard.ZstdCompressionDict(self._base, zstandard.DICT_TYPE_RAWCONTENT) if self._base else None


class Packers:
    """The packers for several targets and days, within one transaction. Only the most recent packer is cached, because
    base texts can be long.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._month: tuple[str, date] | None = None
        self._packer = Packer()

    def of(self, target: str, day: date) -> Packer:
        """The packer of the target's month; without a base if there is none, or if it is damaged."""
        month = (target, month_of(day))
        if self._month != month:
            self._month, self._packer = month, Packer(_base(self._connection, *month) or b"")
        return self._packer


def packer_for(connection: Connection, target: str, day: date, text: bytes | None) -> Packer:
    """The packer of the target's month. `text` becomes the month's base if the month has none yet; None: never."""
    month = month_of(day)
    base = _base(connection, target, month)
    if base is None and text is not None and len(text) <= LARGEST_BASE:
        of_year = base_text.c.month.between(date(day.year, 1, 1), date(day.year, 12, 1))
        first = select(base_text.c.month).where(base_text.c.target == target, of_year, base_text.c.root.is_(None))
        root = connection.execute(first).scalar()
        data = Packer(_base(connection, target, root) or b"").packed(text)
        connection.execute(insert(base_text).values(target=target, month=month, data=data, root=root))
        base = text
    return Packer(base or b"")


def month_of(day: date) -> date:
    """The first day of the day's month."""
    return day.replace(day=1)


def prune_base_texts(connection: Connection, target: str, days: Collection[date]) -> None:
    """Delete the target's bases that no text of these days needs."""
    months = {month_of(day) for day in days}
    mine = base_text.c.target == target
    rows = connection.execute(select(base_text.c.month, base_text.c.root).where(mine)).all()
    needed = months | {row.root for row in rows if row.month in months}
    for month in {row.month for row in rows} - needed:
        connection.execute(delete(base_text).where(mine, base_text.c.month == month))


def _base(connection: Connection, target: str, month: date | None) -> bytes | None:
    """The month's base; None if there is none, empty if it is damaged."""
    columns = (base_text.c.data, base_text.c.root)
    query = select(*columns).where(base_text.c.target == target, base_text.c.month == month)
    row = connection.execute(query).one_or_none() if month else None
    if row is None:
        return None
    try:
        return Packer(_base(connection, target, row.root) or b"").unpacked(row.data)
    except ValueError:
        return b""


T = TypeVar("T")

_WHOLE_WITHIN: Final = timedelta(days=7)
_CARRIED_OUT_WITHIN: Final = timedelta(days=14)
"""How long after a finding is gone somebody may still take the last step of its plan, such as dropping the old column.
"""
_MOST_ASKING: Final = 8
"""Most results that are read for the changes that they asked for."""

LONGEST_SUBJECT_BYTES: Final = 2000
"""PostgreSQL cannot index text longer than about 2,700 bytes; figures and values with longer names are not stored."""


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
        write_values: Callable[[Connection], None] | None = None,
    ) -> None:
        """Store one audit in one transaction, replacing an earlier one of the same target and day.

        `write_values` writes the value sets including what the audit listed, in the same transaction; a measurement
        that it did not list keeps the set of the day's earlier audit. `profile` is None if the target could not be
        audited. The profile and the figures of an earlier audit of that day are then kept, because they are still what
        is known about the day; the result is replaced.
        """
        # Not above: what only lists incidents does not need them.
        from tsaudit.model.facts import STRUCTURE
        from tsaudit.not_audited import outcomes_of

        own = _of_day(result.target, result.day)
        found = to_json(result)
        measured = _short_text(profile, LARGEST_BASE - len(found)) if profile else None
        with self.writing(result.target) as connection:
            if write_values is not None:
                write_values(connection)
            write_outcomes(connection, result.target, outcomes_of(result))
            base = measured + found if measured is not None else None
            packer = packer_for(connection, result.target, result.day, base)
            row = _row(result, report_url) | {"result": packer.packed(found)}
            if profile is None and connection.execute(update(snapshot).where(own).values(row)).rowcount:
                return
            is_complete = profile is not None and not any(gap.fact in STRUCTURE for gap in profile.gaps)
            if profile is not None and measured is None:
                row |= {"profile": packer.packed_parts(in_parts(profile), sum(map(len, in_parts(profile))))}
            else:
                row |= {"profile": packer.packed(measured) if measured is not None else None}
            row |= {"schema_complete": int(is_complete)}
            connection.execute(delete(snapshot).where(own))
            new_id = connection.execute(insert(snapshot).values(row)).inserted_primary_key
            numbers = _figure_rows(profile, new_id[0]) if profile and new_id else []
            if numbers:
                connection.execute(insert(figure), numbers)

    def published(self, target: str, day: date, report_url: str) -> None:
        """Store the address of the day's report. Does nothing if the day was not audited."""
        with self.writing(target) as connection:
            connection.execute(update(snapshot).where(_of_day(target, day)).values(report_url=report_url))

    def profile(self, target: str, day: date) -> Profile | None:
        """The day's profile; None if there is none, or if this version cannot read its format."""
        with self.reading() as connection:
            return _profile(connection, target, day)

    def profile_of(self, result: AuditResult) -> Profile | None:
        """The profile on which the result rests; None if there is none, or only that of an earlier audit of the day."""
        return self.profile(result.target, result.day) if result.has_profile else None

    def result(self, target: str, day: date) -> AuditResult | None:
        """The result of the day's audit; None if there is none, or if this version cannot read it."""
        with self.reading() as connection:
            return _result(connection, target, day)

    def result_before(self, target: str, day: date) -> AuditResult | None:
        """The newest result of an earlier day that shows what was wrong then: after an outage, the one before it. None
        if there is none.
        """
        with self.reading() as connection:
            days = select(snapshot.c.day).where(snapshot.c.target == target, snapshot.c.day < day)
            earlier = connection.execute(days.order_by(snapshot.c.day.desc())).scalars().all()
            results = (_result(connection, target, one) for one in earlier)
            return next((one for one in results if one is not None and one.has_measured), None)

    def rule_outcomes(self, target: str, before: date) -> list[RuleOutcomes]:
        """Which rules ran on the audited days before the day, newest first."""
        with self.reading() as connection:
            return read_outcomes(connection, target, before)

    def days(self, target: str) -> list[date]:
        """The audited days, including those without a profile, oldest first."""
        with self.reading() as connection:
            query = select(snapshot.c.day).where(snapshot.c.target == target).order_by(snapshot.c.day)
            return list(connection.execute(query).scalars())

    def past_days(self, target: str) -> list[date]:
        """The audited days without future ones, which are caused by a wrong clock; oldest first."""
        return [day for day in self.days(target) if day <= clock.today()]

    def took(self, target: str, seconds: float) -> None:
        """Store how many seconds the target's audit took, replacing the duration of its previous audit."""
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
        """All figures of the `days` days before the day, the incidents resolved on these days, and the snapshot to
        compare with.

        That snapshot is the newest complete one, if it is at most a week older than the newest: if the last audits saw
        only part of the schema, changes in the rest are still found. If no audit is complete, for example because
        access to a database is always denied, it is the newest snapshot, whose gaps say what it cannot show. A snapshot
        that was made in time comes before one of a day that was audited late, which shows the schema of the audit.
        """
        with self.reading() as connection:
            previous = _previous(connection, target, before)
            episodes = _episodes(connection, target, before - timedelta(days=days), before - timedelta(days=1))
            results = _asking(connection, target, previous.day, before, episodes) if previous else []
            return Timeline(
                previous=previous,
                wanted=tuple(one for result in results for one in result.wanted()),
                points=_points(connection, target, before, days),
                episodes=episodes,
            )

    def trend(self, target: str, name: str, subject: Subject, days: int, until: date) -> tuple[Point, ...]:
        """One figure on the last `days` days up to and including `until`, oldest first."""
        query = (
            select(snapshot.c.day, figure.c.value)
            .join(figure, figure.c.snapshot_id == snapshot.c.id)
            .where(snapshot.c.target == target, snapshot.c.day > until - timedelta(days=days), snapshot.c.day <= until)
            .where(figure.c.name == name, figure.c.subject == stored_subject(subject))
            .order_by(snapshot.c.day)
        )
        with self.reading() as connection:
            return tuple(Point(day, value) for day, value in connection.execute(query))


def unpacked(cls: type[T], packer: Packer, data: bytes | None) -> T | None:
    """The unpacked value; None if `data` is None, or if this version cannot read it."""
    if data is None:
        return None
    try:
        return from_json(cls, packer.unpacked(data))
    except ValueError:
        return None


def stored_subject(subject: Subject) -> str:
    """The subject in storable form: PostgreSQL rejects NUL in text, and no database stores unpaired surrogates."""
    return subject.key.replace("\x00", "%00").encode(errors="backslashreplace").decode()


def subject_from(stored: str) -> Subject:
    """The subject that was passed to `stored_subject`."""
    return Subject.from_key(stored.replace("%00", "\x00"))


def naive(instant: datetime) -> datetime:
    """The time in storable form: UTC, without a time zone."""
    return instant.astimezone(UTC).replace(tzinfo=None)


def _short_text(profile: Profile, most: int) -> bytes | None:
    """The profile as JSON; None if it has more bytes than that."""
    parts, size = list[bytes](), 0
    for part in in_parts(profile):
        size += len(part)
        if size > most:
            return None
        parts.append(part)
    return b"".join(parts)


def _row(result: AuditResult, report_url: str | None) -> dict[str, Any]:
    return {
        "target": result.target,
        "day": result.day,
        "engine": result.engine,
        "audited_at": naive(result.audited_at),
        "tsaudit_version": result.tsaudit_version,
        "verdict": str(result.verdict),
        "report_url": report_url,
    }


def _figure_rows(profile: Profile, snapshot_id: int) -> list[dict[str, Any]]:
    """One row per figure of the day, except for figures that are not numbers or whose names are too
    long for an index.
    """
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


def _of_day(target: str, day: date) -> ColumnElement[bool]:
    return and_(snapshot.c.target == target, snapshot.c.day == day)


def _result(connection: Connection, target: str, day: date) -> AuditResult | None:
    data = connection.execute(select(snapshot.c.result).where(_of_day(target, day))).scalar()
    return unpacked(AuditResult, Packers(connection).of(target, day), data)


def _profile(connection: Connection, target: str, day: date) -> Profile | None:
    from tsaudit.model.profile import SCHEMA_VERSION, Profile

    data = connection.execute(select(snapshot.c.profile).where(_of_day(target, day))).scalar()
    found = unpacked(Profile, Packers(connection).of(target, day), data)
    return found if found is not None and found.schema_version == SCHEMA_VERSION else None


def _previous(connection: Connection, target: str, before: date) -> Profile | None:
    measured = (
        select(snapshot.c.day, snapshot.c.schema_complete)
        .where(snapshot.c.target == target, snapshot.c.day < before, snapshot.c.profile.is_not(None))
        .order_by(snapshot.c.day.desc())
    )
    rows = connection.execute(measured).all()
    whole = [row for row in rows if row.schema_complete and row.day >= rows[0].day - _WHOLE_WITHIN]
    in_time = _in_time(connection, target, before)
    for row in (*(row for row in whole if row.day in in_time), *whole, *rows):
        if (found := _profile(connection, target, row.day)) is not None:
            return found
    return None


def _in_time(connection: Connection, target: str, before: date) -> set[date]:
    """The days before the day whose snapshots show the catalog and the counters of about their day: it took about as
    long until the next of them was audited as there are days between, at least half of it.

    Yesterday, audited after or right before today, shows those of today.
    """
    query = select(snapshot.c.day, snapshot.c.audited_at).where(snapshot.c.target == target, snapshot.c.day <= before)
    rows = list(connection.execute(query.order_by(snapshot.c.day.desc())))
    # If the day has been audited before, what was audited since then is no earlier than the day.
    day, at = rows.pop(0) if rows and rows[0].day == before else (before, naive(utc_now()))
    found = set()
    for row in rows:
        if at - row.audited_at >= (day - row.day) / 2:
            day, at = row.day, row.audited_at
            found.add(day)
    return found


def _asking(
    connection: Connection, target: str, previous: date, before: date, episodes: tuple[Episode, ...]
) -> list[AuditResult]:
    """The audits whose advice may have been followed between the two days: those since `previous`, and the last ones
    before a recently resolved finding disappeared.
    """
    query = select(snapshot.c.day).where(snapshot.c.target == target, snapshot.c.day < before)
    days = list(connection.execute(query.order_by(snapshot.c.day.desc())).scalars())
    ended = {e.resolved for e in episodes if e.resolved >= before - _CARRIED_OUT_WITHIN}
    chosen = [day for day in days if day >= previous]
    # The first or the second audit without the finding resolves an incident.
    chosen += [day for end in sorted(ended, reverse=True) for day in [d for d in days if d < end][:2]]
    results = (_result(connection, target, day) for day in list(dict.fromkeys(chosen))[:_MOST_ASKING])
    return [result for result in results if result is not None]


def _episodes(connection: Connection, target: str, first: date, last: date) -> tuple[Episode, ...]:
    """The incidents resolved within these days, without those that never opened, oldest first."""
    row = incident_day.c
    query = (
        select(row.code, row.subject, row.opened, row.resolved, row.finding)
        .where(row.target == target, row.day == row.resolved, row.resolved.between(first, last))
        .where(row.opened.is_not(None))
        .order_by(row.resolved, row.code, row.subject)
    )
    packers = Packers(connection)
    found = []
    for code, subject, opened, resolved, data in connection.execute(query).all():
        finding = unpacked(
            Finding, packers.of(target, resolved), data
        )  # Also None if another version of tsaudit wrote it.
        since = finding.since if finding else None
        found.append(Episode(code, subject_from(subject), min(opened, since or opened), resolved))
    return tuple(found)


class _Points(Mapping[tuple[str, Subject], tuple[Point, ...]]):
    """The values of each figure. They are converted to points on first access, because most figures of a big target are
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


def _points(connection: Connection, target: str, before: date, count: int) -> _Points:
    """Every figure of the target on the `count` days before the day, oldest first. What catalogs and counters said is
    as of the audit, and left out for days that were not audited in time.
    """
    first, last = before - timedelta(days=count), before - timedelta(days=1)
    in_time = _in_time(connection, target, before)
    within = (snapshot.c.target == target, snapshot.c.day.between(first, last))
    # Filtered by ID, because reading the day from the text of every row takes longer than everything else.
    days = {row.id: row.day for row in connection.execute(select(snapshot.c.id, snapshot.c.day).where(*within))}
    query = (
        select(figure.c.name, figure.c.subject, figure.c.snapshot_id, figure.c.value)
        .join(snapshot, figure.c.snapshot_id == snapshot.c.id)
        .where(*within)
        .order_by(snapshot.c.day)
    )
    rows = connection.execute(query).all()
    return _Points(
        (name, subject, day, value)
        for name, subject, snapshot_id, value in rows
        if (day := days[snapshot_id]) in in_time or name in OF_ROWS
    )


def write_outcomes(connection: Connection, target: str, outcomes: RuleOutcomes) -> None:
    """Store the day's outcomes in place of those of an earlier audit of the day."""
    remove_outcomes(connection, target, outcomes.day)
    row = {"evaluated": " ".join(sorted(outcomes.evaluated)), "unknown": " ".join(sorted(outcomes.unknown))}
    connection.execute(insert(rule_outcome).values(target=target, day=outcomes.day, **row))


def read_outcomes(connection: Connection, target: str, before: date = date.max) -> list[RuleOutcomes]:
    """The outcomes of the days before that day, newest first."""
    from tsaudit.not_audited import RuleOutcomes

    query = select(rule_outcome).where(rule_outcome.c.target == target, rule_outcome.c.day < before)
    rows = connection.execute(query.order_by(rule_outcome.c.day.desc()))
    return [RuleOutcomes(row.day, _rule_codes(row.evaluated), _rule_codes(row.unknown)) for row in rows]


def remove_outcomes(connection: Connection, target: str, day: date) -> None:
    """Delete the outcomes of the day."""
    connection.execute(delete(rule_outcome).where(rule_outcome.c.target == target, rule_outcome.c.day == day))


def prune_outcomes(connection: Connection, target: str, kept: Collection[date]) -> None:
    """Delete the outcomes of all days except `kept`, and except those that show how long a rule has been unknown."""
    known = read_outcomes(connection, target)
    for day in {one.day for one in known} - _needed_outcomes(known) - set(kept):
        remove_outcomes(connection, target, day)


@functools.lru_cache(maxsize=64)
def _rule_codes(stored: str) -> frozenset[str]:
    """The rule codes in a stored text. Cached, because a target has the same outcomes on most days."""
    return frozenset(stored.split())


def _needed_outcomes(newest_first: list[RuleOutcomes]) -> set[date]:
    """The days that show since when each rule has been unknown: from its newest day back to the day it last worked.

    A rule that never worked needs none, because it is not reported.
    """
    ever = {code for one in newest_first for code in one.evaluated}
    found: set[date] = set()
    done: set[str] = set()
    for one in newest_first:
        open_ = ever - done
        if open_ & (one.evaluated | one.unknown):
            found.add(one.day)
        done |= one.evaluated
    return found
