"""TAG010."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tsaudit.engines.timestream import prices
from tsaudit.engines.timestream.tables import KEY
from tsaudit.model.change import LeaveOut
from tsaudit.model.columns import Tag
from tsaudit.model.finding import Currency, Evidence, Finding, Impact
from tsaudit.model.profile import Measurement
from tsaudit.rule import Case, Threshold, rule, subject_of
from tsaudit.text import listed, many, number, percent


@rule(
    code="TAG010",
    title="Dimensions have the same value in all records",
    costs={Currency.MONEY},
    guidelines=("A3",),
    requires={"tag_values"},
    uses={"options", "measure_names", "measure_name_counts", "row_sample"},
    thresholds=(
        Threshold(
            "min_share",
            0.2,
            "share of the bytes of a record",
            "our default: less is no reason to change writers, unless the bill is large",
        ),
    ),
)
def constant_dimension(case: Case) -> Iterator[Finding]:
    """Dimensions with one value in all records within the window, if they take `min_share` of the bytes of a record, or
    cost as much as a warning needs.

    The cost is what the service charges a month for their names and values, at the prices of US East: when they are
    written, in memory, and in the magnetic store. A batch with common attributes is charged less for writing. The
    partition key is left out, because its queries need it.

    ## Why it matters

    Each record contains the names and values of all its dimensions, and is charged by the byte. A value that is the
    same everywhere distinguishes nothing.

    ## Example

    `environment: production`, `account: 123456789012`, and `region: eu-central-1` in each of a billion records: 70 GB.

    ## Fix

    Leave them out, and keep their information in the name of the table or in its tags.

    ## References

    - Metering: https://docs.aws.amazon.com/timestream/latest/developerguide/metering-and-pricing.writes.html
    """
    for measurement in case.measurements:
        key = (measurement.options or {}).get(KEY)
        found = [tag for tag in measurement.tags if _is_constant(tag) and tag.key != key]
        if not found or len(found) == len(measurement.tags):
            continue
        each = sum(map(prices.dimension_bytes, found))
        share = each / prices.record_bytes(measurement)
        impact = prices.of_share(case, measurement, share)
        costs_much = impact is not None and impact.after(case.harm.warning_days) >= case.harm.min_money
        if costs_much or share >= case.limit("min_share", measurement).value:
            yield _finding(case, measurement, found, each, share, impact)


def _is_constant(tag: Tag) -> bool:
    is_one = tag.values is not None and tag.values.value == 1 and not tag.values.is_lower_bound
    return is_one and not (tag.absent and tag.absent.value)


def _finding(
    case: Case, measurement: Measurement, found: Sequence[Tag], each: float, share: float, impact: Impact | None
) -> Finding:
    subject, limit = subject_of(measurement), case.limit("min_share", measurement)
    names = [tag.key for tag in found]
    have = "has" if len(found) == 1 else "have"
    return Finding(
        subject=subject,
        impact=impact,
        message=f"{listed(names, 4)} {have} the same value in all records: {many(round(each), 'byte')} of each, "
        f"{percent(share)} of what it takes.",
        fix="The name of the table, or its tags, can say the same. Keep those that will soon have other values.",
        changes=tuple(LeaveOut(subject, name) for name in names),
        observed=share,
        limit=limit,
        unit=limit.unit,
        samples=found[0].sample[:1],
        evidence=(
            *(Evidence(tag.key, tag.sample[0] if tag.sample else "-") for tag in found[:8]),
            Evidence("bytes of a record, estimated", number(round(prices.record_bytes(measurement)))),
        ),
        facts=("tag_values",),
        source=found[0].values.source if found[0].values else None,
    )
