"""FLD003: a field with several types."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.builders import NOW, a_field, a_measurement, a_profile
from tests.collecting import collected
from tests.databases import Row, Table, Value, influxql, write_lines
from tests.rules.cases import Case, dataset, planned, run_rule
from tests.servers import Influxd
from tsaudit.config.settings import Target
from tsaudit.model.columns import FieldEnd, PartOfRows
from tsaudit.model.figures import Subject
from tsaudit.model.finding import Currency, Outcome
from tsaudit.model.timeline import Timeline
from tsaudit.rules.fields.conflicting_types import conflicting_types as rule


def _flow(old: Value, new: Value) -> Table:
    """Two weeks apart, so that the points are in shards of their own."""
    rows = [Row(NOW - timedelta(days=age), {"pump": "p1"}, {"litres": value}) for age, value in ((15, old), (1, new))]
    return Table("flow", ("pump",), {"litres": "any"}, rows)


CASES = (
    Case(
        breaks=dataset(_flow(1, 1.5)),
        keeps=dataset(_flow(1.0, 1.5)),
        subject=Subject("", "flow", "litres"),
        main_contributor="litres",
        engines=frozenset({"influxdb1", "influxdb2"}),
    ),
    Case(
        breaks=dataset(_flow("n/a", 1.5)),
        # Which type of number it is, drivers choose by the value.
        keeps=dataset(_flow(1, 1.5)),
        subject=Subject("", "flow", "litres"),
        main_contributor="litres",
        engines=frozenset({"mongodb"}),
    ),
)


def test_each_field_with_several_types_is_a_finding() -> None:
    fields = (a_field("a", types=("float", "string")), a_field("b"), a_field("c", types=("float", "integer", "string")))
    profile = a_profile(a_measurement(fields=fields), engine="influxdb1")
    result = run_rule(rule, profile)
    assert [(f.main_contributor, f.message) for f in result.findings] == [
        ("a", "Field a is stored as float and string."),
        ("c", "Field c is stored as float, integer, and string."),
    ]
    assert 'SELECT last("a"::string) FROM "cpu"' in planned(rule, profile)


def test_one_type_is_silence_as_is_an_empty_database() -> None:
    assert run_rule(rule, a_profile(engine="influxdb1")).outcome is Outcome.PASS
    assert run_rule(rule, a_profile(a_measurement(fields=()), engine="influxdb1")).outcome is Outcome.PASS


def test_types_that_are_both_written_make_answers_wrong() -> None:
    one, two = (
        a_profile(a_measurement(fields=(a_field("a", types=types),)), engine="influxdb1")
        for types in (("float",), ("float", "string"))
    )
    for before, severity in ((None, "note"), (two, "note"), (one, "warning")):
        (finding,) = run_rule(rule, two, timeline=Timeline(previous=before) if before else None).findings
        assert finding.severity == severity
        assert (finding.impact is not None) is (severity == "warning")
    documents = a_profile(a_measurement(fields=(a_field("a", types=("double", "string")),)), engine="mongodb")
    (finding,) = run_rule(rule, documents).findings
    assert finding.severity == "warning"
    assert finding.impact is not None
    assert finding.impact.currency is Currency.ANSWERS


@pytest.mark.parametrize(("before", "later", "severity"), [('"{}"', "{}.0", "note"), ("{}.5", '"{}"', "warning")])
def test_values_that_queries_no_longer_return(influxd: Influxd, before: str, later: str, severity: str) -> None:
    """A gateway's update writes the charge as text: each query over both weeks returns numbers, and they have ended."""
    name = f"charge_{severity}"
    influxql(influxd.url, f"CREATE DATABASE {name}")
    for age, value in ((15, before), (1, later)):
        first = round((NOW - timedelta(days=age)).timestamp())
        lines = (f"battery volt=13.8,charge={value.format(n % 100)} {(first + 60 * n) * 10**9}" for n in range(300))
        write_lines(influxd.url, name, lines)
    profile = collected(Target(name="t", engine="influxdb1", url=influxd.url, databases=(name,)))
    (finding,) = run_rule(rule, profile).findings
    assert (finding.message, finding.severity) == ("Field charge is stored as float and string.", severity)
    if severity == "warning":
        assert finding.impact is not None
        assert finding.impact.how == "none of the newest 300 rows read has it, and nearly all before 2026-03-16 do"


@pytest.mark.parametrize(
    ("of", "is_certain"), [(None, True), (PartOfRows("kind", ("gas",), 1, 4, NOW - timedelta(days=3), 2), False)]
)
def test_a_field_that_only_one_kind_of_rows_lost_is_still_written(of: PartOfRows | None, is_certain: bool) -> None:
    end = FieldEnd(NOW - timedelta(days=3), rows_after=300, rows_before=1_000, filled_before=1.0, of=of)
    field = a_field("flow", ("float", "string"), end=end)
    (finding,) = run_rule(rule, a_profile(a_measurement(fields=(field,)), engine="influxdb1")).findings
    assert (finding.impact is not None) is is_certain
