"""NAM005."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from tsaudit.analysis.columns.name_words import words_of
from tsaudit.model.finding import Evidence, Finding, Severity
from tsaudit.model.profile import Measurement
from tsaudit.model.subject import Subject
from tsaudit.rule import Case, Threshold, rule
from tsaudit.text import listed, many, number

if TYPE_CHECKING:
    from tsaudit.analysis.shapes.shapes import NameFamily

_BUILT_IN: Final = frozenset(
    (
        *("cell", "cells", "string", "strings", "mppt", "cylinder", "axis", "joint", "blade", "winding", "coil"),
        *("electrode", "harmonic", "bin", "band", "pixel"),
    )
)
"""Words for parts of which a device has a fixed number."""


@rule(
    code="NAM005",
    title="Names of tags or fields contain data",
    severity=Severity.WARNING,
    guidelines=("B4",),
    requires={"field_types"},
    uses={"tag_keys"},
    not_applicable={"mongodb": "a separate rule covers the fields of documents, whose names may be data by design"},
    thresholds=(
        Threshold("min_names", 2, "names", "our default: one name is not a pattern"),
        Threshold(
            "warn_numbered",
            10,
            "names that differ in a number",
            "our default: up to nine may be parts of one thing, like the phases of a motor; more are a list",
        ),
    ),
)
def data_in_key_name(case: Case) -> Iterator[Finding]:
    """Tags or fields of a measurement whose names differ only in data: hosts, regions, IDs, dates, numbers.

    Words are data as well if at least twelve names combine nearly all words of two lists, separated by periods,
    slashes, colons, or blanks. Fields whose names differ only in a number are a note up to `warn_numbered` of
    them. Fewer such tags are no finding: they are levels of a hierarchy. Parts of a thing that a tag names are always
    notes if the thing is built with so many of them, such as the cells of a battery: they are measured together,
    and none is added.

    ## Why it matters

    To sum over all servers, a query has to name every column, and has to change with every new one. Each new name is a
    schema change, another column in every row of a table, and counts toward the column limit.

    ## Example

    `cpu usage_server-01=12,usage_server-02=30` should be `cpu,host=server-01 usage=12` and `cpu,host=server-02
    usage=30`.

    ## Fix

    Move the varying part into a tag, and keep one field for the measured value.

    ## References

    - Keep tags and fields simple:
      https://docs.influxdata.com/influxdb3/cloud-serverless/write-data/best-practices/schema-design/#keep-measurement-names-tags-and-fields-simple
    - Data in names: https://docs.influxdata.com/influxdb/v1/concepts/schema_and_data_layout/
    """
    from tsaudit.analysis.tables import grids

    for measurement in case.measurements:
        for role, names in (
            ("tag", [t.key for t in measurement.tags]),
            ("field", [f.key for f in measurement.fields]),
        ):
            families = case.name_families(names)
            rest = set(names) - {name for family in families for name in family.members}
            for family in (*families, *(grid.family for grid in grids.grids(rest, strong_only=True))):
                count, numbered = len(family.members), _is_numbered(family)
                if numbered and role == "tag" and count < case.limit("warn_numbered", measurement).value:
                    continue  # the levels of a hierarchy, of which every row has one each
                if count >= case.limit("min_names", measurement).value:
                    yield _finding(case, measurement, role, family)


def _are_built_in(measurement: Measurement, family: NameFamily) -> bool:
    """Whether these are the parts that a device is built with, numbered from the first one, and a tag names it."""
    numbers = sorted(int(digits) for name in family.members for digits in re.findall(r"\d+", name)[-1:])
    is_whole = numbers[0] <= 1 and numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    return bool(measurement.tags) and is_whole and not words_of(family.template).isdisjoint(_BUILT_IN)


def _is_numbered(family: NameFamily) -> bool:
    return family.template.count("{") == family.template.count("{n}")


def _finding(case: Case, measurement: Measurement, role: str, family: NameFamily) -> Finding:
    limit = case.limit("warn_numbered", measurement)
    numbered = _is_numbered(family)
    tags = {part.name: part.example for part in family.tags}
    what = f"tag{'s' if len(tags) > 1 else ''} {listed(list(tags))}" if tags else "the row's own timestamp"
    count = len(family.members)
    is_minor = numbered and (count < limit.value or _are_built_in(measurement, family))
    return Finding(
        subject=Subject(measurement.database, measurement.name, family.template),
        severity=Severity.NOTE if is_minor else Severity.WARNING,
        message=f"{many(count, role)} named {family.template} should be one {role} {family.measurement} with {what}.",
        fix=f"Write one {role} {family.measurement} and what varies as {what}, in a row for each: "
        f"{listed([f'{key}={value}' for key, value in tags.items()] or ['its time'])}. What is stored keeps its names: "
        "read it and write it again, without columns that have no value.",
        observed=count,
        limit=limit if numbered else case.limit("min_names", measurement),
        unit="names",
        samples=family.members[:3],
        evidence=(
            Evidence("names", f"{number(count)}: {listed(family.members, 6)}"),
            *(Evidence(f"tag {name}", f"e.g. {value}") for name, value in tags.items()),
        ),
        facts=("field_types", "tag_keys"),
    )
