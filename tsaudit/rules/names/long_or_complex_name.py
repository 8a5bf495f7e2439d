"""NAM001."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tsaudit.advice.statements import rename
from tsaudit.engines.influx.reach import own_name
from tsaudit.model.finding import Evidence, Finding, Severity
from tsaudit.model.profile import Measurement
from tsaudit.model.subject import Subject
from tsaudit.rule import Case, Threshold, rule, subject_of
from tsaudit.text import listed, many, number

_SHORT = 24
"""Maximum length of the suggested name; people will find a better one."""


@rule(
    code="NAM001",
    title="A name is too long or has too many parts",
    severity=Severity.INFO,
    guidelines=("B1",),
    requires={"measurements", "tag_keys", "field_types"},
    thresholds=(
        Threshold("max_length", 64, "characters", "our default: still fits a legend or a column heading"),
        Threshold("max_parts", 8, "parts", "our default: more parts describe values, not a thing"),
    ),
    fixes={
        "influxql": "Write under a shorter name and put what varies into tags. Stored data, day by day: {rename}",
        "influxdb3": "Take a shorter name and put what varies into tags: {rename}",
        "mongodb": "Take a shorter name and put what varies into fields: {rename}",
        "timestream": ("Take a shorter name and put what varies into dimensions: {rename}"),
        "sql": "Rename, e.g. {rename} A view under the old name keeps old queries working.",
    },
)
def long_or_complex_name(case: Case) -> Iterator[Finding]:
    """Databases, measurements, tags, and fields with names over `max_length` characters or `max_parts` parts.

    Separators, changes of case, and digits separate parts. All long names of a measurement are one finding.

    ## Why it matters

    Names are typed in every query and shown in every legend. Long names usually contain something that belongs in a
    tag, so queries need regular expressions where an equals sign would do. Series keys repeat them for each series.

    ## Example

    The field `temperature_in_degrees_celsius_measured_by_the_backup_sensor_of_the_second_floor`.

    ## Fix

    Name the measured thing. Move where, by whom, and how into tags.

    ## References

    - Simple names:
      https://docs.influxdata.com/influxdb3/cloud-serverless/write-data/best-practices/schema-design/#keep-measurement-names-tags-and-fields-simple
    - Schema layout: https://docs.influxdata.com/influxdb/v1/concepts/schema_and_data_layout/
    """
    for database in case.profile.databases:
        name = own_name(database)
        if reason := _complaint(case, name):
            yield _finding(case, Subject(database.name), {name: reason}, None)
    for measurement in case.measurements:
        names = (measurement.name, *(t.key for t in measurement.tags), *(f.key for f in measurement.fields))
        bad = {name: reason for name in names if (reason := _complaint(case, name))}
        if bad:
            yield _finding(case, subject_of(measurement), bad, measurement)


def _complaint(case: Case, name: str) -> str:
    """What is wrong with the name; empty if nothing is."""
    if len(name) > case.limit("max_length").value:
        return f"{number(len(name))} characters"
    parts = len(re.findall(r"[A-Z]*[a-z]+|[A-Z]+|\d+|[^\W\d_a-zA-Z]+", name))
    return many(parts, "part") if parts > case.limit("max_parts").value else ""


def _finding(case: Case, subject: Subject, bad: dict[str, str], measurement: Measurement | None) -> Finding:
    longest = max(bad, key=len)
    return Finding(
        subject=subject,
        severity=Severity.INFO,
        message=f"{listed([f'{name} ({reason})' for name, reason in bad.items()], 4)}: "
        f"{'this name is' if len(bad) == 1 else 'these names are'} hard to type and read.",
        fix=case.fix(rename=rename(case, measurement, longest, longest[:_SHORT].rstrip("._- ")))
        if measurement
        else "Make a database with a shorter name and copy the data over; no engine renames one in place.",
        observed=len(longest),
        limit=case.limit("max_length"),
        unit="characters",
        guilty=longest,
        evidence=tuple(Evidence(name, reason) for name, reason in list(bad.items())[:20]),
        facts=("measurements", "tag_keys", "field_types"),
    )
