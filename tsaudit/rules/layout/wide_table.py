"""LAY001."""

from __future__ import annotations

from collections.abc import Iterator

from tsaudit.model.finding import Evidence, Finding, Severity
from tsaudit.rule import Case, Threshold, rule, subject_of, table_of
from tsaudit.text import number, percent

_INFLUXDB3 = "https://docs.influxdata.com/influxdb3"


@rule(
    code="LAY001",
    title="A table has too many columns",
    severity=Severity.WARN,
    guidelines=("D1",),
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
    fixes={
        "influxdb3": (
            "Split {table} by what is written and read together, each part with the same tags, by writing to tables "
            "such as {part:q}. Read what has to be kept, e.g. SELECT {key}, {some} FROM {table:q}, write it there, and "
            "delete {table}: a column cannot be dropped."
        ),
        "timestream": (
            "Split {table} by what is written and read together, each part with the same dimensions, by writing to "
            "tables such as {part}: a column goes when its records have expired. Read what has to be kept, day by day, "
            "and write it there:\nSELECT {key}, {some} FROM {table:q} WHERE time >= ago(1d)"
        ),
        "greptimedb": (
            "Split {table} by what is written and read together, each part with the time and the same key: make "
            "{part:q} by CREATE TABLE, fill it by INSERT INTO {part:q} SELECT {key}, {some} FROM {table:q}; then "
            "ALTER TABLE {table:q} DROP COLUMN for each of the moved columns."
        ),
        "any": (
            "Split {table} by what is written and read together, each part with the time and the same tags: "
            "CREATE TABLE {part:q} AS SELECT {key}, {some} FROM {table:q}; then "
            "ALTER TABLE {table:q} DROP COLUMN for each of the moved columns."
        ),
    },
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
        fields = [f.key for f in measurement.fields]
        product = f"{case.profile.engine} {case.profile.edition}".strip()
        reached = f", {percent(columns / engine.value)} of what {product} allows" if engine.value else ""
        yield Finding(
            subject=subject_of(measurement),
            severity=Severity.CRITICAL if near else Severity.WARN,
            message=f"{number(columns)} columns, more than the recommended {number(limit.value)}{reached}.",
            fix=case.fix(
                table=table_of(measurement),
                part=table_of(measurement, f"{measurement.name}_part"),
                key=case.quoted(c for c in measurement.columns if c not in fields) or "its key",
                some=case.quoted(fields[:3]),
            ),
            observed=columns,
            limit=engine if near else limit,
            unit="columns",
            evidence=(
                Evidence("tags", number(len(measurement.tags))),
                Evidence("fields", number(len(measurement.fields))),
            ),
            facts=("columns",),
        )
