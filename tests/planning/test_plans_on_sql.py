"""The plans for the cases of rules, run on SQL databases: what was found is gone, nothing else is wrong, nothing lost.

All plans of a database are run together, decisions included, as somebody does who follows the report to its end.
"""

from __future__ import annotations

import itertools
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import duckdb
import pytest

from tests import plans
from tests.builders import DAY, NOW
from tests.databases import write
from tests.engines.greptimedb.ddl import execute as execute_greptimedb
from tests.engines.greptimedb.double import GreptimeDB
from tests.rules.cases import Case
from tests.rules.test_on_engines import cases_of
from tests.servers import Postgresql
from tsaudit.audit import audit, required_facts
from tsaudit.collect import collect
from tsaudit.config.settings import Target
from tsaudit.engines.opening import open_connection
from tsaudit.model.finding import AuditResult, Severity
from tsaudit.model.plan import Plan
from tsaudit.model.profile import Profile
from tsaudit.model.timeline import Timeline
from tsaudit.rule import LimitPolicy, Rule
from tsaudit.rules import all_rules

ENGINES: Final = frozenset({"duckdb", "sqlite", "postgresql", "greptimedb"})
ROUNDS: Final = 2
"""An index that took another one's searches is known to be unused only when that one is gone."""
_numbers = itertools.count()


def _each() -> Iterator[Any]:
    for rule in all_rules():
        if not rule.code.startswith("STO") and rule.code not in ("FLD002", "RET001"):
            continue
        for position, case in enumerate(cases_of(rule)):
            for engine in sorted(ENGINES & (case.engines or rule.engines)):
                if case.history is None:
                    yield pytest.param(rule, case, engine, id=f"{rule.code}-{position}-{engine}")


@pytest.fixture
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[Case, str], tuple[Target, Any]]:
    """Writes what breaks the rule: how to collect it, and how to run a statement there."""

    def written(case: Case, engine: str) -> tuple[Target, Any]:
        if engine == "postgresql":
            server: Postgresql = request.getfixturevalue("postgresql")
            return write(case.breaks, engine, server), lambda statement: _on_postgresql(server, statement)
        if engine == "greptimedb":
            own: GreptimeDB = request.getfixturevalue("greptimedb")
            return write(case.breaks, engine, own), lambda statement: execute_greptimedb(own, statement)
        file = tmp_path / f"{next(_numbers)}.db"
        return write(case.breaks, engine, file), lambda statement: _on_file(engine, file, statement)

    return written


def _on_postgresql(server: Postgresql, statement: str) -> Any:
    with server.connect() as connection:
        answer = connection.execute(statement.encode())
        return answer.fetchall() if answer.description else []


def _on_file(engine: str, file: Path, statement: str) -> Any:
    connection: Any = (duckdb if engine == "duckdb" else sqlite3).connect(str(file))
    try:
        answer = connection.execute(statement)
        rows = answer.fetchall() if answer.description else []
        connection.commit()
        return rows
    finally:
        connection.close()


def _audited(target: Target, case: Case, rule: Rule, before: Profile | None) -> tuple[Profile, AuditResult]:
    with open_connection(target) as connection:
        profile = collect(target, connection, day=DAY, now=NOW, wanted=required_facts(target.engine, [rule]))
    return profile, audit(profile, Timeline(previous=before), LimitPolicy(target=case.limits), [rule])


def _warned(result: AuditResult) -> set[tuple[str, str]]:
    return {(r.code, str(f.subject)) for r, f in result.findings() if f.severity is not Severity.INFO}


@pytest.mark.parametrize(("rule", "case", "engine"), tuple(_each()))
def test_what_is_found_is_gone_and_nothing_lost(
    rule: Rule, case: Case, engine: str, database: Callable[[Case, str], tuple[Target, Any]]
) -> None:
    target, execute = database(case, engine)
    profile, result = _audited(target, case, rule, None)
    first = min((m.first_time for m in profile.measurements if m.first_time), default=NOW - timedelta(days=2))
    held, may_merge, latest = _rows(profile), False, profile
    for _ in range(ROUNDS):
        found = _warned(result)
        may_merge |= any(_may_merge(plan) for plan in result.plans)
        if not [statement for plan in result.plans for statement in plans.run(plan, execute, first, NOW)]:
            break
        latest, result = _audited(target, case, rule, latest)
        assert _warned(result) <= found
    else:
        assert not {str(f.subject) for _, f in result.findings() if f.changes}
    if not may_merge:
        assert _rows(latest) == held


def _may_merge(plan: Plan) -> bool:
    """Whether it says that rows become one."""
    return any("one of each" in s.loses or "become one" in s.loses or "last one stays" in s.loses for s in plan.steps)


def _rows(profile: Profile) -> Counter[str]:
    return Counter({m.name: m.rows.value for m in profile.measurements if m.rows is not None})
