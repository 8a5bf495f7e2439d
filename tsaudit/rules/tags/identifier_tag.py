"""TAG002."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tsaudit import costs
from tsaudit.analysis.cardinality.contributions import made_fields, share_of_tag
from tsaudit.analysis.columns.types import is_integer, is_text
from tsaudit.model.finding import Evidence, Finding, Limit
from tsaudit.model.impact import Currency, Impact
from tsaudit.model.profile import SERIES_KINDS, How, Measurement, Tag, Turnover
from tsaudit.rule import Case, Reach, Threshold, rule, subject_of
from tsaudit.rules.ended_values import ended_on, ended_words, gained_per_day
from tsaudit.rules.series_estimate import MAX_VALUES, series_evidence, values_limit
from tsaudit.text import count, listed, many, number, over_time, percent, values_of


@rule(
    code="TAG002",
    title="A tag contains an unbounded number of IDs",
    costs={Currency.SERIES, Currency.LIMIT, Currency.MONEY},
    guidelines=("A6", "E4", "G5"),
    follows_from=dict.fromkeys(("TAG001", "TAG006", "TAG008", "SRV001"), Reach.SUBJECT),
    requires={"tag_values"},
    uses={"row_count", "null_counts", "server_status"},
    kinds=SERIES_KINDS,
    thresholds=(
        Threshold("max_ids", 1_000, "values shaped like IDs", "our default: more devices than most teams operate"),
        Threshold(
            "endless_values",
            1_000,
            "values",
            "our default: a date as a tag is also new every day, and stays below this for years",
        ),
        Threshold("endless_days", 7, "days with a listing", "our default: a week includes every weekday"),
        Threshold(
            "max_values_per_row", 0.1, "values per row", "our default: a lasting source writes at least ten rows"
        ),
        Threshold("min_values", 500, "values", "our default: below this, the ratio to rows is random and harmless"),
        Threshold(
            "max_short_lived",
            200,
            "values",
            "our default: more than the versions, releases and campaigns that follow each other in a month",
        ),
        Threshold(
            "min_recurring",
            0.2,
            "share of the values",
            "our default: half of the sources that report twice at random do so in both halves of the time read",
        ),
        Threshold("min_coming", 20, "values", "our default: fewer cost nothing, whatever becomes of them"),
        MAX_VALUES,
    ),
)
def identifier_tag(case: Case) -> Iterator[Finding]:
    """Tags that contain IDs of events, orders, requests, traces, or users: values that are used once or a few times.

    A tag is reported in any of these cases. First, listings of at least `endless_days` days show that it is unbounded
    and it has more than `endless_values` values. Second, its values are shaped like IDs and there are more than
    `max_ids`, unless the listings show that it is bounded. With less than a week of listings this is provisional, and
    the finding says so. IDs may be part of the values: names of pods, paths with a request ID, numbers of orders.
    Third, there are more than `max_values_per_row` values per row, unless the listings show that the tag is bounded or
    its values are addresses of devices. Fourth, there are more than `max_short_lived` values, and fewer than
    `min_recurring` of them occur in both halves of the time read: each is replaced after a while, whatever it looks
    like. Fifth, new values keep coming for the same sources, which leave the others behind; for that, rows are read of
    whole sources, and a source is what all other tags say. Sixth, it is near the engine's own limit on the values of a
    tag. IDs that are scoped, few, and reused, such as sensor IDs, are not reported. Neither are those of a fleet, which
    may report seldom: values that occur again in both halves of the time read or, if too little was read, tags named
    like a device or its serial number. Listings of a week or more overrule both.

    Three findings are notes. If the listings show no new values for much longer than ever before, whatever wrote them
    has been fixed. Values that report for an hour or more before others take their place, such as pods, are sources:
    the finding says how many come a day, and they count only toward a limit that the server enforces. And where a few
    hours of rows have fewer than two reports of each value, sources look like IDs until the next audit.

    ## Why it matters

    Every ID creates its own series, which is written once and stays in the index. The number of series then grows with
    traffic, not with the number of monitored things. In Timestream, a series costs nothing, but each record is charged
    for the bytes of the ID.

    ## Example

    `order_id=8c1f…` as a tag of `checkout`: 100,000 orders create 100,000 series of one point each.

    ## Fix

    Store the ID as a field, or in a separate log store. Keep tags that group many points: shop, region, kind.

    ## References

    - IDs as tags, InfluxData's guide: https://awesome.influxdata.com/docs/part-2/designing-your-schema/
    - Schema recommendations: https://docs.influxdata.com/influxdb/v1/concepts/schema_and_data_layout/
    """
    together = _together(case)
    for measurement in case.measurements:
        reasons = {}
        for tag in _evaluated(case, measurement):
            here = together[measurement.database, tag.key] if _comes_and_goes(tag) else _summed([tag])
            reasons[tag.key] = _reason(case, measurement, tag, here)
        found = [tag for tag in measurement.tags if reasons.get(tag.key)]
        for tag in found:
            if reason := reasons[tag.key]:
                yield _finding(case, measurement, tag, found, *reason)


def _evaluated(case: Case, measurement: Measurement) -> Iterator[Tag]:
    for tag in measurement.tags:
        # The engine's own rule says more of other types.
        is_own = case.engine.checks_key_types and not (is_text(tag.data_type) or is_integer(tag.data_type))
        if tag.values is not None and not is_own:
            yield tag


@dataclass(frozen=True, slots=True)
class _Together:
    """A tag in all measurements of a database: what one writer adds to each of them."""

    measurements: int
    values: float
    """Distinct ones in all of them, as far as the values read tell which they share."""
    turnover: Turnover | None
    """Of all of them; None if none is known."""


def _together(case: Case) -> dict[tuple[str, str], _Together]:
    """By database and tag key."""
    found: dict[tuple[str, str], list[Tag]] = defaultdict(list)
    for measurement in case.measurements:
        for tag in filter(_comes_and_goes, _evaluated(case, measurement)):
            found[measurement.database, tag.key].append(tag)
    return {at: _summed(tags) for at, tags in found.items()}


def _comes_and_goes(tag: Tag) -> bool:
    """Whether its values may come and go in this measurement, whatever they do in others."""
    return tag.turnover is None or 2 * tag.turnover.again <= tag.turnover.first


def _summed(tags: Sequence[Tag]) -> _Together:
    values, read = sum(tag.values.value for tag in tags if tag.values), sum(len(tag.sample) for tag in tags)
    own = len({value for tag in tags for value in tag.sample}) / read if read and len(tags) > 1 else 1.0
    seen = [tag.turnover for tag in tags if tag.turnover]
    turnover = seen[0] if seen else None
    if turnover and len(seen) > 1:
        first, again, new = (sum(counts) for counts in zip(*((t.first, t.again, t.new) for t in seen), strict=True))
        turnover = replace(turnover, first=first, again=again, new=new)
    return _Together(len(tags), own * values, turnover)


_SPREAD = 2
"""Times the values of one measurement in all of them: fewer are mostly the same."""
_SHORTEST_H = 6
"""Sources that report every few hours are seen twice in this time."""
_TOMORROW = "; whether they occur again will show with the next audit"


def _is_too_early(case: Case, tag: Tag) -> bool:
    """Whether nothing read can show that the values do not come again: fewer than two reports of each in a few hours,
    and neither their shape nor an earlier listing that shows it.
    """
    from tsaudit.analysis.shapes import shapes

    if shapes.classify(tag.sample).kind in shapes.IDENTIFIER_KINDS:
        return False
    read, known = tag.reports, tag.over_time
    if read is None or read.hours >= _SHORTEST_H or read.per_value >= _REPORTS:
        return False
    return not _keeps_coming(case, tag) if known is not None and known.days > 1 else True


_REPORTS = 2
"""A value that is written fewer times is no source."""
_KEEP_COMING = 0.5


def _keeps_coming(case: Case, tag: Tag) -> bool:
    """Whether today has as many new values as the days before, by a second listing at least."""
    known = tag.over_time
    if known is None or known.new_values is None or tag.values is None or ended_on(case, tag):
        return False
    return known.days > 1 and known.new_values >= _KEEP_COMING * tag.values.value / known.days


def _is_written_once(case: Case, tag: Tag) -> bool:
    """Whether its values are written once or twice, and new ones come each day."""
    from tsaudit.analysis.cardinality import fleets

    read = tag.reports
    return read is not None and read.per_value < _REPORTS and not fleets.is_fleet(tag) and _keeps_coming(case, tag)


def _reason(case: Case, measurement: Measurement, tag: Tag, together: _Together) -> tuple[str, float, Limit] | None:
    """Why the tag is reported, with the observed value and the limit; None if it is not reported.

    `together`: the tag in all measurements of the database, which together are as many as it takes.
    """
    from tsaudit.analysis.cardinality import fleets
    from tsaudit.analysis.shapes import kind_descriptions, shapes

    assert tag.values is not None
    values, said = tag.values.value, values_of(tag.values)
    if together.values >= _SPREAD * values:
        values = round(together.values)
        said = f"{number(tag.values.value)} of {number(values)} values in {many(together.measurements, 'measurement')}"
    kind, known = shapes.classify(tag.sample).kind, tag.over_time
    ends = "unknown" if known is None or known.days < case.limit("endless_days", measurement).value else known.kind
    looks = f" shaped like IDs ({kind_descriptions.of_kind(kind)})" if kind in shapes.IDENTIFIER_KINDS else ""
    limit = case.limit("endless_values", measurement)
    if known and ends == "unbounded" and values > limit.value and kind not in shapes.TEXT_KINDS:
        new = number(known.new_per_day or 0)
        pace = f", gains {new} a day and is not leveling off"
        if fleets.is_churn(tag):
            pace = f": {new} a day take the place of others, and each reports for a while"
        return f"{said}{looks}{'' if ended_on(case, tag) else pace}", values, limit
    limit = case.limit("max_ids", measurement)
    fleet = fleets.is_fleet(tag) or ends == "bounded" or (kind == "mac" and ends != "unbounded")
    if values > limit.value and looks and not fleet:
        guess = ", provisional until 7 daily audits" if ends == "unknown" else ""
        return f"{said}{looks}{guess}", values, limit
    limit, rows = case.limit("max_values_per_row", measurement), measurement.rows
    if rows is not None and rows.value and values >= case.limit("min_values", measurement).value and not fleet:
        ratio = tag.values.value / rows.value
        # What is used a few times leaves room for others, up to the last rows read.
        if ratio > limit.value and not fleets.levels_off(tag):
            each = number(round(1 / ratio))
            again = "hardly any is used again" if ratio > 0.5 else f"each in {each} of them on average"
            early = _TOMORROW if _is_too_early(case, tag) else ""
            return f"{said} in {many(rows.value, 'row')}, {again}{early}", ratio, limit
    limit = case.limit("min_values", measurement)
    if values >= limit.value and ends == "unknown" and known and _is_written_once(case, tag):
        new = number(known.new_values or 0)
        return f"{said}{looks}, {new} of them new since the listing before, each written once or twice", values, limit
    limit = case.limit("max_short_lived", measurement)
    if values > limit.value and _is_replaced(case, measurement, tag) and ends != "bounded":
        return (
            f"{said}{looks}, and {_recurring(tag)} of them occur again in the later half of the time read",
            values,
            limit,
        )
    if (
        fleets.keeps_coming(replace(tag, turnover=together.turnover))
        and tag.turnover
        and ends != "bounded"
        and values > case.limit("min_coming", measurement).value
    ):
        return f"{said}{looks}, and {_coming(tag.turnover)}", values, case.limit("min_coming", measurement)
    limit, values = values_limit(case, measurement), tag.values.value
    if limit.value and values >= case.harm.limit_warning * limit.value:
        return f"{values_of(tag.values)}, {percent(values / limit.value)} of the maximum for one tag", values, limit
    return None


def _is_replaced(case: Case, measurement: Measurement, tag: Tag) -> bool:
    """Whether most values are gone before the next ones come."""
    return tag.recurring is not None and tag.recurring < case.limit("min_recurring", measurement).value


def _coming(seen: Turnover) -> str:
    same = f" for the same {listed(seen.by)}" if seen.by else ""
    again = number(seen.again) if seen.again else "none"
    return (
        f"new ones keep coming{same}: in the last third of the rows read, {number(seen.new)} appear for the first time "
        f"and {again} of the {number(seen.first)} in the first third again"
    )


def _recurring(tag: Tag) -> str:
    return f"only {percent(tag.recurring)}" if tag.recurring else "none"


def _impact(case: Case, measurement: Measurement, tag: Tag, found: Sequence[Tag]) -> Impact | None:
    """What the tag costs: a server that limits the values of one tag rejects what goes beyond."""
    assert tag.values is not None
    limit = values_limit(case, measurement)
    avoidable = [one.key for one in found if _is_avoidable(case, one)]
    series = None
    if tag.key in avoidable:
        series = costs.of_series(case, measurement, avoidable) or costs.of_tag(case, measurement, tag)
    if not limit.value:
        return series
    used, per_day = tag.values.value, gained_per_day(case, tag) or 0.0
    days = max(limit.value - used, 0) / per_day if per_day else None
    near = used >= case.harm.limit_warning * limit.value or (days is not None and days <= case.harm.warning_days)
    enforced = costs.is_enforced(case, limit, used)
    toward = costs.toward_limit(used, limit.value, limit.unit, per_day=per_day, days_left=days, is_enforced=enforced)
    return toward if near and enforced is not False else series


def _is_avoidable(case: Case, tag: Tag) -> bool:
    """Whether a writer that does right would not write these values: those of sources are no waste."""
    from tsaudit.analysis.cardinality import fleets

    return not (fleets.is_churn(tag) or _is_too_early(case, tag))


def _finding(
    case: Case, measurement: Measurement, tag: Tag, found: Sequence[Tag], reason: str, observed: float, limit: Limit
) -> Finding:
    """`found`: all tags of the measurement that are reported, which cost something together."""
    assert tag.values is not None
    newest = ended_on(case, tag)
    series = measurement.series.value if measurement.series else 0
    evidence = [Evidence("distinct values", count(tag.values))]
    if series:
        evidence.append(
            Evidence("values per series", f"{number(tag.values.value / series)}, in {number(series)} series")
        )
    # Dividing the values of some rows by the number of all rows would be too low.
    whole = tag.values.source.how is not How.SAMPLED
    if whole and measurement.rows is not None and measurement.rows.value:
        per_row = tag.values.value / measurement.rows.value
        evidence.append(Evidence("values per row", f"{number(per_row)}, in {count(measurement.rows)} rows"))
    if tag.over_time is not None and tag.over_time.kind != "unknown":
        evidence.append(Evidence("values over time", over_time(tag.over_time)))
    return Finding(
        subject=subject_of(measurement, tag.key),
        impact=None if newest else _impact(case, measurement, tag, found),
        message=f"Tag {tag.key} has {reason}." + (f" {ended_words(case, newest)}" if newest else ""),
        fix="Use tags for what many rows share.",
        changes=made_fields(measurement, tag.key),
        observed=observed,
        per_day=gained_per_day(case, tag) if observed == tag.values.value else None,
        limit=limit,
        unit=limit.unit,
        main_contributor=tag.key,
        share=share_of_tag(tag.key, measurement.tag_sets),
        samples=tag.sample[:3],
        evidence=(*evidence, *series_evidence(measurement)),
        facts=("tag_values", "row_count", "null_counts"),
        source=tag.values.source,
    )
