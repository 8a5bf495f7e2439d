"""The findings as the page shows them: worst first, the first in full, the rest in compact form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import groupby
from typing import TYPE_CHECKING, Final

from tsaudit.facts import FACTS, sources_of
from tsaudit.finding import AuditResult, Finding, RuleResult, Severity, fingerprint
from tsaudit.profile import Measurement, Profile
from tsaudit.report import foreign, words

if TYPE_CHECKING:
    from tsaudit.history.incidents import Decision, Incident

FULL_BYTES: Final = 260_000
"""About how much of the page findings shown in full may take."""
COMPACT_BYTES: Final = 90_000
"""About how much the messages of compact findings may take; beyond it only name and figure are shown."""
LONGEST_TEXT: Final = 1_500
"""Characters of a fix or a statement that are shown."""
_MARKUP_BYTES: Final = 1_100


@dataclass(frozen=True, slots=True)
class Item:
    """One finding with all that belongs to it."""

    rule: RuleResult
    finding: Finding
    fingerprint: str
    anchor: str
    """Its id on the page: `f-<fingerprint>`, with a number for further findings of one rule at one place."""
    incident: Incident | None
    decision: Decision | None
    """Why nobody is bothered by it (accepted, snoozed) or who has taken it on (ack), while that holds."""
    samples: tuple[str, ...]
    statements: tuple[tuple[str, str], ...]
    """Fact name and the statement that was sent for it."""
    touched: float
    """Series it concerns: the measurement's, times the guilty one's share."""

    @property
    def settled(self) -> bool:
        """Accepted or snoozed: known, and nobody is to be bothered."""
        return self.decision is not None and self.decision.kind != "ack"

    @property
    def state(self) -> str:
        """Where it stands in the life of an incident, in words."""
        incident = self.incident
        if incident is None:
            return "For information, opens no incident" if self.finding.severity is Severity.INFO else "No incident"
        if incident.state == "open":
            since = f" since {words.long_day(incident.opened)}" if incident.opened else ""
            taken = f", acknowledged by {self.decision.owner}" if self.decision and self.decision.kind == "ack" else ""
            return f"Open{since}{taken}"
        return "Watched, not yet an incident" if incident.state == "watching" else "Resolved"

    @property
    def own_sentence(self) -> str:
        """The message without its full stop."""
        return self.finding.message.strip().rstrip(".")


@dataclass(frozen=True, slots=True)
class CompactItem:
    """A finding as one short line."""

    anchor: str
    name: str
    text: str


@dataclass(frozen=True, slots=True)
class CompactGroup:
    """Findings of one rule and severity."""

    rule: RuleResult
    severity: Severity
    items: tuple[CompactItem, ...]


@dataclass(frozen=True, slots=True)
class FindingsView:
    """The section's contents."""

    full: tuple[Item, ...]
    compact: tuple[CompactGroup, ...]
    settled: tuple[Item, ...]
    settled_compact: tuple[CompactGroup, ...]

    @property
    def open_count(self) -> int:
        return len(self.full) + sum(len(g.items) for g in self.compact)

    @property
    def settled_count(self) -> int:
        return len(self.settled) + sum(len(g.items) for g in self.settled_compact)


def items_of(
    result: AuditResult, profile: Profile | None, incidents: Iterable[Incident], *, full_values: bool
) -> list[Item]:
    """All findings by impact: by severity, then by the series they concern, then by how far over the limit."""
    by_fingerprint = {incident.fingerprint: incident for incident in incidents}
    measurements = {(m.database, m.name): m for m in profile.measurements} if profile else {}
    found = []
    seen: Counter[str] = Counter()
    for rule, finding in result.findings():
        measurement = measurements.get((finding.subject.database, finding.subject.measurement))
        mark = fingerprint(result.target, rule.code, finding.subject)
        incident = by_fingerprint.get(mark)
        seen[mark] += 1
        found.append(
            Item(
                rule=rule,
                finding=finding,
                fingerprint=mark,
                anchor=f"f-{mark}" if seen[mark] == 1 else f"f-{mark}-{seen[mark]}",
                incident=incident,
                decision=_holding(incident, result.day),
                samples=foreign.shown(finding.samples, full=full_values) if finding.samples else (),
                statements=_statements(finding, measurement, profile),
                touched=_touched(finding, measurement, profile),
            )
        )
    return sorted(found, key=_impact)


def arrange(items: Sequence[Item]) -> FindingsView:
    """Which findings are shown in full, which in compact form, and which are settled."""
    open_items = [item for item in items if not item.settled]
    settled = [item for item in items if item.settled]
    full = _fitting(open_items, FULL_BYTES)
    settled_full = _fitting(settled, FULL_BYTES // 4)
    return FindingsView(
        full=tuple(open_items[:full]),
        compact=_compact(open_items[full:], COMPACT_BYTES),
        settled=tuple(settled[:settled_full]),
        settled_compact=_compact(settled[settled_full:], COMPACT_BYTES // 4),
    )


def sentence(item: Item) -> str:
    """The finding in one sentence: what, who is guilty, since when, and how long there is left."""
    finding, clauses = item.finding, []
    if finding.guilty:
        share = f" for {words.percent(finding.share)} of it" if finding.share is not None else ""
        clauses.append(f"`{foreign.cut(finding.guilty, 60)}` is to blame{share}")
    onset = finding.since or (finding.forecast.onset if finding.forecast else None)
    if onset:
        clauses.append(f"it began on {words.long_day(onset)}")
    left = days_left(finding)
    if left:
        clauses.append(left)
    message = foreign.cut(item.own_sentence, 300)
    return f"{message}: {words.listing(clauses)}." if clauses else f"{message}."


def days_left(finding: Finding) -> str:
    """`the limit is reached in about 9 days (7 to 13)`; empty without a forecast that reaches it."""
    forecast = finding.forecast
    if forecast is None or forecast.days is None:
        return ""
    if forecast.days <= 0:
        return "the limit is already reached"
    low = "?" if forecast.days_low is None else words.number(round(forecast.days_low))
    high = "later" if forecast.days_high is None else words.number(round(forecast.days_high))
    about = words.plural(max(1, round(forecast.days)), "day")
    return f"the limit is reached in about {about} (8 times of 10 within {low} to {high})"


def _holding(incident: Incident | None, day: date) -> Decision | None:
    decision = incident.decision if incident else None
    if decision is None or (decision.until is not None and decision.until < day):
        return None
    return decision


def _statements(
    finding: Finding, measurement: Measurement | None, profile: Profile | None
) -> tuple[tuple[str, str], ...]:
    """The statements the finding rests on; the measurement's own where it has them, else the target's."""
    if profile is None:
        return ()
    own: Mapping[str, str] = measurement.statements if measurement else {}
    names = [s for fact in finding.facts for s in (sorted(sources_of(fact)) if fact in FACTS else [fact])]
    found = {name: own.get(name) or profile.statements.get(name) for name in names}
    return tuple((name, text) for name, text in found.items() if text)


def _touched(finding: Finding, measurement: Measurement | None, profile: Profile | None) -> float:
    if measurement is not None:
        series = measurement.series.value if measurement.series else 0
    else:
        series = (profile.series if profile else None) or 0
    return series * (1.0 if finding.share is None else finding.share)


def _impact(item: Item) -> tuple[object, ...]:
    finding, over = item.finding, 0.0
    if finding.limit and finding.limit.value > 0 and finding.observed is not None:
        over = finding.observed / finding.limit.value
    return (-finding.severity.rank, -item.touched, -over, item.rule.code, finding.subject)


def _fitting(items: Sequence[Item], room: int) -> int:
    """How many of the items, from the first, fit into the room when shown in full."""
    for count, item in enumerate(items):
        room -= _weight(item)
        if room < 0:
            return count
    return len(items)


def _weight(item: Item) -> int:
    finding = item.finding
    long = sum(min(len(t), LONGEST_TEXT) for t in (finding.fix, *(text for _, text in item.statements)))
    short = sum(len(e.label) + min(len(e.value), foreign.LONGEST) for e in finding.evidence)
    return _MARKUP_BYTES + 45 * len(finding.evidence) + len(finding.message) + long + short


def _compact(items: Sequence[Item], room: int) -> tuple[CompactGroup, ...]:
    groups = []
    spent = 0
    ordered = sorted(items, key=lambda i: (-i.finding.severity.rank, i.rule.code))
    for (severity, _), members in groupby(ordered, key=lambda i: (i.finding.severity, i.rule.code)):
        lines = []
        for item in members:
            text = foreign.cut(item.finding.message)
            spent += len(text)
            if spent > room:
                text = _observed(item.finding)
            lines.append(CompactItem(item.anchor, foreign.cut(str(item.finding.subject), 60), text))
            rule = item.rule
        groups.append(CompactGroup(rule, severity, tuple(lines)))
    return tuple(groups)


def _observed(finding: Finding) -> str:
    return "" if finding.observed is None else words.quantity(finding.observed, finding.unit)
