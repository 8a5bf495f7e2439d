"""STO003."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import takewhile
from math import inf
from statistics import median
from typing import Final

from tsaudit.analysis.partition_ranges import next_ranges, range_of
from tsaudit.analysis.significance import ENOUGH
from tsaudit.engines.queries import query_name
from tsaudit.model.change import AddPartitions, DropPartitions
from tsaudit.model.figures import How, Source
from tsaudit.model.finding import Basis, Currency, Evidence, Finding, Impact
from tsaudit.model.profile import Measurement
from tsaudit.model.storage import DEFAULT_PARTITION, Partition, Partitioning
from tsaudit.rule import Case, Threshold, rule, subject_of
from tsaudit.text import listed, many, number, percent, rounded, size

_ENDS_DAYS: Final = 14
"""A table is reported from this many days before its last partition ends."""
_NEXT: Final = 3
"""Number of partitions that the plan creates ahead of time, besides those that are missing until now."""
_QUIET_DAYS: Final = 7
"""If there was no row for this many days, no further partition is needed."""
_A_DAY: Final = timedelta(days=1)
_LOADS: Final = timedelta(days=2)
"""For so long after its end, the rows of a day may be about to be loaded, by a program that makes their partition."""
_GAPS: Final = 0.1
"""If more than this share of the ranges is followed by a gap, partitions are made as they are needed."""
_ONE_MACHINE: Final = 10_000_000_000
"""Size, in bytes, below which one partition is enough: any machine can store many times as much."""
_MOST: Final = 0.5
"""If more than this share of the rows is in the default partition, the other partitions mean little."""


@rule(
    code="STO003",
    title="Partitions do not work as intended",
    costs={Currency.MECHANISM},
    guidelines=("E12", "E13"),
    requires={"partitions"},
    uses={"options", "storage"},
    thresholds=(
        Threshold("max_skew", 4, "times the median of the others", "our default: one partition does most of the work"),
    ),
)
def partition_skew(case: Case) -> Iterator[Finding]:
    """Partitions that end soon, a default partition that collects rows, and partitions of very different sizes.

    What fails is a mechanism that the database declares, and costs more than a note:

    - The last range of time has ended, there is no default partition, and rows came until it did: since then, they are
      rejected. That is critical once it ended two days ago or the previous audit, a day before, saw the same end, and
      a warning before, because a program that loads rows once a day may create partitions, too.
    - It ends within 14 days, or has ended, and rows still come: critical from `critical_days` before the end if
      partitions are created ahead of time: the range lies ahead, or did when an audit saw it. If the previous audit
      saw an earlier end, somebody creates partitions, and nothing is reported. Ranges of at most a week are created
      all the time, so an end that lies ahead is reported only if less than two ranges are left, and an audit made
      at least one range earlier saw the same end; it is critical on the last day if that audit was made earlier
      still. On the last day of ranges of a day or more, it is a note even on the first audit.
    - The default partition of a table by time contains rows, and more of them than the previous audit, a day before,
      saw.
    - A table of GreptimeDB deduplicates, but its partitions are by a column outside the primary key.
    - All rows of a table of GreptimeDB are in one of its partitions, and take at least 10 GB.

    The others are notes. A partition is uneven if it has more than `max_skew` times the median of the others, in bytes,
    or in rows if bytes are not known, and at least 100 rows. Partitions by time and lists of values are left out,
    because they are uneven by nature. A default partition of other tables is reported if it has more than half of the
    rows. GreptimeDB divides storage by time itself, so partitions by time are reported there, and partitions of less
    than 10 GB.

    ## Why it matters

    Partitions divide work and make old data easy to drop. A partition with most of the rows is searched, vacuumed, and
    written as if there were no partitions. Rows in the default partition are not pruned by any query and are not
    dropped with any period. In GreptimeDB, each partition has a write buffer, files, and indexes of its own, and each
    query reads all that it cannot rule out.

    ## Example

    `cpu` by hash of `datacenter` in eight partitions: three data centers fill three of them, one with 80% of the rows.

    ## Fix

    Partition by a column with many values of about the same weight, and by time if old rows are dropped.

    ## References

    - Partitioning, PostgreSQL: https://www.postgresql.org/docs/current/ddl-partitioning.html
    - Hypertables and chunks: https://docs.timescale.com/use-timescale/latest/hypertables/
    - Table sharding, GreptimeDB:
      https://docs.greptime.com/user-guide/deployments-administration/manage-data/table-sharding/
    - Repartition, GreptimeDB: https://docs.greptime.com/user-guide/deployments-administration/manage-data/repartition/
    """
    for measurement in case.measurements:
        if measurement.partitioning is None:
            continue
        troubles = list(_troubles(case, measurement, measurement.partitioning))
        if troubles:
            yield _finding(case, measurement, measurement.partitioning, troubles)


@dataclass(frozen=True, slots=True)
class _Trouble:
    words: str
    step: str
    observed: float | None = None
    unit: str = ""
    merges: bool = False
    """Whether the trouble goes away if the partitions are merged."""
    following: Sequence[Partition] = ()
    """Partitions to create."""
    fails: Impact | None = None
    """The mechanism that does not work; None for a note."""


_FAILS: Final = Impact(Currency.MECHANISM, is_enforced=False, how="the catalog and its counters of rows")


def _troubles(case: Case, measurement: Measurement, cut: Partitioning) -> Iterator[_Trouble]:
    """What is wrong with the partitions, worst first."""
    by_time = _by_time(measurement, cut)
    if by_time and case.engine.divides_by_time:
        step = "Divide by a column that queries filter by, or not at all: storage is divided by time already."
        yield _Trouble(f"partitions are by time ({listed(cut.key)})", step, cut.count, "partitions", merges=True)
    if by_time:
        yield from _ending(case, measurement, cut)
    yield from _default(case, measurement, cut, by_time)
    if not by_time and case.engine.deduplicates_within_partitions(measurement):
        yield from _undivided_key(measurement, cut)
    if not by_time:
        yield from _skew(case, measurement, cut)
    if case.engine.divides_by_time and cut.count > 1 and not case.engine.has_given_columns(measurement):
        yield from _small(measurement, cut)


def _small(measurement: Measurement, cut: Partitioning) -> Iterator[_Trouble]:
    """Reports that there are so few bytes that one partition would be enough; nothing if the size is not known."""
    sizes = [part.bytes for part in cut.partitions if part.bytes is not None]
    held = measurement.storage.data_bytes if measurement.storage else None
    if held is None and len(sizes) == cut.count:
        held = sum(sizes)
    if held is not None and held < _ONE_MACHINE:
        words = f"{many(cut.count, 'partition')} for {size(held)} of data; below {size(_ONE_MACHINE)} one is enough"
        yield _Trouble(words, "Leave them where fast growth is planned.", held, "bytes", merges=True)


def _ending(case: Case, measurement: Measurement, cut: Partitioning) -> Iterator[_Trouble]:
    """Reports the last time range if rows come that it does not accept, or soon will not."""
    found, now, rest = _last_range(cut), case.profile.window.end, _rest_of(cut)
    if found is None:
        return
    first, end = found
    left, length = (end - now) / _A_DAY, end - first if first is not None else timedelta.max
    is_rejecting = rest is None and _is_rejecting(measurement, cut, now)
    unmoved = _unmoved(case, measurement, end)
    if is_rejecting and unmoved is None and (now - end) / 2 <= length:
        return  # Somebody made it since the previous audit, and the next one may be made with the next load.
    is_sure = is_rejecting and (now - end > _LOADS or (unmoved is not None and unmoved >= _A_DAY))
    # A program may create a partition with its first row, but not one that was there before its range began.
    is_ahead = first is not None and first > now - (unmoved or timedelta())
    may_end = unmoved is not None and _may_end(measurement, now, end, length, unmoved)
    # Whether somebody makes the next one in time, a single audit cannot say, and the next one may say too late.
    is_tonight = unmoved is not None and 0 < left < 1 and length >= _A_DAY
    is_soon = is_tonight and rest is None and _rows_come(measurement, now)
    if not -_ENDS_DAYS <= left <= _ENDS_DAYS or not (is_rejecting or may_end or is_soon):
        return
    ended = f"{'ended' if left < 0 else 'ends'} on {end.date()}"
    is_overdue = unmoved is not None and unmoved > length and 0 < left < 1
    is_certain = rest is None and (is_sure or is_overdue or (is_ahead and not _is_short(length)))
    if rest is not None:
        words = f"{ended}, and later rows go to the default partition {rest.name}"
    elif is_sure:
        words = f"{ended}, and since then rows are rejected: nothing takes them"
    elif is_rejecting:
        words = f"{ended}, and nothing takes later rows, unless the program that loads them makes partitions, too"
    else:
        words = f"{ended}, and nothing takes later rows"
        if not is_ahead and not is_overdue:
            words += ", unless the program that writes them creates partitions as it needs them"
    following = next_ranges(measurement.name, cut.partitions, _NEXT, now) if len(cut.key) == 1 else []
    step = "Create partitions ahead of time, preferably by a job that runs long before the last one ends."
    if 0 < len(following) < _NEXT:
        step += " The last ones differ in length, so the next one is a proposal."
    yield _Trouble(
        f"the last partition {words}",
        step,
        fails=replace(_FAILS, days_left=left, is_enforced=is_certain or (None if rest is None else False))
        if is_rejecting or may_end
        else None,
        following=following,
    )


def _may_end(measurement: Measurement, now: datetime, end: datetime, length: timedelta, unmoved: timedelta) -> bool:
    """Whether rows still come, and nothing shows, or makes it likely, that the next partition will be there in time."""
    if not _rows_come(measurement, now):
        return False
    return not _is_short(length) or (end > now and unmoved >= max(length, _A_DAY) and end - now < 2 * length)


def _rows_come(measurement: Measurement, now: datetime) -> bool:
    last = measurement.last_time
    return last is None or now - last <= timedelta(days=_QUIET_DAYS)


def _unmoved(case: Case, measurement: Measurement, end: datetime) -> timedelta | None:
    """For how long audits have seen this end; None if the previous one saw an earlier end, so that somebody makes
    partitions.
    """
    points = case.timeline.of("partitions_end", subject_of(measurement))
    if points and points[-1].value < end.timestamp():
        return None
    same = list(takewhile(lambda point: point.value == end.timestamp(), reversed(points)))
    is_known = same and case.timeline.is_older(case.profile, _A_DAY)
    return case.profile.day - same[-1].day if is_known else timedelta()


def _is_short(length: timedelta) -> bool:
    """Whether partitions are so short that a job, a trigger, or the program that writes must make them."""
    return length <= timedelta(days=_ENDS_DAYS) / 2


def _is_rejecting(measurement: Measurement, cut: Partitioning, now: datetime) -> bool:
    """Whether rows came until the last range ended, and have stayed away for longer than they did just before. Not if
    they stopped long before the end, or if ranges have gaps in between, as of a program that makes one when it needs
    it.
    """
    ranges = [found for part in cut.partitions if (found := range_of(part.bounds)) is not None]
    last = measurement.last_time
    if last is None or not ranges:
        return False
    first, end = max(ranges, key=lambda one: one[1])
    gaps = {to for _, to in ranges if to != end} - {begin for begin, _ in ranges}
    length = end - first if first is not None else timedelta.max
    # A date stands for all of its day.
    quiet = end - last - (timedelta(days=1) if measurement.time_type == "date" else timedelta())
    is_until_end = timedelta() <= quiet <= min(timedelta(days=1), length / 4) and now - end >= quiet
    return is_until_end and now > end and len(gaps) <= max(_GAPS * len(ranges), 1)


def _last_range(cut: Partitioning) -> tuple[datetime | None, datetime] | None:
    ranges = [range_of(p.bounds) for p in cut.partitions if not _is_default(p)]
    known = [one for one in ranges if one is not None]
    # A partition without an end accepts all later rows.
    return max(known, key=lambda one: one[1]) if known and len(known) == len(ranges) else None


def _rest_of(cut: Partitioning) -> Partition | None:
    return next((p for p in cut.partitions if _is_default(p)), None)


def _undivided_key(measurement: Measurement, cut: Partitioning) -> Iterator[_Trouble]:
    """Reports that rows are only deduplicated within their partition; the server does not warn about it."""
    outside = [key for key in cut.key if measurement.tag(key) is None]
    if not outside:
        return
    step = "Divide by columns of the primary key, or make the table append-only if no row is ever written again."
    words = (
        f"partitions are by {listed(outside)}, outside the primary key: two rows with the same key and time "
        "may both stay"
    )
    fails = replace(_FAILS, consequence="Rows that should replace others stay beside them, and both are counted.")
    yield _Trouble(words, step, cut.count, "partitions", fails=fails)


def _by_time(measurement: Measurement, cut: Partitioning) -> bool:
    """Whether time is part of the partition key, as a column or in an expression."""
    time = measurement.time_column
    return time is not None and any(time in (part, part.strip('"')) or f'"{time}"' in part for part in cut.key)


def _is_default(partition: Partition) -> bool:
    return partition.bounds == DEFAULT_PARTITION


def _default(case: Case, measurement: Measurement, cut: Partitioning, by_time: bool) -> Iterator[_Trouble]:
    default = _rest_of(cut)
    if default is None or not default.rows:
        return
    known = sum(p.rows for p in cut.partitions if p.rows is not None)
    share = default.rows / known
    if by_time or share > _MOST:
        words = f"the default partition {default.name} contains {_rows(default.rows)}, {percent(share)} of all"
        following = _missing(case, measurement, cut) if by_time else ()
        last = _last_range(cut) if by_time else None
        if last is not None and last[1] <= case.profile.window.end:
            words += f": since the last partition ended on {last[1].date()}, there is none for later rows"
        step = (
            f"Find out what should create partitions of {measurement.name} ahead of time, and why it stopped."
            if following
            else f"See which times or values the rows of {default.name} have. For each that lacks a partition, in one "
            "transaction: take the rows out, create the partition, and insert them again. The database refuses a "
            "partition for rows that are in the default one."
        )
        before = case.timeline.earlier(measurement) if case.timeline.is_older(case.profile, _A_DAY) else None
        then = _rest_of(before.partitioning) if before and before.partitioning else None
        # Rows that have been there for long, and do not increase, are not a failure of today.
        grows = then is None or then.rows is None or default.rows > then.rows
        fails = replace(_FAILS, consequence="Later rows go there, too, and dropping a period does not remove them.")
        yield _Trouble(
            words, step, default.rows, "rows", fails=fails if by_time and grows else None, following=following
        )


def _missing(case: Case, measurement: Measurement, cut: Partitioning) -> Sequence[Partition]:
    """The partitions that rows of now, and later ones, need, if the last one has ended."""
    found, now = _last_range(cut), case.profile.window.end
    has_ended = found is not None and found[1] <= now
    return next_ranges(measurement.name, cut.partitions, _NEXT, now) if has_ended and len(cut.key) == 1 else ()


def _skew(case: Case, measurement: Measurement, cut: Partitioning) -> Iterator[_Trouble]:
    parts = [p for p in cut.partitions if not _is_default(p) and not p.bounds.startswith("FOR VALUES IN")]
    weighed = [(p.bytes, p) for p in parts if p.bytes is not None], [(p.rows, p) for p in parts if p.rows is not None]
    for sizes, words in zip(weighed, (size, _rows), strict=True):
        if len(sizes) < 2:
            continue
        (most, largest), *others = sorted(sizes, key=lambda pair: -pair[0])
        usual = median(weight for weight, _ in others)
        ratio = most / max(usual, 1)
        is_chance = largest.rows is not None and largest.rows < ENOUGH
        if is_chance or ratio <= case.limit("max_skew", measurement).value:
            return
        if (empty := [part for _, part in others if _is_empty(part)]) and 2 * len(empty) >= len(others):
            yield _beside_empty(case, measurement, cut, sizes, empty)
        else:
            step = f"Divide by a column with many values of about the same weight instead of {listed(cut.key)}."
            unit = "times the median of the others"
            part = f"{number(rounded(ratio))} {unit}" if usual else f"{percent(most / sum(w for w, _ in sizes))} of all"
            yield _Trouble(f"partition {largest.name} has {words(most)}, {part}", step, ratio if usual else None, unit)
        return


def _is_empty(part: Partition) -> bool:
    """Rows count if they are known: new ones may be in memory, and an index without rows takes bytes."""
    return part.bytes == 0 if part.rows is None else part.rows == 0


def _beside_empty(
    case: Case,
    measurement: Measurement,
    cut: Partitioning,
    sizes: Sequence[tuple[float, Partition]],
    empty: Sequence[Partition],
) -> _Trouble:
    """`sizes`: weight and partition of all. What is divided to be on several machines, and is too large for one, is all
    written and read by one.
    """
    most, largest = max(sizes, key=lambda pair: pair[0])
    others = len(sizes) - 1
    words = f"partition {largest.name} has {percent(most / sum(weight for weight, _ in sizes))} of the data, and "
    words += f"{number(len(empty))} of the other {number(others)} are empty"
    if len(empty) == others:
        words = f"all rows are in partition {largest.name}, and the other {many(others, 'partition')} "
        words += "is empty" if others == 1 else "are empty"
    is_hot = len(empty) == others and (largest.bytes or 0) >= _ONE_MACHINE
    is_divided = case.engine.divides_by_time and not case.engine.has_given_columns(measurement)
    column = "a column with many values of about the same weight"
    return _Trouble(
        words,
        f"Divide by {column} instead of {listed(cut.key)}."
        if any(part.bounds.startswith("FOR VALUES WITH") for part in cut.partitions)
        else f"Set bounds between the values that {listed(cut.key)} has, or divide by {column}.",
        len(empty),
        "empty partitions",
        fails=replace(_FAILS, consequence="One machine takes all writes.") if is_hot and is_divided else None,
    )


def _rows(count: float) -> str:
    """In words, as the estimate that the server's statistics are."""
    return f"about {many(rounded(count), 'row')}"


def _finding(case: Case, measurement: Measurement, cut: Partitioning, troubles: list[_Trouble]) -> Finding:
    failing = [t for t in troubles if t.fails]
    worst = min(failing or troubles, key=_days_left)
    words = "; ".join(t.words for t in troubles)
    # Where the last partition ends, the size of another one is beside the point.
    is_about_size = any(_days_left(t) == inf for t in troubles)
    largest = cut.partitions[0] if cut.partitions and is_about_size else None
    return Finding(
        subject=subject_of(measurement),
        impact=worst.fails,
        basis=Basis.DECLARED,
        message=f"{words[0].upper()}{words[1:]}.",
        changes=(
            *((DropPartitions(subject_of(measurement)),) if any(t.merges for t in troubles) else ()),
            *(_adding(measurement, t.following) for t in [t for t in troubles if t.following][:1]),
        ),
        fix=" ".join(dict.fromkeys(t.step for t in troubles)),
        observed=None if worst.observed is None else rounded(worst.observed),
        unit=worst.unit,
        source=Source(query_name(case.profile.engine, "partitions"), How.ESTIMATE, case.profile.collected_at)
        if worst.unit == "rows"
        else None,
        evidence=(
            Evidence("partitions", f"{number(cut.count)}, by {listed(cut.key)}"),
            *([Evidence("largest", _described(largest))] if largest else []),
        ),
        facts=("partitions", "options"),
    )


def _adding(measurement: Measurement, partitions: Sequence[Partition]) -> AddPartitions:
    named = tuple((one.name, one.bounds) for one in partitions)
    return AddPartitions(subject_of(measurement), named, partitions[0].schema)


def _days_left(trouble: _Trouble) -> float:
    left = trouble.fails.days_left if trouble.fails else None
    return inf if left is None else left


def _described(partition: Partition) -> str:
    rows = [_rows(partition.rows)] if partition.rows is not None else []
    # Of PostgreSQL, without its indexes.
    kept = [f"{size(partition.bytes)} of data"] if partition.bytes is not None else []
    return ", ".join([f"{partition.name} {partition.bounds}".strip(), *rows, *kept])
