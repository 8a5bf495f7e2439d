"""What rules return as impact: amounts from a profile, at the prices of its engine.

Only avoidable cost counts: what would not be there if the writer did right. A source that reports again is not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from tsaudit.analysis.cardinality import fleets
from tsaudit.analysis.cardinality.contributions import avoidable_series, series_left
from tsaudit.analysis.columns.columns import CHANGED, EVENT, OTHER, WRITTEN, are_quantities, words_of
from tsaudit.analysis.shapes.periods import period_families
from tsaudit.analysis.significance import ALIKE
from tsaudit.guidelines import matters
from tsaudit.model.columns import Tag
from tsaudit.model.figures import FOREVER, Subject, TableKind, Window, with_zone
from tsaudit.model.finding import SERVER, Currency, Impact
from tsaudit.model.profile import Measurement
from tsaudit.model.rows import Copies
from tsaudit.model.storage import Index
from tsaudit.text import day as written
from tsaudit.text import instant, listed, span

if TYPE_CHECKING:
    from tsaudit.analysis.collection_families import CollectionFamily
    from tsaudit.analysis.shapes.periods import PeriodFamily
    from tsaudit.model.finding import Limit
    from tsaudit.rule import Case

NOTED: Final = 0.5
"""Share of a limit from which on it is worth a note."""
FEW_BYTES: Final = 20_481
"""Fewer are a page or two, which costs nothing."""
SMALL_ROWS: Final = 100_000
"""Rows of a table that may be read whole, whatever its indexes: a few milliseconds."""
_LEAST_SPAN: Final = timedelta(hours=1)
"""Rates from less are chance."""
_LEAST_SPAN_OF_NEW: Final = timedelta(hours=6)
"""Rates of new values from less are chance, over a year."""
_FEWEST_NEW: Final = 10
"""Values that are no coincidence."""
_SLOPE_DAYS: Final = 7
"""From so many days of history on, the measured slope counts instead of the times of the rows."""
_UNLIKE: Final = 2
"""Where one rate is more than this many times another one, something has changed."""
_STEP_DAYS: Final = 2
"""A rollout that starts in the evening is over on the next day."""


def of_series(case: Case, measurement: Measurement, tags: Iterable[str], *, keep_coming: bool = False) -> Impact | None:
    """What the tags cost together in series; None where series cost nothing by themselves. `keep_coming`: what the
    values are shows that there will be more, as long as nothing that was read says otherwise.
    """
    names = tuple(tags)
    avoidable = avoidable_series(measurement, names)
    priced = of_count(case, measurement, avoidable, how=f"series with and without {', '.join(names)}")
    if priced is None:
        return None
    known = [tag for tag in measurement.tags if tag.key in names]
    growth = growth_of(case, measurement, known, keep_coming=keep_coming)
    per_day = None if growth is None else avoidable * growth
    return replace(priced, per_day=per_day, kept_days=kept_days(case, measurement), tags=names)


def of_count(case: Case, measurement: Measurement, avoidable: int, *, how: str) -> Impact | None:
    """What a known number of series of its database costs; None where series cost nothing."""
    engine = case.engine
    if not engine.has_costly_series:
        return None
    return Impact(
        Currency.SERIES,
        now=avoidable,
        whole=database_series(case, measurement),
        unit_bytes=engine.series_bytes(measurement),
        how="; ".join(filter(None, (how, engine.series_price))),
    )


def growth_of(case: Case, measurement: Measurement, tags: Sequence[Tag], *, keep_coming: bool = False) -> float | None:
    """The share of the values of tags, and so of the series they make, that is added each day; None if not known.

    From the listings of earlier days; else as if all had come in the time since the first row, or since the audit that
    did not see the tag yet, without what was a step.
    """
    rates = [_listed_rate(case, measurement, tag, keep_coming=keep_coming) for tag in tags]
    listed = [rate for rate in rates if rate is not None]
    return max(listed) if listed else _seen_rate(case, measurement, tags, keep_coming=keep_coming)


def _seen_rate(case: Case, measurement: Measurement, tags: Sequence[Tag], *, keep_coming: bool) -> float | None:
    """The share of the values of tags that is added each day, by the rows; None if not known."""
    days = _days_since_first(case, measurement)
    unread = 1.0 if keep_coming else None
    known = {tag.key: unread if tag.turnover is None else fleets.ongoing(tag) for tag in tags}
    parts = {key: part for key, part in known.items() if part is not None}
    if any(parts.values()) and days is None:
        return None
    if days is None or written_days(case, measurement) is None:
        return 0.0 if parts else None
    # Where the rows of few series are read, the first one may be later than the first of all.
    rates = [
        min(part / min(days, _days_since_new(case, measurement, tag)), _pace(measurement, tag))
        for tag in tags
        if (part := parts.get(tag.key)) is not None
    ]
    return max(rates, default=None)


def _days_since_first(case: Case, measurement: Measurement) -> float | None:
    """The days from the first row until the values were counted, with a night without any row; None if the rows span
    too little for a rate.
    """
    if measurement.first_time is None or age_days(case, measurement, least=_LEAST_SPAN_OF_NEW) is None:
        return None
    end = measurement.fingerprint_as_of or case.profile.window.end
    return (end - measurement.first_time) / timedelta(days=1)


def _days_since_new(case: Case, measurement: Measurement, tag: Tag) -> float:
    """The days since the audit before if the measurement did not have the tag yet; infinite if it had, also as a field,
    or if that is not known.
    """
    before = case.timeline.earlier(measurement)
    if before is None or not before.tags or before.tag(tag.key) is not None or tag.key in before.columns:
        return math.inf
    return _days_since_listing(case, measurement) or math.inf


def _pace(measurement: Measurement, tag: Tag) -> float:
    """The share of its series that a day adds by the rows of a few whole sources; infinite if they do not tell."""
    seen, sets = tag.turnover, measurement.tag_sets
    if seen is None or seen.by is None or sets is None or not (seen.sources and sets.series and seen.hours):
        return math.inf
    gone = {one.key for one in measurement.tags} - {*seen.by}
    sources = next((c.series_left for c in sets.contributions if {c.tag, *c.together_with} == gone), None)
    if sources is None:
        return math.inf
    # What they had in the first third was there; the others came in the rest of the time.
    added = max(seen.pairs - max(seen.sources, seen.first), 0) / (seen.hours / 24 * 2 / 3)
    # A source has one series for each value only if no other tag changes with this one.
    pairs, _ = series_left(sets, frozenset(gone - {tag.key}))
    return added * max(sources / seen.sources, 1.0) / max(pairs, 1)


def _listed_rate(case: Case, measurement: Measurement, tag: Tag, *, keep_coming: bool) -> float | None:
    """The share of the values of a tag that is added each day, by the listings; None if there are none."""
    over_time = tag.over_time
    if over_time is None or over_time.days < 2 or over_time.new_values is None or not tag.values:
        return None
    if over_time.days < _SLOPE_DAYS or over_time.new_per_day is None:
        # What came since the previous listing: a few are no rate.
        new = over_time.new_values if over_time.new_values >= _FEWEST_NEW else 0
        days = _days_since_listing(case, measurement)
        if days is None:
            return None
        newest, values = new / days, max(tag.values.value, 1)
        usual = over_time.new_per_day or 0.0
        # Rows of a week or more have more days than were listed, if the rate is still about the same.
        seen = values * (_seen_rate(case, measurement, [tag], keep_coming=keep_coming) or 0.0)
        if (_days_since_first(case, measurement) or 0.0) >= _SLOPE_DAYS and _are_alike(seen, usual):
            usual = seen
        # A day off brings less than other days, and a busy one brings more.
        return (usual if _are_alike(usual, newest) else newest) / values
    waves = len({one.day for one in over_time.series[1:]})
    # What came on many days is no step, however few changes the rows of one day show.
    part = fleets.ongoing(tag) if 0 < waves <= _STEP_DAYS else 1.0
    return (1.0 if part is None else part) * over_time.new_per_day / max(tag.values.value, 1)


def _are_alike(rate: float, other: float) -> bool:
    return rate <= _UNLIKE * other and other <= _UNLIKE * rate


def _days_since_listing(case: Case, measurement: Measurement) -> float | None:
    """The time since the listing before, in days: the day of an audit need not be over. 1 if it is not known; None if
    it is too short for a rate.
    """
    profile, before, previous = case.profile, case.timeline.earlier(measurement), case.timeline.previous
    if before is None or previous is None:
        return 1.0
    # An index lists what there is, whatever the day of the audit.
    is_index = case.engine.has_series_index
    now, then = ((one.collected_at if is_index else one.window.end) for one in (profile, previous))
    reused_from = before.fingerprint_as_of
    if reused_from is not None and reused_from < previous.window.end:
        then = reused_from
    return (now - then) / timedelta(days=1) if now - then >= _LEAST_SPAN_OF_NEW else None


def of_bytes(case: Case, measurement: Measurement, avoidable: float, *, how: str, is_row_data: bool = True) -> Impact:
    """What could be saved of a table's bytes. `is_row_data`: it grows with the rows."""
    storage = measurement.storage
    whole = None if storage is None or storage.data_bytes is None else storage.data_bytes + (storage.index_bytes or 0)
    rows = measurement.rows_total or measurement.rows
    if whole is None and rows is not None and measurement.row_bytes is not None:
        # Without the indexes, and what the engine adds to a row.
        whole = round(rows.value * measurement.row_bytes.total)
    avoidable = at_most(avoidable, whole)
    growth = counted = _slope_of_bytes(case, measurement)
    if growth is None:
        growth = rows_growth(case, measurement)
    # Nobody knows whether rows were deleted, or loaded at once: it is not looked further ahead than back.
    at = Subject(measurement.database, measurement.name)
    is_known = any((case.profile.day - p.day).days >= _SLOPE_DAYS for p in case.timeline.of("rows", at)[:1])
    is_seen_only = counted is None and not is_known and not case.engine.counts_rows_written
    return Impact(
        Currency.BYTES,
        now=avoidable,
        whole=float(whole) if whole else None,
        per_day=(growth if growth is None else avoidable * growth) if is_row_data else 0.0,
        kept_days=kept_days(case, measurement),
        ahead_days=1 / growth if is_seen_only and growth else None,
        how=how,
    )


def at_most(avoidable: float, whole: float | None) -> float:
    """The avoidable bytes, but no more than is stored: prices and mean widths are estimates."""
    return min(avoidable, float(whole)) if whole else avoidable


def _slope_of_bytes(case: Case, measurement: Measurement) -> float | None:
    """The share of a table's bytes that is added each day, by its history; None without a week of it."""
    at = Subject(measurement.database, measurement.name)
    points = case.timeline.of("data_bytes", at)
    if points and (case.profile.day - points[0].day).days >= _SLOPE_DAYS and measurement.storage:
        now = measurement.storage.data_bytes or 0
        grown = (now - points[0].value) / (case.profile.day - points[0].day).days
        return max(grown / now, 0.0) if now else 0.0
    return None


def index_share(measurement: Measurement) -> float | None:
    """Bytes of one index if all were equally large, where the engine only reports those of all; None if it does not."""
    indexes = [index for index in measurement.indexes or () if not index.constraint]
    held = measurement.storage.index_bytes if measurement.storage else None
    return None if held is None or not indexes else held / len(indexes)


def age_days(case: Case, measurement: Measurement, *, least: timedelta = _LEAST_SPAN) -> float | None:
    """Over how many days its rows lie, up to now at most; None if that is not known, or less than `least`."""
    first, last = measurement.first_time, measurement.last_time
    if first is None or last is None:
        return None
    span = min(last, case.profile.window.end) - first
    return span / timedelta(days=1) if span >= least else None


_LEAST_WRITTEN: Final = timedelta(minutes=10)
"""Of rows up to now: enough to tell what fleets write, which report every few seconds or minutes."""


def written_days(case: Case, measurement: Measurement) -> float | None:
    """In how many days its rows were written, up to now; None if that is not known, or nothing is written anymore: not
    for a week, or for longer than there are rows.
    """
    days, last = age_days(case, measurement, least=_LEAST_WRITTEN), measurement.last_time
    if days is None or last is None:
        return None
    return None if (case.profile.window.end - last) / timedelta(days=1) > min(days, _QUIET_DAYS) else days


def of_tag(case: Case, measurement: Measurement, tag: Tag) -> Impact | None:
    """What a tag costs that each row repeats, where series cost nothing by themselves; None if that is not known."""
    days = written_days(case, measurement)
    return None if days is None else case.engine.tag_cost(measurement, tag, days, case.harm.horizon)


def kept_days(case: Case, measurement: Measurement) -> float | None:
    """After how many days its rows are removed; None for never, or not known."""
    kept = _retention_days(case, measurement)
    return None if kept == math.inf else kept


def filling_days(case: Case, measurements: Iterable[Measurement]) -> float:
    """For how many days after the first audit data of these measurements may be filling up to its retention, until it
    is known to have stopped: at most a month, and 0 without retention.
    """
    from tsaudit.analysis.growth.thresholds import FILLING_DAYS, FLAT_DAYS

    kept = [_retention_days(case, measurement) for measurement in measurements]
    if not kept or None in kept:
        return FILLING_DAYS
    return min(max(0.0 if days in (None, math.inf) else days + FLAT_DAYS for days in kept), FILLING_DAYS)


def levels_at(case: Case, measurement: Measurement, tag: Tag, per_day: float) -> float:
    """The number of values that a tag with this many new ones a day has once as many expire as are added; infinite if
    the retention is not known, or the values stay.
    """
    kept = kept_days(case, measurement)
    if kept is None or tag.values is None or not fleets.ends(tag, measurement.arrivals):
        return math.inf
    known = tag.over_time
    since = case.profile.day - timedelta(days=kept)
    expiring = [] if known is None or known.sampled_values is not None else known.series[1:]
    return tag.values.value - sum(one.values or 0 for one in expiring if one.day >= since) + per_day * kept


def series_level_at(case: Case, measurement: Measurement, tag: Tag | None) -> float:
    """The number of series that a measurement will have once as many expire as are added, by the newest week; infinite
    if it is not known when they do, or the series stay. `tag`: whose new values are the cause, if one is.
    """
    kept, arrivals, day = _series_days(case, measurement), measurement.arrivals, case.profile.day
    if kept is None or arrivals is None or arrivals.sampled_series is not None or measurement.series is None:
        return math.inf
    if not (fleets.leave(arrivals) if tag is None else fleets.ends(tag, arrivals)):
        return math.inf
    since, week = day - timedelta(days=kept), day - timedelta(days=_SLOPE_DAYS)
    expiring = sum(one.series for one in arrivals.series if one.day >= max(since, arrivals.began + timedelta(days=1)))
    # Those of the first listing may stay, unless the rows show that their values do not come again.
    first = sum(one.series for one in arrivals.series if since <= one.day <= arrivals.began)
    seen = tag.turnover if tag else None
    expiring += round(first * (1 - seen.again / seen.first)) if seen and seen.first else 0
    seen_days = min(_SLOPE_DAYS, max((day - arrivals.began).days, 1))
    per_day = sum(one.series for one in arrivals.arrived if one.day > week) / seen_days
    return measurement.series.value - expiring + per_day * kept


def _series_days(case: Case, measurement: Measurement) -> float | None:
    """After how many days without rows its series no longer count: where no index keeps them, those of the window are
    counted. None for never, or not known.
    """
    kept, window = kept_days(case, measurement), case.profile.window
    if case.engine.has_series_index or measurement.first_time is None or measurement.own_window is not None:
        return kept
    days = (window.end - window.start) / timedelta(days=1)
    return days if kept is None else min(kept, days)


def _retention_days(case: Case, measurement: Measurement) -> float | None:
    """After how many days its rows are removed: infinite for never, None if it is not known."""
    expiring = [days for index in measurement.indexes or () if (days := _expiry_days(case, measurement, index))]
    if expiring:
        return min(expiring)
    own = measurement.retention
    if own is None:
        of_database = next((d.retention for d in case.profile.databases if d.name == measurement.database), None)
        own = next((policy for policy in of_database or () if policy.default), None)
    if own is None:
        return None
    return math.inf if own.duration_s == FOREVER else own.duration_s / 86_400


def _expiry_days(case: Case, measurement: Measurement, index: Index) -> float | None:
    """After how many days documents are removed by an index; None if it removes none, or not all.

    If each document says itself when it expires, the newest ones have the whole time before them.
    """
    if index.expires_s is None or index.partial or len(index.columns) > 1:
        return None
    after, column = timedelta(seconds=index.expires_s), index.columns[0]
    if column != measurement.time_column:
        field = next((one for one in measurement.fields if one.key == column), None)
        if field is None or field.types != ("date",) or (field.null_ratio is not None and field.null_ratio.value > 0):
            return None
        # A date that is out of range is decoded as a number.
        times = [datetime.fromisoformat(value) for value in field.sample if "T" in value]
        last = max(map(with_zone, times), default=None)
        if last is None:
            return None
        after += last - case.profile.window.end
    return after / timedelta(days=1) if after > timedelta() else None


def database_series(case: Case, measurement: Measurement) -> int | None:
    """Series of the measurement's database, with its other retention policies; None if they are not known."""
    for database in case.profile.wholes:
        if case.profile.is_within(measurement.database, database.name):
            if database.series is not None:
                return database.series.value
            counts = [m.series.value if m.series else None for m in case.profile.inside(database)]
            return None if None in counts else sum(one for one in counts if one is not None)
    return None


def of_family(case: Case, database: str, names: Collection[str]) -> Impact | None:
    """What a family of measurements costs, of which one would do; None where they cost nothing worth counting."""
    engine, members = case.engine, [m for m in case.profile.measurements if m.database == database and m.name in names]
    per_day = _names_a_day(case, database, names)
    if per_day is None and not engine.has_series_index:
        per_day = _begun_a_day(case, members)
    if engine.has_costly_measurements:
        return Impact(
            Currency.FAMILY,
            now=len(names),
            per_day=per_day,
            kept_days=next((kept_days(case, m) for m in members), None),
            unit=f"{engine.words.measurement}s",
            how=engine.measurement_price,
        )
    if engine.measurement_bytes is None or not members:
        return None
    indexes = sum(1 if m.indexes is None else len(m.indexes) for m in members) / len(members)
    each, whole = engine.measurement_bytes + indexes * (engine.index_bytes or 0.0), _database_bytes(case, database)
    return Impact(
        Currency.BYTES,
        now=at_most((len(names) - 1) * each, whole),
        whole=whole,
        per_day=None if per_day is None else per_day * each,
        how=engine.measurement_price,
    )


def of_field_names(case: Case, measurement: Measurement) -> Impact | None:
    """What the fields of a measurement cost that gains new ones; None where there are few new ones, or where they cost
    nothing up to a limit on columns.
    """
    count = len(measurement.fields)
    figure = "fields", Subject(measurement.database, measurement.name), count
    per_day, even = rate(case, *figure) or 0.0, even_rate(case, *figure)
    if even is not None and even[0] * _SLOPE_DAYS >= case.harm.min_names:
        # Where a week alone brings so many, waiting for it makes it worse.
        per_day = even[0]
    if not case.engine.has_costly_measurements or per_day * case.harm.warning_days < case.harm.min_names:
        return None
    return Impact(
        Currency.FAMILY,
        now=count,
        per_day=per_day,
        kept_days=kept_days(case, measurement),
        unit="fields",
        how="measured: to read 12,000 fields of one measurement took InfluxDB 1.6 45 seconds and 4.3 GB",
    )


def _names_a_day(case: Case, database: str, names: Collection[str]) -> float | None:
    """How many of the names are new since the previous audit, a day; None if there was none."""
    previous = case.timeline.previous
    if previous is None or not previous.all_named(database):
        return None
    before = set(previous.names(database))
    if not before:
        return None
    new = sum(name not in before for name in names)
    return _rate(new, case.profile.collected_at - previous.collected_at, "").per_day


_FOUNDERS: Final = 0.1
"""Part of the time in which those begin that were there from the beginning, as far as is known."""
_FEWEST_ROWS: Final = 10
"""Rows, in the mean time between which the first one is late: a table that began before would have had some."""


def _begun_a_day(case: Case, members: Sequence[Measurement]) -> float | None:
    """How many measurements of a family are added each day, by their first rows: those of the last weeks count. 0 for
    periods, of which the oldest may be dropped; None if no first row is known.
    """
    firsts = {m.name: m.first_time for m in members if m.first_time is not None}
    if not firsts:
        return None
    if any(m.retention or any(i.expires_s is not None for i in m.indexes or ()) for m in members):
        return 0.0
    end = case.profile.window.end
    if any(period_families([m.name for m in members], now=end)):
        return 0.0
    start = max(min(firsts.values()), end - timedelta(days=_SLOPE_OF_DAYS))
    days = max((end - start) / timedelta(days=1), 1.0)
    begun = [
        m
        for m in members
        if m.first_time is not None and (m.first_time - start) / timedelta(days=1) > max(_FOUNDERS * days, _gap_days(m))
    ]
    return len(begun) / len(firsts) * len(members) / ((1 - _FOUNDERS) * days)


def _gap_days(measurement: Measurement) -> float:
    """For how long a measurement may be without a row."""
    first, last, rows = measurement.first_time, measurement.last_time, measurement.rows
    if first is None or last is None or rows is None or rows.value < _FEWEST_ROWS:
        return math.inf
    return _FEWEST_ROWS * ((last - first) / timedelta(days=1)) / rows.value


def _database_bytes(case: Case, database: str) -> float | None:
    storages = [m.storage for m in case.profile.measurements if m.database == database]
    held = [(one.data_bytes or 0) + (one.index_bytes or 0) for one in storages if one is not None]
    if held and len(held) == len(storages):
        return float(sum(held))
    whole = case.profile.storage
    return float(whole.data_bytes + (whole.index_bytes or 0)) if whole and whole.data_bytes else None


def why_free(case: Case, limit: Limit | None) -> str:
    """Why series cost nothing on this engine, and what to set to be warned all the same; empty if they do. `limit`: of
    the series; None if it is not known.
    """
    if case.engine.has_costly_series:
        return ""
    # CAR001, which compares series with that limit, applies where this guideline does.
    can_be_set = matters("A1", case.profile.engine) and not (limit and is_owners(limit))
    setting = "; to be warned of their number, set `limits: {high-series-cardinality.max_series: N}`"
    return f"{case.profile.engine} keeps no index of series{setting if can_be_set else ''}"


_SET_BY_OWNER: Final = ("target", "all targets", "measurement ")


def is_owners(limit: Limit) -> bool:
    """Whether `tsaudit.yaml` sets the limit."""
    return limit.origin.startswith(_SET_BY_OWNER)


def is_enforced(case: Case, limit: Limit, used: float) -> bool | None:
    """Whether what goes beyond is rejected. A plan of a service and a limit of the owner hold; one of the server, as
    its engine says; a default of ours holds nowhere. None: not proven.
    """
    if is_owners(limit) or limit.origin.startswith("plan "):
        return True
    # All editions of an engine agree on it.
    declared = next((one for one in case.engine.limits if one.name == limit.name and not one.plan), None)
    if declared is None or limit.origin == "default":
        return False
    is_open = declared.is_enforced is None
    enforced = case.engine.enforces_limits(case.profile) if is_open else declared.is_enforced
    if enforced and (is_open or limit.origin == SERVER):
        return True
    # More than a limit proves that it is not enforced, or that this server was given another one.
    return False if used > limit.value else enforced


_SLOPE_OF_DAYS: Final = 28
"""The days of which the rate is the present one."""


def rate(case: Case, figure: str, at: Subject, now: float) -> float | None:
    """By how much a figure grows a day, by its history of the last weeks; None without a week of it."""
    points = (((case.profile.day - point.day).days, point.value) for point in case.timeline.of(figure, at))
    known = [(ago, value) for ago, value in points if 0 < ago <= _SLOPE_OF_DAYS]
    if not known or known[0][0] < _SLOPE_DAYS:
        return None
    ago, before = known[0]
    return max((now - before) / ago, 0.0)


def most_in_a_day(case: Case, figure: str, at: Subject, now: float) -> float:
    """The most that was added to a figure from one audit of the last week to the next, a day; infinite without one, or
    if the last one was made less than a day ago, whatever day it is of.
    """
    steps = _steps(case, figure, at, now)[1] if case.timeline.is_older(case.profile, timedelta(days=1)) else ()
    return max(*steps, 0.0) if steps else math.inf


_EVEN_STEPS: Final = 3
_EVEN: Final = 2
"""Maximum ratio of the largest to the smallest step of a figure that grows by about the same each day."""


def even_rate(case: Case, figure: str, at: Subject, now: float) -> tuple[float, int] | None:
    """By how much a figure grew a day, and over how many days, if it grew about the same from audit to audit, at least
    three times; None otherwise. After less than a week, nobody knows whether that goes on: it may tell when, but an
    alarm should rest on it only if there is no time left to wait for a week, or if that week alone brings too much.
    """
    (days, first), steps = _steps(case, figure, at, now)
    if len(steps) < _EVEN_STEPS or min(steps) <= 0 or max(steps) > _EVEN * min(steps):
        return None
    return (now - first) / days, days


def _steps(case: Case, figure: str, at: Subject, now: float) -> tuple[tuple[int, float], list[float]]:
    """The first known value of a figure in the last week, with how many days ago it was measured, and by how much the
    figure grew a day from each audit to the next.
    """
    points = (((case.profile.day - point.day).days, point.value) for point in case.timeline.of(figure, at))
    known = [*((ago, value) for ago, value in points if 0 < ago <= _SLOPE_DAYS), (0, now)]
    return known[0], [(value - before) / (then - ago) for (then, before), (ago, value) in pairwise(known)]


_IN_SIGHT_DAYS: Final = 36_525
"""A century: no rate of today says anything about a time after that."""


def of_limit(
    case: Case,
    used: float,
    limit: Limit,
    *,
    per_day: float | None = 0.0,
    levels_at: float = math.inf,
    how: str = "",
) -> Impact:
    """How near a limit is, at the present rate; None for one that is not known. `levels_at`: where growth ends."""
    days_left = max(limit.value - used, 0) / per_day if per_day and levels_at >= limit.value else None
    return Impact(
        Currency.LIMIT,
        now=used,
        whole=limit.value,
        per_day=per_day,
        days_left=days_left if days_left is None or days_left <= _IN_SIGHT_DAYS else None,
        is_enforced=is_enforced(case, limit, used),
        is_owners=is_owners(limit),
        unit=limit.unit,
        how=how or limit.source,
    )


def is_near(case: Case, impact: Impact, part: float) -> bool:
    """Whether so much of a limit is used, or it is reached in the days that `harm` warns of."""
    soon = impact.days_left is not None and impact.days_left <= case.harm.warning_days
    return soon or (impact.share or 0.0) >= part


_QUIET_DAYS: Final = 7
"""After so long without a row, a table is not written anymore."""


def rows_a_day(case: Case, measurement: Measurement) -> float | None:
    """How many rows come a day, by the times of those that are kept; None if that is not known."""
    total, added = measurement.rows_total or measurement.rows, added_a_day(case, measurement)
    return None if total is None or added is None else total.value * added


def rows_growth(case: Case, measurement: Measurement) -> float | None:
    """The share of all rows of a table by which it grows each day; None if that is not known."""
    added = added_a_day(case, measurement)
    return None if added is None else added * _kept(case, measurement)


_FILLED: Final = 0.9
"""Share of the retention that the rows span, from which on as many expire as are added."""


def _kept(case: Case, measurement: Measurement) -> float:
    """The share that stays of what is added, 0 to 1: by what the server counts as deleted, else by whether the oldest
    row is about to expire, or how its time has moved since the previous audit; 1 if nothing is known. Where more is
    gone than is left, no more rows come than go: the first ones stayed only as long as those that are left.
    """
    counters = measurement.status.counters if measurement.status else {}
    inserted, deleted = counters.get("rows_inserted", 0.0), counters.get("rows_deleted", 0.0)
    if inserted and deleted:
        return 1 - deleted / inserted if deleted < inserted - deleted else 0.0
    kept, age = kept_days(case, measurement), age_days(case, measurement)
    if kept is not None and age is not None and age >= _FILLED * kept:
        return 0.0
    before, previous = case.timeline.earlier(measurement), case.timeline.previous
    if before is None or previous is None:
        return 1.0
    first, then = _oldest(measurement, case.profile.window), _oldest(before, previous.window)
    passed = case.profile.window.end - previous.window.end
    if first is None or then is None or passed <= timedelta():
        return 1.0
    return min(max(1 - (first - then) / passed, 0.0), 1.0)


def _oldest(measurement: Measurement, window: Window) -> datetime | None:
    """The time of its oldest row; None if that is not known, because older ones may lie before the window."""
    first = measurement.first_time
    return first if first is not None and first - window.start >= timedelta(days=1) else None


def added_a_day(case: Case, measurement: Measurement) -> float | None:
    """The share of all rows of a table that is added each day, by the times of its rows; None if it is not known."""
    first, last, window = measurement.first_time, measurement.last_time, case.profile.window
    # Of a big table, the planner tells how many rows are within the window, and not when the first one came.
    days = age_days(case, measurement) if first else (window.end - window.start) / timedelta(days=1)
    if measurement.own_window is not None:
        return 0.0
    if _are_times_of_changes(measurement):
        return None
    if last is None or not days or (first is None and not measurement.rows):
        return None
    if (window.end - last) / timedelta(days=1) > _QUIET_DAYS:
        return 0.0
    if measurement.documents is not None and measurement.documents.added_ratio is not None:
        # Documents are counted at any time, and the newest ones may be larger or more than those before.
        return measurement.documents.added_ratio
    # The times are those of the window; what is older has its share of the table.
    rows, total = measurement.rows, measurement.rows_total
    part = rows.value / total.value if rows and total and total.value > rows.value else 1.0
    return part / days


def _are_times_of_changes(measurement: Measurement) -> bool:
    """Whether the times of rows may be when they were last changed, and not when they came: rows of things, named like
    it, or all of a single day and not named like the time when something came.
    """
    if measurement.kind not in (TableKind.REFERENCE, TableKind.ENTITY):
        return False
    first, last, words = measurement.first_time, measurement.last_time, words_of(measurement.time_column or "")
    is_of_a_day = first is not None and last is not None and last - first < timedelta(days=1)
    return bool(words & (CHANGED | OTHER)) or (is_of_a_day and not words & (EVENT | WRITTEN))


def of_periods(case: Case, family: CollectionFamily, avoidable: float, *, how: str) -> Impact:
    """What could be saved of the bytes of all collections of a family. It grows as long as periods are added."""
    held = family.bytes
    avoidable = at_most(avoidable, held)
    return Impact(
        Currency.BYTES,
        now=avoidable,
        whole=float(held) if held else None,
        per_day=avoidable * periods_a_day(case, family) / len(family.members),
        how=how,
    )


def periods_a_day(case: Case, family: CollectionFamily | PeriodFamily) -> float:
    """How many collections, or databases, are added to a family each day; 0 if no more are."""
    first, last = family.members[0], family.members[-1]
    days = (last.end - first.start) / timedelta(days=1)
    ended = case.profile.window.end - last.end > last.end - last.start
    return 0.0 if ended or days <= 0 else len(family.members) / days


def of_numbers_as_text(name: str, sample: Sequence[str], distinct: int) -> Impact | None:
    """What it costs that a text column contains numbers that somebody measured or counted; None if the digits name
    something, so that nobody computes with them.
    """
    if are_quantities(name, sample, distinct):
        how, wrong = "the values read are numbers with fractions, or sort differently as text", sorts_as_text(name)
    elif are_quantities(name, sample, distinct, by_name=True):
        how = "the values read are whole numbers, and the name says what is measured"
        wrong = f"Ranges of {name} are wrong as soon as its values differ in length: as text, 10 comes before 9."
    else:
        return None
    return Impact(Currency.ANSWERS, how=how, consequence=wrong)


def sorts_as_text(name: str) -> str:
    """Which queries of a text column with numbers are wrong."""
    return f"Queries that sort by {name}, or ask for a range or an extreme of it, take 10 for less than 9."


def are_many_copies(case: Case, copies: int, found: Copies) -> bool:
    """Whether so many of the rows read are copies that they are not only what clients send again after errors."""
    return copies >= max(ALIKE, case.harm.max_overwritten_share * found.rows)


def of_copies(case: Case, found: Copies) -> Impact | None:
    """What it costs that rows are stored twice; None if they may be events of their own that look the same."""
    if found.first is not None and found.last is not None and are_many_copies(case, found.in_bulk, found):
        said = f"Sums and counts are too high, at least of the rows from {span(found.first, found.last)}."
    elif found.key:
        where = f" with {place_of(found)}" if found.column else ""
        since = f" since {instant(found.since)}" if found.since else ""
        said = f"Sums and counts of the rows{where}{since} are too high."
    else:
        return None
    return Impact(Currency.ANSWERS, how="rows that were read, compared with each other", consequence=said)


def place_of(found: Copies) -> str:
    """The values that all copies have in one column, in words."""
    return f"{found.column}={listed(found.values, 3)}"


@dataclass(frozen=True, slots=True)
class Rate:
    """How much a counter grows a day."""

    per_day: float
    since: str
    """Since when, in words."""
    counted_s: float | None
    """The seconds in which so much was counted, if less than a day; None for a day or more."""


def counted_a_day(case: Case, measurement: Measurement, count: Callable[[Measurement], float | None]) -> Rate | None:
    """How much the counter has grown a day since the previous audit, or since it began, if that was later or there
    was none. What came within less than a day counts as that of a day. None if it is not known.

    `count`: the counter of a table, as it was at an audit; None if it is not known.
    """
    now, began = count(measurement), measurement.status.counted_since if measurement.status else None
    earlier, previous = case.timeline.earlier(measurement), case.timeline.previous
    if now is None:
        return None
    if earlier is not None and earlier.status is not None and previous is not None:
        then, is_same = count(earlier), earlier.status.counted_since in (began, None)
        if then is not None and is_same and then <= now:
            return _rate(
                now - then, case.profile.collected_at - previous.collected_at, f"the audit of {written(previous.day)}"
            )
    return None if began is None else _rate(now, case.profile.collected_at - began, written(began.date()))


def _rate(counted: float, span: timedelta, since: str) -> Rate:
    days = span / timedelta(days=1)
    return Rate(counted / max(days, 1.0), since, span.total_seconds() if days < 1 else None)
