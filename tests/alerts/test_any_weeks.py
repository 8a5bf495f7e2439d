"""Whatever happens over some days, to the databases and to Slack: in the end everything was said once, in order."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.alerts import builders
from tests.alerts.builders import History, found
from tests.alerts.slack_double import Fault, SlackDouble
from tests.alerts.test_outbox import rows
from tests.examples import examples
from tsaudit import alerts
from tsaudit.history.store import Store
from tsaudit.model.finding import Finding, Severity

BAD_DAY = st.dictionaries(st.integers(1, 3), st.sampled_from([Severity.WARNING, Severity.CRITICAL]))
"""Number of a table to the severity of its finding; empty: all is well."""
METHODS = ["chat.postMessage", "chat.update", "conversations.history", "conversations.replies"]
TROUBLES = [
    {"status": 429},
    {"status": 500},
    {"status": 500, "after": True},
    {"drop": True},
    {"drop": True, "after": True},
]
FAULT = st.builds(lambda method, trouble: Fault(method, **trouble), st.sampled_from(METHODS), st.sampled_from(TROUBLES))
DAY = st.tuples(BAD_DAY, st.lists(FAULT, max_size=4), st.booleans())
"""What is found, what goes wrong in Slack, and whether the day is audited twice."""


def findings(bad: Mapping[int, Severity]) -> list[Finding]:
    return [finding for number, severity in bad.items() for finding in found(number, severity=severity)]


def rings(days: list[Mapping[int, Severity]]) -> list[str]:
    """What the messages of a thread have to be, in order, told by the days alone."""
    said: list[str] = []
    told: dict[int, Severity] = {}
    for bad in days:
        news = [n for n in bad if n not in told or bad[n].rank > told[n].rank]
        if not told and bad:
            said.append("alert")
        elif told and not bad:
            said.append("resolve")
        elif news or told.keys() - bad.keys():
            said.append("reply")
        told = dict(bad)
    return said


@pytest.mark.full
@settings(max_examples=examples(20), deadline=None)
@given(days=st.lists(DAY, min_size=1, max_size=6))
def test_everything_is_said_once_and_in_order(
    days: list[tuple[dict[int, Severity], list[Fault], bool]],
    slack: SlackDouble,
    tmp_path: Path,
    empty_history: Path,
) -> None:
    path = tmp_path / f"{uuid.uuid4()}.db"
    shutil.copy(empty_history, path)
    slack.messages.clear()
    with Store.open(f"sqlite:///{path}") as store:
        history = History(store, builders.with_token(slack))
        for bad, faults, twice in days:
            history.next_day(findings(bad))
            slack.faults[:] = faults
            history.send(pace=alerts.SendingPace(tries=2, sleep=lambda _: None))
            if twice:
                history.audit(findings(bad))
        slack.faults.clear()
        report = history.send()
        sayings = [row for row in rows(store) if row.kind != "edit"]
    assert (report.errors, report.waiting, report.failed) == ((), 0, 0)
    assert [row.kind for row in sayings] == rings([bad for bad, _, _ in days])
    assert [m.delivery for m in slack.messages] == [row.id for row in sayings], "each once, and in order"
    newest = [m for m in slack.messages if m.thread_ts is None][-1:]
    for message in newest:
        bad = days[-1][0]
        count = f"{len(bad)} open incident{'' if len(bad) == 1 else 's'}"
        assert (count if bad else "all resolved") in message.text
    threads = {m.ts for m in slack.messages if m.thread_ts is None}
    assert all(m.thread_ts in threads for m in slack.messages if m.thread_ts)


def test_rings_are_those_a_person_expects() -> None:
    warn, critical = Severity.WARNING, Severity.CRITICAL
    assert rings([{1: warn}, {1: warn}, {1: critical}, {1: warn, 2: warn}, {2: warn}, {}, {}, {1: warn}]) == [
        "alert",
        "reply",
        "reply",
        "reply",
        "resolve",
        "alert",
    ]
