"""NAM004: a tag and a field of one name."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

import pytest

from tests.builders import NOW, a_field, a_measurement, a_profile, a_tag
from tests.collecting import collected
from tests.databases import influxql, write_lines
from tests.rules.cases import Case, dataset, run_rule, table
from tests.servers import Influxd
from tsaudit.config.settings import Target
from tsaudit.evaluation import evaluate
from tsaudit.model.change import Diagnose, MakeTag, Rename
from tsaudit.model.figures import Subject
from tsaudit.model.finding import Finding, Outcome, Severity
from tsaudit.rules.names.name_used_twice import name_used_twice as rule

STATUS = [{"status": "ok"}, {"status": "failed"}]

CASES = (
    Case(
        breaks=dataset(table("requests", STATUS, {"status": "integer"}, lambda s, r: {"status": 200 + s})),
        keeps=dataset(table("requests", STATUS, {"status_code": "integer"}, lambda s, r: {"status_code": 200 + s})),
        subject=Subject("", "requests", "status"),
        main_contributor="status",
        # Recorded before the rule used rows: on InfluxDB 2.x this needs a new recording.
        engines=frozenset({"influxdb1"}),
    ),
)


def test_each_name_is_a_finding() -> None:
    tags, fields = (a_tag("a"), a_tag("b"), a_tag("c")), (a_field("c"), a_field("a"), a_field("d"))
    result = run_rule(rule, a_profile(a_measurement(tags=tags, fields=fields), engine="influxdb1"))
    assert [f.main_contributor for f in result.findings] == ["a", "c"]


@pytest.mark.parametrize(
    ("of_tag", "of_field", "severity"),
    [
        (0.0, 0.0, Severity.WARNING),
        (24.0, 0.0, Severity.WARNING),
        (24.1, 0.0, Severity.NOTE),
        (0.0, 24.1, Severity.NOTE),
        (None, 0.0, Severity.NOTE),
        (0.0, None, Severity.NOTE),
    ],
)
def test_answers_are_wrong_while_both_are_written(
    of_tag: float | None, of_field: float | None, severity: Severity
) -> None:
    tag = dataclasses.replace(a_tag("a"), idle_hours=of_tag)
    field = dataclasses.replace(a_field("a"), idle_hours=of_field)
    result = run_rule(rule, a_profile(a_measurement(tags=(tag,), fields=(field,)), engine="influxdb1"))
    assert [finding.severity for finding in result.findings] == [severity]


@pytest.mark.parametrize(("equals", "severity"), [(True, Severity.NOTE), (False, Severity.WARNING)])
def test_answers_are_right_whichever_is_meant_if_both_are_equal(equals: bool, severity: Severity) -> None:
    tag = dataclasses.replace(a_tag("a"), idle_hours=0.0)
    field = dataclasses.replace(a_field("a"), idle_hours=0.0, same_tag="a" if equals else "b")
    result = run_rule(rule, a_profile(a_measurement(tags=(tag,), fields=(field,)), engine="influxdb1"))
    assert [finding.severity for finding in result.findings] == [severity]


DAYS = [NOW - timedelta(days=15) + timedelta(hours=one) for one in range(360)]


def _point(at: datetime, line: str, *, as_tag: bool, level: str = "1") -> str:
    tag, field = (f",line={line}", "") if as_tag else ("", f',line="{line}"')
    return f"pumps{tag} level={level}{field} {round(at.timestamp()) * 10**9}"


def _audited(influxd: Influxd, name: str, lines: Iterable[str], policies: Mapping[str, Iterable[str]] = {}) -> Finding:
    """The only finding of the rule: points in the default policy, and in others."""
    influxql(influxd.url, f"CREATE DATABASE {name}")
    for policy in policies:
        influxql(influxd.url, f"CREATE RETENTION POLICY {policy} ON {name} DURATION INF REPLICATION 1")
    for policy, points in {"": lines, **policies}.items():
        write_lines(influxd.url, name, iter(points), policy=policy)
    target = Target(name="t", engine="influxdb1", url=influxd.url, databases=(name,))
    (finding,) = evaluate(collected(target), rules=[rule]).results[0].findings
    return finding


def test_part_of_the_rows_is_missed_where_a_writer_was_changed(influxd: Influxd) -> None:
    became_tag = [_point(at, "ab"[i % 2], as_tag=i >= 200) for i, at in enumerate(DAYS)]
    finding = _audited(influxd, "became_tag", became_tag)
    assert finding.severity is Severity.WARNING
    assert f"a tag in others since {DAYS[200].date()}" in finding.message
    assert finding.changes == (), "nobody writes the field, so nobody can rename it"
    assert finding.fix.startswith("Write the rows with the field again, with line as a tag")
    became_field = [_point(at, "ab"[i % 2], as_tag=i < 200) for i, at in enumerate(DAYS)]
    finding = _audited(influxd, "became_field", became_field)
    assert finding.severity is Severity.WARNING
    assert f"a tag in others until {DAYS[199].date()}" in finding.message
    assert finding.fix.startswith("Write line as a tag again if queries group by it")


def test_writers_that_differ_are_to_write_the_tag(influxd: Influxd) -> None:
    other_values = [_point(at, "a" if i % 2 else "b", as_tag=i % 2 == 0) for i, at in enumerate(DAYS)]
    finding = _audited(influxd, "differ", other_values)
    assert finding.message == "line is both a tag and a field of pumps.", "these may be different things"
    mixed = [_point(at, "ab"[i // 2 % 2], as_tag=i % 2 == 0) for i, at in enumerate(DAYS)]
    finding = _audited(influxd, "mixed", mixed)
    assert finding.severity is Severity.WARNING
    assert [type(change) for change in finding.changes] == [MakeTag]


@pytest.mark.parametrize(("field_of_tag", "severity"), [("b", Severity.NOTE), ("", Severity.WARNING)])
def test_a_condition_finds_all_rows_if_those_with_the_tag_have_the_field(
    influxd: Influxd, field_of_tag: str, severity: Severity
) -> None:
    """Proxmox writes the type of a storage as both, and that of a guest as a field."""
    field = f',line="{field_of_tag}"' if field_of_tag else ""
    both = [f"pumps,line=b level=1{field} {round(at.timestamp()) * 10**9}" for at in DAYS[::2]]
    name = f"found_{severity}"
    finding = _audited(influxd, name, [*both, *(_point(at, "a", as_tag=False) for at in DAYS[1::2])])
    assert finding.severity is severity
    (found,) = influxql(influxd.url, "SELECT count(level) FROM pumps WHERE line = 'b'", db=name)["results"]
    assert ("series" in found) == (severity is Severity.NOTE)


@pytest.mark.parametrize("is_written_since", [True, False])
def test_copy_without_group_by_names_the_policy_of_the_original(influxd: Influxd, is_written_since: bool) -> None:
    original = [_point(at, line, as_tag=True) for at in DAYS for line in "abc"]
    # Of three points with the same time, the last one is left.
    copy = [_point(at, "c", as_tag=False) for at in DAYS]
    if is_written_since:
        copy[200:] = original[600:]
    name = f"copied_{is_written_since}".lower()
    finding = _audited(influxd, name, copy, {"raw": original})
    assert finding.severity is Severity.WARNING
    assert finding.fix.startswith(f"Copy {name}/raw again with GROUP BY *, and keep it until then")
    assert ("only as a tag in", f"{name}/raw: 3 series") in [(one.label, one.value) for one in finding.evidence]


def test_measurement_of_another_program_is_no_original(influxd: Influxd) -> None:
    """It has the same name, and uses the name of a tag for something else."""
    tags = [_point(at, line, as_tag=True) for at in DAYS[:40] for line in "abc"]
    fields = [f"pumps line={i % 4}i,level=2 {round(at.timestamp()) * 10**9}" for i, at in enumerate(DAYS)]
    influxql(influxd.url, "CREATE DATABASE two_programs")
    influxql(influxd.url, "CREATE RETENTION POLICY other ON two_programs DURATION INF REPLICATION 1")
    for policy, points in {"": fields, "other": tags}.items():
        write_lines(influxd.url, "two_programs", iter(points), policy=policy)
    target = Target(name="t", engine="influxdb1", url=influxd.url, databases=("two_programs",))
    assert evaluate(collected(target), rules=[rule]).results[0].findings == ()


@pytest.mark.parametrize(("of_tag", "of_field"), [(0.0, 48.0), (48.0, 0.0)])
def test_names_with_different_values_are_renamed_whichever_is_written(of_tag: float, of_field: float) -> None:
    tag = dataclasses.replace(a_tag("mode", sample=("auto", "manual")), idle_hours=of_tag)
    field = a_field("mode", ("integer",), sample=("3", "7"), idle_hours=of_field)
    (finding,) = run_rule(rule, a_profile(a_measurement(tags=(tag,), fields=(field,)), engine="influxdb1")).findings
    assert [type(change) for change in finding.changes] == [Rename, Diagnose]
    assert "as a tag" not in finding.fix


def test_the_same_name_in_two_measurements_is_none() -> None:
    one, other = a_measurement("a", fields=(a_field("x"),)), a_measurement("b", tags=(a_tag("x"),))
    assert run_rule(rule, a_profile(one, other, engine="influxdb1")).outcome is Outcome.PASS


def test_case_tells_names_apart() -> None:
    profile = a_profile(a_measurement(tags=(a_tag("Host"),), fields=(a_field("host"),)), engine="influxdb1")
    assert run_rule(rule, profile).outcome is Outcome.PASS


def test_empty_database() -> None:
    assert run_rule(rule, a_profile(engine="influxdb1")).outcome is Outcome.PASS
