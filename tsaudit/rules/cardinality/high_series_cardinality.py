"""CAR001."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tsaudit import costs
from tsaudit.model.figures import SERIES_KINDS, Subject
from tsaudit.model.finding import Currency, Evidence, Finding, Impact, Limit
from tsaudit.model.profile import Measurement
from tsaudit.rule import Case, Reach, rule, subject_of
from tsaudit.rules.series_estimate import (
    COUNT_FIELDS,
    MAX_SERIES,
    counts_fields,
    main_tags,
    series_error,
    series_evidence,
    series_limit,
    series_of,
    stopgap,
)
from tsaudit.text import number, percent

_ELSEWHERE = "engine timestream"
"""Origin of the limit that Timestream users would have on InfluxDB 2."""
_UNKNOWN = "Find the measurement that grew and the tag that multiplies its series; the report shows what each tag adds."


@rule(
    code="CAR001",
    title="Too many series for the limit",
    costs={Currency.LIMIT},
    guidelines=("A1", "A2", "A3", "A8", "E1"),
    follows_from={"SRV001": Reach.SUBJECT, "CAR004": Reach.CONTRIBUTOR},
    requires={"series_listing"},
    uses={"database_series", "options", "server_status"},
    kinds=SERIES_KINDS,
    thresholds=(MAX_SERIES, COUNT_FIELDS),
)
def high_series_cardinality(case: Case) -> Iterator[Finding]:
    """Databases and measurements with a series count near or above a limit: of the server, of a plan, or of the owner.

    A series is one combination of tag values of a measurement. With `count_fields: 1`, as in the plans of InfluxDB
    Cloud, it is one combination and one field. Each measurement is compared with the limit, then each database, then
    the whole target. A finding about a whole is left out if a finding about a part is at least as severe.

    ## Why it matters

    A time-series engine keeps an index entry for every series, even if nothing is written to it anymore. Above the
    limit, new series are rejected (InfluxDB 1.x returns an error, InfluxDB Cloud accounts are throttled). Well below
    it, memory grows, startup slows down, and queries over all series time out.

    Where the server, a plan, or the configuration sets the limit, the finding is as severe as the limit is near. A
    limit that this server may not enforce, such as that of InfluxDB 1.x, which holds only for the index in memory, is a
    warning at most. A number that nobody set is a note.

    ## Example

    A measurement `requests` with the tags `host` (50 values) and `user_id` (100,000 values) contains up to 5,000,000
    series. Without `user_id` it contains 50.

    ## Fix

    Find the tag that multiplies the series: the finding and the report show what would be left without each. It is not
    always the one with the most values, since a tag that another one determines adds no series. Store it as a field,
    use coarser values, or drop it. If there are many series because there are many sources, raise the limit
    deliberately: `limits: {high-series-cardinality.max_series: 2000000}`.

    Timestream for LiveAnalytics has no such limit. The number is the maximum for which AWS recommends InfluxDB 2 as a
    replacement, and the finding is a note unless you set your own limit.

    ## References

    - Moving from LiveAnalytics:
      https://docs.aws.amazon.com/timestream/latest/developerguide/AmazonTimestreamForLiveAnalytics-availability-change.html
    - InfluxDB 1.x, `max-series-per-database`: https://docs.influxdata.com/influxdb/v1/administration/config/
    - InfluxDB Cloud, limits of an account: https://docs.influxdata.com/influxdb/cloud/account-management/limits/
    - Resolve high cardinality:
      https://docs.influxdata.com/influxdb/v2/write-data/best-practices/resolve-high-cardinality/
    """
    found: list[Finding] = []
    for scope in _scopes(case):
        finding = _evaluate(case, scope)
        if finding and (scope.subject.measurement or not _already_said(case, finding, found)):
            found.append(finding)
    yield from found


@dataclass(frozen=True, slots=True)
class _Scope:
    """What is compared with the limit: a measurement, a database, or the target."""

    subject: Subject
    series: int | None
    inside: Sequence[Measurement]
    error: float = 0.0
    """Standard error of `series`; 0 if they were counted."""
    is_least: bool = False
    """There may be more: not all were listed."""

    @property
    def margin(self) -> float:
        """How far the true number may reasonably be from the estimate: two standard errors."""
        return 2 * self.error


def _scopes(case: Case) -> Iterator[_Scope]:
    """Measurements first, then databases, then the target."""
    for m in case.measurements:
        yield _Scope(subject_of(m), _counted(case, m), [m], series_error(case, m), _is_least([m]))
    totals, errors, least = [], [], False
    wholes = case.profile.wholes
    # A policy comes before its database.
    for database in sorted(case.profile.databases, key=lambda d: not d.policy_of):
        inside = case.inside(database)
        own = database.series_with_fields if counts_fields(case) else database.series
        several = not own and case.profile.policies_beside(database)
        # Several policies may share a series, so their sum is not the database's total.
        total = own.value if own else None if several else _sum([_counted(case, m) for m in inside])
        error = math.hypot(*(series_error(case, m) for m in inside)) if own is None else own.standard_error or 0.0
        if database in wholes:
            totals.append(total)
            errors.append(error)
            least = least or (own is None and _is_least(inside))
        yield _Scope(Subject(database.name), total, inside, error, own is None and _is_least(inside))
    yield _Scope(Subject(), _sum(totals), case.measurements, math.hypot(*errors), least)


def _is_least(measurements: Sequence[Measurement]) -> bool:
    return any(m.series is not None and m.series.is_lower_bound for m in measurements)


def _counted(case: Case, measurement: Measurement) -> int | None:
    """The measurement's series as the limit counts them: InfluxDB would have the measure name as an additional tag."""
    names = measurement.measure_names
    if names is not None and names.series_keys is not None and _is_of_other_engine(series_limit(case, measurement)):
        return names.series_keys.value
    return series_of(case, measurement)


def _is_of_other_engine(limit: Limit) -> bool:
    """Whether the limit belongs to the engine that users of this one may have to migrate to."""
    return limit.origin == _ELSEWHERE


def _sum(counts: Sequence[int | None]) -> int | None:
    """None if any of them is not known."""
    known = [c for c in counts if c is not None]
    return sum(known) if len(known) == len(counts) else None


def _already_said(case: Case, wider: Finding, found: Sequence[Finding]) -> bool:
    """Whether a finding about a part of the whole is about as bad: as near to the limit, or beyond help."""
    enough = min(_nearness(wider), case.harm.limit_critical)
    return any(
        (_nearness(f) >= enough or _nearness(wider) < case.harm.limit_critical)
        and (f.impact is not None or wider.impact is None)
        and case.profile.is_within(f.subject.database, wider.subject.database)
        for f in found
    )


def _nearness(finding: Finding) -> float:
    """How much of its limit is used."""
    assert finding.observed is not None
    assert finding.limit is not None
    return finding.observed / finding.limit.value if finding.limit.value else math.inf


def _evaluate(case: Case, scope: _Scope) -> Finding | None:
    limit = series_limit(case, scope.inside[0] if scope.subject.measurement else None)
    series = scope.series
    # If the true number may be above the limit, report it: it was not shown to be below.
    if not series or series + scope.margin < limit.value * case.harm.limit_warning:
        return None
    sizes = sorted(((_counted(case, m) or 0, i) for i, m in enumerate(scope.inside)), reverse=True)
    largest = scope.inside[sizes[0][1]] if sizes else None
    cause = main_tags(scope.inside, keeps_rows=case.engine.infers_roles)
    # The limit may count every field of a tag set, so the share is that of the tag sets.
    sets = sum(m.series.value for m in scope.inside if m.series)
    share = min(cause.series / sets, 1.0) if cause and sets else None
    impact = _impact(case, scope, series, limit)
    quick = stopgap(case, limit) if impact and impact.is_enforced is not False else ""
    words = f"; {cause.causes(case.engine.words, share)}" if cause and share is not None else ""
    return Finding(
        subject=scope.subject,
        impact=impact,
        message=f"{_message(case, scope, series, limit)}{words}.",
        fix=" ".join(filter(None, (cause.fix if cause else _UNKNOWN, quick))),
        stopgap=quick,
        changes=cause.changes if cause else (),
        observed=series,
        limit=limit,
        unit="series",
        main_contributor=cause.tags[0] if cause else None,
        together_with=cause.tags[1:] if cause else (),
        share=share,
        evidence=tuple(
            Evidence(f"series in {scope.inside[i].name}", f"{number(size)} ({percent(size / series)})")
            for size, i in sizes[:5]
        )
        + (series_evidence(largest) if largest else ())
        + tuple(_measure_names(largest)),
        facts=("series_listing", "database_series"),
        source=largest.series.source if largest and largest.series else None,
    )


def _impact(case: Case, scope: _Scope, series: int, limit: Limit) -> Impact | None:
    if limit.origin == "default" or _is_of_other_engine(limit):
        return None
    enforced = costs.is_enforced(case, limit, series - scope.margin)
    # An estimate that may be near the limit was not shown to be far from it.
    used = series if series >= case.harm.limit_warning * limit.value else series + scope.margin
    return Impact(
        Currency.LIMIT,
        now=used,
        whole=limit.value,
        per_day=0.0,
        is_enforced=enforced,
        is_owners=costs.is_owners(limit),
        unit=limit.unit,
    )


def _measure_names(measurement: Measurement | None) -> Iterator[Evidence]:
    """The measure names: as values of a tag, each would multiply the series that have it."""
    if measurement is not None and measurement.measure_names is not None:
        names = number(measurement.measure_names.count.value)
        yield Evidence(f"measure names of {measurement.name}, one more tag in InfluxDB", names)


def _message(case: Case, scope: _Scope, series: int, limit: Limit) -> str:
    share = f"{percent(series / limit.value)} of" if limit.value else "above"
    unit = "series (tag sets x fields)" if counts_fields(case) else "series"
    what = "the default" if limit.origin == "default" else "the limit"
    whose = " for which AWS recommends InfluxDB 2 as a replacement" if _is_of_other_engine(limit) else ""
    if not scope.error:
        least = "At least " if scope.is_least else ""
        return f"{least}{number(series)} {unit}, {share} {what} of {number(limit.value)}{whose}"
    open_ = abs(series - limit.value) <= scope.margin
    side = ", too close to tell whether it is exceeded" if open_ else ""
    estimated = f"About {number(series)} {unit} (estimated, ± {number(round(scope.margin))})"
    return f"{estimated}, {share} {what} of {number(limit.value)}{whose}{side}"
