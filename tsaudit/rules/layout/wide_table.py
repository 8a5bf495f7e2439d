"""LAY001."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tsaudit import costs
from tsaudit.model.finding import Evidence, Finding
from tsaudit.model.impact import Currency
from tsaudit.rule import Case, Reach, Threshold, rule, subject_of
from tsaudit.text import number, percent

_INFLUXDB3: Final = "https://docs.influxdata.com/influxdb3"
_NOTED: Final = 0.5
"""Share of the limit from which on it is worth a note."""


@rule(
    code="LAY001",
    title="A table has too many columns",
    costs={Currency.LIMIT},
    guidelines=("D1",),
    follows_from={"NAM005": Reach.MEASUREMENT},
    requires={"tag_keys", "field_types"},
    not_applicable={
        "duckdb": "it documents no limit on columns, and an empty one takes hardly any space",
        "greptimedb": "it documents no limit on columns, and an empty one takes hardly any space",
    },
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
            # Attributes of multi-measure records; of dimensions there may be 128.
            {"timestream": (1_024, "https://docs.aws.amazon.com/timestream/latest/developerguide/ts-limits.html")},
        ),
    ),
)
def wide_table(case: Case) -> Iterator[Finding]:
    """Tables with at least half of the columns that the engine allows.

    All columns count: time, tags, and fields; on PostgreSQL, dropped ones count as well, which are not seen. On
    Timestream, the fields of a table count. What it costs is the room that is left in `engine_columns` or
    `engine_fields`, at the rate of the last weeks.

    ## Why it matters

    At the limit, the next new column is rejected, and with it the rows that have it. Wide tables are usually several
    tables in one.

    ## Example

    A table `machine` with one column per sensor, 1,400 in total, of which each machine has 20.

    ## Fix

    Split the fields into several tables by what is written and read together, or store one row per sensor and time.

    ## References

    - Wide schemas:
      https://docs.influxdata.com/influxdb3/cloud-serverless/write-data/best-practices/schema-design/#avoid-wide-schemas
    - SQLite's limits: https://www.sqlite.org/limits.html
    - PostgreSQL's limits: https://www.postgresql.org/docs/current/limits.html
    """
    for measurement in case.measurements:
        fields, limit, columns = (
            len(measurement.fields),
            case.limit("engine_columns", measurement),
            len(measurement.columns),
        )
        if (of_fields := case.limit("engine_fields", measurement)).value:
            limit, columns = of_fields, fields
        if not limit.value or columns < _NOTED * limit.value:
            continue
        product = f"{case.profile.engine} {case.profile.edition}".strip()
        allowed = f"what {product} allows" if limit.origin.startswith("engine ") else "the limit"
        yield Finding(
            subject=subject_of(measurement),
            impact=costs.of_hard_limit(
                columns, limit, per_day=costs.rate(case, "fields", subject_of(measurement), fields)
            ),
            message=f"{number(columns)} {limit.unit}, {percent(columns / limit.value)} of {allowed}.",
            fix=f"Split {measurement.name} by what is written and read together, each part with the time and the same "
            f"{case.engine.words.tag}s. Which fields these are, only those who write and read them know.",
            observed=columns,
            limit=limit,
            unit=limit.unit,
            evidence=(Evidence("tags", number(len(measurement.tags))), Evidence("fields", number(fields))),
            facts=("columns",),
        )
