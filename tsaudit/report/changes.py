"""Differences from the previous run: findings, verdict, and the schema itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from tsaudit.history.lifecycle import is_good
from tsaudit.model.figures import Subject
from tsaudit.model.finding import AuditResult, Finding, RuleResult, Severity, Verdict, fingerprint
from tsaudit.model.profile import Measurement, Profile, Retention
from tsaudit.schema.diff import Difference, DifferenceKind, LiveColumn, differences
from tsaudit.text import many, retention


@dataclass(frozen=True, slots=True)
class FindingChange:
    """A finding that is new or resolved, or whose severity changed."""

    fingerprint: str
    rule: RuleResult
    finding: Finding
    before: Severity | None = None
    """The severity in the previous run, if different; otherwise None."""


@dataclass(frozen=True, slots=True)
class RunChanges:
    """Today's result compared with the previous run."""

    day_before: date
    verdict_before: Verdict
    verdict: Verdict
    new: tuple[FindingChange, ...]
    gone: tuple[FindingChange, ...]
    not_evaluated: tuple[FindingChange, ...]
    """Findings of the previous run whose rule could not be evaluated today, so their state is not known."""
    severity: tuple[FindingChange, ...]

    @property
    def raised(self) -> tuple[FindingChange, ...]:
        """Findings that are more severe now."""
        return tuple(c for c in self.severity if c.before and c.finding.severity.rank > c.before.rank)

    @property
    def lowered(self) -> tuple[FindingChange, ...]:
        """Findings that are less severe now."""
        return tuple(c for c in self.severity if c.before and c.finding.severity.rank < c.before.rank)

    @property
    def any(self) -> bool:
        return bool(
            self.new or self.gone or self.not_evaluated or self.severity or self.verdict is not self.verdict_before
        )


@dataclass(frozen=True, slots=True)
class SchemaChange:
    """One difference between two snapshots of a schema."""

    kind: str
    """`new`, `gone` or `changed`."""
    what: str
    """What has changed: `database`, `measurement`, a column named by its role (`time`, `tag`, `field`), `role`, `type`,
    `retention`.
    """
    subject: Subject
    detail: str = ""


def compare(before: AuditResult, now: AuditResult, muted: Collection[str] = ()) -> RunChanges:
    """What changed between two results of one target.

    `muted`: fingerprints of the findings that are ignored in both verdicts.
    """
    old, new = _by_fingerprint(before), _by_fingerprint(now)
    rules = {r.code: r for r in now.results}
    absent = [change for key, change in old.items() if key not in new]
    over = {c.fingerprint for c in absent if is_good(c.rule.code, c.finding.subject, rules)}
    return RunChanges(
        day_before=before.day,
        verdict_before=before.without(muted).verdict,
        verdict=now.without(muted).verdict,
        new=tuple(change for key, change in new.items() if key not in old),
        gone=tuple(c for c in absent if c.fingerprint in over),
        not_evaluated=tuple(c for c in absent if c.fingerprint not in over),
        severity=tuple(
            FindingChange(key, c.rule, c.finding, old[key].finding.severity)
            for key, c in new.items()
            if key in old and old[key].finding.severity is not c.finding.severity
        ),
    )


def schema_changes(before: Profile, now: Profile) -> Iterator[SchemaChange]:
    """Differences between two snapshots. Whatever one of them could not read, or skipped, is reported as neither new
    nor gone.
    """
    yield from map(_schema_change, differences(before, now))
    yield from _retention(before, now)


def describe(found: Sequence[SchemaChange], measurement: str) -> str:
    """The changes in words: `2 new fields, 1 tag gone, 1 type changed`. `measurement`: the engine's word for a
    measurement.
    """
    counts = Counter((c.kind, measurement if c.what == "measurement" else c.what) for c in found)
    return ", ".join(
        many(count, f"new {what}") if kind == "new" else f"{many(count, what)} {kind}"
        for (kind, what), count in counts.items()
    )


def _schema_change(difference: Difference) -> SchemaChange:
    subject, was, is_now = difference.subject, difference.before, difference.after
    if isinstance(was, LiveColumn) and isinstance(is_now, LiveColumn):
        what = str(difference.kind)
        pair = (was.role, is_now.role) if difference.kind is DifferenceKind.ROLE else (_types(was), _types(is_now))
        return SchemaChange("changed", what, subject, " → ".join(pair))
    there = is_now or was
    if isinstance(there, LiveColumn):
        return SchemaChange(str(difference.kind), str(there.role), subject, _types(there))
    if there is None:
        return SchemaChange(str(difference.kind), "database", subject)
    return SchemaChange(str(difference.kind), "measurement", subject, _shape(there) if there is is_now else "")


def _types(column: LiveColumn) -> str:
    return " | ".join(column.types)


def _by_fingerprint(result: AuditResult) -> dict[str, FindingChange]:
    found: dict[str, FindingChange] = {}
    for rule, finding in result.findings():
        key = fingerprint(result.target, rule.code, finding.subject)
        # Sorted worst first: of two findings with the same fingerprint, the more severe one is kept.
        found.setdefault(key, FindingChange(key, rule, finding))
    return found


def _shape(measurement: Measurement) -> str:
    return f"{many(len(measurement.tags), 'tag')}, {many(len(measurement.fields), 'field')}"


def _retention(before: Profile, now: Profile) -> Iterator[SchemaChange]:
    old, new = _policies(before), _policies(now)
    for database, policy in sorted(old.keys() & new.keys()):
        was, is_now = old[database, policy], new[database, policy]
        if (was.duration_s, was.partition_s, was.default) != (is_now.duration_s, is_now.partition_s, is_now.default):
            yield SchemaChange("changed", "retention", Subject(database), f"{policy}: {_keeps(was)} → {_keeps(is_now)}")
    tables = {Subject(m.database, m.name): m.retention for m in before.measurements if m.retention}
    for m in now.measurements:
        earlier = tables.get(Subject(m.database, m.name))
        if earlier and m.retention and earlier.duration_s != m.retention.duration_s:
            text = f"{retention(earlier.duration_s)} → {retention(m.retention.duration_s)}"
            yield SchemaChange("changed", "retention", Subject(m.database, m.name), text)


def _policies(profile: Profile) -> Mapping[tuple[str, str], Retention]:
    return {(d.name, r.policy): r for d in profile.databases for r in d.retention or ()}


def _keeps(policy: Retention) -> str:
    return retention(policy.duration_s) + (", default" if policy.default else "")
