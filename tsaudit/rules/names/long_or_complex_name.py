"""NAM001."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from tsaudit.model.change import Rename
from tsaudit.model.finding import Evidence, Finding
from tsaudit.model.profile import Measurement
from tsaudit.model.subject import Subject
from tsaudit.rule import Case, Reach, Threshold, rule, subject_of
from tsaudit.rules.new_names import distinct, in_families
from tsaudit.text import listed, many, number

_SHORT = 24
"""Maximum length of the suggested name; people will find a better one."""
_PART = re.compile(r"[^\W_]+")


@rule(
    code="NAM001",
    title="A name is too long or has too many parts",
    guidelines=("B1",),
    follows_from={"NAM002": Reach.MEASUREMENT, "NAM005": Reach.MEASUREMENT},
    requires={"measurements", "tag_keys", "field_types"},
    thresholds=(
        Threshold("max_length", 64, "characters", "our default: still fits a legend or a column heading"),
        Threshold("max_parts", 8, "parts", "our default: more parts describe values, not a thing"),
    ),
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
        name = database.own_name
        if reason := _problem(case, name):
            yield _finding(case, Subject(database.name), {name: reason})
    shorter = _shorter_names(case)
    for measurement in case.measurements:
        names = (measurement.name, *(t.key for t in measurement.tags), *(f.key for f in measurement.fields))
        bad = {name: reason for name in names if (reason := _problem(case, name))}
        if bad:
            new_name = shorter.get((measurement.database, measurement.name))
            changes = _renames(measurement, bad, new_name)
            yield _finding(case, subject_of(measurement), bad, changes)


def _problem(case: Case, name: str) -> str:
    """What is wrong with the name; empty if nothing is."""
    if len(name) > case.limit("max_length").value:
        return f"{number(len(name))} characters"
    parts = len(re.findall(r"[A-Z]*[a-z]+|[A-Z]+|\d+|[^\W\d_a-zA-Z]+", name))
    return many(parts, "part") if parts > case.limit("max_parts").value else ""


def _finding(case: Case, subject: Subject, bad: dict[str, str], changes: tuple[Rename, ...] = ()) -> Finding:
    longest = max(bad, key=len)
    return Finding(
        subject=subject,
        message=f"{listed([f'{name} ({reason})' for name, reason in bad.items()], 4)}: "
        f"{'this name is' if len(bad) == 1 else 'these names are'} hard to type and read.",
        fix=f"Take a name that says what is measured, and put what varies into {case.engine.words.tag}s."
        if subject.measurement
        else "Make a database with a shorter name and copy the data over; no engine renames one in place.",
        changes=changes,
        observed=len(longest),
        limit=case.limit("max_length"),
        unit="characters",
        main_contributor=longest,
        evidence=tuple(Evidence(name, reason) for name, reason in list(bad.items())[:20]),
        facts=("measurements", "tag_keys", "field_types"),
    )


def _shorter_names(case: Case) -> dict[tuple[str, str], str]:
    """(database, measurement) to a shorter name, for long names that are not to become one with others."""
    inside: dict[str, list[str]] = defaultdict(list)
    for measurement in case.measurements:
        inside[measurement.database].append(measurement.name)
    found: dict[tuple[str, str], str] = {}
    for database, names in inside.items():
        if long := [name for name in names if _problem(case, name)]:
            families = in_families(case, database)
            new_names = distinct(long, _short, names)
            found |= {(database, old): new for old, new in new_names.items() if old not in families}
    return found


def _renames(measurement: Measurement, bad: dict[str, str], new_name: str | None) -> tuple[Rename, ...]:
    """A shorter name for each of them. `new_name`: the measurement's own; None if it keeps its name."""
    columns = distinct((name for name in bad if name in measurement.columns), _short, measurement.columns)
    changes = [Rename(subject_of(measurement), old, new) for old, new in columns.items()]
    if new_name is not None:
        changes.append(Rename(subject_of(measurement), "", new_name))
    return tuple(changes)


def _short(name: str) -> str:
    """The first parts of the name, as many as are short enough together, or its first letters."""
    ends = [found.end() for found in _PART.finditer(name) if found.end() <= _SHORT]
    return name[: ends[-1]] if ends else name[:_SHORT].rstrip("._- ")
