"""The findings on the page and their plans. Findings are sorted worst first: the first ones are shown in full, the rest
in compact form.
"""

from __future__ import annotations

from bisect import bisect
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import accumulate, groupby
from typing import TYPE_CHECKING, Final

from tsaudit.history import decisions
from tsaudit.model.facts import FACTS, sources_of
from tsaudit.model.figures import Subject
from tsaudit.model.finding import AuditResult, Finding, RuleResult, Severity, fingerprint
from tsaudit.model.plan import Plan
from tsaudit.model.profile import Measurement, Profile
from tsaudit.report import untrusted
from tsaudit.text import quantity, short_fingerprint

if TYPE_CHECKING:
    from tsaudit.history.lifecycle import Decision, Incident

ROOM_BYTES: Final = 600_000
"""Approximate size of all findings on the page, in bytes. The worst findings are listed until it is used up; the others
are only counted.
"""
LEAST_FULL_BYTES: Final = 60_000
"""Minimum bytes for findings in full, and for messages, however many findings there are."""
LONGEST_TEXT: Final = 1_500
"""Maximum number of characters of a fix or a statement."""
PLANS_BYTES: Final = 80_000
"""Approximate size of all plans on the page, in bytes."""
_DECISIONS: Final = {
    "ack": "Acknowledge: you are working on it",
    "mute": "Mute for a week",
}
"""Commands for the decisions about an open finding."""
_OPTIONS: Final = {
    "ack": "--reason 'working on it'",
    "mute": "--for 1w --reason 'planned for later'",
}
LONGEST_NAME: Final = 80
LEAST_NAME: Final = 14
"""Minimum characters for the name of a finding in compact form: that of its measurement and its column."""
_ANCHOR_BYTES: Final = 46
"""Bytes of the smallest compact finding without its name: its anchor and its figure."""
_MARKUP_BYTES: Final = 3_800
"""Bytes of a finding in full without its texts."""


@dataclass(frozen=True, slots=True)
class Item:
    """One finding with everything that belongs to it."""

    rule: RuleResult
    finding: Finding
    fingerprint: str
    anchor: str
    """Its ID on the page: `f-<fingerprint>`, with a number for further findings of one rule at one place."""
    incident: Incident | None
    decision: Decision | None
    """The decision that applies now: why nobody is notified (mute), or who is working on it (ack); None if there is
    none.
    """
    measurement: Measurement | None
    """The measurement that the finding is about; None if the profile does not have it."""

    @property
    def muted(self) -> bool:
        """Whether the finding is muted, so nobody is notified."""
        return self.decision is not None and self.decision.kind == "mute"

    @property
    def back(self) -> str:
        """Why it is not muted, or acknowledged, although somebody did that; empty if nobody did."""
        return decisions.back(self.incident) if self.incident and not self.decision else ""

    @property
    def state(self) -> str:
        """The state of the finding's incident, in words."""
        incident = self.incident
        if incident is None:
            return "For information, opens no incident" if self.finding.severity is Severity.NOTE else "No incident"
        is_taken = incident.state == "open" and self.decision is not None and self.decision.kind == "ack"
        taken = f", acknowledged by {self.decision.owner}" if is_taken and self.decision else ""
        words = incident.state_description
        return words[:1].upper() + words[1:] + taken

    @property
    def commands(self) -> tuple[Command, ...]:
        """The commands that decide about the finding or undo a decision; none for a finding without an incident."""
        if self.incident is None or self.incident.state == "resolved":
            return ()
        if self.decision is None:
            return tuple(Command(words, _command(kind, self.fingerprint)) for kind, words in _DECISIONS.items())
        kind = str(self.decision.kind)
        others = (
            Command(words, f"{_command(other, self.fingerprint)} --replace")
            for other, words in _DECISIONS.items()
            if other != kind
        )
        return (Command("Undo the decision", f"tsaudit reopen {short_fingerprint(self.fingerprint)}"), *others)


@dataclass(frozen=True, slots=True)
class Command:
    """A command that records a decision."""

    words: str
    text: str


@dataclass(frozen=True, slots=True)
class CompactItem:
    """A finding in a few words."""

    anchor: str
    column: str
    text: str
    """The finding's message if there is room, otherwise its figure."""


@dataclass(frozen=True, slots=True)
class CompactPlace:
    """Findings of one rule in one measurement."""

    name: str
    items: tuple[CompactItem, ...]


@dataclass(frozen=True, slots=True)
class CompactGroup:
    """Findings of one rule and severity."""

    rule: RuleResult
    severity: Severity
    count: int
    places: tuple[CompactPlace, ...]
    """The worst places, as many as there is room for."""

    @property
    def left_out(self) -> int:
        return self.count - sum(len(place.items) for place in self.places)


@dataclass(frozen=True, slots=True)
class FindingsView:
    """The contents of the findings section."""

    full: tuple[Item, ...]
    compact: tuple[CompactGroup, ...]
    muted: tuple[Item, ...]
    muted_compact: tuple[CompactGroup, ...]

    @property
    def actionable(self) -> tuple[Item, ...]:
        """Findings shown in full that count for the verdict."""
        return tuple(i for i in self.full if i.finding.severity is not Severity.NOTE)

    @property
    def notes(self) -> tuple[Item, ...]:
        """Findings shown in full that are only for information."""
        return tuple(i for i in self.full if i.finding.severity is Severity.NOTE)

    @property
    def open_count(self) -> int:
        return len(self.full) + sum(g.count for g in self.compact)

    @property
    def muted_count(self) -> int:
        return len(self.muted) + sum(g.count for g in self.muted_compact)

    @property
    def left_out(self) -> int:
        """Number of findings that are counted, but not listed."""
        return sum(g.left_out for g in (*self.compact, *self.muted_compact))


class PlanIndex:
    """All plans by their subjects: searching all plans for each finding would take quadratic time."""

    def __init__(self, plans: Iterable[Plan]) -> None:
        self._at: dict[Subject, dict[int, Plan]] = defaultdict(dict)
        for place, plan in enumerate(plans):
            for subject in plan.subjects:
                self._at[subject][place] = plan

    def near(self, finding: Finding) -> list[Plan]:
        """The plans, in order, about the subjects that the finding asks to change: the finding's own plan is one of
        these.
        """
        found = {place: plan for c in finding.changes for place, plan in self._at.get(c.at, {}).items()}
        return [found[place] for place in sorted(found)]


def items_of(result: AuditResult, profile: Profile | None, incidents: Iterable[Incident]) -> list[Item]:
    """All findings, worst first."""
    by_fingerprint = {incident.fingerprint: incident for incident in incidents}
    measurements = {(m.database, m.name): m for m in profile.measurements} if profile else {}
    found = []
    seen: Counter[str] = Counter()
    for rule, finding in result.findings():
        measurement = measurements.get((finding.subject.database, finding.subject.measurement))
        key = fingerprint(result.target, rule.code, finding.subject)
        incident = by_fingerprint.get(key)
        seen[key] += 1
        found.append(
            Item(
                rule=rule,
                finding=finding,
                fingerprint=key,
                anchor=f"f-{key}" if seen[key] == 1 else f"f-{key}-{seen[key]}",
                incident=incident,
                decision=_holding(incident, result.day),
                measurement=measurement,
            )
        )
    return found


def arrange(items: Sequence[Item]) -> FindingsView:
    """Which findings are shown in full, which in compact form, and which are muted."""
    open_items = [item for item in items if not item.muted]
    muted = [item for item in items if item.muted]
    # All names are shortened so that all findings would fit in compact form.
    longest_name = min(LONGEST_NAME, max(LEAST_NAME, ROOM_BYTES // max(1, len(items)) - _ANCHOR_BYTES))
    subjects = (item.finding.subject for item in (*open_items, *muted))
    sizes = [_ANCHOR_BYTES + min(longest_name, len(s.measurement) + len(s.column)) for s in subjects]
    spare = max(LEAST_FULL_BYTES, ROOM_BYTES - sum(sizes))
    listed = bisect(list(accumulate(sizes)), ROOM_BYTES)
    full = _fitting(open_items, spare * 6 // 10)
    muted_full = _fitting(muted, spare * 2 // 10)
    room = _Room(spare * 2 // 10, longest_name)
    return FindingsView(
        full=tuple(open_items[:full]),
        compact=_compact(open_items[full:], room, max(0, listed - full)),
        muted=tuple(muted[:muted_full]),
        muted_compact=_compact(muted[muted_full:], room, max(0, listed - len(open_items) - muted_full)),
    )


def arrange_plans(items: Iterable[Item], plan_of: Callable[[Item], Plan | None]) -> dict[int, str]:
    """Plan ID (by identity) to the anchor of the worst finding that asks for it, with which the plan is shown, for the
    plans of findings that are shown in full, as long as there is room.
    """
    found: dict[int, str] = {}
    room = PLANS_BYTES
    for item in items:
        plan = plan_of(item)
        if plan is None or id(plan) in found:
            continue
        room -= sum(len(step.words) + len(step.text) + 300 for step in plan.steps)
        if room < 0 and found:
            break
        found[id(plan)] = item.anchor
    return found


def statements(item: Item, profile: Profile | None, *, full: bool) -> list[tuple[str, str]]:
    """Name and statement of each fact behind the finding: the statement for the measurement, its database, or the
    target. The values of tags in them are redacted unless the configuration says `full`.
    """
    if profile is None:
        return []
    database = next((one for one in profile.databases if one.name == item.finding.subject.database), None)
    own = {**profile.statements}
    own |= database.statements if database else {}
    # Those of a catalog compare names.
    of_rows = item.measurement.statements if item.measurement else {}
    own |= of_rows if full else {name: untrusted.without_values(text) for name, text in of_rows.items()}
    facts = item.finding.facts
    names = dict.fromkeys(s for fact in facts for s in (sorted(sources_of(fact)) if fact in FACTS else [fact]))
    return [(name, own[name]) for name in names if own.get(name)]


def _holding(incident: Incident | None, day: date) -> Decision | None:
    decision = incident.decision if incident else None
    if decision is None or (decision.until is not None and decision.until < day):
        return None
    return decision


def _command(kind: str, key: str) -> str:
    return f"tsaudit {kind} {short_fingerprint(key)} {_OPTIONS[kind]}"


def _fitting(items: Sequence[Item], room: int) -> int:
    """How many of the leading items fit into the room if they are shown in full."""
    for count, item in enumerate(items):
        room -= _weight(item)
        if room < 0:
            return count
    return len(items)


def _weight(item: Item) -> int:
    finding = item.finding
    own = item.measurement.statements if item.measurement else {}
    long = sum(min(len(text), LONGEST_TEXT) for text in (finding.fix, *own.values()))
    short = sum(len(e.label) + min(len(e.value), untrusted.LONGEST) for e in finding.evidence)
    return _MARKUP_BYTES + 45 * len(finding.evidence) + len(finding.message) + long + short


class _Room:
    """What is left of the room: bytes for messages, and characters for a name."""

    def __init__(self, size: int, longest_name: int) -> None:
        self._left = size
        self.longest_name = longest_name

    def text(self, finding: Finding) -> str:
        """The message if there is room for it, otherwise the figure."""
        message = untrusted.cut(finding.message)
        self._left -= len(message)
        if self._left >= 0:
            return message
        return "" if finding.observed is None else quantity(finding.observed, finding.unit)


def _compact(items: Sequence[Item], room: _Room, most: int) -> tuple[CompactGroup, ...]:
    """The findings grouped by severity and rule, then by measurement. The first `most` are listed, the others only
    counted.
    """

    def group_key(item: Item) -> tuple[int, str]:
        return -item.finding.severity.rank, item.rule.code

    def place_key(item: Item) -> tuple[str, str]:
        return item.finding.subject.database, item.finding.subject.measurement

    one_database = len({item.finding.subject.database for item in items} - {""}) < 2
    listed = {item.anchor for item in items[:most]}
    groups = []
    for _, in_group in groupby(sorted(items, key=group_key), key=group_key):
        every = list(in_group)
        members = sorted((item for item in every if item.anchor in listed), key=place_key)
        places = tuple(
            _place(list(here), room, one_database=one_database) for _, here in groupby(members, key=place_key)
        )
        groups.append(CompactGroup(every[0].rule, every[0].finding.severity, len(every), places))
    return tuple(groups)


def _place(items: Sequence[Item], room: _Room, *, one_database: bool) -> CompactPlace:
    subject = items[0].finding.subject
    whole = str(Subject(subject.database, subject.measurement))
    columns = [untrusted.squeezed(i.finding.subject.column, room.longest_name // 2) for i in items]
    # One line contains both names; of several findings in one measurement, each has its own.
    longest = room.longest_name - (len(columns[0]) if len(items) == 1 else 0)
    name = untrusted.squeezed(subject.measurement if one_database and subject.measurement else whole, longest)
    lines = (CompactItem(i.anchor, c, room.text(i.finding)) for i, c in zip(items, columns, strict=True))
    return CompactPlace(name, tuple(lines))
