"""The block of one target, as text and as Markdown: what it shows first, what fits a screen, and what it counts."""

from __future__ import annotations

import html as entities
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from pydantic import SecretStr

from tests.alerts.builders import an_incident
from tests.builders import DAY, a_finding, a_measurement, a_profile, a_result, a_rule_result, a_tag
from tests.cli.conftest import Tsaudit
from tsaudit import alerts, evaluation
from tsaudit.cli import block, results
from tsaudit.cli.errors import Exit
from tsaudit.config.file import load
from tsaudit.config.settings import Slack
from tsaudit.history import deliveries
from tsaudit.history.lifecycle import ChangeKind, IncidentChange
from tsaudit.history.store import Store
from tsaudit.model.change import MakeField
from tsaudit.model.figures import Gap, Reason, Subject, TableKind
from tsaudit.model.finding import (
    AuditResult,
    Currency,
    Finding,
    Forecast,
    Impact,
    Limit,
    Outcome,
    Severity,
    fingerprint,
)
from tsaudit.model.plan import Effect, Plan, Requested, Step, StepKind
from tsaudit.model.profile import Measurement
from tsaudit.run import AuditRun
from tsaudit.text import printable

ON = ("--day", DAY.isoformat())
TABLE = Subject("main", "http_requests")
STATEMENT = "SHOW TAG VALUES FROM http_requests WITH KEY = request_id WHERE time > now() - 30d LIMIT 100;"
GROWING = a_finding(
    TABLE,
    Severity.CRITICAL,
    headline="Series grew from 768 to 36,096 since 2026-03-20, all from new values of request_id",
    message="Series of main/http_requests grew.",
    observed=36_096.0,
    baseline=768.0,
    unit="series",
    per_day=3_072.0,
    limit=Limit("x.max_series", 60_000, "series", "our default", "target"),
    forecast=Forecast(60_000, 7.8, 5.0, 16.0, 0.09, DAY - timedelta(11), "linear", False, "series", DAY),
    impact=Impact(Currency.LIMIT, 36_096.0, 60_000.0, days_left=7.8),
    severity_reason="60% of the limit of 60,000 series, reached in about 8 days",
    consequence="In about 8 days, it exceeds the limit of 60,000 series that was set here.",
    changes=(MakeField(TABLE, "request_id"),),
)


def with_plan(*findings: Finding, **changes: Any) -> AuditResult:
    steps = (Step(StepKind.FIND, "See which values the tag has.", STATEMENT), Step(StepKind.STORED, "Copy the rows."))
    plan = Plan(TABLE, (Requested(MakeField(TABLE, "request_id"), ("CAR004",)),), steps, Effect(36_096, 768))
    rule = a_rule_result(*findings, code="CAR004", name="runaway-cardinality")
    return a_result(rule, plans=(plan,), **changes)


def others(count: int, severity: Severity = Severity.WARNING) -> list[Finding]:
    return [a_finding(Subject("main", f"t{i:03}", f"{severity}"), severity) for i in range(count)]


def text(result: AuditResult, *, everything: bool = False, muted: Mapping[str, date] | None = None) -> list[str]:
    lines = block.lines(results.of_result(result, a_profile(), muted), everything=everything)
    return [click.unstyle(line) for line in lines]


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """80 columns."""
    monkeypatch.setattr("tsaudit.cli.screen.sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")


@pytest.mark.parametrize(
    ("reason", "said"), [("", "3 series"), ("a text column with short values", "3 series by guessed tags")]
)
def test_heading_says_that_its_series_follow_from_guessed_tags(reason: str, said: str) -> None:
    """A tag such as an address makes thousands of what are 25 vehicles."""
    table = a_measurement(tags=(a_tag(role_reason=reason),), kind=TableKind.SERIES)
    found = results.of_result(with_plan(), a_profile(table))
    assert block.heading(found) == ["duckdb 1.0", str(DAY), said]


def test_block_begins_with_the_summary_and_ends_with_where_the_rest_is() -> None:
    mark = fingerprint("demo", "CAR004", TABLE)[:8]
    (other,) = others(1)
    small = fingerprint("demo", "CAR004", other.subject)[:8]
    assert text(with_plan(GROWING, other)) == [
        f"demo  critical  duckdb 1.0  {DAY}  3 series  1 critical, 1 warning",
        "  main/http_requests: Series grew from 768 to 36,096 since 2026-03-20, all from new values of request_id",
        "    Why critical        60% of the limit of 60,000 series, reached in about 8 days",
        "    If nothing is done  In about 8 days, it exceeds the limit of 60,000 series that was set here.",
        "    Now                 36,096 series (in http_requests, 768 before, 3,072 more a day)",
        "    Time left           about 8 days (80% range 5 to 16)",
        "    After the plan      768 series (98% fewer)",
        "  Step 1 of 2: See which values the tag has.",
        f"    {STATEMENT}",
        f"  warning   CAR004  {small}  main/t000: Tag host has too many values",
        f"  more    tsaudit show {mark}  (CAR004 runaway-cardinality, critical)",
        "  plan    tsaudit plan demo http_requests",
    ]


NOT_COUNTED = replace(a_measurement("disk"), series=None)
TABLE_OF_ORDERS = replace(a_measurement("orders", kind=TableKind.ENTITY), series=None)


@pytest.mark.parametrize(
    ("second", "series"),
    [(a_measurement("disk", 34), ["1,234 series"]), (TABLE_OF_ORDERS, ["1,200 series"]), (NOT_COUNTED, [])],
)
def test_heading_has_the_series_only_if_all_were_counted(second: Measurement, series: list[str]) -> None:
    found = results.of_result(a_result(), a_profile(a_measurement(series=1_200), second))
    heading = ["duckdb 1.0", DAY.isoformat(), *series]
    assert click.unstyle(block.lines(found, everything=False)[0]) == "  ".join(["demo", "ok", *heading])
    assert ", ".join(heading) in "\n".join(block.markdown(found, everything=False)).replace("\\", "")


def test_heading_without_any_series_counts_none() -> None:
    found = results.of_result(a_result(), a_profile(TABLE_OF_ORDERS))
    assert "series" not in block.lines(found, everything=False)[0]


def test_notes_alone_are_counted_without_a_conjunction() -> None:
    """Above them stands no finding that they could be joined to."""
    assert text(a_result(a_rule_result(*others(2, Severity.NOTE))))[-1] == "  2 notes: `tsaudit show demo` lists all"


def test_rules_that_one_gap_keeps_from_being_evaluated_are_named_together() -> None:
    detail = "0 rows from 2026-03-01 06:00 to 2026-03-31 06:00 UTC by column last_login_at"
    gaps = (Gap("null_counts", Reason.FAILED, detail, "main", "users"),)
    rules = [
        a_rule_result(outcome=Outcome.OPEN, code=code, gaps=gaps, reason=f"{count}, the first: {detail}")
        for code, count in (("FLD001", "3 gaps"), ("FLD002", "1 gap"), ("STO001", "1 gap"))
    ]
    assert "  unknown   FLD001, FLD002, STO001" in text(a_result(*rules), everything=False), "the summary says why"


def test_documentation_shows_a_block_as_it_is() -> None:
    spaced = a_finding(Subject("main", "mqtt", "Room No"), message="The name of tag Room No needs quotes.")
    result = with_plan(GROWING, *others(5, Severity.NOTE))
    result = replace(result, results=(*result.results, a_rule_result(spaced, code="NAM001")))
    profile = a_profile(a_measurement(series=36_193))
    lines = block.lines(results.of_result(result, profile), everything=False)
    page = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")
    assert "```text\n" + "\n".join(map(click.unstyle, lines)) + "\n```\n" in page


def test_figures_that_do_not_fit_a_line_go_on_below_their_text(terminal: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    lines = text(with_plan(GROWING))
    at = lines.index("    Now                 36,096 series (in http_requests,")
    assert lines[at + 1] == "                        768 before, 3,072 more a day)"
    assert all(len(line) <= 60 for line in lines if STATEMENT not in line)


@pytest.mark.parametrize("count", [0, 1, 8, 9, 20, 1000])
def test_block_fits_a_screen_whatever_the_number_of_findings(terminal: None, count: int) -> None:
    lines = text(with_plan(GROWING, *others(count), *others(count, Severity.NOTE)))
    rows = sum(-(-len(line) // 80) for line in lines)
    assert rows <= block.MOST_LINES
    listed = sum(line.startswith("  warning  ") for line in lines)
    hidden = re.search(r"and ([\d,]+) more", "\n".join(lines))
    assert listed + (int(hidden[1].replace(",", "")) if hidden else 0) == count
    assert min(count, 3) <= listed
    notes = f"{count:,} note{'' if count == 1 else 's'}"
    assert (f"{notes}: `tsaudit show" in "\n".join(lines)) is (count > 0)
    assert lines[0].endswith(notes) is (count > 0)


@pytest.mark.usefixtures("terminal")
def test_block_breaks_no_statement_and_cuts_no_words_of_the_summary() -> None:
    lines = text(with_plan(GROWING, *others(2)))
    assert f"    {STATEMENT}" in lines
    assert all(len(line) < 80 for line in lines if STATEMENT not in line)
    assert "new values of request_id" in " ".join(" ".join(lines).split())


@pytest.mark.usefixtures("terminal")
def test_block_on_the_first_day_lists_notes_below_the_others_as_far_as_they_fit() -> None:
    known, fresh = others(2)
    result = with_plan(GROWING, known, fresh, *others(20, Severity.NOTE))
    muted = {fingerprint("demo", "CAR004", known.subject): DAY}
    found = results.of_result(result, a_profile(), muted)
    later = "\n".join(block.lines(found, everything=False))
    first = [click.unstyle(line) for line in block.lines(found | {"first": True}, everything=False)]
    assert "  note  " not in later
    assert "20 notes, 1 muted: `tsaudit show demo` lists all" in later
    kinds = [line.split()[0] for line in first if re.match(r"  (warning|note)  ", line)]
    assert kinds[0] == "warning"
    assert set(kinds[1:]) == {"note"}
    assert f"  and {20 - len(kinds[1:])} notes, 1 muted: `tsaudit show demo` lists all" in first
    assert len(first) <= block.MOST_LINES


def test_block_with_all_findings_lists_each_once() -> None:
    lines = text(with_plan(GROWING, *others(30), *others(4, Severity.NOTE)), everything=True)
    listed = [line.split()[2] for line in lines if re.match(r"  (warning|note)  ", line)]
    assert len(listed) == len(set(listed)) == 34
    assert not any(" more" in line for line in lines if line.startswith("  and"))


def test_block_leaves_muted_findings_out_and_counts_them() -> None:
    (known, fresh) = others(2)
    muted = {fingerprint("demo", "CAR004", one): DAY for one in (TABLE, known.subject)}
    result = with_plan(GROWING, known, fresh)
    shown = "\n".join(text(result, muted=muted))
    assert "main/t001: Tag host" in shown.splitlines()[1]
    assert "t000" not in shown
    assert "http_requests: Series" not in shown
    assert "and 2 muted: `tsaudit show demo` lists all" in shown
    assert "\n".join(text(result, muted=muted, everything=True)).count("(muted)") == 2


def test_block_of_a_healthy_target_says_what_was_evaluated() -> None:
    assert text(a_result()) == [
        f"demo  ok  duckdb 1.0  {DAY}  3 series",
        "  Nothing wrong was found: 1 rule evaluated on complete figures",
    ]


def test_block_when_rules_could_not_be_evaluated_says_why() -> None:
    broken = a_rule_result(outcome=Outcome.ERROR, reason="ZeroDivisionError: by zero")
    gap = Gap("series_listing", Reason.DENIED, "no SELECT")
    blind = [a_rule_result(code=c, outcome=Outcome.OPEN, gaps=(gap,), reason="no SELECT") for c in ("TAG001", "TAG002")]
    late = [a_rule_result(code=c, outcome=Outcome.OPEN, gaps=(gap,), reason=f"late {c}") for c in ("FLD001", "FLD002")]
    found = a_result(broken, *blind, *late)
    assert text(found)[0].split()[:2] == ["demo", "unknown"]
    assert text(found)[2:] == [
        "  4 rules could not be evaluated: no SELECT.",
        "  unknown   CAR001: ZeroDivisionError: by zero",
        "  unknown   TAG001, TAG002",
        "  unknown   2 more rules for 2 other reasons; the report has them",
    ]
    assert "  unknown   FLD002: late FLD002" in text(found, everything=True)


def test_block_when_names_are_hostile_stays_on_its_lines() -> None:
    nasty = a_finding(Subject("main", "cpu\x1b[2J\u202e\n"), Severity.CRITICAL, message="a\x07\nb", fix="c\r\nd")
    lines = text(a_result(a_rule_result(nasty), a_rule_result(nasty, code="TAG001")))
    assert all(line.isprintable() for line in lines)
    assert len(lines) == 5


NEW = [{"kind": "opened", "fingerprint": "x", "severity": "warning", "code": "TAG001", "subject": "m/x"}]
RESOLVED = [NEW[0] | {"kind": "resolved", "subject": f"m/t{i}"} for i in range(5)]


def test_a_baseline_is_offered_after_the_first_audit_unless_it_failed() -> None:
    found = results.of_result(with_plan(GROWING), a_profile()) | {"first": True}
    for failed_at, is_offered in ((None, True), ("2026-03-31T08:00:00+00:00", False)):
        said = "\n".join(block.lines(found | {"failed_at": failed_at}, everything=False))
        assert ("first audit: `tsaudit baseline" in said) is is_offered


def test_block_counts_no_finding_that_it_does_not_have() -> None:
    """The first audit of the day found it; at the second one, the target did not respond."""
    found = results.of_result(a_result(), None) | {"changes": NEW, "first": False}
    assert block.changed(found) == ""


def test_what_this_audit_could_not_look_for_is_not_resolved_again() -> None:
    """An earlier audit of the day saw the end of it; this one could not read the table."""
    over = IncidentChange(ChangeKind.RESOLVED, an_incident(a_finding(TABLE), code="FLD002"))
    lacking = Gap("null_counts", Reason.DENIED, "permission denied", TABLE.database, TABLE.measurement)
    for gaps, outcome, expected in (((), Outcome.PASS, "resolved: FLD002"), ((lacking,), Outcome.OPEN, "")):
        result = a_result(a_rule_result(outcome=outcome, code="FLD002", gaps=gaps))
        run = AuditRun("demo", DAY, result, a_profile(), (over,), None, 1.0, None)
        assert block.changed(results.of_run(run)).startswith(expected)
        assert bool(block.changed(results.of_run(run))) is bool(expected)
        failed = replace(run, result=replace(result, failed_at=result.audited_at))
        assert block.changed(results.of_run(failed)) == ""


@pytest.mark.parametrize(
    ("changes", "first", "expected"),
    [
        ([], False, ""),
        (NEW, False, "1 new"),
        (NEW, True, ""),
        (RESOLVED[:1], False, "resolved: TAG001 m/t0"),
        (RESOLVED[:1], True, "resolved: TAG001 m/t0"),  # An earlier audit of the first day found it.
        ([*NEW, *RESOLVED], False, "1 new; resolved: TAG001 m/t0, TAG001 m/t1, and 3 more"),
    ],
)
def test_block_says_what_has_changed(changes: list[dict[str, Any]], first: bool, expected: str) -> None:
    found = results.of_result(a_result(a_rule_result(a_finding())), a_profile())
    fingerprints = {"opened": found["findings"][0]["fingerprint"], "resolved": "x"}
    changes = [change | {"fingerprint": fingerprints[change["kind"]]} for change in changes]
    found |= {"changes": changes, "first": first}
    assert block.changed(found) == expected
    assert (f"  changed: {expected}" in block.lines(found, everything=False)) is bool(expected)
    muted = {fingerprints["opened"]: DAY}
    silent = results.of_result(a_result(a_rule_result(a_finding())), a_profile(), muted)
    over = expected.removeprefix("1 new").removeprefix("; ")
    assert block.changed(silent | {"changes": changes, "first": first}) == over, "what is muted is not new"
    for change in changes:
        change["fingerprint"] = fingerprints["opened"]
    assert block.changed(found) == expected.replace("resolved", "only a note now")


def test_block_says_of_other_findings_what_somebody_decided() -> None:
    result = with_plan(GROWING, *others(2))
    keys = [fingerprint("demo", "CAR004", one.subject) for one in others(2)]
    found = results.of_result(result, a_profile(), {keys[0]: DAY}, {keys[1]: "_ann_"})
    lines = block.lines(found, everything=True)
    assert [line.rpartition(" (")[2] for line in map(click.unstyle, lines) if line.startswith("  warning")] == [
        "muted)",
        "acknowledged by _ann_)",
    ]
    page = "\n".join(block.markdown(found, everything=True))
    assert " (muted)\n" in page
    assert r" (acknowledged by \_ann\_)" in page


# --- Markdown ---------------------------------------------------------------------------------------------------------


def test_markdown_says_what_the_text_says() -> None:
    result = with_plan(GROWING, *others(1))
    page = "\n".join(block.markdown(results.of_result(result, a_profile()), everything=False))
    for part in (
        "## demo: critical",
        f"\n\n`{STATEMENT}`\n",
        "\n- Time left: about 8 days \\(80% range 5 to 16\\)\n",
    ):
        assert part in page
    assert "**main/http\\_requests: Series grew" in page
    assert "`tsaudit plan demo http_requests`" in page


@given(st.text(max_size=40), st.sampled_from(["`", "```", "](x)", "<b>", "\n# x", "|", "&lt;", "*", "__", "\\", "~~"]))
def test_markdown_renders_no_names(name: str, syntax: str) -> None:
    text = f"a {syntax}{name}{syntax} b"
    rendered = MarkdownIt("commonmark").enable(["table", "strikethrough"]).renderInline(block.escape(text))
    assert entities.unescape(rendered) == printable(" ".join(text.split()), 1000)


# --- The command ------------------------------------------------------------------------------------------------------


def waiting(folder: Path) -> dict[str, list[str]]:
    """State of each queued message, by target."""
    with Store.open(f"sqlite:///{folder}/.tsaudit/history.db") as store, deliveries.writing(store.engine) as connection:
        rows = connection.execute(deliveries.table.select()).all()
    found: dict[str, list[str]] = {}
    for row in rows:
        found.setdefault(row.thread.split("/")[1], []).append(row.state)
    return found


def test_audit_without_slack_prints_each_finding_once_and_settles_its_message(tsaudit: Tsaudit, folder: Path) -> None:
    done = tsaudit("audit", *ON)
    assert done.stdout.count("Field usage is stored as TEXT") == 1
    assert done.stdout.rstrip().endswith("2 targets: 1 warning, 1 ok")
    assert waiting(folder) == {"shop": ["not_sent"]}


def test_only_messages_about_what_was_printed_are_settled(tsaudit: Tsaudit, folder: Path) -> None:
    tsaudit("audit", "shop", *ON, "--no-notify")
    settings = load(folder / "tsaudit.yaml")
    with_slack = settings.model_copy(update={"slack": Slack(webhook=SecretStr("https://hooks.slack.example/x"))})
    with Store.open(f"sqlite:///{folder}/.tsaudit/history.db") as store:
        assert alerts.record_printed(store, with_slack, {"shop": DAY}) == 0
        assert alerts.record_printed(store, settings, {"shop": DAY + timedelta(1), "plant": DAY}) == 0
        assert waiting(folder) == {"shop": ["queued"]}
        assert alerts.record_printed(store, settings, {"shop": DAY}) == 1
    assert waiting(folder) == {"shop": ["not_sent"]}


def test_audit_prints_the_message_that_an_earlier_one_left(tsaudit: Tsaudit, folder: Path) -> None:
    """Only the message knows of a target that is not audited now."""
    tsaudit("audit", "shop", *ON, "--no-notify")
    assert waiting(folder) == {"shop": ["queued"]}
    done = tsaudit("audit", "plant", *ON)
    assert "shop, 1 open incident" in done.stdout
    assert waiting(folder) == {"shop": ["not_sent"]}


def test_audit_says_what_is_resolved(tsaudit: Tsaudit, folder: Path) -> None:
    tsaudit("audit", "shop", *ON)
    (folder / "plant.db").rename(folder / "shop.db")
    done = tsaudit("audit", "shop", "--day", (DAY + timedelta(1)).isoformat())
    assert "resolved: FLD002 main/cpu.usage\n" in done.stdout
    assert "all resolved" not in done.stdout
    assert set(waiting(folder)["shop"]) == {"not_sent"}


def test_quiet_prints_only_what_sets_the_exit_code(tsaudit: Tsaudit, folder: Path) -> None:
    healthy = tsaudit("audit", "plant", *ON, "--quiet")
    assert (healthy.exit_code, healthy.stdout, healthy.stderr) == (Exit.OK, "", "")
    both = tsaudit("audit", *ON, "-q")
    assert both.exit_code == Exit.FINDINGS
    assert both.stdout.startswith("shop  warn")
    assert "plant" not in both.stdout
    assert tsaudit("audit", "plant", *ON, "-q", "--format", "json").stdout == "[]\n"
    assert tsaudit("audit", "plant", *ON, "-q", "--format", "markdown").stdout == ""
    again = tsaudit("audit", "--day", (DAY + timedelta(1)).isoformat(), "--quiet", "--fail-on", "new")
    assert (again.exit_code, again.stdout, again.stderr) == (Exit.OK, "", "")
    assert tsaudit("audit", *ON, "--quiet", "--fail-on", "critical").stdout == ""
    (folder / "plant.db").write_text("this is no database, and long enough to be looked at" * 20)
    broken = tsaudit("audit", *ON, "--quiet", "--fail-on", "never")
    assert broken.exit_code == Exit.NOT_AUDITED
    assert broken.stdout.startswith("plant  unknown")
    assert "shop" not in broken.stdout


def test_quiet_prints_what_the_first_audit_could_not_evaluate(
    tsaudit: Tsaudit, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found(case: Any, switches: Any) -> Any:
        return evaluate(case, switches) if case.rule.code != "CAR004" else 1 / 0

    evaluate = evaluation._found
    monkeypatch.setattr(evaluation, "_found", found)
    news = ("--quiet", "--fail-on", "new")
    first = tsaudit("audit", "plant", *ON, *news)
    assert (first.exit_code, first.stdout[:14]) == (Exit.OK, "plant  unknown")
    later = tsaudit("audit", "plant", "--day", (DAY + timedelta(1)).isoformat(), *news)
    assert (later.exit_code, later.stdout) == (Exit.OK, "")


def test_quiet_says_once_in_a_mail_that_a_target_is_down(tsaudit: Tsaudit, folder: Path) -> None:
    (folder / "plant.db").unlink()
    asked = [sys.executable, "-m", "tsaudit", "audit", "plant", "--quiet"]
    mail = subprocess.run(asked, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60, check=False)
    assert (mail.returncode, mail.stdout.count("there is no file")) == (Exit.NOT_AUDITED, 1)
    apart = subprocess.run(asked, capture_output=True, text=True, timeout=60, check=False)
    assert "there is no file" in apart.stdout
    assert apart.stderr.startswith("error: plant: there is no file")


def test_quiet_says_why_nothing_was_saved(tsaudit: Tsaudit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tsaudit.run.audit_target", lambda *_, **__: 1 / 0)
    monkeypatch.setattr("tsaudit.cli.audit.same_stream", lambda: True)
    assert "ZeroDivisionError" in tsaudit("audit", "plant", "--quiet").stderr


def test_quiet_prints_a_profile_only_if_it_sets_the_exit_code(tsaudit: Tsaudit) -> None:
    tsaudit("collect", "shop", "-o", "shop.json")
    found = tsaudit("audit", "--profile", "shop.json", "-q")
    assert (found.exit_code, found.stdout[:10]) == (Exit.FINDINGS, "shop  warn")
    accepted = tsaudit("audit", "--profile", "shop.json", "-q", "--fail-on", "critical")
    assert (accepted.exit_code, accepted.stdout) == (Exit.OK, "")


def test_markdown_of_the_command_has_a_heading_for_each_target(tsaudit: Tsaudit) -> None:
    done = tsaudit("audit", *ON, "--format", "markdown")
    assert re.findall(r"^## .*", done.stdout, re.MULTILINE) == ["## shop: warning", "## plant: ok"]


def test_what_rules_leave_out_is_shown_with_everything() -> None:
    visits, both = "1 table with events (visits)", "2 tables with reference data (city and lane)"
    left_out = {"CAR001": f"{visits}; {both}", "LAY003": both, "STO001": "uses of the indexes of 1 table (visits)"}
    result = a_result(*(a_rule_result(code=code, not_evaluated=said) for code, said in left_out.items()))
    lines = [line for line in text(result, everything=True) if "left out" in line]
    assert lines == [
        f"  left out  {visits}: CAR001",
        f"  left out  {both}: CAR001, LAY003",
        "  left out  uses of the indexes of 1 table (visits): STO001",
    ]
    assert not any("left out" in line for line in text(result))
