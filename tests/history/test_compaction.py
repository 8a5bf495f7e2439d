"""The history stays small: which days stay, what never goes, and two years of daily audits in a row."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from typing import Final

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st
from sqlalchemy import event, func, insert, select

from tests.builders import DAY, a_count, a_finding, a_measurement, a_profile, a_result, a_rule_result
from tsaudit.analysis.growth.detection import detect
from tsaudit.config.settings import Incidents
from tsaudit.evaluation import evaluate as audit_profile
from tsaudit.history import decisions, deliveries, incidents
from tsaudit.history.deliveries import DeliveryKind, MessageDraft
from tsaudit.history.lifecycle import ChangeKind, IncidentState
from tsaudit.history.removal import EVERY, compact, is_due, kept_days
from tsaudit.history.schema import decision, figure, incident_day, metadata, reaction, snapshot
from tsaudit.history.store import Store
from tsaudit.model.figures import Subject
from tsaudit.model.finding import Outcome, RuleResult, Severity, fingerprint
from tsaudit.not_audited import degraded_rules

POLICY: Final = Incidents(open_after=1, resolve_after=1)
LASTING: Final = a_finding(Subject("main", "cpu", "host"))
MARK: Final = fingerprint("demo", "CAR001", LASTING.subject)


def before(days: int) -> date:
    return DAY - timedelta(days=days)


def save(store: Store, day: date, target: str = "demo", *, measured: bool = True) -> None:
    profile = a_profile(target=target, day=day) if measured else None
    store.save(profile, a_result(target=target, day=day), None)


def audit(store: Store, day: date, *rules: RuleResult) -> None:
    result = a_result(*rules, day=day)
    store.save(a_profile(day=day), result, None)
    incidents.update(store, result, POLICY, lambda _finding, _rule: "team")


def unsafe_but_fast(store: Store) -> None:
    """Let SQLite not wait for the disk: thousands of audits, and nothing to lose."""
    store.engine.dispose()
    event.listen(store.engine, "connect", lambda connection, _record: connection.execute("PRAGMA synchronous = OFF"))


def counts(store: Store) -> dict[str, int]:
    with store.reading() as connection:
        return {
            name: connection.execute(select(func.count()).select_from(table)).scalar_one()
            for name, table in metadata.tables.items()
        }


def kept(days: Iterable[date]) -> list[date]:
    return sorted(kept_days(((day, True) for day in days), DAY))


def test_every_day_of_the_last_ninety_stays() -> None:
    days = [before(i) for i in range(91)]
    assert kept(days) == sorted(days)


def test_one_day_a_week_stays_up_to_a_year() -> None:
    days = [before(i) for i in range(91, 366)]
    left = kept(days)
    assert len(left) == len({d.isocalendar()[:2] for d in days})
    assert all(d.isoweekday() == 7 for d in left[:-1]), "the last day of each week"


def test_one_day_a_month_stays_after_a_year() -> None:
    days = [before(i) for i in range(366, 1100)]
    left = kept(days)
    assert len(left) == len({(d.year, d.month) for d in days})
    assert all((d + timedelta(days=1)).day == 1 for d in left[:-1]), "the last day of each month"


def test_day_with_a_profile_is_preferred() -> None:
    monday = date(2025, 9, 1)
    week = [(monday + timedelta(days=i), i < 3) for i in range(7)]
    assert kept_days(week, DAY) == {monday + timedelta(days=2)}
    assert kept_days([(monday, False)], DAY) == {monday}


@settings(deadline=None, max_examples=50)
@given(st.sets(st.integers(0, 1200), min_size=1), st.integers(0, 400))
def test_thinning_again_and_later_keeps_a_part_of_what_was_kept(ages: set[int], later: int) -> None:
    days = [(before(age), age % 3 > 0) for age in ages]
    first = kept_days(days, DAY)
    assert max(day for day, _ in days) in first or later > 90 or min(ages) > 90
    assert kept_days([d for d in days if d[0] in first], DAY) == first
    newest = DAY + timedelta(days=later)
    assert kept_days([d for d in days if d[0] in first], newest) <= first


@given(st.lists(st.integers(0, 12), min_size=1, max_size=60), st.sampled_from(["demo", "a", "b", "c", "d"]))
def test_no_audit_is_a_period_after_the_last_one_that_compacts(gaps: list[int], target: str) -> None:
    """However often the target is audited; several audits of one day are all due or all not."""
    days = [DAY + timedelta(days=n) for n in itertools.accumulate(gaps)]
    due = [day for n, day in enumerate(days) if is_due(target, days[: n + 1], day)]
    assert due[0] == days[0]
    assert all(due.count(day) == days.count(day) for day in due)
    for day in days:
        assert day - max(d for d in due if d <= day) < timedelta(days=EVERY)


def test_daily_audits_compact_once_a_period_and_not_all_targets_on_one_day() -> None:
    days = [before(n) for n in range(400, 0, -1)]
    due = {name: [day for day in days[1:] if is_due(name, days, day)] for name in map(str, range(100))}
    for found in due.values():
        assert {later - earlier for earlier, later in itertools.pairwise(found)} == {timedelta(days=EVERY)}
    on_a_day = [sum(day in found for found in due.values()) for day in days[-EVERY:]]
    assert sum(on_a_day) == 100
    assert max(on_a_day) < 50


def test_compact_drops_old_days_with_their_figures(store: Store) -> None:
    for age in (0, 90, 91, 92, 400, 401):
        save(store, before(age))
    save(store, before(401), "other")
    per_day = counts(store)["figure"] // 7
    assert compact(store, "demo", DAY) == 2
    assert store.days("demo") == [before(400), before(91), before(90), DAY]
    assert store.days("other") == [before(401)]
    assert counts(store)["figure"] == 5 * per_day
    assert compact(store, "demo", DAY) == 0


def test_compact_leaves_a_target_that_is_audited_no_more_alone(store: Store) -> None:
    for age in (800, 801, 802):
        save(store, before(age))
    assert compact(store, "demo", DAY) == 0
    assert compact(store, "unknown", DAY) == 0


def test_compact_trusts_the_earlier_of_today_and_the_newest_day(store: Store) -> None:
    for age in (0, 1, 2):
        save(store, before(age))
    save(store, DAY + timedelta(days=5000))
    assert compact(store, "demo", DAY) == 0


def test_compact_keeps_a_day_with_a_profile_rather_than_a_later_one_without(store: Store) -> None:
    save(store, DAY)
    save(store, before(101), measured=True)
    save(store, before(100), measured=False)
    assert before(101).isocalendar()[:2] == before(100).isocalendar()[:2]
    compact(store, "demo", DAY)
    assert store.days("demo") == [before(101), DAY]


def test_compact_changes_no_standing_incident_nor_the_next_audit(store: Store) -> None:
    bad = a_rule_result(LASTING)
    audit(store, before(400), a_rule_result(a_finding(LASTING.subject, Severity.CRITICAL)))
    for age in (147, 146, 145, 144, 1):
        audit(store, before(age), bad)
    decisions.decide(store, [MARK], "mute", "ann", "known", DAY)
    standing = incidents.current(store)
    assert compact(store, "demo", DAY) == 3
    assert incidents.current(store) == standing
    assert incidents.current(store, day=before(146))[0].opened == before(400)
    result = a_result(a_rule_result(), day=DAY)
    (change,) = incidents.update(store, result, POLICY, lambda _finding, _rule: "team")
    assert change.kind is ChangeKind.RESOLVED
    assert (change.incident.opened, change.incident.decision is not None) == (before(400), True)


def test_compact_keeps_the_day_an_incident_opened_and_that_it_was_resolved(store: Store) -> None:
    audit(store, before(147), a_rule_result(LASTING))
    audit(store, before(146), a_rule_result(LASTING))
    audit(store, before(145), a_rule_result())
    audit(store, before(144), a_rule_result())
    audit(store, DAY, a_rule_result())
    standing = incidents.current(store)
    assert compact(store, "demo", DAY) == 3
    assert incidents.current(store) == standing
    assert [i.state for i in standing] == [IncidentState.RESOLVED]
    assert [i.state for i in incidents.current(store, day=before(147))] == [IncidentState.OPEN]
    assert counts(store)["incident_day"] == 2


def test_compact_forgets_incidents_a_year_after_they_resolved(store: Store) -> None:
    audit(store, before(500), a_rule_result(LASTING))
    decisions.decide(store, [MARK], "mute", "ann", "known", before(300))
    audit(store, before(366), a_rule_result())
    audit(store, before(1), a_rule_result())
    compact(store, "demo", before(1))
    assert [i.state for i in incidents.current(store)] == [IncidentState.RESOLVED]
    audit(store, DAY, a_rule_result())
    compact(store, "demo", DAY)
    assert incidents.current(store) == []
    with store.reading() as connection:
        left = [connection.execute(select(func.count()).select_from(t)).scalar() for t in (incident_day, decision)]
    assert left == [0, 0]


def send(store: Store, day: date, kind: DeliveryKind, parent: str | None = None, *, target: str = "demo") -> str:
    """A message about the target that was sent on the day."""
    thread = deliveries.thread_of("team", "" if kind is DeliveryKind.DIGEST else target)
    with deliveries.writing(store.engine) as connection:
        identity = deliveries.add(connection, MessageDraft(kind, thread, day, "#team", {"about": {}}, parent))
    sent = deliveries.find(store.engine, identity)
    assert sent is not None
    deliveries.record_result(store.engine, sent, deliveries.DeliveryState.SENT)
    return identity


def test_compact_drops_threads_that_were_over_long_ago(store: Store) -> None:
    save(store, DAY)
    closed, silent, late, live = (send(store, before(200), DeliveryKind.ALERT) for _ in range(4))
    for alert in (closed, silent, late, live):
        send(store, before(150), DeliveryKind.EDIT, alert)
    send(store, before(91), DeliveryKind.RESOLVE, closed)
    send(store, before(90), DeliveryKind.RESOLVE, late)
    send(store, DAY, DeliveryKind.EDIT, live)
    corrected = send(store, before(200), DeliveryKind.ALERT)
    send(store, before(91), DeliveryKind.RESOLVE, corrected)
    send(store, before(5), DeliveryKind.EDIT, corrected)
    other = send(store, before(200), DeliveryKind.ALERT, target="other")
    send(store, before(91), DeliveryKind.RESOLVE, other, target="other")
    compact(store, "demo", DAY)
    found = [
        deliveries.find(store.engine, alert) is not None for alert in (closed, silent, late, live, corrected, other)
    ]
    assert found == [False, False, True, True, True, True]
    assert counts(store)["delivery"] == 3 + 3 + 3 + 2


def test_compact_keeps_messages_that_still_wait(store: Store) -> None:
    save(store, DAY)
    alert = send(store, before(200), DeliveryKind.ALERT)
    send(store, before(150), DeliveryKind.RESOLVE, alert)
    with deliveries.writing(store.engine) as connection:
        deliveries.add(connection, MessageDraft(DeliveryKind.REPLY, "team/demo", before(160), "#team", {}, alert))
    compact(store, "demo", DAY)
    assert counts(store)["delivery"] == 3


def test_compact_drops_old_digests(store: Store) -> None:
    save(store, DAY)
    old = send(store, before(91), DeliveryKind.DIGEST)
    send(store, before(91), DeliveryKind.EDIT, old, target="")
    recent = send(store, before(90), DeliveryKind.DIGEST)
    compact(store, "demo", DAY)
    assert counts(store)["delivery"] == 1
    assert deliveries.find(store.engine, recent) is not None


@pytest.mark.full
@pytest.mark.parametrize("address", ["sqlite"], indirect=True)
def test_two_years_of_daily_audits_stay_bounded(store: Store) -> None:
    """One incident is open throughout; each day a further one comes, gone the day after: drift.

    Judged the way tsaudit judges the growth of everybody else.
    """
    unsafe_but_fast(store)
    weeks, sizes = [], []
    for number in range(730):
        day = DAY + timedelta(days=number)
        drift = a_finding(Subject("main", "cpu", f"new_{number}"))
        audit(store, day, a_rule_result(LASTING, drift))
        if number % 7 == 0:
            compact(store, "demo", day)
            weeks.append(day)
            sizes.append(counts(store))
    for table in (snapshot.name, figure.name, incident_day.name):
        rows = [float(size[table]) for size in sizes]
        assert detect(weeks[:13], rows[:13]).kind == "growth", "nothing is thinned out yet"
        assert detect(weeks[-13:], rows[-13:]).kind == "flat", table
    last = sizes[-1]
    assert last["snapshot"] <= 91 + 41 + 13
    assert last["incident_day"] <= 2 * (last["snapshot"] + 366), "states kept, and a year of resolved ones"
    assert store.timeline("demo", DAY + timedelta(days=730)).previous is not None
    assert store.trend("demo", "series", Subject("main", "cpu"), 91, day)[0].day == day - timedelta(days=90)


@dataclass(frozen=True)
class Audited:
    """A day of a course, and what is found on it besides what the rules find in the profile."""

    gap: int
    """Days since the audit before."""
    series: int
    sight: str
    measured: bool


COURSES: Final = st.lists(
    st.builds(
        Audited,
        gap=st.sampled_from([1, 1, 1, 2, 7, 30, 80]),
        series=st.integers(1, 40).map(lambda n: n * 1000),
        sight=st.sampled_from(["bad", "worse", "good", "unknown"]),
        measured=st.sampled_from([True, True, True, False]),
    ),
    min_size=8,
    max_size=20,
)
SIGHTS: Final = {
    "bad": a_rule_result(LASTING, code="XYZ001"),
    "worse": a_rule_result(a_finding(LASTING.subject, Severity.CRITICAL), code="XYZ001"),
    "good": a_rule_result(code="XYZ001"),
    "unknown": a_rule_result(code="XYZ001", outcome=Outcome.ERROR),
}
NEWER: Final = Incidents(open_after=2, resolve_after=2)
SILENT: Final = [Audited(gap, 1000, "unknown", True) for gap in (30, 80, 1, 100, 1)]
"""A rule is unknown while the days on which it worked get old."""
_fresh_target: Final = (f"course{number}" for number in itertools.count())


def judged(store: Store, target: str, day: date, one: Audited) -> tuple[object, ...]:
    """The verdict of an audit, its findings, what it changed, and what it was judged by."""
    timeline = store.timeline(target, before=day)
    measured = a_measurement(series=one.series, rows=a_count(one.series * 10))
    profile = a_profile(measured, target=target, day=day) if one.measured else None
    found = audit_profile(profile, timeline).results if profile else ()
    result = a_result(*found, SIGHTS[one.sight], target=target, day=day)
    degraded = degraded_rules(result, store.rule_outcomes(target, day), NEWER.unknown_after)
    result = replace(result, results=(*result.results, degraded)) if degraded else result
    store.save(profile, result, None)
    changes = incidents.update(store, result, NEWER, lambda _finding, _rule: "team")
    return result.verdict, result.results, changes, timeline.previous, dict(timeline.points), timeline.episodes


@pytest.mark.full
@pytest.mark.parametrize("address", ["sqlite"], indirect=True)
@settings(
    deadline=None,
    max_examples=10,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    phases=[Phase.explicit, Phase.generate],
)
@example(course=[Audited(1, 1000, sight, True) for sight in ["bad"] * 4 + ["unknown"]] + SILENT)
@given(course=COURSES)
def test_compaction_never_changes_a_verdict(store: Store, course: list[Audited]) -> None:
    """Beyond a year, where resolved incidents are forgotten, only what they began with could differ."""
    unsafe_but_fast(store)
    target, day = next(_fresh_target), DAY
    kept = f"{target}x"
    for one in course:
        day += timedelta(days=one.gap)
        if day > DAY + timedelta(days=360):
            break
        with_all, compacted = judged(store, kept, day, one), judged(store, target, day, one)
        compact(store, target, day)
        for found, expected in zip(compacted, with_all, strict=True):
            assert _unnamed(found, target) == _unnamed(expected, kept)
    # As of the last day: without one, days after the real one would count as those of a clock that is ahead.
    open_now, expected = incidents.current(store, target, day), incidents.current(store, kept, day)
    assert _unnamed(open_now, target) == _unnamed(expected, kept)


def _unnamed(found: object, target: str) -> str:
    """In words, without what follows from the target's name."""
    return re.sub(r"fingerprint='\w+'", "", repr(found)).replace(f"'{target}'", "target")


def test_compact_forgets_reactions_with_their_messages(store: Store) -> None:
    save(store, DAY)
    closed, live = send(store, before(200), DeliveryKind.ALERT), send(store, before(200), DeliveryKind.ALERT)
    send(store, before(91), DeliveryKind.RESOLVE, closed)
    send(store, DAY, DeliveryKind.EDIT, live)
    rows = [
        {"delivery_id": closed, "gone_at": None},
        {"delivery_id": live, "gone_at": None},
        {"delivery_id": live, "gone_at": datetime.combine(before(91), time.min)},
        {"delivery_id": live, "gone_at": datetime.combine(before(90), time.min)},
        {"delivery_id": closed, "gone_at": None},
    ]
    seen = datetime.combine(before(150), time.min)
    with store.writing("test") as connection:
        connection.execute(insert(reaction), [{"kind": "ack", "person": "U0", "seen_at": seen} | row for row in rows])
        before_ids = list(connection.scalars(select(reaction.c.id).order_by(reaction.c.id)))
    compact(store, "demo", DAY)
    with store.reading() as connection:
        left = list(connection.scalars(select(reaction.c.id).order_by(reaction.c.id)))
    assert left == [before_ids[1], before_ids[3], before_ids[4]], "the newest stays, so that no ID is used twice"
