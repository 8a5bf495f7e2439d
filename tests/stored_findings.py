"""What the audit finds in each database that the tests store: the layouts, the cases of all rules, and the demo.

Not part of any suite. It writes a line for each database, whatever test uses it:

    TSAUDIT_FINDINGS=after.jsonl pytest -q -n 2 tests/stored_findings.py     # the same in a checkout of another commit
    python -m tests.compare_findings before.jsonl after.jsonl
"""

from __future__ import annotations

import itertools
import json
import os
import re
from datetime import date, timedelta
from pathlib import Path
from typing import Any, Final

import pytest

from tests.databases import writing_of
from tests.layouts.catalog import all_layouts
from tests.layouts.layout import Layout
from tests.layouts.running import VERSIONS, audited
from tests.planning.opposites import opposites
from tests.planning.runner import printed
from tests.rules.cases import Case
from tests.rules.test_on_engines import CASES, Database, database
from tsaudit.config.settings import Report, Settings, Target
from tsaudit.evaluation import evaluate, required_facts
from tsaudit.history.store import Store
from tsaudit.model.finding import AuditResult
from tsaudit.model.plan import Plan
from tsaudit.model.timeline import Timeline
from tsaudit.policy import LimitPolicy
from tsaudit.rule import Rule
from tsaudit.run import audit_target

__all__ = ["database"]

_GIVEN_NAME: Final = re.compile(r"\b(rules|plans|test)_\d+(_\d+)?\b|\btest_[0-9a-f]{6,}\b")
"""Names of databases that are numbered as they are written."""
_FIRST_DAY: Final = date(2026, 3, 1)
_RECORDED: Final = "influxdb2"
"""Answers only the statements that its tests send."""


def _keep(database: str, result: AuditResult) -> None:
    assert opposites(result.results) == []
    file = Path(os.environ["TSAUDIT_FINDINGS"])
    findings = [
        [rule.code, _GIVEN_NAME.sub("NAME", str(finding.subject)), str(finding.severity)]
        for rule, finding in result.findings()
    ]
    about = {"findings": sorted(findings), "plans": [_shape(plan, result) for plan in result.plans]}
    line = json.dumps({"database": database, "verdict": str(result.verdict), **about})
    with file.open("a") as open_file:
        open_file.write(line + "\n")


def _shape(plan: Plan, result: AuditResult) -> dict[str, Any]:
    """How long the plan is, and what it says of rows that would be lost and of series that are left."""
    effect = plan.effect
    over = effect.limit is not None and effect.series_after is not None and effect.series_after > effect.limit
    return {
        "steps": len(plan.steps),
        "lines": len(printed(plan, result)),
        "loss": "not counted" if effect.loss_unknown else "none possible" if effect.loss is None else "counted",
        "series": "not concerned"
        if effect.series_now is None
        else "says what is next"
        if effect.next_tag or over
        else "not known"
        if effect.series_after is None
        else "enough",
    }


@pytest.mark.parametrize("layout", all_layouts(), ids=lambda layout: layout.name)
@pytest.mark.parametrize("version", VERSIONS)
def test_layout(layout: Layout, version: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    if not getattr(layout, version):
        return
    place = writing_of(layout.engine).place
    numbers = itertools.count()

    def where() -> Any:
        own = tmp_path / str(next(numbers))
        own.mkdir()
        return place(request, own)

    _keep(f"layout {layout.name} {version}", audited(layout, version, where).result)


@pytest.mark.parametrize(("rule", "case", "engine"), CASES)
@pytest.mark.parametrize("version", ["breaks", "keeps"])
def test_case(
    rule: Rule, case: Case, engine: str, version: str, database: Database, request: pytest.FixtureRequest
) -> None:
    wanted = required_facts(engine, [rule]) if engine == _RECORDED else required_facts(engine)
    before = database.collected(case.before, engine, None, wanted) if case.before else None
    profile = database.collected(getattr(case, version), engine, before, wanted)
    history = case.history if version == "breaks" else case.quiet_history
    timeline = history(profile) if history else Timeline(previous=before)
    name = request.node.callspec.id.replace("-", " ")
    _keep(f"case {name}", evaluate(profile, timeline, LimitPolicy(target=case.limits)))


def test_demo(tmp_path: Path) -> None:
    from dagster_project.world import DAYS, World

    target = Target.model_validate({"name": "demo", "engine": "duckdb", "url": f"duckdb:///{tmp_path}/demo.duckdb"})
    settings = Settings(targets=(target,), report=Report(folder=str(tmp_path / "reports")))
    world = World(tmp_path / "demo.duckdb")
    with Store.open(f"sqlite:///{tmp_path}/history.db") as store:
        for number in range(DAYS):
            day = _FIRST_DAY + timedelta(days=number)
            world.advance(day)
            done = audit_target(target, settings, store, day=day)
            assert done.result is not None
            _keep(f"demo {day}", done.result)
