"""How stored records get into a new table: by a scheduled query, which is run by hand once for each day.

Timestream changes no stored record, and INSERT does not exist. A scheduled query writes its result into a table, and
repeating a run is safe: records that are there already stay as they are.
https://docs.aws.amazon.com/timestream/latest/developerguide/scheduledqueries-patterns-backfilling.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from tsaudit.engines.rendering import Place
from tsaudit.engines.timestream.columns import Read
from tsaudit.engines.timestream.tables import command
from tsaudit.model.plan import Phase, Step

A_DAY: Final = timedelta(days=1)
_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST: Final = 64
_WITHIN: Final = "time >= @scheduled_runtime - 1d AND time < @scheduled_runtime"
COST: Final = "reads all stored records, which is charged, and writes them again"


def last_day(place: Place) -> datetime:
    """The beginning of the last day that the table has records of."""
    newest = (place.measurement.last_time if place.measurement else None) or place.profile.window.end
    return newest.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


def within(day: datetime) -> str:
    """A condition for one day."""
    return f"time >= TIMESTAMP '{_text(day)}' AND time < TIMESTAMP '{_text(day + A_DAY)}'"


def _text(day: datetime) -> str:
    return f"{day:%Y-%m-%d %H:%M:%S}"


def select(place: Place, table: str, columns: Sequence[Read], where: str = "") -> str:
    """A query that reads a day of a table. `where`: a further condition."""
    listed = [
        f"{c.value} AS {place.quoted([c.name])}" if c.value != place.quoted([c.name]) else c.value for c in columns
    ]
    more = f" AND ({where})" if where else ""
    return f"SELECT {', '.join([*listed, 'measure_name', 'time'])} FROM {table} WHERE {_WITHIN}{more}"  # noqa: S608


def steps(
    place: Place, target: str, query: str, mapping: Mapping[str, Any], lost: str = "", kept: str = ""
) -> Iterator[Step]:
    """Copies what the query reads into the new table. `kept`: where values are that did not convert."""
    name = _NOT_IN_NAMES.sub("_", f"copy_to_{target}")[:_LONGEST]
    into = {"DatabaseName": place.database, "TableName": target, "TimeColumn": "time", **mapping}
    yield Step(
        Phase.COPY,
        f"Create a scheduled query that copies one day to {target}. Fill in the role, the SNS topic, and the bucket "
        f"for error reports.{kept}",
        command(
            "timestream-query",
            "create-scheduled-query",
            {
                "name": name,
                "query-string": query,
                "schedule-configuration": {"ScheduleExpression": "rate(1 day)"},
                "notification-configuration": {"SnsConfiguration": {"TopicArn": "TOPIC_ARN"}},
                "target-configuration": {"TimestreamConfiguration": into},
                "scheduled-query-execution-role-arn": "ROLE_ARN",
                "error-report-configuration": {"S3Configuration": {"BucketName": "BUCKET"}},
            },
        ),
        "sh",
        loses=lost,
    )
    day = last_day(place)
    yield Step(
        Phase.COPY,
        "Run it for each stored day, the newest day first; a run at midnight copies the day before. Repeating a run is "
        "safe.",
        command(
            "timestream-query",
            "execute-scheduled-query",
            {"scheduled-query-arn": "QUERY_ARN", "invocation-time": f"{day + A_DAY:%Y-%m-%dT%H:%M:%SZ}"},
        ),
        "sh",
        cost=COST,
        loses=lost,
        repeat_every=A_DAY,
    )


def stopped() -> Step:
    """The scheduled query goes once all days are copied."""
    text = command("timestream-query", "delete-scheduled-query", {"scheduled-query-arn": "QUERY_ARN"})
    return Step(Phase.REMOVE, "Delete the scheduled query once all days are copied.", text, "sh")


def multi(columns: Sequence[Read]) -> dict[str, Any]:
    """The part of a target configuration that writes one multi-measure record per row, under its measure name."""
    return {
        "DimensionMappings": _dimensions(columns),
        "MultiMeasureMappings": {"MultiMeasureAttributeMappings": _attributes(columns)},
        "MeasureNameColumn": "measure_name",
    }


def mixed(columns: Sequence[Read], single: Mapping[str, Sequence[Read]], others: Sequence[str]) -> dict[str, Any]:
    """The same for a table with records of a single value.

    `single`: measure name to the columns that its values can be in. `others`: measure names of multi-measure records.
    """
    known = {column.name for found in single.values() for column in found}
    attributes = _attributes([column for column in columns if column.name not in known])
    mappings: list[dict[str, Any]] = [
        {"MeasureName": name, "SourceColumn": column.name, "MeasureValueType": column.type}
        for name, found in single.items()
        for column in found
    ]
    mappings += [
        {"MeasureName": name, "MeasureValueType": "MULTI", "MultiMeasureAttributeMappings": attributes}
        for name in others
    ]
    return {
        "DimensionMappings": _dimensions(columns),
        "MixedMeasureMappings": mappings,
        "MeasureNameColumn": "measure_name",
    }


def _dimensions(columns: Sequence[Read]) -> list[dict[str, str]]:
    return [{"Name": column.name, "DimensionValueType": "VARCHAR"} for column in columns if column.is_dimension]


def _attributes(columns: Sequence[Read]) -> list[dict[str, str]]:
    return [
        {"SourceColumn": column.name, "MeasureValueType": column.type} for column in columns if not column.is_dimension
    ]


def counted(place: Place, old: str, new: str, where: str = "") -> Step:
    """Compares the records of a day in both tables."""
    day, more = within(last_day(place)), f" AND ({where})" if where else ""
    texts = [
        f"SELECT count(*) FROM {old} WHERE {day}{more}",  # noqa: S608 -- shown, never run
        f"SELECT count(*) FROM {new} WHERE {day}",  # noqa: S608
    ]
    return Step(
        Phase.CHECK,
        "Compare the counts of each day: they must be equal, except for what the copy is said to lose.",
        "\n".join(texts),
        "sql",
        cost="reads all stored records, which is charged",
        repeat_every=A_DAY,
    )
