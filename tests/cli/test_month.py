"""A month of mornings: what came of each day for whoever reads exit codes, Dagster's checks, and Slack.

docs/mornings.md has the table.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path

import dagster as dg
import pytest

from dagster_tsaudit.audited import AuditedTarget
from dagster_tsaudit.checks import CHECK_NAMES, check_results
from tests.alerts.slack_double import TOKEN, SlackDouble, running
from tests.cli.conftest import Tsaudit, a_table
from tests.databases import Dataset, times, write
from tests.histories import clock_at
from tsaudit.cli.errors import Exit
from tsaudit.config.file import load
from tsaudit.history import incidents
from tsaudit.history.store import Store
from tsaudit.run import AuditRun

PAGE = Path(__file__).parents[2] / "docs" / "mornings.md"
BEGIN, END = "<!-- generated: begin -->", "<!-- generated: end -->"

CONFIG = """\
slack: {{token: {token}, base_url: '{url}', digest_weekday: never}}
owners: {{default: {{channel: '#alerts'}}}}
targets:
  - name: shop
    engine: sqlite
    url: sqlite:///shop.db
"""


@dataclass(frozen=True, slots=True)
class Morning:
    """What is seen of one day."""

    exits: tuple[int, ...]
    """By `--fail-on`: `warning`, the default; `new`; `critical`."""
    checks: int
    """Checks of Dagster that do not pass."""
    messages: int
    replies: int
    """In Slack; edits, which notify nobody, are not counted."""


class Shop:
    """The database, and the person who decides about it."""

    def __init__(self, tsaudit: Tsaudit, folder: Path, slack: SlackDouble) -> None:
        self._tsaudit, self._folder, self._slack = tsaudit, folder, slack
        self._faulty = {"cpu": True, "disk": False}
        self._is_gone = False
        (folder / "tsaudit.yaml").write_text(CONFIG.format(token=TOKEN, url=slack.base_url))

    def breaks(self, table: str) -> None:
        self._faulty[table] = True

    def is_fixed(self, table: str) -> None:
        self._faulty[table] = False

    def is_dropped(self, table: str) -> None:
        del self._faulty[table]

    def goes(self) -> None:
        self._is_gone = True

    def returns(self) -> None:
        self._is_gone = False

    def decides(self, decision: str, table: str, *options: str) -> None:
        found = json.loads(self._tsaudit("incidents", "--format", "json").stdout)
        (one,) = (i["fingerprint"] for i in found if table in i["subject"] and i["state"] == "open")
        self._does(decision, one, *options)

    def accepts_all(self, *options: str) -> None:
        self._does("baseline", *options)

    def _does(self, *arguments: str) -> None:
        done = self._tsaudit(*arguments, "--reason", "known", "--owner", "ada")
        assert done.exit_code == Exit.OK, done.stderr

    def is_audited(self, day: date) -> Morning:
        self._is_written(datetime.combine(day, time(6), UTC))
        before = len(self._slack.messages)
        done = [self._tsaudit("audit", "--quiet")]
        sent = self._slack.messages[before:]
        done += [self._tsaudit("audit", "--quiet", "--fail-on", on) for on in ("new", "critical")]
        replies = sum(one.thread_ts is not None for one in sent)
        assert len(self._slack.messages) == before + len(sent), "the same day again sends nothing"
        exits = tuple(one.exit_code for one in done)
        assert [bool(one.stdout) for one in done] == [code != Exit.OK for code in exits], "cron mails what is printed"
        return Morning(exits, self._failing_checks(day), len(sent) - replies, replies)

    def _is_written(self, until: datetime) -> None:
        path = self._folder / "shop.db"
        path.unlink(missing_ok=True)
        if not self._is_gone:
            tables = []
            for name, faulty in self._faulty.items():
                table = a_table(text_numbers=faulty)
                rows = [replace(row, time=at) for row, at in zip(table.rows, times(300, end=until), strict=True)]
                tables.append(replace(table, name=name, rows=rows))
            write(Dataset(tables), "sqlite", path)

    def _failing_checks(self, day: date) -> int:
        with Store.open(load("tsaudit.yaml").history.get_secret_value()) as store:
            result, profile = store.result("shop", day), store.profile("shop", day)
            muted = incidents.muted(incidents.of_day(store, "shop", day))
        run = AuditRun("shop", day, result, profile, (), None, 0.0, None, muted=muted)
        return sum(not one.passed for one in check_results(dg.AssetKey("shop"), AuditedTarget(run)))


@dataclass(frozen=True, slots=True)
class Event:
    """What happens before the audit of a day, and what is expected of that audit."""

    day: int
    what: str
    does: Callable[[Shop], None]
    expected: Morning


def _nothing(_: Shop) -> None: ...


OK, OPEN, NEW, UNKNOWN = (0, 0, 0), (1, 0, 0), (1, 1, 0), (3, 3, 3)
QUIET = Morning(OK, checks=0, messages=0, replies=0)
CLOSED = replace(QUIET, replies=1)
STANDING = Morning(OPEN, checks=1, messages=0, replies=0)
NEWS = Morning(NEW, checks=1, messages=1, replies=0)
GONE = Morning(UNKNOWN, checks=len(CHECK_NAMES), messages=1, replies=0)
MONTH = (
    Event(1, "`cpu` keeps numbers as text", _nothing, NEWS),
    Event(2, "nobody acts", _nothing, STANDING),
    Event(3, "`tsaudit mute`, for a week", lambda shop: shop.decides("mute", "cpu", "--for", "1w"), QUIET),
    Event(4, "", _nothing, QUIET),
    Event(5, "`disk` gets the same fault", lambda shop: shop.breaks("disk"), NEWS),
    Event(6, "`tsaudit ack`", lambda shop: shop.decides("ack", "disk"), STANDING),
    Event(7, "", _nothing, STANDING),
    Event(8, "`disk` is fixed", lambda shop: shop.is_fixed("disk"), QUIET),
    Event(9, "it is still fixed, and resolved", _nothing, CLOSED),
    Event(11, "the mute of `cpu` has ended", _nothing, NEWS),
    Event(12, "`tsaudit baseline`, for two weeks", lambda shop: shop.accepts_all("--for", "2w"), QUIET),
    Event(14, "`disk` has the fault again", lambda shop: shop.breaks("disk"), NEWS),
    Event(15, "`disk` is dropped", lambda shop: shop.is_dropped("disk"), QUIET),
    Event(16, "it is still gone, and resolved", _nothing, CLOSED),
    Event(18, "the database cannot be opened", Shop.goes, GONE),
    Event(19, "nobody acts", _nothing, replace(GONE, messages=0)),
    Event(20, "it can be opened again", Shop.returns, QUIET),
    Event(21, "it still can, and that is resolved", _nothing, CLOSED),
    Event(23, "`cpu`, still muted, is fixed", lambda shop: shop.is_fixed("cpu"), QUIET),
    Event(24, "it is still fixed, and resolved", _nothing, QUIET),
    Event(27, "the baseline has ended; `cpu` has the fault again", lambda shop: shop.breaks("cpu"), NEWS),
    Event(28, "`cpu` is fixed", lambda shop: shop.is_fixed("cpu"), QUIET),
    Event(29, "it is still fixed, and resolved", _nothing, CLOSED),
)
FIRST = date(2026, 3, 1)


def _table(mornings: Mapping[int, Morning]) -> str:
    lines = [
        "| day | before the audit | exit code | checks not passed | messages / replies |",
        "|---|---|---|---|---|",
    ]
    for event in MONTH:
        seen = mornings[event.day]
        cells = (
            str(event.day),
            event.what or "nothing happens",
            " / ".join(map(str, seen.exits)),
            "all" if seen.checks == len(CHECK_NAMES) else str(seen.checks or "-"),
            f"{seen.messages} / {seen.replies}" if seen.messages or seen.replies else "-",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


@pytest.fixture
def mornings(tsaudit: Tsaudit, folder: Path) -> Mapping[int, Morning]:
    """All days of the month, audited one after another."""
    events = {event.day: event for event in MONTH}
    seen: dict[int, Morning] = {}
    with running() as slack:
        shop = Shop(tsaudit, folder, slack)
        for number in range(1, 31):
            day = FIRST + timedelta(days=number - 1)
            with clock_at(datetime.combine(day, time(6), UTC)):
                if number in events:
                    events[number].does(shop)
                seen[number] = shop.is_audited(day)
    return seen


@pytest.mark.full
def test_each_morning_shows_what_is_expected_of_it(mornings: Mapping[int, Morning]) -> None:
    assert {event.day: mornings[event.day] for event in MONTH} == {event.day: event.expected for event in MONTH}
    quiet = set(mornings) - {event.day for event in MONTH}
    assert {(m.messages, m.replies) for number, m in mornings.items() if number in quiet} == {(0, 0)}

    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    found, _, after = rest.partition(END)
    table = f"\n{_table(mornings)}\n"
    if os.environ.get("TSAUDIT_REBASELINE"):
        PAGE.write_text(f"{before}{BEGIN}{table}{END}{after}", encoding="utf-8")
        return
    assert found == table, "docs/mornings.md is stale"
