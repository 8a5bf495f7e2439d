"""The figures of a profile as rows, and their values over the days: what rules know about the past."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Final

from tsaudit.model.figures import Count, How, Ratio, Subject, how_summed
from tsaudit.model.plan import Requested

if TYPE_CHECKING:
    from tsaudit.model.profile import Database, Measurement, Profile
    from tsaudit.model.storage import DatabaseStorage, Storage


@dataclass(frozen=True, slots=True)
class Figure:
    """One number of one snapshot."""

    name: str
    """`series`, `series_with_fields`, `rows`, `tag_values`, `null_ratio`, `measurements`, `tags`, `fields`; in bytes
    `data_bytes`, `index_bytes`, `disk_used_bytes` and, for a whole target, `stored_bytes`; for a column that a sequence
    fills, `last_id`; as the server counts them since `counted_since`, `rows_inserted` and `rows_deleted`; in seconds
    since 1970, `counted_since`, `partitions_end`, and `oldest_time`.
    """
    subject: Subject
    value: float
    how: How
    standard_error: float | None = None


@dataclass(frozen=True, slots=True)
class Point:
    """The value of a figure on a day."""

    day: date
    value: float


SAME_DAY: Final = timedelta(days=1)
"""How long after the end of a day an audit still shows that day: schedules audit a day after midnight."""

_ABOUT: Final = 0.9
"""Share of a span between two audits that counts as all of it, because no schedule is on time to the second."""

_BACK: Final = 1.25
"""Maximum ratio of a figure after an episode to its level before the episode that counts as back to normal."""


@dataclass(frozen=True, slots=True)
class Episode:
    """The days of a resolved incident."""

    code: str
    """Code of its rule."""
    subject: Subject
    first: date
    """The day it began, which may be before the incident opened if the finding has a start day."""
    resolved: date


@dataclass(frozen=True)
class Timeline:
    """What is known about the days before the audited one. Days on which a figure was not measured are missing."""

    previous: Profile | None = None
    """The newest snapshot before the audited day."""
    points: Mapping[tuple[str, Subject], tuple[Point, ...]] = field(default_factory=dict)
    """(figure name, subject) to its values, oldest first."""
    episodes: tuple[Episode, ...] = ()
    wanted: tuple[Requested, ...] = ()
    """Changes that findings of earlier audits asked for, including notes, which may have been made since `previous`."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing is known about earlier days."""
        return self.previous is None and not self.points and not self.episodes

    def is_older(self, profile: Profile, span: timedelta) -> bool:
        """Whether `previous` was collected about so long before the profile, or longer; False if there is none.

        The days do not show that: an earlier day may be audited right before the profile, and what a catalog or a
        counter says is as of the audit.
        """
        previous = self.previous
        return previous is not None and profile.collected_at - previous.collected_at >= _ABOUT * span

    @cached_property
    def _earlier(self) -> Mapping[tuple[str, str], Measurement]:
        return {(m.database, m.name): m for m in self.previous.measurements} if self.previous else {}

    def earlier(self, measurement: Measurement) -> Measurement | None:
        """The measurement in the previous snapshot; None if it was not in it."""
        return self._earlier.get((measurement.database, measurement.name))

    def of(self, name: str, subject: Subject) -> tuple[Point, ...]:
        """The values of one figure, oldest first; empty if it was never measured."""
        return self.points.get((name, subject), ())

    def usual(self, name: str, subject: Subject, code: str) -> tuple[Point, ...]:
        """The values of a figure without those during resolved incidents of the rule about this subject or a part of
        it.

        Otherwise a past peak that was fixed would raise the normal level, and new growth up to that peak would go
        unnoticed. If the figure stayed high after an incident, that is its normal level now, and no day is left out.
        """
        points = self.of(name, subject)
        for episode in self.episodes:
            if episode.code == code and _holds(subject, episode.subject):
                points = _without(points, episode)
        return points


def _holds(outer: Subject, inner: Subject) -> bool:
    """Whether `inner` is `outer` itself or a part of it."""
    pairs = ((outer.database, inner.database), (outer.measurement, inner.measurement), (outer.column, inner.column))
    return all(not whole or whole == part for whole, part in pairs)


def _without(points: tuple[Point, ...], episode: Episode) -> tuple[Point, ...]:
    before = tuple(p for p in points if p.day < episode.first)
    after = tuple(p for p in points if p.day >= episode.resolved)
    came_back = before and after and after[0].value <= _BACK * before[-1].value
    return before + after if came_back else points


def figures(profile: Profile) -> Iterator[Figure]:
    """All figures of the profile whose growth is tracked."""
    yield from _of_target(profile)
    for database in profile.databases:
        yield from _of_database(profile, database)
    for measurement in profile.measurements:
        yield from _of_measurement(profile, measurement)
        yield from _of_columns(measurement)


def _of_target(profile: Profile) -> Iterator[Figure]:
    if profile.series is not None:
        own = {d.name for d in profile.databases if d.series is not None}
        counts = [d.series for d in profile.wholes] + [m.series for m in profile.measurements if m.database not in own]
        how, error = how_summed([count for count in counts if count is not None])
        yield Figure("series", Subject(), float(profile.series), how, error)
    yield from _exact(Subject(), stored_bytes=stored_bytes(profile))
    for counter in profile.server.counters if profile.server else ():
        yield from _exact(Subject(counter.database), **{counter.name: counter.value})
    for query in profile.stored_queries or ():
        yield from _exact(Subject(query.database, query.name), bytes_scanned=query.bytes_scanned)
    if profile.all_named():
        unread = sum(map(len, profile.beyond_budget.values()))
        yield from _exact(Subject(), measurements=len(profile.measurements) + unread)


def _of_database(profile: Profile, database: Database) -> Iterator[Figure]:
    subject = Subject(database.name)
    yield from _measured(subject, series=database.series, own_series=database.own_series)
    yield from _stored(subject, database.storage)
    yield from _measured(subject, series_with_fields=database.series_with_fields)
    if profile.all_named(database.name):
        yield from _exact(subject, measurements=len(profile.names(database.name)))


def _of_measurement(profile: Profile, measurement: Measurement) -> Iterator[Figure]:
    subject = Subject(measurement.database, measurement.name)
    series, names = measurement.series, measurement.measure_names
    yield from _measured(subject, series=_not_lower_bound(series), rows=measurement.rows)
    yield from _stored(subject, measurement.storage)
    if names is not None:
        yield from _measured(subject, measure_names=names.count, series_keys=names.series_keys)
    if (parts := measurement.partitioning) is not None:
        yield from _exact(subject, partitions=parts.count, partitions_end=_seconds(parts.last_end))
    yield from _exact(subject, oldest_time=_seconds(profile.oldest_time(measurement)))
    if (status := measurement.status) is not None and status.counted_since is not None:
        counted = {name: status.counters.get(name) for name in ("rows_inserted", "rows_deleted")}
        yield from _exact(subject, counted_since=_seconds(status.counted_since), **counted)
    yield from _exact(subject, tags=len(measurement.tags), fields=len(measurement.fields))


def _of_columns(measurement: Measurement) -> Iterator[Figure]:
    def column(key: str) -> Subject:
        return Subject(measurement.database, measurement.name, key)

    for key, last in measurement.status.ids.items() if measurement.status else ():
        yield from _exact(column(key), last_id=last)
    for tag in measurement.tags:
        yield from _measured(column(tag.key), tag_values=_not_lower_bound(tag.values))
    for item in measurement.fields:
        yield from _measured(column(item.key), null_ratio=item.null_ratio)


def _not_lower_bound(count: Count | None) -> Count | None:
    return None if count is None or count.is_lower_bound else count


def _seconds(time: datetime | None) -> float | None:
    return None if time is None else time.timestamp()


def _measured(subject: Subject, **found: Count | Ratio | None) -> Iterator[Figure]:
    """The figures by their names, without those that are None."""
    for name, one in found.items():
        if one is not None:
            yield Figure(name, subject, float(one.value), one.source.how, one.standard_error)


def _exact(subject: Subject, **found: float | None) -> Iterator[Figure]:
    """The figures by their names, without those that are None."""
    for name, value in found.items():
        if value is not None:
            yield Figure(name, subject, float(value), How.EXACT)


def stored_bytes(profile: Profile) -> int | None:
    """Bytes of data and indexes of the whole target; None if any part of them is not known.

    As reported for the target, otherwise summed over its databases or its measurements.
    """
    held = stored_parts(profile).values()
    known = [n for n in held if n is not None]
    return sum(known) if known and len(known) == len(held) else None


def stored_parts(profile: Profile) -> dict[Subject, int | None]:
    """The stored bytes by part: for the target, each database, or each measurement, whichever the engine reports."""
    if profile.storage is not None:
        return {Subject(): held_bytes(profile.storage)}
    found: dict[Subject, int | None] = {}
    for database in profile.databases:
        if database.storage is not None:
            found[Subject(database.name)] = held_bytes(database.storage)
            continue
        if not profile.all_listed(database.name):
            found[Subject(database.name)] = None
        inside = (m for m in profile.measurements if m.database == database.name)
        found |= {Subject(m.database, m.name): held_bytes(m.storage) for m in inside}
    return found


def held_bytes(storage: Storage | DatabaseStorage | None) -> int | None:
    """Bytes of data and indexes; None if the engine did not report them."""
    if storage is None or storage.data_bytes is None:
        return None
    return storage.data_bytes + (storage.index_bytes or 0)


def _stored(subject: Subject, storage: Storage | DatabaseStorage | None) -> Iterator[Figure]:
    """Bytes of a measurement, or of a database, and the used bytes of its disk."""
    for name in ("data_bytes", "index_bytes", "disk_used_bytes"):
        yield from _exact(subject, **{name: getattr(storage, name, None)})


OF_ROWS: Final = frozenset({"rows", "null_ratio", "series", "tag_values", "measure_names", "series_keys"})
"""The figures that rows show, whose times say of which day they are; all others are as of the audit."""


def figures_of_its_day(profile: Profile) -> Iterator[Figure]:
    """The profile's `figures`, without figures of the present if the profile is of a past day.

    Catalogs and file sizes only show the present: among the figures of a past day, they would look like a trend that
    never happened. `past_days` has already removed rows and series of the present.
    """
    if profile.collected_at - profile.window.end <= SAME_DAY:
        return figures(profile)
    return (figure for figure in figures(profile) if figure.name in OF_ROWS)
