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
from tests.databases import Dataset, write, writing_of
from tests.engines.influxdb2.conversations import Conversation
from tests.planning import runner
from tests.planning.places import server_of
from tests.rules.cases import Case, History, as_warning
from tests.servers import without_unsupported
from tsaudit.collect import collect
from tsaudit.config.settings import Target
from tsaudit.engines.opening import open_connection
from tsaudit.engines.registry import ENGINES
from tsaudit.evaluation import evaluate, required_facts
from tsaudit.model.finding import AuditResult, Finding, Outcome, Severity
from tsaudit.model.profile import Profile
from tsaudit.model.timeline import Timeline
from tsaudit.planning.plans import plans_of
from tsaudit.policy import LimitPolicy
from tsaudit.rule import Rule
from tsaudit.rules import all_rules

ROOT = Path(__file__).parents[2]
_numbers = itertools.count()


def module_of(rule: Rule) -> str:
    """The module of the rule's own tests."""
    folder, _, name = rule.check.__module__.rpartition(".")
    return f"{folder.replace('tsaudit', 'tests', 1)}.test_{name}"


def cases_of(rule: Rule) -> tuple[Case, ...]:
    """Those of the rule's own tests; none if it has no tests yet."""
    if not (ROOT / f"{module_of(rule).replace('.', '/')}.py").exists():
        return ()
    found: tuple[Case, ...] = getattr(importlib.import_module(module_of(rule)), "CASES", ())
    return found


def _each() -> Iterator[Any]:
    for rule in all_rules():
        for position, case in enumerate(cases_of(rule)):
            for engine in sorted(case.engines or rule.engines):
                yield pytest.param(rule, case, engine, id=f"{rule.code}-{position}-{engine}")


CASES = tuple(_each())


@dataclasses.dataclass(slots=True)
class Database:
    """Holds one data set after the other; a second one replaces the first, as if a day had passed."""

    request: pytest.FixtureRequest
    folder: Path
    name: str
    where: Any = None
    target: Target | None = None
    wanted: frozenset[str] = frozenset()

    def collected(self, dataset: Dataset, engine: str, previous: Profile | None, wanted: frozenset[str]) -> Profile:
        """Write the data set and collect it."""
        own = self.folder / str(next(_numbers))
        own.mkdir()
        self.where, self.wanted = writing_of(engine).place(self.request, own), wanted
        if dataset.rejected and engine == "influxdb1":
            # A server counts what it drops, and every other test would find that.
            self.where = self.request.getfixturevalue("own_influxd").url
        if isinstance(self.where, Conversation):
            self.where.metrics = "stored_bytes" in wanted
        if not ENGINES[engine].is_a_file:
            # What is written to a conversation is recorded by its name.
            name = "rules" if isinstance(self.where, Conversation) else self.name
            dataset = dataclasses.replace(dataset, database=dataset.database or name)
        self.target = write(dataset, engine, self.where)
        return self.again(previous)

    def again(self, previous: Profile | None) -> Profile:
        """Collect what is there, on the day after `previous`."""
        assert self.target is not None
        day = DAY if previous is None else previous.day + timedelta(days=1)
        with open_connection(self.target) as connection:
            profile = collect(self.target, connection, day=day, previous=previous, wanted=self.wanted, now=NOW)
        return without_unsupported(profile)


@pytest.fixture
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Database:
    return Database(request, tmp_path, f"rules_{next(_numbers)}")


def _judge(
    rule: Rule, case: Case, engine: str, dataset: Dataset, history: History | None, database: Database
) -> tuple[AuditResult, Profile, Callable[[Profile], AuditResult]]:
    """The audit, its profile, and what audits another profile in the same way."""
    wanted = required_facts(engine, [rule])
    before = database.collected(case.before, engine, None, wanted) if case.before else None
    profile = database.collected(dataset, engine, before, wanted)
    timeline = history(profile) if history else Timeline(previous=before)

    def audited(one: Profile) -> AuditResult:
        return evaluate(one, timeline, LimitPolicy(target=case.limits), [rule], harm=case.harm)

    return audited(profile), profile, audited


@pytest.mark.parametrize(("rule", "case", "engine"), CASES)
def test_finding_when_broken(rule: Rule, case: Case, engine: str, database: Database) -> None:
    audited, profile, again = _judge(rule, case, engine, case.breaks, case.history, database)
    (result,) = audited.results
    assert not result.gaps, result.gaps
    assert result.outcome is Outcome.FAIL, result.reason
    named = bool(case.subject.database) or case.whole_target
    subject = case.subject if named else dataclasses.replace(case.subject, database=profile.databases[0].name)
    found = [f for f in result.findings if f.subject == subject]
    assert found, [(f.subject, f.message) for f in result.findings]
    # How much it costs depends on the size of the data; in what, on the rule.
    assert {finding.impact.currency for finding in result.findings if finding.impact} <= rule.costs
    assert case.main_contributor is None or found[0].main_contributor == case.main_contributor
    for finding in result.findings:
        _complete(finding, rule)
    if engine in _ONLY_READS:
        assert not _CHANGES.search(found[0].fix), found[0].fix
    # A note has no plan, but its changes are the same as those of a worse case: their steps have to be right as well.
    worse = dataclasses.replace(result, findings=tuple(map(as_warning, result.findings)))
    plans = plans_of(profile, [worse])
    assert not audited.plans or any(finding.severity is not Severity.NOTE for finding in result.findings)
    _fit(dataclasses.replace(audited, results=(worse,), plans=plans), profile, database, again)


def _fit(result: AuditResult, profile: Profile, database: Database, again: Callable[[Profile], AuditResult]) -> None:
    """Every plan fits on a screen, and its statements run and do what they say."""
    assert [line for plan in result.plans for line in runner.misshapen(plan, profile, result)] == []
    assert all(left.reason for plan in result.plans for left in plan.left_out)
    assert database.target is not None
    server = server_of(profile.engine, database.where, database.target)
    if server is None or not result.plans:
        return

    def audited() -> tuple[Profile, AuditResult]:
        latest = database.again(profile)
        return latest, again(latest)

    ran = runner.run(server, profile, result, audited)
    assert (ran.refused, ran.lost, ran.left) == ([], [], [])


_ONLY_READS = {"influxdb3", "timestream"}
"""Engines whose statements change nothing, so that a fix must not tell anybody to run one."""
_CHANGES = re.compile(r"\b(ALTER|CREATE|DROP|UPDATE|INSERT|DELETE) (TABLE|INTO|COLUMN|MEASUREMENT|SERIES|VIEW|FROM)\b")


def _complete(finding: Finding, rule: Rule) -> None:
    """All that a reader of the finding needs is there."""
    assert finding.fix, finding.message
    assert finding.message.endswith(".")
    assert not re.search(r"\{\w+(:q)?\}", finding.fix), finding.fix
    assert finding.evidence
    assert finding.severity is Severity.NOTE or finding.consequence, "what happens if nothing is done"
    assert set(finding.facts) <= rule.requires | rule.uses | rule.shows | {"columns"}


@pytest.mark.parametrize(("rule", "case", "engine"), CASES)
def test_silence_when_kept(rule: Rule, case: Case, engine: str, database: Database) -> None:
    audited, _, _ = _judge(rule, case, engine, case.keeps, case.quiet_history, database)
    (result,) = audited.results
    assert result.outcome is Outcome.PASS, [f.message for f in result.findings] or result.reason


def test_cases_when_compared_with_what_the_rules_declare() -> None:
    for rule in all_rules():
        _is_covered(rule)


def _is_covered(rule: Rule) -> None:
    if getattr(importlib.import_module(module_of(rule)), "CASES", None) == ():
        # Its tests say why no data set breaks it, and start servers instead.
        return
    covered = {engine for case in cases_of(rule) for engine in case.engines or rule.engines}
    where = f"CASES in {module_of(rule).replace('.', '/')}.py"
    # Conversations with InfluxDB 2 are recorded, and few can record one: its rules may do with the cases of 1.x.
    needed = rule.engines - {"influxdb2"} if "influxdb1" in covered else rule.engines
    missing, more = (", ".join(sorted(one)) for one in (needed - covered, covered - rule.engines))
    assert not missing, f"add a Case to {where} that runs on {missing}; leave `engines=` empty for all engines"
    assert not more, f"{rule.code} does not apply to {more}: leave them out of `engines=` in {where}"


@pytest.mark.parametrize("engine", sorted(ENGINES))
def test_no_warning_when_the_database_is_healthy(engine: str, database: Database) -> None:
    from tests.rules.healthy import HEALTHY

    wanted = required_facts(engine)
    before = database.collected(HEALTHY, engine, None, wanted)
    profile = database.collected(HEALTHY, engine, before, wanted)
    result = evaluate(profile, Timeline(previous=before))
    assert [(r.code, f.subject, f.message) for r, f in result.findings() if f.severity is not Severity.NOTE] == []
    assert {r.code: r.reason for r in result.results if r.outcome in (Outcome.ERROR, Outcome.OPEN)} == {}
