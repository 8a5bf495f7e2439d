"""RET001."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from tsaudit.model.change import SetRetention
from tsaudit.model.figures import FOREVER, READ_BY_TIME, Subject
from tsaudit.model.finding import Evidence, Finding
from tsaudit.model.profile import Database, Measurement
from tsaudit.model.storage import Retention
from tsaudit.model.timeline import Point
from tsaudit.rule import Case, rule, subject_of
from tsaudit.rules import downsampling
from tsaudit.text import listed, many, number, size

if TYPE_CHECKING:
    from tsaudit.analysis.growth.detection import Growth

_A_YEAR = 365


@rule(
    code="RET001",
    title="No retention is set",
    guidelines=("F1",),
    requires={"retention"},
    uses={"storage", "table_retention"},
    shows={"database_series", "early_rows", "row_count", "scheduled_queries"},
    kinds=READ_BY_TIME,
)
def unbounded_retention(case: Case) -> Iterator[Finding]:
    """Databases or tables without a retention period.

    For a database, the default policy counts; on Timestream, the retention of its tables. The finding is a note: to
    keep everything may be meant, and costs something only where the space is known, which growing-storage judges. It
    says whether series or bytes grow. A TimescaleDB hypertable or GreptimeDB table without
    retention is reported as well, and a PostgreSQL table that grows and from which almost nothing was deleted. If it
    does not grow, there is no finding, because PostgreSQL has no retention setting. No duration is proposed for what
    continuous queries read, and for points that are in 1970 by mistake.

    ## Why it matters

    Without retention, disk and index only ever grow, and series that nobody writes anymore stay in the index. A single
    retention for everything is just as wrong: it has to be as long as the most valuable data needs, and the busiest
    data is kept for just as long.

    ## Example

    Raw readings every second and daily sums in one database with the policy `autogen`, which has an infinite duration.

    ## Fix

    Set a duration. Keep data that must last longer, such as the sums of a continuous query, in a separate policy.

    ## References

    - Retention policies:
      https://docs.influxdata.com/influxdb/v1/query_language/manage-database/#retention-policy-management
    - Data retention, TimescaleDB: https://docs.timescale.com/use-timescale/latest/data-retention/
    - TTL, GreptimeDB: https://docs.greptime.com/reference/sql/create/#table-options
    - Downsampling and retention: https://docs.influxdata.com/influxdb/v1/guides/downsample_and_retain/
    """
    for database in case.profile.databases:
        inside = [m for m in case.measurements if m.database == database.name]
        policies = _evaluated(database, inside)
        forever = [policy for policy in policies if policy.duration_s == FOREVER]
        if inside and forever:
            yield _finding(case, database, forever, inside)
    for measurement in case.measurements:
        kept = measurement.retention
        if kept is not None and kept.duration_s == FOREVER:
            yield from _of_table(case, measurement, kept)


def _evaluated(database: Database, inside: Sequence[Measurement]) -> list[Retention]:
    """The policies to evaluate: the database's own or the default one; if there is none, as on Timestream, those of its
    tables.
    """
    if database.policy_of:
        return list(database.retention or ())
    default = [policy for policy in database.retention or () if policy.default]
    names = {m.name for m in inside}
    return default[:1] or [policy for policy in database.retention or () if policy.policy in names]


def _finding(case: Case, database: Database, forever: Sequence[Retention], inside: Sequence[Measurement]) -> Finding:
    subject, series = Subject(database.name), database.own_series or database.series
    figure = "own_series" if database.own_series else "series"
    grown = _grown(case, figure, subject, series.value) if series else None
    policy, names = forever[0], listed([one.policy for one in forever], 5)
    of_database = policy.default or bool(database.policy_of)
    if of_database:
        message = f"{case.engine.words.retention.capitalize()} {names} never deletes data"
    else:
        message = (
            f"{'Tables' if len(forever) > 1 else 'Table'} {names} ha{'ve' if len(forever) > 1 else 's'} no retention"
        )
    if grown and series:
        before, _ = grown
        message += f", while series grew from {number(before.value)} on {before.day} to {number(series.value)}"
    first = _before(case, database, inside)
    kept = [m for m in inside if m.name in {one.policy for one in forever}] if not of_database else []
    rows = sum(m.rows.value for m in kept if m.rows)
    if rows:
        message += (
            f", and {many(rows, 'row')} were written to {'it' if len(forever) == 1 else 'them'} within the window"
        )
    found = Finding(
        subject=subject,
        message=f"{message}.",
        fix=first or "What has to live longer goes to a place of its own.",
        changes=()
        if first
        else (SetRetention(subject, timedelta(days=_A_YEAR - 1), policy.policy),)
        if of_database
        else tuple(SetRetention(subject_of(m), timedelta(days=_A_YEAR)) for m in kept),
        observed=series.value if series else None,
        unit="series" if series else "",
        evidence=(Evidence("measurements", number(len(inside))),),
        facts=("retention", "database_series", "row_count"),
        source=series.source if series else None,
    )
    return _with_growth(found, grown)


def _before(case: Case, database: Database, inside: Sequence[Measurement]) -> str:
    """What has to be done before anybody sets a duration; empty for nothing."""
    misdated = [m.name for m in inside if m.misdated]
    if misdated:
        return (
            f"Set no duration yet: the times of {listed(misdated, 3)} are in 1970 by mistake (mistyped-field), so it "
            "would delete these points, and the server would reject further ones."
        )
    if readers := downsampling.readers(case, database):
        return (
            f"Set no duration before you know what {listed(readers, 3)} still read{'' if readers[1:] else 's'} there: "
            "what is not summed up yet would be deleted with the rest."
        )
    return ""


def _of_table(case: Case, measurement: Measurement, kept: Retention) -> Iterator[Finding]:
    held = measurement.storage.data_bytes if measurement.storage else None
    grown = _grown(case, "data_bytes", subject_of(measurement), float(held)) if held is not None else None
    if grown is None and not kept.policy:
        return
    message = "Rows never expire"
    if grown and held is not None:
        before, _ = grown
        message += f", while data grew from {size(before.value)} on {before.day} to {size(held)}"
    found = Finding(
        subject=subject_of(measurement),
        message=f"{message}.",
        changes=(SetRetention(subject_of(measurement), timedelta(days=_A_YEAR), kept.policy),),
        observed=held,
        unit="bytes" if held is not None else "",
        evidence=(
            Evidence("lifetime", f"{kept.policy} is not set" if kept.policy else "none can be set"),
            *([Evidence("data", size(held))] if held is not None else []),
        ),
        facts=("table_retention", "storage"),
    )
    yield _with_growth(found, grown)


def _with_growth(finding: Finding, grown: tuple[Point, Growth] | None) -> Finding:
    if grown is None:
        return finding
    before, growth = grown
    return replace(finding, baseline=before.value, since=before.day, per_day=growth.added_per_day, jump=growth.jump)


def _grown(case: Case, figure: str, subject: Subject, value: float) -> tuple[Point, Growth] | None:
    """The growth of a figure, after its last point before that began, or after the first point known; None if it does
    not grow.
    """
    points = (*case.usual(figure, subject), Point(case.profile.day, value))
    if len(points) < 2:
        return None
    from tsaudit.analysis.growth import detection

    growth = detection.detect([p.day for p in points], [p.value for p in points])
    return None if growth.doubling_days is None else (growth.points_before(points)[-1], growth)
