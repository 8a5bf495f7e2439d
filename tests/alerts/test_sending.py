from __future__ import annotations

import dataclasses
import threading
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from tests.alerts import builders
from tests.alerts.builders import History, found
from tests.alerts.slack_double import Fault, SlackDouble
from tests.alerts.test_outbox import rows, states
from tests.builders import DAY
from tsaudit import alerts
from tsaudit.alerts import SendReport
from tsaudit.history import deliveries
from tsaudit.history.deliveries import DeliveryState
from tsaudit.history.schema import delivery
from tsaudit.history.store import Store
from tsaudit.model.finding import Severity

TARGETS = [{"name": f"t{n}", "engine": "duckdb", "url": "x"} for n in range(6)]


@pytest.fixture
def many(history: History, slack: SlackDouble) -> History:
    """Six targets with an alert each, all to one channel."""
    history.settings = builders.with_token(slack, targets=TARGETS)
    for target in TARGETS:
        history.audit(found(1), target=target["name"])
    return history


def heads(slack: SlackDouble) -> list[str]:
    return [text.split(": ")[1].split(",")[0] for text in slack.texts()]


ALL = ["t0", "t1", "t2", "t3", "t4", "t5"]


def test_alerts_arrive_in_the_order_they_were_queued(many: History, slack: SlackDouble) -> None:
    assert many.send() == SendReport(sent=6)
    assert heads(slack) == ALL


def test_a_long_queue_is_read_in_parts(many: History, slack: SlackDouble, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deliveries, "_AT_ONCE", 2)
    many.send()
    assert heads(slack) == ALL


def test_a_message_carries_its_delivery_and_unfurls_nothing(many: History, slack: SlackDouble) -> None:
    many.send()
    assert [m.delivery for m in slack.messages] == [row.id for row in rows(many.store)]
    assert all(m.metadata and m.metadata["event_type"] == "tsaudit_delivery" for m in slack.messages)
    posted = [arguments for method, arguments, _ in slack.calls if method == "chat.postMessage"]
    assert [arguments["unfurl_links"] for arguments in posted] == [False] * 6


def test_sent_messages_are_not_sent_again(many: History, slack: SlackDouble) -> None:
    many.send()
    assert many.send() == SendReport()
    assert len(slack.messages) == 6


def test_one_channel_gets_one_message_a_second(many: History, slack: SlackDouble) -> None:
    slept: list[float] = []
    many.send(pace=builders.fast(slept))
    assert len(slept) == 5
    assert all(0.5 < seconds <= 1 for seconds in slept)


def test_what_goes_to_a_thread_counts_for_its_channel_too(history: History, slack: SlackDouble) -> None:
    history.audit(found(1))
    history.next_day(found(1, 2))
    slept: list[float] = []
    history.send(pace=builders.fast(slept))
    assert slack.methods() == ["chat.postMessage", "chat.update", "chat.postMessage"]
    assert len(slept) == 2


@pytest.mark.wall_clock
def test_slack_enforcing_its_rate_gets_all_of_them(many: History, slack: SlackDouble) -> None:
    slack.least_gap_s = 0.1
    many.send(pace=alerts.SendingPace(message_s=0.3))
    assert heads(slack) == ALL
    assert len(slack.methods()) == 6, "none was refused for coming too early"


def test_too_many_requests_are_waited_for_as_long_as_slack_says(many: History, slack: SlackDouble) -> None:
    slack.fail(2, status=429, retry_after=7)
    slept: list[float] = []
    assert many.send(pace=builders.fast(slept)) == SendReport(sent=6)
    assert slept.count(7) == 2
    assert heads(slack) == ALL


def test_nobody_waits_after_the_last_try(history: History, slack: SlackDouble) -> None:
    history.audit(found(1))
    slack.fail(4, status=429, retry_after=60)
    slept: list[float] = []
    assert history.send(pace=builders.fast(slept)).waiting == 1
    assert slept.count(60) == 3


def test_a_wait_too_long_is_left_to_the_next_run(many: History, slack: SlackDouble) -> None:
    slack.fail(status=429, retry_after=3600)
    report = many.send()
    assert (report.sent, report.waiting) == (0, 6)
    assert report.errors == ("Slack asks to wait 3600 s (rate limit)",)
    assert many.send().sent == 6
    assert heads(slack) == ALL


@pytest.mark.parametrize(
    "fault",
    [
        {"status": 500},
        {"status": 503, "after": True},
        {"drop": True},
        {"drop": True, "after": True},
        {"error": "internal_error"},
        {"error": "fatal_error", "after": True},
        {"error": "ratelimited"},
    ],
)
@pytest.mark.parametrize("times", [1, 3])
def test_what_breaks_off_is_tried_again_without_doubles(
    many: History, slack: SlackDouble, fault: dict[str, Any], times: int
) -> None:
    slack.fail(1 if fault.get("after") else times, **fault)
    assert many.send() == SendReport(sent=6)
    assert heads(slack) == ALL


@pytest.mark.parametrize("after", [False, True])
def test_a_reply_that_breaks_off_is_looked_up_in_its_thread(history: History, slack: SlackDouble, after: bool) -> None:
    history.audit(found(1))
    history.send()
    history.next_day(found(1, 2))
    slack.fail(drop=True, after=after)
    assert history.send().errors == ()
    assert "conversations.replies" in slack.methods()
    assert len(slack.messages) == 2
    assert slack.messages[1].thread_ts == slack.messages[0].ts


def test_an_edit_that_breaks_off_is_simply_repeated(history: History, slack: SlackDouble) -> None:
    history.audit(found(1))
    history.send()
    history.next_day(found(1))
    slack.fail(2, method="chat.update", status=500, after=True)
    assert history.send().edited == 1
    assert len(slack.messages) == 1


def test_what_stays_broken_waits_in_doubt_and_keeps_its_place(many: History, slack: SlackDouble) -> None:
    slack.fail(4, status=500)
    report = many.send()
    assert (report.sent, report.waiting, report.errors) == (
        0,
        6,
        ("Slack answered 500",),
    )
    assert states(many.store)[0] == ("alert", "sending")
    assert rows(many.store)[0].attempts == 4
    assert rows(many.store)[0].last_error == report.errors[0]
    assert many.send().sent == 6
    assert heads(slack) == ALL


def test_what_slack_fails_on_again_and_again_is_sent_as_plain_text(many: History, slack: SlackDouble) -> None:
    slack.fail(99, status=500, only_blocks=True)
    late = dataclasses.replace(builders.fast(), blocks_s=0)
    assert many.send(pace=late).waiting == 6
    assert many.send(pace=late).waiting == 6
    report = many.send(pace=late)
    assert slack.messages[0].blocks == []
    assert report.waiting == 5, "the next one is tried with its blocks"


def test_an_outage_however_often_it_is_met_costs_no_blocks(many: History, slack: SlackDouble) -> None:
    """Sensors try every few seconds."""
    slack.fail(20, status=500)
    for _ in range(5):
        many.send()
    assert many.send().sent == 6
    assert all(message.blocks for message in slack.messages)


def test_other_channels_go_on(history: History, slack: SlackDouble) -> None:
    history.settings = builders.with_token(slack, routes=[{"owner": "dba", "measurements": ["table_1"]}])
    history.audit(found(1, 2))
    slack.fail(4, status=500)
    report = history.send()
    assert (report.sent, report.waiting) == (1, 1)


def test_nobody_listening_gives_one_line_and_loses_nothing(many: History, slack: SlackDouble) -> None:
    good = many.settings
    closed = {"token": "xoxb-test", "base_url": "http://127.0.0.1:9/api/"}
    many.settings = builders.settings(targets=TARGETS, slack=closed)
    report = many.send()
    assert (report.sent, report.waiting) == (0, 6)
    (line,) = report.errors
    refused = "connection refused: nothing listens on that port; check the network"
    assert line.startswith(f"no response from Slack at 127.0.0.1:9: {refused}")
    assert {state for _, state in states(many.store)} == {"queued"}
    many.settings = good
    assert many.send().sent == 6


@pytest.mark.parametrize("error", ["invalid_blocks", "msg_too_long", "msg_blocks_too_long", "a_code_of_tomorrow"])
def test_refused_blocks_are_sent_as_plain_text(history: History, slack: SlackDouble, error: str) -> None:
    history.audit(found(1, 2))
    slack.fail(error=error, only_blocks=True)
    assert history.send() == SendReport(sent=1)
    assert slack.messages[0].blocks == []
    assert "Table 1 is bad" in slack.messages[0].text


def test_a_refused_edit_is_sent_as_plain_text(history: History, slack: SlackDouble) -> None:
    history.audit(found(1))
    history.send()
    history.next_day(found(1, 2))
    slack.fail(method="chat.update", error="invalid_blocks", only_blocks=True)
    assert history.send().edited == 1
    assert slack.messages[0].blocks == []


def test_what_is_refused_as_plain_text_too_fails_the_run(many: History, slack: SlackDouble) -> None:
    slack.fail(2, error="invalid_blocks")
    report = many.send()
    assert (report.sent, report.failed) == (5, 1)
    assert report.errors == (
        "the message about t0 to `default` was not accepted: Slack rejected the message (invalid_blocks)",
    )
    assert states(many.store)[0] == ("alert", "failed")


@pytest.mark.parametrize("code", ["invalid_auth", "token_revoked", "account_inactive", "missing_scope"])
def test_a_bad_token_stops_at_once_and_loses_nothing(many: History, slack: SlackDouble, code: str) -> None:
    slack.fail(error=code)
    report = many.send()
    assert (report.sent, report.failed, report.waiting) == (0, 0, 6)
    assert len(slack.methods()) == 1
    (line,) = report.errors
    assert f"({code}" in line
    assert "\n" not in line
    assert many.send().sent == 6


def test_a_wrong_token_is_told_apart_by_the_server(many: History, slack: SlackDouble) -> None:
    many.settings = builders.settings(targets=TARGETS, slack={"token": "wrong", "base_url": slack.base_url})
    assert many.send().errors == ("Slack does not accept the token; check `slack.token` (invalid_auth)",)


def test_a_bad_channel_holds_up_that_channel_only(history: History, slack: SlackDouble) -> None:
    routes = [{"owner": "dba", "measurements": ["table_1"]}]
    history.settings = builders.with_token(slack, routes=routes)
    slack.joined.remove("C0DBA")
    history.audit(found(1, 2))
    report = history.send()
    assert report == SendReport(
        sent=1,
        waiting=1,
        errors=("#dba: the app is not in the channel; type /invite @tsaudit there (not_in_channel)",),
    )
    slack.joined.add("C0DBA")
    assert history.send() == SendReport(sent=1)


def test_a_channel_corrected_in_the_configuration_gets_what_waited(history: History, slack: SlackDouble) -> None:
    good = history.settings
    history.settings = builders.with_token(slack, owners={"default": {"channel": "#mistyped"}})
    history.audit(found(1))
    assert "Slack knows no such channel" in history.send().errors[0]
    history.settings = good
    assert history.send().sent == 1
    history.next_day(found(1))
    assert history.send().edited == 1


def test_the_id_of_a_channel_is_learnt_from_what_was_sent_to_it(history: History, slack: SlackDouble) -> None:
    history.audit(found(1))
    history.next_day(found(1, 2))
    history.settings = builders.with_token(slack, owners={"default": {"channel": "#dba"}})
    history.send()
    assert len(slack.texts("C0DBA")) == 2
    engine = history.store.engine
    assert deliveries.known_channel_id(engine, "#dba") == "C0DBA"
    assert deliveries.known_channel_id(engine, "#default") is None, "the reply was queued for it, and went elsewhere"


def test_a_thread_in_a_channel_that_is_gone_goes_on_in_the_new_one(history: History, slack: SlackDouble) -> None:
    history.audit(found(1))
    history.send()
    history.next_day(found(1, 2))
    slack.fail(method="chat.update", error="channel_not_found")
    slack.archived.add("C0DEFAULT")
    assert history.send().waiting == 2
    history.settings = builders.with_token(slack, owners={"default": {"channel": "#dba"}})
    slack.fail(method="chat.update", error="is_archived")
    assert history.send() == SendReport(sent=1)
    assert "1 new" in slack.texts("C0DBA")[0]


def test_an_owner_without_a_channel_gives_one_line(history: History, slack: SlackDouble) -> None:
    history.settings = builders.with_token(slack, owners={"default": {}})
    history.audit(found(1))
    report = history.send()
    assert report.errors == ("owner `default` has no channel; set `owners.default.channel` (or that of `default`)",)
    assert report.waiting == 1


@pytest.mark.parametrize("error", ["message_not_found", "cant_update_message", "edit_window_closed"])
def test_an_edit_of_a_deleted_message_is_let_go(history: History, slack: SlackDouble, error: str) -> None:
    history.audit(found(1))
    history.send()
    history.next_day(found(1, 2))
    slack.fail(method="chat.update", error=error)
    assert history.send() == SendReport(sent=1)
    assert states(history.store)[1] == ("edit", "superseded")


def test_a_reply_to_a_deleted_message_becomes_a_message(history: History, slack: SlackDouble) -> None:
    history.audit(found(1))
    history.send()
    slack.messages.clear()
    history.next_day(found(1, 2))
    assert history.send().sent == 1
    assert slack.messages[0].thread_ts is None
    assert "1 new" in slack.messages[0].text


def test_all_rules_at_once_arrive(history: History, slack: SlackDouble) -> None:
    long = "x" * 300
    history.audit(found(*range(500), severity=Severity.CRITICAL, samples=(long,) * 9, fix=long, main_contributor=long))
    assert history.send() == SendReport(sent=1)
    assert "500 open incidents" in slack.texts()[0]
    assert slack.messages[0].blocks, "it was taken with its blocks"


# -- in doubt ----------------------------------------------------------------------------------------------------


def leave_in_doubt(history: History, slack: SlackDouble, *, stored: bool) -> None:
    """As after a crash between the call and the note that it succeeded."""
    slack.fail(drop=True, after=stored)
    history.send(pace=alerts.SendingPace(tries=1, sleep=lambda _: None))
    assert states(history.store)[0][1] == "sending"


@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize("channel", ["#default", "C0DEFAULT"])
def test_a_message_in_doubt_is_looked_up_first(
    history: History, slack: SlackDouble, stored: bool, channel: str
) -> None:
    history.settings = builders.with_token(slack, owners={"default": {"channel": channel}})
    history.audit(found(1))
    leave_in_doubt(history, slack, stored=stored)
    assert history.send() == SendReport(sent=1)
    assert len(slack.messages) == 1
    history.next_day(found(1, 2))
    assert history.send() == SendReport(sent=1, edited=1)
    assert slack.messages[1].thread_ts == slack.messages[0].ts


def test_a_message_in_doubt_is_given_time_to_turn_up(history: History, slack: SlackDouble) -> None:
    history.audit(found(1))
    leave_in_doubt(history, slack, stored=True)
    slept: list[float] = []
    history.send(pace=builders.fast(slept))
    assert 3 < slept[0] <= 5


def test_a_clock_that_is_ahead_holds_nobody_up(history: History, slack: SlackDouble) -> None:
    history.audit(found(1))
    leave_in_doubt(history, slack, stored=True)
    ahead = datetime.now(UTC).replace(tzinfo=None) + timedelta(hours=1)
    with deliveries.writing(history.store.engine) as connection:
        connection.execute(sa.update(delivery).values(claimed_at=ahead))
    slept: list[float] = []
    history.send(pace=builders.fast(slept))
    assert slept == [5]


def test_a_doubt_outlives_a_run_that_may_not_look(history: History, slack: SlackDouble) -> None:
    history.audit(found(1))
    leave_in_doubt(history, slack, stored=True)
    good = history.settings
    history.settings = builders.settings(slack={"token": "wrong", "base_url": slack.base_url})
    assert history.send(lambda _: None).waiting == 1
    history.settings = good
    assert history.send() == SendReport(sent=1)
    assert len(slack.messages) == 1


def test_a_message_in_doubt_is_looked_up_where_it_was_sent_to(history: History, slack: SlackDouble) -> None:
    history.audit(found(1))
    leave_in_doubt(history, slack, stored=True)
    history.settings = builders.with_token(slack, owners={"default": {"channel": "#dba"}})
    assert history.send() == SendReport(sent=1)
    assert len(slack.messages) == 1
    history.next_day(found(1))
    history.send()
    assert "continued in #dba" in slack.texts("C0DEFAULT")[0]
    assert "1 open incident" in slack.texts("C0DBA")[0]


def test_looking_up_goes_through_all_pages(history: History, slack: SlackDouble) -> None:
    history.audit(found(1))
    leave_in_doubt(history, slack, stored=True)
    for _ in range(7):
        slack._store("C0DEFAULT", {"text": "chatter"})
    slack.page = 3
    assert history.send() == SendReport(sent=1)
    assert slack.methods().count("conversations.history") == 3
    assert slack.methods().count("chat.postMessage") == 1


def test_a_look_up_that_fails_leaves_the_doubt(history: History, slack: SlackDouble) -> None:
    history.audit(found(1))
    leave_in_doubt(history, slack, stored=True)
    slack.fail(9, method="conversations.history", status=500)
    assert history.send().waiting == 1
    assert len(slack.messages) == 1
    slack.faults.clear()
    assert history.send() == SendReport(sent=1)
    assert len(slack.messages) == 1


@pytest.mark.parametrize("lacking", ["channels:history", "channels:read"])
def test_without_the_right_to_look_twice_is_better_than_never(
    history: History, slack: SlackDouble, lacking: str
) -> None:
    slack.scopes.remove(lacking)
    history.audit(found(1))
    leave_in_doubt(history, slack, stored=False)
    said: list[str] = []
    assert history.send(said.append) == SendReport(sent=1)
    assert "may arrive in Slack twice" in said[0]
    assert len(slack.messages) == 1


def test_a_private_channel_nobody_lists_is_not_looked_up(history: History, slack: SlackDouble) -> None:
    history.settings = builders.with_token(slack, owners={"default": {"channel": "#secret"}})
    history.audit(found(1))
    slack.fail(drop=True)
    said: list[str] = []
    report = history.send(said.append)
    assert "set the ID as the owner's `channel`" in said[0]
    assert "Slack knows no such channel" in report.errors[0]


def test_too_many_pages_are_not_looked_through(history: History, slack: SlackDouble) -> None:
    history.audit(found(1))
    leave_in_doubt(history, slack, stored=False)
    for _ in range(30):
        slack._store("C0DEFAULT", {"text": "chatter"})
    slack.page = 1
    said: list[str] = []
    assert history.send(said.append) == SendReport(sent=1)
    assert "more than 5000 messages to look through" in said[0]


def test_a_message_that_may_nowhere_be_posted_fails(history: History, slack: SlackDouble) -> None:
    history.audit(found(1))
    slack.fail(error="cannot_reply_to_message")
    assert history.send().failed == 1


# -- webhook -----------------------------------------------------------------------------------------------------


@pytest.fixture
def hooked(store: Store, slack: SlackDouble) -> History:
    return History(store, builders.with_webhook(slack))


def test_a_webhook_gets_news_and_no_edits(hooked: History, slack: SlackDouble) -> None:
    hooked.audit(found(1))
    hooked.send()
    hooked.next_day(found(1))
    assert hooked.send() == SendReport()
    hooked.next_day(found(1, 2))
    hooked.send()
    hooked.next_day([])
    hooked.send()
    assert [text.splitlines()[0] for text in slack.texts()] == [
        "🟠 Warning: demo, 1 open incident",
        "🟠 demo: 1 new",
        "🟢 demo: all resolved",
    ]


def test_a_webhook_is_told_once_what_the_day_resolved(hooked: History, slack: SlackDouble) -> None:
    hooked.audit(found(1, 2))
    hooked.send()
    hooked.next_day(found(2, 3))
    hooked.send()
    for findings in (found(2), []):
        hooked.audit(findings)
        hooked.send()
    first, second, last = slack.messages[1:]
    assert first.text.startswith("🟠 demo: 1 new, 1 resolved\n")
    assert (second.text, last.text) == ("🟢 demo: 1 resolved", "🟢 demo: all resolved")
    for message, tables in ((first, (1,)), (second, (3,)), (last, (2,))):
        over = ", ".join(f"CAR001 `main/table_{n}.host` resolved" for n in tables)
        assert f"No longer open: {over}'" in str(message.blocks)


@pytest.mark.parametrize("fault", [{"status": 500}, {"drop": True}, {"status": 429, "retry_after": 2}])
def test_a_webhook_is_tried_again(hooked: History, slack: SlackDouble, fault: dict[str, Any]) -> None:
    hooked.audit(found(1))
    slack.faults.append(Fault(method="webhook", **fault))
    report = hooked.send(lambda _: None)
    assert (report.sent, report.errors, len(slack.messages)) == (1, (), 1)


def test_a_webhook_that_broke_off_may_double_and_says_so(hooked: History, slack: SlackDouble) -> None:
    hooked.audit(found(1))
    slack.fail(method="webhook", drop=True, after=True)
    said: list[str] = []
    hooked.send(said.append)
    assert said == ["a message may arrive in Slack twice: messages of this notifier cannot be read back"]
    assert len(slack.messages) == 2


def test_a_webhook_refusing_blocks_gets_plain_text(hooked: History, slack: SlackDouble) -> None:
    hooked.audit(found(1))
    slack.fail(method="webhook", status=400, error="invalid_blocks", only_blocks=True)
    assert hooked.send() == SendReport(sent=1)
    assert slack.messages[0].blocks == []


def test_a_webhook_refusing_plain_text_too_fails_the_run(hooked: History, slack: SlackDouble) -> None:
    hooked.audit(found(1))
    slack.fail(2, method="webhook", status=400, error="invalid_payload")
    report = hooked.send()
    assert report.failed == 1
    assert report.errors[0].endswith("Slack rejected the message (400 invalid_payload)")


@pytest.mark.parametrize(("status", "code"), [(404, "no_service"), (403, "action_prohibited"), (404, "no_team")])
def test_a_dead_webhook_gives_one_line_without_its_address(
    hooked: History, slack: SlackDouble, status: int, code: str, caplog: pytest.LogCaptureFixture
) -> None:
    hooked.audit(found(1))
    slack.fail(method="webhook", status=status, error=code)
    with caplog.at_level("DEBUG"):
        report = hooked.send()
    assert report.waiting == 1
    assert f"({code})" in report.errors[0]
    assert "secret" not in report.errors[0] + caplog.text


def test_a_webhook_that_nothing_listens_at_names_its_own_setting(hooked: History) -> None:
    hooked.settings = builders.settings(slack={"webhook": "http://127.0.0.1:9/services/secret"})
    hooked.audit(found(1))
    (line,) = hooked.send().errors
    assert line.endswith("check the network, the proxy, and `slack.webhook`")


def test_a_token_after_a_webhook_starts_with_a_message(hooked: History, slack: SlackDouble) -> None:
    hooked.audit(found(1))
    hooked.send()
    hooked.settings = builders.with_token(slack)
    hooked.next_day(found(1, 2))
    assert hooked.send().errors == ()
    assert slack.texts("C0DEFAULT") != []


# -- two at once -------------------------------------------------------------------------------------------------


def test_two_senders_at_once_send_each_message_once(many: History, slack: SlackDouble) -> None:
    reports: list[SendReport] = []
    threads = [threading.Thread(target=lambda: reports.append(many.send())) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(report.sent for report in reports) == 6
    assert heads(slack) == ALL


def test_a_sender_that_waits_in_vain_says_so(many: History) -> None:
    with deliveries.sole_sender(many.store.engine, 0) as alone:
        assert alone
        report = many.send(pace=alerts.SendingPace(lock_wait_s=0.1))
    line = "another tsaudit is sending and has made no progress for 0 s; 6 messages wait"
    assert report == SendReport(waiting=6, errors=(line,), out_of_time=(line,))


def test_a_sender_whose_messages_another_has_sent_has_nothing_to_say(history: History) -> None:
    with deliveries.sole_sender(history.store.engine, 0):
        assert history.send(pace=alerts.SendingPace(lock_wait_s=0.1)) == SendReport()


def test_a_sender_waits_as_long_as_the_other_gets_on(many: History) -> None:
    def other() -> None:
        for row in deliveries.waiting(many.store.engine)[:4]:
            time.sleep(0.2)
            deliveries.record_result(many.store.engine, row, DeliveryState.SENT)

    with deliveries.sole_sender(many.store.engine, 0):
        thread = threading.Thread(target=other)
        thread.start()
        report = many.send(pace=alerts.SendingPace(lock_wait_s=0.4))
        thread.join()
    assert report.waiting == 2, "it gave up only when nothing moved any more"


def test_what_is_queued_while_sending_is_sent_too(
    many: History, slack: SlackDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, left = deliveries.record_result, [1]

    def settle(*arguments: Any, **named: Any) -> None:
        real(*arguments, **named)
        if left and left.pop():
            History(many.store, many.settings, day=DAY + timedelta(days=1)).audit(found(1, 2), target="t5")

    monkeypatch.setattr(deliveries, "record_result", settle)
    assert many.send() == SendReport(sent=7, edited=1)


def test_a_message_rewritten_while_sending_goes_out_as_it_reads_now(
    history: History, slack: SlackDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    history.audit(found(1))
    history.send()
    history.next_day(found(1))
    alerts.queue_digest(history.store, history.settings, history.day)
    real = deliveries.claim

    def claim(engine: sa.Engine, row: deliveries.Delivery, channel: str) -> deliveries.Delivery | None:
        with deliveries.writing(engine) as connection:
            deliveries.rewrite(connection, row, {"text": f"newer {row.kind}", "blocks": [], "about": {}})
        return real(engine, row, channel)

    monkeypatch.setattr(deliveries, "claim", claim)
    history.send()
    assert slack.texts() == ["newer edit", "newer digest"]


def test_an_edit_overtaken_while_sending_is_left_out(
    many: History, slack: SlackDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    many.day += timedelta(days=1)
    many.audit(found(1), target="t5")
    real, left = deliveries.claim, [1]

    def claim(*arguments: Any) -> Any:
        if left and left.pop():
            History(many.store, many.settings, day=DAY + timedelta(days=2)).audit(found(1), target="t5")
        return real(*arguments)

    monkeypatch.setattr(deliveries, "claim", claim)
    assert many.send() == SendReport(sent=6, edited=1)
    assert slack.methods().count("chat.update") == 1


def test_the_pause_between_tries_doubles(history: History, slack: SlackDouble) -> None:
    """A server that is restarting is not hurried: 2 s, 4 s, 8 s, and then the next run."""
    history.audit(found(1))
    history.send()
    history.next_day(found(1))
    slack.fail(4, method="chat.update", status=500)
    slept: list[float] = []
    report = history.send(pace=dataclasses.replace(builders.fast(slept), message_s=0.0))
    assert (report.edited, report.waiting) == (0, 1)
    assert slept == [2, 4, 8]
