"""One finding, its forecast, the order of several, and what is complete: the same in every output."""

from __future__ import annotations

import dataclasses
import html as entities
import json
import re
from collections.abc import Sequence
from datetime import timedelta

import dagster as dg
import pytest

from dagster_tsaudit.audited import AuditedTarget
from dagster_tsaudit.checks import check_results
from tests.alerts.builders import a_context, an_incident
from tests.builders import DAY, a_finding, a_measurement, a_profile, a_result, a_rule_result
from tests.report import sample
from tsaudit import summary
from tsaudit.alerts.blocks import texts
from tsaudit.alerts.message import alert
from tsaudit.cli import block, results
from tsaudit.model.change import MakeField
from tsaudit.model.figures import Gap, Reason, Subject
from tsaudit.model.finding import AuditResult, Finding, Forecast, Limit, Severity
from tsaudit.model.plan import Plan, Requested, Step, StepKind
from tsaudit.model.profile import Profile
from tsaudit.model.timeline import Point
from tsaudit.planning import describe
from tsaudit.report import html
from tsaudit.report.json_report import json_report
from tsaudit.run import AuditRun

ONSET = DAY - timedelta(days=18)
FORECAST = Forecast(100_000, 9.2, 6.8, 13.1, 0.081, ONSET, "exponential", provisional=True, unit="series")
LIMIT = Limit("x.max_series", 100_000, "series", "our default", "default")
GROWING = a_finding(
    Subject("main", "http_requests"),
    Severity.CRITICAL,
    message="Too many series.",
    observed=250_000.0,
    limit=LIMIT,
    unit="series",
    main_contributor="request_id",
    share=0.9996,
    since=ONSET,
    forecast=FORECAST,
)
PROFILE = a_profile(a_measurement("http_requests", series=250_000))


def audited(result: AuditResult, profile: Profile) -> AuditedTarget:
    return AuditedTarget(AuditRun(result.target, result.day, result, profile, (), None, 1.0, None), (Point(DAY, 1.0),))


def contents(result: AuditResult, profile: Profile) -> html.ReportContents:
    timeline = sample.empty_timeline()
    return html.contents_of(result, profile, timeline, (), full_values=False, run_url=None, previous=None)


def report(result: AuditResult, profile: Profile) -> str:
    page = html.page(contents(result, profile))
    page = re.sub(r"<(style|script|desc|title)\b.*?</\1>", "", page, flags=re.DOTALL)
    return " ".join(entities.unescape(re.sub(r"<[^>]+>", " ", page)).split())


def slack(result: AuditResult) -> str:
    incidents = [an_incident(finding, code=rule.code, severity=finding.severity) for rule, finding in result.findings()]
    # In any order: the message has its own.
    made = alert(a_context(plans=result.plans), incidents[::-1])
    return entities.unescape("\n".join(text for block in made.blocks for text in texts(block)))


def cli(result: AuditResult, profile: Profile, capsys: pytest.CaptureFixture[str]) -> str:
    block.print_block(results.of_result(result, profile), everything=True)
    return capsys.readouterr().out


def dagster(result: AuditResult, profile: Profile) -> str:
    """Description and table of the check of the worst finding's family."""
    checks = check_results(dg.AssetKey("x"), audited(result, profile))
    check = next(check for check in checks if check.check_name == "cardinality")
    table = check.metadata["findings"].value if "findings" in check.metadata else ""
    return re.sub(r"\\(.)", r"\1", f"{check.description}\n{table}")


def outputs(result: AuditResult, profile: Profile, capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    said = {
        "report": report(result, profile),
        "slack": slack(result),
        "cli": cli(result, profile, capsys),
        "dagster": dagster(result, profile),
        "json": json.dumps(results.of_result(result, profile)["summary"], ensure_ascii=False).replace('\\"', '"'),
        "json report": json.dumps(json.loads(json_report(contents(result, profile)))["summary"], ensure_ascii=False),
    }
    return {output: " ".join(text.split()) for output, text in said.items()}


AT = Subject("main", "http_requests")
CHANGE = MakeField(AT, "request_id")
LOOK = Step(StepKind.FIND, "Find what writes it.", "SELECT count(*) FROM t;", "sql")
PLAN = Plan(AT, (Requested(CHANGE, ("CAR004",)),), (LOOK, Step(StepKind.STORED, "Drop it.", "DROP TABLE t;", "sql")))
SUMMARIES = {
    "growth": dataclasses.replace(GROWING, changes=(CHANGE,), severity_reason="47 times as many", per_day=9.0),
    "over its limit": dataclasses.replace(GROWING, forecast=None, since=None),
    "a long message": a_finding(AT, message="One two; " * 20, observed=0.25, unit="share of the rows", since=ONSET),
    "no figure": a_finding(AT, message="a is both a tag & a field.", fix="Rename it. Then wait."),
    "hostile": a_finding(Subject("main", "a*b_c`<d>|e"), message="Too *many* <b> `x`."),
}


@pytest.mark.parametrize("name", SUMMARIES)
def test_every_output_shows_the_same_summary_in_the_same_order(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    result = a_result(a_rule_result(SUMMARIES[name], code="CAR004"), plans=(PLAN,))
    told = summary.of_result(result, PROFILE)
    parts = [told.headline, *(part for f in told.figures for part in (f.value, f.note) if part), told.first_step]
    for output, text in outputs(result, PROFILE, capsys).items():
        at = 0
        for part in map(bare, [*parts, told.statement]):
            assert part in bare(text)[at:], (output, part)
            at = bare(text).index(part, at) + len(part)


def bare(text: str) -> str:
    """Without blanks and back quotes, which the outputs set in their own way."""
    return re.sub(r"[\s`]", "", text)


def test_growth_has_all_that_an_owner_needs_in_its_summary() -> None:
    told = summary.of_result(a_result(a_rule_result(SUMMARIES["growth"], code="CAR004"), plans=(PLAN,)), PROFILE)
    assert [figure.label for figure in told.figures] == ["Now", "Why critical", "Time left"]
    assert told.statement == LOOK.text
    assert told.rest == "tsaudit plan demo http_requests"


def findings(count: int = 6) -> Sequence[Finding]:
    """Findings with names that say nothing of their order, among them one just over its limit and one far over it."""
    severities = (Severity.WARNING, Severity.CRITICAL)
    return [
        a_finding(
            Subject("main", f"m{n * 5 % count}x"),
            severities[n % 2],
            message=f"It is about m{n * 5 % count}x here.",
            observed=11.0 + 40 * (n % 3),
            limit=dataclasses.replace(LIMIT, value=10.0),
            affected_series=100.0 * (n % 4),
        )
        for n in range(count)
    ]


def test_findings_have_one_order_in_every_output(capsys: pytest.CaptureFixture[str]) -> None:
    found = findings()
    result = a_result(a_rule_result(*found[:3], code="CAR004"), a_rule_result(*found[3:], code="TAG001"))
    expected = [f"about {f.subject.measurement} here" for _, f in result.findings()]
    assert expected != sorted(expected)
    texts_of = {
        "report": report(result, PROFILE).partition("Find ")[2],
        "slack": slack(result),
        "cli": cli(result, PROFILE, capsys),
        "dagster": dagster(result, PROFILE).partition("- **")[2],
    }
    for output, text in texts_of.items():
        assert list(dict.fromkeys(re.findall(r"about m\dx here", text))) == expected, output


@pytest.mark.parametrize("gaps", [(), (Gap("row_count", Reason.DENIED, "no right to read", "main"),)])
def test_complete_is_one_thing_in_every_output(gaps: tuple[Gap, ...], capsys: pytest.CaptureFixture[str]) -> None:
    """Also where no rule needed what is missing: the verdict is ok, and yet not all was measured."""
    result, profile = a_result(a_rule_result()), dataclasses.replace(PROFILE, gaps=gaps)
    complete = not gaps
    assert result.verdict == "ok"
    assert results.of_result(result, profile)["complete"] is complete
    assert ("incomplete" in cli(result, profile, capsys)) is not complete
    page = report(result, profile)
    assert ("1 rule evaluated on complete figures" in page) is complete
    assert ("Everything could be measured" in page) is complete
    checks = {c.check_name: c for c in check_results(dg.AssetKey("x"), audited(result, profile))}
    assert checks["coverage"].passed is complete
    assert json.loads(json_report(contents(result, profile)))["complete"] is complete


URLS = Subject("main", "http requests")
SEE = Step(StepKind.FIND, "See which paths the tag has.", "SHOW TAG VALUES FROM x WITH KEY = url;", "influxql")
DROP = Step(StepKind.STORED, "Drop the old points.", "DROP MEASUREMENT x;", "influxql", loses="all points")
QUERY = Step(StepKind.FIND, "Find what writes it. The first ones write most.", "SELECT a,\n  b FROM t;", "sql")
LONG_QUERY = dataclasses.replace(QUERY, text=f"SELECT {', '.join(map(str, range(1_000)))};")
REWRITE = Step(StepKind.SCHEMA, "Convert it.", "ALTER TABLE x;", "sql", locks="all writers", cost="rewrites all rows")
MANY_LINES = Step(StepKind.STORED, "Copy them day by day.", "SELECT 1;\nSELECT 2;", "sql")


def planned_result(*steps: Step) -> AuditResult:
    change = MakeField(URLS, "url")
    finding = a_finding(Subject("main", "http requests", "url"), message="Tag url holds paths.", changes=(change,))
    return a_result(a_rule_result(finding), plans=(Plan(URLS, (Requested(change, ("TAG002",)),), steps),))


@pytest.mark.parametrize(
    ("steps", "words", "shows_statement"),
    [
        ((SEE, MANY_LINES, DROP), f"Step 1 of 3: {SEE.words}", True),
        ((QUERY, DROP), f"Step 1 of 2: {QUERY.words}", True),
        ((LONG_QUERY, DROP), "Step 1 of 2: Find what writes it.", False),
        ((MANY_LINES, DROP), f"Step 1 of 2: {MANY_LINES.words}", False),
        ((DROP,), f"Only step: {DROP.words}", False),
        ((REWRITE, DROP), "Step 1 of 2: Convert it. It locks all writers, and rewrites all rows.", True),
        ((REWRITE,), "Only step: Convert it. It locks all writers, and rewrites all rows.", True),
    ],
)
def test_every_output_begins_with_the_same_step(
    steps: Sequence[Step], words: str, shows_statement: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """The words of the first step; its statement only if it is a short query, or one line that destroys nothing; where
    the rest is. Without the query, nothing is said about its result.
    """
    result, profile = planned_result(*steps), a_profile(a_measurement("http requests"))
    outputs = {"slack": slack(result), "cli": cli(result, profile, capsys), "dagster": dagster(result, profile)}
    for output, text in outputs.items():
        flat = " ".join(text.split())
        assert words in flat, output
        assert ("write most" in flat) is ("write most" in words), output
        assert all(step.words not in flat for step in steps[1:]), output
        assert (" ".join(steps[0].text.split()) in flat) is shows_statement, output
        assert "tsaudit plan demo 'http requests'" in flat, output
    (plan,) = results.of_result(result, profile)["plans"]
    assert plan["first_step"] == words
    assert plan["command"] == "tsaudit plan demo 'http requests'"
    page = report(result, profile).partition("What to do")[2]
    assert steps[0].words in page
    if steps == (REWRITE,):
        assert page.count("all writers") == 1


def test_slack_leads_to_the_plan_in_the_report() -> None:
    result = planned_result(SEE, DROP)
    anchor = describe.anchor(result.plans[0])
    assert f"#{anchor}|" in slack(result)
    assert f'id="{anchor}"' in html.page(contents(result, PROFILE))
