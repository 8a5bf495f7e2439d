"""Days that are still to come, as one run with a wrong clock leaves them: they silence nothing."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Final

import pytest

from tests.builders import a_finding, a_profile, a_result, a_rule_result
from tests.history.test_incidents_properties import HOST
from tsaudit import alerts
from tsaudit.config.settings import Incidents, Settings
from tsaudit.history import clock, decisions, incidents
from tsaudit.history.lifecycle import ChangeKind, IncidentChange, IncidentState
from tsaudit.history.store import Store
from tsaudit.model.finding import Verdict

NOW: Final = datetime(2026, 5, 20, 12, tzinfo=UTC)
TODAY: Final = NOW.date()
POLICY: Final = Incidents(open_after=1, resolve_after=1)
SETTINGS: Final = Settings.model_validate({"targets": [{"name": "t", "engine": "duckdb", "url": "duckdb:///t.db"}]})
AHEAD: Final = TODAY + timedelta(days=400)


@pytest.fixture(autouse=True)
def now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "utc_now", lambda: NOW)


def before(days: int) -> date:
    return TODAY - timedelta(days=days)


def audited(store: Store, day: date, *, bad: bool) -> list[IncidentChange]:
    result = a_result(*([a_rule_result(a_finding(HOST))] if bad else [a_rule_result()]), target="t", day=day)
    store.save(a_profile(target="t", day=day), result, None)
    return incidents.update(store, result, POLICY, lambda _finding, _rule: "default")


def queued(store: Store, day: date, changes: list[IncidentChange]) -> list[str]:
    context = alerts.RunContext("t", "duckdb", day, Verdict.WARNING, None, None)
    return alerts.queue(store, SETTINGS, changes, context)


def test_day_ahead_closes_nothing_and_silences_nothing(store: Store) -> None:
    audited(store, before(2), bad=False)
    audited(store, AHEAD, bad=True)
    (change,) = audited(store, before(1), bad=True)
    assert (change.kind, change.incident.opened) == (ChangeKind.OPENED, before(1))
    assert len(queued(store, before(1), [change])) == 1
    (now_open,) = incidents.current(store, "t")
    assert (now_open.day, now_open.first_seen) == (before(1), before(1))
    assert store.newest_days() == {"t": before(1)}
    assert store.past_days("t") == [before(2), before(1)]


def test_what_a_day_ahead_resolved_is_open(store: Store) -> None:
    audited(store, before(1), bad=True)
    audited(store, AHEAD, bad=False)
    assert [i.state for i in incidents.current(store, "t")] == [IncidentState.OPEN]
    (change,) = audited(store, TODAY, bad=True)
    assert (change.kind, change.incident.opened) == (ChangeKind.CONTINUED, before(1))


def test_past_day_stays_closed_beside_a_day_ahead(store: Store) -> None:
    audited(store, TODAY, bad=False)
    audited(store, AHEAD, bad=False)
    assert audited(store, before(3), bad=True) == []
    assert queued(store, before(3), []) == []


def test_decisions_of_a_clock_that_was_ahead_do_not_hold(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    (change,) = audited(store, TODAY, bad=True)
    mark = change.incident.fingerprint
    with monkeypatch.context() as wrong:
        wrong.setattr(incidents, "utc_now", lambda: NOW + timedelta(days=400))
        decisions.decide(store, [mark], "mute", "ada", "two weeks", AHEAD + timedelta(days=14))
    assert incidents.current(store, "t")[0].decision is None
    monkeypatch.setattr(incidents, "utc_now", lambda: NOW)
    (decided,) = decisions.decide(store, [mark], "mute", "ada", "a week", TODAY + timedelta(days=7))
    assert decided.decision is not None
    assert decided.decision.reason == "a week"


@pytest.mark.parametrize(
    ("days", "closed"),
    [
        ([], False),
        ([-1, 400], False),
        ([-1, 1], False),
        ([-2, -1, 400, 401], False),
        ([400], False),
        # Before everything there is: the clock is behind, and this is a past day by all others.
        ([400, 401], True),
        ([*range(1, 90)], True),
    ],
)
def test_today_is_closed_only_where_the_clock_is_behind_most_of_the_history(days: list[int], closed: bool) -> None:
    known = {TODAY + timedelta(days=d) for d in days} | {TODAY}
    assert clock.is_closed(known, TODAY) == closed


def test_day_that_has_begun_somewhere_is_no_complaint() -> None:
    assert clock.future_days_warning("t", [before(1), TODAY, TODAY + timedelta(days=1)]) is None
    line = clock.future_days_warning("t", [*map(before, range(9)), TODAY + timedelta(days=2), AHEAD])
    assert line is not None
    assert "2 days in the future (2026-05-22, 2027-06-24; the clock says 2026-05-20)" in line
    assert "`tsaudit history drop t 2026-05-22`" in line
    behind = clock.future_days_warning("t", [TODAY, *(TODAY + timedelta(days=d) for d in range(30, 60))])
    assert behind is not None
    assert "the clock is behind" in behind
    assert "drop" not in behind


def test_one_jump_ahead_makes_nothing_old() -> None:
    daily = [before(i) for i in range(60)]
    assert clock.reference_date(daily, TODAY + timedelta(days=1)) == TODAY + timedelta(days=1)
    assert clock.reference_date(daily, AHEAD) == before(6)
    assert clock.reference_date([*daily, AHEAD], AHEAD + timedelta(days=1)) == before(5)
    assert clock.reference_date([], AHEAD) == AHEAD
