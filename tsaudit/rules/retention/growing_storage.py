"""RET002."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from tsaudit import costs
from tsaudit.model.finding import Evidence, Finding, Forecast, Limit
from tsaudit.model.impact import Currency, Impact
from tsaudit.model.subject import Subject
from tsaudit.model.timeline import Point, stored_bytes, stored_parts
from tsaudit.rule import Case, Threshold, rule
from tsaudit.text import many, number, percent, size
from tsaudit.text.findings import SET_IN_FILE
from tsaudit.text.forecasts import limit_reached


@rule(
    code="RET002",
    title="Data and indexes approach the space limit",
    costs={Currency.LIMIT},
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
        Threshold(
            "min_bytes",
            10_000_000_000,
            "bytes",
            ("our default: smaller databases need no capacity planning without a limit"),
        ),
    ),
)
def growing_storage(case: Case) -> Iterator[Finding]:
    """When the data and indexes of all databases will reach the space that `harm` declares.

    The server does not report how much space there is, so set `harm: {max_bytes: ...}` to the size of the disk minus
    everything else on it. From half of it on, or if it is reached within the days that `harm` warns of, the cost is the
    room that is left: at the rate of the daily history or, before there is a week of it, at that of the rows, by their
    times. Without a declared space, growth is a note from `min_bytes` on. For the sizes that each engine reports and
    what they include, see `docs/engines.md`.

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
    limit = (
        Limit("harm.max_bytes", case.harm.max_bytes, "bytes", SET_IN_FILE, "target") if case.harm.max_bytes else None
    )
    points = (*case.usual("stored_bytes", Subject()), Point(case.profile.day, float(held)))
    days, values = [p.day for p in points], [p.value for p in points]
    evaluated = growth.detect(days, values)
    forecast = growth.forecast(days, values, limit.value, unit=limit.unit) if limit else None
    is_young = (points[-1].day - points[0].day).days < _SLOPE_DAYS
    per_day = _rate_of_rows(case, held) if is_young else held * evaluated.growth_per_day
    impact = _impact(case, held, limit, forecast, per_day) if limit else None
    if impact is None if limit else (evaluated.kind != "growth" or held < case.limit("min_bytes").value):
        return
    earlier = [p for p in points if evaluated.onset is not None and p.day < evaluated.onset]
    before = earlier[-1] if earlier else points[0]
    doubling = evaluated.doubling_days if not limit else None
    finding = _finding(case, limit, forecast, before, points[-1], doubling)
    yield replace(finding, impact=impact, per_day=per_day or None)


_SLOPE_DAYS: Final = 7
"""Before so many days of history, the times of the rows say how fast the data grow."""
_NOTED: Final = 0.5
"""Share of the space from which on it is worth a note."""


def _impact(case: Case, held: int, limit: Limit, forecast: Forecast | None, per_day: float) -> Impact | None:
    """How near the space is; None if it is neither half full nor soon reached."""
    left = forecast.days if forecast else None
    if left is None and per_day > 0:
        left = max(limit.value - held, 0.0) / per_day
    if held < _NOTED * limit.value and (left is None or left > case.harm.warning_days):
        return None
    how = "bytes of data and indexes, as the engine reports them, and the declared space"
    reached = held >= limit.value
    return costs.toward_limit(held, limit.value, "bytes", per_day=per_day, days_left=0.0 if reached else left, how=how)


def _rate_of_rows(case: Case, held: int) -> float:
    """Bytes a day by the times of the rows; of databases that report only a total, each row has the same share."""
    growth = {Subject(m.database, m.name): costs.rows_growth(case, m) for m in case.measurements}
    known = stored_parts(case.profile)
    if known.keys() <= growth.keys():
        return sum((part_held or 0) * growth[part] for part, part_held in known.items())
    counts = {Subject(m.database, m.name): m.rows_total or m.rows for m in case.measurements}
    rows = {part: count.value for part, count in counts.items() if count}
    added = sum(count * growth[part] for part, count in rows.items())
    return held * added / sum(rows.values()) if any(rows.values()) else 0.0


def _finding(
    case: Case,
    limit: Limit | None,
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
        message=f"{message}.",
        fix=f"{where}: give its rows a lifetime, keep coarser values of old ones, or make room in time.",
        observed=now.value,
        limit=limit,
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
