"""CAR007."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tsaudit import costs
from tsaudit.model.finding import Evidence, Finding, Forecast
from tsaudit.model.impact import Currency
from tsaudit.model.profile import Measurement, MeasureNames
from tsaudit.model.timeline import Point
from tsaudit.rule import Case, Reach, Threshold, rule, subject_of
from tsaudit.text import listed, many, number, percent
from tsaudit.text.forecasts import limit_reached

_NEAR: Final = 0.5
_AHEAD_DAYS: Final = 365
"""From where on the limit is worth a line."""
_FIX: Final = (
    "Use measure names for the few kinds of records there are. Write what varies as dimensions, or as measures of one "
    "multi-measure record. A name goes only with its last record: write to a new table, and let {measurement} expire."
)


@rule(
    code="CAR007",
    title="A table is near the limit of measure names",
    costs={Currency.LIMIT},
    guidelines=("G1",),
    follows_from={"NAM006": Reach.SUBJECT},
    requires={"measure_names"},
    uses={"measure_name_counts"},
    thresholds=(
        Threshold(
            "max_names",
            8192,
            "measure names",
            "https://docs.aws.amazon.com/timestream/latest/developerguide/ts-limits.html",
        ),
    ),
)
def too_many_measure_names(case: Case) -> Iterator[Finding]:
    """Tables with more than half of `max_names` measure names, or that will reach it within a year.

    How bad that is follows from the share that is used and from the days that are left, at the rate at which the number
    has grown so far: the service rejects what goes beyond.

    The finding shows how the rows are distributed over the names. If a few names have nearly all rows, the others are
    probably an accident.

    ## Why it matters

    At the limit, every record with a new measure name is rejected. A name is only released when its last record reaches
    the end of its retention.

    ## Example

    A device ID as measure name: after 8,192 devices, the next one cannot be written.

    ## Fix

    Use measure names for kinds of records (`metrics`, `events`) or, for single-value records, for the measured
    quantity.

    ## References

    - Quotas: https://docs.aws.amazon.com/timestream/latest/developerguide/ts-limits.html
    - Measure names: https://docs.aws.amazon.com/timestream/latest/developerguide/data-modeling.html
    """
    for measurement in case.measurements:
        found = measurement.measure_names
        if found is None:
            continue
        limit, forecast = case.limit("max_names", measurement), _forecast(case, measurement, found)
        days = forecast.days if forecast else None
        soon = days is not None and days <= _AHEAD_DAYS
        if soon or found.count.value > limit.value * _NEAR:
            yield _finding(case, measurement, found, forecast)


def _forecast(case: Case, measurement: Measurement, found: MeasureNames) -> Forecast | None:
    """When the limit will be reached; None if the names do not grow, or without a history that shows it."""
    from tsaudit.analysis.growth import detection as growth

    points = (
        *case.usual("measure_names", subject_of(measurement)),
        Point(case.profile.day, float(found.count.value)),
    )
    if len(points) < 2:
        return None
    limit = case.limit("max_names", measurement)
    return growth.forecast([p.day for p in points], [p.value for p in points], limit.value, unit=limit.unit)


def _finding(case: Case, measurement: Measurement, found: MeasureNames, forecast: Forecast | None) -> Finding:
    limit, count = case.limit("max_names", measurement), found.count.value
    share = count / limit.value
    when = f"; {limit_reached(forecast)}" if forecast is not None and forecast.days else ""
    return Finding(
        subject=subject_of(measurement),
        impact=costs.toward_limit(
            count,
            limit.value,
            limit.unit,
            per_day=forecast.growth_per_day * count if forecast else 0.0,
            days_left=forecast.days if forecast else None,
            how=f"counted with SHOW MEASURES; {limit.source}",
        ),
        message=f"{many(count, 'measure name')}, {percent(share)} of the table's maximum of "
        f"{number(limit.value)}{when}.",
        fix=_FIX.format(measurement=measurement.name),
        observed=count,
        limit=limit,
        unit="measure names",
        samples=tuple(name.name for name in found.names[:3]),
        evidence=(
            Evidence("such as", listed([name.name for name in found.names], 6)),
            *_distribution(measurement, found),
        ),
        facts=("measure_names", "measure_name_counts"),
        source=found.count.source,
        forecast=forecast,
    )


def _distribution(measurement: Measurement, found: MeasureNames) -> Iterator[Evidence]:
    """How the rows within the window are distributed over the names; empty if they were not counted."""
    rows = measurement.rows.value if measurement.rows else 0
    counts = [name.rows for name in found.names if name.rows]
    if not rows or not counts:
        return
    largest = found.names[0]
    yield Evidence("name with most rows", f"{largest.name}: {percent(counts[0] / rows)} of {many(rows, 'row')}")
    yield Evidence("ten names with most rows", f"{percent(sum(counts[:10]) / rows)} of the rows")
    if idle := sum(name.rows == 0 for name in found.names):
        yield Evidence("names without a row in the window", number(idle))
