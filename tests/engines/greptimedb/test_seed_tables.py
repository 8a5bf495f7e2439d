"""The tables of GreptimeDB's guide to table schemas: what the audit advises on them is what the guide says.

Advice against the guide's own tables would be a false alarm. On those that it warns against the advice is tried: the
proposed statements are run, and the audit is silent on them afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

import pytest

from tests.builders import DAY, NOW
from tests.databases import Dataset, Table, write
from tests.engines.greptimedb.double import GreptimeDB
from tests.engines.greptimedb.seed_tables import MISUSED, TABLES
from tests.planning.places import server_of
from tests.rules.cases import as_warning
from tsaudit.collect import collect
from tsaudit.config.settings import Target
from tsaudit.engines.opening import open_connection
from tsaudit.evaluation import evaluate
from tsaudit.model.finding import Finding, Outcome, RuleResult, Severity
from tsaudit.model.plan import Step, StepKind
from tsaudit.model.profile import Profile
from tsaudit.planning.plans import plans_of
from tsaudit.policy import LimitPolicy

pytestmark = pytest.mark.full

VERSIONS: Final = ("0.17.2", "1.0.2", "1.1.4", "1.2.0")
SMALL: Final = {
    "unsuitable-index.max_low_values": 1_000,
    "unbounded-tag.max_values": 500,
}
"""Limits for tables of thousands of rows instead of millions."""


@pytest.fixture(scope="module", params=VERSIONS)
def server(request: pytest.FixtureRequest) -> Iterator[GreptimeDB]:
    running = GreptimeDB(request.param)
    yield running
    running.stop()


def _collected(target: Target) -> Profile:
    with open_connection(target) as connection:
        profile = collect(target, connection, day=DAY, now=NOW)
    # What the version does not tell, and nothing else.
    assert {gap.fact for gap in profile.gaps} <= {"stored_rows", "effective_options"}
    return profile


def _audited(server: GreptimeDB, *tables: Table, limits: Mapping[str, float] | None = None) -> dict[str, Finding]:
    """`code measurement.column` to the finding, of all rules."""
    return _found(write(Dataset(tables, database="guide"), "greptimedb", server), limits)


def _found(target: Target, limits: Mapping[str, float] | None = None) -> dict[str, Finding]:
    result = evaluate(_collected(target), policy=LimitPolicy(target=limits or {}))
    assert not [r.reason for r in result.results if r.outcome is Outcome.ERROR]
    return {_key(r, f): f for r, f in result.findings()}


def _key(rule: RuleResult, finding: Finding) -> str:
    at = finding.subject
    return f"{rule.code} {at.measurement}{'.' if at.column else ''}{at.column}"


SAID: Final = {
    # The same columns are in other versions of the table, which are named with the first.
    "FLD001 http_logs.user_agent",
    "FLD001 http_logs.http_method",
    "FLD001 http_logs.application",
    "FLD001 http_logs_v2.http_method",
    "RET001 http_logs",
    "RET001 raw_logs",
    "RET001 system_metrics",
}
"""Advice that the guide does not give, all of it information: a column with few values and without an index may be
filtered by, and nothing says how long rows are kept."""


def test_tables_of_the_guide_are_in_order(server: GreptimeDB) -> None:
    found = _audited(server, *TABLES.tables)
    assert {f.severity for f in found.values()} == {Severity.NOTE}
    assert set(found) == SAID


EXPECTED: Final[Mapping[str, frozenset[str]]] = {
    name: frozenset(code.format(name) for code in codes)
    for name, codes in {
        "without_append_mode": ("STO006 {}",),
        "lines_by_time": ("STO006 {}",),
        "id_in_the_key": ("TAG002 {}.request_id",),
        "id_alone_in_the_key": ("TAG002 {}.request_id", "STO006 {}"),
        "id_with_inverted_index": ("STO007 {}.request_id",),
        "method_with_skipping_index": ("STO007 {}.http_method",),
        "key_indexed_again": ("STO001 {}",),
        "unsearchable_logs": ("STO007 {}.message",),
        "compared_logs": ("STO006 {}",),
        "metrics_kept_twice": ("STO006 {}",),
        "metrics_by_time": ("STO001 {}", "STO003 {}"),
        "level_in_the_key": ("TAG002 {}.level",),
    }.items()
}
"""What is reported of the misused tables, at any severity: so few rows cost nothing yet."""


@pytest.mark.parametrize("name", MISUSED)
def test_what_the_guide_warns_against_is_reported_and_of_nothing_else_is_warned(server: GreptimeDB, name: str) -> None:
    found = _audited(server, MISUSED[name], limits=SMALL)
    # What follows from another finding of the table is its evidence.
    also = {
        f"{e.label.removeprefix('also ')} {f.subject.measurement}"
        for f in found.values()
        for e in f.evidence
        if e.label.startswith("also ")
    }
    assert EXPECTED[name] <= found.keys() | also
    assert {k for k, f in found.items() if f.severity is not Severity.NOTE} <= EXPECTED[name]


@pytest.mark.parametrize("name", EXPECTED)
def test_what_is_proposed_can_be_run_and_helps(server: GreptimeDB, name: str) -> None:
    target = write(Dataset([MISUSED[name]], database="guide"), "greptimedb", server)
    rows = len(server.rows(server.tables["guide", name]))
    profile = _collected(target)
    results = [
        replace(r, findings=tuple(as_warning(f) for f in r.findings if _key(r, f) in EXPECTED[name]))
        for r in evaluate(profile, policy=LimitPolicy(target=SMALL)).results
    ]
    (plan,) = plans_of(profile, results)
    for step in plan.steps:
        server_of("greptimedb", server, target).run(step)
    if old := server.tables.get(("guide", f"{name}_old")):
        # Plans move no rows: whoever wants them in the new table does.
        columns = ", ".join(f'"{column.name}"' for column in old.columns)
        move = f'INSERT INTO "guide"."{name}" ({columns}) SELECT {columns} FROM "guide"."{name}_old";'
        server_of("greptimedb", server, target).run(Step(StepKind.STORED, "", move, "sql"))
        server.drop(old)
    # A key that several rows have is no mistake by itself: what was sent again is now one row.
    left = {k for k, f in _found(target, SMALL).items() if "Repeats and corrections do no harm" not in f.fix}
    assert not EXPECTED[name] & left
    assert len(server.rows(server.tables["guide", name])) == (rows - 200 if name == "metrics_kept_twice" else rows)
