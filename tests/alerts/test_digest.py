from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import update

from tests.alerts import builders
from tests.alerts.builders import History, an_incident, found, subject
from tests.alerts.slack_double import TOKEN, SlackDouble, problem_of
from tests.alerts.test_blocks import HOSTILE
from tests.alerts.test_outbox import decide, states
from tests.builders import DAY, a_finding
from tests.examples import examples
from tsaudit.alerts import queue_digest
from tsaudit.alerts.blocks import MAX_TOTAL, characters, size
from tsaudit.alerts.message import digest
from tsaudit.history import deliveries
from tsaudit.history.schema import delivery
from tsaudit.history.store import Store
from tsaudit.model.finding import Severity

TARGETS = [{"name": name, "engine": "duckdb", "url": "x"} for name in ("demo", "a", "b", "c")]


@pytest.fixture
def history(store: Store, slack: SlackDouble) -> History:
    return History(store, builders.with_token(slack, targets=TARGETS))


def sent_digests(history: History, slack: SlackDouble) -> list[str]:
    queue_digest(history.store, history.settings, history.day)
    history.send()
    return [f"{m.channel} {m.text}" for m in slack.messages if " tsaudit " in f" {m.text}"]


def test_nothing_open_and_nothing_resolved_is_not_worth_a_digest(history: History, slack: SlackDouble) -> None:
    history.audit([])
    assert queue_digest(history.store, history.settings, history.day) == []


def test_each_owner_gets_one_over_all_targets(history: History, slack: SlackDouble) -> None:
    history.settings = builders.with_token(
        slack, targets=TARGETS, routes=[{"owner": "dba", "measurements": ["table_1"]}]
    )
    for _ in range(2):
        history.day += timedelta(days=1)
        history.audit([*found(1), *found(2, severity=Severity.CRITICAL)], target="a")
        history.audit(found(2), target="b")
    dba, default = sorted(sent_digests(history, slack))
    assert dba.startswith("C0DBA tsaudit 2026-04-02: 1 open incident on 1 target\nwarning a main/table_1: Table 1")
    assert default.startswith("C0DEFAULT tsaudit 2026-04-02: 2 open incidents on 2 targets\ncritical a main/table_2")
    blocks = str(next(m.blocks for m in slack.messages if m.channel == "C0DEFAULT" and m.text.startswith("tsaudit")))
    assert "🔴 `a` 1 critical · <https://reports.example/demo/2026-03-31.html|report>" in blocks


def test_what_the_messages_of_the_day_report_is_left_out(history: History, slack: SlackDouble) -> None:
    history.audit(found(1, 2))
    assert sent_digests(history, slack) == [], "all of it is new"
    history.next_day([*found(1, severity=Severity.CRITICAL), *found(2, 3)])
    (text,) = sent_digests(history, slack)
    first, *listed = text.splitlines()
    assert first.endswith("3 open incidents on 1 target")
    assert [line.split(":")[0] for line in listed] == ["warning demo main/table_2"]
    assert "🔴 `demo` 1 critical, 2 warnings" in str(slack.messages[-1].blocks)
    assert "Not listed: 2 open incidents in today's other messages." in str(slack.messages[-1].blocks)


def test_what_an_edit_shows_as_resolved_that_day_is_left_out(history: History, slack: SlackDouble) -> None:
    history.audit(found(1, 2))
    history.next_day(found(2))
    (text,) = sent_digests(history, slack)
    assert "1 open incident" in text
    assert "resolved" not in str(slack.messages[-1].blocks)
    assert "Not listed" not in str(slack.messages[-1].blocks), "of what is open, all is listed"


def test_the_end_of_a_thread_is_left_out_and_counted_later_in_the_week(history: History, slack: SlackDouble) -> None:
    history.audit(found(1))
    history.next_day([])
    assert sent_digests(history, slack) == []
    history.next_day([])
    (text,) = sent_digests(history, slack)
    assert text.splitlines()[0].endswith(": 1 incident resolved")
    assert "1 resolved" in str(slack.messages[-1].blocks)


def test_what_only_resolved_is_no_target_with_an_open_incident(history: History, slack: SlackDouble) -> None:
    history.audit(found(1), target="a")
    history.audit(found(2), target="b")
    for _ in range(2):
        history.day += timedelta(days=1)
        history.audit([], target="a")
        history.audit(found(2), target="b")
    (text,) = sent_digests(history, slack)
    assert "1 open incident on 1 target" in text
    assert "1 resolved" in str(slack.messages[-1].blocks)


def test_what_was_not_found_that_day_is_open_and_says_so(history: History, slack: SlackDouble) -> None:
    """One good audit does not resolve it."""
    history.audit(found(1))
    history.next_day(found(1))
    history.settings = builders.with_token(slack, targets=TARGETS, incidents={"resolve_after": 2})
    history.next_day([])
    (text,) = sent_digests(history, slack)
    assert f"Not found on {history.day}: main/table_1: Table 1" in text


def test_after_a_week_what_was_resolved_is_old(history: History, slack: SlackDouble) -> None:
    history.audit(found(1))
    history.next_day([])
    history.day += timedelta(days=7)
    history.audit([])
    assert sent_digests(history, slack) == []


def test_a_daily_digest_is_about_the_day(history: History, slack: SlackDouble) -> None:
    content = {"token": TOKEN, "base_url": slack.base_url, "digest_weekday": "daily"}
    history.settings = builders.settings(slack=content, targets=TARGETS)
    history.audit(found(1, 2))
    history.next_day(found(1))
    history.next_day(found(1))
    (text,) = sent_digests(history, slack)
    assert "1 open incident" in text
    assert "resolved" not in str(slack.messages[-1].blocks)


def test_without_edits_the_digest_says_what_was_resolved_that_day(store: Store, slack: SlackDouble) -> None:
    history = History(store, builders.with_webhook(slack, targets=TARGETS))
    history.audit(found(1, 2))
    history.next_day(found(2))
    history.send()
    assert len(sent_digests(history, slack)) == 1
    assert "🟠 `demo` 1 warning · 1 resolved" in str(slack.messages[-1].blocks)


def test_what_was_muted_is_left_out(history: History) -> None:
    history.audit(found(1))
    decide(history, "mute", DAY + timedelta(days=9))
    history.next_day(found(1))
    assert queue_digest(history.store, history.settings, history.day) == []


def test_the_same_day_again_sends_none_twice(history: History, slack: SlackDouble) -> None:
    history.audit(found(1))
    history.next_day(found(1))
    assert len(sent_digests(history, slack)) == 1
    assert queue_digest(history.store, history.settings, history.day) == []
    assert len(sent_digests(history, slack)) == 1
    history.next_day(found(1))
    assert len(sent_digests(history, slack)) == 2


def test_the_same_day_again_with_less_found_brings_it_up_to_date(history: History, slack: SlackDouble) -> None:
    for target in ("a", "b", "c"):
        history.audit(found(1), target=target)
    history.day += timedelta(days=1)
    for target in ("a", "b", "c"):
        history.audit(found(1), target=target)
    first = queue_digest(history.store, history.settings, history.day)
    history.audit([], target="a")
    assert queue_digest(history.store, history.settings, history.day) == first, "it still waited: rewritten"
    assert len(sent_digests(history, slack)) == 1
    history.audit([], target="b")
    (text,) = sent_digests(history, slack)
    assert "1 open incident on 1 target" in text
    assert states(history.store)[-1] == ("edit", "sent")


def test_a_past_day_has_no_digest(history: History) -> None:
    history.audit(found(1))
    assert queue_digest(history.store, history.settings, history.day - timedelta(days=1)) == []


def test_targets_no_longer_configured_are_left_out(history: History, slack: SlackDouble) -> None:
    history.audit(found(1), target="a")
    history.next_day(found(1), target="a")
    history.settings = builders.with_token(slack)
    assert queue_digest(history.store, history.settings, history.day) == []


def test_a_digest_that_failed_is_made_anew(history: History, slack: SlackDouble) -> None:
    history.audit(found(1))
    history.next_day(found(1))
    history.send()
    slack.fail(2, error="invalid_blocks")
    assert sent_digests(history, slack) == []
    assert len(sent_digests(history, slack)) == 1


def test_any_number_of_targets_fits() -> None:
    incidents = [an_incident(a_finding(subject(n)), target=f"target_{n % 300}") for n in range(3_000)]
    made = digest(DAY, incidents, {f"target_{n}": f"https://reports.example/{n}" for n in range(300)})
    assert problem_of(made.to_payload()) is None
    assert "more targets" in str(made.blocks[-1])


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(HOSTILE, min_size=1, max_size=8))
def test_no_foreign_text_rings_or_bursts_a_limit(words: list[str]) -> None:
    incidents = [an_incident(a_finding(message=word * 50, fix=word), target=f"t{n}") for n, word in enumerate(words)]
    made = digest(DAY, incidents, {})
    assert problem_of(made.to_payload()) is None
    assert "<" not in made.text + str(made.blocks)
    assert characters(made.blocks) + size(made.text) <= MAX_TOTAL


@pytest.mark.parametrize(("age", "sent"), [(timedelta(0), 1), (timedelta(days=1), 0), (timedelta(days=2), 0)])
def test_a_digest_is_sent_on_its_day_or_not_at_all(
    history: History, slack: SlackDouble, age: timedelta, sent: int
) -> None:
    """Slack could not be reached on Monday: what was open then is no news on Wednesday. Alerts still are."""
    history.audit(found(1))
    history.next_day([*found(1), *found(2)])
    queue_digest(history.store, history.settings, history.day)
    with deliveries.writing(history.store.engine) as connection:
        connection.execute(update(delivery).values(queued_at=delivery_time(age)))
    said: list[str] = []
    report = history.send(said.append)
    digests = [m for m in slack.messages if m.text.startswith("tsaudit ")]
    assert (len(digests), len(slack.messages) - len(digests), report.waiting) == (sent, 2, 0)
    dropped = [line for line in said if "could not be sent on its day" in line]
    assert len(dropped) == 1 - sent
    assert all("2026-04-01" in line and "`default`" in line for line in dropped)


def delivery_time(age: timedelta) -> datetime:
    return datetime.now(UTC).replace(tzinfo=None) - age
