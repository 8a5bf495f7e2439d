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
from tsaudit.model.figures import Subject
from tsaudit.model.finding import Currency, Outcome
from tsaudit.model.timeline import Timeline
from tsaudit.rules.fields.conflicting_types import conflicting_types as rule
from tsaudit.rules.layout.sparse_table import sparse_table
from tsaudit.text import instant


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
        # It is read together with the other one.
        write_lines(influxd.url, name, iter([f"panel volt=21.5 {first * 10**9}"]))
    profile = collected(Target(name="t", engine="influxdb1", url=influxd.url, databases=(name,)))
    (finding,) = run_rule(rule, profile).findings
    assert (finding.message, finding.severity) == ("Field charge is stored as float and string.", severity)
    assert profile.gaps == ()
    (read,) = [one for one in profile.measurements[0].fields if one.key == "charge"]
    assert (read.null_ratio and read.null_ratio.value, read.idle_hours, read.end) == (0.0, 0.0, None)
    assert read.newest_type is not None
    assert (read.newest_type.rows, read.newest_type.returned) == (300, "float")
    # It is filled with another type, which no other rule takes for an end.
    assert run_rule(sparse_table, profile).findings == ()
    if severity == "warning":
        assert finding.impact is not None
        assert finding.impact.how == "each of the newest 300 values read is a string"
        until = instant(NOW - timedelta(days=15, minutes=-299))
        assert finding.impact.consequence == (
            f"Queries that also read older shards return the float values of charge: none since {until}."
        )


def test_a_field_of_several_types_that_nobody_fills_anymore(influxd: Influxd) -> None:
    """Text at first, numbers from the next shard on, and nothing for two days."""
    name = "charge_ended"
    influxql(influxd.url, f"CREATE DATABASE {name}")
    for age, charge in ((25, ',charge="{}"'), (12, ",charge={}.5"), (2, "")):
        first = round((NOW - timedelta(days=age)).timestamp())
        lines = (f"battery volt=13.8{charge.format(n % 100)} {(first + 300 * n) * 10**9}" for n in range(550))
        write_lines(influxd.url, name, lines)
    profile = collected(Target(name="t", engine="influxdb1", url=influxd.url, databases=(name,)))
    (ended,) = run_rule(sparse_table, profile).findings
    last = NOW - timedelta(days=12, minutes=-549 * 5)
    assert ended.message.startswith(
        f"charge is not filled anymore since {instant(last)}: it has a value in all of the "
    )
    assert "and in none of the 550 read after it" in ended.message
    (conflict,) = run_rule(rule, profile).findings
    assert conflict.severity == "note"
