"""LAY002."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tsaudit import costs
from tsaudit.model.change import MakeField
from tsaudit.model.finding import Evidence, Finding
from tsaudit.model.impact import Currency
from tsaudit.model.profile import SERIES_KINDS, Measurement
from tsaudit.rule import Case, Threshold, rule, subject_of
from tsaudit.rules.series_estimate import on_sample
from tsaudit.text import listed, many, number


@rule(
    code="LAY002",
    title="A measurement has too many tags",
    costs={Currency.LIMIT},
    guidelines=("D2", "E3"),
    requires={"tag_keys"},
    uses={"series_listing", "tag_values", "options", "indexes"},
    kinds=SERIES_KINDS,
    thresholds=(
        Threshold(
            "max_tags",
            15,
            "tags",
            "our default: twice what common collectors such as Telegraf write",
            {
                "greptimedb": (
                    5,
                    "https://docs.greptime.com/user-guide/deployments-administration/performance-tuning/design-table/",
                ),
            },
        ),
        Threshold(
            "engine_tags",
            0,
            "tags",
            "our default: 0 means that the engine has no limit",
            {"timestream": (128, "https://docs.aws.amazon.com/timestream/latest/developerguide/ts-limits.html")},
        ),
    ),
)
def too_many_tags(case: Case) -> Iterator[Finding]:
    """Measurements with more than `max_tags` tags, or near the engine's limit.

    In SQL engines, tags are the columns that identify the source of a row. In GreptimeDB, they are the columns of the
    primary key; its vendor recommends at most five. Tables of its metric engine are left out, because all their labels
    are in the key. The finding is a note, because the length of a key costs little by itself. On Timestream, dimensions
    only count against the limit of a table, `engine_tags`, which cannot be raised: there, the finding comes from half
    of it on, and what it costs is the room that is left, at the rate of the last weeks.

    ## Why it matters

    The tags and the time are the key of every row. Each additional tag lengthens the key, slows down sorting and
    compaction, and multiplies the series if its values are independent of the others.

    ## Example

    A measurement `pods` with 30 labels copied from the orchestrator as tags, of which 3 identify the pods.

    ## Fix

    Keep the tags that queries filter and group by. First remove tags that are determined by another tag, or have a
    single value.

    ## References

    - Too many tags:
      https://docs.influxdata.com/influxdb3/cloud-serverless/write-data/best-practices/schema-design/#avoid-too-many-tags
    - Tags versus fields: https://docs.influxdata.com/influxdb/v1/concepts/schema_and_data_layout/
    - The primary key of GreptimeDB:
      https://docs.greptime.com/user-guide/deployments-administration/performance-tuning/design-table/
    """
    for measurement in case.measurements:
        tags, hard = [t.key for t in measurement.tags], case.limit("engine_tags", measurement)
        limit = hard if hard.value else case.limit("max_tags", measurement)
        many_enough = len(tags) >= _NOTED * hard.value if hard.value else len(tags) > limit.value
        if not many_enough or case.engine.has_labels_as_key(measurement):
            continue
        keep = _enough(measurement)
        drop = [key for key in tags if key not in keep]
        enough = f"; {listed(keep, 4)} alone identif{'y' if len(keep) > 1 else 'ies'} its series"
        sampled = on_sample(measurement.tag_sets) if measurement.tag_sets else ""
        yield Finding(
            subject=subject_of(measurement),
            impact=costs.of_hard_limit(len(tags), limit, per_day=_rate(case, measurement)) if hard.value else None,
            message=f"{many(len(tags), case.engine.words.tag)}, "
            + (f"of {number(limit.value)} that a table can have" if hard.value else f"more than {number(limit.value)}")
            + (f"{enough}{sampled}." if drop else "."),
            fix=_advice(keep, drop),
            changes=tuple(MakeField(subject_of(measurement), tag, tags_kept=keep) for tag in drop),
            observed=len(tags),
            limit=limit,
            unit="tags",
            evidence=(
                Evidence("tags", listed(tags, 30)),
                Evidence("enough to identify all series", listed(keep, 30)),
            ),
            facts=("tag_keys", "series_listing"),
            source=measurement.tag_sets.source if measurement.tag_sets else None,
        )


_NOTED: Final = 0.5
"""Share of the engine's limit from which on it is worth a note."""


def _rate(case: Case, measurement: Measurement) -> float:
    return costs.rate(case, "tags", subject_of(measurement), len(measurement.tags))


def _advice(keep: tuple[str, ...], drop: list[str]) -> str:
    if not drop:
        return "Keep as tags what queries filter and group by, and write the others as fields."
    return f"Keep as tags what queries filter and group by: {listed(keep, 10)} tell all series apart."


def _enough(measurement: Measurement) -> tuple[str, ...]:
    """Tags that are enough to identify all series; all tags if the tag sets were not listed."""
    if measurement.tag_sets is not None and measurement.tag_sets.minimal_key:
        return measurement.tag_sets.minimal_key
    return tuple(t.key for t in measurement.tags)
