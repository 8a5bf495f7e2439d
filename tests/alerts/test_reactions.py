"""Reactions in Slack acknowledge and mute; taken back, they undo what they did, and nothing else."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import pytest

from tests.alerts import builders
from tests.alerts.builders import History, fast, found
from tests.alerts.slack_double import TOKEN, SlackDouble, Stored
from tests.builders import a_finding, a_result, a_rule_result
from tsaudit import alerts
from tsaudit.alerts import ReactionReport
from tsaudit.history import clock, decisions, incidents
from tsaudit.history.lifecycle import Incident
from tsaudit.history.store import Store
from tsaudit.model.figures import Subject
from tsaudit.model.finding import UNREACHABLE_CODE, Severity

ANN, BOB = "U0ANN", "U0BOB"
CRITICAL = Severity.CRITICAL


@pytest.fixture
def history(store: Store, slack: SlackDouble) -> History:
    """Today's: decisions apply from today on."""
    return History(store, builders.with_token(slack), clock.today() - timedelta(days=3))


def read(history: History) -> ReactionReport:
    return alerts.read_reactions(history.store, history.settings, fast())


def read_and_send(history: History) -> ReactionReport:
    report = read(history)
    history.send()
    return report


def alerted(history: History, slack: SlackDouble, *findings: Any) -> Stored:
    """The message about the findings, which has arrived."""
    history.audit(findings)
    history.send()
    return slack.messages[-1]


def current(history: History) -> list[Incident]:
    with history.store.reading() as connection:
        return decisions.decided_today(connection, incidents.standing(connection, None, None))


def said(history: History) -> list[tuple[str, str, date | None]]:
    """Kind, person, and last day of the decision about each incident; none for those without."""
    return [(i.decision.kind, i.decision.owner, i.decision.until) for i in current(history) if i.decision]


def until(days: int) -> date:
    return clock.today() + timedelta(days=days)


@pytest.mark.parametrize(
    ("name", "kind", "last", "words"),
    [
        ("eyes", "ack", None, "acknowledged 2 incidents, until they are resolved"),
        ("zzz", "mute", 7, "muted 2 incidents, until {}, or until they get worse"),
    ],
)
def test_a_reaction_decides_about_all_open_incidents_of_its_message(
    history: History, slack: SlackDouble, name: str, kind: str, last: int | None, words: str
) -> None:
    message = alerted(history, slack, *found(1, 2))
    message.react(name, ANN)
    assert read_and_send(history) == ReactionReport(asked=1, decided=2)
    day = until(last) if last else None
    assert said(history) == [(kind, ANN, day)] * 2
    reply = slack.messages[-1]
    assert reply.thread_ts == message.ts
    assert f"<@{ANN}> {words.format(day)}" in reply.text
    assert all(f"`{i.fingerprint[:8]}`" in reply.text for i in current(history))
    assert f"Take :{name}: back to undo it" in reply.text
    assert ("comes back earlier" in reply.text) == (kind == "mute")
    marks = " ".join(i.fingerprint[:8] for i in current(history))
    last_day = f" --until {day}" if day else ""
    assert f"run `tsaudit {kind} {marks}{last_day} --replace --reason '...'`" in reply.text


def test_read_again_nothing_is_repeated(history: History, slack: SlackDouble) -> None:
    alerted(history, slack, *found(1)).react("zzz", ANN)
    read_and_send(history)
    assert read_and_send(history) == ReactionReport(asked=1)
    assert len(slack.messages) == 2


def test_taken_back_it_is_undone_and_can_be_given_again(history: History, slack: SlackDouble) -> None:
    message = alerted(history, slack, *found(1))
    for _ in range(2):
        message.react("zzz", ANN)
        read_and_send(history)
        assert said(history) == [("mute", ANN, until(7))]
        message.take_back("zzz", ANN)
        assert read_and_send(history) == ReactionReport(asked=1, undone=1)
        assert said(history) == []
    assert ":zzz: was removed. No longer muted: 1 incident." in slack.messages[-1].text
    assert "comes back" not in slack.messages[-1].text
    assert len(slack.messages) == 5


def test_taken_back_after_the_message_shows_nothing_any_more(history: History, slack: SlackDouble) -> None:
    """The message about muted incidents is edited to say so; its reaction still counts."""
    message = alerted(history, slack, *found(1))
    message.react("zzz", ANN)
    read_and_send(history)
    history.next_day(found(1))
    history.send()
    assert "muted until" in message.text
    assert len(slack.messages) == 2, "one reply, which confirms it"
    message.take_back("zzz", ANN)
    assert read(history).undone == 1
    history.next_day(found(1))
    history.send()
    assert "1 open incident" in slack.messages[-1].text


def test_what_somebody_decided_since_with_a_command_stays(history: History, slack: SlackDouble) -> None:
    message = alerted(history, slack, *found(1, 2))
    message.react("zzz", ANN)
    read(history)
    mark = current(history)[0].fingerprint
    decisions.decide(history.store, [mark], "mute", "bob", "known", until(9), replace=True)
    message.take_back("zzz", ANN)
    assert read(history).undone == 1
    assert said(history) == [("mute", "bob", until(9))]


def test_reopened_with_a_command_it_stays_open_while_the_reaction_is_there(
    history: History, slack: SlackDouble
) -> None:
    alerted(history, slack, *found(1)).react("zzz", ANN)
    read(history)
    decisions.reopen(history.store, decisions.IncidentSelection(), "bob")
    assert (read(history).decided, said(history)) == (0, [])


def test_a_mute_made_with_a_command_is_not_replaced_but_an_ack_is(history: History, slack: SlackDouble) -> None:
    message = alerted(history, slack, *found(1, 2))
    first, second = current(history)
    decisions.decide(history.store, [first.fingerprint], "mute", "bob", "known", until(9))
    decisions.decide(history.store, [second.fingerprint], "ack", "bob", "on it")
    message.react("zzz", ANN)
    assert read_and_send(history).decided == 1
    assert said(history) == [("mute", "bob", until(9)), ("mute", ANN, until(7))]
    message.take_back("zzz", ANN)
    message.react("eyes", ANN)
    assert read_and_send(history) == ReactionReport(asked=1, decided=1, undone=1)
    assert said(history) == [("mute", "bob", until(9)), ("ack", ANN, None)]
    assert f"Unchanged: `{first.fingerprint[:8]}`" in slack.messages[-1].text
    assert f"is muted by bob until {until(9)} (known)" in slack.messages[-1].text


def test_of_two_people_the_first_decides_and_the_second_takes_over(history: History, slack: SlackDouble) -> None:
    message = alerted(history, slack, *found(1))
    message.react("eyes", ANN, BOB)
    read_and_send(history)
    assert said(history) == [("ack", ANN, None)]
    message.take_back("eyes", ANN)
    assert read_and_send(history) == ReactionReport(asked=1, decided=1)
    assert said(history) == [("ack", BOB, None)]
    assert f"<@{BOB}> acknowledged" in slack.messages[-1].text
    message.take_back("eyes", BOB)
    assert read(history).undone == 1
    assert said(history) == []


def test_who_takes_over_mutes_nothing_that_got_worse_since(history: History, slack: SlackDouble) -> None:
    message = alerted(history, slack, *found(1))
    message.react("zzz", ANN, BOB)
    read(history)
    history.next_day(found(1, severity=CRITICAL))
    message.take_back("zzz", ANN)
    assert read(history) == ReactionReport(asked=1)
    assert said(history) == []
    message.take_back("zzz", BOB)
    read(history)
    assert current(history)[0].exceeded is None


def test_of_two_reactions_the_stronger_applies_and_then_the_other_again(history: History, slack: SlackDouble) -> None:
    message = alerted(history, slack, *found(1))
    message.react("zzz", BOB)
    message.react("eyes", ANN)
    read(history)
    assert said(history) == [("mute", BOB, until(7))]
    message.take_back("zzz", BOB)
    read(history)
    assert said(history) == [("ack", ANN, None)]


def test_a_later_reaction_replaces_an_earlier_one(history: History, slack: SlackDouble) -> None:
    message = alerted(history, slack, *found(1))
    message.react("zzz", ANN)
    read(history)
    message.react("eyes", BOB)
    read(history)
    assert said(history) == [("ack", BOB, None)]


def test_a_reply_covers_what_it_reports_and_no_more(history: History, slack: SlackDouble) -> None:
    alerted(history, slack, *found(1))
    history.next_day(found(1, 2))
    history.send()
    reply = slack.messages[-1]
    reply.react("eyes", ANN)
    assert read_and_send(history).decided == 1
    assert [i.subject.measurement for i in current(history) if i.decision] == ["table_2"]
    assert slack.messages[-1].thread_ts == slack.messages[0].ts, "Slack has no threads in threads"


def test_what_opens_later_is_not_covered(history: History, slack: SlackDouble) -> None:
    alerted(history, slack, *found(1)).react("eyes", ANN)
    read(history)
    history.next_day(found(1, 2))
    history.send()
    read(history)
    assert [i.subject.measurement for i in current(history) if i.decision] == ["table_1"]


def test_on_an_old_message_it_changes_nothing_and_says_so_once(history: History, slack: SlackDouble) -> None:
    message = alerted(history, slack, *found(1))
    history.next_day([])
    history.send()
    count = len(slack.messages)
    message.react("zzz", ANN)
    assert read_and_send(history) == ReactionReport(asked=1)
    read_and_send(history)
    assert said(history) == []
    assert [m.text for m in slack.messages[count:]] == [
        "The incidents of this message are resolved, so :zzz: changes nothing."
    ]


def test_long_after_the_end_nobody_asks(history: History, slack: SlackDouble) -> None:
    history.day -= timedelta(days=30)
    alerted(history, slack, *found(1))
    history.next_day([])
    history.send()
    assert read(history).asked == 0


def test_critical_and_not_audited_are_muted_like_others(history: History, slack: SlackDouble) -> None:
    gone = a_finding(Subject(), CRITICAL, message="The target could not be audited: refused")
    result = a_rule_result(gone, code=UNREACHABLE_CODE, name="target-not-audited")
    history.conclude(a_result(result, day=history.day))
    history.send()
    slack.messages[0].react("zzz", ANN)
    assert read(history).decided == 1


def test_an_expired_mute_is_not_renewed_by_the_reaction_that_made_it(
    history: History, slack: SlackDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    alerted(history, slack, *found(1)).react("zzz", ANN)
    read(history)
    later = clock.today() + timedelta(days=8)
    monkeypatch.setattr(clock, "today", lambda: later)
    assert read(history).decided == 0
    assert said(history) == []


def test_names_and_spans_are_configuration(history: History, slack: SlackDouble) -> None:
    names = {"ack": ":raised_hands:", "mute": "zipper_mouth_face", "mute_for": "36h"}
    content = {"token": TOKEN, "base_url": slack.base_url, "reactions": names}
    history.settings = builders.settings(slack=content)
    message = alerted(history, slack, *found(1))
    message.react("eyes", ANN)
    assert read(history).decided == 0
    message.react("raised_hands::skin-tone-3", ANN)
    read(history)
    assert said(history) == [("ack", ANN, None)]
    message.react("zipper_mouth_face", ANN)
    read(history)
    assert said(history) == [("mute", ANN, until(2))]


@pytest.mark.parametrize("how", [{"reactions": {"read": False}}, None])
def test_switched_off_or_without_a_token_nothing_is_asked(
    history: History, slack: SlackDouble, how: dict[str, Any] | None
) -> None:
    alerted(history, slack, *found(1)).react("eyes", ANN)
    base = {"token": TOKEN, "base_url": slack.base_url}
    history.settings = builders.settings(slack=base | how) if how else builders.with_webhook(slack)
    assert read(history) == ReactionReport()
    assert "reactions.get" not in slack.methods()


def test_without_the_scope_one_line_says_what_to_add(history: History, slack: SlackDouble) -> None:
    slack.scopes.remove("reactions:read")
    targets = [{"name": n, "engine": "duckdb", "url": "x"} for n in ("demo", "b")]
    history.settings = builders.with_token(slack, targets=targets)
    history.audit(found(1))
    history.audit(found(1), target="b")
    assert history.send().errors == ()
    (line,) = read(history).problems
    assert "lacks the scope `reactions:read`; add it and install the app again" in line
    assert slack.methods().count("reactions.get") == 1
    assert len(slack.messages) == 2


def hints(slack: SlackDouble) -> list[bool]:
    """Whether each message says what reactions do."""
    return ["React to act" in str(message.blocks) for message in slack.messages]


def test_what_reactions_do_is_shown_where_they_are_read(history: History, slack: SlackDouble) -> None:
    alerted(history, slack, *found(1))
    history.next_day(found(1, 2))
    history.send()
    assert hints(slack) == [True, True]


def test_nobody_is_asked_to_react_where_reactions_are_not_read(history: History, slack: SlackDouble) -> None:
    base = {"token": TOKEN, "base_url": slack.base_url}
    history.settings = builders.settings(slack=base | {"reactions": {"read": False}})
    alerted(history, slack, *found(1))
    assert hints(slack) == [False]


@pytest.mark.parametrize(
    ("fault", "problem"),
    [
        ({"status": 429, "retry_after": 30}, ""),
        ({"error": "message_not_found"}, ""),
        ({"error": "channel_not_found"}, ""),
        ({"error": "bad_timestamp"}, ""),
        ({"error": "invalid_auth"}, "Slack does not accept the token"),
        ({"status": 500}, "reactions could not be read: Slack answered 500"),
        ({"drop": True}, "reactions could not be read: no response from Slack"),
    ],
)
def test_whatever_slack_answers_nothing_is_lost(
    history: History, slack: SlackDouble, fault: dict[str, Any], problem: str
) -> None:
    alerted(history, slack, *found(1)).react("eyes", ANN)
    slack.fail(method="reactions.get", **fault)
    report = read(history)
    assert (report.asked, len(report.problems)) == (0, bool(problem))
    assert problem in "".join(report.problems)
    assert read(history).decided == 1


ODD = [
    {"type": "message"},
    {"message": {"reactions": {}}},
    {"message": {"reactions": [{"name": "eyes"}]}},
    {"message": {"reactions": [{"name": "eyes", "users": [7]}]}},
    {"message": {"reactions": [{"name": "eyes", "users": ["<!channel>"]}]}},
    {"message": {"reactions": ["eyes"]}},
]


@pytest.mark.parametrize("answer", ODD)
def test_an_answer_of_another_form_decides_nothing(
    history: History, slack: SlackDouble, monkeypatch: pytest.MonkeyPatch, answer: dict[str, Any]
) -> None:
    alerted(history, slack, *found(1)).react("eyes", ANN)
    monkeypatch.setattr(slack, "_reactions_get", lambda _: answer)
    report = read(history)
    assert (report.decided, len(report.problems)) == (0, 1)


def test_only_so_many_messages_are_asked_at_a_time_and_all_in_the_end(history: History, slack: SlackDouble) -> None:
    targets = [{"name": f"t{n}", "engine": "duckdb", "url": "x"} for n in range(4)]
    content = {"token": TOKEN, "base_url": slack.base_url, "reactions": {"most_asked": 2}}
    history.settings = builders.settings(slack=content, targets=targets)
    for target in targets:
        history.audit(found(1), target=target["name"])
    history.send()
    for message in list(slack.messages):
        message.react("eyes", ANN)
    reports = [read(history) for _ in range(40)]
    assert {report.asked for report in reports} == {2}
    assert len(said(history)) == 4


def test_a_confirmation_is_no_news(history: History, slack: SlackDouble) -> None:
    """It neither counts as having reported an incident, nor hides that one got worse."""
    alerted(history, slack, *found(1)).react("zzz", ANN)
    read_and_send(history)
    history.next_day(found(1, severity=CRITICAL))
    history.send()
    assert "demo: 1 worse" in slack.messages[-1].text
