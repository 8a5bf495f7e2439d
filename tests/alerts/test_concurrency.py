"""Several processes at once on one history, kept in a file and in PostgreSQL."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager

import pytest
from sqlalchemy import Connection, Engine

from tests.alerts.builders import REPORT, History, a_context, found
from tests.alerts.slack_double import SlackDouble
from tests.alerts.test_crash import SETTLE, killed, sender
from tests.alerts.test_outbox import states
from tests.builders import a_result, a_rule_result
from tests.history.conftest import address
from tsaudit import alerts
from tsaudit.alerts import SendReport
from tsaudit.history import deliveries, incidents
from tsaudit.history.store import Store

__all__ = ["address"]


@pytest.fixture
def store(address: str) -> Iterator[Store]:
    with Store.open(address) as opened:
        yield opened


def test_only_one_is_the_sender(store: Store) -> None:
    with deliveries.sole_sender(store.engine, 0) as first, deliveries.sole_sender(store.engine, 0.1) as second:
        assert (first, second) == (True, False)
    with deliveries.sole_sender(store.engine, 0) as third:
        assert third


def test_the_next_sender_takes_over_as_soon_as_the_first_is_done(store: Store) -> None:
    entered, leave = threading.Event(), threading.Event()

    def first() -> None:
        with deliveries.sole_sender(store.engine, 0):
            entered.set()
            leave.wait(10)

    thread = threading.Thread(target=first)
    thread.start()
    assert entered.wait(10)
    threading.Timer(0.1, leave.set).start()
    with deliveries.sole_sender(store.engine, 10) as alone:
        assert alone
    thread.join()


def test_a_sender_that_was_killed_holds_nobody_up(history: History, slack: SlackDouble) -> None:
    history.audit(found(1))
    killed(sender(history.store, slack.base_url, SETTLE, "before"))
    assert states(history.store) == [("alert", "sending")]
    assert history.send(pace=alerts.SendingPace(lock_wait_s=5, sleep=lambda _: None)) == SendReport(sent=1)
    assert len(slack.messages) == 1


def test_two_processes_at_once_send_each_message_once(history: History, slack: SlackDouble) -> None:
    targets = [f"t{n}" for n in range(8)]
    for target in targets:
        history.audit(found(1), target=target)
    processes = [sender(history.store, slack.base_url) for _ in range(2)]
    for process in processes:
        process.join(60)
        assert process.exitcode == 0
    assert [text.split(": ")[1].split(",")[0] for text in slack.texts()] == targets


def test_two_audits_of_a_target_at_once_queue_one_message(history: History) -> None:
    result = a_result(a_rule_result(*found(1)))
    owner = alerts.owner_of(history.settings, history.settings.targets[0])
    history.store.save(None, result, REPORT)
    changes = incidents.update(history.store, result, history.settings.incidents, owner)
    start = threading.Barrier(4)
    queued: list[str] = []

    def audit() -> None:
        start.wait()
        queued.extend(alerts.queue(history.store, history.settings, changes, a_context()))

    threads = [threading.Thread(target=audit) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(queued) == 1
    assert states(history.store) == [("alert", "queued")]


def test_an_audit_overtaken_by_one_that_found_more_takes_nothing_back(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = a_result(a_rule_result())
    owner = alerts.owner_of(history.settings, history.settings.targets[0])
    history.store.save(None, result, REPORT)
    changes = incidents.update(history.store, result, history.settings.incidents, owner)
    real, other = deliveries.writing, [True]

    def writing(engine: Engine) -> AbstractContextManager[Connection]:
        if other and other.pop():
            History(history.store, history.settings).audit(found(1))
        return real(engine)

    monkeypatch.setattr(deliveries, "writing", writing)
    alerts.queue(history.store, history.settings, changes, a_context())
    assert [kind for kind, _ in states(history.store)] == ["alert", "edit"]


def test_an_audit_killed_before_it_queued_is_made_up_for(history: History, slack: SlackDouble) -> None:
    result = a_result(a_rule_result(*found(1)))
    history.store.save(None, result, REPORT)
    owner = alerts.owner_of(history.settings, history.settings.targets[0])
    incidents.update(history.store, result, history.settings.incidents, owner)
    history.next_day(found(1))
    history.send()
    assert "1 open incident" in slack.texts()[0]
