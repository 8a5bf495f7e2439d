"""What each check says, how severe it is, and which numbers Dagster can plot."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta

import dagster as dg
import pytest

from dagster_tsaudit.audited import AuditedTarget
from dagster_tsaudit.checks import CHECK_NAMES, check_names, check_results, check_specs, group_check_results
from dagster_tsaudit.metadata import group_metadata, observation_metadata, target_metadata
from tests.builders import (
    DAY,
    NOW,
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
from tsaudit import summary
from tsaudit.model.change import LeaveOut
from tsaudit.model.figures import Cost, Gap, Reason, Subject
from tsaudit.model.finding import AuditResult, Finding, Forecast, Limit, Outcome, Severity, fingerprint
from tsaudit.model.plan import Plan, Requested, Step, StepKind
from tsaudit.model.profile import Profile
from tsaudit.model.timeline import Point
from tsaudit.not_audited import Missed, result_of
from tsaudit.report import ReportLocation
from tsaudit.run import AuditRun
from tsaudit.text.findings import headline
from tsaudit.text.markdown import MAX_ROWS, code_block, escape, statement, table

KEY = dg.AssetKey(["tsaudit", "demo"])
LIMIT = Limit("high-series-cardinality.max_series", 100_000, "series", "our default", "target")
SERIES = (Point(DAY - timedelta(days=2), 10.0), Point(DAY - timedelta(days=1), 20.0), Point(DAY, 30.0))


@pytest.fixture(autouse=True)
def _today(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dagster_tsaudit.checks.utc_now", lambda: NOW)


def test_a_check_of_a_past_day_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its result is the newest on the page of the asset, where it looks like that of today."""
    monkeypatch.setattr("dagster_tsaudit.checks.utc_now", lambda: NOW + timedelta(days=1))
    for check in checks_of(an_audit()).values():
        assert (check.description or "").startswith(f"As of {DAY}: ")
        assert value(check, "day") == DAY.isoformat()
    (grouped, *_) = group_check_results(dg.AssetKey("g"), [AuditedTarget(a_failed_audit("gone"), ())])
    assert (grouped.description or "").count("As of") == 1


def checks_of(run: AuditRun, series: tuple[Point, ...] = ()) -> dict[str, dg.AssetCheckResult]:
    return {str(result.check_name): result for result in check_results(KEY, AuditedTarget(run, series))}


def group_checks_of(*runs: AuditRun) -> dict[str, dg.AssetCheckResult]:
    return {str(result.check_name): result for result in group_check_results(KEY, [AuditedTarget(run) for run in runs])}


def description(result: dg.AssetCheckResult) -> str:
    assert result.description
    return result.description


def run_with(*findings: Finding, code: str = "CAR001", family: str = "cardinality", **changes: object) -> AuditRun:
    rule = a_rule_result(*findings, code=code, family=family, limits=(LIMIT,), **changes)
    return an_audit(result=a_result(rule))


def value(result: dg.AssetCheckResult, name: str) -> object:
    return result.metadata[name].value


def test_there_is_one_check_per_family_and_one_for_coverage() -> None:
    specs = check_specs(KEY, ["duckdb", "influxdb1", "mongodb"])
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
        "server",
        "coverage",
    )
    assert "CAR001" in (specs[0].description or "")


@pytest.mark.parametrize(
    ("engine", "missing"),
    [("duckdb", {"documents"}), ("mongodb", {"cardinality", "tags"})],
)
def test_a_family_without_a_rule_for_the_engine_is_no_check(engine: str, missing: set[str]) -> None:
    """It would be shown as not executed, beside those that are."""
    assert check_names([engine]) == tuple(name for name in CHECK_NAMES if name not in missing)


def test_a_family_without_a_rule_that_applies_passes_and_says_why() -> None:
    """Without a result, Dagster shows it as failed as soon as another target fails the run."""
    off = a_rule_result(code="RET001", family="retention", outcome=Outcome.NOT_APPLICABLE, reason="switched off")
    events = "there are only 2 tables with events (invoices and payments)"
    tags = [
        a_rule_result(code=code, family="tags", outcome=Outcome.NOT_APPLICABLE, reason=reason)
        for code, reason in (("TAG001", events), ("TAG002", events), ("TAG003", "switched off"))
    ]
    run = an_audit(result=a_result(a_rule_result(), off, *tags))
    checks = checks_of(run)
    assert list(checks) == list(CHECK_NAMES)
    assert all(check.passed for check in checks.values())
    assert (value(checks["cardinality"], "verdict"), value(checks["tags"], "verdict")) == ("ok", "not applicable")
    assert description(checks["retention"]) == "Nothing to evaluate about retention: switched off."
    said = "Nothing to evaluate about tags: there are only 2 tables with events (invoices and payments) "
    said += "(TAG001 and TAG002); switched off (TAG003)."
    assert description(checks["tags"]).replace("\\", "") == said
    assert "value" not in checks["tags"].metadata


def test_a_group_to_which_a_family_does_not_apply_passes_and_says_so() -> None:
    checks = group_checks_of(an_audit("a"), an_audit("b"))
    assert list(checks) == list(CHECK_NAMES)
    assert (checks["storage"].passed, value(checks["storage"], "verdict")) == (True, "not applicable")
    assert description(checks["storage"]) == "Nothing to evaluate about storage in 2 targets."
    checks = group_checks_of(an_audit("a"), a_failed_audit("b"))
    assert not checks["storage"].passed, "nobody knows whether it applies to b"


@pytest.mark.parametrize(
    ("severity", "passed", "shown"),
    [
        (Severity.NOTE, True, dg.AssetCheckSeverity.WARN),
        (Severity.WARNING, False, dg.AssetCheckSeverity.WARN),
        (Severity.CRITICAL, False, dg.AssetCheckSeverity.ERROR),
    ],
)
def test_only_critical_is_an_error(severity: Severity, passed: bool, shown: dg.AssetCheckSeverity) -> None:
    check = checks_of(run_with(a_finding(severity=severity)))["cardinality"]
    assert (check.passed, check.severity) == (passed, shown)
    words = {Severity.NOTE: "1 note", Severity.WARNING: "1 warning", Severity.CRITICAL: "1 critical"}
    assert value(check, "severities") == words[severity]


def test_cardinality_always_shows_the_series_of_the_whole_target() -> None:
    check = checks_of(run_with(a_finding(observed=5000.0)), SERIES)["cardinality"]
    assert (value(check, "value"), value(check, "threshold"), value(check, "baseline")) == (3, 100_000, 20)


def test_the_value_of_cardinality_never_becomes_another_figure() -> None:
    """Not measured today: no point in the plot, and no figure of another kind."""
    uncounted = a_profile(replace(a_measurement(), series=None))
    check = checks_of(replace(run_with(a_finding(observed=5000.0)), profile=uncounted), SERIES)["cardinality"]
    assert "value" not in check.metadata
    assert value(check, "value_of") == "series of the whole target"


@pytest.mark.parametrize("family", [name for name in CHECK_NAMES if name not in ("cardinality", "coverage")])
def test_other_families_count_their_findings_on_all_days(family: str) -> None:
    limit = Limit("sparse-field.max_null_ratio", 0.5, "", "our default", "default")
    mild = a_finding(Subject("main", "air", "no2"), observed=0.6, limit=limit)
    worst = a_finding(Subject("main", "air", "o3"), Severity.CRITICAL, observed=float("inf"), baseline=0.1)
    note = a_finding(Subject("main", "air", "pm10"), Severity.NOTE)
    bad, good = (
        checks_of(run_with(*findings, code="XYZ001", family=family))[family] for findings in ((mild, worst, note), ())
    )
    assert [value(bad, "value"), value(good, "value")] == [2, 0]
    what = f"findings about {family} at warning and above, not muted"
    assert {value(c, "value_of") for c in (bad, good)} == {what}
    assert [value(c, "severities") for c in (bad, good)] == ["1 critical, 1 warning, 1 note", "no findings"]
    plotted = {name for c in (bad, good) for name, item in c.metadata.items() if isinstance(item.value, int | float)}
    assert plotted == {"value"}, "each number is a plot"


def test_muted_findings_are_counted_apart() -> None:
    open_, muted = (a_finding(Subject("main", "air", name)) for name in ("no2", "o3"))
    run = run_with(open_, muted, code="XYZ001", family="fields")
    assert run.result is not None
    assert run.profile is not None
    found = AuditedTarget(replace(run, muted={fingerprint(run.target, "XYZ001", muted.subject): DAY}))
    check = {c.check_name: c for c in check_results(KEY, found)}["fields"]
    assert (value(check, "value"), value(check, "severities")) == (1, "1 warning, 1 muted")
    numbers = {name: item.value for name, item in target_metadata(found, run.result, run.profile).items()}
    assert (numbers["findings_warning"], numbers["findings_muted"]) == (1, 1)


def test_what_could_not_be_evaluated_is_no_zero() -> None:
    gap = Gap("row_sample", Reason.TIMED_OUT, "took longer than 60 s", "main", "cpu")
    open_ = a_rule_result(code="FLD001", family="fields", outcome=Outcome.OPEN, gaps=(gap,), reason="1 gap")
    check = checks_of(an_audit(result=a_result(open_)))["fields"]
    assert "value" not in check.metadata
    found = replace(open_, outcome=Outcome.FAIL, findings=(a_finding(),))
    assert value(checks_of(an_audit(result=a_result(found)))["fields"], "value") == 1


def summary_run() -> tuple[AuditRun, Finding]:
    """A target with findings in two families, the worst of them with all that a summary has."""
    at = Subject("main", "http_requests")
    step = Step(StepKind.WRITER, "Stop writing the tag.", 'ALTER TABLE "http_requests" DROP COLUMN "request_id"')
    plan = Plan(at, (Requested(LeaveOut(at, "request_id"), ("CAR004",)),), (step, step))
    worst = a_finding(
        Subject("main", "http_requests", "request_id"),
        Severity.CRITICAL,
        message="Series grew from 10 to 30 since 2026-03-01.",
        observed=30.0,
        baseline=10.0,
        unit="series",
        per_day=5.0,
        since=DAY - timedelta(days=30),
        limit=Limit("runaway-cardinality.max", 100.0, "series", "our default", "default"),
        changes=(LeaveOut(at, "request_id"),),
        main_contributor="request_id",
        share=0.9,
    )
    results = (
        a_rule_result(a_finding(), worst, code="CAR004"),
        a_rule_result(a_finding(severity=Severity.CRITICAL, message="Tag a is an ID."), code="TAG002", family="tags"),
    )
    return an_audit(result=a_result(*results, plans=(plan,))), worst


def test_a_check_shows_the_summary_of_the_worst_finding_of_its_family() -> None:
    run, worst = summary_run()
    assert run.result is not None
    told = summary.of_finding(worst, "CAR004", run.result.plans, "demo", DAY)
    said = description(checks_of(run)["cardinality"])
    assert said == told.in_markdown()
    parts = [escape(told.headline), *(escape(f.text) for f in told.figures), escape(told.first_step), told.statement]
    assert len(told.figures) == 3
    assert all(parts)
    places = [said.index(part) for part in parts]
    assert places == sorted(places)
    assert "request_id" in said.splitlines()[0].replace("\\", "")
    assert description(checks_of(run)["tags"]).startswith("**main/cpu: Tag a is an ID")


def test_a_muted_finding_is_never_the_worst() -> None:
    run, worst = summary_run()
    muted = {fingerprint("demo", "CAR004", worst.subject): date(2026, 6, 1)}
    check = checks_of(replace(run, muted=muted))["cardinality"]
    assert (check.passed, check.severity) == (False, dg.AssetCheckSeverity.WARN)
    assert description(check).startswith("**main/cpu: Tag host has too many values")
    everything = muted | {fingerprint("demo", "CAR004", Subject("main", "cpu", "host")): date(2026, 6, 1)}
    check = checks_of(replace(run, muted=everything))["cardinality"]
    assert description(check).startswith("**1 critical, 1 warning muted until 2026-06-01")
    assert check.passed


def test_a_finding_that_is_back_although_it_was_muted_says_so() -> None:
    run, worst = summary_run()
    why = "Back, although muted by ada until 2026-06-01 (known): that covers warning, now critical"
    check = checks_of(replace(run, back={fingerprint("demo", "CAR004", worst.subject): why}))["cardinality"]
    assert description(check).startswith(f"{escape(why)}\n\n**main/http")


def test_a_check_that_passes_says_what_was_evaluated() -> None:
    gap = Gap("row_sample", Reason.TIMED_OUT, "took longer than 60 s", "main", "cpu")
    rules = (a_rule_result(), a_rule_result(code="CAR002"), a_rule_result(code="FLD001", family="fields", gaps=(gap,)))
    cost = Cost("series", 4, 0.1, 9, None)
    checks = checks_of(an_audit(result=a_result(*rules[:2]), profile=a_profile(costs=(cost,))))
    assert description(checks["cardinality"]) == "**Nothing wrong was found: 2 rules evaluated on complete figures**"
    assert description(checks["coverage"]) == "Everything was measured: 1 table with 4 statements."
    lacking = checks_of(an_audit(result=a_result(*rules), profile=a_profile(gaps=(gap,))))
    assert description(lacking["cardinality"]) == description(checks["cardinality"]), "the gap is another family's"


def test_checks_after_a_failed_audit_of_the_day_show_what_the_one_before_found_and_none_passes() -> None:
    missed = result_of([Missed(Subject(), "gone", "The target could not be audited: gone. That was at noon.", "")])
    rules = (a_rule_result(a_finding(message="Bad.")), a_rule_result(code="FLD001", family="fields"))
    run = an_audit(result=replace(a_result(*rules, missed), failed_at=NOW), error="gone")
    checks = checks_of(run)
    assert not any(checks[name].passed for name in ("cardinality", "fields", "coverage"))
    assert description(checks["cardinality"]).startswith(
        "The target could not be audited: gone. That was at noon.\n\n**"
    )
    assert "Bad" in description(checks["cardinality"])
    assert value(checks["fields"], "verdict") == "unknown"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("SELECT 1;", "`SELECT 1;`"),
        ("SELECT `a`;", "`` SELECT `a`; ``"),
        ("SELECT 'a  b';", "```\nSELECT 'a  b';\n```"),
        ("SELECT 1\nFROM t;", "`SELECT 1`\\\n`FROM t;`"),
        ("SELECT 1\n  FROM t;", "```\nSELECT 1\n  FROM t;\n```"),
    ],
)
def test_a_statement_wraps_unless_that_would_change_it(text: str, shown: str) -> None:
    """A block widens the page, which cuts off the summary beside it."""
    assert statement(text) == shown


def test_a_statement_is_shown_as_it_is_whatever_is_in_it() -> None:
    told = summary.Summary("x", (), "Drop it.", "DROP TABLE `a``` *b*` -- <script>", "tsaudit plan demo 'a`b'")
    assert "```` DROP TABLE `a``` *b*` -- <script> ````" in told.in_markdown()
    assert code_block(told.statement).startswith("````\nDROP TABLE `a```")
    assert "`` tsaudit plan demo 'a`b' ``" in told.in_markdown()


def test_an_open_rule_does_not_pass_and_says_why() -> None:
    gap = Gap("row_sample", Reason.TIMED_OUT, "took longer than 60 s", "main", "cpu")
    rule = a_rule_result(code="FLD001", family="fields", outcome=Outcome.OPEN, gaps=(gap,), reason="1 gap")
    run = an_audit(result=a_result(rule), profile=a_profile(gaps=(gap,)))
    checks = checks_of(run)
    assert (checks["fields"].passed, checks["fields"].severity) == (False, dg.AssetCheckSeverity.WARN)
    assert value(checks["fields"], "verdict") == "unknown"
    assert description(checks["fields"]).endswith("Not evaluated:\n\n- FLD001: main/cpu: took longer than 60 s")
    assert "row\\_sample of main/cpu: took longer than 60 s" in description(checks["coverage"])
    assert not checks["coverage"].passed
    assert value(checks["coverage"], "value") == 1
    assert "took longer than 60 s" in str(value(checks["coverage"], "not_measured"))


def test_a_table_that_may_not_be_read_fails_coverage_alone() -> None:
    """Not one check of each family: the others were evaluated on the rest, and say what they could not look at."""
    gap = Gap("columns", Reason.DENIED, "permission denied for table audit_log", "main", "audit_log")
    rules = [
        a_rule_result(code=code, family=family, outcome=Outcome.OPEN, gaps=(gap,), reason=f"1 gap: {gap.detail}")
        for code, family in (("TAG002", "tags"), ("FLD001", "fields"), ("STO001", "storage"))
    ]
    result, unread = a_result(*rules), a_measurement("audit_log")
    run = an_audit(result=result, profile=a_profile(a_measurement(), unread, gaps=(gap,)))
    checks = checks_of(run)
    assert [name for name, check in checks.items() if not check.passed] == ["coverage"]
    for name in ("tags", "fields", "storage"):
        assert value(checks[name], "verdict") == "unknown"
        assert "permission denied for table audit" in description(checks[name]).replace("\\", "")
    group = group_checks_of(an_audit("closed", result=result, profile=a_profile(unread, gaps=(gap,))), run)
    assert not group["tags"].passed, "no table of the target `closed` was read"
    group = group_checks_of(run)
    assert (group["tags"].passed, group["coverage"].passed) == (True, False)
    assert "only in part, see `coverage`" in description(group["tags"])


def test_what_could_not_be_read_hides_neither_a_note_nor_what_was_evaluated() -> None:
    """Each cause once, whatever the number of rules that lack it."""
    gaps = tuple(
        Gap(fact, Reason.DENIED, f"permission denied for table {name}: GRANT SELECT ON {name} TO tsaudit", "main", name)
        for name in ("badges", "salaries")
        for fact in ("row_sample", "series")
    )
    note = a_finding(Subject("main", "doors"), Severity.NOTE, message="Series grew from 600 to 24,600.")
    rules = (
        a_rule_result(outcome=Outcome.OPEN, gaps=gaps, reason=f"4 gaps, the first: {gaps[0].detail}"),
        a_rule_result(note, code="CAR004", gaps=gaps, reason=f"4 gaps, the first: {gaps[0].detail}"),
    )
    profile = a_profile(*map(a_measurement, ("doors", "badges", "salaries")), gaps=gaps)
    check = checks_of(an_audit(result=a_result(*rules), profile=profile))["cardinality"]
    assert check.passed
    assert description(check).replace("\\", "").split("\n\n") == [
        "**No warnings, 1 note; 2 rules evaluated except on badges and salaries**",
        "The note: main/doors: Series grew from 600 to 24,600.",
        "Not evaluated:",
        "\n".join(
            f"- CAR001 and CAR004: main/{name}: permission denied for table {name}: GRANT SELECT ON {name} TO tsaudit"
            for name in ("badges", "salaries")
        ),
    ]
    shown = [str(item.value) for item in check.metadata.values()]
    assert not any("GRANT" in text for text in shown)
    quiet = checks_of(an_audit(result=a_result(rules[0]), profile=profile))["cardinality"]
    said = "Nothing wrong was found in what was measured: 1 rule evaluated except on badges and salaries"
    assert description(quiet).startswith(f"**{said}**")


def test_many_causes_are_cut_and_are_all_in_coverage() -> None:
    gaps = tuple(Gap("columns", Reason.DENIED, f"no right on t{n}", "main", f"t{n}") for n in range(9))
    rule = a_rule_result(outcome=Outcome.OPEN, gaps=gaps, reason="9 gaps")
    profile = a_profile(a_measurement(), *(a_measurement(f"t{n}") for n in range(9)), gaps=gaps)
    checks = checks_of(an_audit(result=a_result(rule), profile=profile))
    assert description(checks["cardinality"]).endswith("t2: no right on t2\n- 6 more: see the check `coverage`")
    assert str(value(checks["coverage"], "not_measured")).count("no right on") == 9


def test_a_check_of_what_is_muted_names_it() -> None:
    places = [Subject("main", name) for name in ("lifts", "gates")]
    run = run_with(*(a_finding(place, message="The last partition ends.") for place in places), family="storage")
    muted = {fingerprint("demo", "CAR001", place): date(2026, 6, 1) for place in places}
    said = description(checks_of(replace(run, muted=muted))["storage"])
    assert said.endswith("Muted: main/gates: The last partition ends; main/lifts: The last partition ends.")


@pytest.mark.parametrize("lacks", ["every table", "a fact of the whole database", "a rule that failed", "a warning"])
def test_a_family_that_could_not_look_at_the_rest_either_fails(lacks: str) -> None:
    gap = Gap("columns", Reason.DENIED, "permission denied", "main", "cpu" if lacks == "every table" else "audit_log")
    gaps = (replace(gap, measurement=None),) if lacks == "a fact of the whole database" else (gap,)
    rule = a_rule_result(code="TAG002", family="tags", outcome=Outcome.OPEN, gaps=gaps, reason="1 gap")
    if lacks == "a rule that failed":
        rule = replace(rule, outcome=Outcome.ERROR)
    if lacks == "a warning":
        rule = replace(rule, outcome=Outcome.FAIL, findings=(a_finding(),))
    assert not checks_of(an_audit(result=a_result(rule), profile=a_profile(gaps=gaps)))["tags"].passed


def test_a_broken_rule_shows_in_its_family_and_in_coverage() -> None:
    rule = a_rule_result(outcome=Outcome.ERROR, reason="ZeroDivisionError: division by zero")
    broken = an_audit(result=a_result(rule))
    checks = checks_of(broken)
    assert not checks["cardinality"].passed
    assert not checks["coverage"].passed
    assert "CAR001: ZeroDivisionError: division by zero" in description(checks["coverage"])
    group = group_checks_of(an_audit("fine"), broken)
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
    assert not group_checks_of(an_audit("fine"), run)["coverage"].passed
    assert all(check.passed for check in checks_of(an_audit()).values())


def test_rules_that_no_longer_judge_are_in_coverage_and_in_no_family() -> None:
    degraded = a_rule_result(
        a_finding(Subject(), message="2 rules that worked before have been unknown for 3 audits: CAR001, TAG002."),
        code="TGT002",
        family="coverage",
    )
    checks = checks_of(an_audit(result=a_result(a_rule_result(), degraded)))
    assert not checks["coverage"].passed
    assert "TGT002: 2 rules that worked before" in description(checks["coverage"])
    assert checks["cardinality"].passed


def test_a_database_that_was_not_audited_is_said_once() -> None:
    missed = Missed(Subject("other"), "no right", "Database other could not be audited: no right", "Grant it.")
    run = an_audit(result=a_result(a_rule_result(), result_of([missed])), error="other: no right")
    assert description(checks_of(run)["coverage"]).count("no right") == 1


def test_checks_of_a_muted_target_that_is_down_say_so() -> None:
    missed = result_of([Missed(Subject(), "no such file", "The target could not be audited", "Start it.")])
    muted = {fingerprint("demo", missed.code, Subject()): date(2026, 6, 1)}
    down = an_audit(result=a_result(missed), profile=None, error=None, muted=muted)
    checks = checks_of(down)
    assert not any(check.passed for check in checks.values())
    said = "Not audited: no such file. Muted until 2026-06-01: that does not fail the run"
    assert {description(check) for check in checks.values()} == {said}


def test_a_target_that_was_not_audited_leaves_no_check_green() -> None:
    checks = checks_of(a_failed_audit("demo", "no such file"))
    assert set(checks) == set(CHECK_NAMES)
    assert not any(check.passed for check in checks.values())
    assert {check.severity for check in checks.values()} == {dg.AssetCheckSeverity.WARN}
    assert {description(check) for check in checks.values()} == {"Not audited: no such file"}


def test_a_command_in_the_reason_is_code() -> None:
    checks = checks_of(a_failed_audit("demo", "no such *file*: run `tsaudit check`"))
    assert {description(check) for check in checks.values()} == {r"Not audited: no such \*file\*: run `tsaudit check`"}


def test_findings_are_shown_worst_first_and_cut_at_fifty() -> None:
    findings = [a_finding(Subject("main", f"t{n}")) for n in range(60)]
    worst = a_finding(Subject("main", "worst"), Severity.CRITICAL)
    check = checks_of(run_with(*findings, worst))["cardinality"]
    text = str(value(check, "findings"))
    assert text.startswith("- **critical** ")
    assert sum(line.startswith("- ") for line in text.splitlines()) == MAX_ROWS
    assert text.endswith("11 more are in the report.")


def test_text_from_a_database_is_shown_and_never_rendered() -> None:
    untrusted = "a|b\n![x](http://evil/) <script> **bold** `c`"
    assert escape(untrusted).replace("\u200b", "") == r"a\|b \!\[x\]\(http://evil/\) \<script\> \*\*bold\*\* \`c\`"
    assert table(("name",), [(untrusted,)]).count("\n") == 2


def full_run() -> tuple[AuditRun, AuditResult, Profile]:
    forecast = Forecast(100_000, 12.4, 9.0, 20.0, 0.05, DAY, "linear", False)
    finding = a_finding(observed=30.0, forecast=forecast)
    small = a_measurement("small", rows=a_count(5))
    big = a_measurement(
        "big", tags=(a_tag("host", 3),), fields=(a_field("usage", null_ratio=0.25), a_field("odd", ("float", "string")))
    )
    costs = (Cost("series", 2, 0.5, 10, 100, 4096, 10_000_000), Cost("row_sample", 3, 1.25, 20, 200, 4096, 10_000_000))
    profile, result = a_profile(small, big, costs=costs), a_result(a_rule_result(finding, limits=(LIMIT,)))
    location = ReportLocation("https://audits.example.com/demo/2026-03-31.html", "/r/demo/2026-03-31.html")
    return an_audit(result=result, profile=profile, report=location), result, profile


def test_a_materialization_carries_numbers_summary_link_and_picture() -> None:
    run, result, profile = full_run()
    metadata = target_metadata(AuditedTarget(run, SERIES), result, profile)
    plain = {name: item.value for name, item in metadata.items()}
    assert plain["verdict"] == "warning"
    assert plain["summary"] == summary.of_result(result, profile).in_markdown()
    assert (plain["series"], plain["series_limit"], plain["measurements"]) == (6, 100_000, 2)
    assert (plain["findings_warning"], plain["findings_critical"], plain["days_to_limit"]) == (1, 0, 12.4)
    assert plain["days_to_limit_of"] == headline(next(result.findings())[1])
    assert plain["rows_in_window"] == 1005
    assert plain["report"] == "[open the report](<https://audits.example.com/demo/2026-03-31.html>)"
    assert "data:image/svg+xml;base64," in str(plain["series_over_time"])


def test_what_is_decades_away_or_nobody_limits_is_no_figure() -> None:
    run, result, profile = full_run()
    ((rule, finding),) = result.findings()
    assert finding.forecast is not None
    far = replace(finding, forecast=replace(finding.forecast, days=13_278.6))
    result = a_result(replace(rule, findings=(far,), limits=(replace(LIMIT, origin="default"),)))
    plain = target_metadata(AuditedTarget(replace(run, result=result), SERIES), result, profile)
    assert not {"series_limit", "days_to_limit", "days_to_limit_of"} & plain.keys()
    assert "threshold" not in checks_of(replace(run, result=result))["cardinality"].metadata


def test_cardinality_that_passes_names_the_check_about_single_tags() -> None:
    tags = a_rule_result(a_finding(), code="TAG001", family="tags")
    checks = checks_of(an_audit(result=a_result(a_rule_result(), tags), profile=a_profile()))
    assert checks["cardinality"].passed
    assert description(checks["cardinality"]).endswith("see the check `tags`.")
    assert "see the check" not in description(checks["tags"])


def test_the_cost_has_statements_rows_and_bytes() -> None:
    run, result, profile = full_run()
    metadata = {name: item.value for name, item in target_metadata(AuditedTarget(run), result, profile).items()}
    names = ("statements", "rows_read", "bytes_received", "bytes_scanned", "bytes_billed")
    assert [metadata[name] for name in names] == [5, 30, 300, 8192, 20_000_000]
    first = r"- row\_sample: 3 statements, 1.25 seconds, 20 rows, 200 B received, 4.1 kB scanned, 10 MB billed"
    assert str(metadata["cost"]).splitlines()[0] == first


def test_the_cost_leaves_out_what_the_driver_does_not_report() -> None:
    run, result, profile = full_run()
    unknown = replace(profile, costs=(Cost("series", 2, 0.5, 10, None, 4096),))
    cost = str(target_metadata(AuditedTarget(run), result, unknown)["cost"].value)
    assert cost == "- series: 2 statements, 0.5 seconds, 10 rows, 4.1 kB scanned"


def test_bytes_of_some_statements_are_not_shown_as_those_of_all() -> None:
    run, result, profile = full_run()
    part = replace(profile, costs=(*profile.costs, Cost("rows", 1, 0.1, 1, None, 5)))
    metadata = target_metadata(AuditedTarget(run), result, part)
    assert metadata["bytes_scanned"].value == 8197
    assert not {"bytes_received", "bytes_billed"} & metadata.keys()


def test_rows_are_not_summed_when_a_table_was_not_counted() -> None:
    profile = a_profile(a_measurement("a"), a_measurement("b", rows=None))
    run = an_audit(profile=profile)
    assert "rows_in_window" not in target_metadata(AuditedTarget(run), a_result(), profile)


def test_a_part_is_not_shown_as_the_whole_when_tables_were_not_looked_at() -> None:
    gap = Gap("measurements", Reason.OVER_BUDGET, "1 of 3 not looked at", "main")
    profile = a_profile(a_measurement("a"), a_measurement("b"), gaps=(gap,))
    metadata = target_metadata(AuditedTarget(an_audit(profile=profile)), a_result(), profile)
    assert not {"rows_in_window", "measurements", "series"} & metadata.keys()


def test_a_report_in_a_folder_is_a_file_and_one_on_a_server_a_link() -> None:
    run, result, profile = full_run()
    path = "/srv/data-platform/dagster/defs/plant/.tsaudit/reports/plant/of-a-very-long-name-2026-03-31.html"
    local = an_audit(report=ReportLocation(f"file://{path}", path))
    remote = observation_metadata(AuditedTarget(run), result, profile)["report"]
    assert remote.value == "[open the report](<https://audits.example.com/demo/2026-03-31.html>)"
    found = observation_metadata(AuditedTarget(local), result, profile)["report"]
    parts = str(found.value).removeprefix("`").removesuffix("`").split("` `")
    assert "".join(parts) == path
    assert "" not in parts
    assert max(map(len, parts[:-1])) <= 24, "what is longer and does not wrap widens the table"
    assert len(parts) < path.count("/")
    odd = an_audit(report=ReportLocation("https://x.example/a>b](c) d", "/r/x.html"))
    assert observation_metadata(AuditedTarget(odd), result, profile)["report"].value == (
        "[open the report](<https://x.example/a%3Eb](c)%20d>)"
    )


def test_a_group_counts_its_targets_and_lists_the_worst_first() -> None:
    critical = run_with(a_finding(severity=Severity.CRITICAL, message="Too many series."))
    runs = [an_audit("fine"), critical, a_failed_audit("gone")]
    metadata = {name: item.value for name, item in group_metadata([AuditedTarget(run) for run in runs]).items()}
    assert [metadata[f"targets_{v}"] for v in ("ok", "unknown", "warning", "critical")] == [1, 1, 0, 1]
    assert metadata["verdict"] == "critical"
    rows = str(metadata["worst_targets"]).splitlines()[2:]
    assert [row.split(" | ")[0] for row in rows] == ["| demo", "| gone", "| fine"]
    checks = group_checks_of(*runs)
    assert (value(checks["cardinality"], "value"), value(checks["cardinality"], "targets")) == (2, 3)
    assert checks["cardinality"].severity is dg.AssetCheckSeverity.ERROR
    assert (checks["names"].passed, value(checks["coverage"], "value")) == (False, 1)
    said = description(checks["cardinality"])
    assert said.startswith("2 of 3 targets not ok. The worst is demo:\n\n**main/cpu: Too many series")
    assert description(checks["coverage"]).endswith("The worst is gone:\n\nNot audited: no such file")


def test_a_group_of_healthy_targets_passes() -> None:
    checks = group_checks_of(an_audit("a"), an_audit("b"))
    assert all(check.passed for check in checks.values())
