"""Apprise as a notifier: with the real library, to an address on the loopback."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest

from tests.alerts import builders
from tests.alerts.builders import REPORT, History, found
from tests.builders import a_finding
from tests.serving import Handler, serving_http
from tsaudit import secrets
from tsaudit.alerts import routing
from tsaudit.alerts.notifier import SetupError
from tsaudit.config import file as config_file
from tsaudit.history.store import Store
from tsaudit.model.figures import Subject
from tsaudit.model.finding import Severity
from tsaudit.net import addresses

TOKEN: Final = "Xk29-token-of-the-hook"


@dataclass
class Receiver:
    """A webhook; `got` is (path, document)."""

    place: str = ""
    status: int = 200
    got: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def address(self, path: str = TOKEN) -> str:
        return f"json://{self.place}/{path}"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    receiver = Receiver()

    class Webhook(Handler):
        def do_POST(self) -> None:
            raw = self.content()
            if receiver.status == 200:
                receiver.got.append((self.path, json.loads(raw)))
            self.answer(receiver.status)

    with serving_http(Webhook) as server:
        receiver.place = f"127.0.0.1:{server.server_port}"
        yield receiver
    secrets.clear()


def history_of(store: Store, **about: str) -> History:
    return History(store, builders.settings(notifiers={"apprise": about}))


def test_messages_when_opened_worse_and_over_have_what_slack_shows(store: Store, receiver: Receiver) -> None:
    history = history_of(store, default=receiver.address())
    history.audit(found(1, 2, consequence="The disk is full in 9 days."))
    history.send()
    history.next_day(found(1, 2))
    history.send()
    history.next_day(found(1, 2, severity=Severity.CRITICAL))
    history.send()
    history.next_day([])
    report = history.send()
    assert report.errors == ()
    kinds = [(sent["type"], sent["title"].split(" ", 1)[1]) for _, sent in receiver.got]
    assert kinds == [
        ("warning", "Warning: demo, 2 open incidents"),
        ("failure", "demo: 2 worse"),
        ("success", "demo: all resolved"),
    ]
    body = receiver.got[0][1]["message"]
    assert "Table 1 is bad" in body
    assert "The disk is full in 9 days" in body
    assert f"report: {REPORT}" in body
    assert receiver.got[0][1]["title"] not in body


def test_owner_when_it_has_an_address_is_notified_there(store: Store, receiver: Receiver) -> None:
    about = {"default": receiver.address("all"), "dba": receiver.address("dba")}
    routes = [{"owner": "dba", "measurements": ["table_1"]}]
    history = History(store, builders.settings(notifiers={"apprise": about}, routes=routes))
    history.audit(found(1, 2))
    assert history.send().sent == 2
    assert {path: "Table 1 is bad" in sent["message"] for path, sent in receiver.got} == {"/all": False, "/dba": True}


def test_message_when_not_taken_waits_and_shows_no_secret(
    store: Store, receiver: Receiver, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    receiver.status = 500
    history = history_of(store, default=receiver.address().replace("//", "//robot:pw@"))
    history.audit(found(1))
    report = history.send()
    (line,) = report.errors
    assert line.startswith("apprise: JSON did not accept the message to `default`: ")
    assert "error=500" in line
    assert (report.sent, report.waiting) == (0, 1)
    with caplog.at_level(logging.DEBUG):
        history.send()
    shown = line + caplog.text + "".join(capfd.readouterr())
    assert not any(part in shown for part in (TOKEN, "robot", "pw@"))
    receiver.status = 200
    assert (history.send().sent, len(receiver.got)) == (1, 1)


@pytest.mark.parametrize("how", ["refuses", "hangs"])
def test_owner_when_its_service_is_down_keeps_nobody_else_waiting(
    store: Store, receiver: Receiver, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    import apprise

    sent = apprise.Apprise.notify

    def notify(self: apprise.Apprise, **about: Any) -> bool:
        if "/web" not in self[0].url():
            return bool(sent(self, **about))
        threading.Event().wait(9 if how == "hangs" else 0)
        return False

    monkeypatch.setattr(apprise.Apprise, "notify", notify)
    monkeypatch.setattr(routing, "_LONGEST_S", 0.2 if how == "hangs" else 9)
    # The message to `web` is first in the queue.
    about = {"default": receiver.address("all"), "web": receiver.address("web")}
    routes = [{"owner": "web", "measurements": ["table_1"]}]
    history = History(
        store, builders.settings(notifiers={"apprise": about}, routes=routes, owners={"default": {}, "web": {}})
    )
    history.audit(found(1))
    history.audit(found(1, 2))
    report = history.send()
    assert (report.sent, report.waiting, len(report.errors)) == (1, 1, 1)
    assert [path for path, _ in receiver.got] == ["/all"]
    # What a thread that hangs has begun does not hide the reason of another.
    receiver.status = 500
    history.next_day(found(1, 3))
    assert "error=500" in history.send().errors[-1]


def test_reason_when_it_quotes_the_address_has_no_part_of_it(
    store: Store, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    import apprise

    def notify(self: object, **_: object) -> bool:
        logging.getLogger("apprise").warning("cannot reach hooks-HOST/%s as robot:%s\nmore", "T+0/K", "pw1")
        return False

    monkeypatch.setattr(apprise.Apprise, "notify", notify)
    history = history_of(store, default="json://robot:pw1@hooks-host/hooks/T%2B0%2FK")
    history.audit(found(1))
    (line,) = history.send().errors
    assert line.endswith(r"to `default`: cannot reach ***/*** as ***:***\nmore")


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("ntfy://ops:s3cret-pw@push-7:2586/alerts-topic", "push-7:2586"),
        ("json://203.0.113.5:8081/hooks/s3cret-pw", "203.0.113.5:8081"),
        ("json://push-7/hooks/s3cret-pw", "***"),
    ],
)
def test_reason_names_the_host_that_did_not_respond(
    address: str, shown: str, store: Store, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    import apprise

    def notify(self: object, **_: object) -> bool:
        logging.getLogger("apprise").warning("A Connection error occurred sending to %s.", address)
        return False

    monkeypatch.setattr(apprise.Apprise, "notify", notify)
    history = history_of(store, default=address)
    history.audit(found(1))
    (line,) = history.send().errors
    assert f"{shown}/" in line
    assert not any(secret in line for secret in ("ops", "s3cret", "topic", "hooks"))


def test_names_when_hostile_notify_nobody_and_are_no_links(store: Store, receiver: Receiver) -> None:
    history = history_of(store, default=receiver.address())
    history.audit(
        [a_finding(Subject("main", "@everyone <!here> <#C1>"), message="Table @all <!channel> [x](https://e.example).")]
    )
    history.send()
    ((_, sent),) = receiver.got
    assert not any(live in sent["message"] for live in ("@everyone", "@all", "<!", "<#", "]("))
    assert "@\u200beveryone" in sent["message"]


def test_message_when_too_long_is_cut_unless_the_address_says_otherwise(store: Store, receiver: Receiver) -> None:
    history = history_of(store, default=f"discord://{'1' * 18}/{TOKEN}")
    made = routing.plug_in("apprise", history.settings.notifiers["apprise"])
    (service,) = made._inner._services.values()  # type: ignore[attr-defined]
    assert service.overflow_mode.value == "truncate"
    split = builders.settings(notifiers={"apprise": {"default": f"discord://{'1' * 18}/{TOKEN}?overflow=split"}})
    made = routing.plug_in("apprise", split.notifiers["apprise"])
    (service,) = made._inner._services.values()  # type: ignore[attr-defined]
    assert service.overflow_mode.value == "split"


@pytest.mark.parametrize(
    ("about", "said"),
    [
        ({}, "there is no address for `default`"),
        ({"web": "json://localhost"}, "there is no address for `default`"),
        ({"default": f"nosuch://{TOKEN}"}, "the address for `default` is not an Apprise URL"),
        ({"default": "json://localhost", "web": f"tgram://{TOKEN}"}, "the address for `web` is not an Apprise URL"),
    ],
)
def test_settings_when_wrong_are_one_line_without_secrets(
    about: dict[str, str], said: str, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    settings = builders.settings(notifiers={"apprise": about})
    with pytest.raises(SetupError) as caught:
        routing.plug_in("apprise", settings.notifiers["apprise"])
    assert said in str(caught.value)
    assert TOKEN not in str(caught.value) + caplog.text + "".join(capfd.readouterr())


def test_library_when_missing_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "apprise", None)
    with pytest.raises(SetupError, match=r"pip install 'tsaudit\[apprise\]'"):
        routing.plug_in(
            "apprise", builders.settings(notifiers={"apprise": {"default": "json://x"}}).notifiers["apprise"]
        )


def test_owner_when_unknown_is_a_mistake_in_the_file(tmp_path: Path) -> None:
    file = tmp_path / "tsaudit.yaml"
    lines = ["targets:", "- {name: a, engine: sqlite, url: 'sqlite:///a.db'}", "owners: {default: {}, web: {}}"]
    mail = ["notifiers:", "  mail:", "    use: apprise", "    default: json://x", "    wbe: json://y"]
    file.write_text("\n".join([*lines, *mail]))
    with pytest.raises(config_file.ConfigError) as caught:
        config_file.load(file)
    assert str(caught.value) == f"{file}:8: notifiers.mail.wbe: there is no owner `wbe`, did you mean web?"
    file.write_text("\n".join([*lines, *mail[:-1], "    web: json://y", "  other: {use: aprise}"]))
    with pytest.raises(config_file.ConfigError, match="provides a notifier `aprise`, did you mean apprise"):
        config_file.load(file)


def test_address_from_a_variable_hides_its_tokens_and_nothing_else(tmp_path: Path) -> None:
    file = tmp_path / "tsaudit.yaml"
    file.write_text(
        "targets: [{name: a, engine: sqlite, url: 'sqlite:///a.db'}]\nnotifiers: {apprise: {default: '${MAIL_TO}'}}\n"
    )
    address = f"mailtos://robot7:s3cret-pw@mail.example.com/{TOKEN}?to=data-platform@example.com&name=audit"
    config_file.load(file, variables={"MAIL_TO": address})
    try:
        text = "https://mail.example.com/report of data-platform@example.com, mailtos, audit"
        assert secrets.mask(text) == text
        assert secrets.mask(f"x {TOKEN} s3cret-pw") == "x *** ***"
    finally:
        secrets.clear()


@pytest.mark.parametrize(
    ("address", "tokens"),
    [
        ("mailto://robot:pw@example.com", ["pw"]),
        ("pagerduty://A1b2C3d4E5@F6g7H8i9J0", ["A1b2C3d4E5", "F6g7H8i9J0"]),
        ("json://host/some-long-path?+X-Token=q1w2e3r4", ["q1w2e3r4"]),
        ("no address", []),
    ],
)
def test_tokens_in_an_address(address: str, tokens: list[str]) -> None:
    assert list(addresses.tokens_in(address)) == tokens
