"""The plans for the cases of rules, run on SQL databases: what was found is gone, nothing else is wrong, nothing lost.

All plans of a database are run together, decisions included, as somebody does who follows the report to its end. The
audit of the day after judges by all rules, as every audit does.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pytest

from tests.builders import NOW
from tests.databases import write
from tests.planning.following import ROUNDS
from tests.planning.on_sql import SqlHand
from tests.planning.places import Place, Statements
from tests.rules.cases import Case
from tests.rules.test_on_engines import cases_of
from tsaudit.model.change import MakeField, SplitColumn
from tsaudit.model.finding import AuditResult, Severity
from tsaudit.model.plan import Phase, Plan
from tsaudit.rule import Rule
from tsaudit.rules import all_rules

ENGINES: Final = ("duckdb", "greptimedb", "postgresql", "sqlite")
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


Written = tuple[Place, SqlHand]
"""A database that a case was written to, and who carries out its plans."""


@pytest.fixture
def written(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[Case, str], Written]:
    """Writes what breaks a rule."""

    def place(case: Case, engine: str) -> Written:
        where = importlib.import_module(f"tests.engines.{engine}.writing").place(request, tmp_path)
        target = write(case.breaks, engine, where)
        return Place(target, case.limits), SqlHand(Statements(engine, where, target))

    return place


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
    rule: Rule, case: Case, engine: str, written: Callable[[Case, str], Written]
) -> None:
    place, hand = written(case, engine)
    profile, result = place.audited()
    first = min((m.first_time for m in profile.measurements if m.first_time), default=NOW - timedelta(days=2))
    split = {part.name for plan in result.plans for part in _parts(plan)}
    split |= {c.change.tag for plan in result.plans for c in plan.changes if isinstance(c.change, MakeField)}
    for _ in range(ROUNDS):
        found, asked, before = _warned(result), result.plans, hand.contents(profile)
        done = hand.carry_out(asked, first, NOW)
        assert not [line for run in done for line in run.refused]
        place = place.told(asked)
        COUNTS[engine]["executed"] += sum(run.executed for run in done)
        latest, result = place.audited(profile, asked)
        gone = hand.lost(before, hand.contents(latest), asked, done, NOW)
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
