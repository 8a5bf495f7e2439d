"""TAG003."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from tsaudit.engines.greptimedb.statements import added_columns
from tsaudit.engines.quoting import quote_text
from tsaudit.engines.sql.types import is_text
from tsaudit.model.finding import Evidence, Finding, Severity
from tsaudit.model.profile import Field, Measurement, Tag
from tsaudit.rule import Case, Threshold, rule, subject_of, table_of
from tsaudit.text import listed, number

if TYPE_CHECKING:
    from tsaudit.analysis.shapes.shapes import Composite, Part

_LONG = {"loc": "location", "reg": "region", "dev": "device", "env": "environment", "svc": "service", "ver": "version"}
_VAGUE = frozenset({"id", "model", "name", "type", "kind", "version", "serial", "no", "nr"})


@rule(
    code="TAG003",
    title="A value contains several attributes",
    severity=Severity.WARN,
    guidelines=("B3",),
    requires={"tag_values"},
    uses={"field_values"},
    thresholds=(Threshold("min_values", 2, "distinct values", "our default: one value is not a pattern"),),
    fixes={
        "influxql": (
            "Write one {role} per attribute: {example} instead of {key}={value}. "
            "Telegraf splits it on the way in with processors.regex or processors.strings."
        ),
        "greptimedb": (
            "Write each attribute into a column of its own:\n{statements}\nRows are not changed in place: what is "
            "stored keeps {key}, and a copy with INSERT INTO ... SELECT split_part(...) takes it apart."
        ),
        "influxdb3": (
            "Write one {role} per attribute: {example} instead of {key}={value}. "
            "Telegraf splits it on the way in with processors.regex or processors.strings."
        ),
        "timestream": (
            "Write one {role} per attribute: {example} instead of {key}={value}. Stored records keep {key}: query them "
            "with split_part, or write them anew."
        ),
        "sql": (
            "Give each attribute a column and fill it from {key}:\n{statements}\n"
            "Then write them apart and drop {key}:\n"
            "ALTER TABLE {measurement:q} DROP COLUMN {key:q};"
        ),
    },
)
def composite_value(case: Case) -> Iterator[Finding]:
    """Tags and text fields whose values are several attributes joined into one text.

    This is based on a sample of the distinct values. The suggested split uses the names that occur in the values.

    ## Why it matters

    To find one attribute, queries need patterns or regular expressions, which no index supports. To group by one, every
    query has to split the text.

    ## Example

    `sensor=loc-kitchen.model-A612.id-1726ZA` should be `location=kitchen`, `sensor_model=A612`, and `sensor_id=1726ZA`.
    Then `sensor_id = '1726ZA'` finds it.

    ## Fix

    Write each attribute as a separate tag or field. Split the stored values, or keep the old column until it expires.

    ## References

    - One attribute per value:
      https://docs.influxdata.com/influxdb3/cloud-serverless/write-data/best-practices/schema-design/#keep-measurement-names-tags-and-fields-simple
    """
    from tsaudit.analysis.shapes import shapes

    for measurement in case.measurements:
        columns: tuple[Tag | Field, ...] = (*measurement.tags, *measurement.fields)
        for column in columns:
            if isinstance(column, Field) and not any(is_text(t) for t in column.types):
                continue
            if len(column.sample) < case.limit("min_values", measurement).value:
                continue
            if composite := shapes.split_composite(column.sample):
                yield _finding(case, measurement, column, composite)


def _finding(case: Case, measurement: Measurement, column: Tag | Field, composite: Composite) -> Finding:
    from tsaudit.analysis.shapes.shapes import redact

    role = "tag" if isinstance(column, Tag) else "field"
    names = _names(column.key, composite.parts, taken=measurement.columns)
    parts = {name: part.example for name, part in zip(names, composite.parts, strict=True)}
    figure = column.values if isinstance(column, Tag) else column.distinct
    return Finding(
        subject=subject_of(measurement, column.key),
        severity=Severity.WARN,
        message=f"Values of {role} {column.key} contain {number(len(parts))} attributes each: {listed(list(parts))}.",
        fix=case.fix(
            role=role,
            measurement=table_of(measurement),
            key=column.key,
            value=redact(composite.example),
            example=",".join(f"{name}={redact(value)}" for name, value in parts.items()),
            statements=_statements(case, measurement, column.key, composite, names),
        ),
        observed=len(parts),
        unit="attributes per value",
        guilty=column.key,
        samples=(composite.example, *(v for v in column.sample if v != composite.example))[:3],
        evidence=tuple(Evidence(name, f"e.g. {redact(value)}") for name, value in parts.items()),
        facts=("tag_values",) if role == "tag" else ("field_values",),
        source=figure.source if figure else None,
    )


def _names(key: str, parts: Iterable[Part], taken: Iterable[str]) -> list[str]:
    """A unique name for each part, distinct from the existing columns; SQL names are case-insensitive."""
    used = {name.lower() for name in taken}
    names = []
    for part in parts:
        name = _proposed(key, part)
        while name.lower() in used:
            name = f"{key}_{name}"
        used.add(name.lower())
        names.append(name)
    return names


def _proposed(key: str, part: Part) -> str:
    """A name for the part: abbreviations expanded, and prefixed with the column's name if it is too general alone."""
    name = _LONG.get(part.name.lower(), part.name)
    return f"{key}_{name}" if name.lower() in _VAGUE or name.startswith("part_") else name


def _statements(case: Case, measurement: Measurement, key: str, composite: Composite, names: list[str]) -> str:
    if case.profile.engine == "greptimedb":
        return added_columns(case, measurement, names)
    table, column = case.quoted([table_of(measurement)]), case.quoted([key])
    adding = [f"ALTER TABLE {table} ADD COLUMN {case.quoted([name])} VARCHAR;" for name in names]
    if case.profile.engine == "sqlite":
        return " ".join(adding)  # The engine has no function that splits text.
    separator = quote_text(case.profile.engine, composite.separator)
    values = []
    for position, (name, part) in enumerate(zip(names, composite.parts, strict=True), 1):
        text = composite.example.split(composite.separator)[position - 1]
        piece = f"split_part({column}, {separator}, {position})"
        before = text.find(part.example)
        values.append(f"{case.quoted([name])} = {f'substr({piece}, {before + 1})' if before > 0 else piece}")
    # All names are quoted, and the statement is only shown, never run.
    return "\n".join([*adding, f"UPDATE {table} SET {', '.join(values)};"])  # noqa: S608
