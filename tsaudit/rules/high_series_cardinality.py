"""CAR001."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tsaudit.finding import Evidence, Finding, Limit, Severity, Subject
from tsaudit.phrases import number, percent
from tsaudit.profile import Count, Measurement
from tsaudit.rule import Case, Threshold, rule, subject_of
from tsaudit.series_estimate import MAX_SERIES, guilty_tag, share_of
from tsaudit.statements import copy_without_tags


@rule(
    code="CAR001",
    title="Too many series for the limit",
    severity=Severity.CRITICAL,
    guidelines=("A1",),
    engines={"duckdb", "sqlite", "influxdb1"},
    requires={"series_listing"},
    uses={"database_series"},
    thresholds=(
        MAX_SERIES,
        Threshold("warn_ratio", 0.8, "share of the limit", "house judgement: leaves time to act before writes fail"),
    ),
    fixes={
        "influxql": (
            "Take tag {tag} out of {measurement}: write it as a field. What is stored can be converted day by day "
            "(points "
            "that then share tags and time overwrite each other): {copy}. When all of it is copied and checked: "
            "DROP MEASUREMENT {measurement:q}. Or shorten the retention: idle series go with their shards."
        ),
        "sql": (
            "Keep {tag} as a plain column of {measurement}, outside its key and its indexes, or store it in coarser "
            "values. Rebuild without it: CREATE TABLE {new:q} AS SELECT {keep_columns} FROM {measurement:q};"
        ),
    },
)
def high_series_cardinality(case: Case) -> Iterator[Finding]:
    """Databases and measurements whose series come near `max_series` or exceed it.

    A series is one set of tag values of one measurement. Each measurement is compared, then each database, then the
    whole target; a wider finding is left out where a narrower one already says as much.

    ## Why it matters

    A time-series engine keeps an index entry for every series, whether it is written to or not. Beyond the limit new
    series are refused (InfluxDB 1.x answers writes with an error, accounts of InfluxDB Cloud are throttled); well
    before it memory grows, start-up slows down and queries that touch all series time out. Over a limit that the
    engine, a plan or the configuration sets the finding is critical; over our own default it is a warning.

    ## Example

    A measurement `requests` with tags `host` (50 values) and `user_id` (100,000 values) holds up to 5,000,000 series.
    Without `user_id` it holds 50.

    ## Fix

    Find the tag that multiplies the series (rule CAR006 shows what each one contributes) and store it as a field, in
    coarser values, or not at all. Where the series are many because the sources are many, raise the limit knowingly:
    `limits: {high-series-cardinality.max_series: 2000000}`.

    ## References

    - InfluxDB 1.x, `max-series-per-database`: https://docs.influxdata.com/influxdb/v1/administration/config/
    - InfluxDB Cloud, limits of an account: https://docs.influxdata.com/influxdb/cloud/account-management/limits/
    - Resolve high cardinality: https://docs.influxdata.com/influxdb/v2/write-data/best-practices/resolve-high-cardinality/
    """
    found: list[Finding] = []
    for measurement in case.measurements:
        if measurement.series is not None:
            limit = case.limit("max_series", measurement)
            found += _judge(case, subject_of(measurement), measurement.series.value, limit, [measurement])
    for database in case.profile.databases:
        inside = [m for m in case.measurements if m.database == database.name]
        total = _total(database.series, inside)
        if total is not None:
            wider = _judge(case, Subject(database.name), total, case.limit("max_series"), inside)
            found += [f for f in wider if not _already_said(f, found)]
    if case.profile.series is not None:
        wider = _judge(case, Subject(), case.profile.series, case.limit("max_series"), case.measurements)
        found += [f for f in wider if not _already_said(f, found)]
    yield from found


def _total(own: Count | None, inside: Sequence[Measurement]) -> int | None:
    if own is not None:
        return own.value
    counts = [m.series.value for m in inside if m.series is not None]
    return sum(counts) if len(counts) == len(inside) else None


def _already_said(wider: Finding, found: Sequence[Finding]) -> bool:
    return any(
        f.severity.rank >= wider.severity.rank and wider.subject.database in ("", f.subject.database) for f in found
    )


def _judge(case: Case, subject: Subject, series: int, limit: Limit, inside: Sequence[Measurement]) -> Iterator[Finding]:
    warn_at = limit.value * case.limit("warn_ratio").value
    if series < warn_at or not series:
        return
    over = series > limit.value
    known = sorted((m for m in inside if m.series is not None), key=lambda m: -(m.series.value if m.series else 0))
    largest = known[0] if known else None
    guilty = guilty_tag(largest) if largest else None
    share = share_of(guilty, largest.tag_sets) if guilty and largest and largest.tag_sets else None
    yield Finding(
        subject=subject,
        severity=Severity.CRITICAL if over and limit.origin != "default" else Severity.WARN,
        message=_message(series, limit, f"tag {guilty.tag} of {largest.name}" if guilty and largest else ""),
        fix=_fix(case, largest, guilty.tag if guilty else None),
        observed=series,
        limit=limit,
        unit="series",
        guilty=guilty.tag if guilty else None,
        share=share,
        evidence=tuple(
            Evidence(f"series in {m.name}", f"{number(m.series.value)} ({percent(m.series.value / series)})")
            for m in known[:5]
            if m.series is not None
        ),
        facts=("series_listing", "database_series"),
        source=largest.series.source if largest and largest.series else None,
    )


def _message(series: int, limit: Limit, guilty: str) -> str:
    share = f"{percent(series / limit.value)} of" if limit.value else "above"
    blame = f"; {guilty} makes most of them" if guilty else ""
    return f"{number(series)} series, {share} the limit of {number(limit.value)}{blame}."


def _fix(case: Case, measurement: Measurement | None, tag: str | None) -> str:
    if measurement is None or tag is None:
        return "Find the measurement that grew and the tag that multiplies its series; rule CAR006 shows contributions."
    return case.fix(
        tag=tag,
        measurement=measurement.name,
        new=f"{measurement.name}_new",
        copy=copy_without_tags(case, measurement, {tag}),
        keep_columns=case.quoted(c for c in measurement.columns if c != tag),
    )
