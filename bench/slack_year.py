"""How much ten owners get in Slack in a year: messages, replies, digests, and mentions for each owner and week.

Two targets are audited each day; each owner has measurements on both. Problems begin and end by chance, always the same
ones; what they cost begins small or large and grows, and the policy decides each day how bad that is. `--by-rule`: the
rules decide instead, as they did before there was a policy, whatever a problem costs. Slack is a stand-in that keeps
its rules. `--reactions` lets people react to messages.

    python -m bench.slack_year [--by-rule] [--reactions]
"""

from __future__ import annotations

import argparse
import json
import math
import random
import tempfile
from collections import Counter
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any
from urllib.parse import parse_qs

import sqlalchemy as sa

from tests.alerts import builders
from tests.alerts.slack_double import TOKEN, SlackDouble
from tests.builders import a_finding, a_result, a_rule_result
from tsaudit import alerts
from tsaudit.alerts import slack
from tsaudit.alerts.http_post import HttpAnswer
from tsaudit.config.settings import Harm, Settings
from tsaudit.harm import decided
from tsaudit.history import clock, deliveries, incidents
from tsaudit.history.schema import delivery
from tsaudit.history.store import Store
from tsaudit.library import AuditSession
from tsaudit.model.figures import Subject
from tsaudit.model.finding import Basis, Currency, Finding, Impact, RuleResult, Severity

OWNERS = [f"owner{n}" for n in range(10)]
TARGETS = [f"db{n}" for n in range(2)]
FIRST = date(2025, 11, 24)
DAYS = 364
BEGINS = 0.024
"""Probability that a problem begins, for an owner, target, and day: about 17 a year and owner."""
ENDS = 0.08
"""Probability that one ends on a day: they last 12 days on average."""
RAISED = 0.03
COSTLESS = 48 / 126
"""Share of the problems that cost nothing: of the warnings that rules decided on the databases of two trials, those
that experts called false.
"""
REACTS, TAKES_BACK = 0.3, 0.02
LOUD = ("alert", "reply", "resolve", "confirm", "digest")


@dataclass
class Problem:
    """One that is open."""

    by_rule: Severity
    """What the rule would say of it, whatever it costs."""
    impact: Impact | None

    def a_day_later(self) -> None:
        if self.impact is not None:
            self.impact = replace(self.impact, now=self.impact.now + (self.impact.per_day or 0.0))


class Problems:
    """What each audit of a day finds."""

    def __init__(self, *, by_rule: bool) -> None:
        self._by_rule = by_rule
        self._chance, self._costs = random.Random(7), random.Random(13)
        self._open: dict[tuple[str, str, int], Problem] = {}
        self._count = 0

    def next_day(self) -> None:
        for key, problem in list(self._open.items()):
            problem.a_day_later()
            if self._chance.random() < ENDS:
                del self._open[key]
            elif problem.by_rule is Severity.WARNING and self._chance.random() < RAISED:
                problem.by_rule = Severity.CRITICAL
        for owner in OWNERS:
            for target in TARGETS:
                if self._chance.random() < BEGINS:
                    self._count += 1
                    is_bad = self._chance.random() < 0.25
                    severity = Severity.CRITICAL if is_bad else Severity.WARNING
                    self._open[owner, target, self._count] = Problem(severity, self._cost())

    def _cost(self) -> Impact | None:
        """What a problem costs on its first day: of each kind, amounts of all magnitudes are equally likely."""

        def between(least: float, most: float) -> float:
            return math.exp(self._costs.uniform(math.log(least), math.log(most)))

        if self._costs.random() < COSTLESS:
            return None
        match self._costs.choice(("series", "series", "bytes", "bytes", "limit", "lost")):
            case "series":
                rate = between(1, 10_000)
                return Impact(Currency.SERIES, rate, 100_000, per_day=rate, kept_days=365)
            case "bytes":
                rate = between(1e4, 1e8)
                return Impact(Currency.BYTES, rate, 20 * rate, per_day=rate)
            case "limit":
                used = self._costs.uniform(50, 100)
                return Impact(Currency.LIMIT, used, 100, days_left=between(3, 400), unit="columns")
            case _:
                return Impact(Currency.REJECTED, between(1, 10_000), 1_000_000, goes_on=self._costs.random() < 0.5)

    def on(self, target: str) -> list[Finding]:
        return [
            replace(
                a_finding(Subject("main", f"{owner}_t{number}", "host"), problem.by_rule),
                impact=None if self._by_rule else problem.impact,
                basis=Basis.MEASURED,
            )
            for (owner, where, number), problem in self._open.items()
            if where == target
        ]

    def result(self, target: str) -> RuleResult:
        found = a_rule_result(*self.on(target))
        return found if self._by_rule else decided([found], Harm())[0]


def settings(double: SlackDouble) -> Settings:
    return builders.settings(
        owners={"default": {"channel": "C0DEFAULT"}} | {o: {"channel": "C0DBA", "mention": "S0TEAM"} for o in OWNERS},
        targets=[{"name": name, "engine": "duckdb", "url": "duckdb:///x"} for name in TARGETS],
        routes=[{"owner": owner, "measurements": [f"{owner}_*"]} for owner in OWNERS],
        slack={"token": TOKEN, "base_url": double.base_url},
    )


def connect(double: SlackDouble) -> None:
    """Slack is called without a network, and without pauses."""

    def exchanged(url: str, body: bytes, headers: dict[str, str], *_: Any) -> HttpAnswer:
        is_json = "json" in headers["Content-Type"]
        arguments = json.loads(body) if is_json else {k: v[0] for k, v in parse_qs(body.decode()).items()}
        status, found, content = double.handle(url.rpartition("/")[2], arguments, TOKEN)
        return HttpAnswer(status, {k.lower(): v for k, v in found.items()}, json.dumps(content).encode())

    slack._exchanged = exchanged
    pace = alerts.SendingPace(sleep=lambda _: None)
    alerts.SendingPace = lambda: pace


def react(double: SlackDouble, chance: random.Random) -> None:
    for message in double.messages[-200:]:
        if message.thread_ts is None and "open incident" in message.text and not message.text.startswith("tsaudit"):
            if message.reactions and chance.random() < TAKES_BACK:
                message.reactions.clear()
            elif not message.reactions and chance.random() < REACTS:
                message.react(chance.choices(["eyes", "zzz"], [60, 40])[0], "U0ANN")


def simulate(*, by_rule: bool, reactions: bool) -> dict[str, list[float]]:
    """Kind of message to its mean and maximum for an owner and week."""
    double, problems, chance = SlackDouble(url="http://slack"), Problems(by_rule=by_rule), random.Random(11)
    connect(double)
    configured = settings(double)
    with tempfile.TemporaryDirectory() as folder, Store.open(f"sqlite:///{folder}/history.db") as store:
        for number in range(DAYS):
            day = FIRST + timedelta(days=number)
            clock.today = lambda day=day: day
            problems.next_day()
            if reactions and number:
                react(double, chance)
                alerts.read_reactions(store, configured, alerts.SendingPace())
            for target in configured.targets:
                result = a_result(problems.result(target.name), target=target.name, day=day)
                store.save(None, result, builders.REPORT)
                owner = alerts.owner_of(configured, target)
                changes = incidents.update(store, result, configured.incidents, owner)
                alerts.queue(store, configured, changes, builders.a_context(day, target=target.name))
            report = AuditSession(configured, store).notify(print)
            assert (report.errors, report.waiting) == ((), 0), report
        with store.reading() as connection:
            rows = connection.execute(sa.select(delivery)).all()
    return table(rows, double)


def table(rows: Any, double: SlackDouble) -> dict[str, list[float]]:
    posted = {
        m["metadata"]["event_payload"]["id"]: m["text"] for name, m, _ in double.calls if name == "chat.postMessage"
    }
    counts: dict[str, Counter[tuple[str, int]]] = {k: Counter() for k in (*LOUD, "all that notify", "mention", "edit")}
    for row in rows:
        where = (deliveries.split_thread(row.thread)[0], (row.day - FIRST).days // 7)
        if row.state == "sent":
            counts[row.kind][where] += 1
        if row.kind in LOUD:
            counts["all that notify"][where] += 1
            counts["mention"][where] += "<!subteam" in posted[row.id]
    weeks = len(OWNERS) * DAYS // 7
    return {kind: [n.total() / weeks, max(n.values(), default=0)] for kind, n in counts.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--by-rule", action="store_true", help="rules decide severities, and not what problems cost")
    parser.add_argument("--reactions", action="store_true", help="people react to messages")
    chosen = parser.parse_args()
    found = simulate(by_rule=chosen.by_rule, reactions=chosen.reactions)
    print(f"{'each owner and week':20} {'mean':>6} {'most':>5}")
    for kind, (mean, most) in found.items():
        print(f"{kind:20} {mean:6.2f} {most:5.0f}")


if __name__ == "__main__":
    main()
