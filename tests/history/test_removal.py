"""A day that is removed leaves a history as if the target had never been audited on it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import func, select

from tests.builders import DAY, a_profile
from tests.history.conftest import EXAMPLES
from tests.history.test_incidents_properties import RULES, SIGHTS, audit, fresh_target
from tests.history.test_value_sets import HOST
from tsaudit.analysis.values import stored_value_sets
from tsaudit.config.settings import Incidents
from tsaudit.history import deliveries, incidents
from tsaudit.history.deliveries import DeliveryKind, DeliveryState, MessageDraft, thread_of
from tsaudit.history.removal import remove_day
from tsaudit.history.schema import figure, incident_day, value_set
from tsaudit.history.store import Packers, Store
from tsaudit.history.value_sets import RememberedValues
from tsaudit.model.finding import Finding, RuleResult

POLICY: Final = Incidents(open_after=1, resolve_after=2)


def owner_of(_finding: Finding, _rule: RuleResult) -> str:
    return "team"


def audited(store: Store, target: str, number: int, sight: str, listed: Sequence[str]) -> None:
    """An audit of a day that finds this, and lists these values."""
    day = DAY + timedelta(days=number)
    values = RememberedValues(store, target, day)
    values.keep(HOST, values.of(HOST).observe(listed, day))
    result = audit(target, sight, day)
    store.save(a_profile(target=target, day=day), result, None, values.write)
    incidents.update(store, result, POLICY, owner_of)


def kept(store: Store, target: str) -> dict[str, Any]:
    """All that the history knows of the target, but for what its rows are called."""
    after = DAY + timedelta(days=1000)
    with store.reading() as connection:
        rows = connection.execute(
            select(incident_day).where(incident_day.c.target == target).order_by(incident_day.c.day)
        )
        packers = Packers(connection)
        states = [
            {k: v for k, v in row._mapping.items() if k not in ("target", "fingerprint")}
            | {"finding": packers.of(target, row.day).unpacked(row.finding)}
            for row in rows.all()
        ]
        sets = connection.execute(select(value_set.c.day).where(value_set.c.target == target)).scalars().all()
        figures = connection.scalar(select(func.count()).select_from(figure))
    values = RememberedValues(store, target, after).of(HOST)
    return {
        "days": store.days(target),
        "rules": store.rule_outcomes(target, after),
        "states": states,
        "values": values,
        "sets": sorted(sets),
        "all": figures,
    }


def test_removed_day_was_never_audited(store: Store) -> None:
    listed = st.tuples(SIGHTS, st.sets(st.sampled_from("abcdef")))

    @settings(max_examples=EXAMPLES[store.engine.dialect.name], deadline=None)
    @given(data=st.data(), days=st.lists(listed, min_size=2, max_size=7))
    def holds(data: st.DataObject, days: list[tuple[str, set[str]]]) -> None:
        removed = data.draw(st.integers(0, len(days) - 1))
        ours, model = next(fresh_target), next(fresh_target)
        for number, (sight, listed) in enumerate(days):
            audited(store, ours, number, sight, sorted(listed))
        remove_day(store, ours, DAY + timedelta(days=removed), POLICY, owner_of)
        for number, (sight, listed) in enumerate(days):
            if number != removed:
                audited(store, model, number, sight, sorted(listed))
        assert kept(store, ours) == kept(store, model)

    holds()


def test_removal_says_what_went_and_what_stays(store: Store) -> None:
    for number, sight in enumerate(["good", "warning", "warning"]):
        audited(store, "t", number, sight, ["a"])
    newest = DAY + timedelta(days=2)
    thread = thread_of("team", "t")
    with deliveries.writing(store.engine) as connection:
        alert = deliveries.add(
            connection, MessageDraft(DeliveryKind.ALERT, thread, DAY + timedelta(days=1), "#c", {"about": {}})
        )
        deliveries.add(connection, MessageDraft(DeliveryKind.EDIT, thread, newest, "#c", {"about": {}}, alert))
        reply = deliveries.add(connection, MessageDraft(DeliveryKind.REPLY, thread, newest, "#c", {"about": {}}, alert))
    found = deliveries.find(store.engine, reply)
    assert found is not None
    deliveries.record_result(store.engine, found, DeliveryState.SENT)
    removed = remove_day(store, "t", newest, POLICY, owner_of)
    assert (removed.states, removed.values, removed.values_left) == (1, 1, 0)
    assert (removed.unsent, removed.sent, removed.unreadable) == (1, 1, 0)
    assert removed.before == DAY + timedelta(days=1)
    (incident,) = incidents.current(store, "t")
    assert (incident.day, incident.opened) == (removed.before, removed.before)
    assert [d.kind for d in deliveries.waiting(store.engine)] == [DeliveryKind.ALERT]


def test_day_that_was_not_audited_changes_nothing(store: Store) -> None:
    audited(store, "t", 0, "warning", ["a"])
    before = kept(store, "t")
    with pytest.raises(LookupError, match=r"t was not audited on 2026-04-01"):
        remove_day(store, "t", DAY + timedelta(days=1), POLICY, owner_of)
    assert kept(store, "t") == before


def test_past_that_only_the_day_remembers_is_left(store: Store) -> None:
    """Of the days before the oldest set that is left nothing else is known."""
    for number in range(3):
        audited(store, "t", number, "good", ["a", f"b{number}"])
    with store.writing("t") as connection:
        values = RememberedValues(store, "t", DAY + timedelta(days=2)).of(HOST)
        connection.execute(value_set.delete())
        row = {"target": "t", "subject": HOST.key, "day": DAY + timedelta(days=1), "whole": 1}
        row |= {"checksum": stored_value_sets.checksum(values), "data": stored_value_sets.to_bytes(values)}
        connection.execute(value_set.insert().values(row))
    removed = remove_day(store, "t", DAY + timedelta(days=1), POLICY, owner_of)
    assert (removed.values, removed.values_left) == (0, 1)
    assert RememberedValues(store, "t", DAY + timedelta(days=9)).of(HOST) == values


def test_closed_day_stays_closed(store: Store) -> None:
    """A day that was audited later than a newer one has changed no incident, nor does it when another day goes."""
    for number in (0, 2, 4):
        audited(store, "t", number, "good", ["a"])
    audited(store, "t", 3, "critical", ["a"])
    remove_day(store, "t", DAY, POLICY, owner_of)
    assert incidents.current(store, "t") == []
    assert RULES["critical"].findings
