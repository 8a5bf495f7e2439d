"""LAY001."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tsaudit import costs
from tsaudit.model.change import MakeField
from tsaudit.model.finding import Evidence, Finding, Limit
from tsaudit.model.impact import Currency
from tsaudit.model.profile import SERIES_KINDS, Measurement
from tsaudit.rule import Case, Reach, Threshold, rule, subject_of
from tsaudit.rules.series_estimate import on_sample
from tsaudit.text import listed, many, number, percent

_INFLUXDB3: Final = "https://docs.influxdata.com/influxdb3"
_TIMESTREAM: Final = "https://docs.aws.amazon.com/timestream/latest/developerguide/ts-limits.html"
_ANOTHER_TABLE: Final = (
    "Copy the rows to a new table, which takes over the name: nothing else gives the numbers of dropped columns back, "
    "VACUUM FULL neither. Store what comes and goes as rows, or in a column of type jsonb, instead of as columns."
)


@rule(
    code="LAY001",
    title="A table has too many columns or tags",
    costs={Currency.LIMIT},
    guidelines=("D1", "D2", "E3"),
    follows_from={"NAM005": Reach.MEASUREMENT},
    requires={"tag_keys", "field_types"},
    uses={"series_listing", "tag_values", "options", "indexes", "table_status"},
    thresholds=(
        Threshold(
            "engine_columns",
            0,
            "columns",
            "our default: 0 means that the engine documents no limit",
            {
                "sqlite": (2_000, "https://www.sqlite.org/limits.html#max_column"),
                "postgresql": (1_600, "https://www.postgresql.org/docs/current/limits.html"),
                "influxdb3 Core": (500, f"{_INFLUXDB3}/core/admin/databases/#column-limit"),
                "influxdb3 Enterprise": (500, f"{_INFLUXDB3}/enterprise/admin/databases/#column-limit"),
                "influxdb3 Cloud Serverless": (200, f"{_INFLUXDB3}/cloud-serverless/admin/billing/limits/"),
                "influxdb3 Cloud Dedicated": (250, f"{_INFLUXDB3}/cloud-dedicated/admin/databases/#column-limit"),
            },
        ),
        Threshold(
            "engine_fields",
            0,
            "fields",
            "our default: 0 means that the engine limits all columns together, if any",
            {"timestream": (1_024, _TIMESTREAM)},
        ),
        Threshold(
            "engine_tags",
            0,
            "tags",
            "our default: 0 means that the engine limits all columns together, if any",
            {"timestream": (128, _TIMESTREAM)},
        ),
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
    ),
)
def too_many_columns(case: Case) -> Iterator[Finding]:
    """Tables with at least half of the columns, fields, or tags that the engine allows, or with more than `max_tags`.

    All columns count: time, tags, and fields; on PostgreSQL, so do dropped ones, because their numbers are never used
    again. On Timestream, fields and dimensions have a limit each. What it costs is the room that is left in
    `engine_columns`, `engine_fields`, or `engine_tags`, at the rate of the last weeks.

    More than `max_tags` tags are a note, because the length of a key costs little by itself. In SQL engines, tags are
    the columns that identify the source of a row; in GreptimeDB, they are the columns of the primary key, of which its
    vendor recommends at most five. Tables of its metric engine are left out, because all their labels are in the key.

    ## Why it matters

    At the limit, the next new column is rejected, and with it the rows that have it. Wide tables are usually several
    tables in one. The tags and the time are the key of every row: each additional tag lengthens the key, slows down
    sorting and compaction, and multiplies the series if its values are independent of the others.

    ## Example

    A table `machine` with one column per sensor, 1,400 in total, of which each machine has 20. A measurement `pods`
    with 30 labels copied from the orchestrator as tags, of which 3 identify the pods.

    ## Fix

    Split the fields into several tables by what is written and read together, or store one row per sensor and time.
    Keep the tags that queries filter and group by. First remove tags that are determined by another tag, or have a
    single value.

    ## References

    - Wide schemas, and too many tags:
      https://docs.influxdata.com/influxdb3/cloud-serverless/write-data/best-practices/schema-design/#avoid-wide-schemas
    - SQLite's limits: https://www.sqlite.org/limits.html
    - PostgreSQL's limits: https://www.postgresql.org/docs/current/limits.html
    - Tags versus fields: https://docs.influxdata.com/influxdb/v1/concepts/schema_and_data_layout/
    - The primary key of GreptimeDB:
      https://docs.greptime.com/user-guide/deployments-administration/performance-tuning/design-table/
    """
    for measurement in case.measurements:
        counts = {
            "engine_columns": len(measurement.columns) + _dropped(measurement),
            "engine_fields": len(measurement.fields),
            "engine_tags": len(measurement.tags),
        }
        limits = [(case.limit(name, measurement), count) for name, count in counts.items()]
        limit, count = max(limits, key=lambda one: one[1] / one[0].value if one[0].value else 0.0)
        if limit.value and count >= costs.NOTED * limit.value:
            yield _finding(case, measurement, limit, count)
        elif _has_many_tags(case, measurement):
            yield _finding(case, measurement, case.limit("max_tags", measurement), len(measurement.tags))


def _dropped(measurement: Measurement) -> int:
    """Columns that are gone, and count toward the limit all the same."""
    used = measurement.status.figures.get("columns_used", 0) if measurement.status else 0
    return max(round(used) - len(measurement.columns), 0)


def _has_many_tags(case: Case, measurement: Measurement) -> bool:
    if case.engine.has_labels_as_key(measurement) or len(measurement.tags) <= case.limit("max_tags", measurement).value:
        return False
    # A limit of the engine says all that there is to say about its tags.
    if case.limit("engine_tags", measurement).value:
        return False
    return not case.engine.infers_roles or measurement.kind is None or measurement.kind in SERIES_KINDS


def _finding(case: Case, measurement: Measurement, limit: Limit, count: int) -> Finding:
    """`limit`: one of the engine, or the recommended number of tags."""
    at, is_hard = subject_of(measurement), not limit.name.endswith("max_tags")
    figure = "tags" if limit.unit == "tags" else "fields"
    now = len(measurement.tags if figure == "tags" else measurement.fields)
    keep = _enough(measurement) if figure == "tags" else ()
    drop = [tag.key for tag in measurement.tags if tag.key not in keep] if keep else []
    enough = f"; {listed(keep, 4)} alone identif{'y' if len(keep) > 1 else 'ies'} its series" if drop else ""
    gone = _dropped(measurement) if limit.name.endswith("engine_columns") else 0
    dropped = f", {number(gone)} of them dropped" if gone else ""
    sampled = on_sample(measurement.tag_sets) if drop and measurement.tag_sets else ""
    return Finding(
        subject=at,
        impact=costs.of_hard_limit(count, limit, per_day=costs.rate(case, figure, at, now)) if is_hard else None,
        message=f"{_counted(case, limit, count)}{dropped}, {_share(case, limit, count, is_hard)}{enough}{sampled}.",
        fix=_ANOTHER_TABLE if gone > count / 2 else _advice(case, measurement, keep, drop),
        changes=tuple(MakeField(at, tag, tags_kept=keep) for tag in drop),
        observed=count,
        limit=limit,
        unit=limit.unit,
        evidence=(
            Evidence("tags", f"{number(len(measurement.tags))}: {listed([tag.key for tag in measurement.tags], 30)}"),
            Evidence("fields", number(len(measurement.fields))),
            *((Evidence("enough to identify all series", listed(keep, 30)),) if drop else ()),
        ),
        facts=("tag_keys", "field_types", "series_listing", "table_status"),
        source=measurement.tag_sets.source if keep and measurement.tag_sets else None,
    )


def _counted(case: Case, limit: Limit, count: int) -> str:
    return many(count, case.engine.words.tag) if limit.unit == "tags" else f"{number(count)} {limit.unit}"


def _share(case: Case, limit: Limit, count: int, is_hard: bool) -> str:
    if not is_hard:
        return f"more than {number(limit.value)}"
    product = f"{case.profile.engine} {case.profile.edition}".strip()
    allowed = f"what {product} allows" if limit.origin.startswith("engine ") else "the limit"
    return f"{percent(count / limit.value)} of {allowed}"


def _advice(case: Case, measurement: Measurement, keep: tuple[str, ...], drop: list[str]) -> str:
    if not keep:
        return (
            f"Split {measurement.name} by what is written and read together, each part with the time and the same "
            f"{case.engine.words.tag}s. Which fields these are, only those who write and read them know."
        )
    if not drop:
        return "Keep as tags what queries filter and group by, and write the others as fields."
    return f"Keep as tags what queries filter and group by: {listed(keep, 10)} tell all series apart."


def _enough(measurement: Measurement) -> tuple[str, ...]:
    """Tags that are enough to identify all series; all tags if the tag sets were not listed."""
    if measurement.tag_sets is not None and measurement.tag_sets.minimal_key:
        return measurement.tag_sets.minimal_key
    return tuple(tag.key for tag in measurement.tags)
