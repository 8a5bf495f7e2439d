"""The summary of a finding and of a result: its figures, why it is so severe, and the first step."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta

import pytest

from tests.builders import DAY, a_count, a_finding, a_measurement, a_profile, a_result, a_rule_result, a_tag
from tsaudit import summary
from tsaudit.model.change import MakeField
from tsaudit.model.figures import Gap, Reason, Subject, TableKind
from tsaudit.model.finding import (
    UNREACHABLE_CODE,
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
from tsaudit.summary import SummaryFigure
from tsaudit.text import impacts

TABLE = Subject("main", "requests")
LIMIT = Limit("x.max_series", 100_000, "series", "our default", "target")
FORECAST = Forecast(100_000, 21.3, 18.0, 27.0, 0.09, DAY - timedelta(11), "speeding up", False, "series", DAY)
GROWING = a_finding(
    TABLE,
    Severity.CRITICAL,
    message="Series grew.",
    observed=36_096.0,
    baseline=768.0,
    unit="series",
    per_day=3_072.0,
    limit=LIMIT,
    forecast=FORECAST,
    severity_reason="47 times the series before",
    since=DAY - timedelta(11),
)


def figures(finding: Finding) -> tuple[SummaryFigure, ...]:
    return summary.of_finding(finding, "CAR004", (), "demo", DAY).figures


def test_figures_of_growth_far_from_its_limit_say_why_it_is_critical() -> None:
    assert figures(GROWING) == (
        SummaryFigure("Now", "36,096 series", "in requests, 768 before, 3,072 more a day, speeding up"),
        SummaryFigure("Why critical", "47 times the series before", "limit 100,000 series, 36% of it reached"),
        SummaryFigure("Time left", "about 21 days", "80% range 18 to 27"),
    )


def test_figures_of_growth_near_its_limit_show_the_limit() -> None:
    assert figures(replace(GROWING, severity_reason=""))[1] == SummaryFigure(
        "Limit", "100,000 series", "set for this target, 36% of it reached"
    )


@pytest.mark.parametrize(
    ("days", "expected"),
    [
        (0.0, SummaryFigure("Time left", "none", "the limit is reached")),
        (0.3, SummaryFigure("Time left", "about 1 day", "80% range 18 to 27")),
        (200.0, SummaryFigure("Time left", "about 200 days", "at this rate")),
        (None, SummaryFigure("Growing since", (DAY - timedelta(11)).isoformat(), "11 days ago")),
    ],
)
def test_time_left_when_the_limit_is_reached_near_far_and_out_of_sight(
    days: float | None, expected: SummaryFigure
) -> None:
    assert figures(replace(GROWING, forecast=replace(FORECAST, days=days)))[-1] == expected


def test_figures_where_nothing_was_measured_are_left_out() -> None:
    assert figures(a_finding(TABLE)) == ()


def test_a_multiple_of_the_limit_is_said_from_twice_on() -> None:
    over = a_finding(TABLE, observed=350_000.0, unit="series", limit=LIMIT)
    assert figures(over)[1].note == "set for this target, now 3.5 times that"
    assert figures(replace(over, observed=150_000.0))[1].note == "set for this target"


def test_first_step_is_that_of_the_plan_and_otherwise_the_first_sentence_of_the_fix() -> None:
    change = MakeField(TABLE, "id")
    step = Step(StepKind.FIND, "Find the writer.", "SELECT 1", "sql")
    plan = Plan(TABLE, (Requested(change, ("TAG002",)),), (step, step))
    finding = a_finding(TABLE, changes=(change,), fix="Do a. Then b.")
    told = summary.of_finding(finding, "TAG002", (plan,), "demo", DAY)
    assert told.first_step == "Step 1 of 2: Find the writer."
    assert (told.statement, told.rest) == ("SELECT 1", "tsaudit plan demo requests")
    without = summary.of_finding(finding, "TAG002", (), "demo", DAY)
    assert (without.first_step, without.statement, without.rest) == ("Do a.", "", "")


@pytest.mark.parametrize(
    ("effect", "expected"),
    [
        (Effect(36_096, 768), [SummaryFigure("After the plan", "768 series", "98% fewer")]),
        (Effect(36_096, 768, is_exact=False), [SummaryFigure("After the plan", "at most 768 series", "98% fewer")]),
        (
            Effect(40_000, 30_000, scope="of the last day", next_tag="path"),
            [
                SummaryFigure(
                    "After the plan", "30,000 series", "25% fewer, of the last day, still too many: change path, too"
                )
            ],
        ),
        (Effect(768, 768), []),
        (Effect(768, None), []),
        (Effect(), []),
    ],
)
def test_what_the_plan_achieves_is_a_figure_where_it_is_known_and_removes_series(
    effect: Effect, expected: list[SummaryFigure]
) -> None:
    change = MakeField(TABLE, "request_id")
    step = Step(StepKind.FIND, "Find the writer.", "SELECT 1", "sql")
    plan = Plan(TABLE, (Requested(change, ("CAR004",)),), (step,), effect)
    found = summary.of_finding(replace(GROWING, changes=(change,)), "CAR004", (plan,), "demo", DAY).figures
    assert [figure for figure in found if figure.label == "After the plan"] == expected


def test_summary_of_a_result_is_that_of_its_worst_finding_that_is_not_muted() -> None:
    warn, critical = a_finding(TABLE, message="A warning."), replace(GROWING, subject=Subject("main", "other"))
    result = a_result(a_rule_result(warn, critical, a_finding(TABLE, Severity.NOTE)))
    told = summary.of_result(result, a_profile())
    assert told.headline.startswith("main/other: Series grew")
    assert told.fingerprint == fingerprint(result.target, "CAR001", critical.subject)
    assert summary.of_result(result, a_profile(), {told.fingerprint: DAY}).headline == "main/requests: A warning"


def test_summary_of_a_result_leads_with_news() -> None:
    """Mail about what is new must not begin each morning with what was known."""
    worst, new = a_finding(Subject("main", "old"), Severity.CRITICAL), a_finding(Subject("main", "new"))
    result = a_result(a_rule_result(worst, new))
    of_new = fingerprint(result.target, "CAR001", new.subject)
    assert summary.of_result(result, a_profile(), news=[of_new]).fingerprint == of_new
    assert summary.of_result(result, a_profile()).fingerprint != of_new
    assert summary.of_result(result, a_profile(), {of_new: DAY}, [of_new]).fingerprint not in ("", of_new)


def test_summary_says_what_a_first_audit_of_an_index_cannot_tell() -> None:
    left_out = "whether the series of main grow, which the next audits show"
    result = a_result(a_rule_result(outcome=Outcome.PASS, code="CAR004", not_evaluated=left_out))
    told = summary.of_result(result, a_profile(engine="influxdb1"))
    assert told.headline == f"Nothing wrong was found: 1 rule evaluated on complete figures, except {left_out}"


@pytest.mark.parametrize(
    ("outcomes", "muted", "expected"),
    [
        ([Outcome.PASS], 0, "Nothing wrong was found: 1 rule evaluated on complete figures"),
        (
            [Outcome.PASS, Outcome.OPEN],
            0,
            "Nothing wrong was found in what was measured: 1 rule evaluated, 1 only in part",
        ),
        ([Outcome.OPEN], 0, "1 rule could not be evaluated, and no other rule applies"),
        ([Outcome.NOT_APPLICABLE], 0, "No rule applies to this target, so nothing could be evaluated"),
        ([Outcome.PASS], 1, "1 warning muted until 2026-06-01; 2 rules evaluated on complete figures"),
    ],
)
def test_summary_without_findings_says_what_was_evaluated(outcomes: list[Outcome], muted: int, expected: str) -> None:
    findings = [a_finding(TABLE)] * muted
    results = [a_rule_result(outcome=o, code=f"CAR00{n}") for n, o in enumerate(outcomes, start=2)]
    result = a_result(*results, *([a_rule_result(*findings)] if findings else []))
    marks = {fingerprint(result.target, "CAR001", TABLE): date(2026, 6, 1)}
    told = summary.of_result(result, a_profile(), marks)
    assert (told.headline, told.figures, told.first_step) == (expected, (), "")


@pytest.mark.parametrize(
    ("outcomes", "muted", "expected"),
    [
        ([Outcome.FAIL], (), "No warnings, 2 notes; 1 rule evaluated on complete figures"),
        ([Outcome.FAIL, Outcome.OPEN], (), "No warnings, 2 notes; 1 rule evaluated, 1 only in part"),
        ([Outcome.FAIL], (5,), "1 critical muted until 2026-06-05, 2 notes; 1 rule evaluated on complete figures"),
        ([Outcome.FAIL], (5, 3), "2 critical muted, the first until 2026-06-03, 2 notes; 1 rule evaluated on complete"),
    ],
)
def test_summary_counts_notes_and_what_is_muted(outcomes: list[Outcome], muted: tuple[int, ...], expected: str) -> None:
    places = [Subject("main", f"muted_{day}") for day in muted]
    found = [a_finding(Subject("main", name), Severity.NOTE) for name in "ab"]
    found += [a_finding(place, Severity.CRITICAL) for place in places]
    results = [a_rule_result(outcome=o, code=f"CAR00{n}") for n, o in enumerate(outcomes, start=1)]
    result = a_result(replace(results[0], findings=tuple(found)), *results[1:])
    ends = [date(2026, 6, day) for day in muted]
    marks = {fingerprint(result.target, "CAR001", place): end for place, end in zip(places, ends, strict=True)}
    told = summary.of_result(result, a_profile(), marks).headline
    assert told.startswith(expected)
    assert len(told.split()) <= 25


@pytest.mark.parametrize(
    ("unread", "notes", "expected"),
    [
        (["visits"], 0, "Nothing wrong was found in what was measured: 1 rule evaluated except on visits"),
        (["visits", "wards"], 1, "No warnings, 1 note; 1 rule evaluated except on visits and wards"),
        (["visits", "wards", "beds"], 0, "1 rule could not be evaluated, and no other rule applies"),
        ([None], 0, "1 rule could not be evaluated, and no other rule applies"),
    ],
)
def test_rules_evaluated_on_all_but_single_tables_were_evaluated(
    unread: list[str | None], notes: int, expected: str
) -> None:
    gaps = tuple(Gap("row_sample", Reason.DENIED, "no right", "main", name) for name in unread)
    findings = [a_finding(Subject("main", "beds"), Severity.NOTE)] * notes
    rule = a_rule_result(*findings, **({} if notes else {"outcome": Outcome.OPEN}), gaps=gaps, reason="gaps")
    profile = a_profile(*map(a_measurement, ("visits", "wards", "beds")), gaps=gaps)
    assert summary.of_result(a_result(rule), profile).headline == expected


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (None, "1 warning muted until 2026-06-01; nothing could be evaluated"),
        (Outcome.OPEN, "1 warning muted until 2026-06-01; no rule could be evaluated completely"),
    ],
)
def test_summary_of_a_target_that_is_gone_names_what_is_muted(outcome: Outcome | None, expected: str) -> None:
    gone = a_rule_result(a_finding(TABLE), code=UNREACHABLE_CODE)
    result = a_result(gone, *([a_rule_result(outcome=outcome)] if outcome else []))
    marks = {fingerprint(result.target, UNREACHABLE_CODE, TABLE): date(2026, 6, 1)}
    assert summary.of_result(result, None, marks).headline == expected


@pytest.mark.parametrize(
    ("engine", "ending"), [("influxdb1", "figures, but no row of buses is in the window"), ("duckdb", "figures")]
)
def test_what_no_row_was_read_of_is_not_praised(engine: str, ending: str) -> None:
    """An index lists what is stored; a table may just be empty."""
    profile = a_profile(a_measurement("trams"), a_measurement("buses", rows=a_count(0)), engine=engine)
    told = summary.of_result(a_result(a_rule_result(outcome=Outcome.PASS)), profile)
    assert told.headline == f"Nothing wrong was found: 1 rule evaluated on complete {ending}"


def test_guessed_roles_are_to_be_confirmed_where_nothing_is_wrong() -> None:
    guessed = a_tag("depot", role_reason="18 times on average")
    declared = a_tag("line", role_reason="part of the table's key, with the time")
    empty = a_tag("name", role_reason="a text column without values to look at")
    profile = a_profile(
        a_measurement("trams", tags=(guessed, declared), kind=TableKind.SERIES),
        a_measurement("buses", tags=(declared,), kind=TableKind.SERIES),
        a_measurement("ferries", tags=(empty,)),
    )
    result = a_result(a_rule_result(outcome=Outcome.PASS))
    assert summary.of_result(result, profile).first_step == (
        f"1 role in 1 table was guessed, so findings about tags there are notes only. To confirm what is right: "
        f"`tsaudit check {result.target} --roles`."
    )
    assert not summary.of_result(result, a_profile(a_measurement(tags=(declared,)))).first_step
    # To rules about anything but tags, it does not matter.
    names = a_result(a_rule_result(outcome=Outcome.PASS, code="NAM001", family="names"))
    assert not summary.of_result(names, profile).first_step
    # What is wrong comes first.
    wrong = a_result(a_rule_result(a_finding(TABLE, fix="Do a.")))
    assert summary.of_result(wrong, profile).first_step == "Do a."


def test_first_step_of_an_unknown_audit_is_what_most_rules_lack() -> None:
    guessed = a_profile(a_measurement("trams", tags=(a_tag("depot", role_reason="18 times on average"),)))
    refused = Gap("row_sample", Reason.DENIED, "permission denied; GRANT SELECT ON log TO ada", "public", "log")
    other = Gap("row_count", Reason.TIMED_OUT, "it took too long", "public", "big")
    results = [
        a_rule_result(code="CAR001", outcome=Outcome.OPEN, gaps=(refused, other)),
        a_rule_result(code="CAR002", outcome=Outcome.OPEN, gaps=(refused,)),
        a_rule_result(code="CAR003"),
    ]
    # As the headline says of the same rules.
    assert summary.of_result(a_result(*results[:2]), guessed).first_step.startswith("2 rules could not be evaluated on")
    assert summary.of_result(a_result(*results), guessed).first_step == (
        "2 rules were evaluated only in part on public/log: permission denied; GRANT SELECT ON log TO ada."
    )
    broken = a_rule_result(code="CAR004", outcome=Outcome.ERROR, reason="it broke")
    assert summary.of_result(a_result(broken), guessed).first_step == (
        "1 rule could not be evaluated: CAR004: it broke."
    )


def test_day_is_that_of_the_audit() -> None:
    finding = a_finding(TABLE, since=date(2026, 1, 1))
    assert summary.of_finding(finding, "X", (), "t", date(2026, 1, 1)).figures == (
        SummaryFigure("Began", "2026-01-01"),
    )


@pytest.mark.parametrize(
    ("days_left", "text"),
    [(31.2, "31 days"), (1.4, "34 hours"), (0.55, "13 hours"), (0.01, "less than an hour"), (-3.0, "none")],
)
def test_time_left_until_a_limit_where_there_is_no_forecast(days_left: float, text: str) -> None:
    impact = Impact(Currency.LIMIT, days_left=days_left)
    told = summary.of_finding(a_finding(TABLE, impact=impact), "X", (), "t", date(2026, 1, 1))
    assert SummaryFigure("Time left", text) in told.figures


def test_when_a_mechanism_ends_is_said_once() -> None:
    impact = Impact(Currency.MECHANISM, days_left=4.2)
    finding = a_finding(TABLE, impact=impact, severity_reason=impacts.reason(impact, 30), severity=Severity.WARNING)
    figures = summary.of_finding(finding, "X", (), "t", date(2026, 1, 1)).figures
    assert [figure.value for figure in figures] == ["4 days left"]


@pytest.mark.parametrize(("currency", "expected"), [(Currency.SERIES, True), (Currency.BYTES, False)])
def test_what_the_plan_achieves_is_a_figure_of_what_costs_series(currency: Currency, expected: bool) -> None:
    change = MakeField(TABLE, "trace_id")
    step = Step(StepKind.FIND, "Find the writer.", "SELECT 1", "sql")
    plan = Plan(TABLE, (Requested(change, ("TAG002",)),), (step,), Effect(9_000, 30))
    finding = a_finding(TABLE, changes=(change,), observed=9_000.0, unit="values", impact=Impact(currency))
    found = summary.of_finding(finding, "TAG002", (plan,), "demo", DAY).figures
    assert ("After the plan" in [figure.label for figure in found]) == expected


@pytest.mark.parametrize(
    ("effect", "expected"),
    [
        (Effect(15_000, 1), ["8,461 series"]),
        (Effect(15_000, 1, is_exact=False), ["at most 8,461 series"]),
        # Of a part of the rows, nothing follows for the whole.
        (Effect(15_000, 1, scope="of the last day"), []),
    ],
)
def test_what_a_plan_for_one_table_achieves_is_said_of_the_whole_that_the_finding_is_about(
    effect: Effect, expected: list[str]
) -> None:
    change = MakeField(TABLE, "user")
    plan = Plan(TABLE, (Requested(change, ("CAR001",)),), (Step(StepKind.FIND, "Find it.", "", "sql"),), effect)
    finding = a_finding(Subject(), changes=(change,), observed=23_460.0, unit="series")
    found = summary.of_finding(finding, "CAR001", (plan,), "demo", DAY).figures
    assert [figure.value for figure in found if figure.label == "After the plan"] == expected
