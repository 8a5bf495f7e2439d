"""LAY001."""

from __future__ import annotations

from collections.abc import Iterator

from tsaudit.model.finding import Evidence, Finding, Severity
from tsaudit.rule import Case, Reach, Threshold, rule, subject_of
from tsaudit.text import number, percent

_INFLUXDB3 = "https://docs.influxdata.com/influxdb3"


@rule(
    code="LAY001",
    title="A table has too many columns",
    severity=Severity.WARNING,
    guidelines=("D1",),
    follows_from={"NAM005": Reach.MEASUREMENT},
    requires={"tag_keys", "field_types"},
    thresholds=(
        Threshold(
            "max_columns",
            200,
            "columns",
            "InfluxDB Cloud Serverless allows this many per measurement: "
            "https://docs.influxdata.com/influxdb3/cloud-serverless/admin/buckets/#column-limit (our default "
            "for other engines)",
        ),
        Threshold(
            "engine_columns",
            0,
            "columns",
            "our default: 0 means that the engine documents no limit",
            {
                "sqlite": (2_000, "https://www.sqlite.org/limits.html#max_column"),
                "postgresql": (1_600, "https://www.postgresql.org/docs/current/limits.html"),
                # 128 dimensions and 1,024 attributes of multi-measure records.
                "timestream": (1_152, "https://docs.aws.amazon.com/timestream/latest/developerguide/ts-limits.html"),
                "influxdb3 Core": (500, f"{_INFLUXDB3}/core/admin/databases/#column-limit"),
                "influxdb3 Enterprise": (500, f"{_INFLUXDB3}/enterprise/admin/databases/#column-limit"),
                "influxdb3 Cloud Serverless": (200, f"{_INFLUXDB3}/cloud-serverless/admin/billing/limits/"),
                "influxdb3 Cloud Dedicated": (250, f"{_INFLUXDB3}/cloud-dedicated/admin/databases/#column-limit"),
            },
        ),
        Threshold("critical_ratio", 0.9, "share of the engine's limit", "our default: the next release may fail"),
    ),
)
def wide_table(case: Case) -> Iterator[Finding]:
    """Tables with more than `max_columns` columns; critical near the engine's own limit.

    All columns count: time, tags, and fields.

    ## Why it matters

    Every column adds cost to writes and compaction, makes rows and catalogs larger, and invites `SELECT *`. Wide tables
    are usually several tables in one, so most of their cells are null. At the engine's limit, the next new column is
    rejected.

    ## Example

    A table `machine` with one column per sensor, 400 in total, of which each machine has 20.

    ## Fix

    Split the fields into several tables by what is written and read together, or store one row per sensor and time.

    ## References

    - Wide schemas:
      https://docs.influxdata.com/influxdb3/cloud-serverless/write-data/best-practices/schema-design/#avoid-wide-schemas
    - SQLite's limits: https://www.sqlite.org/limits.html
    - PostgreSQL's limits: https://www.postgresql.org/docs/current/limits.html
    """
    for measurement in case.measurements:
        limit, engine = case.limit("max_columns", measurement), case.limit("engine_columns", measurement)
        columns = len(measurement.columns)
        near = bool(engine.value) and columns >= engine.value * case.limit("critical_ratio", measurement).value
        if columns <= limit.value and not near:
            continue
        product = f"{case.profile.engine} {case.profile.edition}".strip()
        reached = f", {percent(columns / engine.value)} of what {product} allows" if engine.value else ""
        yield Finding(
            subject=subject_of(measurement),
            severity=Severity.CRITICAL if near else Severity.WARNING,
            message=f"{number(columns)} columns, more than the recommended {number(limit.value)}{reached}.",
            fix=f"Split {measurement.name} by what is written and read together, each part with the time and the same "
            f"{case.engine.words.tag}s. Which fields these are, only those who write and read them know.",
            observed=columns,
            limit=engine if near else limit,
            unit="columns",
            evidence=(
                Evidence("tags", number(len(measurement.tags))),
                Evidence("fields", number(len(measurement.fields))),
            ),
            facts=("columns",),
        )
