"""DOC009."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from tsaudit import costs
from tsaudit.model.change import Diagnose
from tsaudit.model.finding import Evidence, Finding, Forecast
from tsaudit.model.impact import Currency
from tsaudit.model.profile import Database
from tsaudit.model.subject import Subject
from tsaudit.model.timeline import Point
from tsaudit.rule import Case, rule
from tsaudit.text import percent, size
from tsaudit.text.forecasts import limit_reached

if TYPE_CHECKING:
    from tsaudit.analysis.growth.detection import Growth


_FULLISH: Final = 0.7
_AHEAD_DAYS: Final = 365
"""From where on a disk is worth a line."""


@rule(
    code="DOC009",
    title="The disk is filling up",
    costs={Currency.LIMIT},
    guidelines=("H5",),
    requires={"database_storage"},
)
def disk_fills_up(case: Case) -> Iterator[Finding]:
    """File systems of databases that fill up: of which 70% or more are used, or that will be full within a year.

    How bad that is follows from the share that is used and from the days that are left. The forecast is based on the
    daily history of the used space and needs a week of it. The databases of a server usually share a disk: the finding
    is reported once, for the database that grew most.

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
    soon = forecast is not None and forecast.days is not None and forecast.days <= _AHEAD_DAYS
    if soon or used / total >= _FULLISH:
        yield _finding(database, sharing, used, total, forecast, evaluated)


def _grown(case: Case, database: Database) -> float:
    """Bytes by which the database has grown since the history started."""
    points = case.timeline.of("data_bytes", Subject(database.name))
    now = database.storage.data_bytes if database.storage else None
    return float(now or 0) - (points[0].value if points else 0.0)


def _finding(
    database: Database,
    sharing: list[Database],
    used: int,
    total: int,
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
        impact=costs.toward_limit(
            used,
            total,
            "bytes",
            per_day=forecast.growth_per_day * used if forecast else 0.0,
            days_left=forecast.days if forecast else None,
            how="the file system by dbStats, and the history of its used space",
        ),
        message=f"{message}.",
        fix="Then let what grows expire (TTL index), summarize it, or add disk. The space of deleted documents is not "
        "returned to the disk; that of dropped collections is.",
        changes=(Diagnose(Subject(database.name), "sizes"),),
        observed=used / total,
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
