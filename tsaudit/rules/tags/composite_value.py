"""TAG003."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tsaudit.analysis.columns.columns import is_text
from tsaudit.analysis.shapes import shapes
from tsaudit.analysis.shapes.composites import Composite, split_composite
from tsaudit.analysis.shapes.shapes import redact
from tsaudit.model.change import ColumnPart, SplitColumn
from tsaudit.model.columns import Field, Tag
from tsaudit.model.figures import READ_BY_TIME
from tsaudit.model.finding import Evidence, Finding
from tsaudit.model.profile import Measurement
from tsaudit.rule import Case, Reach, Threshold, rule, subject_of
from tsaudit.text import listed, many, number, plural

_LONG = {"loc": "location", "reg": "region", "dev": "device", "env": "environment", "svc": "service", "ver": "version"}
_VAGUE = frozenset({"id", "model", "name", "type", "kind", "version", "serial", "no", "nr"})


@rule(
    code="TAG003",
    title="A value contains several attributes",
    guidelines=("B3",),
    follows_from=dict.fromkeys(("FLD001", "FLD005"), Reach.SUBJECT),
    requires={"tag_values"},
    uses={"field_values"},
    kinds=READ_BY_TIME,
    thresholds=(Threshold("min_values", 2, "distinct values", "our default: one value is not a pattern"),),
)
def composite_value(case: Case) -> Iterator[Finding]:
    """Tags and text fields whose values are several attributes joined into one text.

    This is based on a sample of the distinct values. The suggested split uses the names that occur in the values, or
    what precedes a number. What is the same in all values is no attribute, and only counted. A JSON document is not
    reported, because databases can read its members. If a column's texts should move to a table of their own, this is
    evidence of the finding that says so.

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
    for measurement in case.measurements:
        columns: tuple[Tag | Field, ...] = (*measurement.tags, *measurement.fields)
        for column in columns:
            if isinstance(column, Field) and not any(is_text(t) for t in column.types):
                continue
            if len(column.sample) < case.limit("min_values", measurement).value:
                continue
            if shapes.classify(column.sample).kind == "json":
                continue  # queries have functions for the members of a document
            if composite := split_composite(column.sample):
                yield _taken_apart(measurement, column, composite) or _finding(measurement, column, composite)


def _finding(measurement: Measurement, column: Tag | Field, composite: Composite) -> Finding:
    role = "tag" if isinstance(column, Tag) else "field"
    names = _names(column.key, composite.parts, taken=measurement.columns)
    parts = {name: part.example for name, part in zip(names, composite.parts, strict=True)}
    figure = column.values if isinstance(column, Tag) else column.distinct
    same = (
        f"{many(composite.constant, 'part')} that {plural(composite.constant, 'is', 'are')} the same in all values read"
    )
    beside = f", beside {same}" if composite.constant else ""
    return Finding(
        subject=subject_of(measurement, column.key),
        message=f"Values of {role} {column.key} contain {number(len(parts))} attributes each: {listed(list(parts))}"
        f"{beside}.",
        fix=f"What is stored under {column.key} can be taken apart, or stays until it expires.",
        changes=(
            SplitColumn(
                subject_of(measurement),
                column.key,
                tuple(ColumnPart(name, redact(value)) for name, value in parts.items()),
                _without_values(composite),
                is_tag=role == "tag",
            ),
        ),
        observed=len(parts),
        unit="attributes per value",
        main_contributor=column.key,
        samples=(composite.example, *(v for v in column.sample if v != composite.example))[:3],
        evidence=tuple(Evidence(name, f"e.g. {redact(value)}") for name, value in parts.items()),
        facts=("tag_values",) if role == "tag" else ("field_values",),
        source=figure.source if figure else None,
    )


def _taken_apart(measurement: Measurement, column: Tag | Field, composite: Composite) -> Finding | None:
    """A finding if each attribute already has a column of its own; None otherwise."""
    others: tuple[Tag | Field, ...] = (*measurement.tags, *measurement.fields)
    columns = {c.key.lower(): c for c in others if c is not column}
    found = [columns.get(_proposed(column.key, part).lower()) for part in composite.parts]
    own = [c for c in found if c is not None and _holds(c, column)]
    if len(own) < len(composite.parts):
        return None
    names = listed([c.key for c in own])
    role = "tag" if isinstance(column, Tag) else "field"
    figure = column.values if isinstance(column, Tag) else column.distinct
    return Finding(
        subject=subject_of(measurement, column.key),
        message=f"Values of {role} {column.key} repeat {names}.",
        fix=f"Stop writing {column.key} once no key and no query needs it.",
        observed=len(own),
        unit="attributes per value",
        main_contributor=column.key,
        samples=column.sample[:3],
        evidence=tuple(Evidence(c.key, "has the same values") for c in own),
        facts=("tag_values",) if role == "tag" else ("field_values",),
        source=figure.source if figure else None,
    )


def _holds(other: Tag | Field, column: Tag | Field) -> bool:
    """Whether most of another column's sampled values occur within this column's. Both are samples, so not all of them
    need to.
    """
    seen = [value for value in other.sample if value]
    return bool(seen) and sum(any(value in whole for whole in column.sample) for value in seen) * 2 > len(seen)


def _without_values(composite: Composite) -> str:
    """The example with made-up values in the same positions, because changes are stored and shown, but personal data
    must not be.
    """
    shown, end = "", 0
    for place, part in zip(composite.places, composite.parts, strict=True):
        if place < end:
            return redact(composite.example)
        shown += composite.example[end:place] + redact(part.example)
        end = place + len(part.example)
    return shown + composite.example[end:]


def _names(key: str, parts: Iterable[ColumnPart], taken: Iterable[str]) -> list[str]:
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


def _proposed(key: str, part: ColumnPart) -> str:
    """A name for the part: abbreviations expanded, and prefixed with the column's name if it is too general alone."""
    name = _LONG.get(part.name.lower(), part.name)
    return f"{key}_{name}" if name.lower() in _VAGUE or name.startswith("part_") else name
