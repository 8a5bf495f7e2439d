"""Notifiers of other packages: they get what Slack gets, each notice once, and nothing is lost while one is down."""

from __future__ import annotations

import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.alerts import builders
from tests.alerts.builders import History, fast
from tests.alerts.conftest import empty_history, slack, store
from tests.alerts.slack_double import SlackDouble
from tests.builders import DAY, a_finding
from tests.plugins.conftest import Install
from tsaudit import Notice, NoticeRefusedError, Notifier, NotifyError, alerts
from tsaudit.alerts import routing
from tsaudit.cli import main
from tsaudit.config import file as config_file
from tsaudit.history import deliveries
from tsaudit.history.deliveries import DeliveryState
from tsaudit.history.store import Store
from tsaudit.model.finding import Finding, Severity

__all__ = ["empty_history", "slack", "store"]

POINTS = {"tsaudit.notifiers": {"pager": "acme_pager:Pager"}}
PAGER = """
from tsaudit import Notifier

GOT, FAULTS = [], []

class Pager(Notifier):
    def __init__(self, settings):
        self.key = settings["key"]

    def notify(self, notice, timeout_s):
        if FAULTS:
            FAULTS.pop(0)(notice, timeout_s)
        GOT.append(notice)
"""
NOTIFIERS = {"pager": {"key": "k3y-of-the-pager"}}


@pytest.fixture
def pager(install: Install) -> Any:
    """The module of the notifier: GOT is what it was sent, FAULTS what it does instead, one for each call."""
    install("acme", POINTS, acme_pager=PAGER)
    import acme_pager

    return acme_pager


@pytest.fixture
def history(store: Store, slack: SlackDouble) -> History:
    """With Slack and a pager."""
    return History(store, builders.with_token(slack, notifiers=NOTIFIERS))


def audited(history: History, number: int, *findings: Finding) -> None:
    history.day = DAY + timedelta(days=number)
    history.audit(findings)


def told(history: History) -> alerts.SendReport:
    return alerts.send(history.store, history.settings, lambda _: None, fast())


def failing(error: BaseException) -> Any:
    def fault(*_: object) -> None:
        raise error

    return fault


def states(history: History) -> set[str]:
    with history.store.engine.connect() as connection:
        rows = connection.exec_driver_sql("SELECT state FROM delivery WHERE notifier = 'pager' AND kind != 'edit'")
        return set(rows.scalars())


def test_notifier_is_told_what_slack_is_told(history: History, slack: SlackDouble, pager: Any) -> None:
    audited(history, 0, a_finding(severity=Severity.WARNING))
    report = told(history)
    assert (report.sent, report.errors, report.waiting) == (2, (), 0)
    assert len(slack.messages) == 1
    (notice,) = pager.GOT
    assert isinstance(notice, Notice)
    assert (notice.kind, notice.owner, notice.target, notice.day) == ("alert", "default", "demo", DAY)
    assert "demo, 1 open incident" in notice.title
    assert a_finding().message.rstrip(".") in notice.text
    assert notice.text.startswith(notice.title)
    assert list(notice.severities.values()) == ["warning"]


def test_notifier_is_told_news_and_the_end_and_nothing_twice(history: History, pager: Any) -> None:
    warned, worse = a_finding(severity=Severity.WARNING), a_finding(severity=Severity.CRITICAL)
    for number, findings in enumerate(([warned], [warned], [worse], [])):
        audited(history, number, *findings)
        told(history)
        told(history)
    assert [notice.kind for notice in pager.GOT] == ["alert", "reply", "resolve"]
    assert len({notice.id for notice in pager.GOT}) == 3


def test_notifier_alone_needs_no_slack_and_nothing_is_printed(store: Store, pager: Any) -> None:
    history = History(store, builders.settings(notifiers=NOTIFIERS))
    audited(history, 0, a_finding())
    shown: list[str] = []
    report = alerts.send(store, history.settings, shown.append, fast())
    assert (report.sent, report.not_sent, len(pager.GOT), shown) == (1, 0, 1, [])


def test_digest_goes_to_the_notifier_too(history: History, pager: Any) -> None:
    audited(history, 0, a_finding())
    audited(history, 1, a_finding())
    alerts.queue_digest(history.store, history.settings, DAY + timedelta(days=1))
    told(history)
    assert [n.kind for n in pager.GOT] == ["alert", "digest"]
    assert pager.GOT[1].target == ""


FAULTS = {
    "says why": (NotifyError("the pager is out of paper"), "pager: the pager is out of paper"),
    "breaks": (ZeroDivisionError("oops"), "the notifier `pager` failed: ZeroDivisionError: oops"),
    "leaves": (SystemExit("bye"), "the notifier `pager` failed: SystemExit: bye"),
    "quotes its key": (NotifyError("key k3y-of-the-pager is refused"), "pager: key *** is refused"),
}


@pytest.mark.parametrize("how", FAULTS)
def test_failing_notifier_is_one_line_and_the_notice_waits(
    history: History, slack: SlackDouble, pager: Any, how: str
) -> None:
    from tsaudit import secrets

    secrets.remember("k3y-of-the-pager")
    error, line = FAULTS[how]
    pager.FAULTS += [failing(error)] * 4
    audited(history, 0, a_finding())
    report = told(history)
    assert report.errors == (line,)
    assert (report.sent, report.waiting, len(slack.messages)) == (1, 1, 1)
    pager.FAULTS.clear()
    report = told(history)
    assert (report.sent, report.errors, report.waiting) == (1, (), 0)
    assert len(pager.GOT) == 1


def test_notifier_that_fails_once_is_asked_again_in_the_same_run(history: History, pager: Any) -> None:
    pager.FAULTS.append(failing(NotifyError("not now")))
    audited(history, 0, a_finding())
    assert told(history).errors == ()
    assert len(pager.GOT) == 1


def test_refused_notice_is_given_up_and_made_anew_by_the_next_audit(history: History, pager: Any) -> None:
    pager.FAULTS.append(failing(NoticeRefusedError("too long")))
    audited(history, 0, a_finding())
    report = told(history)
    assert (report.failed, report.waiting) == (1, 0)
    assert report.errors == ("the message about demo to `default` was not accepted: pager: too long",)
    audited(history, 1, a_finding())
    assert told(history).errors == ()
    assert [n.kind for n in pager.GOT] == ["alert"]


@pytest.mark.wall_clock
def test_notifier_that_hangs_takes_no_time_of_slack(
    history: History, slack: SlackDouble, pager: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One call of the notifier takes longer than all that the run has: Slack comes first."""
    monkeypatch.setattr(routing, "_LONGEST_S", 2.5)
    pager.FAULTS += [lambda *_: time.sleep(9)] * 9
    short = history.settings.slack.model_copy(update={"deadline_s": 2.0})
    history.settings = history.settings.model_copy(update={"slack": short})
    audited(history, 0, a_finding())
    began = time.monotonic()
    report = told(history)
    assert time.monotonic() - began < 8
    assert report.errors[0] == "the notifier `pager` did not respond within 2.5 s"
    assert (len(slack.messages), report.waiting) == (1, 1)


UNUSABLE = {
    "cannot be imported": ("import nowhere_to_be_found", "ModuleNotFoundError"),
    "is nothing to call": ("Pager = 7", "expected a class or function, got int"),
    "cannot be made": (PAGER.replace('settings["key"]', 'settings["account"]'), "KeyError: 'account'"),
    "has no method": (PAGER.replace("def notify", "def tell"), "abstract class Pager"),
    "is something else": (PAGER.replace("(Notifier)", ""), "Pager is not a Notifier"),
}


@pytest.mark.parametrize("how", UNUSABLE)
def test_unusable_notifier_is_one_line_and_nothing_is_lost(
    store: Store, slack: SlackDouble, install: Install, tmp_path: Path, how: str
) -> None:
    text, reason = UNUSABLE[how]
    install("acme", POINTS, acme_pager=text)
    history = History(store, builders.with_token(slack, notifiers=NOTIFIERS))
    audited(history, 0, a_finding())
    report = told(history)
    (line,) = report.errors
    assert reason in line
    assert "\n" not in line
    assert (report.sent, report.waiting) == (1, 1)
    assert states(history) == {DeliveryState.QUEUED}
    (tmp_path / "tsaudit.yaml").write_text(CONFIG)
    checked = CliRunner().invoke(main, ["check", "--config", str(tmp_path / "tsaudit.yaml")], prog_name="tsaudit")
    assert reason in checked.output
    assert checked.exit_code == 2


def test_notifier_taken_out_of_the_configuration_leaves_nothing_waiting(history: History, pager: Any) -> None:
    audited(history, 0, a_finding())
    shown: list[str] = []
    without = history.settings.model_copy(update={"notifiers": {}})
    report = alerts.send(history.store, without, shown.append, fast())
    assert (report.sent, report.not_sent, report.waiting) == (1, 1, 0)
    assert "pager is no longer among `notifiers`" in shown[0]
    audited(history, 1, a_finding())
    told(history)
    assert [n.kind for n in pager.GOT] == ["alert"]  # back again, it is told what is open


CONFIG = (
    "notifiers: {pager: {key: '${TSAUDIT_TEST_KEY}'}}\nhistory: sqlite:///h.db\n"
    "targets: [{name: a, engine: sqlite, url: 'sqlite:///a.db'}]\n"
)


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TSAUDIT_TEST_KEY", "k3y-of-the-pager")


def test_configuration_of_a_notifier_is_secret(pager: Any, tmp_path: Path) -> None:
    (tmp_path / "tsaudit.yaml").write_text(CONFIG)
    listed = config_file.load(tmp_path / "tsaudit.yaml", resolve_env=False)
    assert listed.notifiers["pager"]["key"].get_secret_value() == "${TSAUDIT_TEST_KEY}"
    settings = config_file.load(tmp_path / "tsaudit.yaml")
    assert settings.notifiers["pager"]["key"].get_secret_value() == "k3y-of-the-pager"
    assert "k3y-of-the-pager" not in repr(settings)
    assert isinstance(routing.plug_in("pager", settings.notifiers["pager"]), Notifier)


def test_notifier_that_needs_nothing_has_nothing_behind_it(pager: Any, tmp_path: Path) -> None:
    (tmp_path / "tsaudit.yaml").write_text(CONFIG.replace("{key: '${TSAUDIT_TEST_KEY}'}", ""))
    assert config_file.load(tmp_path / "tsaudit.yaml").notifiers == {"pager": {}}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("pagr", "notifiers.pagr: no installed package provides a notifier of that name, did you mean pager?"),
        ("slack", "notifiers.slack: Slack is set up under `slack:`"),
    ],
)
def test_notifier_that_nobody_brings_is_a_mistake_in_the_configuration(
    pager: Any, tmp_path: Path, name: str, said: str
) -> None:
    (tmp_path / "tsaudit.yaml").write_text(CONFIG.replace("pager", name))
    with pytest.raises(config_file.ConfigError, match=said.replace("?", r"\?")):
        config_file.load(tmp_path / "tsaudit.yaml")


def test_notice_that_a_crash_left_in_doubt_is_sent_again(history: History, pager: Any) -> None:
    audited(history, 0, a_finding())
    (waiting,) = deliveries.waiting(history.store.engine, notifier="pager")
    deliveries.claim(history.store.engine, waiting, "")
    report = told(history)
    assert report.errors == ()
    assert [n.id for n in pager.GOT] == [waiting.id]
    assert timedelta(0) <= pager.GOT[0].day - DAY


EDITOR = """
from tsaudit import MessagePlace, Notifier, NotifyError

GOT, EDITED, FAULTS = [], [], []

class Pager(Notifier):
    edits = True

    def __init__(self, settings):
        pass

    def notify(self, notice, timeout_s):
        GOT.append(notice)
        if FAULTS:
            FAULTS.pop(0)(notice, timeout_s)
        return MessagePlace("ward", f"page-{len(GOT)}")

    def edit(self, notice, timeout_s):
        EDITED.append(notice)

    def find(self, notice, timeout_s):
        found = [n for n, got in enumerate(GOT, 1) if got.id == notice.id]
        return MessagePlace("ward", f"page-{found[0]}") if found else None
"""


@pytest.fixture
def editor(install: Install) -> Any:
    """The module of a notifier that also edits, replies, and finds what it has sent."""
    install("acme", POINTS, acme_pager=EDITOR)
    import acme_pager

    return acme_pager


def test_notifier_that_edits_gets_edits_and_replies_as_slack_does(history: History, editor: Any) -> None:
    warned, worse = a_finding(severity=Severity.WARNING), a_finding(severity=Severity.CRITICAL)
    for number, findings in enumerate(([warned], [worse], [])):
        audited(history, number, *findings)
        assert told(history).errors == ()
    assert [(n.kind, n.place.message_id) for n in editor.GOT] == [
        ("alert", None),
        ("reply", "page-1"),
        ("resolve", "page-1"),
    ]
    alert = editor.GOT[0]
    assert [(n.kind, n.id, n.place.channel, n.place.message_id) for n in editor.EDITED] == [
        ("edit", alert.id, "ward", "page-1")
    ] * 2
    assert "all resolved" in editor.EDITED[-1].title
    assert all(n.message.blocks == () for n in editor.GOT), "it shows no blocks"


def test_notice_in_doubt_is_not_sent_again_where_it_can_be_found(history: History, editor: Any) -> None:
    audited(history, 0, a_finding())
    (waiting,) = deliveries.waiting(history.store.engine, notifier="pager")
    told(history)
    with history.store.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE delivery SET state = 'sending' WHERE notifier = 'pager'")
    assert told(history).sent == 1
    assert [n.id for n in editor.GOT] == [waiting.id]
    assert states(history) == {DeliveryState.SENT}
