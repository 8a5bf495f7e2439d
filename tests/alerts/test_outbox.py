from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from tests.alerts import builders
from tests.alerts.builders import History, found
from tests.alerts.slack_double import SlackDouble
from tests.builders import DAY, a_finding, a_measurement, a_profile, a_result, a_rule_result
from tsaudit.alerts import SendReport
from tsaudit.alerts.blocks import texts
from tsaudit.alerts.thread import notified_by
from tsaudit.history import decisions, deliveries, incidents
from tsaudit.history.deliveries import Delivery, DeliveryKind, DeliveryState
from tsaudit.history.schema import delivery
from tsaudit.history.store import Store
from tsaudit.model.figures import Subject
from tsaudit.model.finding import UNREACHABLE_CODE, Currency, Finding, Impact, Outcome, Severity

CRITICAL, WARN = Severity.CRITICAL, Severity.WARNING
TABLE_1 = "CAR001 `main/table_1.host`"


def rows(store: Store) -> list[Any]:
    with store.reading() as connection:
        return list(connection.execute(sa.select(delivery).order_by(delivery.c.position)))


def states(store: Store) -> list[tuple[str, str]]:
    return [(row.kind, row.state) for row in rows(store)]


def test_nothing_is_queued_when_nothing_is_wrong(history: History) -> None:
    assert history.audit([]) == []


def test_first_incidents_make_one_message(history: History, slack: SlackDouble) -> None:
    assert len(history.audit(found(1, 2, 3))) == 1
    history.send()
    assert len(slack.messages) == 1


def test_each_owner_gets_a_message_of_his_own(history: History, slack: SlackDouble) -> None:
    routes = [{"owner": "dba", "measurements": ["table_1"]}]
    history.settings = builders.with_token(slack, routes=routes)
    history.audit(found(1, 2))
    history.send()
    assert ["Table 1" in t for t in slack.texts("C0DBA")] == [True]
    assert ["Table 2" in t for t in slack.texts("C0DEFAULT")] == [True]


def test_continued_incidents_edit_the_message_and_ring_nobody(history: History, slack: SlackDouble) -> None:
    history.audit(found(1))
    history.send()
    history.next_day(found(1))
    report = history.send()
    assert (report.sent, report.edited) == (0, 1)
    assert len(slack.messages) == 1
    assert "audited day 2026-04-01" in str(slack.messages[0].blocks)


def test_a_new_incident_edits_the_message_and_rings_in_its_thread(history: History, slack: SlackDouble) -> None:
    history.audit(found(1))
    history.send()
    history.next_day(found(1, 2))
    report = history.send()
    assert (report.sent, report.edited) == (1, 1)
    alert, reply = slack.messages
    assert "2 open incidents" in alert.text
    assert reply.thread_ts == alert.ts
    assert "demo: 1 new" in reply.text
    assert "Table 2 is bad" in reply.text
    assert "Table 1" not in reply.text


def test_a_raised_incident_rings_again_with_the_mention(history: History, slack: SlackDouble) -> None:
    history.settings = builders.with_token(slack, routes=[{"owner": "dba"}])
    history.audit(found(1))
    history.send()
    history.next_day(found(1, severity=CRITICAL))
    history.send()
    alert, reply = slack.messages
    assert "<@U0DBA>" not in str(alert)
    assert reply.text.startswith("<@U0DBA> 🔴 demo: 1 worse")


def test_a_notifier_of_critical_incidents_gets_no_warning(store: Store, slack: SlackDouble) -> None:
    """Mail for all, Slack for what is critical: for as long as it is."""
    about_slack = {"token": builders.TOKEN, "base_url": slack.base_url, "severity": "critical"}
    mail = {"use": "apprise", "severity": "warning", "default": "json://127.0.0.1:1"}
    history = History(store, builders.settings(slack=about_slack, notifiers={"mail": mail}))
    history.audit(found(1, 2))
    assert {row.notifier for row in rows(store)} == {"mail"}
    history.next_day([*found(1), *found(2, severity=CRITICAL)])
    history.send()
    assert [m.text.splitlines()[0] for m in slack.messages] == ["🔴 Critical: demo, 1 open incident"]
    assert "Table 1" not in str(slack.messages[0].blocks)
    history.next_day(found(1, 2))
    history.send()
    alert, end = slack.messages
    assert alert.text == "🔵 demo: 1 warning no longer critical"
    assert (end.thread_ts, end.text) == (alert.ts, alert.text)


def test_what_becomes_urgent_rings_once_at_each_step(history: History, slack: SlackDouble) -> None:
    """One that is acknowledged, too; one that is muted does not."""

    def ending(days_left: float) -> list[Finding]:
        return found(1, impact=Impact(Currency.LIMIT, now=900, whole=1000, days_left=days_left, is_enforced=None))

    history.audit(ending(15))
    history.send()
    decisions.decide(history.store, [incidents.current(history.store)[0].fingerprint], "ack", "ann", "on it")
    for days_left in (14, 13.5, 14.5, 13, 6.5, 6):
        history.next_day(ending(days_left))
        history.audit(ending(days_left))
        history.send()
    assert ["1 worse" in m.text for m in slack.messages] == [False, True, True]
    decisions.decide(
        history.store,
        [incidents.current(history.store)[0].fingerprint],
        "mute",
        "ann",
        "known",
        history.day + timedelta(days=9),
        replace=True,
    )
    history.next_day(ending(0))
    history.send()
    assert len([m for m in slack.messages if "worse" in m.text]) == 2


def test_the_mention_is_for_what_becomes_critical_only(history: History, slack: SlackDouble) -> None:
    history.settings = builders.with_token(slack, routes=[{"owner": "dba"}])
    history.audit(found(1, severity=CRITICAL))
    history.next_day([*found(1, severity=CRITICAL), *found(2)])
    history.send()
    assert ["<@U0DBA>" in m.text for m in slack.messages] == [False, False], "the alert was edited meanwhile"
    posted = [arguments["text"] for method, arguments, _ in slack.calls if method == "chat.postMessage"]
    assert ["<@U0DBA>" in text for text in posted] == [True, False]


def test_a_lowered_incident_is_quiet_and_rings_when_raised_again(history: History, slack: SlackDouble) -> None:
    history.audit(found(1, severity=CRITICAL))
    history.next_day(found(1))
    history.send()
    assert len(slack.messages) == 1
    history.next_day(found(1, severity=CRITICAL))
    history.send()
    assert "1 worse" in slack.messages[1].text


def test_one_of_two_resolved_notifies_once(history: History, slack: SlackDouble) -> None:
    history.audit(found(1, 2))
    history.send()
    history.next_day(found(1))
    history.audit(found(1))
    history.next_day(found(1))
    history.send()
    assert [m.text.splitlines()[0] for m in slack.messages[1:]] == ["🟢 demo: 1 resolved"]
    assert "No longer open: CAR001 `main/table_2.host` resolved" in str(slack.messages[1].blocks)


def test_what_resolves_while_another_opens_is_in_the_same_reply(history: History, slack: SlackDouble) -> None:
    history.audit(found(1, 2))
    history.send()
    history.next_day(found(1, 3))
    history.send()
    assert [m.text for m in slack.messages[1:]] == ["🟠 demo: 1 new, 1 resolved\nwarning main/table_3: Table 3 is bad"]


def test_what_was_muted_before_it_resolved_needs_no_reply(history: History, slack: SlackDouble) -> None:
    history.audit(found(1, 2))
    two = next(i for i in incidents.current(history.store) if i.subject == builders.subject(2))
    decisions.decide(history.store, [two.fingerprint], "mute", "ann", "known", history.day + timedelta(days=9))
    history.next_day(found(1, 2))
    history.next_day(found(1))
    history.send()
    assert len(slack.messages) == 1


def test_a_resolved_incident_rings_when_it_comes_back(history: History, slack: SlackDouble) -> None:
    history.audit(found(1, 2))
    history.next_day(found(1))
    history.next_day(found(1, 2))
    history.send()
    assert ["1 new" in m.text for m in slack.messages] == [False, False, True]


def test_what_the_audit_no_longer_finds_does_not_lead_while_it_waits_for_its_end(
    store: Store, slack: SlackDouble
) -> None:
    history = History(store, builders.with_token(slack, incidents={"open_after": 1, "resolve_after": 2}))
    history.audit(found(1, 2))
    history.send()
    titles = []
    for left in (found(1), [], found(2)):
        history.next_day(left)
        history.send()
        titles.append(slack.messages[0].text.splitlines()[0])
        if not left:
            said = "No longer found, and resolved if the next audits do not find them either"
            assert f"{said}: CAR001 `main/table_1.host`" in str(slack.messages[0].blocks)
    assert titles == [
        "🟠 Warning: demo, 1 open incident",
        "🟢 demo: 1 open incident not found anymore",
        "🟠 Warning: demo, 1 open incident",
    ]


def test_a_mute_that_ends_notifies_of_nothing_that_the_audit_does_not_find(store: Store, slack: SlackDouble) -> None:
    history = History(store, builders.with_token(slack, incidents={"open_after": 1, "resolve_after": 3}))
    history.audit(found(1))
    (incident,) = incidents.current(store)
    decisions.decide(store, [incident.fingerprint], "mute", "ada", "known", until=history.day + timedelta(days=1))
    history.next_day([])
    history.send()
    before = len(slack.messages)
    history.next_day([])
    history.send()
    assert len(slack.messages) == before
    history.next_day(found(1))
    history.send()
    assert len(slack.messages) > before


def test_the_last_one_resolved_edits_and_closes_the_thread(history: History, slack: SlackDouble) -> None:
    history.audit(found(1, 2))
    history.send()
    history.next_day([])
    history.send()
    alert, notice = slack.messages
    assert "all resolved" in alert.text
    assert notice.thread_ts == alert.ts
    assert "demo: all resolved" in notice.text


def test_after_that_the_next_incident_starts_a_new_message(history: History, slack: SlackDouble) -> None:
    history.audit(found(1))
    history.next_day([])
    history.next_day([])
    history.next_day(found(1))
    history.send()
    assert [m.thread_ts is None for m in slack.messages] == [True, False, True]


def test_the_same_day_again_posts_nothing_again(history: History, slack: SlackDouble) -> None:
    history.audit(found(1))
    history.send()
    assert history.audit(found(1)) == []
    history.next_day(found(1, 2))
    history.send()
    assert history.audit(found(1, 2)) == []
    history.next_day([])
    history.send()
    assert history.audit([]) == []
    history.send()
    assert len(slack.messages) == 3


def test_the_same_day_again_still_shows_what_it_resolved(history: History) -> None:
    history.audit(found(1, 2))
    assert len(history.next_day(found(1))) == 2, "the edit, and the reply"
    assert history.audit(found(1)) == []


def test_the_same_day_again_with_another_run_edits_at_most(history: History, slack: SlackDouble) -> None:
    history.audit(found(1))
    history.send()
    history.audit(found(1), run_url="https://dagster.example/runs/2")
    report = history.send()
    assert (report.sent, report.edited) == (0, 1)


def test_the_same_day_again_with_less_found_takes_it_back(history: History, slack: SlackDouble) -> None:
    history.audit(found(1))
    history.send()
    history.audit([])
    history.send()
    assert "all resolved" in slack.messages[0].text


def test_the_same_day_again_withdraws_what_is_over_before_it_was_sent(history: History, slack: SlackDouble) -> None:
    history.audit(found(1))
    history.audit([])
    history.send()
    assert slack.messages == []
    history.next_day(found(1))
    history.send()
    history.next_day(found(1, 2))
    history.audit(found(1))
    report = history.send()
    assert (report.sent, report.edited) == (0, 1), "no reply about the second one"
    assert "1 open incident" in slack.messages[0].text
    history.next_day(found(1, 2))
    history.send()
    assert "Table 2" in slack.messages[-1].text


def test_a_day_in_the_past_is_no_news(history: History) -> None:
    history.audit(found(1))
    history.day -= timedelta(days=10)
    assert history.audit(found(2)) == []


def test_an_unknown_outcome_resolves_nothing(history: History, slack: SlackDouble) -> None:
    history.audit(found(1))
    history.day += timedelta(days=1)
    history.conclude(a_result(a_rule_result(outcome=Outcome.ERROR, reason="broke"), day=history.day))
    history.send()
    assert "1 open incident" in slack.messages[0].text


def test_a_target_that_could_not_be_audited_is_told_of(history: History, slack: SlackDouble) -> None:
    gone = a_finding(Subject(), message="The target could not be audited: refused")
    result = a_rule_result(gone, code=UNREACHABLE_CODE, name="target-not-audited", outcome=Outcome.ERROR)
    history.conclude(a_result(result))
    history.send()
    assert "The target could not be audited: refused" in slack.texts()[0]
    assert "as a whole: unknown" in str(slack.messages[0].blocks)


def decide(history: History, kind: str, until: date | None) -> None:
    incident = incidents.current(history.store)[0]
    decisions.decide(history.store, [incident.fingerprint], kind, "ann", "known", until)


def test_what_somebody_muted_is_quiet_until_it_expires(history: History, slack: SlackDouble) -> None:
    history.audit(found(1))
    history.send()
    decide(history, "mute", DAY + timedelta(days=2))
    history.next_day(found(1))
    history.send()
    for _ in range(2):
        (alert,) = slack.messages
        assert alert.text.endswith(f"1 warning muted until {DAY + timedelta(days=2)}")
        assert f"Open, muted: {TABLE_1} by ann" in str(alert.blocks)
        assert f"audited day {history.day}" in str(alert.blocks)
        history.next_day(found(1))
        history.send()
    assert alert.text == "demo: continued in a new message"
    (again,) = slack.messages[1:]
    assert (again.thread_ts, "1 open incident" in again.text) == (None, True)


def test_what_is_muted_is_shown_until_it_is_resolved(history: History, slack: SlackDouble) -> None:
    history.audit(found(1))
    history.send()
    decide(history, "mute", DAY + timedelta(days=99))
    history.next_day(found(1))
    history.next_day(found(1, 2))
    history.send()
    first, second = slack.messages
    assert first.text == "demo: continued in a new message"
    assert second.text.startswith("🟠 Warning: demo, 1 open incident")
    assert f"Open, muted: {TABLE_1} by ann" in str(second.blocks)
    history.next_day(found(1))
    history.send()
    assert [(m.text, m.thread_ts) for m in slack.messages[2:]] == [("🟢 demo: 1 resolved", second.ts)]
    assert f"Open, muted: {TABLE_1} by ann" in str(slack.messages[2].blocks), "a webhook shows only this one"
    assert second.text == f"🔵 demo: 1 warning resolved, 1 warning muted until {DAY + timedelta(days=99)}"
    history.next_day([])
    history.send()
    assert second.text == "🟢 demo: all resolved"
    assert f"No longer open: {TABLE_1} resolved" in str(second.blocks)
    assert (len(slack.messages), history.next_day([])) == (3, []), "nobody is notified, and it is over"
    history.next_day(found(3))
    history.send()
    assert (second.text, slack.messages[3].thread_ts) == ("🟢 demo: all resolved", None)


def test_what_was_sent_and_then_muted_ends_where_no_message_is_edited(store: Store) -> None:
    mail = {"use": "apprise", "default": "json://127.0.0.1:1"}
    history = History(store, builders.settings(notifiers={"mail": mail}))
    history.audit(found(1))
    decide(history, "mute", DAY + timedelta(days=99))
    history.next_day(found(1))
    history.next_day([])
    assert [kind for kind, _ in states(store)] == ["alert", "edit", "edit", "resolve"]
    assert history.next_day([]) == [], "once"


def test_the_same_day_again_repeats_nothing_of_what_is_muted(history: History) -> None:
    history.audit(found(1))
    decide(history, "mute", DAY + timedelta(days=99))
    for findings, queued in ((found(1), 1), (found(1, 2), 2), (found(1), 2), ([], 1)):
        assert len(history.next_day(findings)) == queued
        assert history.audit(findings) == []


def test_a_muted_target_that_is_down_is_shown_until_it_is_back(history: History, slack: SlackDouble) -> None:
    gone = a_finding(Subject(), message="The target could not be audited: refused")

    def is_down() -> None:
        result = a_rule_result(gone, code=UNREACHABLE_CODE, name="target-not-audited", outcome=Outcome.ERROR)
        history.conclude(a_result(result, day=history.day))
        history.send()

    is_down()
    decide(history, "mute", DAY + timedelta(days=99))
    history.day += timedelta(days=1)
    is_down()
    (alert,) = slack.messages
    assert alert.text == f"⚪ demo: 1 warning muted until {DAY + timedelta(days=99)}"
    history.day += timedelta(days=1)
    history.conclude(a_result(a_rule_result(code=UNREACHABLE_CODE, name="target-not-audited"), day=history.day))
    history.send()
    assert (alert.text, len(slack.messages)) == ("🟢 demo: all resolved", 1)
    assert "as a whole: ok" in str(alert.blocks)


def test_what_is_muted_and_gets_worse_continues_in_a_new_message(history: History, slack: SlackDouble) -> None:
    history.audit(found(1, observed=100.0, unit="series"))
    history.send()
    decide(history, "mute", DAY + timedelta(days=99))
    history.next_day(found(1, observed=100.0, unit="series"))
    history.next_day(found(1, observed=1000.0, unit="series"))
    history.send()
    first, second = slack.messages
    assert (first.text, second.thread_ts) == ("demo: continued in a new message", None)
    assert "Back, although muted by ann" in str(second.blocks)
    history.next_day([])
    history.send()
    assert second.text == "🟢 demo: all resolved"


def test_what_was_muted_rings_when_it_gets_worse(history: History, slack: SlackDouble) -> None:
    history.audit(found(1))
    decide(history, "mute", DAY + timedelta(days=99))
    history.next_day(found(1))
    history.next_day(found(1, severity=CRITICAL))
    history.send()
    assert "critical" in slack.messages[-1].text


def test_an_acknowledged_incident_is_shown_and_rings_when_worse(history: History, slack: SlackDouble) -> None:
    history.audit(found(1))
    decide(history, "ack", None)
    history.next_day(found(1))
    history.send()
    assert len(slack.messages) == 1
    shown = "\n".join(text for block in slack.messages[0].blocks for text in texts(block))
    assert "Acknowledged by ann: known" in shown
    history.next_day(found(1, severity=CRITICAL))
    history.send()
    assert "1 worse" in slack.messages[1].text


def test_a_new_owner_is_told_and_the_old_one_too(history: History, slack: SlackDouble) -> None:
    history.audit(found(1))
    history.send()
    history.settings = builders.with_token(slack, routes=[{"owner": "dba"}])
    history.next_day(found(1))
    history.send()
    assert "now with dba" in str(slack.messages[0].blocks)
    assert len(slack.texts("C0DBA")) == 1


def test_a_new_owner_is_told_what_somebody_has_acknowledged(history: History, slack: SlackDouble) -> None:
    history.audit(found(1, 2))
    history.send()
    decide(history, "ack", None)
    history.settings = builders.with_token(slack, routes=[{"owner": "dba", "measurements": ["table_1"]}])
    for _ in range(2):
        history.next_day(found(1, 2))
        history.send()
    assert len(slack.texts("C0DBA")) == 1
    assert "Table 1 is bad" in slack.texts("C0DBA")[0]
    history.settings = builders.with_token(slack)
    for _ in range(2):
        history.next_day(found(1, 2))
        history.send()
    replies = [m for m in slack.messages if m.thread_ts == slack.messages[0].ts]
    assert len(replies) == 1, "back with the first owner"
    assert "Table 1 is bad" in replies[0].text


def test_an_owner_who_changes_channels_is_told_anew_there(history: History, slack: SlackDouble) -> None:
    history.audit(found(1))
    history.send()
    history.settings = builders.with_token(slack, owners={"default": {"channel": "#dba"}})
    history.next_day(found(1))
    history.send()
    assert "continued in #dba" in slack.texts("C0DEFAULT")[0]
    assert "1 open incident" in slack.texts("C0DBA")[0]
    history.next_day(found(1))
    assert history.send().edited == 1


def test_a_change_of_channels_with_nothing_new_to_tell_goes_on_where_it_is(
    history: History, slack: SlackDouble
) -> None:
    history.audit(found(1))
    history.send()
    decide(history, "ack", None)
    history.settings = builders.with_token(slack, owners={"default": {"channel": "#dba"}})
    history.next_day(found(1))
    assert history.send() == SendReport(edited=1)
    history.next_day([])
    history.send()
    assert [m.channel for m in slack.messages] == ["C0DEFAULT"] * 2
    assert "all resolved" in slack.texts()[0]
    assert "all resolved" in slack.texts()[1]


def test_a_change_of_channels_on_the_day_it_ends_tells_the_end(history: History, slack: SlackDouble) -> None:
    history.audit(found(1))
    history.send()
    history.settings = builders.with_token(slack, owners={"default": {"channel": "#dba"}})
    history.next_day([])
    history.send()
    assert "all resolved" in slack.texts("C0DEFAULT")[0]
    assert "all resolved" in slack.texts("C0DEFAULT")[1]


def test_what_outgrew_a_mute_rings_again_though_it_was_sent_before(history: History, slack: SlackDouble) -> None:
    """Nothing was audited in between, so the message still shows it when it comes back."""
    history.audit(found(1, 2, observed=100.0, unit="series"))
    history.send()
    decide(history, "mute", DAY + timedelta(days=9))
    history.next_day([*found(1, observed=1000.0, unit="series"), *found(2, observed=100.0, unit="series")])
    history.send()
    assert "1 worse" in slack.messages[1].text
    assert "Back, although muted by ann until 2026-04-09" in str(slack.messages[1].blocks)
    assert "covers up to 150 series, now 1,000 series" in str(slack.messages[1].blocks)
    history.next_day([*found(1, observed=1000.0, unit="series"), *found(2, observed=100.0, unit="series")])
    history.send()
    assert len(slack.messages) == 2, "once"


def test_a_change_of_channels_and_worse_than_acknowledged_rings_in_the_new_one(
    history: History, slack: SlackDouble
) -> None:
    history.audit(found(1))
    history.send()
    decide(history, "ack", None)
    history.settings = builders.with_token(slack, owners={"default": {"channel": "#dba"}})
    history.next_day(found(1, severity=CRITICAL))
    history.send()
    assert "continued in #dba" in slack.texts("C0DEFAULT")[0]
    assert "critical" in slack.texts("C0DBA")[0]


def test_an_owner_with_a_slash_and_targets_with_alike_names(store: Store, slack: SlackDouble) -> None:
    targets = [{"name": n, "engine": "duckdb", "url": "x"} for n in ("a_b", "aXb", "A_B")]
    owners = {"default": {"channel": "#default"}, "team/web": {"channel": "#dba"}}
    chosen = builders.with_token(slack, targets=targets, owners=owners, routes=[{"owner": "team/web"}])
    history = History(store, chosen)
    for target in ("a_b", "aXb", "A_B"):
        history.audit(found(1), target=target)
    history.next_day([], target="a_b")
    history.send()
    assert [m.text.split("\n")[0] for m in slack.messages if "resolved" in m.text] == ["🟢 a_b: all resolved"] * 2


def test_edits_that_still_wait_are_superseded_by_newer_ones(history: History) -> None:
    history.audit(found(1))
    history.next_day(found(1))
    history.next_day(found(1))
    assert states(history.store) == [("alert", "queued"), ("edit", "superseded"), ("edit", "queued")]


def test_a_message_edited_day_after_day_stays_small_in_the_history(history: History) -> None:
    history.audit(found(1))
    for _ in range(9):
        history.send()
        history.next_day(found(1))
    sizes = [len(row.payload) for row in rows(history.store)]
    assert len(sizes) == 10
    assert max(sizes[:-1]) < 100
    assert sizes[-1] > 500


def test_what_still_waits_keeps_its_content(history: History, slack: SlackDouble) -> None:
    history.audit(found(1))
    history.next_day(found(1))
    history.send()
    assert slack.methods() == ["chat.postMessage", "chat.update"]
    (posted,) = (arguments["text"] for method, arguments, _ in slack.calls if method == "chat.postMessage")
    assert "Table 1" in posted


def test_everything_is_queued_or_nothing(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    real = deliveries.add

    def breaks(connection: sa.Connection, draft: deliveries.MessageDraft) -> str:
        if draft.kind is DeliveryKind.REPLY:
            raise RuntimeError("power cut")
        return real(connection, draft)

    history.audit(found(1))
    before = states(history.store)
    monkeypatch.setattr(deliveries, "add", breaks)
    with pytest.raises(RuntimeError):
        history.next_day(found(1, 2))
    assert states(history.store) == before


def test_slack_set_up_later_is_told_the_present_state(history: History, slack: SlackDouble) -> None:
    configured = history.settings
    history.settings = builders.settings()
    history.audit(found(1))
    assert history.send(lambda _: None).not_sent == 1
    history.settings = configured
    history.next_day(found(1, 2))
    history.send()
    assert ["2 open incidents" in t for t in slack.texts()] == [True]


def test_a_message_that_failed_is_made_anew(history: History, slack: SlackDouble) -> None:
    slack.fail(2, error="invalid_blocks")
    history.audit(found(1))
    assert history.send().failed == 1
    history.next_day(found(1))
    assert history.send().sent == 1
    assert "Table 1" in slack.texts()[0]


def test_a_reply_that_failed_rings_anew(history: History, slack: SlackDouble) -> None:
    history.audit(found(1))
    history.send()
    slack.fail(2, error="invalid_blocks")
    history.next_day(found(1, 2))
    assert history.send().failed == 1
    history.next_day(found(1, 2))
    history.send()
    assert "1 new" in slack.messages[-1].text


def test_settings_without_slack_thread_on_in_the_terminal(store: Store) -> None:
    history, said = History(store, builders.settings()), list[str]()
    history.audit(found(1))
    history.next_day(found(1, 2))
    history.next_day([])
    history.send(said.append)
    assert [text.splitlines()[0] for text in said] == [
        "🟠 Warning: demo, 1 open incident",
        "🟠 demo: 1 new",
        "edited: 🟢 demo: all resolved",
        "🟢 demo: all resolved",
    ]
    assert [state for _, state in states(store)] == ["not_sent", "superseded", "not_sent", "not_sent", "not_sent"]


def test_names_and_values_that_are_no_text_are_kept_and_told(history: History, slack: SlackDouble) -> None:
    half = "half \ud800 of a character"
    finding = a_finding(Subject("main", half, "host"), message=half, main_contributor=half, samples=(half,))
    history.store.save(a_profile(a_measurement(half)), a_result(a_rule_result(finding)), None)
    kept = history.store.profile("demo", DAY)
    assert kept is not None
    assert kept.measurements[0].name == "half \ufffd of a character"
    points = history.store.timeline("demo", DAY + timedelta(days=1)).of("series", Subject("main", half))
    assert [p.value for p in points] == [3]
    history.audit([finding])
    assert history.send() == SendReport(sent=1)
    assert "half \ufffd of a character" in slack.texts()[0]


def a_row(kind: DeliveryKind, about: dict[str, Severity]) -> Delivery:
    payload = {"about": {f: str(s) for f, s in about.items()}}
    return Delivery(
        id="",
        position=1,
        kind=kind,
        thread="default/demo",
        day=DAY,
        channel="",
        payload=payload,
        state=DeliveryState.SENT,
        parent_id=None,
        sent_channel=None,
        sent_id=None,
        attempts=1,
        last_error=None,
        queued_at=datetime(2026, 3, 31, 6),  # noqa: DTZ001 -- as the history keeps it
        claimed_at=None,
    )


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([(DeliveryKind.ALERT, {"a": WARN})], {"a": WARN}),
        ([(DeliveryKind.ALERT, {"a": WARN}), (DeliveryKind.EDIT, {"a": CRITICAL, "b": WARN})], {"a": WARN}),
        ([(DeliveryKind.ALERT, {"a": CRITICAL}), (DeliveryKind.EDIT, {"a": WARN})], {"a": WARN}),
        ([(DeliveryKind.ALERT, {"a": WARN, "b": WARN}), (DeliveryKind.EDIT, {"b": WARN})], {"b": WARN}),
        ([(DeliveryKind.ALERT, {"a": WARN}), (DeliveryKind.REPLY, {"b": CRITICAL})], {"a": WARN, "b": CRITICAL}),
        ([(DeliveryKind.ALERT, {"a": WARN}), (DeliveryKind.EDIT, {}), (DeliveryKind.REPLY, {"a": WARN})], {"a": WARN}),
    ],
)
def test_told_by_counts_what_rang(
    steps: list[tuple[DeliveryKind, dict[str, Severity]]], expected: dict[str, Severity]
) -> None:
    assert notified_by(a_row(kind, about) for kind, about in steps) == expected
