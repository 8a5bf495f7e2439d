"""Incidents over the days: opened, raised, resolved, decided about; replayed without harm."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import date, timedelta
from typing import Final

import pytest
from sqlalchemy import func, select, update

from tests.builders import DAY, a_finding, a_result, a_rule_result
from tsaudit.config.settings import Incidents
from tsaudit.history import decisions, incidents
from tsaudit.history.lifecycle import ChangeKind, DecisionKind, Incident, IncidentChange, IncidentState
from tsaudit.history.schema import incident_day
from tsaudit.history.store import Store
from tsaudit.model.figures import Gap, Reason, Subject, utc_now
from tsaudit.model.finding import (
    UNREACHABLE_CODE,
    Currency,
    Finding,
    Impact,
    Outcome,
    RuleResult,
    Severity,
    fingerprint,
)
from tsaudit.model.timeline import Episode

HOST: Final = Subject("main", "cpu", "host")
MARK: Final = fingerprint("demo", "CAR001", HOST)
QUICK: Final = Incidents(open_after=1, resolve_after=1)

BAD: Final = a_rule_result(a_finding(HOST))
CRITICAL: Final = a_rule_result(a_finding(HOST, Severity.CRITICAL))
GOOD: Final = a_rule_result()


def a_gap(database: str | None = "main", measurement: str | None = "cpu") -> Gap:
    return Gap("tag_values", Reason.DENIED, "no right", database, measurement)


def not_evaluated(outcome: Outcome, *gaps: Gap) -> RuleResult:
    return a_rule_result(outcome=outcome, gaps=gaps)


def on(days: int) -> date:
    return DAY + timedelta(days=days)


def team(finding: Finding, rule: RuleResult) -> str:
    return f"owner of {finding.subject.measurement}"


def run(
    store: Store, days: int, *rules: RuleResult, policy: Incidents = QUICK, target: str = "demo"
) -> list[IncidentChange]:
    result = a_result(*rules, day=on(days), target=target)
    store.save(None, result, None)
    return incidents.update(store, result, policy, team)


def kinds(store: Store, days: int, *rules: RuleResult, policy: Incidents = QUICK) -> list[str]:
    return [str(c.kind) for c in run(store, days, *rules, policy=policy)]


def only(store: Store, day: date | None = None) -> Incident:
    (found,) = incidents.current(store, "demo", day)
    return found


def test_update_opens_continues_and_resolves(store: Store) -> None:
    (opened,) = run(store, 0, BAD)
    assert opened.kind is ChangeKind.OPENED
    assert opened.incident == Incident(
        target="demo",
        fingerprint=MARK,
        code="CAR001",
        rule="high-series-cardinality",
        subject=HOST,
        state=IncidentState.OPEN,
        severity=Severity.WARNING,
        owner="owner of cpu",
        first_seen=DAY,
        opened=DAY,
        resolved=None,
        day=DAY,
        finding=BAD.findings[0],
    )
    assert only(store) == opened.incident
    assert kinds(store, 1, BAD) == ["continued"]
    (resolved,) = run(store, 2, GOOD)
    assert resolved.kind is ChangeKind.RESOLVED
    assert resolved.incident.finding == BAD.findings[0]
    assert (resolved.incident.opened, resolved.incident.resolved) == (DAY, on(2))
    assert only(store).state is IncidentState.RESOLVED
    assert kinds(store, 3, GOOD) == []


def test_update_when_nothing_is_wrong(store: Store) -> None:
    assert run(store, 0, GOOD) == []
    assert incidents.current(store) == []


def test_finding_of_severity_info_opens_nothing_and_counts_as_good(store: Store) -> None:
    info = a_rule_result(a_finding(HOST, Severity.NOTE))
    assert kinds(store, 0, info) == []
    assert incidents.current(store) == []
    run(store, 1, BAD)
    assert kinds(store, 2, info) == ["resolved"]


def test_incident_opens_after_as_many_bad_runs_in_a_row_as_configured(store: Store) -> None:
    policy = Incidents(open_after=3, resolve_after=1)
    seen = [kinds(store, i, rule, policy=policy) for i, rule in enumerate([BAD, BAD, GOOD, BAD, BAD, BAD])]
    assert seen == [[], [], [], [], [], ["opened"]]
    assert (only(store).first_seen, only(store).opened) == (DAY, on(5))
    assert only(store, on(4)).state is IncidentState.WATCHING
    assert incidents.current(store, "demo", on(2)) == [], "it went away before it opened"


def test_incident_resolves_after_as_many_good_runs_in_a_row_as_configured(store: Store) -> None:
    policy = Incidents(open_after=1, resolve_after=2)
    seen = [kinds(store, i, rule, policy=policy) for i, rule in enumerate([BAD, GOOD, BAD, GOOD, GOOD])]
    assert seen == [["opened"], ["continued"], ["continued"], ["continued"], ["resolved"]]


def test_incident_that_comes_back_opens_anew_and_keeps_its_first_day(store: Store) -> None:
    run(store, 0, BAD)
    run(store, 1, GOOD)
    (again,) = run(store, 5, BAD)
    assert again.kind is ChangeKind.OPENED
    assert (again.incident.opened, again.incident.first_seen, again.incident.resolved) == (on(5), DAY, None)


def test_severity_that_rises_and_falls_while_open(store: Store) -> None:
    seen = [kinds(store, i, rule) for i, rule in enumerate([BAD, CRITICAL, CRITICAL, BAD])]
    assert seen == [["opened"], ["raised"], ["continued"], ["lowered"]]
    assert only(store).severity is Severity.WARNING


def ending(days_left: float | None, severity: Severity = Severity.WARNING) -> RuleResult:
    """Partitions that are created ahead of time end in so many days."""
    ends = Impact(Currency.MECHANISM, days_left=days_left)
    return a_rule_result(replace(a_finding(HOST, severity), impact=ends))


def test_incident_is_raised_once_at_each_step_of_the_days_left(store: Store) -> None:
    left = [None, 95, 89, 91, 30, 15.5, 13.9, 14.2, 13.8, 10, None, 6.9, 7.3, 3, 0, -1]
    seen = [kinds(store, i, ending(days)) for i, days in enumerate(left)]
    raised = [days for days, kind in zip(left, seen, strict=True) if kind == ["raised"]]
    assert raised == [89, 13.9, 6.9, 0]
    assert kinds(store, len(left) - 1, ending(-1)) == ["continued"], "the same day again"


def test_what_is_audited_again_on_the_day_is_as_urgent_as_before(store: Store) -> None:
    run(store, 0, ending(20))
    assert [kinds(store, 1, ending(days)) for days in (5, 5)] == [["raised"], ["raised"]]
    assert kinds(store, 2, ending(4)) == ["continued"]


def test_incident_that_opens_anew_becomes_urgent_anew(store: Store) -> None:
    seen = [kinds(store, i, rule) for i, rule in enumerate([ending(20), ending(6), GOOD, ending(20), ending(6)])]
    assert seen == [["opened"], ["raised"], ["resolved"], ["opened"], ["raised"]]


@pytest.mark.parametrize(
    "unknown",
    [
        (not_evaluated(Outcome.ERROR),),
        (not_evaluated(Outcome.NOT_APPLICABLE),),
        (not_evaluated(Outcome.OPEN),),
        (not_evaluated(Outcome.OPEN, a_gap()),),
        (not_evaluated(Outcome.OPEN, a_gap(measurement=None)),),
        (not_evaluated(Outcome.OPEN, a_gap(database=None, measurement=None)),),
        (a_rule_result(a_finding(Subject("main", "disk")), gaps=(a_gap(),)),),
        (a_rule_result(a_finding(Subject()), code=UNREACHABLE_CODE, outcome=Outcome.ERROR),),
    ],
    ids=["error", "n/a", "open", "gap", "gap-database", "gap-target", "other-fails", "unreachable"],
)
def test_day_that_tells_nothing_neither_opens_nor_resolves(store: Store, unknown: tuple[RuleResult, ...]) -> None:
    def of_interest(days: int, *rules: RuleResult) -> list[str]:
        policy = Incidents(open_after=2, resolve_after=2)
        return [str(c.kind) for c in run(store, days, *rules, policy=policy) if c.incident.fingerprint == MARK]

    assert of_interest(0, BAD) == []
    assert of_interest(1, *unknown) == []
    assert of_interest(2, BAD) == ["opened"], "a day without news does not break the row"
    assert of_interest(3, GOOD) == ["continued"]
    assert of_interest(4, *unknown) == ["continued"]
    assert of_interest(5, GOOD) == ["resolved"]
    assert of_interest(6, *unknown) == []


@pytest.mark.parametrize(
    "good",
    [
        not_evaluated(Outcome.OPEN, a_gap(measurement="disk")),
        not_evaluated(Outcome.OPEN, a_gap(database="other", measurement=None)),
        a_rule_result(a_finding(Subject("main", "disk")), gaps=(a_gap(measurement="disk"),)),
    ],
    ids=["other-measurement", "other-database", "other-fails"],
)
def test_gap_elsewhere_does_not_keep_an_incident_open(store: Store, good: RuleResult) -> None:
    run(store, 0, BAD)
    assert [c.kind for c in run(store, 1, good) if c.incident.fingerprint == MARK] == [ChangeKind.RESOLVED]


def test_finding_that_follows_from_another_one_neither_opens_nor_resolves(store: Store) -> None:
    """At its limit, a tag is the cause that the finding about dropped points names: it is not over."""
    folded = replace(GOOD, folded=(a_finding(HOST, Severity.CRITICAL),))
    assert kinds(store, 0, folded) == []
    assert kinds(store, 1, BAD) == ["opened"]
    assert kinds(store, 2, folded) == ["continued"]
    assert only(store).severity is Severity.WARNING
    assert only(store).finding == folded.folded[0]
    assert kinds(store, 3, BAD) == ["continued"]
    assert kinds(store, 4, GOOD) == ["resolved"]


def test_incident_of_a_rule_that_was_retired_is_resolved(store: Store) -> None:
    run(store, 0, BAD)
    assert [str(c.kind) for c in run(store, 1, a_rule_result(code="TAG001"))] == ["resolved"]


def test_incident_of_a_rule_that_was_switched_off_is_resolved(store: Store) -> None:
    run(store, 0, BAD)
    off = replace(not_evaluated(Outcome.NOT_APPLICABLE), switched_off=True)
    assert [str(c.kind) for c in run(store, 1, off, a_rule_result(code="TAG001"))] == ["resolved"]


def test_gap_in_any_part_keeps_an_incident_of_the_whole_open(store: Store) -> None:
    whole = a_rule_result(a_finding(Subject()))
    run(store, 0, whole)
    assert kinds(store, 1, not_evaluated(Outcome.OPEN, a_gap())) == ["continued"]
    assert kinds(store, 2, GOOD) == ["resolved"]


def test_target_that_could_not_be_audited_is_an_incident_of_its_own(store: Store) -> None:
    failed = a_rule_result(a_finding(Subject()), code=UNREACHABLE_CODE, outcome=Outcome.ERROR)
    run(store, 0, BAD)
    changes = run(store, 1, failed)
    assert {c.incident.code: str(c.kind) for c in changes} == {"CAR001": "continued", UNREACHABLE_CODE: "opened"}
    changes = run(store, 2, BAD)
    assert {c.incident.code: str(c.kind) for c in changes} == {"CAR001": "continued", UNREACHABLE_CODE: "resolved"}


def test_database_that_could_not_be_audited_is_an_incident_of_its_own(store: Store) -> None:
    def missed(*databases: str) -> RuleResult:
        findings = [a_finding(Subject(name)) for name in databases]
        return a_rule_result(*findings, code=UNREACHABLE_CODE, outcome=Outcome.ERROR)

    def of_code(days: int, *rules: RuleResult) -> dict[str, str]:
        return {c.incident.subject.database: str(c.kind) for c in run(store, days, *rules)}

    assert of_code(0, GOOD, missed("a", "b")) == {"a": "opened", "b": "opened"}
    assert of_code(1, GOOD, missed("b")) == {"a": "resolved", "b": "continued"}
    # The whole target is gone: nothing is known of b, and of the whole only that.
    assert of_code(2, missed("")) == {"b": "continued", "": "opened"}
    assert of_code(3, GOOD, missed("b")) == {"b": "continued", "": "resolved"}
    assert of_code(4, GOOD) == {"b": "resolved"}


def test_incident_of_a_retired_rule_is_resolved_though_a_database_was_not_audited(store: Store) -> None:
    run(store, 0, BAD)
    missed = a_rule_result(a_finding(Subject("other")), code=UNREACHABLE_CODE, outcome=Outcome.ERROR)
    changes = run(store, 1, a_rule_result(code="TAG001"), missed)
    assert {c.incident.code: str(c.kind) for c in changes} == {"CAR001": "resolved", UNREACHABLE_CODE: "opened"}


def test_two_findings_alike_are_one_incident_of_the_worse_severity(store: Store) -> None:
    (change,) = run(store, 0, a_rule_result(a_finding(HOST), a_finding(HOST, Severity.CRITICAL)))
    assert change.incident.severity is Severity.CRITICAL


def test_changes_come_worst_first(store: Store) -> None:
    names = ("a", "b", "c")
    severities = (Severity.WARNING, Severity.CRITICAL, Severity.WARNING)
    found = [a_finding(Subject("main", n), s) for n, s in zip(names, severities, strict=True)]
    changes = run(store, 0, a_rule_result(*found))
    assert [c.incident.subject.measurement for c in changes] == ["b", "a", "c"]
    assert [i.subject.measurement for i in incidents.current(store)] == ["b", "a", "c"]


def test_same_day_again_gives_the_same_changes(store: Store) -> None:
    for days, rule in enumerate([BAD, CRITICAL, GOOD, GOOD]):
        first = run(store, days, rule)
        before = incidents.current(store)
        assert run(store, days, rule) == first
        assert incidents.current(store) == before


def test_same_day_again_with_another_outcome_starts_from_the_day_before(store: Store) -> None:
    run(store, 0, BAD)
    assert kinds(store, 1, CRITICAL) == ["raised"]
    assert kinds(store, 1, GOOD) == ["resolved"]
    assert kinds(store, 1, BAD) == ["continued"]


def test_what_an_earlier_run_of_the_day_opened_is_resolved_on_the_spot(store: Store) -> None:
    policy = Incidents(open_after=1, resolve_after=5)
    assert kinds(store, 0, BAD, policy=policy) == ["opened"]
    assert kinds(store, 0, GOOD, policy=policy) == ["resolved"]
    assert kinds(store, 0, GOOD, policy=policy) == ["resolved"]
    assert kinds(store, 1, GOOD, policy=policy) == []
    assert kinds(store, 2, BAD, policy=policy) == ["opened"]


def test_later_run_of_the_day_that_learns_nothing_keeps_what_the_earlier_one_found(store: Store) -> None:
    unknown = not_evaluated(Outcome.ERROR)
    assert kinds(store, 0, BAD) == ["opened"]
    assert kinds(store, 0, unknown) == ["opened"]
    assert kinds(store, 1, CRITICAL) == ["raised"]
    assert kinds(store, 1, unknown) == ["raised"]
    assert kinds(store, 2, GOOD) == ["resolved"]
    assert kinds(store, 2, unknown) == ["resolved"]


def test_old_day_changes_no_incident(store: Store) -> None:
    run(store, 0, BAD)
    run(store, 2, GOOD)
    before = incidents.current(store)
    assert run(store, 1, CRITICAL) == []
    assert run(store, 0, GOOD) == []
    assert incidents.current(store) == before
    assert only(store, DAY).state is IncidentState.OPEN


def test_old_day_counts_as_old_when_the_newer_one_was_only_saved(store: Store) -> None:
    store.save(None, a_result(day=on(3)), None)
    assert incidents.update(store, a_result(BAD, day=on(2)), QUICK, team) == []
    assert incidents.update(store, a_result(BAD, day=on(3)), QUICK, team) != []


def test_current_gives_all_targets_or_one_and_any_day(store: Store) -> None:
    run(store, 0, BAD, target="a")
    run(store, 1, CRITICAL, target="b")
    assert [i.target for i in incidents.current(store)] == ["b", "a"]
    assert [i.target for i in incidents.current(store, "a")] == ["a"]
    assert [i.target for i in incidents.current(store, day=DAY)] == ["a"]
    assert incidents.current(store, "a", on(-1)) == []


def test_finding_of_another_version_does_not_stop_the_audit(store: Store) -> None:
    run(store, 0, BAD)
    with store.writing("test") as connection:
        connection.execute(update(incident_day).values(finding=b'{"what": "else"}'))
    assert "another version" in only(store).finding.message
    assert kinds(store, 1, GOOD) == ["resolved"]


def test_updates_at_once_do_not_mix(address: str) -> None:
    many = a_rule_result(*(a_finding(Subject("main", f"m{i}")) for i in range(20)))

    def one(days: int) -> int:
        with Store.open(address) as store:
            return len(incidents.update(store, a_result(many, day=on(days)), QUICK, team))

    with ThreadPoolExecutor(4) as pool:
        counts = list(pool.map(one, [1, 0, 1, 0, 1, 1]))
    assert counts[0] == 20
    assert set(counts) <= {0, 20}
    with Store.open(address) as store, store.reading() as connection:
        rows = connection.execute(select(func.count()).select_from(incident_day).where(incident_day.c.day == on(1)))
        assert rows.scalar() == 20


def decided(store: Store, days: int, *rules: RuleResult) -> str | None:
    """The kind of the decision that the day's change carries."""
    (change,) = run(store, days, *rules)
    return str(change.incident.decision.kind) if change.incident.decision else None


def test_ack_holds_until_the_incident_resolves(store: Store) -> None:
    run(store, 0, BAD)
    (found,) = decisions.decide(store, [MARK], "ack", " ann ", " looking into it ", None)
    assert found.decision is not None
    assert (found.decision.kind, found.decision.owner, found.decision.reason) == (
        DecisionKind.ACK,
        "ann",
        "looking into it",
    )
    assert abs(utc_now() - found.decision.made_at) < timedelta(minutes=5)
    assert only(store).decision == found.decision
    assert decided(store, 1, BAD) == "ack"
    assert decided(store, 2, CRITICAL) == "ack"
    assert decided(store, 3, GOOD) is None
    assert decided(store, 4, BAD) is None


def test_mute_ends_by_itself(store: Store) -> None:
    run(store, 0, BAD)
    decisions.decide(store, [MARK], "mute", "ann", "known", on(2))
    assert decided(store, 1, BAD) == "mute"
    assert decided(store, 2, BAD) == "mute"
    assert decided(store, 3, BAD) is None
    assert only(store, on(2)).decision is not None


def test_mute_outlives_a_resolution(store: Store) -> None:
    run(store, 0, BAD)
    decisions.decide(store, [MARK], "mute", "ann", "comes and goes", on(9))
    assert decided(store, 1, GOOD) == "mute"
    assert decided(store, 2, BAD) == "mute"


def test_only_the_newest_decision_counts(store: Store) -> None:
    run(store, 0, BAD)
    decisions.decide(store, [MARK], "mute", "ann", "known", on(9))
    decisions.decide(store, [MARK], "mute", "bob", "on holiday", on(1))
    assert decided(store, 1, BAD) == "mute"
    assert decided(store, 2, BAD) is None, "what was replaced does not come back by itself"
    decisions.decide(store, [MARK], "ack", "cyd", "at it", None)
    assert decided(store, 3, BAD) == "ack"


def test_decision_about_one_incident_leaves_others_alone(store: Store) -> None:
    other = a_rule_result(a_finding(Subject("main", "disk")), code="TAG001")
    run(store, 0, BAD, other)
    decisions.decide(store, [MARK], "mute", "ann", "known", on(9))
    assert [(i.code, i.decision is not None) for i in incidents.current(store)] == [("CAR001", True), ("TAG001", False)]


@pytest.mark.parametrize(
    ("kind", "owner", "reason", "until", "message"),
    [
        ("hide", "ann", "why", None, "`hide` is not a decision; expected ack, mute"),
        ("ack", " ", "why", None, "name the person"),
        ("mute", "ann", " ", DAY, "give a reason"),
        ("mute", "ann", "why", None, "give an end date: a mute expires"),
        ("ack", "ann", "why", DAY, "takes no day"),
        ("mute", "ann", "why", on(-1), "is over"),
    ],
)
def test_decide_refuses_what_says_too_little(
    store: Store, kind: str, owner: str, reason: str, until: date | None, message: str
) -> None:
    run(store, 0, BAD)
    with pytest.raises(ValueError, match=message):
        decisions.decide(store, [MARK], kind, owner, reason, until)
    assert only(store).decision is None


def test_decide_refuses_an_incident_it_does_not_know(store: Store) -> None:
    with pytest.raises(LookupError, match="no incident has the fingerprint 0123"):
        decisions.decide(store, ["0123"], "ack", "ann", "why", None)
    policy = Incidents(open_after=2)
    run(store, 0, BAD, policy=policy)
    run(store, 1, GOOD, policy=policy)
    with pytest.raises(LookupError):
        decisions.decide(store, [MARK], "mute", "ann", "never opened", on(9))


def test_ack_needs_an_open_incident(store: Store) -> None:
    run(store, 0, BAD, policy=Incidents(open_after=2))
    with pytest.raises(ValueError, match="is watching; only an open one can be acknowledged"):
        decisions.decide(store, [MARK], "ack", "ann", "why", None)
    decisions.decide(store, [MARK], "mute", "ann", "known before it opened", on(9))
    assert replace(only(store), decision=None).state is IncidentState.WATCHING
    assert decided(store, 1, BAD) == "mute"


def test_timeline_has_the_incidents_that_are_over_with_the_day_they_began(store: Store) -> None:
    since = a_rule_result(a_finding(HOST, since=on(-5)))
    for day, rule in enumerate([since, since, GOOD, GOOD, BAD]):
        run(store, day, rule)
    over = Episode("CAR001", HOST, on(-5), on(2))
    assert store.timeline("demo", before=on(2)).episodes == ()
    assert store.timeline("demo", before=on(3)).episodes == (over,)
    assert store.timeline("demo", before=on(9)).episodes == (over,), "what is open is not over"
    assert store.timeline("demo", before=on(93)).episodes == ()
    assert store.timeline("other", before=on(3)).episodes == ()


def test_timeline_leaves_out_what_never_opened(store: Store) -> None:
    for day, rule in enumerate([BAD, GOOD]):
        run(store, day, rule, policy=Incidents(open_after=2, resolve_after=1))
    assert store.timeline("demo", before=on(5)).episodes == ()


def test_timeline_takes_the_opening_for_the_beginning_where_the_finding_cannot_be_read(store: Store) -> None:
    for day, rule in enumerate([BAD, GOOD]):
        run(store, day, rule)
    with store.writing("test") as connection:
        connection.execute(update(incident_day).values(finding=b"{}"))
    assert store.timeline("demo", before=on(5)).episodes == (Episode("CAR001", HOST, DAY, on(1)),)


def test_mute_ends_on_the_day_of_the_last_audit_at_the_earliest(store: Store) -> None:
    """Until the day it was evaluated on is a day that it holds; the day before is over."""
    run(store, 3, BAD)
    with pytest.raises(ValueError, match=f"{on(2)} is over: incident {MARK} was evaluated on {on(3)}"):
        decisions.decide(store, [MARK], "mute", "ada", "moving", on(2))
    (decided,) = decisions.decide(store, [MARK], "mute", "ada", "moving", on(3))
    assert decided.decision is not None
    assert decided.decision.until == on(3)
