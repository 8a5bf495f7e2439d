"""SRV003."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from math import inf
from typing import Final

from tsaudit import costs
from tsaudit.analysis.shapes.name_families import NameFamily
from tsaudit.engines.quoting import Qualified
from tsaudit.harm import severity_of
from tsaudit.model.change import Change, MakeField
from tsaudit.model.figures import Subject
from tsaudit.model.finding import SERVER, Currency, Evidence, Finding, Impact, Limit, Severity
from tsaudit.model.profile import Database, Measurement
from tsaudit.model.rows import MeasureNames
from tsaudit.model.server import ServerCounter, TableStatus
from tsaudit.model.storage import Partitioning
from tsaudit.rule import Case, Reach, Threshold, declared_limit, rule, subject_of
from tsaudit.rules.merged_families import merged, tenants
from tsaudit.rules.series_estimate import on_sample
from tsaudit.text import day, listed, many, number, percent, rounded, size
from tsaudit.text.impacts import about_days

_ANOTHER_TABLE: Final = (
    "Copy the rows to a new table, which takes over the name: nothing else gives the numbers of dropped columns back, "
    "VACUUM FULL neither. Store what comes and goes as rows, or in a column of type jsonb, instead of as columns."
)
_PART: Final = 0.1
"""Minimum share of the counted names that families must have to be named as the cause of their number."""
_SIBLINGS: Final = 5
"""Minimum number of members of each of several families: three phases and four wheels are parts of one thing."""
_FEWEST: Final = 3
"""Minimum number of databases with the same contents: fewer may be a coincidence."""
_WASTED: Final = 2
"""From so many IDs per row on, most IDs go to no row. A few are lost with each restart or failed insert."""
_OVERDUE: Final = 2
"""From this many times `autovacuum_freeze_max_age` on, autovacuum evidently does not lower the transaction age as it
should.
"""


@rule(
    code="SRV003",
    title="A limit of the server is near",
    costs={Currency.LIMIT},
    guidelines=("A7", "D1", "D2", "E3", "G1", "H5", "H6"),
    follows_from={"NAM005": Reach.MEASUREMENT, "NAM006": Reach.SUBJECT},
    requires={"measurements"},
    uses={
        *("tag_keys", "field_types", "table_status", "indexes", "index_use"),
        *("measure_names", "partitions", "server_status"),
    },
    shows={"series_listing", "measure_name_counts"},
    thresholds=(
        Threshold("columns", None, "columns", "of a table: time, tags, fields, and those that PostgreSQL has dropped"),
        Threshold("fields", None, "fields", "of a measurement"),
        Threshold("tags", None, "tags", "of a measurement"),
        Threshold("measure_names", None, "measure names", "of a table"),
        Threshold("indexes", None, "indexes", "of a collection or table"),
        Threshold("partitions", None, "partitions", "of a table"),
        Threshold("locks", None, "locks", "of a statement on all partitions of a table and their indexes"),
        Threshold("ids", None, "IDs", "that the sequence of a column can give, and the column's type can store"),
        Threshold("measurements", None, "measurements", "measurements, tables, or collections of a database"),
        Threshold("server_measurements", None, "measurements", "the same of all databases together"),
        Threshold("databases", None, "databases", "of a server or an account"),
        Threshold("transactions", None, "transactions", "since the oldest one that is not frozen"),
        Threshold("open_files", None, "open files", "of the server"),
        Threshold("connections", None, "connections", "of the server"),
    ),
)
def near_limit(case: Case) -> Iterator[Finding]:
    """What a server, or its vendor, allows only so many of, and is used for a good part.

    Each number comes from the owner, from the server itself where it reports one, from the plan, or from the vendor's
    documentation of the product. What is over its documented limit proves that this server was given another one. What
    a vendor only advises is reported beyond that number, as a note.

    A limit is reported when half of it is used, or four fifths of one on databases and their tables. It is reported
    earlier if it is reached soon at the rate of the last weeks or, in the first week, at that of at least three days,
    if they were even and the rest lasts at most twice as long.

    Some limits are counted in a way of their own:

    - Databases are a note as long as they are not made for each tenant, because people decide about them.
    - Transactions are also reported from twice `autovacuum_freeze_max_age` on: by then, autovacuum should have frozen
      them.
    - IDs are those that a sequence gives. Until there is a week of audits, they run out at the rate at which they rise
      in the rows read or, where rows have most of them, at the rate at which rows come. What was given since the
      previous audit, a day before, counts instead if as much again uses up the rest within `critical_days`.
    - IDs also run out for columns that refer to them by a foreign key and have a narrower type, and for other columns
      of integers that rise with the time of the rows and have used up 80% of their type, such as IDs that refer to
      others without a foreign key. Of these, only the time that is left counts.
    - Locks run out at the rate at which partitions are added: in the first week, by the length of their ranges of time.
    - Open files and connections are the fewer of this audit and the one before.

    Series have a rule of their own, CAR001, and so have the size of documents (DOC005) and space (RET002).

    ## Why it matters

    At the limit, the next new column, index, table, or measure name is rejected, and with it the rows that have it, or
    the release of the program that needs it. Where IDs have run out, each new row is rejected. It happens by itself,
    often at night, and nothing gives a sign before.

    ## Example

    A table `machine` with one column per sensor, 1,400 in total, of which each machine has 20. A device ID as measure
    name: after 8,192 devices, the next one cannot be written. An `id serial` of four bytes ends at 2,147,483,647, after
    two years of 34 rows a second.

    ## Fix

    It depends on what is counted; the finding says it. Mostly, data have become a schema: store what varies as rows.

    ## References

    - Limits of PostgreSQL: https://www.postgresql.org/docs/current/limits.html
    - Transaction numbers: https://www.postgresql.org/docs/current/routine-vacuuming.html#VACUUM-FOR-WRAPAROUND
    - Sequences: https://www.postgresql.org/docs/current/sql-createsequence.html
    - The lock table: https://www.postgresql.org/docs/current/runtime-config-locks.html
    - Limits of SQLite: https://www.sqlite.org/limits.html
    - Limits of InfluxDB 3: https://docs.influxdata.com/influxdb3/core/admin/databases/
    - Quotas of Timestream: https://docs.aws.amazon.com/timestream/latest/developerguide/ts-limits.html
    - Limits of MongoDB: https://www.mongodb.com/docs/manual/reference/limits/
    """
    yield from case.once_for_family(lambda m: _found(case, subject_of(m), _of_measurement(case, m), m))
    inside = {d.name: case.profile.names(d.name) for d in case.profile.databases}
    for database, names in inside.items():
        at = Subject(database)
        yield from _found(case, at, [_measurements(case, at, {database: names})])
    yield from _found(case, Subject(), _of_server(case, inside))


@dataclass(frozen=True, slots=True)
class _Advice:
    """What a finding says in addition to the numbers."""

    fix: str
    facts: tuple[str, ...]
    instead: str = ""
    """Replaces `fix` if most of the counted names are one family; empty to use `fix`."""
    inside: str = ""
    """Text that follows the number."""
    after: str = ""
    """Text at the end of the sentence."""
    changes: tuple[Change, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    is_avoidable: bool = True


@dataclass(frozen=True, slots=True)
class _Use:
    """How much of one limit is used."""

    name: str
    count: float
    advice: Callable[[], _Advice]
    grows: tuple[str, Subject, float] | None = None
    """The name of the figure in the history whose rate shows the growth, its subject, and its value today; None if it
    has no history.
    """
    names: Sequence[str] = ()
    """The counted names, most of which may belong to one family."""
    part: float = costs.NOTED
    """Share of the limit from which on it is reported, 0 to 1."""
    per_day: float | None = None
    """Number added per day, for use as long as the history does not show it; None if not known."""
    levels_at: float = inf
    """Up to which number it is known to grow."""
    most: float | None = None
    """The limit for this one, if limits are not the same for all; None if they are."""
    is_used_up: bool = False
    """Whether what is used never becomes free again."""
    before: float | None = None
    """The number at the previous audit, a day ago or longer; None if not known."""
    consequence: str = ""
    """What happens beyond the limit; empty where what is beyond it is rejected."""


@dataclass(frozen=True, slots=True)
class _Near:
    use: _Use
    limit: Limit
    impact: Impact
    advice: _Advice
    grown: tuple[Evidence, ...] = ()

    def rank(self, case: Case) -> tuple[int, float]:
        """Sort key for how bad it is; the worst is last."""
        return severity_of(self.impact, case.harm).rank if self.advice.is_avoidable else -1, self.impact.share or 0.0


def _found(case: Case, at: Subject, uses: Iterable[_Use], measurement: Measurement | None = None) -> Iterator[Finding]:
    """One finding about the subject: for the limit that is nearest, with the others as evidence."""
    near = []
    for use in uses:
        limit = case.limit(use.name, measurement)
        if use.most is not None and use.most < limit.value:
            limit = replace(limit, value=use.most, source="declared in the catalog", origin=SERVER)
        if 0 < limit.value < inf:
            per_day = costs.rate(case, *use.grows) if use.grows else None
            per_day = use.per_day if per_day is None else per_day
            impact = costs.of_limit(case, use.count, limit, per_day=per_day, levels_at=use.levels_at)
            impact = replace(impact, is_used_up=use.is_used_up, consequence=use.consequence)
            impact, pace = _at_last_pace(case, use, limit, impact)
            # A limit that is not enforced is only reported once it is exceeded.
            if use.count > limit.value if impact.is_enforced is False else costs.is_near(case, impact, use.part):
                advice = use.advice()
                advice = replace(advice, after=f"{advice.after}{pace}")
                near.append(_soon(case, _Near(use, limit, impact, advice)))
    if not near:
        return
    first, *others = sorted(near, key=lambda one: one.rank(case), reverse=True)
    use, advice = first.use, first.advice
    families = _families(case, use)
    family, named = families[0] if families else None, sum(len(one.members) for one in families)
    declared = declared_limit(case.profile, first.limit.name, measurement)
    own = declared.fix if declared else ""
    besides = f" or in {many(len(families) - 1, 'other way')} with data in them" if families[1:] else ""
    after = f"; {number(named)} are named {family.template}{besides}" if family else ""
    yield Finding(
        subject=at,
        impact=first.impact if advice.is_avoidable else None,
        message=_message(case, first, f"{after}{advice.after}"),
        fix=advice.instead if 2 * named > use.count and advice.instead else own or advice.fix,
        changes=advice.changes,
        observed=use.count,
        limit=first.limit,
        unit=first.limit.unit,
        main_contributor=family.template if family else None,
        samples=family.members[:3] if family else (),
        evidence=(
            *advice.evidence,
            *first.grown,
            *(Evidence("also", _message(case, one)) for one in others),
            Evidence("limit", f"{number(first.limit.value)} {first.limit.unit}: {first.limit.source}"),
        ),
        facts=advice.facts,
    )


def _at_last_pace(case: Case, use: _Use, limit: Limit, impact: Impact) -> tuple[Impact, str]:
    """With the time left at the pace since the previous audit, and that pace in words, if as much again uses up the
    rest: the mean of weeks hides a load that began yesterday. A load that leaves more may have been the only one, and
    is better than nothing only where no mean is known, and the limit is as near by it.
    """
    previous = case.timeline.previous
    if previous is None or use.before is None or use.count <= use.before:
        return impact, ""
    added, left = use.count - use.before, limit.value - use.count
    days = (case.profile.collected_at - previous.collected_at) / timedelta(days=1)
    soon = costs.of_limit(case, use.count, limit, per_day=added / days).days_left
    is_sooner = soon is not None and (impact.days_left is None or soon < impact.days_left)
    if not is_sooner or not soon:
        return impact, ""
    paced = replace(impact, per_day=added / days, days_left=soon)
    both = {severity_of(impact, case.harm), severity_of(paced, case.harm)}
    is_as_near = impact.per_day is None and both == {Severity.CRITICAL}
    if soon > min(days, case.harm.critical_days) and not is_as_near:
        return impact, ""
    since = f"{number(added)} given since the audit of {day(previous.day)}, {number(left)} left"
    return paced, f"; {since}: {about_days(soon)} at that pace"


_AHEAD: Final = 2
"""Even growth is expected to go on for so many times as long as it was seen."""


def _soon(case: Case, one: _Near) -> _Near:
    """With when the limit is reached, by less than a week of even growth. That makes a finding more severe only if the
    limit is so near that after a week, little time would be left.
    """
    even = costs.even_rate(case, *one.use.grows) if one.use.grows and one.impact.per_day is None else None
    if even is None:
        return one
    per_day, days = even
    soon = costs.of_limit(case, one.use.count, one.limit, per_day=per_day)
    impact = replace(one.impact, per_day=per_day, days_left=soon.days_left)
    is_as_severe = severity_of(impact, case.harm) is severity_of(one.impact, case.harm)
    is_near = soon.days_left is not None and soon.days_left <= _AHEAD * days
    grown = Evidence("grown evenly", f"by {number(rounded(per_day))} a day in the last {many(days, 'day')}")
    return replace(one, impact=impact if is_as_severe or is_near else one.impact, grown=(grown,))


def _families(case: Case, use: _Use) -> list[NameFamily]:
    """The families to name as the cause of the number, largest first: the largest if it has a good part, and those of
    many members that have it together, as where each of many machines has columns of its own.
    """
    found = sorted(case.name_families(use.names), key=lambda one: (-len(one.members), one.template))
    large = [one for one in found if len(one.members) >= _SIBLINGS]
    families = large if len(large) > 1 else found[:1]
    return families if sum(len(one.members) for one in families) >= _PART * use.count else []


def _message(case: Case, one: _Near, after: str = "") -> str:
    words, limit = case.engine.words, one.limit
    own = {"tags": words.tag, "measurements": words.measurement, "databases": words.database}.get(limit.unit)
    counted = many(one.use.count, own) if own else f"{number(one.use.count)} {limit.unit}"
    product = f"{case.profile.engine} {case.profile.edition}".strip()
    share, whose = percent(one.use.count / limit.value), f"{number(limit.value)} that {product} allows"
    if limit.value == one.use.most:
        whose = f"{number(limit.value)} that there are"
    elif limit.origin == SERVER:
        whose = f"{number(limit.value)} that the server allows"
    elif not limit.origin.startswith("engine "):
        whose = f"limit of {number(limit.value)}"
    elif any(declared.name == limit.name and declared.is_enforced is False for declared in case.engine.limits):
        share, whose = "more", f"{number(limit.value)} that the documentation of {product} advises"
    used = f"{share} {'than' if share == 'more' else 'of'} the {whose}"
    return f"{counted}{one.advice.inside}, {used}{after}."


def _of_measurement(case: Case, measurement: Measurement) -> Iterator[_Use]:
    at, tags, fields = subject_of(measurement), len(measurement.tags), len(measurement.fields)
    used = measurement.status.figures.get("columns_used", 0) if measurement.status else 0
    gone, added = max(round(used) - len(measurement.columns), 0), ("fields", at, fields)
    keys = [field.key for field in measurement.fields]
    yield _Use("columns", len(measurement.columns) + gone, lambda: _columns(case, measurement, gone), added, keys)
    yield _Use("fields", fields, lambda: _columns(case, measurement), added, keys)
    if not case.engine.has_labels_as_key(measurement):
        yield _Use("tags", tags, lambda: _tags(case, measurement), ("tags", at, tags))
    if (names := measurement.measure_names) is not None:
        count = names.count.value
        yield _Use(
            "measure_names",
            count,
            lambda: _measure_names(measurement, names),
            ("measure_names", at, count),
            [name.name for name in names.names],
        )
    if (indexes := measurement.indexes) is not None:
        yield _Use("indexes", len(indexes), lambda: _indexes(measurement), names=[index.name for index in indexes])
    if measurement.partitioning is not None:
        partitions, of_each = measurement.partitioning.count, 1 + len(measurement.indexes or ())
        fewer = _fewer_partitions(measurement.partitioning)
        per_day, most = _partitions_a_day(case, measurement, measurement.partitioning)
        yield _Use(
            "partitions",
            partitions,
            lambda: _Advice(fewer, ("partitions",)),
            ("partitions", at, partitions),
            per_day=per_day,
            levels_at=most,
        )
        yield _Use(
            "locks",
            (partitions + 1) * of_each,
            lambda: _locks(partitions, of_each, fewer),
            per_day=None if per_day is None else per_day * of_each,
            levels_at=(most + 1) * of_each,
            consequence="Statements on all partitions fail with `out of shared memory` as soon as several run at once.",
        )
    if measurement.status is not None:
        yield from _of_ids(case, measurement, measurement.status)


def _of_ids(case: Case, measurement: Measurement, status: TableStatus) -> Iterator[_Use]:
    rows_a_day, before = costs.rows_a_day(case, measurement), _ids_before(case, measurement)
    for column, last in status.ids.items():
        grows, part = ("last_id", subject_of(measurement, column), last), costs.NOTED
        if column in status.refers:
            per_day = _rise_of(case, measurement, status.refers[column])
            given = f" given to {status.refers[column]}, to which {column} refers"
            advice = partial(_too_narrow, case, measurement, column, given, "a row that refers to a higher one")
        elif column in status.written_ids:
            per_day = _rise(measurement, column)
            written = f" up to the highest one in {column}"
            advice = partial(_too_narrow, case, measurement, column, written, "a row with a higher one")
            # Numbers that no sequence gives may be anything: only the time that is left counts.
            part = inf
        else:
            rise, are_in_rows = _rise(measurement, column), _are_in_rows(measurement, status, column, last)
            per_day = rows_a_day if rise is None and are_in_rows else rise
            come = (rise, rows_a_day)
            if rise is None and measurement.time_column is None and measurement.rows and not are_in_rows:
                rows = costs.rate(case, "rows", subject_of(measurement), measurement.rows.value)
                come = (costs.rate(case, *grows), rows)
            advice = partial(_ids, case, measurement, status, column, *come)
        yield _Use(
            "ids",
            last,
            advice,
            grows,
            part=part,
            per_day=per_day,
            most=status.id_limits[column],
            is_used_up=True,
            before=before.get(column),
        )


def _ids_before(case: Case, measurement: Measurement) -> Mapping[str, float]:
    """The last IDs at the previous audit; empty if it was made less than a day before, whatever day it is of."""
    before = case.timeline.earlier(measurement) if case.timeline.is_older(case.profile, timedelta(days=1)) else None
    return before.status.ids if before is not None and before.status is not None else {}


def _partitions_a_day(case: Case, measurement: Measurement, cut: Partitioning) -> tuple[float | None, float]:
    """How many partitions are added a day and stay, None if not known, and up to which number.

    By a week of history; before, by the length of their ranges, or how many more there are than at the previous audit.
    Nobody knows then whether old ones will be dropped, so it is not looked further ahead than back.
    """
    from tsaudit.analysis.partition_ranges import added_a_day

    known = costs.rate(case, "partitions", subject_of(measurement), cut.count)
    if known is not None:
        return known, inf
    previous, before = case.timeline.previous, case.timeline.earlier(measurement)
    coming = added_a_day(cut.partitions, case.profile.window.end)
    if coming and previous and before and before.partitioning:
        days = (case.profile.collected_at - previous.collected_at) / timedelta(days=1)
        stay = max(cut.count - before.partitioning.count, 0)
        coming = min(coming, stay / days) if coming * days >= 1 else coming
    return coming, 2.0 * cut.count


def _rise(measurement: Measurement, column: str) -> float | None:
    """By how much the column rises a day, by its rows; None if not known."""
    return next((field.per_day for field in measurement.fields if field.key == column), None)


def _rise_of(case: Case, near: Measurement, column: str) -> float | None:
    """By how much a column of another table of the same schema rises a day. `column`: as in `TableStatus.refers`."""
    inside = (m for m in case.profile.measurements if m.database == near.database)
    return next((_rise(m, column[len(m.name) + 1 :]) for m in inside if column.startswith(f"{m.name}.")), None)


def _are_in_rows(measurement: Measurement, status: TableStatus, column: str, last: float) -> bool:
    """Whether rows, or those deleted since, have most of the IDs given so far, so that rows show how fast IDs are
    given.
    """
    rows = measurement.rows_total or measurement.rows
    if rows is None:
        return False
    sequence, inserted = status.sequences.get(column), status.counters.get("rows_inserted", 0.0)
    return last <= _WASTED * max(rows.value, inserted) * (sequence.step if sequence else 1)


def _ids(
    case: Case,
    measurement: Measurement,
    status: TableStatus,
    column: str,
    per_day: float | None,
    rows_a_day: float | None,
) -> _Advice:
    """`per_day`: IDs given a day; None if neither rows nor history show it. `rows_a_day`: rows that come and stay."""
    types = {field.key: field.types for field in measurement.fields}
    sequence, counters = status.sequences.get(column), status.counters
    given = None if per_day is None or sequence is None or sequence.is_shared else per_day / sequence.step
    inserted, deleted = counters.get("rows_inserted", 0.0), counters.get("rows_deleted", 0.0)
    stays = 1 - deleted / inserted if inserted > deleted else 0.0 if deleted else 1.0
    # Where rows are deleted, and their number stays the same, the two cancel out, and nothing is known.
    is_known = given is not None and rows_a_day is not None and (rows_a_day > 0 or (inserted > 0 and not deleted))
    is_wasted = is_known and (given or 0.0) * stays > _WASTED * (rows_a_day or 0.0)
    at = Qualified(measurement.database, measurement.name)
    return _Advice(
        case.engine.more_ids(at, column, sequence, is_wide=types.get(column) == ("bigint",), is_wasted=is_wasted),
        ("table_status", "row_sample"),
        inside=f" given to {column}",
        after=f"; about {number(rounded(given or 0))} are given a day, for {many(rounded(rows_a_day or 0), 'new row')}"
        if is_wasted
        else "",
    )


def _too_narrow(case: Case, measurement: Measurement, column: str, inside: str, rejected: str) -> _Advice:
    """For a column without a sequence. `inside`: which IDs are counted. `rejected`: the rows that do not fit."""
    at = Qualified(measurement.database, measurement.name)
    return _Advice(
        case.engine.more_ids(at, column, None, is_wide=False, is_wasted=False),
        ("table_status", "row_sample"),
        inside=inside,
        after=f"; {rejected} is rejected",
    )


def _columns(case: Case, measurement: Measurement, gone: int = 0) -> _Advice:
    split = (
        f"Split {measurement.name} by what is written and read together, each part with the time and the same "
        f"{case.engine.words.tag}s. Which fields these are, only those who write and read them know."
    )
    return _Advice(
        _ANOTHER_TABLE if gone > len(measurement.columns) else split,
        ("tag_keys", "field_types", "table_status"),
        f"Write a row for each, with what varies in their names as a {case.engine.words.tag}, not a column.",
        f", {number(gone)} of them dropped" if gone else "",
        evidence=_columns_evidence(measurement),
    )


def _columns_evidence(measurement: Measurement) -> tuple[Evidence, ...]:
    return (
        Evidence("tags", f"{number(len(measurement.tags))}: {listed([tag.key for tag in measurement.tags], 30)}"),
        Evidence("fields", number(len(measurement.fields))),
    )


def _tags(case: Case, measurement: Measurement) -> _Advice:
    """Also names the tags that suffice to identify all series, if the tag sets were listed."""
    sets, at = measurement.tag_sets, subject_of(measurement)
    keep = sets.minimal_key if sets else ()
    drop = [tag.key for tag in measurement.tags if tag.key not in keep] if keep else []
    what = f"Keep as {case.engine.words.tag}s what queries filter and group by"
    if sets is None or not drop:
        facts, evidence = ("tag_keys", "field_types"), _columns_evidence(measurement)
        return _Advice(f"{what}, and write the others as fields.", facts, evidence=evidence)
    return _Advice(
        f"{what}: {listed(keep, 10)} tell all series apart.",
        ("tag_keys", "field_types", "series_listing"),
        after=f"; {listed(keep, 4)} alone identif{'y' if len(keep) > 1 else 'ies'} its series{on_sample(sets)}",
        changes=tuple(MakeField(at, tag, tags_kept=keep) for tag in drop),
        evidence=(*_columns_evidence(measurement), Evidence("enough to identify all series", listed(keep, 30))),
    )


def _measure_names(measurement: Measurement, found: MeasureNames) -> _Advice:
    rows, counts = measurement.rows.value if measurement.rows else 0, [name.rows for name in found.names if name.rows]
    idle, shown = sum(name.rows == 0 for name in found.names), []
    if rows and counts:
        most = f"{found.names[0].name}: {percent(counts[0] / rows)} of {many(rows, 'row')}"
        shown = [
            Evidence("name with most rows", most),
            Evidence("ten names with most rows", f"{percent(sum(counts[:10]) / rows)} of the rows"),
            *([Evidence("names without a row in the window", number(idle))] if idle else []),
        ]
    return _Advice(
        "Use measure names for the few kinds of records there are. Write what varies as dimensions, or as measures of "
        "one multi-measure record. A name goes only with its last record: write to a new table, and let "
        f"{measurement.name} expire.",
        ("measure_names", "measure_name_counts"),
        evidence=(Evidence("such as", listed([name.name for name in found.names], 6)), *shown),
    )


def _indexes(measurement: Measurement) -> _Advice:
    indexes = measurement.indexes or ()
    # If not even the key was used, the counters prove nothing.
    is_read = any(index.scans for index in indexes)
    unused = [index.name for index in indexes if is_read and index.scans == 0 and not index.constraint]
    held = [index.size_bytes for index in indexes if index.size_bytes is not None]
    return _Advice(
        "Drop those that no query uses.",
        ("indexes", "index_use"),
        evidence=(
            *([Evidence("not used since the server's start", listed(unused, 20))] if unused else []),
            *([Evidence("bytes of all", size(sum(held)))] if held else []),
        ),
    )


def _fewer_partitions(cut: Partitioning) -> str:
    if any(part.bounds.startswith("FOR VALUES WITH") for part in cut.partitions):
        return "Divide by fewer remainders of the hash."
    return "Drop old partitions, or merge them, and let new ones span more."


def _locks(partitions: int, of_each: int, fewer: str) -> _Advice:
    return _Advice(
        f"{fewer} Or raise max_locks_per_transaction, which takes a restart.",
        ("server_status", "partitions", "indexes"),
        inside=f" for a statement on all {number(partitions)} partitions",
        after=", which all sessions share",
        evidence=(Evidence("locks for each partition", f"1, and {many(of_each - 1, 'index')}"),),
    )


def _measurements(case: Case, at: Subject, inside: Mapping[str, Sequence[str]]) -> _Use:
    """The measurements of one database, or of all; the advice names the largest family of names, which could be one
    measurement.
    """
    names = [one for found in inside.values() for one in found]

    def advice() -> _Advice:
        each = [(database, family) for database, found in inside.items() for family in case.name_families(found)]
        largest = max(each, key=lambda one: len(one[1].members), default=None)
        changes: tuple[Change, ...] = ()
        if largest and not case.engine.keeps_documents:
            database, family = largest
            changes = (merged(database, family, {m.name: m for m in case.measurements if m.database == database}),)
        by_size = sorted(inside.items(), key=lambda one: (-len(one[1]), one[0])) if len(inside) > 1 else []
        word = case.engine.words.measurement
        alone = "Look for things that should be rows of one measurement, and drop what is no longer written."
        return _Advice(
            "" if changes else alone,
            ("measurements",),
            inside=f" in {many(len(inside), 'database')}" if by_size else "",
            changes=changes,
            evidence=tuple(Evidence(f"in {one}", many(len(found), word)) for one, found in by_size[:10]),
        )

    name, grows = "measurements" if at.database else "server_measurements", ("measurements", at, len(names))
    return _Use(name, len(names), advice, grows, names, case.harm.limit_warning)


def _of_server(case: Case, inside: Mapping[str, Sequence[str]]) -> Iterator[_Use]:
    yield _measurements(case, Subject(), inside)
    databases = case.profile.wholes
    yield _Use("databases", len(databases), lambda: _databases(case, databases), part=case.harm.limit_warning)
    status = case.profile.server
    if status is None:
        return
    if ages := [one for one in status.counters if one.name == "transaction_age"]:
        yield _transactions(ages, status.settings.get("autovacuum_freeze_max_age", inf))
    previous = case.timeline.previous.server if case.timeline.previous else None
    for name, fix in _OPEN.items():
        now = status.counted(name, "")
        before = previous.counted(name, "") if previous else None
        if now is not None:
            # Of a moment: what is open at two audits is no coincidence.
            yield _Use(name, now if before is None else min(now, before), partial(_Advice, fix, ("server_status",)))


_OPEN: Final = {
    "open_files": "Raise the limit of the process, or have the server open less.",
    "connections": "Let programs share a pool of connections, or raise the limit.",
}
"""Resources that the server has open, by the name of the counter, with the fix."""


def _databases(case: Case, databases: Sequence[Database]) -> _Advice:
    alike, word = next(tenants(case.profile, _FEWEST), None), case.engine.words.database
    return _Advice(
        "Keep together what needs no retention and no rights of its own; delete databases that nobody uses.",
        ("databases", "measurements"),
        after=f"; {number(len(alike.databases))} of them, named {alike.template}, contain the same" if alike else "",
        evidence=(Evidence(f"{word}s", listed([one.name for one in databases])),),
        is_avoidable=alike is not None,
    )


def _transactions(ages: Sequence[ServerCounter], freezes_at: float) -> _Use:
    oldest = max(ages, key=lambda one: one.value)
    overdue = oldest.value >= _OVERDUE * freezes_at
    fix = "End what keeps the oldest one."
    evidence = tuple(Evidence(one.database, many(one.value, "transaction")) for one in ages)
    inside = f" since the oldest one in database {oldest.database}"
    return _Use(
        "transactions",
        oldest.value,
        lambda: _Advice(fix, ("server_status",), inside=inside, evidence=evidence),
        # Below that, the age falls again each time autovacuum has processed all tables.
        ("transaction_age", Subject(oldest.database), oldest.value) if overdue else None,
        part=0.0 if overdue else costs.NOTED,
    )
