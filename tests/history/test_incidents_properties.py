"""Whatever the days bring, incidents follow one short reference, and replaying a day changes nothing."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import DAY, a_finding, a_result, a_rule_result
from tests.history.conftest import EXAMPLES
from tsaudit.config.settings import Incidents
from tsaudit.history import incidents
from tsaudit.history.lifecycle import IncidentChange, IncidentState
from tsaudit.history.store import Store
from tsaudit.model.figures import Subject
from tsaudit.model.finding import AuditResult, Outcome, RuleResult, Severity

HOST: Final = Subject("main", "cpu", "host")

RULES: Final[dict[str, RuleResult]] = {
    "warning": a_rule_result(a_finding(HOST)),
    "critical": a_rule_result(a_finding(HOST, Severity.CRITICAL)),
    "good": a_rule_result(),
    "unknown": a_rule_result(outcome=Outcome.ERROR),
}
SIGHTS: Final = st.sampled_from(sorted(RULES))
RUNS: Final = st.integers(1, 3)

fresh_target: Final = (f"t{number}" for number in itertools.count())
"""Examples share one history, so each has a target of its own."""


@dataclass
class Reference:
    """The life of one incident, told as simply as possible."""

    open_after: int
    resolve_after: int
    first_seen: date | None = None
    opened: date | None = None
    severity: str = ""
    bad: int = 0
    good: int = 0

    def see(self, sight: str, day: date) -> str | None:
        """The change that the day should bring."""
        if sight == "unknown":
            return "continued" if self.opened else None
        if sight == "good":
            self.bad, self.good = 0, self.good + 1
            if self.opened is None:
                return None
            if self.good < self.resolve_after:
                return "continued"
            self.opened = None
            return "resolved"
        was, self.severity = self.severity, sight
        self.first_seen = self.first_seen or day
        self.bad, self.good = self.bad + 1, 0
        if self.opened:
            return "continued" if was == sight else "raised" if sight == "critical" else "lowered"
        if self.bad >= self.open_after:
            self.opened = day
            return "opened"
        return None


def audit(target: str, sight: str, day: date) -> AuditResult:
    return a_result(RULES[sight], target=target, day=day)


def update(store: Store, target: str, sight: str, day: date, policy: Incidents) -> list[IncidentChange]:
    return incidents.update(store, audit(target, sight, day), policy, lambda _finding, _rule: "team")


def standing(store: Store, target: str) -> list[tuple[object, ...]]:
    found = incidents.current(store, target)
    return [(i.state, i.opened, i.severity) for i in found if i.state is not IncidentState.RESOLVED]


def test_incident_follows_the_reference_and_replays_change_nothing(store: Store) -> None:
    @settings(max_examples=EXAMPLES[store.engine.dialect.name], deadline=None)
    @given(sights=st.lists(SIGHTS, max_size=10), open_after=RUNS, resolve_after=RUNS)
    def holds(sights: Sequence[str], open_after: int, resolve_after: int) -> None:
        target, policy = next(fresh_target), Incidents(open_after=open_after, resolve_after=resolve_after)
        reference = Reference(open_after, resolve_after)
        for number, sight in enumerate(sights):
            day = DAY + timedelta(days=number)
            expected = reference.see(sight, day)
            changes = update(store, target, sight, day, policy)
            assert [str(c.kind) for c in changes] == ([expected] if expected else [])
            kept = incidents.current(store, target)
            assert update(store, target, sight, day, policy) == changes
            assert incidents.current(store, target) == kept
            if reference.opened:
                (incident,) = kept
                assert (incident.opened, incident.first_seen) == (reference.opened, reference.first_seen)
                assert str(incident.severity) == reference.severity
            assert all(i.state is not IncidentState.OPEN for i in kept) == (reference.opened is None)

    holds()


def test_of_several_runs_of_a_day_the_last_that_knows_counts(store: Store) -> None:
    @settings(max_examples=EXAMPLES[store.engine.dialect.name], deadline=None)
    @given(days=st.lists(st.lists(SIGHTS, min_size=1, max_size=3), max_size=6), open_after=RUNS, resolve_after=RUNS)
    def holds(days: Sequence[Sequence[str]], open_after: int, resolve_after: int) -> None:
        often, once = next(fresh_target), next(fresh_target)
        policy = Incidents(open_after=open_after, resolve_after=resolve_after)
        for number, sights in enumerate(days):
            day = DAY + timedelta(days=number)
            for sight in sights:
                update(store, often, sight, day, policy)
            known = [sight for sight in sights if sight != "unknown"]
            update(store, once, known[-1] if known else "unknown", day, policy)
            assert standing(store, often) == standing(store, once)

    holds()
