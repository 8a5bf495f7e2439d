"""What is said to have changed, and what is not."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.alerts.builders import an_incident
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
    a_source,
    a_tag,
)
from tsaudit.history.lifecycle import IncidentState
from tsaudit.model.figures import FOREVER, Count, Gap, How, Reason, Selection, Subject, Window
from tsaudit.model.finding import AuditResult, Outcome, RuleResult, Severity, Verdict
from tsaudit.model.profile import Database, Measurement, Profile
from tsaudit.model.storage import Retention
from tsaudit.model.timeline import Timeline
from tsaudit.report import html
from tsaudit.report.changes import MOST, Moved, SchemaChange, compare, movement, schema_changes

MEM = Subject("main", "mem")


def before(*results: RuleResult) -> AuditResult:
    return a_result(*results, day=DAY - timedelta(days=1))


def test_compare_when_nothing_moved_finds_nothing() -> None:
    result = a_result(a_rule_result(a_finding()))
    changes = compare(replace(result, day=DAY - timedelta(days=1)), result)
    assert not changes.any
    assert changes.day_before == DAY - timedelta(days=1)


def test_compare_tells_new_gone_and_severity_apart() -> None:
    stays = a_finding()
    changes = compare(
        before(a_rule_result(stays, a_finding(MEM))),
        a_result(a_rule_result(replace(stays, severity=Severity.CRITICAL), a_finding(Subject("main", "disk")))),
    )
    assert [c.finding.subject.measurement for c in changes.new] == ["disk"]
    assert [c.finding.subject.measurement for c in changes.gone] == ["mem"]
    assert [(c.before, c.finding.severity) for c in changes.severity] == [(Severity.WARNING, Severity.CRITICAL)]
    assert (changes.raised, changes.lowered) == (changes.severity, ())
    assert (changes.verdict_before, changes.verdict) == (Verdict.WARNING, Verdict.CRITICAL)
    assert changes.any


@pytest.mark.parametrize(
    "now",
    [
        a_rule_result(outcome=Outcome.ERROR, reason="broke"),
        a_rule_result(outcome=Outcome.OPEN, gaps=(Gap("row_sample", Reason.DENIED, "no", "main", "mem"),)),
        a_rule_result(code="NAM001"),
    ],
    ids=["broken", "open", "missing"],
)
def test_compare_when_the_rule_was_not_judged_does_not_say_gone(now: RuleResult) -> None:
    changes = compare(before(a_rule_result(a_finding(MEM))), a_result(now))
    assert changes.gone == ()
    assert [c.finding.subject for c in changes.not_evaluated] == [MEM]


def test_compare_does_not_call_gone_what_another_finding_says_now() -> None:
    now = a_result(replace(a_rule_result(), folded=(a_finding(),)))
    changes = compare(before(a_rule_result(a_finding())), now)
    assert (changes.gone, changes.not_evaluated, changes.new) == ((), (), ())


def test_compare_when_two_findings_are_alike_keeps_the_worse() -> None:
    worse = a_finding(severity=Severity.CRITICAL)
    changes = compare(before(a_rule_result(a_finding(), worse)), a_result(a_rule_result(worse)))
    assert changes.severity == ()


def schema(now: Profile, old: Profile) -> list[tuple[str, str, str, str]]:
    return [(c.kind, c.what, str(c.subject), c.detail) for c in schema_changes(old, now)]


def test_schema_change_of_each_kind() -> None:
    old = a_profile(
        a_measurement("cpu", tags=(a_tag("host"), a_tag("rack")), fields=(a_field("usage"), a_field("idle"))),
        a_measurement("mem"),
    )
    now = a_profile(
        a_measurement(
            "cpu", tags=(a_tag("host"),), fields=(a_field("usage", ("integer",)), a_field("rack"), a_field("new"))
        ),
        a_measurement("disk"),
    )
    assert schema(now, old) == [
        ("gone", "field", "main/cpu.idle", "float"),
        ("new", "field", "main/cpu.new", "float"),
        ("changed", "role", "main/cpu.rack", "tag → field"),
        ("changed", "type", "main/cpu.usage", "float → integer"),
        ("new", "measurement", "main/disk", "1 tag, 1 field"),
        ("gone", "measurement", "main/mem", ""),
    ]


@pytest.mark.parametrize(
    "gap",
    [
        Gap("measurements", Reason.TIMED_OUT, "cancelled"),
        Gap("columns", Reason.DENIED, "no", "main"),
        Gap("databases", Reason.UNREACHABLE, "gone"),
    ],
)
def test_schema_when_not_wholly_seen_calls_nothing_gone(gap: Gap) -> None:
    old = a_profile(a_measurement("cpu", fields=(a_field("usage"), a_field("idle"))), a_measurement("mem"))
    now = a_profile(a_measurement("cpu", fields=(a_field("usage"),)), gaps=(gap,))
    assert schema(now, old) == []


@pytest.mark.parametrize(
    "gap",
    [
        Gap("measurements", Reason.OVER_BUDGET, "1 of 2 not looked at", "main"),
        Gap("databases", Reason.UNREACHABLE, "gone"),
    ],
)
def test_schema_when_not_wholly_seen_before_calls_nothing_new(gap: Gap) -> None:
    old = a_profile(a_measurement("cpu", fields=(a_field("usage"),)), gaps=(gap,))
    now = a_profile(a_measurement("cpu", fields=(a_field("usage"), a_field("idle"))), a_measurement("mem"))
    assert schema(now, old) == []


def test_schema_when_the_patterns_changed_calls_nothing_new_or_gone() -> None:
    both = a_profile(a_measurement("cpu"), a_measurement("mem"))
    fewer = a_profile(a_measurement("cpu"), selection=Selection(exclude=("mem",)))
    assert schema(fewer, both) == []
    assert schema(both, fewer) == []


def test_schema_when_one_measurement_was_not_seen_still_judges_the_others() -> None:
    old = a_profile(a_measurement("cpu", fields=(a_field("a"), a_field("b"))), a_measurement("mem"))
    now = a_profile(
        a_measurement("cpu", fields=(a_field("a"),)), gaps=(Gap("field_types", Reason.DENIED, "no", "main", "cpu"),)
    )
    assert schema(now, old) == [("gone", "measurement", "main/mem", "")]


def test_retention_when_shortened_is_a_change() -> None:
    def kept(seconds: int | str) -> Profile:
        policy = Retention("auto", seconds, None, True)
        return a_profile(databases=(Database("main", None, (policy,)),))

    assert list(schema_changes(kept(FOREVER), kept(2_592_000))) == [
        SchemaChange("changed", "retention", Subject("main"), "auto: no retention, default → 30 days, default")
    ]
    assert list(schema_changes(kept(FOREVER), kept(FOREVER))) == []


def test_retention_of_a_table_when_it_is_lengthened_is_a_change() -> None:
    def kept(seconds: int | str) -> Profile:
        return a_profile(a_measurement(retention=Retention("ttl", seconds, None, True)))

    assert list(schema_changes(kept(86_400), kept(FOREVER))) == [
        SchemaChange("changed", "retention", Subject("main", "cpu"), "1 day → no retention")
    ]
    assert list(schema_changes(kept(86_400), kept(86_400))) == []
    assert list(schema_changes(a_profile(a_measurement()), kept(86_400))) == []


def snapshot(*measurements: Measurement, **changes: Any) -> Profile:
    return a_profile(*measurements, **changes)


def table(name: str, series: int = 3, rows: int | Count = 1_000, **values: int) -> Measurement:
    tags = tuple(a_tag(key, count) for key, count in (values or {"host": 3}).items())
    return a_measurement(name, series, rows=a_count(rows) if isinstance(rows, int) else rows, tags=tags)


def figures(before: Profile, now: Profile) -> dict[str, Moved]:
    return {one.figure: one for one in movement(replace(before, day=DAY - timedelta(days=1)), now).figures}


def movers(moved: Moved) -> list[tuple[str, float, float]]:
    return [(str(one.subject), one.before, one.now) for one in moved.movers]


def test_growth_is_shown_in_total_and_where_it_is() -> None:
    found = figures(
        snapshot(table("cpu", 10, 100, host=5), table("mem", 4, 50, host=2)),
        snapshot(table("cpu", 30, 100, host=25), table("mem", 3, 60, host=2)),
    )
    assert {name: (one.total.before, one.total.now) for name, one in found.items() if one.has_moved} == {
        "series": (14, 33), "rows": (150, 160), "tag_values": (7, 27),
    }  # fmt: skip
    assert movers(found["series"]) == [("main/cpu", 10, 30), ("main/mem", 4, 3)]
    assert movers(found["rows"]) == [("main/mem", 50, 60)]
    assert movers(found["tag_values"]) == [("main/cpu.host", 5, 25)]
    assert found["series"].ratio == pytest.approx(19 / 14)


def test_nothing_moved_if_all_figures_are_the_same() -> None:
    found = movement(snapshot(table("cpu")), snapshot(table("cpu")))
    assert found.moved == ()
    assert {one.figure for one in found.still} >= {"series", "rows", "tag_values", "measurements"}


def test_gains_and_losses_that_cancel_out_have_moved() -> None:
    found = figures(snapshot(table("a", 5), table("b", 7)), snapshot(table("a", 7), table("b", 5)))["series"]
    assert found.total.change == 0
    assert found.has_moved
    assert movers(found) == [("main/a", 5, 7), ("main/b", 7, 5)]


def test_new_counts_from_zero_and_gone_to_zero() -> None:
    found = figures(snapshot(table("cpu"), table("old", 9)), snapshot(table("cpu", host=3, rack=8), table("young", 20)))
    assert movers(found["series"]) == [("main/young", 0, 20), ("main/old", 9, 0)]
    assert ("main/cpu.rack", 0, 8) in movers(found["tag_values"])
    assert movers(figures(snapshot(table("a", x=1, y=4)), snapshot(table("a", x=1)))["tag_values"]) == [
        ("main/a.y", 4, 0)
    ]


@pytest.mark.parametrize(
    "blind",
    [
        {"gaps": (Gap("measurements", Reason.TIMED_OUT, "no"),)},
        {"gaps": (Gap("columns", Reason.DENIED, "no", "main", "mem"),)},
        {"selection": Selection(exclude=("mem",))},
    ],
    ids=["listing", "columns", "excluded"],
)
def test_what_one_day_could_not_see_is_neither_new_nor_gone(blind: dict[str, Any]) -> None:
    both, one = snapshot(table("cpu"), table("mem", 500, 70)), snapshot(table("cpu"), **blind)
    for before, now in ((both, one), (one, both)):
        rows = figures(before, now)["rows"]
        assert not rows.has_moved
        assert (rows.total.now, rows.not_compared) == (1_000, 1)


def test_figure_measured_on_one_day_only_is_not_compared() -> None:
    counted, not_counted = snapshot(table("cpu", rows=5)), snapshot(replace(table("cpu"), rows=None))
    found = movement(counted, not_counted)
    assert "rows" not in {one.figure for one in found.figures}
    assert found.not_compared == ("rows",)
    assert movement(not_counted, not_counted).not_compared == ()


def test_samples_are_not_compared() -> None:
    before, now = (snapshot(table("cpu", rows=a_count(n, How.SAMPLED))) for n in (9_000, 10_000))
    assert movement(before, now).not_compared == ("rows",)


@pytest.mark.parametrize(("now", "moves"), [(10_200, False), (10_282, False), (10_284, True), (9_700, True)])
def test_estimate_moves_only_beyond_its_error(now: int, moves: bool) -> None:
    """Two standard errors of a difference of two estimates of 100 each are 2 * 141.4 = 282.8."""
    old, new = (a_count(n, How.ESTIMATE, standard_error=100.0) for n in (10_000, now))
    found = figures(snapshot(table("cpu", rows=old)), snapshot(table("cpu", rows=new)))["rows"]
    assert found.has_moved is moves
    assert (found.total.now, found.total.is_estimate) == (now, True)


def test_exact_figure_is_not_compared_with_an_estimate_of_unknown_error() -> None:
    exact, vague = snapshot(table("cpu", rows=5)), snapshot(table("cpu", rows=a_count(900, How.ESTIMATE)))
    assert movement(exact, vague).not_compared == ("rows",)
    assert movement(vague, exact).not_compared == ("rows",)


def test_rows_of_windows_of_different_lengths_are_not_compared() -> None:
    longer = snapshot(table("cpu", rows=3_000), window=Window(NOW - timedelta(days=90), NOW))
    found = movement(snapshot(table("cpu", rows=1_000)), longer)
    assert found.not_compared == ("rows",)
    assert {one.figure for one in found.figures} >= {"series", "tag_values"}


def test_rows_that_are_not_those_of_the_window_are_not_compared() -> None:
    """A table that was loaded with old rows has none of the last month, and a count of last week is none of today."""
    cpu = table("cpu", rows=1_000)
    loaded = replace(table("loaded", rows=200_000), own_window=Window(NOW - timedelta(days=190), NOW))
    rows = figures(snapshot(cpu), snapshot(cpu, loaded))["rows"]
    assert (rows.total.now, rows.total.change, rows.not_compared, rows.is_part) == (1_000, 0, 1, True)
    reused = replace(cpu, rows=Count(1_000, a_source(as_of=NOW - timedelta(days=4))))
    for engine, compared in (("influxdb1", 0), ("postgresql", 1)):
        now = replace(snapshot(reused), engine=engine)
        assert len([one for one in movement(snapshot(cpu), now).figures if one.figure == "rows"]) == compared


def test_only_the_largest_are_listed_and_the_others_counted() -> None:
    before = snapshot(*(table(f"m{n:02}", 100) for n in range(20)))
    now = snapshot(*(table(f"m{n:02}", 100 + n) for n in range(20)))
    found = figures(before, now)["series"]
    assert [one.change for one in found.movers] == [19, 18, 17, 16, 15]
    assert (len(found.movers), found.more) == (MOST, 14)
    assert found.total.change == sum(range(20))


@given(st.dictionaries(st.sampled_from("abcdefgh"), st.tuples(st.integers(0, 99), st.integers(0, 99)), min_size=1))
def test_total_change_is_the_sum_of_all_changes(rows: dict[str, tuple[int, int]]) -> None:
    before, now = (snapshot(*(table(name, rows=pair[day]) for name, pair in rows.items())) for day in (0, 1))
    found = figures(before, now)["rows"]
    assert found.total.change == sum(after - first for first, after in rows.values())
    assert found.has_moved is any(first != after for first, after in rows.values())
    assert len(found.movers) + found.more == sum(first != after for first, after in rows.values())


def section(before: Profile | None, now: Profile | None, **changes: Any) -> str:
    timeline = Timeline(previous=before and replace(before, day=DAY - timedelta(days=1)))
    result = changes.pop("result", a_result(a_rule_result()))
    same = replace(result, day=DAY - timedelta(days=1))
    options: dict[str, Any] = {"incidents": (), "full_values": False, "run_url": None, "previous": same} | changes
    page = html.page(html.contents_of(result, now, timeline, **options))
    part = page.split('<section id="changes"')[1].split("</section>")[0].split(">", 1)[1]
    return " ".join(re.sub("<[^>]+>", " ", part).split())


def test_page_never_says_nothing_on_a_day_that_grew() -> None:
    text = section(snapshot(table("cpu", 10)), snapshot(table("cpu", 1_450)))
    assert "Series, all tables +1,440 10 → 1,450" in text
    assert "Nothing" not in text


def test_page_says_if_nothing_moved_and_what_was_compared() -> None:
    text = section(snapshot(table("cpu")), snapshot(table("cpu")))
    assert text.startswith("What changed since 2026-03-30 Nothing moved. The verdict ( OK ), findings, and schema")
    assert "Unchanged: series (3), rows of the last 30 days (1,000), tag values (3), tables (1)." in text


def test_page_says_rows_of_when_are_compared() -> None:
    """A window that moves on loses rows, too: fewer may be counted although many were written."""
    timeless = replace(table("depots"), time_column=None)
    assert "Unchanged: series (3), rows (1,000)" in section(snapshot(timeless), snapshot(timeless))
    before, now = (snapshot(table("cpu", rows=rows)) for rows in (40_000, 34_056))
    assert "Rows of the last 30 days, all tables \N{MINUS SIGN}5,944" in section(before, now)


def test_page_does_not_take_the_series_of_some_tables_for_all() -> None:
    uncounted = replace(table("disk", rows=70, volume=2), series=None)
    gap = Gap("measurements", Reason.OVER_BUDGET, "1 of 2 not looked at", "main")
    text = section(snapshot(table("cpu"), uncounted), snapshot(table("cpu"), uncounted))
    assert "Nothing moved in what could be compared." in text
    assert (
        "Unchanged: series (3, without 1 table not comparable), rows of the last 30 days (1,070), tag values (5)"
        in text
    )
    text = section(snapshot(table("cpu"), gaps=(gap,)), snapshot(table("cpu", 8), gaps=(gap,)))
    assert "Series, compared tables +5 3 → 8, 167% more; of the tables compared" in text


def test_page_says_in_which_direction_findings_changed() -> None:
    subjects = [Subject("main", name) for name in ("cpu", "disk", "mem")]
    severities = [Severity.WARNING, Severity.NOTE, Severity.CRITICAL]

    def result(*found: Severity) -> AuditResult:
        return a_result(a_rule_result(*(a_finding(*pair) for pair in zip(subjects, found, strict=True))))

    before = replace(result(*severities), day=DAY - timedelta(days=1))
    for now, said in (
        ([Severity.CRITICAL, Severity.WARNING, Severity.CRITICAL], "Findings 2 raised "),
        ([Severity.CRITICAL, Severity.NOTE, Severity.WARNING], "Findings 1 raised, 1 lowered "),
    ):
        text = section(snapshot(table("cpu")), snapshot(table("cpu")), previous=before, result=result(*now))
        assert said in text


def test_page_lists_new_and_gone_findings_in_their_own_words() -> None:
    restarted = a_finding(Subject(), Severity.NOTE, message="Since yesterday, the server was restarted.")
    failed = a_finding(MEM, message="Table mem has no index. It is slow.")
    old, new = (a_result(a_rule_result(one, title="The server is in distress")) for one in (failed, restarted))
    text = section(snapshot(), snapshot(), previous=replace(old, day=DAY - timedelta(days=1)), result=new)
    assert "New findings Since yesterday, the server was restarted Note " in text
    assert "Gone Table mem has no index. It is slow Warning" in text
    assert "distress" not in text


def test_page_says_that_not_everything_could_be_compared() -> None:
    text = section(snapshot(replace(table("cpu"), rows=None)), snapshot(table("cpu")))
    assert "Nothing moved in what could be compared." in text
    assert (
        "Not compared, because they were sampled, or measured on one day only or in different ways: rows of the last"
        in text
    )


def test_page_says_why_there_is_nothing_to_compare() -> None:
    assert "There is no audit of an earlier day" in section(None, snapshot(), previous=None)
    assert "Nothing was measured today, so it is not known" in section(snapshot(), None)
    assert "There is no earlier snapshot" in section(None, snapshot())


def test_page_says_what_was_resolved_and_what_of_it_an_earlier_audit_of_the_day_found() -> None:
    over = an_incident(a_finding(), state=IncidentState.RESOLVED, resolved=DAY, code="TAG001")
    ran = a_result(a_rule_result(code="TAG001"))
    older = replace(over, opened=DAY - timedelta(days=2), code="TAG002")
    page = section(None, snapshot(), previous=None, incidents=(over, older), result=ran)
    said = "TAG001 main/ cpu. host (found by an earlier audit of the day), TAG002 main/ cpu. host ."
    assert f"Resolved on this day: {said}" in page
    gap = Gap("tag_values", Reason.DENIED, "permission denied", "main", "cpu")
    unread = a_result(a_rule_result(code="TAG001", outcome=Outcome.OPEN, gaps=(gap,)))
    for one, result in ((replace(over, resolved=DAY - timedelta(days=1)), ran), (over, unread)):
        assert "Resolved on this day" not in section(None, snapshot(), previous=None, incidents=(one,), result=result)


def test_whole_target_counts_if_the_engine_counts_it() -> None:
    found = figures(snapshot(table("cpu", 3)), snapshot(table("cpu", 8)))
    assert found["series"].total.subject == Subject()
    assert found["series"].not_compared == 0


def test_page_calls_an_estimate_one_and_no_chance_a_change() -> None:
    """A sample of few sources, of which one has most rows: it counts 3.5 million one day, and 2.2 million the next."""
    before, now = (a_count(n, How.ESTIMATE, standard_error=700_000.0) for n in (3_497_914, 2_218_240))
    text = section(snapshot(table("cpu", 10, rows=before)), snapshot(table("cpu", 12, rows=now)))
    assert "about 2,220,000, within the error of the estimate" in text
    assert "less" not in text
    before, now = (a_count(n, How.ESTIMATE, standard_error=7_000.0) for n in (3_497_914, 2_218_240))
    text = section(snapshot(table("cpu", rows=before)), snapshot(table("cpu", rows=now)))
    assert "about 3,500,000 → about 2,220,000, 37% less" in text


def test_page_of_estimates_beside_exact_figures_that_moved() -> None:
    """Rows of one table were counted, and are more; those of the other were estimated, and the sum is not certain."""
    before, now = (a_count(n, How.ESTIMATE, standard_error=700_000.0) for n in (3_497_914, 2_218_240))
    text = section(
        snapshot(table("cpu", rows=before), table("log", rows=100)),
        snapshot(table("cpu", rows=now), table("log", rows=130)),
    )
    assert "±0 about 2,220,000, unchanged within the error of the estimate" in text
    assert "% less" not in text
