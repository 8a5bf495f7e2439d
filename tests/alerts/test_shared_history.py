"""Several configurations with one history: each sends its own messages."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from tests.alerts import builders
from tests.alerts.builders import History, found
from tests.alerts.slack_double import SlackDouble
from tests.alerts.test_outbox import states
from tsaudit import alerts
from tsaudit.alerts import owners
from tsaudit.config.settings import Settings
from tsaudit.history import deliveries
from tsaudit.history.schema import delivery
from tsaudit.history.store import Store

THERE: dict[str, Any] = {
    "targets": [{"name": "there", "engine": "duckdb", "url": "duckdb:///y"}],
    "owners": {"default": {"channel": "#alerts"}},
}


@pytest.fixture(params=["without Slack", "another channel", "a webhook"])
def other(request: pytest.FixtureRequest, slack: SlackDouble) -> Settings:
    """A configuration of other targets."""
    made = {"without Slack": lambda _, **c: builders.settings(**c), "another channel": builders.with_token}
    return made.get(request.param, builders.with_webhook)(slack, **THERE)


def age(store: Store, by: timedelta) -> None:
    """As if everything had been queued earlier."""
    with store.writing("test") as connection:
        for row in connection.execute(sa.select(delivery.c.id, delivery.c.queued_at)).all():
            mine = delivery.c.id == row.id
            connection.execute(sa.update(delivery).where(mine).values(queued_at=row.queued_at - by))


def test_messages_are_left_to_the_configuration_with_their_target(
    history: History, other: Settings, slack: SlackDouble
) -> None:
    history.audit(found(1))
    printed: list[str] = []
    assert alerts.send(history.store, other, printed.append, builders.fast()).waiting == 1
    assert (slack.messages, printed) == ([], [])
    assert history.send().sent == 1
    assert [message.channel for message in slack.messages] == ["C0DEFAULT"]


def test_a_digest_is_left_to_the_configuration_with_its_channel(
    history: History, other: Settings, slack: SlackDouble
) -> None:
    history.audit(found(1))
    history.send()
    history.next_day(found(1))
    history.send()
    assert alerts.queue_digest(history.store, history.settings, history.day)
    alerts.send(history.store, other, print, builders.fast())
    assert len(deliveries.waiting_ids(history.store.engine)) == 1
    history.send()
    assert [message.channel for message in slack.messages] == ["C0DEFAULT", "C0DEFAULT"]


def test_a_digest_follows_its_channel_where_all_targets_are_configured(history: History, slack: SlackDouble) -> None:
    history.audit(found(1))
    history.send()
    history.next_day(found(1))
    history.send()
    alerts.queue_digest(history.store, history.settings, history.day)
    history.settings = builders.with_token(slack, owners={"default": {"channel": "#dba"}})
    history.send()
    assert slack.messages[-1].channel == "C0DBA"


def test_what_nobody_sends_for_a_day_is_sent_nevertheless(history: History, slack: SlackDouble) -> None:
    """Its target has been removed from the configuration."""
    history.audit(found(1))
    history.settings = builders.with_token(slack, **THERE)
    age(history.store, owners.ABANDONED - timedelta(minutes=1))
    assert history.send().waiting == 1
    age(history.store, timedelta(minutes=2))
    assert history.send().sent == 1


def test_what_is_overdue_is_what_should_have_been_sent_here(history: History, other: Settings) -> None:
    history.audit(found(1))
    mine, others = (alerts.Share(history.store, known) for known in (history.settings, other))
    hour = timedelta(hours=1)
    assert mine.overdue(hour) is None
    age(history.store, hour)
    late = mine.overdue(hour)
    assert (late and late.thread, others.overdue(hour)) == ("default/demo", None)
    assert states(history.store) == [("alert", "queued")]


def test_a_notifier_that_others_have_is_not_missed_here(history: History) -> None:
    """A message to a notifier that was removed is printed; one to a notifier configured elsewhere waits for that."""
    with deliveries.writing(history.store.engine) as connection:
        for target in ("demo", "there"):
            thread = deliveries.thread_of("default", target)
            kind = deliveries.DeliveryKind.ALERT
            draft = deliveries.MessageDraft(
                kind, thread, history.day, "", {"text": target, "blocks": [], "about": {}}, notifier="pager"
            )
            deliveries.add(connection, draft)
    age(history.store, timedelta(days=2))
    printed: list[str] = []
    history.send(printed.append)
    assert printed[0] == "pager is no longer among `notifiers` in tsaudit.yaml; not sent:"
    assert len(printed) == 2
    assert states(history.store) == [("alert", "not_sent"), ("alert", "queued")]
