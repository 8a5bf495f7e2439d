"""What is different from the run before: findings, verdict, and the schema itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Final, TypeVar

from tsaudit.finding import AuditResult, Finding, RuleResult, Severity, Subject, Verdict, fingerprint
from tsaudit.history.lifecycle import is_good
from tsaudit.profile import FOREVER, Measurement, Profile, Retention
from tsaudit.report import words

_SCHEMA_FACTS: Final = ("databases", "measurements", "columns", "tag_keys", "field_types")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class FindingChange:
    """A finding that came, went, or changed its severity."""

    fingerprint: str
    rule: RuleResult
    finding: Finding
    before: Severity | None = None
    """Its severity in the run before, where that differs."""


@dataclass(frozen=True, slots=True)
class RunChanges:
    """Today's result against that of the run before."""

    day_before: date
    verdict_before: Verdict
    verdict: Verdict
    new: tuple[FindingChange, ...]
    gone: tuple[FindingChange, ...]
    not_judged: tuple[FindingChange, ...]
    """Found then; today the rule could not be judged, so nobody knows."""
    severity: tuple[FindingChange, ...]

    @property
    def any(self) -> bool:
        return bool(
            self.new or self.gone or self.not_judged or self.severity or self.verdict is not self.verdict_before
        )


@dataclass(frozen=True, slots=True)
class SchemaChange:
    """One difference between two snapshots of a schema."""

    kind: str
    """`new`, `gone` or `changed`."""
    what: str
    """`measurement`, `tag`, `field`, `type`, `retention`."""
    subject: Subject
    detail: str = ""


def compare(before: AuditResult, now: AuditResult) -> RunChanges:
    """What changed between two results of one target."""
    old, new = _by_fingerprint(before), _by_fingerprint(now)
    rules = {r.code: r for r in now.results}
    absent = [change for mark, change in old.items() if mark not in new]
    over = {c.fingerprint for c in absent if is_good(c.rule.code, c.finding.subject, rules)}
    return RunChanges(
        day_before=before.day,
        verdict_before=before.verdict,
        verdict=now.verdict,
        new=tuple(change for mark, change in new.items() if mark not in old),
        gone=tuple(c for c in absent if c.fingerprint in over),
        not_judged=tuple(c for c in absent if c.fingerprint not in over),
        severity=tuple(
            FindingChange(mark, c.rule, c.finding, old[mark].finding.severity)
            for mark, c in new.items()
            if mark in old and old[mark].finding.severity is not c.finding.severity
        ),
    )


def schema_changes(before: Profile, now: Profile) -> Iterator[SchemaChange]:
    """Differences between two snapshots. What one of them could not see, or left out, is neither new nor gone."""
    old = {(m.database, m.name): m for m in before.measurements}
    new = {(m.database, m.name): m for m in now.measurements}
    blind_before, blind = unseen_databases(before), unseen_databases(now)
    for key in sorted(old.keys() | new.keys()):
        subject = Subject(*key)
        if key not in old:
            if blind_before.isdisjoint((None, key[0])) and before.selection.takes(*key):
                yield SchemaChange("new", "measurement", subject, _shape(new[key]))
        elif key not in new:
            if blind.isdisjoint((None, key[0])) and now.selection.takes(*key):
                yield SchemaChange("gone", "measurement", subject)
        else:
            seen_before, seen = not _unseen(before, old[key]), not _unseen(now, new[key])
            yield from _columns(subject, old[key], new[key], seen_before=seen_before, seen=seen)
    yield from _retention(before, now)


def unseen_databases(profile: Profile) -> frozenset[str | None]:
    """Databases whose schema was not wholly seen; None among them: the target's."""
    return frozenset(g.database for g in profile.gaps if g.fact in _SCHEMA_FACTS and g.measurement is None)


def _by_fingerprint(result: AuditResult) -> dict[str, FindingChange]:
    found: dict[str, FindingChange] = {}
    for rule, finding in result.findings():
        mark = fingerprint(result.target, rule.code, finding.subject)
        # Worst first: of two alike the more severe one stays.
        found.setdefault(mark, FindingChange(mark, rule, finding))
    return found


def _unseen(profile: Profile, measurement: Measurement) -> bool:
    return any(True for fact in _SCHEMA_FACTS for _ in profile.gaps_for(fact, measurement))


def _shape(measurement: Measurement) -> str:
    return f"{words.plural(len(measurement.tags), 'tag')}, {words.plural(len(measurement.fields), 'field')}"


def _columns(
    subject: Subject, old: Measurement, new: Measurement, *, seen_before: bool, seen: bool
) -> Iterator[SchemaChange]:
    def at(column: str) -> Subject:
        return Subject(subject.database, subject.measurement, column)

    roles_before = _roles(old)
    roles = _roles(new)
    for column in sorted(roles_before.keys() | roles.keys()):
        role_before, types_before = roles_before.get(column, ("", ""))
        role, types = roles.get(column, ("", ""))
        if not role_before:
            if seen_before:
                yield SchemaChange("new", role, at(column), types)
        elif not role:
            if seen:
                yield SchemaChange("gone", role_before, at(column), types_before)
        elif role != role_before:
            yield SchemaChange("changed", "role", at(column), f"{role_before} → {role}")
        elif types != types_before:
            yield SchemaChange("changed", "type", at(column), f"{types_before} → {types}")


def _roles(measurement: Measurement) -> dict[str, tuple[str, str]]:
    tags = {t.key: ("tag", t.data_type) for t in measurement.tags}
    return tags | {f.key: ("field", " | ".join(f.types)) for f in measurement.fields}


def _retention(before: Profile, now: Profile) -> Iterator[SchemaChange]:
    old, new = _policies(before), _policies(now)
    for database, policy in sorted(old.keys() & new.keys()):
        was, is_now = old[database, policy], new[database, policy]
        if (was.duration_s, was.partition_s, was.default) != (is_now.duration_s, is_now.partition_s, is_now.default):
            yield SchemaChange("changed", "retention", Subject(database), f"{policy}: {_keeps(was)} → {_keeps(is_now)}")


def _policies(profile: Profile) -> Mapping[tuple[str, str], Retention]:
    return {(d.name, r.policy): r for d in profile.databases for r in d.retention or ()}


def _keeps(retention: Retention) -> str:
    kept = FOREVER if retention.duration_s == FOREVER else words.duration(retention.duration_s)
    default = ", default" if retention.default else ""
    return f"kept {kept}{default}"
