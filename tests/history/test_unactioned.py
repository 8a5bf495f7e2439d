"""What became of the incidents of each rule."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

import pytest

from tests.builders import DAY, a_finding, a_result, a_rule_result
from tsaudit.config.settings import Incidents
from tsaudit.history.decision_log import write
from tsaudit.history.incidents import Unactioned, current, unactioned, update
from tsaudit.history.store import Store
from tsaudit.model.finding import Severity
from tsaudit.model.subject import Subject

AT_ONCE = Incidents(open_after=1, resolve_after=1)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(f"sqlite:///{tmp_path / 'history.db'}") as opened:
        yield opened


def audited(store: Store, day: date, *names: str) -> None:
    """A day on which the rule finds something in these measurements."""
    found = [a_finding(Subject("main", name), Severity.WARNING) for name in names]
    result = a_result(a_rule_result(*found), day=day)
    store.save(None, result, None)
    update(store, result, AT_ONCE, lambda *_: "ada")


def decide(store: Store, name: str, kind: str) -> None:
    with store.writing("shop") as connection:
        (incident,) = [i for i in current(store) if i.subject.measurement == name]
        write(connection, [incident], kind, "ada", "because", DAY + timedelta(days=90))


def test_openings_by_what_became_of_them(store: Store) -> None:
    audited(store, DAY, "a", "b", "c", "d", "e")
    for name, kind in (("a", "mute"), ("b", "ack"), ("b", "mute"), ("c", "ack")):
        decide(store, name, kind)
    # c was fixed after it was acknowledged, d went away.
    audited(store, DAY + timedelta(days=1), "a", "b", "e")
    (found,) = unactioned(store, DAY)
    assert found == Unactioned(
        found.code, found.rule, 5, still_open=1, acknowledged=2, muted=2, closed_by_itself=1, unactioned=3
    )


def test_an_incident_counts_each_time_it_opens(store: Store) -> None:
    for number, names in enumerate((["a"], [], ["a"], [], ["a"])):
        audited(store, DAY + timedelta(days=number), *names)
    (found,) = unactioned(store, DAY)
    assert (found.opened, found.closed_by_itself, found.still_open) == (3, 2, 1)
    (later,) = unactioned(store, DAY + timedelta(days=1))
    assert later.opened == 2


def test_only_the_period_and_the_targets_asked_for(store: Store) -> None:
    audited(store, DAY, "a")
    assert unactioned(store, DAY + timedelta(days=1)) == []
    assert unactioned(store, DAY, ["another"]) == []
