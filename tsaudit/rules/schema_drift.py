"""DRF001."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tsaudit.finding import Evidence, Finding, Severity, Subject
from tsaudit.profile import Measurement, Profile, Role
from tsaudit.rule import Case, rule

_STRUCTURE = frozenset({"databases", "measurements", "columns", "tag_keys", "field_types"})
_ROLES = _STRUCTURE | {"row_sample"}
"""In SQL engines the role of a column may come from the values read."""


@rule(
    code="DRF001",
    title="The schema changed since the last audit",
    severity=Severity.WARN,
    guidelines=("F3",),
    requires={"databases", "measurements", "tag_keys", "field_types"},
    fixes={
        "influxql": (
            "If {what} was not meant, stop the writer that {did}. What is no longer written stays until its shards "
            "expire; see where it still is: SHOW SERIES FROM {measurement:q}; SHOW FIELD KEYS FROM {measurement:q}"
        ),
        "influxdb3": (
            "If {what} was not meant, stop the writer that {did}: a write may bring any new table or column. What is "
            "no longer written stays in the catalogue until the table is deleted; see what is there: "
            "SHOW COLUMNS FROM {measurement:q}"
        ),
        "sql": (
            "If {what} was not meant, find the migration or writer that {did}, and compare with the declared schema: "
            "DESCRIBE {measurement:q}; (SQLite: PRAGMA table_info({measurement:q});)"
        ),
    },
)
def schema_drift(case: Case) -> Iterator[Finding]:
    """What is new, gone or of another type or role, compared with the snapshot before.

    New measurements and fields are information. A new tag is a warning, as it can multiply the series; so is all that
    is gone or has another type. Nothing counts as gone or new that one of the two audits could not see: a refused or
    timed out query, a measurement over the budget, or a pattern that left it out.

    ## Why it matters

    In a store that takes whatever is written, a slip of a writer changes the schema: a field becomes text and queries
    skip it, a renamed tag splits every series in two, a label added to all metrics multiplies them. Seen on the day it
    happens, it is one deployment; seen months later, it is a migration.

    ## Example

    `temperature` was a float until yesterday and is float and string today: a sensor began to write `"n/a"`.

    ## Fix

    Find the deployment of that day. Where the change was meant, there is nothing to do: the next audit compares with
    today. Where the engine can enforce a schema, let it.

    ## References

    - Explicit schemas: https://docs.influxdata.com/influxdb/cloud/admin/buckets/bucket-schema/
    - Type conflicts: https://docs.influxdata.com/influxdb/v1/troubleshooting/errors/#error-unable-to-parse-point
    """
    previous = case.timeline.previous
    if previous is None:
        return
    for change in _changes(previous, case.profile):
        yield _finding(case, change, previous)


_FIND_OUT = (
    "Find out whether it was dropped. If it was not, give the audit the right to read it again; named under "
    "`databases` of the target, a database that may not be read is reported as not measured."
)


@dataclass(frozen=True, slots=True)
class _Change:
    subject: Subject
    severity: Severity
    message: str
    what: str
    did: str
    before: str = "-"
    after: str = "-"
    fix: str = ""
    """Empty for the rule's own."""


@dataclass(frozen=True, slots=True)
class _Column:
    role: Role
    types: tuple[str, ...]


def _changes(old: Profile, new: Profile) -> Iterator[_Change]:
    yield from _databases(old, new)
    before, after = _by_name(old), _by_name(new)
    for key in sorted(before.keys() | after.keys()):
        database, name = key
        subject = Subject(database, name)
        if key in before and key in after:
            yield from _columns(old, new, before[key], after[key])
        elif key in before and _was_visible(new, database, name) and _has_database(new, database):
            yield _Change(subject, Severity.WARN, f"{name} is gone.", "its end", "no longer writes it", "there", "gone")
        elif key in after and _was_visible(old, database, name) and _has_database(old, database):
            yield _Change(subject, Severity.INFO, f"{name} is new.", "it", "writes it", after="new")


def _databases(old: Profile, new: Profile) -> Iterator[_Change]:
    before, after = {d.name for d in old.databases}, {d.name for d in new.databases}
    for name in sorted(before - after):
        if _was_visible(new, name):
            # Servers list what the user may read, so the list alone does not tell a lost right from a deletion.
            message = (
                f"Database {name} is not visible any more: it was dropped, or the audit lost the right to read it."
            )
            yield _Change(
                Subject(name), Severity.WARN, message, "its end", "dropped it", "there", "not listed", _FIND_OUT
            )
    for name in sorted(after - before):
        if _was_visible(old, name):
            yield _Change(Subject(name), Severity.INFO, f"Database {name} is new.", "it", "made it", after="new")


def _columns(old: Profile, new: Profile, before: Measurement, after: Measurement) -> Iterator[_Change]:
    if _hidden(old, _STRUCTURE, before.database, before.name) or _hidden(new, _STRUCTURE, after.database, after.name):
        return
    roles_known = not (
        _hidden(old, _ROLES, before.database, before.name) or _hidden(new, _ROLES, after.database, after.name)
    )
    columns, now = _roles(before), _roles(after)
    for key in sorted(columns.keys() | now.keys()):
        subject = Subject(after.database, after.name, key)
        if key not in now:
            yield _gone(subject, columns[key])
        elif key not in columns:
            yield _new(subject, now[key], roles_known)
        elif roles_known and columns[key].role is not now[key].role:
            yield _moved(subject, columns[key], now[key])
        elif columns[key].types != now[key].types:
            yield _retyped(subject, columns[key], now[key])


def _gone(subject: Subject, was: _Column) -> _Change:
    message = f"{was.role.capitalize()} {subject.column} is gone."
    return _Change(subject, Severity.WARN, message, "its end", "wrote it", str(was.role), "gone")


def _new(subject: Subject, column: _Column, roles_known: bool) -> _Change:
    if column.role is Role.TAG and roles_known:
        message = f"Tag {subject.column} is new; every value of it can open new series."
        return _Change(subject, Severity.WARN, message, "the new tag", "adds it", "-", "tag")
    message = f"{column.role.capitalize()} {subject.column} is new ({' and '.join(column.types)})."
    return _Change(subject, Severity.INFO, message, "the new field", "adds it", "-", str(column.role))


def _moved(subject: Subject, was: _Column, column: _Column) -> _Change:
    message = f"{subject.column} was a {was.role} and is now a {column.role}."
    return _Change(subject, Severity.WARN, message, "the change", "made it", str(was.role), str(column.role))


def _retyped(subject: Subject, was: _Column, column: _Column) -> _Change:
    before, after = " and ".join(was.types), " and ".join(column.types)
    message = f"{column.role.capitalize()} {subject.column} was {before} and is now {after}."
    return _Change(subject, Severity.WARN, message, "the new type", "writes it", before, after)


def _roles(measurement: Measurement) -> dict[str, _Column]:
    fields = {f.key: _Column(Role.FIELD, f.types) for f in measurement.fields}
    tags = {t.key: _Column(Role.TAG, (t.data_type,)) for t in measurement.tags}
    time = {measurement.time_column: _Column(Role.TIME, ("time",))} if measurement.time_column else {}
    return fields | tags | time


def _by_name(profile: Profile) -> Mapping[tuple[str, str], Measurement]:
    return {(m.database, m.name): m for m in profile.measurements}


def _has_database(profile: Profile, name: str) -> bool:
    """A database that is gone or new is said once, not once per measurement."""
    return any(d.name == name for d in profile.databases)


def _was_visible(profile: Profile, database: str, measurement: str | None = None) -> bool:
    """Whether that audit would have shown it if it had been there."""
    return profile.selection.takes(database, measurement) and not _hidden(profile, _STRUCTURE, database, measurement)


def _hidden(profile: Profile, facts: frozenset[str], database: str, measurement: str | None) -> bool:
    return any(gap.fact in facts and gap.covers(database, measurement) for gap in profile.gaps)


def _finding(case: Case, change: _Change, previous: Profile) -> Finding:
    return Finding(
        subject=change.subject,
        severity=change.severity,
        message=change.message,
        fix=change.fix
        or case.fix(
            what=change.what, did=change.did, measurement=change.subject.measurement or change.subject.database
        ),
        guilty=change.subject.column or None,
        evidence=(
            Evidence(f"on {previous.day}", change.before),
            Evidence(f"on {case.profile.day}", change.after),
        ),
        since=case.profile.day,
        facts=("measurements", "tag_keys", "field_types"),
    )
