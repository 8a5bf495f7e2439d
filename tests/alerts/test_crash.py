"""Killed at any point, a sender loses no message and with a token doubles none; a reader of reactions, no decision."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Iterator
from datetime import timedelta
from multiprocessing.context import ForkServerProcess

import pytest

from tests.alerts import builders, killed_process
from tests.alerts.builders import History, fast, found
from tests.alerts.slack_double import SlackDouble
from tests.alerts.test_outbox import states
from tsaudit import alerts
from tsaudit.alerts import SendReport
from tsaudit.history import clock, decisions, incidents
from tsaudit.history.store import Store

FORKS = multiprocessing.get_context("forkserver")
"""Each process is a fork of one that has nothing but the imports."""
FORKS.set_forkserver_preload(["tests.alerts.killed_process"])
CLAIM, SETTLE = "tsaudit.history.deliveries:claim", "tsaudit.history.deliveries:record_result"
ANN = "U0ANN"


def sender(
    store: Store, slack: str, step: str = "none", moment: str = "before", count: int = 1, work: str = "send"
) -> ForkServerProcess:
    url = store.engine.url.render_as_string(hide_password=False)
    process = FORKS.Process(target=killed_process.run, args=(url, slack, step, moment, count, work))
    process.start()
    return process


def killed(process: ForkServerProcess) -> None:
    process.join(60)
    assert process.exitcode == -signal.SIGKILL


@pytest.fixture
def thread(history: History, slack: SlackDouble) -> Iterator[History]:
    """An alert that was sent, and now an edit, a reply, and then the end: edit and notice."""
    history.audit(found(1))
    history.send()
    history.next_day(found(1, 2))
    yield history
    assert slack.texts()[0].startswith("🟠 Warning: demo, 2 open incidents")
    assert ["1 new" in text for text in slack.texts()] == [False, True], "lost or doubled"
    assert slack.messages[1].thread_ts == slack.messages[0].ts


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("step", [CLAIM, SETTLE])
@pytest.mark.parametrize("count", [1, pytest.param(2, marks=pytest.mark.full)])
def test_killed_at_any_step_neither_loses_nor_doubles(
    thread: History, slack: SlackDouble, step: str, moment: str, count: int
) -> None:
    killed(sender(thread.store, slack.base_url, step, moment, count))
    assert thread.send().errors == ()
    assert {state for _, state in states(thread.store)} == {"sent"}


@pytest.mark.parametrize("after", [False, True])
def test_killed_during_the_call_neither_loses_nor_doubles(history: History, slack: SlackDouble, after: bool) -> None:
    history.audit(found(1))
    process = sender(history.store, slack.base_url)
    slack.fail(action=process.kill, after=after)
    killed(process)
    assert states(history.store) == [("alert", "sending")]
    assert len(slack.messages) == int(after)
    assert history.send() == SendReport(sent=1)
    assert len(slack.messages) == 1


def test_killed_while_looking_up_neither_loses_nor_doubles(history: History, slack: SlackDouble) -> None:
    history.audit(found(1))
    killed(sender(history.store, slack.base_url, SETTLE, "before"))
    process = sender(history.store, slack.base_url)
    slack.fail(method="conversations.history", action=process.kill)
    killed(process)
    assert history.send() == SendReport(sent=1)
    assert len(slack.messages) == 1


@pytest.mark.parametrize(("step", "moment"), [(CLAIM, "after"), (SETTLE, "before")])
def test_killed_with_a_webhook_loses_none(store: Store, slack: SlackDouble, step: str, moment: str) -> None:
    history = History(store, builders.with_webhook(slack))
    history.audit(found(1))
    killed(sender(store, slack.webhook, step, moment))
    history.send(lambda _: None)
    assert len(slack.messages) == (2 if step == SETTLE else 1), "at least once"


@pytest.mark.parametrize("taken_back", [False, pytest.param(True, marks=pytest.mark.full)])
@pytest.mark.parametrize(
    ("step", "moment"),
    [
        ("tsaudit.alerts.reactions:lock", "after"),
        pytest.param("tsaudit.history.incidents:write_decisions", "before", marks=pytest.mark.full),
        ("tsaudit.history.incidents:write_decisions", "after"),
        pytest.param("tsaudit.history.deliveries:add", "after", marks=pytest.mark.full),
        ("tsaudit.alerts.reactions:_act", "after"),
    ],
)
def test_killed_between_reading_and_confirming_a_reaction_neither_loses_nor_doubles(
    store: Store, slack: SlackDouble, step: str, moment: str, taken_back: bool
) -> None:
    history = History(store, builders.with_token(slack), clock.today() - timedelta(days=3))

    def read_and_send() -> None:
        alerts.read_reactions(store, history.settings, fast())
        history.send()

    history.audit(found(1, 2))
    history.send()
    message = slack.messages[-1]
    message.react("zzz", ANN)
    if taken_back:
        read_and_send()
        message.take_back("zzz", ANN)
    killed(sender(store, slack.base_url, step, moment, work="read"))
    read_and_send()
    read_and_send()
    with store.reading() as connection:
        now = decisions.decided_today(connection, incidents.standing(connection, None, None))
    assert [i.decision.owner for i in now if i.decision] == ([] if taken_back else [ANN] * 2)
    entries = incidents.decisions_made(store, {i.fingerprint for i in now})
    assert len(entries) == (4 if taken_back else 2), "lost or doubled"
    confirmations = [state for kind, state in states(store) if kind == "confirm"]
    assert confirmations == ["sent"] * (2 if taken_back else 1)
    assert len(slack.messages) == 1 + len(confirmations)
