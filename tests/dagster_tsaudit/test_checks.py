"""What each check says, how severe it is, and which numbers Dagster can plot."""

from __future__ import annotations

from datetime import timedelta

import dagster as dg
import pytest

from dagster_tsaudit.checks import CHECK_NAMES, check_results, check_specs
from dagster_tsaudit.group_checks import group_check_results
from dagster_tsaudit.metadata import group_metadata, observation_metadata, target_metadata
from dagster_tsaudit.words import MAX_ROWS, escape, table
from tests.builders import (
    DAY,
    a_count,
    a_field,
    a_finding,
    a_measurement,
    a_profile,
    a_result,
    a_rule_result,
    a_tag,
)
from tests.dagster_tsaudit.runs import a_failed_audit, an_audit
from tsaudit.model.finding import AuditResult, Finding, Forecast, Limit, Outcome, Severity
from tsaudit.model.profile import Gap, Profile, Reason
from tsaudit.model.subject import Subject
from tsaudit.model.timeline import Point
from tsaudit.not_audited import Missed, result_of
from tsaudit.report import ReportLocation
from tsaudit.run import AuditRun

KEY = dg.AssetKey(["tsaudit", "demo"])
LIMIT = Limit("high-series-cardinality.max_series", 100_000, "series", "our default", "target")
SERIES = (Point(DAY - timedelta(days=2), 10.0), Point(DAY - timedelta(days=1), 20.0), Point(DAY, 30.0))


def checks_of(run: AuditRun, series: tuple[Point, ...] = ()) -> dict[str, dg.AssetCheckResult]:
    return {str(result.check_name): result for result in check_results(KEY, run, series)}


def run_with(*findings: Finding, code: str = "CAR001", family: str = "cardinality", **changes: object) -> AuditRun:
    rule = a_rule_result(*findings, code=code, family=family, limits=(LIMIT,), **changes)
    return an_audit(result=a_result(rule))


def value(result: dg.AssetCheckResult, name: str) -> object:
    return result.metadata[name].value


def test_there_is_one_check_per_family_and_one_for_coverage() -> None:
    specs = check_specs(KEY)
    assert [spec.name for spec in specs] == list(CHECK_NAMES)
    assert CHECK_NAMES == (
        "cardinality",
        "tags",
        "fields",
        "names",
        "layout",
        "storage",
        "retention",
        "drift",
        "documents",
        "coverage",
    )
    assert "CAR001" in (specs[0].description or "")


def test_a_family_without_a_rule_that_applies_has_no_result() -> None:
    rules = (a_rule_result(), a_rule_result(code="RET001", family="retention", outcome=Outcome.NOT_APPLICABLE))
    checks = checks_of(an_audit(result=a_result(*rules)))
    assert set(checks) == {"cardinality", "coverage"}
    assert checks["cardinality"].passed
    assert checks["coverage"].passed


@pytest.mark.parametrize(
    ("severity", "passed", "shown"),
    [
        (Severity.INFO, True, dg.AssetCheckSeverity.WARN),
        (Severity.WARN, False, dg.AssetCheckSeverity.WARN),
        (Severity.CRITICAL, False, dg.AssetCheckSeverity.ERROR),
    ],
)
def test_only_critical_is_an_error(severity: Severity, passed: bool, shown: dg.AssetCheckSeverity) -> None:
    check = checks_of(run_with(a_finding(severity=severity)))["cardinality"]
    assert (check.passed, check.severity) == (passed, shown)
    assert value(check, f"findings_{severity}") == 1


def test_cardinality_always_shows_the_series_of_the_whole_target() -> None:
    check = checks_of(run_with(a_finding(observed=5000.0)), SERIES)["cardinality"]
    assert (value(check, "value"), value(check, "threshold"), value(check, "baseline")) == (3, 100_000, 20)


def test_other_families_show_the_figure_of_their_worst_finding() -> None:
    limit = Limit("sparse-field.max_null_ratio", 0.5, "", "our default", "default")
    mild = a_finding(Subject("main", "air", "no2"), observed=0.6, limit=limit)
    worst = a_finding(Subject("main", "air", "o3"), Severity.CRITICAL, observed=0.96, limit=limit, baseline=0.1)
    check = checks_of(run_with(mild, worst, code="FLD001", family="fields"))["fields"]
    assert [value(check, name) for name in ("value", "threshold", "baseline")] == [0.96, 0.5, 0.1]
    assert value(check, "value_of") == "main/air.o3: sparse-field.max_null_ratio"


def test_a_finding_without_figures_leaves_no_false_number() -> None:
    check = checks_of(run_with(a_finding(), code="NAM001", family="names"))["names"]
    assert "value" not in check.metadata
    assert value(check, "findings_warn") == 1


def test_figures_that_are_not_finite_are_left_out() -> None:
    check = checks_of(run_with(a_finding(observed=float("inf")), code="NAM001", family="names"))["names"]
    assert "value" not in check.metadata


def test_an_open_rule_does_not_pass_and_says_why() -> None:
    gap = Gap("row_sample", Reason.TIMED_OUT, "took longer than 60 s", "main", "cpu")
    rule = a_rule_result(code="FLD001", family="fields", outcome=Outcome.OPEN, gaps=(gap,), reason="1 gap")
    run = an_audit(result=a_result(rule), profile=a_profile(gaps=(gap,)))
    checks = checks_of(run)
    assert (checks["fields"].passed, checks["fields"].severity) == (False, dg.AssetCheckSeverity.WARN)
    assert value(checks["fields"], "verdict") == "unknown"
    assert value(checks["fields"], "reason") == "FLD001: 1 gap"
    assert not checks["coverage"].passed
    assert value(checks["coverage"], "value") == 1
    assert "took longer than 60 s" in str(value(checks["coverage"], "not_measured"))


def test_a_broken_rule_shows_in_its_family_and_in_coverage() -> None:
    rule = a_rule_result(outcome=Outcome.ERROR, reason="ZeroDivisionError: division by zero")
    broken = an_audit(result=a_result(rule))
    checks = checks_of(broken)
    assert not checks["cardinality"].passed
    assert not checks["coverage"].passed
    assert value(checks["coverage"], "reason") == "CAR001: ZeroDivisionError: division by zero"
    group = {str(c.check_name): c for c in group_check_results(KEY, [an_audit("fine"), broken])}
    assert not group["coverage"].passed
    assert value(group["coverage"], "value") == 1


@pytest.mark.parametrize("wrong", ["a rule without words", "the run", "a gap", "a database"])
def test_coverage_passes_only_when_nothing_at_all_went_wrong(wrong: str) -> None:
    """One target or a group of them: either check stays green for none of these."""
    gap = Gap("row_sample", Reason.TIMED_OUT, "took longer than 60 s", "main", "cpu")
    missed = Missed(Subject("other"), "no right", "Database other could not be audited: no right", "Grant it.")
    run = {
        "a rule without words": an_audit(result=a_result(a_rule_result(outcome=Outcome.ERROR, reason=""))),
        "the run": an_audit(error="the report could not be made"),
        "a gap": an_audit(profile=a_profile(gaps=(gap,))),
        "a database": an_audit(result=a_result(a_rule_result(), result_of([missed])), error="other: no right"),
    }[wrong]
    assert not checks_of(run)["coverage"].passed
    (group,) = [c for c in group_check_results(KEY, [an_audit("fine"), run]) if c.check_name == "coverage"]
    assert not group.passed
    assert all(check.passed for check in checks_of(an_audit()).values())


def test_rules_that_no_longer_judge_are_in_coverage_and_in_no_family() -> None:
    silenced = a_rule_result(
        a_finding(Subject(), message="2 rules that worked before have been unknown for 3 audits: CAR001, TAG002."),
        code="TGT002",
        family="coverage",
    )
    checks = checks_of(an_audit(result=a_result(a_rule_result(), silenced)))
    assert not checks["coverage"].passed
    assert "TGT002: 2 rules that worked before" in str(value(checks["coverage"], "reason"))
    assert checks["cardinality"].passed


def test_a_database_that_was_not_audited_is_said_once() -> None:
    missed = Missed(Subject("other"), "no right", "Database other could not be audited: no right", "Grant it.")
    run = an_audit(result=a_result(a_rule_result(), result_of([missed])), error="other: no right")
    assert value(checks_of(run)["coverage"], "reason") == "other: no right"


def test_a_target_that_was_not_audited_leaves_no_check_green() -> None:
    checks = checks_of(a_failed_audit("demo", "no such file"))
    assert set(checks) == set(CHECK_NAMES)
    assert not any(check.passed for check in checks.values())
    assert {check.severity for check in checks.values()} == {dg.AssetCheckSeverity.WARN}
    assert value(checks["names"], "reason") == "not audited: no such file"


def test_findings_are_shown_worst_first_and_cut_at_fifty() -> None:
    findings = [a_finding(Subject("main", f"t{n}")) for n in range(60)]
    worst = a_finding(Subject("main", "worst"), Severity.CRITICAL)
    check = checks_of(run_with(*findings, worst))["cardinality"]
    text = str(value(check, "findings"))
    assert text.splitlines()[2].startswith("| critical |")
    assert value(check, "worst_finding") == "CAR001 main/worst: Tag host has too many values."
    assert sum(line.startswith("| ") for line in text.splitlines()) == MAX_ROWS + 2  # with the two lines of the header
    assert text.endswith("11 more are in the report.")


def test_text_from_a_database_is_shown_and_never_rendered() -> None:
    foreign = "a|b\n![x](http://evil/) <script> **bold** `c`"
    assert escape(foreign) == r"a\|b \!\[x\]\(http://evil/\) \<script\> \*\*bold\*\* \`c\`"
    assert table(("name",), [(foreign,)]).count("\n") == 2


def full_run() -> tuple[AuditRun, AuditResult, Profile]:
    forecast = Forecast(100_000, 12.4, 9.0, 20.0, 0.05, DAY, "linear", False)
    finding = a_finding(observed=30.0, forecast=forecast)
    small = a_measurement("small", rows=a_count(5))
    big = a_measurement(
        "big", tags=(a_tag("host", 3),), fields=(a_field("usage", null_ratio=0.25), a_field("odd", ("float", "string")))
    )
    profile, result = a_profile(small, big), a_result(a_rule_result(finding, limits=(LIMIT,)))
    location = ReportLocation("https://audits.example.com/demo/2026-03-31.html", "/r/demo/2026-03-31.html")
    return an_audit(result=result, profile=profile, report=location), result, profile


def test_a_materialization_carries_numbers_link_picture_and_schema() -> None:
    run, result, profile = full_run()
    metadata = target_metadata(run, result, profile, SERIES)
    plain = {name: item.value for name, item in metadata.items()}
    assert plain["verdict"] == "warn"
    assert (plain["series"], plain["series_limit"], plain["measurements"]) == (6, 100_000, 2)
    assert (plain["findings_warn"], plain["findings_critical"], plain["days_to_limit"]) == (1, 0, 12.4)
    assert plain["dagster/row_count"] == 1005
    assert isinstance(metadata["report"], dg.UrlMetadataValue)
    assert "data:image/svg+xml;base64," in str(plain["series_over_time"])
    schema = plain["dagster/column_schema"]
    assert isinstance(schema, dg.TableSchema)
    assert plain["dagster/table_name"] == "main/big"
    assert [(c.name, c.type, c.description) for c in schema.columns] == [
        ("time", "time", "time of big, the largest of 2 tables"),
        ("host", "string", "tag, 3 values"),
        ("usage", "float", "field, null in 25% of the rows"),
        ("odd", "float or string", "field, null in 0% of the rows"),
    ]


def test_rows_are_not_summed_when_a_table_was_not_counted() -> None:
    profile = a_profile(a_measurement("a"), a_measurement("b", rows=None))
    run = an_audit(profile=profile)
    assert "dagster/row_count" not in target_metadata(run, a_result(), profile, ())


def test_a_part_is_not_shown_as_the_whole_when_tables_were_not_looked_at() -> None:
    gap = Gap("measurements", Reason.OVER_BUDGET, "1 of 3 not looked at", "main")
    profile = a_profile(a_measurement("a"), a_measurement("b"), gaps=(gap,))
    metadata = target_metadata(an_audit(profile=profile), a_result(), profile, ())
    assert not {"dagster/row_count", "measurements", "series"} & metadata.keys()


def test_a_report_in_a_folder_is_a_path_and_one_on_a_server_a_link() -> None:
    run, result, profile = full_run()
    local = an_audit(report=ReportLocation("file:///r/x.html", "/r/x.html"))
    assert isinstance(observation_metadata(run, result, profile)["report"], dg.UrlMetadataValue)
    found = observation_metadata(local, result, profile)["report"]
    assert isinstance(found, dg.PathMetadataValue)
    assert found.value == "/r/x.html"


def test_an_empty_database_has_no_schema_to_show() -> None:
    profile = a_profile(databases=(), measurements=())
    assert "dagster/column_schema" not in target_metadata(an_audit(profile=profile), a_result(), profile, ())


def test_a_group_counts_its_targets_and_lists_the_worst_first() -> None:
    critical = run_with(a_finding(severity=Severity.CRITICAL, message="Too many series."))
    runs = [an_audit("fine"), critical, a_failed_audit("gone")]
    metadata = {name: item.value for name, item in group_metadata(runs).items()}
    assert [metadata[f"targets_{v}"] for v in ("ok", "unknown", "warn", "critical")] == [1, 1, 0, 1]
    assert metadata["verdict"] == "critical"
    rows = str(metadata["worst_targets"]).splitlines()[2:]
    assert [row.split(" | ")[0] for row in rows] == ["| demo", "| gone", "| fine"]
    checks = {c.check_name: c for c in group_check_results(KEY, runs)}
    assert (value(checks["cardinality"], "value"), value(checks["cardinality"], "targets")) == (2, 3)
    assert checks["cardinality"].severity is dg.AssetCheckSeverity.ERROR
    assert (checks["names"].passed, value(checks["coverage"], "value")) == (False, 1)


def test_a_group_of_healthy_targets_passes() -> None:
    checks = {c.check_name: c for c in group_check_results(KEY, [an_audit("a"), an_audit("b")])}
    assert all(check.passed for check in checks.values())
