"""Writes a layout, audits it, and counts what was found, missed and false."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

import duckdb

from tests.builders import DAY, NOW
from tests.collecting import collected
from tests.databases import Dataset, Sql, new_name, write
from tests.layouts.grades import Grade, graded
from tests.layouts.layout import Layout, Made, Script, Wanted
from tests.planning.opposites import opposites
from tests.planning.places import Place
from tsaudit.config.settings import Target
from tsaudit.engines.registry import ENGINES
from tsaudit.model.figures import Subject
from tsaudit.model.finding import AuditResult, Finding, RuleResult, Severity, Verdict
from tsaudit.model.profile import Profile

MOST_FINDINGS: Final = 30
"""Of all severities: nobody reads more about one database."""

VERSIONS: Final = ("dirty", "clean")
"""Of a layout, as it calls them."""
_KINDS: Final = {"in columns": "column"} | {
    f"in {engine.words.measurement}s": "measurement" for engine in ENGINES.values()
}
"""What the evidence lists that a finding about several columns, or several measurements, has."""
_NAME: Final = re.compile(r"[^\s,]+")


@dataclass(frozen=True, slots=True)
class Score:
    """How one layout did."""

    layout: Layout
    found: tuple[Wanted, ...] = ()
    """Of the wanted ones, at any severity."""
    missed: tuple[Wanted, ...] = ()
    harmful: tuple[Wanted, ...] = ()
    """What both readers call harmful."""
    warned: tuple[Wanted, ...] = ()
    """Of those, at warning or above."""
    right: int = 0
    """Expectations, harmful or disputed, that were reported at warning or above."""
    false: tuple[str, ...] = ()
    """At warning and above, in the dirty one and in the clean one, about nothing that is harmful: code, subject, and
    message.
    """
    clean: Verdict | None = None
    """Of the clean twin; None where there is none."""
    findings: int = 0
    """Of all severities in the dirty one, or in the clean one where there are more."""


@dataclass(frozen=True, slots=True)
class Audited:
    """A version of a layout in a database, and what the audit says of it."""

    where: Any
    """The place that it was written to, see `tests.databases.write`."""
    place: Place
    profile: Profile
    result: AuditResult


def audited(layout: Layout, version: str, where: Callable[[], Any]) -> Audited:
    """Write the version and audit it, a day after what the dirty one held a day earlier where a layout has that.

    `where`: a new place for a database of the layout's engine.
    """
    now = layout.now or NOW
    before = None
    if version == "dirty" and layout.yesterday:
        yesterday = written(layout.yesterday(), layout.engine, where(), columns=dict(layout.columns))
        day_before = now - timedelta(days=1)
        before = collected(yesterday, day=day_before.date(), now=day_before)
    own = where()
    place = Place(written(getattr(layout, version)(), layout.engine, own, columns=dict(layout.columns)), now=now)
    profile, result = place.audited(before)
    assert opposites(result.results) == []
    assert profile.day == (DAY if layout.now is None else now.date())
    return Audited(own, place, profile, result)


def score(layout: Layout, results: Mapping[str, AuditResult]) -> Score:
    """`results`: of each version that the layout has."""
    found: list[Wanted] = []
    harmful: list[Wanted] = []
    warned: list[Wanted] = []
    false: list[str] = []
    right = 0
    if dirty := results.get("dirty"):
        all_findings = list(dirty.findings())
        told = [pair for pair in all_findings if pair[1].severity is not Severity.NOTE]
        found = [wanted for wanted in layout.wanted if any(_says(wanted, *pair) for pair in all_findings)]
        grades = list(graded(layout))
        harmful = [wanted for wanted, grade in grades if grade is Grade.HARMFUL]
        warned = [wanted for wanted in harmful if any(_says(wanted, *pair) for pair in told)]
        worth_it = [wanted for wanted, grade in grades if grade is not Grade.HARMLESS]
        right = sum(any(_says(wanted, *pair) for pair in told) for wanted in worth_it)
        false += [_line(*pair) for pair in told if not any(_says(wanted, *pair) for wanted in worth_it)]
    if clean := results.get("clean"):
        false += [f"clean: {_line(r, f)}" for r, f in clean.findings() if f.severity is not Severity.NOTE]
    missed = tuple(wanted for wanted in layout.wanted if wanted not in found)
    most = max(len(list(result.findings())) for result in results.values())
    return Score(
        layout,
        found=tuple(found),
        missed=missed,
        harmful=tuple(harmful),
        warned=tuple(warned),
        right=right,
        false=tuple(false),
        clean=clean.verdict if clean else None,
        findings=most,
    )


def _says(wanted: Wanted, result: RuleResult, finding: Finding) -> bool:
    codes = result.code in wanted.codes.split("|") or wanted.codes == "*"
    return codes and any(fnmatchcase(_name(subject), wanted.subject) for subject in _subjects(finding))


def _subjects(finding: Finding) -> Iterator[Subject]:
    """The finding's subject, and those of others like it, for which it stands and which it lists."""
    yield finding.subject
    for evidence in finding.evidence:
        kind = _KINDS.get(evidence.label)
        if kind is not None:
            _, _, names = evidence.value.partition(": ")
            yield from (replace(finding.subject, **{kind: name}) for name in _NAME.findall(names))


def _name(subject: Subject) -> str:
    return f"{subject.measurement}.{subject.column}" if subject.column else subject.measurement


def _line(result: RuleResult, finding: Finding) -> str:
    return f"{result.code} {_name(finding.subject)}: {finding.message}"


def written(made: Made, engine: str, where: Any, **settings: Any) -> Target:
    """Write the data to a new place; a target for it, with these settings."""
    if isinstance(made, Dataset):
        return write(made, engine, where, **settings)
    if engine == "postgresql":
        url, databases = _in_postgresql(made, where)
    else:
        url, databases = _FILES[engine](made, where), ()
    return Target(name="test", engine=engine, url=url, databases=databases, **settings)


def _in_postgresql(made: Script, where: Sql) -> tuple[str, tuple[str, ...]]:
    schema = new_name()
    with where.connect() as connection:
        connection.execute(f"CREATE SCHEMA {schema}")
        connection.execute(f"SET search_path = {schema}, public")
        for statement in made.statements:
            connection.execute(statement)
        for table, rows in made.rows.items():
            with connection.cursor().copy(
                f"COPY {ENGINES['postgresql'].language.identifier(table)} FROM STDIN"
            ) as copy:
                for row in rows:
                    copy.write_row(row)
        for statement in made.then:
            connection.execute(statement)
        connection.execute(f"GRANT USAGE ON SCHEMA {schema} TO tsaudit")
        connection.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO tsaudit")
    return where.audit_url, (schema,)


def _in_duckdb(made: Script, where: Path) -> str:
    with duckdb.connect(str(where)) as connection:
        _run(connection, made, "duckdb")
    return f"duckdb:///{where}"


def _in_sqlite(made: Script, where: Path) -> str:
    connection = sqlite3.connect(where)
    with connection:
        _run(connection, made, "sqlite")
    connection.close()
    return f"sqlite:///{where}"


def _run(connection: Any, made: Script, engine: str) -> None:
    for statement in made.statements:
        connection.execute(statement)
    for table, rows in made.rows.items():
        places = ", ".join("?" * len(rows[0]))
        connection.executemany(f"INSERT INTO {ENGINES[engine].language.identifier(table)} VALUES ({places})", rows)
    for statement in made.then:
        connection.execute(statement)


_FILES: Final = {"duckdb": _in_duckdb, "sqlite": _in_sqlite}
