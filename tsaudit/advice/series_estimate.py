"""Series of a measurement in worst case and in fact, and which tag they are due to: what several rules need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tsaudit.analysis.cardinality.contributions import share_of
from tsaudit.engines.greptimedb.tables import DESIGN_0_17, ENGINE, has_former_format, is_metric
from tsaudit.model.finding import Evidence, Limit
from tsaudit.model.profile import Contribution, How, Measurement, TagSets
from tsaudit.rule import Case, Threshold, resolve_limit
from tsaudit.text import number, percent

MAX_SERIES: Final = Threshold(
    "max_series",
    1_000_000,
    "series",
    "our default: from here on an index over all series no longer fits small machines; "
    "the same number that InfluxDB chose as its own limit",
    {
        "influxdb1": (
            1_000_000,
            "https://docs.influxdata.com/influxdb/v1/administration/config/#max-series-per-database--1000000",
        ),
        # LiveAnalytics has none. AWS advises to move to InfluxDB 2 with fewer series keys, else to InfluxDB 3.
        "timestream": (
            10_000_000,
            "https://docs.aws.amazon.com/timestream/latest/developerguide/AmazonTimestreamForLiveAnalytics-availability-change.html",
        ),
        "greptimedb primary_key": (100_000, DESIGN_0_17),
        "greptimedb flat": (
            100_000,
            (
                "our default: what the vendor named for files in the former format; for this one it names no "
                "number, and says that many values of the key cost memory and time to insert"
            ),
        ),
    },
)
"""Of high-series-cardinality. Other rules forecast the day on which that rule's limit is reached.

GreptimeDB's are those of a table, by the format of its files; databases and targets have the default.
"""


COUNT_FIELDS: Final = Threshold(
    "count_fields",
    0,
    "1: each field of a tag set is a series of its own; 0: it is not",
    "our default: as InfluxDB OSS and SQL engines see it; InfluxDB Cloud counts fields, "
    "https://docs.influxdata.com/influxdb/cloud/reference/glossary/#series",
)
"""Of high-series-cardinality."""


def series_of(case: Case, measurement: Measurement) -> int | None:
    """Series as the limit counts them; None when the tag sets were not counted."""
    if measurement.series is None:
        return None
    return measurement.series.value * (max(len(measurement.fields), 1) if counts_fields(case) else 1)


def series_error(case: Case, measurement: Measurement) -> float:
    """Standard error of `series_of`; 0 where the series were counted one by one."""
    if measurement.series is None:
        return 0.0
    error = measurement.series.standard_error or 0.0
    return error * (max(len(measurement.fields), 1) if counts_fields(case) else 1)


def counts_fields(case: Case) -> bool:
    """Whether each field makes a series of its own."""
    engine, policy = case.profile.engine, case.policy
    return bool(resolve_limit("high-series-cardinality", COUNT_FIELDS, engine, policy).value)


def series_limit(case: Case, measurement: Measurement | None = None) -> Limit:
    """The limit of high-series-cardinality on the measurement, or on databases and targets."""
    name = measurement.name if measurement else None
    edition = _format(case, measurement) if measurement else case.profile.edition
    return resolve_limit("high-series-cardinality", MAX_SERIES, case.profile.engine, case.policy, name, edition)


def _format(case: Case, measurement: Measurement) -> str:
    """The format of a GreptimeDB table's files; empty where its number of series is bounded by nothing in it."""
    if case.profile.engine != ENGINE or is_metric(measurement):
        return case.profile.edition
    return "primary_key" if has_former_format(case.profile, measurement) else "flat"


@dataclass(frozen=True, slots=True)
class Estimate:
    """Series of one measurement, counted as tag set x field."""

    worst_case: int
    """As if all tags were independent."""
    independent: int
    """Without the tags that another one determines."""
    actual: int

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        return (
            Evidence("worst case (tag values x fields)", number(self.worst_case)),
            Evidence("without dependent tags", number(self.independent)),
            Evidence("actual (tag sets x fields)", number(self.actual)),
        )


def estimate(measurement: Measurement) -> Estimate | None:
    """None when the tag sets were not listed."""
    sets, fields = measurement.tag_sets, max(len(measurement.fields), 1)
    if sets is None:
        return None
    return Estimate(sets.worst_case * fields, sets.independent_bound * fields, sets.series * fields)


def on_sample(sets: TagSets) -> str:
    """`, on a sample of 1,000 series`; empty where all were looked at."""
    if sets.source.how is How.SAMPLED:
        return ", in the part of the rows that was listed"
    return f", on a sample of {number(sets.sampled)} series" if sets.sampled is not None else ""


def left_in_words(contribution: Contribution) -> str:
    """`50`; where only a sample was looked at `50 to 900`, or `at most 50` where that is no interval."""
    if contribution.at_least is None:
        return number(contribution.series_left)
    if contribution.at_least == contribution.series_left:
        return f"at most {number(contribution.series_left)}"
    return f"{number(contribution.at_least)} to {number(contribution.series_left)}"


def contribution_evidence(sets: TagSets) -> tuple[Evidence, ...]:
    """One line per tag: what would be left without it; then buckets, and the greedy order of dropping."""
    at_least = "at least " if sets.sampled is not None else ""
    each = [
        Evidence(
            f"without {_names(c)}",
            f"{left_in_words(c)} series left ({at_least}{percent(share_of(c, sets))} fewer)",
        )
        for c in sets.contributions
    ]
    at_most = "at most " if sets.sampled is not None else ""
    each += [
        Evidence(f"{b.tag} in {number(b.buckets)} buckets", f"{at_most}{number(b.series_left)} series left")
        for b in sets.bucketings
    ]
    if sets.drop_curve:
        curve = [f"{left_in_words(c)} without {_names(c)}" for c in sets.drop_curve]
        each.append(Evidence("dropping one after the other", " → ".join([number(sets.series), *curve])))
    if sets.sampled is not None:
        each.append(Evidence("looked at", f"{number(sets.sampled)} of about {number(sets.series)} series"))
    return tuple(each)


def _names(contribution: Contribution) -> str:
    return " + ".join((contribution.tag, *contribution.together_with))
