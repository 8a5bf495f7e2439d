"""Every rule on every engine it declares: written to a real database, collected, audited."""

from __future__ import annotations

import dataclasses
import importlib
import itertools
import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.builders import DAY, NOW
from tests.databases import Dataset, influxql, write
from tests.engines.greptimedb.double import GreptimeDB
from tests.engines.influxdb2.conversations import Conversation
from tests.engines.influxdb3.double import InfluxDB3
from tests.engines.influxdb3.server import RealInfluxDB3
from tests.engines.timestream import proposals as timestream
from tests.engines.timestream.double import Timestream
from tests.rules.cases import Case, History
from tests.servers import Influxd, Postgresql, without_unsupported
from tsaudit.audit import audit, required_facts
from tsaudit.collect import collect
from tsaudit.engines.opening import open_connection
from tsaudit.engines.registry import ENGINES
from tsaudit.model.finding import Finding, Outcome, RuleResult, Severity
from tsaudit.model.plan import Plan
from tsaudit.model.profile import Profile
from tsaudit.model.timeline import Timeline
from tsaudit.planning.plans import plans_of
from tsaudit.rule import LimitPolicy, Rule
from tsaudit.rules import all_rules

_numbers = itertools.count()
Collector = Callable[[Dataset, str, "Profile | None", frozenset[str]], Profile]


def cases_of(rule: Rule) -> tuple[Case, ...]:
    folder, _, name = rule.check.__module__.rpartition(".")
    module = importlib.import_module(f"{folder.replace('tsaudit', 'tests', 1)}.test_{name}")
    found: tuple[Case, ...] = module.CASES
    return found


def _each() -> Iterator[Any]:
    for rule in all_rules():
        for position, case in enumerate(cases_of(rule)):
            for engine in sorted(case.engines or rule.engines):
                yield pytest.param(rule, case, engine, id=f"{rule.code}-{position}-{engine}")


CASES = tuple(_each())


@pytest.fixture
def collected(request: pytest.FixtureRequest, tmp_path: Path) -> Collector:
    """Writes a data set and collects it; a second call replaces the first, as if a day had passed."""
    name = f"rules_{next(_numbers)}"

    def run(dataset: Dataset, engine: str, previous: Profile | None, wanted: frozenset[str]) -> Profile:
        if engine == "influxdb1":
            server: Influxd = request.getfixturevalue("influxd")
            influxql(server.url, f'DROP DATABASE "{name}"')
            target = write(dataclasses.replace(dataset, database=dataset.database or name), engine, server.url)
        elif engine == "influxdb2":
            conversation: Conversation = request.getfixturevalue("influxdb2")
            conversation.metrics = "stored_bytes" in wanted
            named = dataclasses.replace(dataset, database=dataset.database or "rules")
            target = write(named, engine, conversation)
        elif engine == "influxdb3":
            third: InfluxDB3 | RealInfluxDB3 = request.getfixturevalue("influxdb3")
            target = write(dataclasses.replace(dataset, database=dataset.database or name), engine, third)
        elif engine == "postgresql":
            postgresql: Postgresql = request.getfixturevalue("postgresql")
            target = write(dataclasses.replace(dataset, database=dataset.database or name), engine, postgresql)
        elif engine == "greptimedb":
            own: GreptimeDB = request.getfixturevalue("greptimedb")
            target = write(dataclasses.replace(dataset, database=dataset.database or name), engine, own)
        elif engine == "mongodb":
            server = request.getfixturevalue("mongodb")
            target = write(dataclasses.replace(dataset, database=dataset.database or name), engine, server)
        elif engine == "timestream":
            account: Timestream = request.getfixturevalue("timestream")
            target = write(dataclasses.replace(dataset, database=dataset.database or name), engine, account)
        else:
            target = write(dataset, engine, tmp_path / f"{next(_numbers)}.db")
        day = DAY if previous is None else previous.day + timedelta(days=1)
        with open_connection(target) as connection:
            profile = collect(target, connection, day=day, previous=previous, wanted=wanted, now=NOW)
        return without_unsupported(profile) if engine == "mongodb" else profile

    return run


def _judge(
    rule: Rule, case: Case, engine: str, dataset: Dataset, history: History | None, collected: Collector
) -> tuple[RuleResult, tuple[Plan, ...], Profile]:
    wanted = required_facts(engine, [rule])
    before = collected(case.before, engine, None, wanted) if case.before else None
    profile = collected(dataset, engine, before, wanted)
    timeline = history(profile) if history else Timeline(previous=before)
    audited = audit(profile, timeline, LimitPolicy(target=case.limits), [rule])
    return audited.results[0], audited.plans, profile


@pytest.mark.parametrize(("rule", "case", "engine"), CASES)
def test_finding_when_broken(
    rule: Rule, case: Case, engine: str, collected: Collector, request: pytest.FixtureRequest
) -> None:
    result, plans, profile = _judge(rule, case, engine, case.breaks, case.history, collected)
    assert not result.gaps, result.gaps
    assert result.outcome is Outcome.FAIL, result.reason
    named = bool(case.subject.database) or case.whole_target
    subject = case.subject if named else dataclasses.replace(case.subject, database=profile.databases[0].name)
    found = [f for f in result.findings if f.subject == subject]
    assert found, [(f.subject, f.message) for f in result.findings]
    assert found[0].severity is case.severity, found[0].message
    assert case.guilty is None or found[0].guilty == case.guilty
    for finding in result.findings:
        _complete(finding, rule)
        _can_be_done(finding, result, profile)
    if engine in _ONLY_READS:
        assert not _CHANGES.search(found[0].fix), found[0].fix
    steps = [step.text for plan in plans for step in plan.steps if step.text]
    if engine == "timestream":
        timestream.works("\n".join([found[0].fix, *steps]), request.getfixturevalue("timestream"))


_ONLY_READS = {"influxdb3", "timestream"}
"""Engines whose statements change nothing, so that a fix must not tell anybody to run one."""
_CHANGES = re.compile(r"\b(ALTER|CREATE|DROP|UPDATE|INSERT|DELETE) (TABLE|INTO|COLUMN|MEASUREMENT|SERIES|VIEW|FROM)\b")


def _complete(finding: Finding, rule: Rule) -> None:
    """All that a reader of the finding needs is there."""
    assert finding.message.endswith(".")
    assert not re.search(r"\{\w+(:q)?\}", finding.fix), finding.fix
    assert finding.evidence
    assert set(finding.facts) <= rule.requires | rule.uses | {"columns"}


def _can_be_done(finding: Finding, result: RuleResult, profile: Profile) -> None:
    """The reader is told what to do, and the engine says how it makes each change, or why it does not."""
    assert finding.fix, finding.message
    for change in finding.changes:
        alone = dataclasses.replace(result, findings=(dataclasses.replace(finding, changes=(change,)),))
        (plan,) = plans_of(profile, [alone])
        assert any(step.words for step in plan.steps) or plan.set_aside, change
        assert all(aside.reason for aside in plan.set_aside)


@pytest.mark.parametrize(("rule", "case", "engine"), CASES)
def test_silence_when_kept(rule: Rule, case: Case, engine: str, collected: Collector) -> None:
    result, _, _ = _judge(rule, case, engine, case.keeps, case.quiet_history, collected)
    assert result.outcome is Outcome.PASS, [f.message for f in result.findings] or result.reason


def test_cases_when_compared_with_what_rules_declare() -> None:
    declared = {(rule.code, engine) for rule in all_rules() for engine in rule.engines}
    covered = {
        (rule.code, engine)
        for rule in all_rules()
        for case in cases_of(rule)
        for engine in case.engines or rule.engines
    }
    assert covered == declared


@pytest.mark.parametrize("engine", sorted(ENGINES))
def test_no_warning_when_the_database_is_healthy(engine: str, collected: Collector) -> None:
    from tests.rules.healthy import HEALTHY

    wanted = required_facts(engine)
    before = collected(HEALTHY, engine, None, wanted)
    profile = collected(HEALTHY, engine, before, wanted)
    result = audit(profile, Timeline(previous=before))
    assert [(r.code, f.subject, f.message) for r, f in result.findings() if f.severity is not Severity.INFO] == []
    assert {r.code: r.reason for r in result.results if r.outcome in (Outcome.ERROR, Outcome.OPEN)} == {}
