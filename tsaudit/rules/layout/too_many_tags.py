"""LAY002."""

from __future__ import annotations

from collections.abc import Iterator

from tsaudit.advice.series_estimate import on_sample
from tsaudit.advice.statements import copy_without_tags
from tsaudit.engines.greptimedb.tables import DESIGN, is_metric
from tsaudit.model.finding import Evidence, Finding, Severity
from tsaudit.model.profile import Measurement
from tsaudit.rule import Case, Threshold, rule, subject_of, table_of
from tsaudit.text import listed, number


@rule(
    code="LAY002",
    title="A measurement has too many tags",
    severity=Severity.WARN,
    guidelines=("D2", "E3"),
    requires={"tag_keys"},
    uses={"series_listing", "tag_values", "options", "indexes"},
    thresholds=(
        Threshold(
            "max_tags",
            15,
            "tags",
            "our default: twice what common collectors such as Telegraf write",
            {"greptimedb": (5, DESIGN)},
        ),
    ),
    fixes={
        "greptimedb": (
            "Keep in the key what queries filter by first and most, in that order, and what rows are deduplicated by: "
            "{keep} tell all series apart. The others serve as fields as well: {drop}.\n{copy}"
        ),
        "influxql": (
            "Write the tags that no query filters by as fields, first those that add nothing: {drop}. "
            "Stored data, day by day: {copy}"
        ),
        "influxdb3": (
            "Write the tags that no query filters by as fields, first those that add nothing: {drop}. A column does "
            "not change from tag to field: begin a table {new:q}, and read what has to be kept and write it there."
        ),
        "sql": (
            "Keep in the key only what tells the sources apart: {keep}. Move the rest to a table of sources: "
            "CREATE TABLE {new:q} AS SELECT DISTINCT {all} FROM {measurement:q}; then drop {drop} from {measurement}."
        ),
    },
)
def too_many_tags(case: Case) -> Iterator[Finding]:
    """Measurements with more than `max_tags` tags.

    In SQL engines, tags are the columns that identify the source of a row. In GreptimeDB, they are the columns of the
    primary key; its vendor recommends at most five. Tables of its metric engine are left out, because all their labels
    are in the key.

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
        limit, tags = case.limit("max_tags", measurement), [t.key for t in measurement.tags]
        if len(tags) <= limit.value or is_metric(measurement):
            continue
        keep = _enough(measurement)
        drop = [key for key in tags if key not in keep]
        enough = f"; {listed(keep, 4)} alone identif{'y' if len(keep) > 1 else 'ies'} its series"
        # Copying to a table with the same key would not help.
        unknown = "" if case.profile.engine == "greptimedb" else "once it is known which these are."
        sampled = on_sample(measurement.tag_sets) if measurement.tag_sets else ""
        yield Finding(
            subject=subject_of(measurement),
            severity=Severity.WARN,
            message=f"{number(len(tags))} tags, more than {number(limit.value)}"
            + (f"{enough}{sampled}." if drop else "."),
            fix=case.fix(
                measurement=table_of(measurement),
                new=table_of(measurement, f"{measurement.name}_sources"),
                copy=copy_without_tags(case, measurement, drop) if drop else unknown,
                keep=case.quoted(keep),
                all=case.quoted(tags),
                drop=listed(drop) if drop else "whichever queries do not need",
            ).rstrip(),
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


def _enough(measurement: Measurement) -> tuple[str, ...]:
    """Tags that are enough to identify all series; all tags if the tag sets were not listed."""
    if measurement.tag_sets is not None and measurement.tag_sets.minimal_key:
        return measurement.tag_sets.minimal_key
    return tuple(t.key for t in measurement.tags)
