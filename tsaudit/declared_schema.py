"""The declared schema compared with the live one (guideline F3), and columns files made from a profile."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tsaudit.analysis.schema_diff import shows
from tsaudit.config.columns_file import FileColumn, Schema, Semantic, has_file_name
from tsaudit.engines.registry import ENGINES
from tsaudit.model.facts import STRUCTURE
from tsaudit.model.figures import Subject
from tsaudit.model.finding import AuditResult, Evidence, Finding, Outcome, RuleResult, Severity
from tsaudit.model.profile import Measurement, Profile
from tsaudit.model.version import VERSION

_DATA_TYPES: Final = {"uinteger": "unsigned"}
"""InfluxDB 3's names of types to those in a columns file, if they differ."""
_MAX_NAME: Final = 128
"""Maximum number of characters:
https://docs.influxdata.com/influxdb/cloud/admin/buckets/bucket-schema/#write-valid-schemas
"""


def exportable(profile: Profile) -> tuple[Schema, list[str]]:
    """The columns of each measurement, and a line about each measurement that is skipped because no columns file can
    declare it.
    """
    schema: dict[tuple[str, str], tuple[FileColumn, ...]] = {}
    refused = []
    for measurement in profile.measurements:
        problem = next(_problems(measurement, profile.engine), None)
        if problem:
            refused.append(f"{measurement.database}/{measurement.name}: {problem}")
        else:
            schema[measurement.database, measurement.name] = tuple(_columns(measurement))
    return schema, refused


def compare(declared: Schema, profile: Profile) -> AuditResult:
    """Every difference as a finding: a warning for what is not declared, a note for what is missing.

    Measurements that could not be measured, or are not in scope, are not reported.
    """
    gaps = tuple(gap for gap in profile.gaps if gap.fact in STRUCTURE)
    live = {(m.database, m.name): m for m in profile.measurements}
    findings: list[Finding] = []
    for key in sorted(declared.keys() | live.keys()):
        subject = Subject(*key)
        if key in live and key not in declared:
            findings.append(_finding(subject, Severity.WARNING, "is not declared", "-", "there"))
        elif not shows(profile, *key):
            continue
        elif key in live:
            findings += _differences(subject, declared[key], live[key])
        else:
            findings.append(_finding(subject, Severity.NOTE, "is declared but missing", "declared", "not there"))
    outcome = Outcome.FAIL if findings else Outcome.OPEN if gaps else Outcome.PASS
    result = RuleResult(
        code="SCH001",
        name="undeclared-schema",
        title="The schema differs from the declared one",
        family="drift",
        guidelines=("F3",),
        outcome=outcome,
        findings=tuple(findings),
        gaps=gaps,
        reason="; ".join(dict.fromkeys(f"{gap.fact}: {gap.detail}" for gap in gaps)),
    )
    return AuditResult(
        target=profile.target,
        engine=profile.engine,
        server_version=profile.server_version,
        day=profile.day,
        audited_at=profile.collected_at,
        tsaudit_version=VERSION,
        results=(result,),
    )


def _columns(measurement: Measurement) -> Iterator[FileColumn]:
    if measurement.time_column:
        yield FileColumn(measurement.time_column, "timestamp")
    yield from (FileColumn(tag.key, "tag") for tag in measurement.tags)
    yield from (FileColumn(field.key, "field", _type(field.types)) for field in measurement.fields)


def _type(types: tuple[str, ...]) -> str:
    return " and ".join(_DATA_TYPES.get(one, one) for one in types)


def _problems(measurement: Measurement, engine: str) -> Iterator[str]:
    """Why the measurement cannot be declared, one line each."""
    for name in (measurement.database, measurement.name):
        if not has_file_name(name):
            yield f"no file can have so long a name as {name[:40]}..."
    for field in measurement.fields:
        if len(field.types) > 1:
            yield f"field {field.key} has {len(field.types)} types, {_type(field.types)}; a columns file takes one"
    keys = [tag.key for tag in measurement.tags]
    if both := next((field.key for field in measurement.fields if field.key in keys), None):
        yield f"{both} is both a tag and a field; a columns file can contain each name only once"
    if not ENGINES[engine].takes_line_protocol:
        return
    if not measurement.fields:
        yield "it has no field; an explicit bucket requires one"
    for name in (measurement.name, *keys, *(field.key for field in measurement.fields)):
        if len(name) > _MAX_NAME:
            yield f"the name {name[:40]}... is longer than the {_MAX_NAME} characters allowed in an explicit bucket"
        elif re.match(r"[_0-9]", name) or re.search(r"['\"]", name):
            yield (
                f"the name {name} starts with a digit or underscore, or contains a quote: explicit buckets "
                "do not allow it"
            )


def _differences(subject: Subject, declared: tuple[FileColumn, ...], live: Measurement) -> Iterator[Finding]:
    expected = {column.name: column for column in declared}
    # A tag and a field may have the same name.
    found: dict[str, list[FileColumn]] = {}
    for column in _columns(live):
        found.setdefault(column.name, []).append(column)
    for name in sorted(expected.keys() | found.keys()):
        where = Subject(subject.database, subject.measurement, name)
        if name not in found:
            text = f"{expected[name].type.capitalize()} {name} is declared but missing"
            yield _finding(where, Severity.NOTE, text, _words(expected[name]), "not there")
        for column in found.get(name, ()):
            if name not in expected:
                text = f"{column.type.capitalize()} {name} is not declared"
                yield _finding(where, Severity.WARNING, text, "-", _words(column))
            elif _differs(expected[name], column):
                text = f"{name} is declared as {_words(expected[name])} and is {_words(column)}"
                yield _finding(where, Severity.WARNING, text, _words(expected[name]), _words(column))


def _differs(declared: FileColumn, live: FileColumn) -> bool:
    # Without a data type a field is a string: https://docs.influxdata.com/influxdb/cloud/admin/buckets/bucket-schema/
    return declared.type != live.type or (live.type == "field" and (declared.data_type or "string") != live.data_type)


def _words(column: FileColumn) -> str:
    articles: dict[Semantic, str] = {"timestamp": "the time", "tag": "a tag", "field": "a field"}
    of = f" of type {column.data_type or 'string'}" if column.type == "field" else ""
    return articles[column.type] + of


def _finding(subject: Subject, severity: Severity, text: str, declared: str, live: str) -> Finding:
    message = text if subject.column else f"{subject.measurement} {text}"
    return Finding(
        subject=subject,
        severity=severity,
        message=f"{message}.",
        fix="If this is intended, export the schema again; otherwise, stop the writer that causes it.",
        main_contributor=subject.column or None,
        evidence=(Evidence("declared", declared), Evidence("live", live)),
        facts=("measurements", "tag_keys", "field_types"),
    )
