"""Alertmanager as a notifier: what fires there is what is open here."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest

from tests.alerts import alertmanager_double, builders
from tests.alerts.alertmanager_double import AlertmanagerDouble, Answer
from tests.alerts.builders import REPORT, History, found
from tests.builders import DAY, a_finding
from tests.command import CliRunner
from tsaudit import alerts, secrets
from tsaudit.alerts import alertmanager, routing
from tsaudit.alerts.notifier import SetupError
from tsaudit.cli import main
from tsaudit.history import decisions, deliveries, incidents
from tsaudit.history.store import Store
from tsaudit.model.figures import Subject, utc_now
from tsaudit.model.finding import Severity

NOON: Final = datetime(DAY.year, DAY.month, DAY.day, 12, tzinfo=UTC)
NAMES: Final = ("a\x00b\n\x1b[31m", "\u202e]]<b>", '"}{', "é\ud800", "x" * 300 + "1", "x" * 300 + "2", "\\n")
FIRST, SECOND = (str(f.subject) for f in found(1, 2))


class Clock:
    now = NOON

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(alertmanager, "utc_now", clock)
    return clock


@pytest.fixture
def double(clock: Clock) -> Iterator[AlertmanagerDouble]:
    with alertmanager_double.running(clock) as running:
        yield running
    assert running.refusals == []


def history_of(store: Store, url: str, **changes: Any) -> History:
    return History(store, builders.settings(notifiers={"alertmanager": {"url": url}}, **changes))


@pytest.fixture
def history(store: Store, double: AlertmanagerDouble) -> History:
    return history_of(store, double.url)


def test_alert_when_an_incident_is_open(history: History, double: AlertmanagerDouble) -> None:
    history.audit(found(1))
    assert history.send().sent == 1
    ((sent,),) = double.posts
    (incident,) = incidents.current(history.store)
    assert sent["labels"] == {
        "alertname": "high-series-cardinality",
        "target": "demo",
        "rule": "CAR001",
        "subject": FIRST,
        "severity": "warning",
        "owner": "default",
        "fingerprint": incident.fingerprint,
    }
    page = f"{REPORT}#f-{incident.fingerprint}"
    assert sent["annotations"] == {"summary": "main/table_1: Table 1 is bad", "report": page}
    assert sent["generatorURL"] == page
    assert (sent["startsAt"], sent["endsAt"]) == ("2026-03-31T00:00:00+00:00", "2026-04-02T13:00:00+00:00")


def test_impact_when_known_is_an_annotation(history: History, double: AlertmanagerDouble) -> None:
    history.audit(found(1, consequence="The disk is full in 9 days.", observed=5.0, unit="series"))
    history.send()
    said = double.posts[0][0]["annotations"]["impact"]
    assert said == "Now: 5 series (in table_1); If nothing is done: The disk is full in 9 days"


def test_alerts_when_audited_each_day_go_on_and_end(history: History, double: AlertmanagerDouble, clock: Clock) -> None:
    history.audit(found(1, 2))
    history.send()
    assert double.firing(clock.now) == [FIRST, SECOND]
    clock.now += timedelta(days=1)
    history.next_day(found(1, 2))
    history.send()
    clock.now += timedelta(days=2)
    assert double.firing(clock.now) == [FIRST, SECOND]
    history.next_day(found(2, 3))
    history.send()
    assert double.firing(clock.now) == [SECOND, str(found(3)[0].subject)]
    history.next_day([])
    history.send()
    assert double.firing(clock.now) == []
    assert FIRST not in {sent["labels"]["subject"] for sent in double.posts[-1]}
    history.next_day(found(1))
    history.send()
    assert double.firing(clock.now) == [FIRST]
    assert double.firing(clock.now + timedelta(hours=49)) == []


def test_alert_when_it_gets_worse_and_milder_fires_once(
    history: History, double: AlertmanagerDouble, clock: Clock
) -> None:
    history.audit(found(1))
    history.send()
    history.next_day(found(1, severity=Severity.CRITICAL))
    history.send()
    assert double.firing(clock.now, "severity") == ["critical"]
    # The same day again.
    history.audit(found(1))
    history.send()
    assert double.firing(clock.now, "severity") == ["warning"]
    history.audit([])
    history.send()
    assert double.firing(clock.now) == []


def test_alert_when_the_owner_changes_fires_for_the_new_one(
    store: Store, double: AlertmanagerDouble, clock: Clock
) -> None:
    history = history_of(store, double.url)
    history.audit(found(1))
    history.send()
    history.settings = history_of(store, double.url, routes=[{"owner": "dba"}]).settings
    history.next_day(found(1))
    history.send()
    assert double.firing(clock.now, "owner") == ["dba"]


def test_alert_when_muted_ends(history: History, double: AlertmanagerDouble, clock: Clock) -> None:
    history.audit(found(1, 2))
    history.send()
    incident = next(i for i in incidents.current(history.store) if str(i.subject) == FIRST)
    until = utc_now().date() + timedelta(days=9)
    decisions.decide(history.store, [incident.fingerprint], "mute", "ada", "later", until)
    history.next_day(found(1, 2))
    history.send()
    assert double.firing(clock.now) == [SECOND]


def test_alerts_of_many_owners_are_sent_without_a_pause(store: Store, double: AlertmanagerDouble) -> None:
    """One call a second would let those of many targets expire before it is their turn."""
    routes = [{"owner": "dba", "measurements": ["table_1"]}]
    history = history_of(store, double.url, routes=routes)
    history.audit(found(1, 2))
    slept: list[float] = []
    assert (history.send(pace=builders.fast(slept)).sent, slept) == (2, [])


def test_names_when_hostile_are_taken(history: History, double: AlertmanagerDouble, clock: Clock) -> None:
    history.audit([a_finding(Subject("main", name, ""), message=f"{name} is bad") for name in NAMES])
    history.send()
    assert len(double.firing(clock.now)) == len(NAMES)
    assert all(text.isprintable() for sent in double.posts[0] for text in sent["labels"].values())


def test_alert_when_the_clock_was_set_back_ends(history: History, double: AlertmanagerDouble, clock: Clock) -> None:
    clock.now -= timedelta(days=9)
    history.audit(found(1))
    history.send()
    history.next_day([])
    history.send()
    assert (double.firing(clock.now), len(double.posts)) == ([], 3)


def test_digest_is_not_sent(history: History, double: AlertmanagerDouble) -> None:
    history.audit(found(1))
    history.next_day(found(1))
    assert len(alerts.queue_digest(history.store, history.settings, history.day)) == 1
    report = history.send()
    assert (report.sent, report.errors) == (2, ())
    assert [len(post) for post in double.posts] == [1, 1]


def answer(status: int, body: str) -> Callable[[], Answer]:
    return lambda: (status, body)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (lambda: None, "no answer from"),
        (answer(503, "upstream"), "is busy or down (HTTP 503: upstream)"),
        (answer(200, "<html>login</html>"), "something other than Alertmanager answers"),
        (answer(302, ""), "something other than Alertmanager answers"),
        (answer(401, ""), "rejects the login in `url` (HTTP 401)"),
    ],
    ids=["hangs up", "503", "page", "redirect", "401"],
)
def test_alert_when_not_taken_waits_for_the_next_run(
    history: History, double: AlertmanagerDouble, clock: Clock, fault: Callable[[], Answer | None], said: str
) -> None:
    history.audit(found(1))
    double.answers += [fault] * 4
    report = history.send()
    (line,) = report.errors
    assert said in line
    assert (report.sent, report.waiting) == (0, 1)
    double.answers.clear()
    assert (history.send().sent, double.firing(clock.now)) == (1, [FIRST])


@pytest.mark.wall_clock
def test_alertmanager_when_it_hangs_is_asked_only_twice(
    history: History, double: AlertmanagerDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routing, "_LONGEST_S", 0.5)
    asked, freed = [], threading.Event()

    def hangs() -> None:
        asked.append(1)
        freed.wait(9)

    double.answers += [hangs] * 9
    history.audit(found(1))
    (line,) = history.send().errors
    freed.set()
    assert "no answer from" in line
    assert len(asked) == 2


def test_alert_when_refused_is_made_again_by_the_next_audit(history: History, double: AlertmanagerDouble) -> None:
    history.audit(found(1))
    double.answers.append(answer(400, '"bad label"'))
    report = history.send()
    assert "refuses the alerts (HTTP 400: " in report.errors[0]
    assert (report.failed, report.waiting) == (1, 0)
    history.next_day(found(1))
    assert history.send().sent == 1


def test_alert_when_a_crash_left_it_in_doubt_is_sent_again_in_silence(
    history: History, double: AlertmanagerDouble
) -> None:
    history.audit(found(1))
    with history.store.engine.begin() as connection:
        connection.exec_driver_sql(
            "update delivery set state = 'sending', attempts = 1, claimed_at = '2026-03-31 06:00:00'"
        )
    said: list[str] = []
    assert (history.send(said.append).sent, said, len(double.posts)) == (1, [], 1)


def test_login_when_in_the_address_is_sent_and_never_shown(store: Store, double: AlertmanagerDouble) -> None:
    double.login = "tsaudit:p@ss-0f-am"
    history = history_of(store, double.url.replace("//", "//tsaudit:p%40ss-0f-am@"))
    history.audit(found(1))
    assert history.send().sent == 1
    double.answers.append(answer(400, '"p@ss-0f-am"'))
    history.next_day(found(1))
    (line,) = history.send().errors
    assert "ss-0f-am" not in line
    assert "127.0.0.1" in line
    secrets.clear()


@pytest.mark.parametrize("fault", [None, (400, '"bad label"')], ids=["hangs up", "refused"])
def test_alert_when_its_end_was_not_taken_ends_with_the_next_audit(
    history: History, double: AlertmanagerDouble, clock: Clock, fault: Answer | None
) -> None:
    history.audit([*found(1, 2), *found(3, severity=Severity.CRITICAL)])
    history.send()
    history.next_day(found(2, 3))
    double.answers += [lambda: fault] * 9
    assert history.send().errors
    double.answers.clear()
    history.next_day(found(2, 3))
    history.send()
    assert double.firing(clock.now) == [SECOND, str(found(3)[0].subject)]
    assert double.firing(clock.now, "severity") == ["warning", "warning"]


@pytest.mark.parametrize(
    ("about", "said"),
    [
        ({}, "`url` must be the address of an Alertmanager"),
        ({"url": "alertmanager:9093"}, "`url` must be the address of an Alertmanager"),
        ({"url": "http://:9093"}, "`url` must be the address of an Alertmanager"),
        ({"url": "http://am:9093/?token=t0ken"}, "`url` must be the address of an Alertmanager"),
        ({"url": "http://am:9093", "urls": "x"}, "`urls` is no key of it; it takes url and expires_after"),
        ({"url": "http://am:9093", "expires_after": "0s"}, "`expires_after` must be longer than 0s"),
        ({"url": "http://am:9093", "expires_after": "soon"}, "`expires_after`: expected a duration"),
    ],
)
def test_settings_when_wrong_are_one_line(about: dict[str, str], said: str) -> None:
    settings = builders.settings(notifiers={"team": {"use": "alertmanager", **about}})
    with pytest.raises(SetupError) as caught:
        routing.plug_in("team", settings.notifiers["team"])
    assert said in str(caught.value)
    assert "the notifier `team` of tsaudit" in str(caught.value)
    assert str(caught.value).endswith("check `notifiers.team`")


def test_incidents_are_not_stored_for_slack(store: Store) -> None:
    history = History(store, builders.settings())
    (identity,) = history.audit(found(1))
    waiting = deliveries.find(store.engine, identity)
    assert waiting is not None
    assert (len(waiting.payload["about"]), "incidents" in waiting.payload) == (1, False)


def test_own_notifiers_are_no_plug_ins() -> None:
    done = CliRunner().invoke(main, ["version"])
    assert (done.exit_code, "plug-in" in done.stdout) == (0, False)


def test_two_of_a_kind_are_both_notified(store: Store, double: AlertmanagerDouble) -> None:
    both = {
        "a": {"use": "alertmanager", "url": double.url},
        "b": {"use": "alertmanager", "url": f"{double.url}/api/v2/alerts/"},
    }
    history = History(store, builders.settings(notifiers=both))
    history.audit(found(1))
    assert history.send().sent == 2
    assert double.posts[0] == double.posts[1]
