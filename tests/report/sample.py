"""A rich audit for the report's tests: every section has something to show, and names are hostile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from tempfile import TemporaryDirectory
from typing import Any

from tests.builders import (
    DAY,
    NOW,
    a_count,
    a_field,
    a_finding,
    a_measurement,
    a_profile,
    a_ratio,
    a_result,
    a_rule_result,
    a_source,
    a_tag,
)
from tsaudit.config.settings import Report
from tsaudit.evaluation import with_series
from tsaudit.history.lifecycle import Decision, DecisionKind, Incident, IncidentState
from tsaudit.history.store import Store
from tsaudit.model.change import MakeField
from tsaudit.model.columns import Contribution, Dependency, TagSets
from tsaudit.model.figures import FOREVER, Cost, Gap, How, Reason, Subject
from tsaudit.model.finding import (
    AuditResult,
    Evidence,
    Finding,
    Forecast,
    Limit,
    Outcome,
    RuleResult,
    Severity,
    fingerprint,
)
from tsaudit.model.plan import Effect, Plan, Requested, Step, StepKind
from tsaudit.model.profile import Database, Measurement, Profile
from tsaudit.model.storage import Retention
from tsaudit.model.timeline import Point, Timeline
from tsaudit.report import ReportLocation, html, write, write_index

HOSTILE = "<img src=x onerror=alert(1)>\u202e'\"&`{{ 7*7 }}\x07"
TARGET = "metrics-prod"
HTTP = Subject("telegraf", "http_requests")
REQUEST_ID = Subject("telegraf", "http_requests", "request_id")
FULL_KEY = "0190c2d5-4a3b-7e1f-9c0d-2b6f7a8e9d10"


def a_limit(value: float = 100_000, **changes: Any) -> Limit:
    return Limit(
        **{
            "name": "high-series-cardinality.max_series",
            "value": value,
            "unit": "series",
            "source": "https://docs.influxdata.com/influxdb/cloud/account-management/limits/",
            "origin": "plan influxdb-cloud-free",
        }
        | changes
    )


def growing(first: float, last: float, days: int = 30, quiet: int = 12) -> tuple[Point, ...]:
    """Values of the days before DAY: level at first, then rising; two days were not measured."""
    found = []
    for back in range(days, 0, -1):
        day = DAY - timedelta(days=back)
        share = max(0, (days - back) - quiet) / (days - quiet)
        if back not in (6, 7):
            found.append(Point(day, round(first * (last / first) ** share)))
    return tuple(found)


def an_incident(code: str, subject: Subject, finding: Finding, **changes: Any) -> Incident:
    return Incident(
        **{
            "target": TARGET,
            "fingerprint": fingerprint(TARGET, code, subject),
            "code": code,
            "rule": "high-series-cardinality",
            "subject": subject,
            "state": IncidentState.OPEN,
            "severity": finding.severity,
            "owner": "web-platform",
            "first_seen": date(2026, 3, 19),
            "opened": date(2026, 3, 20),
            "resolved": None,
            "day": DAY,
            "finding": finding,
            "decision": None,
        }
        | changes
    )


def http_requests() -> Measurement:
    source = a_source(query="influxdb1/series_listing.influxql")
    return a_measurement(
        "http_requests",
        database="telegraf",
        series=81_412,
        tags=(
            a_tag("request_id", 79_020, ("0190c2d5-4a3b-7e1f-9c0d-2b6f7a8e9d10",), absent=a_ratio(0.013)),
            a_tag("host", 64, absent=a_ratio(0.0)),
            a_tag("rack", 8),
            replace(a_tag("path"), values=a_count(412, How.ESTIMATE, standard_error=9.0)),
            a_tag("status", 9, absent=a_ratio(0.02, How.SAMPLED)),
        ),
        fields=(
            a_field("duration_ms", ("float",), 0.0, distinct=a_count(9_812, How.SAMPLED)),
            a_field("bytes", ("integer", "float"), 0.08),
            a_field("error", ("string",), 0.974),
        ),
        rows=a_count(41_220_118),
        tag_sets=TagSets(
            series=81_412,
            worst_case=79_020 * 64 * 8 * 412 * 9,
            independent_bound=79_020 * 64 * 412 * 9,
            dependencies=(Dependency("host", "rack"), Dependency("request_id", "path")),
            minimal_key=("request_id", "status"),
            contributions=(
                Contribution("request_id", (), 1_904),
                Contribution("status", (), 79_020),
                Contribution("path", ("request_id",), 640),
                Contribution("host", (), 81_412),
                Contribution("rack", ("host",), 81_412),
            ),
            drop_curve=(
                Contribution("request_id", (), 1_904),
                Contribution("path", (), 318),
                Contribution("status", (), 64),
            ),
            source=source,
        ),
        statements={
            "series_listing": 'SHOW SERIES FROM "http_requests"',
            "row_count": "SELECT COUNT(*) FROM http_requests",
        },
    )


def the_measurements() -> tuple[Measurement, ...]:
    week_old = datetime(2026, 3, 28, 6, tzinfo=UTC)
    return (
        http_requests(),
        a_measurement(
            "cpu",
            database="telegraf",
            series=512,
            rows=a_count(18_400_000),
            fields=(
                a_field("usage", null_ratio=0.0),
                a_field("steal", null_ratio=0.41),
                a_field("guest", null_ratio=0.88),
            ),
        ),
        a_measurement(
            "disk",
            database="telegraf",
            series=1_904,
            rows=a_count(9_120_400, How.ESTIMATE, standard_error=12_000.0),
            fields=(
                a_field("used", null_ratio=0.02),
                a_field("free", null_ratio=0.02),
                a_field("guest", null_ratio=0.05),
            ),
        ),
        a_measurement(HOSTILE, database="telegraf", series=3, rows=a_count(10_000, How.SAMPLED)),
        a_measurement("Cpu.server-5.us-west", database="telegraf", series=12, rows=a_count(1_200)),
        a_measurement(
            "orders",
            database="shop",
            series=40,
            rows=a_count(812_000),
            fields=(a_field("amount"), a_field("note", ("string",), 0.62)),
        ),
        replace(
            a_measurement("stock", database="shop", rows=a_count(55_100), tags=(a_tag("sku", 9_000),)),
            series=None,
            last_time=week_old,
        ),
    )


def the_profile(*measurements: Measurement, **changes: Any) -> Profile:
    return a_profile(
        *(measurements or the_measurements()),
        **{
            "target": TARGET,
            "engine": "influxdb1",
            "server_version": "1.8.10",
            "databases": (
                Database("shop", a_count(63), (Retention("autogen", FOREVER, 604_800, True),)),
                Database(
                    "telegraf",
                    a_count(83_843),
                    (Retention("thirty", 2_592_000, 86_400, True), Retention("autogen", FOREVER, 604_800, False)),
                ),
            ),
            "gaps": (
                Gap("row_sample", Reason.TIMED_OUT, "the statement was canceled after 60 s", "telegraf", "disk"),
                Gap("row_sample", Reason.TIMED_OUT, "the statement was canceled after 60 s", "telegraf", "cpu"),
                Gap("null_counts", Reason.DENIED, "the account `tsaudit` may not read database shop", "shop"),
            ),
            "costs": (
                Cost("measurements", 2, 0.021, 7, 1_204),
                Cost("series_listing", 4, 0.912, 83_906, 9_120_412),
                Cost("null_counts", 6, 3.481, 6, 2_048),
                Cost("row_sample", 2, 60.2, 0, None),
            ),
            "statements": {"measurements": "SHOW MEASUREMENTS"},
            "reused": 3,
        }
        | changes,
    )


def the_findings() -> dict[str, Finding]:
    forecast = Forecast(100_000, 9.2, 6.8, 13.1, 0.081, date(2026, 3, 13), "exponential", False, "series")
    return {
        "CAR001": a_finding(
            HTTP,
            Severity.CRITICAL,
            message="http_requests has 81,412 series, 81% of what the plan allows.",
            fix=(
                'Write request_id as a field.\n\n  http_requests,host=a request_id="0190c2d5" 1\n\n'
                "Old series go when their retention (30 d) has passed."
            ),
            observed=81_412.0,
            unit="series",
            limit=a_limit(),
            baseline=74_100.0,
            main_contributor="request_id",
            share=0.977,
            samples=(FULL_KEY, "0190c2d5-4a3b-7e1f-9c0d-2b6f7a8e9d11", "0190c2d5-4a3b-7e1f-9c0d-2b6f7a8e9d12", "x"),
            evidence=(
                Evidence("Worst case", "148,000,000,000 series"),
                Evidence("Without `request_id`", "1,904 series"),
            ),
            since=date(2026, 3, 13),
            forecast=forecast,
            facts=("series_listing", "tag_values"),
            source=a_source(query="influxdb1/series_listing.influxql"),
        ),
        "TAG002": a_finding(
            Subject("telegraf", HOSTILE, "host"),
            message=f"Tag values of {HOSTILE} look like <script>alert(2)</script>",
            fix='DROP "<b>" -- \u202e',
            samples=("<script>alert(3)</script>", "a@example.com"),
            main_contributor="host",
            observed=0.31,
            unit="ratio",
            limit=a_limit(0.2, name="x.y", unit="ratio", source="our default: <i>so</i>", origin="default"),
        ),
        "FLD001": a_finding(
            Subject("telegraf", "cpu", "guest"),
            message="88% of the rows of cpu have no `guest`",
            fix="Move guest to a measurement of its own.",
            observed=0.88,
            unit="ratio",
            limit=a_limit(
                0.5,
                name="sparse-field.max_null_ratio",
                unit="ratio",
                source="our default: half the rows",
                origin="target",
            ),
            source=a_source(How.SAMPLED, scope="newest 10,000 rows"),
            facts=("null_ratios",),
        ),
        "NAM001": a_finding(
            Subject("telegraf", "Cpu.server-5.us-west"),
            message="The name holds data: a host and a region",
            fix="Write measurement cpu with tags host and region.",
        ),
        "RET001": a_finding(
            Subject("shop"), Severity.NOTE, message="shop never deletes data", fix="Set a retention policy."
        ),
    }


_TITLES = {
    "CAR001": ("high-series-cardinality", "Too many series", "cardinality"),
    "TAG002": ("unbounded-tag", "A tag holds identifiers", "tags"),
    "FLD001": ("sparse-field", "A field is mostly null", "fields"),
    "NAM001": ("data-in-measurement-name", "A measurement name holds data", "names"),
    "RET001": ("missing-retention", "Nothing is ever dropped", "retention"),
}


def the_rule_results(findings: dict[str, Finding]) -> tuple[RuleResult, ...]:
    gap = Gap("row_sample", Reason.TIMED_OUT, "the statement was canceled after 60 s", "telegraf", "disk")
    found = [
        a_rule_result(
            f,
            code=code,
            name=_TITLES[code][0],
            title=_TITLES[code][1],
            family=_TITLES[code][2],
            why="Each new value opens a new series, and the index keeps them all in memory.",
            limits=(a_limit(),),
        )
        for code, f in findings.items()
    ]
    found += [
        a_rule_result(code="CAR002", name="unbounded-tag", title="A tag has no end"),
        a_rule_result(
            code="LAY003",
            name="mixed-measurement",
            title="A measurement mixes sources",
            outcome=Outcome.OPEN,
            gaps=(gap,),
            reason="1 gap, the first: the statement was canceled after 60 s",
        ),
        a_rule_result(
            code="LAY004",
            name="broken",
            title="A rule that breaks",
            outcome=Outcome.ERROR,
            reason="ZeroDivisionError: division by zero",
        ),
        a_rule_result(
            code="NAM009",
            name="reserved-word",
            title="A name is a reserved word",
            outcome=Outcome.NOT_APPLICABLE,
            reason="does not apply to influxdb1",
        ),
    ]
    return tuple(found)


def the_result(**changes: Any) -> AuditResult:
    rules = the_rule_results(the_findings())
    return a_result(
        *(replace(rule, findings=tuple(with_series(the_profile(), rule.findings))) for rule in rules),
        **{"target": TARGET, "engine": "influxdb1", "server_version": "1.8.10"} | changes,
    )


def the_previous() -> AuditResult:
    findings = the_findings()
    gone = a_finding(Subject("telegraf", "mem"), message="mem had too many fields", fix="-")
    car = a_finding(HTTP, Severity.WARNING, message="http_requests has 74,100 series")
    blind = a_finding(Subject("telegraf", "disk"), message="disk mixes sources", fix="-")
    results = (
        a_rule_result(car, code="CAR001"),
        a_rule_result(findings["FLD001"], code="FLD001"),
        a_rule_result(gone, code="CAR002", title="A tag has no end"),
        a_rule_result(blind, code="LAY003", title="A measurement mixes sources"),
    )
    return a_result(*results, target=TARGET, engine="influxdb1", day=DAY - timedelta(days=1))


def the_incidents() -> Sequence[Incident]:
    findings = the_findings()
    muted = Decision(
        DecisionKind.MUTE, "dana", "billing needs <b>it</b> until the move", NOW, date(2026, 6, 30), Severity.CRITICAL
    )
    return (
        an_incident("CAR001", HTTP, findings["CAR001"]),
        an_incident(
            "TAG002", findings["TAG002"].subject, findings["TAG002"], state=IncidentState.WATCHING, opened=None
        ),
        an_incident(
            "FLD001",
            findings["FLD001"].subject,
            findings["FLD001"],
            decision=Decision(DecisionKind.ACK, "kim", "on it", NOW, None, Severity.WARNING),
        ),
        an_incident("NAM001", findings["NAM001"].subject, findings["NAM001"], decision=muted),
    )


def the_timeline() -> Timeline:
    measurements = [m for m in the_measurements() if m.name != "orders"]
    before = a_measurement("legacy_orders", database="shop", rows=a_count(400))
    cpu = a_measurement(
        "cpu", database="telegraf", rows=a_count(17_000_000), fields=(a_field("usage", ("integer",)), a_field("idle"))
    )
    previous = the_profile(
        *(cpu if m.name == "cpu" else m for m in measurements), before, day=DAY - timedelta(days=1), gaps=()
    )
    return Timeline(
        previous=previous,
        points={
            ("series", Subject()): growing(24_000, 76_000),
            ("series", HTTP): growing(21_000, 75_500),
            ("null_ratio", Subject("telegraf", "cpu", "guest")): tuple(
                Point(DAY - timedelta(days=back), 0.3 if back > 12 else 0.87) for back in range(30, 0, -1)
            ),
        },
    )


def empty_timeline() -> Timeline:
    return Timeline()


def unreachable() -> AuditResult:
    """What is known of a target that nobody could reach."""
    finding = a_finding(
        Subject(), message="The target could not be audited: connection refused", fix="Run `tsaudit check`."
    )
    rule = a_rule_result(
        finding,
        code="TGT001",
        name="target-not-audited",
        title="The target could not be audited",
        family="coverage",
        guidelines=(),
        outcome=Outcome.ERROR,
        reason="connection refused",
    )
    return a_result(rule, target="lost", engine="postgresql", server_version="")


def fine() -> AuditResult:
    """A target without a finding or a gap."""
    return a_result(a_rule_result(), target="fine", engine="influxdb1")


def write_rich(settings: Report, **changes: Any) -> ReportLocation:
    """Write the rich sample's report, and the index."""
    options = {"run_url": "https://dagster.example/runs/1", "previous": the_previous()} | changes
    location = write(the_result(), the_profile(), the_timeline(), the_incidents(), settings, **options)
    index_of(settings)
    return location


def index_of(settings: Report) -> None:
    """Write the index of a folder of reports."""
    with TemporaryDirectory() as folder, Store.open(f"sqlite:///{folder}/history.db") as store:
        write_index(settings, store)


def the_contents(**changes: Any) -> html.ReportContents:
    """The rich sample before it is put into words."""
    options: dict[str, Any] = {
        "result": the_result(),
        "profile": the_profile(),
        "timeline": the_timeline(),
        "incidents": the_incidents(),
        "full_values": False,
        "run_url": None,
        "previous": the_previous(),
    }
    return html.contents_of(**options | changes)


def eight() -> html.ReportContents:
    """The page of a common database: six tables, eight findings, and four plans of up to five steps."""
    names = ("http_requests", "cpu", "disk", "Cpu.server-5.us-west", "orders", "stock")
    profile = the_profile(*(m for m in the_measurements() if m.name in names))
    kept = {code: finding for code, finding in the_findings().items() if code != "TAG002"}
    changes = {
        "CAR001": MakeField(HTTP, "request_id"),
        "FLD001": MakeField(Subject("telegraf", "cpu"), "guest"),
        "NAM001": MakeField(Subject("telegraf", "Cpu.server-5.us-west"), "region"),
        "FLD002": MakeField(Subject("shop", "orders"), "note"),
    }
    more = {
        "FLD002": a_finding(
            Subject("shop", "orders", "note"),
            message="note of orders holds texts of up to 4,000 characters, 62% of all bytes of the table",
            fix="Write what is longer than a line to the database of the shop, and its key as a field of orders.",
            observed=0.62,
            unit="ratio",
            limit=a_limit(0.5, name="long-texts.max_ratio", unit="ratio", source="our default: half", origin="default"),
            facts=("null_ratios",),
            source=a_source(How.SAMPLED, scope="newest 10,000 rows"),
        ),
        "LAY001": a_finding(
            Subject("shop", "stock"),
            message="Nothing was written to stock for three days; before, a row came every 5 minutes",
            fix="Start the writer again, or drop the table if nobody needs it.",
            observed=72.0,
            unit="hours",
            since=date(2026, 3, 28),
        ),
        "TAG003": a_finding(
            Subject("telegraf", "http_requests", "path"),
            message="The values of path hold identifiers: 31 of 412 end in a number",
            fix="Write the route, such as /users/:id, and the whole path as a field.",
            samples=("/users/18", "/users/19", "/users/204"),
            evidence=(Evidence("Routes", "17"), Evidence("Values with a number", "31 of 412")),
            observed=412.0,
            unit="values",
        ),
        "SRV001": a_finding(
            Subject("telegraf"), Severity.NOTE, message="Shard groups last one day, a week would do", fix="Set 7d."
        ),
    }
    titles = {code: (code.lower(), "A problem of another kind", "fields") for code in more} | _TITLES
    results = tuple(
        a_rule_result(
            replace(finding, changes=(changes[code],) if code in changes else ()),
            code=code,
            name=titles[code][0],
            title=titles[code][1],
            family=titles[code][2],
            why="Each new value opens a new series, and the index keeps them all in memory.",
        )
        for code, finding in (kept | more).items()
    )
    statement = "CREATE TABLE other AS\nSELECT time, host, rack, path, status,\n  duration_ms\nFROM http_requests;"
    steps = (
        Step(StepKind.FIND, "Find who writes it: the newest rows have its host.", "SELECT host FROM x LIMIT 5", "sql"),
        Step(StepKind.WRITER, "Let the writer send it as a field.", "[[processors.converter]]\n  tags = 1", "toml"),
        Step(
            StepKind.SCHEMA, "Create the table that the writer fills from now on.", statement, "sql", cost="reads all"
        ),
        Step(
            StepKind.STORED, "Drop the old series once nobody reads them.", "DROP SERIES FROM x", loses="81,412 series"
        ),
        Step(StepKind.VERIFY, "After seven days, the next audit shows at most 1,904 series."),
    )
    made = tuple(
        Plan(change.at, (Requested(change, (code,)),), steps[: 5 - number % 2], Effect(81_412, 1_904))
        for number, (code, change) in enumerate(changes.items())
    )
    result = a_result(*results, target=TARGET, engine="influxdb1", server_version="1.8.10", plans=made)
    incidents = [
        an_incident(rule.code, finding.subject, finding, rule=rule.name)
        for rule, finding in result.findings()
        if finding.severity is not Severity.NOTE
    ]
    return the_contents(result=result, profile=profile, incidents=incidents)
