"""RET002."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tsaudit.model.finding import Evidence, Finding, Forecast, Limit, Severity
from tsaudit.model.subject import Subject
from tsaudit.model.timeline import Point, stored_bytes, stored_parts
from tsaudit.rule import Case, Threshold, rule
from tsaudit.text import many, number, percent, size
from tsaudit.text.forecasts import limit_reached


@rule(
    code="RET002",
    title="Data and indexes approach the space limit",
    severity=Severity.WARNING,
    guidelines=("H5",),
    requires={"stored_bytes"},
    not_applicable={
        "mongodb": "disk-fills-up watches the disk itself",
        "influxdb2 Cloud": "the service does not report bytes",
        "influxdb3 Cloud Serverless": "the service does not report bytes",
        "influxdb3 Cloud Dedicated": (
            "according to its documentation its partition tables are slow, so they are not queried"
        ),
    },
    thresholds=(
        Threshold("max_bytes", 0, "bytes", "our default: 0 means no limit; set it to the space available for them"),
        Threshold(
            "min_bytes",
            10_000_000_000,
            "bytes",
            ("our default: smaller databases need no capacity planning without a limit"),
        ),
        Threshold("warning_days", 90, "days to the limit", "our default: a quarter, to decide and to buy"),
        Threshold("critical_days", 14, "days to the limit", "our default: the time it takes to deploy a change"),
    ),
)
def growing_storage(case: Case) -> Iterator[Finding]:
    """When the data and indexes of all databases will reach `max_bytes`, based on the daily history of their size.

    The server does not report how much space there is, so set `max_bytes` to the size of the disk minus everything else
    on it. The finding is a warning within `warning_days` of the limit, and critical within `critical_days` or above it.
    Without the limit, growth is a note from `min_bytes` on. Separating growth from steps and noise takes a week of
    history. For the sizes that each engine reports and what they include, see `docs/engines.md`.

    ## Why it matters

    A full disk stops the server for all tables at once, and freeing space (vacuum, compaction, a copy) needs some space
    itself.

    ## Example

    80 GB today, growing 2% a day, on a disk of 100 GB: eleven days.

    ## Fix

    Set a retention period for the data that grows, or get a larger disk in time.

    ## References

    - Disk full, PostgreSQL: https://www.postgresql.org/docs/current/disk-full.html
    - Region statistics, GreptimeDB: https://docs.greptime.com/reference/sql/information-schema/region-statistics/
    """
    from tsaudit.analysis.growth import detection as growth

    held = stored_bytes(case.profile)
    if held is None:
        return
    limit = case.limit("max_bytes")
    points = (*case.usual("stored_bytes", Subject()), Point(case.profile.day, float(held)))
    days, values = [p.day for p in points], [p.value for p in points]
    evaluated = growth.detect(days, values)
    forecast = growth.forecast(days, values, limit.value, unit=limit.unit) if limit.value else None
    severity = _severity(case, held, evaluated.kind == "growth", limit, forecast)
    if severity is None:
        return
    earlier = [p for p in points if evaluated.onset is not None and p.day < evaluated.onset]
    before = earlier[-1] if earlier else points[0]
    doubling = evaluated.doubling_days if not limit.value else None
    finding = _finding(case, severity, limit, forecast, before, points[-1], doubling)
    yield replace(finding, per_day=held * evaluated.growth_per_day or None)


def _severity(case: Case, held: int, grows: bool, limit: Limit, forecast: Forecast | None) -> Severity | None:
    if not limit.value:
        return Severity.NOTE if grows and held >= case.limit("min_bytes").value else None
    days = 0.0 if held >= limit.value else forecast.days if forecast else None
    if days is None or days > case.limit("warning_days").value:
        return None
    return Severity.CRITICAL if days <= case.limit("critical_days").value else Severity.WARNING


def _finding(
    case: Case,
    severity: Severity,
    limit: Limit,
    forecast: Forecast | None,
    before: Point,
    now: Point,
    doubling: float | None,
) -> Finding:
    message = f"Data and indexes take {size(now.value)}"
    if before.day < now.day:
        message += f", {size(before.value)} on {before.day}"
    if forecast and forecast.days is not None:
        message += f"; {limit_reached(forecast)}"
    elif doubling is not None:
        message += f"; at this rate they double in about {many(max(1, round(doubling)), 'day')}"
    grown = _grown(case, before)
    where = f"Most of the increase is in {grown[0][1]}" if grown else "Find the table that grows"
    return Finding(
        subject=Subject(),
        severity=severity,
        message=f"{message}.",
        fix=f"{where}: give its rows a lifetime, keep coarser values of old ones, or make room in time.",
        observed=now.value,
        limit=limit if limit.value else None,
        unit="bytes",
        baseline=before.value,
        evidence=(
            Evidence("tables", number(len(case.measurements))),
            *(Evidence(f"added in {part}", _added(added, now.value - before.value)) for added, part in grown[:3]),
        ),
        since=before.day if before.day < now.day else None,
        forecast=forecast,
        facts=("stored_bytes",),
    )


def _added(added: float, of_all: float) -> str:
    return size(added) + (f", {percent(min(1.0, added / of_all))} of it" if of_all > 0 else "")


def _grown(case: Case, before: Point) -> Sequence[tuple[float, Subject]]:
    """Bytes by which each database or measurement grew since that day, largest first; without those that did not grow.

    Empty for a target whose bytes are only known as a total.
    """
    found = []
    for part, now in stored_parts(case.profile).items():
        past = sum(
            next((p.value for p in case.timeline.of(name, part) if p.day == before.day), 0.0)
            for name in ("data_bytes", "index_bytes")
        )
        if part != Subject() and now is not None and now > past:
            found.append((now - past, part))
    return sorted(found, key=lambda pair: (-pair[0], pair[1]))
