"""LAY009: rows that are stored twice."""

from __future__ import annotations

import dataclasses

import pytest

from tests.builders import a_field, a_measurement, a_profile, a_source
from tests.collecting import collected
from tests.databases import Dataset, Row
from tests.rules.cases import Case, dataset, hosts, run_rule, table
from tests.servers import Postgresql
from tsaudit.config.settings import Target
from tsaudit.model.finding import Outcome, Severity
from tsaudit.model.profile import Profile, Repeats, TableKind
from tsaudit.model.subject import Subject
from tsaudit.rules.layout.repeated_rows import repeated_rows as rule


def _readings(twice: int) -> Dataset:
    """120 readings of two hosts; so many of them are written again."""
    made = table("readings", hosts(2), {"watts": "float"}, lambda s, r: {"watts": s + r / 7}, rows=60, key=False)
    rows: list[Row] = list(made.rows)
    return dataset(dataclasses.replace(made, rows=[*rows, *rows[:twice]]))


CASES = (Case(breaks=_readings(30), keeps=_readings(10), subject=Subject("", "readings")),)


def _profile(rows: int, identical: int, **changes: object) -> Profile:
    found = Repeats(rows, identical, identical, a_source())
    return a_profile(a_measurement("readings", **{"repeats": found} | changes), engine="postgresql")


@pytest.mark.parametrize(("rows", "identical", "found"), [(2_000, 20, 1), (2_000, 19, 0), (9_000, 89, 0), (100, 19, 0)])
def test_at_the_limit_and_just_below_it(rows: int, identical: int, found: int) -> None:
    findings = run_rule(rule, _profile(rows, identical)).findings
    assert [f.severity for f in findings] == [Severity.NOTE] * found
    if found:
        assert findings[0].message.startswith("1% of the rows read are the same as another one in all columns")
        assert "(time, host)" in findings[0].fix


def test_rows_of_a_queue_or_of_nothing_in_particular_may_be_the_same() -> None:
    counts = a_field("views", ("integer",))
    assert run_rule(rule, _profile(2_000, 900, tags=(), fields=(counts,))).outcome is Outcome.PASS
    assert run_rule(rule, _profile(2_000, 900, kind=TableKind.QUEUE)).outcome is not Outcome.FAIL


_COPIES = """INSERT INTO trades (at, market, price)
  SELECT TIMESTAMP '2026-03-20' + i * INTERVAL '1 min', 'm' || i % 3, i / 7.0
  FROM (SELECT generate_series(1, 300) AS i UNION ALL SELECT generate_series(1, {})) AS numbers"""


def test_rows_under_an_id_of_their_own_in_postgresql(postgresql: Postgresql) -> None:
    for number_of_column, found in (("SERIAL PRIMARY KEY", 1), ("INT", 1), ("FLOAT DEFAULT random()", 0)):
        columns = f"n {number_of_column}, at TIMESTAMP, market TEXT, price FLOAT"
        schema = postgresql.new_schema(f"CREATE TABLE trades ({columns})", _COPIES.format(40))
        target = Target(name="t", engine="postgresql", url=postgresql.audit_url, databases=(schema,))
        assert len(run_rule(rule, collected(target)).findings) == found, number_of_column
