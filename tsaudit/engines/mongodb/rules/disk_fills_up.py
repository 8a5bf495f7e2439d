"""DOC009."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tsaudit.model.change import Diagnose
from tsaudit.model.finding import Evidence, Finding, Forecast, Severity
from tsaudit.model.profile import Database
from tsaudit.model.subject import Subject
from tsaudit.model.timeline import Point
from tsaudit.rule import Case, Threshold, rule
from tsaudit.text import percent, size
from tsaudit.text.forecasts import limit_reached

if TYPE_CHECKING:
    from tsaudit.analysis.growth.detection import Growth


@rule(
    code="DOC009",
    title="The disk is filling up",
    severity=Severity.WARNING,
    guidelines=("H5",),
    requires={"database_storage"},
    thresholds=(
        Threshold("warning_days", 90, "days until the disk is full", "our default: a quarter, to decide and to buy"),
        Threshold(
            "critical_days", 14, "days until the disk is full", "our default: the time it takes to make a change"
        ),
        Threshold("max_used_share", 0.9, "of the disk", "our default: an index build needs free space"),
    ),
)
def disk_fills_up(case: Case) -> Iterator[Finding]:
    """File systems of databases that will be full within `warning_days`, or are more than `max_used_share` full.

    The forecast is based on the daily history of the used space and needs a week of it. The databases of a server
    usually share a disk: the finding is reported once, for the database that grew most.

    ## Why it matters

    A full disk stops the server, and freeing space, for example by compaction, needs some space itself. Without a
    forecast, growth is noticed on that day.

    ## Example

    30 GB of 100 GB are used, and 2 GB are added each day: the disk is full in five weeks.

    ## Fix

    Let data expire if it may, store counts for documents that are only counted, or get a larger disk in time.

    ## References

    - Storage of a database: https://www.mongodb.com/docs/manual/reference/command/dbStats/
    - Storage FAQ: https://www.mongodb.com/docs/manual/faq/storage/
    """
    disks: dict[tuple[int, int], list[Database]] = {}
    for database in case.profile.databases:
        kept = database.storage
        if kept is not None and kept.disk_bytes and kept.disk_used_bytes is not None:
            disks.setdefault((kept.disk_used_bytes, kept.disk_bytes), []).append(database)
    for (used, total), sharing in disks.items():
        yield from _evaluate(case, sharing, used, total)


def _evaluate(case: Case, sharing: list[Database], used: int, total: int) -> Iterator[Finding]:
    from tsaudit.analysis.growth import detection as growth

    database = max(sharing, key=lambda d: (_grown(case, d), d.name))
    points = (*case.timeline.of("disk_used_bytes", Subject(database.name)), Point(case.profile.day, float(used)))
    days, values = [p.day for p in points], [p.value for p in points]
    evaluated = growth.detect(days, values) if len(points) > 1 else None
    grows = evaluated is not None and evaluated.kind == "growth"
    forecast = growth.forecast(days, values, float(total), unit="bytes") if grows else None
    severity = _severity(case, used / total, forecast)
    if severity:
        yield _finding(case, database, sharing, used, total, severity, forecast, evaluated)


def _grown(case: Case, database: Database) -> float:
    """Bytes by which the database has grown since the history started."""
    points = case.timeline.of("data_bytes", Subject(database.name))
    now = database.storage.data_bytes if database.storage else None
    return float(now or 0) - (points[0].value if points else 0.0)


def _severity(case: Case, share: float, forecast: Forecast | None) -> Severity | None:
    days = forecast.days if forecast else None
    if days is not None and days <= case.limit("critical_days").value:
        return Severity.CRITICAL
    near = days is not None and days <= case.limit("warning_days").value
    return Severity.WARNING if near or share >= case.limit("max_used_share").value else None


def _finding(
    case: Case,
    database: Database,
    sharing: list[Database],
    used: int,
    total: int,
    severity: Severity,
    forecast: Forecast | None,
    evaluated: Growth | None,
) -> Finding:
    message = f"{percent(used / total)} of the disk's {size(total)} are used"
    if forecast and forecast.days is not None:
        message += f"; {limit_reached(forecast)}"
    kept = database.storage
    assert kept is not None
    return Finding(
        subject=Subject(database.name),
        severity=severity,
        message=f"{message}.",
        fix="Then let what grows expire (TTL index), summarize it, or add disk. The space of deleted documents is not "
        "returned to the disk; that of dropped collections is.",
        changes=(Diagnose(Subject(database.name), "sizes"),),
        observed=used / total,
        limit=case.limit("max_used_share"),
        unit="of the disk",
        evidence=(
            Evidence("used", f"{size(used)} of {size(total)}"),
            Evidence(
                f"documents and indexes of {database.name}",
                f"{size(kept.data_bytes or 0)} and {size(kept.index_bytes or 0)}",
            ),
            Evidence("databases on it", ", ".join(sorted(d.name for d in sharing)[:20])),
        ),
        since=evaluated.onset if evaluated else None,
        forecast=forecast,
        facts=("database_storage",),
    )
