"""Which changes the history gives the next audit: what somebody may have made since."""

from __future__ import annotations

from datetime import timedelta

from tests.builders import DAY, a_finding, a_profile, a_result, a_rule_result
from tsaudit.config.settings import Incidents
from tsaudit.history import incidents
from tsaudit.history.store import Store
from tsaudit.model.change import ChangeType
from tsaudit.model.figures import Subject
from tsaudit.model.finding import Severity
from tsaudit.model.plan import Plan, Requested, Step, StepKind

AT = Subject("main", "cpu")
CHANGE = ChangeType(AT, "usage", "float")
PLAN = Plan(AT, (Requested(CHANGE, ("FLD002",)),), (Step(StepKind.STORED, "Drop it.", "ALTER TABLE x;", "sql"),))


def _audited(store: Store, day: int, *plans: Plan, code: str = "FLD002") -> None:
    findings = [a_finding(AT, changes=(CHANGE,))] if plans else []
    on = DAY + timedelta(days=day)
    result = a_result(a_rule_result(*findings, code=code), day=on, plans=plans)
    store.save(a_profile(day=on), result, None)
    incidents.update(store, result, Incidents(open_after=1, resolve_after=2), lambda *_: "default")


def _wanted(store: Store, day: int) -> set[Requested]:
    return set(store.timeline("demo", before=DAY + timedelta(days=day)).wanted)


def test_changes_are_known_until_the_last_step_of_their_plan_has_had_its_time(store: Store) -> None:
    assert _wanted(store, 0) == set()
    _audited(store, 0, PLAN)
    assert _wanted(store, 0) == set()
    assert _wanted(store, 1) == set(PLAN.changes)
    # Carried out but for the last step: the finding is gone, and the incident with the second audit that is without.
    _audited(store, 1)
    _audited(store, 2)
    assert _wanted(store, 3) == set(PLAN.changes)
    _audited(store, 5)
    assert _wanted(store, 6) == set(PLAN.changes)
    _audited(store, 20)
    assert _wanted(store, 21) == set(), "three weeks later it explains nothing any more"


def test_changes_that_a_note_asked_for_are_known_as_well(store: Store) -> None:
    note = a_finding(AT, Severity.NOTE, changes=(CHANGE,))
    store.save(a_profile(day=DAY), a_result(a_rule_result(note, code="FLD002"), day=DAY), None)
    timeline = store.timeline("demo", before=DAY + timedelta(days=1))
    assert timeline.wanted == (Requested(CHANGE, ("FLD002",)),)


def test_changes_of_each_audit_since_the_snapshot_that_is_compared_with(store: Store) -> None:
    _audited(store, 0, PLAN)
    on = DAY + timedelta(days=1)
    store.save(None, a_result(a_rule_result(), day=on), None)
    assert _wanted(store, 2) == set(PLAN.changes)
