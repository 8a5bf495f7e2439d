"""Differences from an earlier audit: findings, verdict, the schema itself, and the figures that moved most.

Only figures that both snapshots measured in the same way are compared. Something new counts as growing from zero,
something gone as falling to zero, and what only one of them could measure as not compared.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING, Final

from tsaudit.engines.registry import ENGINES
from tsaudit.history.lifecycle import is_good
from tsaudit.model.figures import How, Subject
from tsaudit.model.finding import AuditResult, Finding, RuleResult, Severity, Verdict, fingerprint
from tsaudit.model.profile import Measurement, Profile
from tsaudit.model.storage import Retention
from tsaudit.model.timeline import Figure, figures_of_its_day
from tsaudit.text import many, number, retention

if TYPE_CHECKING:
    from tsaudit.analysis.schema_diff import Difference, LiveColumn


@dataclass(frozen=True, slots=True)
class FindingChange:
    """A finding that is new or resolved, or whose severity changed."""

    fingerprint: str
    rule: RuleResult
    finding: Finding
    before: Severity | None = None
    """The severity in the earlier result, if different; otherwise None."""

    @property
    def is_note(self) -> bool:
        """Whether it is a note, and was none of more severity."""
        return self.finding.severity is Severity.NOTE and self.before is None


@dataclass(frozen=True, slots=True)
class RunChanges:
    """Today's result compared with that of the last audit before it that measured anything."""

    day_before: date
    verdict_before: Verdict
    verdict: Verdict
    new: tuple[FindingChange, ...]
    gone: tuple[FindingChange, ...]
    not_evaluated: tuple[FindingChange, ...]
    """Findings of the earlier result whose rule could not be evaluated today, so their state is not known."""
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
    def by_kind(self) -> dict[str, tuple[FindingChange, ...]]:
        """What has happened to findings, in words, to those to which it did."""
        kinds = {"new": self.new, "raised": self.raised, "lowered": self.lowered, "gone": self.gone}
        return {kind: found for kind, found in (kinds | {"not evaluated": self.not_evaluated}).items() if found}

    def counts(self, *, notes: bool) -> str:
        """How many findings changed in which way: only those that are notes and were, or only all others; empty for
        none.
        """
        counted = {kind: sum(c.is_note is notes for c in found) for kind, found in self.by_kind.items()}
        return ", ".join(f"{number(count)} {kind}" for kind, count in counted.items() if count)

    @property
    def any(self) -> bool:
        return bool(self.by_kind or self.verdict is not self.verdict_before)


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
    # What another finding says now has not gone.
    folded = {fingerprint(now.target, rule.code, f.subject) for rule in now.results for f in rule.folded}
    absent = [change for key, change in old.items() if key not in new and key not in folded]
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
    from tsaudit.analysis.schema_diff import differences

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
    from tsaudit.analysis.schema_diff import DifferenceKind, LiveColumn

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


MOST: Final = 5
"""Most movers listed for each figure."""
_SIGMAS: Final = 2
"""Number of standard errors by which an estimate has to change to count as moved."""
_OF_WINDOW: Final = frozenset({"rows"})
"""Figures that depend on the length of the window."""
_PARTS: Final = ("series", "rows", "tag_values")
"""Figures that add up, in the order of the page."""
_OF_TAGS: Final = frozenset({"tag_values"})
_WHOLES: Final = ("measurements", "stored_bytes")
"""Figures of the whole target, whose parts are not listed."""


@dataclass(frozen=True, slots=True)
class Mover:
    """One figure of one measurement, one tag, or the target, on both days."""

    subject: Subject
    before: float
    """0 if it is new."""
    now: float
    """0 if it is gone."""
    error: float = 0.0
    """Standard error of the change; 0 if both figures are exact, or if it is not known."""
    is_estimate: bool = False

    @property
    def change(self) -> float:
        return self.now - self.before

    @property
    def has_moved(self) -> bool:
        """Whether the change is larger than the random error of the estimates."""
        return abs(self.change) > _SIGMAS * self.error


@dataclass(frozen=True, slots=True)
class Moved:
    """One figure of the target, and where it changed most."""

    figure: str
    """As in `Figure.name`."""
    total: Mover
    not_compared: int
    """Number of measurements or tags that only one of the days measured, or that the days measured differently; 0 if
    the total is the target's own figure.
    """
    is_part: bool
    """Whether the total covers only what was compared: the target has more, or its own figure was not measured."""
    movers: tuple[Mover, ...]
    """The measurements or tags that changed most, at most MOST."""
    more: int
    """Number of further measurements or tags that changed."""

    @property
    def ratio(self) -> float | None:
        """The change divided by the figure before; None if that was zero."""
        return self.total.change / self.total.before if self.total.before else None

    @property
    def has_moved(self) -> bool:
        """Whether anything changed, even if gains and losses cancel each other out."""
        return self.total.has_moved or bool(self.movers)


@dataclass(frozen=True, slots=True)
class Movement:
    """The figures of two snapshots, compared."""

    day_before: date
    figures: tuple[Moved, ...]
    """Figures that could be compared, whether or not they changed."""
    not_compared: tuple[str, ...]
    """Names of figures that could not be compared at all, although one of the days measured them."""

    @property
    def moved(self) -> tuple[Moved, ...]:
        return tuple(one for one in self.figures if one.has_moved)

    @property
    def still(self) -> tuple[Moved, ...]:
        return tuple(one for one in self.figures if not one.has_moved)


def movement(before: Profile, now: Profile) -> Movement:
    """Compare the figures of two snapshots of one target."""
    pair = _Pair(before, now)
    found = {name: _parts(pair, name) for name in _PARTS} | {name: _whole(pair, name) for name in _WHOLES}
    kept = tuple(one for one in found.values() if one is not None)
    missing = tuple(name for name, one in found.items() if one is None and pair.has(name))
    return Movement(before.day, kept, missing)


class _Pair:
    """Two snapshots, and what can be compared between them."""

    def __init__(self, before: Profile, now: Profile) -> None:
        self._before, self._now = _Side(before), _Side(now)
        lengths = {round((p.window.end - p.window.start).total_seconds()) for p in (before, now)}
        self._same_window = len(lengths) == 1

    def has(self, name: str) -> bool:
        return bool(self._before.figures[name] or self._now.figures[name])

    def subjects(self, name: str) -> list[Subject]:
        """The measurements or tags of both days, whether or not they have the figure."""
        return list(dict.fromkeys((*self._before.subjects(name), *self._now.subjects(name))))

    def all_listed(self) -> bool:
        """Whether both days list every measurement."""
        return self._before.all_listed and self._now.all_listed

    def mover(self, name: str, subject: Subject) -> Mover | None:
        """The figure on both days; None if it cannot be compared."""
        if name in _OF_WINDOW and not self._same_window:
            return None
        old, new = self._before.figures[name].get(subject), self._now.figures[name].get(subject)
        if old is not None and new is not None:
            return _compared(old, new)
        if new is not None and self._before.lacks(subject):
            return _compared(replace(new, value=0.0, standard_error=None), new)
        if old is not None and self._now.lacks(subject):
            return _compared(old, replace(old, value=0.0, standard_error=None))
        return None


class _Side:
    """One of the two snapshots."""

    def __init__(self, profile: Profile) -> None:
        self.figures: dict[str, dict[Subject, Figure]] = {name: {} for name in (*_PARTS, *_WHOLES)}
        other = {Subject(m.database, m.name) for m in profile.measurements if _has_rows_of_other_days(profile, m)}
        for one in figures_of_its_day(profile):
            if one.name in self.figures and not (one.name in _OF_WINDOW and one.subject in other):
                self.figures[one.name][one.subject] = one
        self._profile = profile
        self._measurements = {(m.database, m.name): m for m in profile.measurements}
        self.all_listed = profile.all_listed()

    def subjects(self, name: str) -> Iterator[Subject]:
        """The measurements or, for a figure of tags, the tags."""
        for m in self._measurements.values():
            if name in _OF_TAGS:
                yield from (Subject(m.database, m.name, tag.key) for tag in m.tags)
            elif name != "series" or m.has_series:
                yield Subject(m.database, m.name)

    def lacks(self, subject: Subject) -> bool:
        """Whether the measurement or tag did not exist: the snapshot would otherwise contain it."""
        from tsaudit.analysis.schema_diff import shows

        if not subject.measurement or not shows(self._profile, subject.database, subject.measurement):
            return False
        found = self._measurements.get((subject.database, subject.measurement))
        return found is None or bool(subject.column and all(tag.key != subject.column for tag in found.tags))


def _has_rows_of_other_days(profile: Profile, measurement: Measurement) -> bool:
    """Whether its rows are not those of the window: it has none there, and others were counted, or they were counted on
    an earlier day, when an index listed the same series. A table is counted again if its contents have changed.
    """
    rows, has_index = measurement.rows, ENGINES[profile.engine].has_series_index
    is_taken_over = rows is not None and has_index and rows.source.as_of.date() < profile.day
    return measurement.own_window is not None or is_taken_over


def _compared(old: Figure, new: Figure) -> Mover | None:
    """Both figures as a mover; None for samples, whose figures change by chance, and for an exact figure with an
    estimate of unknown error.
    """
    if How.SAMPLED in (old.how, new.how):
        return None
    errors = [one.standard_error for one in (old, new) if one.how is How.ESTIMATE]
    if old.how is not new.how and None in errors:
        return None
    return Mover(new.subject, old.value, new.value, math.hypot(*(error or 0.0 for error in errors)), bool(errors))


def _parts(pair: _Pair, name: str) -> Moved | None:
    """The sum over all measurements or tags; the target's own figure if both days have it."""
    subjects = pair.subjects(name)
    found = [one for one in (pair.mover(name, subject) for subject in subjects) if one is not None]
    moved = sorted((one for one in found if one.has_moved), key=lambda one: (-abs(one.change), one.subject))
    total = pair.mover(name, Subject())
    not_compared = 0 if total else len(subjects) - len(found)
    # The sum of the series is not the target's number even if all are compared: retention policies may share series.
    is_part = total is None and (name == "series" or not_compared > 0 or not pair.all_listed())
    if total is None and found:
        before, now = math.fsum(one.before for one in found), math.fsum(one.now for one in found)
        estimated = any(one.is_estimate for one in found)
        total = Mover(Subject(), before, now, math.hypot(*(one.error for one in found)), estimated)
    if total is None:
        return None
    return Moved(name, total, not_compared, is_part, tuple(moved[:MOST]), max(0, len(moved) - MOST))


def _whole(pair: _Pair, name: str) -> Moved | None:
    total = pair.mover(name, Subject())
    return Moved(name, total, 0, False, (), 0) if total else None
