"""The plans for the cases of rules, run on SQL databases: what was found is gone, nothing else is wrong, nothing lost.

All plans of a database are run together, decisions included, as somebody does who follows the report to its end. The
audit of the day after judges by all rules, as every audit does.
"""

from __future__ import annotations

import itertools
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import duckdb
import pytest
import yaml

from tests.builders import DAY, NOW
from tests.databases import write
from tests.engines.greptimedb.ddl import execute as execute_greptimedb
from tests.engines.greptimedb.double import GreptimeDB
from tests.planning.careful import carry_out
from tests.planning.losses import held, lost
from tests.rules.cases import Case
from tests.rules.test_on_engines import cases_of
from tests.servers import Postgresql
from tsaudit.audit import audit, required_facts
from tsaudit.collect import collect
from tsaudit.config.settings import Target
from tsaudit.engines.opening import open_connection
from tsaudit.model.change import MakeField, SplitColumn
from tsaudit.model.finding import AuditResult, Severity
from tsaudit.model.plan import Phase, Plan
from tsaudit.model.profile import Profile
from tsaudit.model.timeline import Timeline
from tsaudit.rule import LimitPolicy, Rule
from tsaudit.rules import all_rules

ENGINES: Final = ("duckdb", "greptimedb", "postgresql", "sqlite")
ROUNDS: Final = 2
"""An index that took another one's searches is known to be unused only when that one is gone."""
_EVERY_CASE: Final = ("STO", "FLD002", "RET001")
_FIRST_CASE: Final = (
    "CAR001",
    "CAR005",
    "CAR006",
    "DRF001",
    "FLD001",
    "LAY004",
    "NAM001",
    "NAM002",
    "TAG001",
    "TAG002",
    "TAG003",
    "TAG006",
)
"""Codes, or their letters, of the rules whose plans state something here."""
_numbers = itertools.count()


def _each() -> Iterator[Any]:
    for rule in all_rules():
        cases = cases_of(rule)
        chosen = ENGINES
        if not rule.code.startswith(_EVERY_CASE):
            cases = cases[:1] if rule.code in _FIRST_CASE else ()
        for position, case in enumerate(cases):
            for engine in chosen:
                if engine in (case.engines or rule.engines) and case.history is None:
                    yield pytest.param(rule, case, engine, id=f"{rule.code}-{position}-{engine}")


@dataclass(frozen=True, slots=True)
class Place:
    """A database that a case was written to."""

    target: Target
    execute: Callable[[str], Any]
    case: Case

    def audited(self, before: Profile | None = None, asked: tuple[Plan, ...] = ()) -> tuple[Profile, AuditResult]:
        """By all rules. `before`, `asked`: the snapshot of the day before, and the plans since."""
        day = before.day + timedelta(days=1) if before else DAY
        with open_connection(self.target) as connection:
            profile = collect(
                self.target, connection, day=day, now=NOW, previous=before, wanted=required_facts(self.target.engine)
            )
        return profile, audit(profile, Timeline(previous=before, plans=asked), LimitPolicy(target=self.case.limits))


@pytest.fixture
def written(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[Case, str], Place]:
    """Writes what breaks a rule."""

    def place(case: Case, engine: str) -> Place:
        if engine == "postgresql":
            server: Postgresql = request.getfixturevalue("postgresql")
            return Place(write(case.breaks, engine, server), lambda one: _on_postgresql(server, one), case)
        if engine == "greptimedb":
            own: GreptimeDB = request.getfixturevalue("greptimedb")
            return Place(write(case.breaks, engine, own), lambda one: _on_greptimedb(own, one), case)
        file = tmp_path / f"{next(_numbers)}.db"
        return Place(write(case.breaks, engine, file), lambda one: _on_file(engine, file, one), case)

    return place


def _on_postgresql(server: Postgresql, statement: str) -> Any:
    with server.connect() as connection:
        answer = connection.execute(statement.encode())
        return answer.fetchall() if answer.description else []


def _on_greptimedb(server: GreptimeDB, statement: str) -> Any:
    """What only reads is a query of the stand-in's; it names no schema."""
    if found := re.fullmatch(r"SELECT (.*) FROM \"(.*?)\"\.\"(.*)\"", statement):
        table = server.tables[found[2], found[3].replace('""', '"')]
        columns = [name.replace('""', '"') for name in re.findall(r'"((?:[^"]|"")*)"', found[1])]
        rows = server.rows(table).select(columns).to_pylist()
        return [tuple(row.values()) for row in rows]
    return None if statement.startswith("SELECT") else execute_greptimedb(server, statement)


def _on_file(engine: str, file: Path, statement: str) -> Any:
    opened: Any = (duckdb if engine == "duckdb" else sqlite3).connect(str(file))
    with closing(opened) as connection:
        answer = connection.execute(statement)
        rows = answer.fetchall() if answer.description else []
        connection.commit()
        return rows


def _warned(result: AuditResult) -> set[tuple[str, str]]:
    return {(r.code, str(f.subject)) for r, f in result.findings() if f.severity is not Severity.INFO}


COUNTS: Final = {engine: {"executed": 0, "lost": 0} for engine in ENGINES}


@pytest.fixture(scope="module", autouse=True)
def _shown() -> Iterator[None]:
    """`pytest -s` shows how much was run."""
    yield
    print(f"\n{COUNTS}")


@pytest.mark.parametrize(("rule", "case", "engine"), tuple(_each()))
def test_what_is_found_is_gone_and_nothing_lost(
    rule: Rule, case: Case, engine: str, written: Callable[[Case, str], Place]
) -> None:
    place = written(case, engine)
    profile, result = place.audited()
    first = min((m.first_time for m in profile.measurements if m.first_time), default=NOW - timedelta(days=2))
    split = {part.name for plan in result.plans for part in _parts(plan)}
    split |= {c.change.tag for plan in result.plans for c in plan.changes if isinstance(c.change, MakeField)}
    for _ in range(ROUNDS):
        found, asked, before = _warned(result), result.plans, held(profile, place.execute)
        done = [carry_out(plan, place.execute, first, NOW) for plan in asked]
        place = _told(place, asked)
        COUNTS[engine]["executed"] += sum(run.executed for run in done)
        latest, result = place.audited(profile, asked)
        after = held(latest, place.execute)
        gone = [line for plan, run in zip(asked, done, strict=True) for line in lost(before, after, plan, run.shown)]
        COUNTS[engine]["lost"] += len(gone)
        assert not gone
        new = {(code, subject) for code, subject in _warned(result) - found}
        # What is taken out of a text, or is in a key, stays text: that it holds numbers is known once it is a field.
        assert {one for one in new if one[0] != "FLD002" or one[1].rpartition(".")[2] not in split} == set()
        profile = latest
        if not any(run.executed for run in done):
            break
    left = {str(f.subject) for r, f in result.findings() if r.code == rule.code and f.changes}
    assert not left & _can_go(asked), left


def _parts(plan: Plan) -> Iterator[Any]:
    for asked in plan.changes:
        if isinstance(asked.change, SplitColumn):
            yield from asked.change.parts


def _can_go(asked: tuple[Plan, ...]) -> set[str]:
    """The tables whose plans come to their end by statements: no key is left to be made by hand."""
    return {
        str(plan.subject)
        for plan in asked
        if any(step.phase is Phase.REMOVE and step.text for step in plan.steps)
        and not any(step.phase is Phase.REMOVE and not step.text for step in plan.steps)
    }


def _told(place: Place, asked: tuple[Plan, ...]) -> Place:
    """With what the plans want tsaudit.yaml to say of the columns."""
    told: dict[str, Any] = dict(place.target.columns)
    for step in (step for plan in asked for step in plan.steps if step.language == "yaml"):
        for table, roles in yaml.safe_load(step.text)["columns"].items():
            known = told[table].model_dump() if table in told else {}
            told[table] = {role: [*known.get(role, ()), *names] for role, names in roles.items()}
    settings = place.target.model_dump() | {"columns": told, "url": place.target.url}
    return replace(place, target=Target(**settings)) if told else place
