"""The page: its order, its safety, and what it says in each situation."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import html5lib
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import DAY, a_count, a_field, a_finding, a_measurement, a_profile, a_result, a_rule_result, a_tag
from tests.examples import examples
from tests.memory import watched
from tests.report import sample
from tsaudit import report
from tsaudit.config.settings import Report
from tsaudit.model.change import MakeField
from tsaudit.model.facts import FACTS
from tsaudit.model.figures import Count, Gap, How, Reason, Subject
from tsaudit.model.finding import Evidence, Finding, fingerprint
from tsaudit.model.plan import Plan, Requested, Step, StepKind
from tsaudit.model.rows import MeasureName, MeasureNames
from tsaudit.model.timeline import Point, Timeline
from tsaudit.report import html, index

SECTIONS = ("verdict", "changes", "findings", "trend", "tables", "muted", "coverage", "cost", "definitions")


class Outline(HTMLParser):
    """Elements, ids, headings and addresses of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: Counter[str] = Counter()
        self.ids: list[str] = []
        self.sections: list[str] = []
        self.headings: list[int] = []
        self.addresses: list[str] = []
        self.attributes: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.elements[tag] += 1
        self.attributes |= set(values)
        if values.get("id"):
            self.ids.append(str(values["id"]))
        if tag == "section":
            self.sections.append(str(values.get("aria-labelledby")).removeprefix("h-"))
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        self.addresses += [str(values[name]) for name in ("href", "src", "action") if name in values]


def the_pages() -> Iterator[tuple[str, str]]:
    yield "rich", html.page(sample.the_contents())
    yield "no history", html.page(sample.the_contents(timeline=Timeline(), previous=None))
    yield "unreachable", html.page(sample.the_contents(result=sample.unreachable(), profile=None, incidents=()))
    yield "fine", html.page(sample.the_contents(result=sample.fine(), incidents=(), previous=sample.fine()))
    yield "empty", html.page(sample.the_contents(profile=a_profile(measurements=(), databases=()), incidents=()))
    yield "index", index.page([], [])


PAGES = dict(the_pages())
RICH = PAGES["rich"]


@pytest.mark.parametrize("name", [n for n in PAGES if n != "index"])
def test_sections_are_all_there_in_order(name: str) -> None:
    assert tuple(Outline(PAGES[name]).sections) == SECTIONS


@pytest.mark.parametrize("name", PAGES)
def test_page_is_well_formed(name: str) -> None:
    parser = html5lib.HTMLParser(strict=True)
    parser.parse(PAGES[name])


@pytest.mark.parametrize("name", PAGES)
def test_ids_are_unique_and_inner_links_lead_somewhere(name: str) -> None:
    outline = Outline(PAGES[name])
    assert [i for i, n in Counter(outline.ids).items() if n > 1] == []
    inner = {a[1:] for a in outline.addresses if a.startswith("#")}
    assert inner - set(outline.ids) == set()


@pytest.mark.parametrize("name", PAGES)
def test_headings_never_skip_a_level(name: str) -> None:
    levels = Outline(PAGES[name]).headings
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert [(a, b) for a, b in pairwise(levels) if b > a + 1] == []


@pytest.mark.parametrize("name", PAGES)
def test_policy_names_the_very_style_and_script_and_nothing_else(name: str) -> None:
    page = PAGES[name]
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)
    assert policy is not None

    def digest(element: str) -> str:
        (text,) = re.findall(f"<{element}>(.*?)</{element}>", page, re.DOTALL)
        return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

    assert policy[1] == (
        f"default-src 'none'; style-src '{digest('style')}'; script-src '{digest('script')}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    outline = Outline(page)
    assert not {a for a in outline.attributes if a.startswith("on") or a == "style"}
    assert outline.elements["img"] == outline.elements["iframe"] == 0


def test_tables_have_captions_and_scopes() -> None:
    outline = Outline(RICH)
    assert outline.elements["caption"] == outline.elements["table"] > 6
    assert re.findall(r"<th(?! scope)[^e]", RICH) == []


ODD_TEXT = st.text(
    st.one_of(st.sampled_from("<>&\"'/=\u202e\x00\x1b\n\ufeff;{}%#-!"), st.characters(exclude_characters="`")),
    min_size=1,
    max_size=24,
)


def page_about(database: str, measurement: str, column: str) -> str:
    subject = Subject(database, measurement, column)
    finding = a_finding(
        subject,
        message=f"about {measurement} and {column}",
        fix=f"change {column}",
        main_contributor=column,
        evidence=(Evidence(column, measurement),),
        samples=(),
    )
    tag, field = a_tag(column), a_field(column, (measurement,), 0.5)
    names = MeasureNames(a_count(1), (MeasureName(column, measurement, (column,), 10),))
    table = a_measurement(
        measurement,
        database=database,
        tags=(tag,),
        fields=(field,),
        statements={"row_count": f"SELECT {column}"},
        measure_names=names,
    )
    gap = Gap("row_count", Reason.FAILED, column, database, measurement)
    profile = a_profile(table, gaps=(gap,))
    result = a_result(a_rule_result(replace(finding, facts=("row_count",))), target="t")
    timeline = Timeline(previous=a_profile(a_measurement(measurement, database=database)))
    options: dict[str, Any] = {"incidents": (), "full_values": True, "run_url": None, "previous": a_result()}
    return html.page(html.contents_of(result, profile, timeline, **options))


PLAIN = Outline(page_about("d", "m", "c"))


def without_code(outline: Outline) -> dict[str, int]:
    """How often the verdict's sentence sets a name as code depends on what else it says."""
    return {name: count for name, count in outline.elements.items() if name != "code"}


@given(database=ODD_TEXT, measurement=ODD_TEXT, column=ODD_TEXT)
@settings(deadline=None, max_examples=examples(40))
def test_names_never_become_markup(database: str, measurement: str, column: str) -> None:
    page = page_about(database, measurement, column)
    outline = Outline(page)
    assert without_code(outline) == without_code(PLAIN)
    assert outline.attributes == PLAIN.attributes
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff]", page)
    page.encode()


def test_hostile_sample_is_shown_as_text() -> None:
    assert "&lt;img src=x onerror=alert(1)&gt;⟨U+202E⟩" in RICH
    assert "<img" not in RICH
    assert "<script>alert" not in RICH


def test_sample_values_are_redacted_unless_asked_for_in_full() -> None:
    assert sample.FULL_KEY not in RICH
    assert "01" in RICH
    assert sample.FULL_KEY in html.page(sample.the_contents(full_values=True))


def test_anchor_of_a_finding_is_its_fingerprint() -> None:
    for code, finding in sample.the_findings().items():
        assert RICH.count(f'id="f-{fingerprint(sample.TARGET, code, finding.subject)}"') == 1


@pytest.mark.parametrize("address", ["javascript:alert(1)", "data:text/html,x", "", None])
def test_run_link_is_only_ever_a_web_address(address: str | None) -> None:
    assert sample.the_contents(run_url=address).run_url is None
    assert sample.the_contents(run_url="https://d.example/runs/1").run_url == "https://d.example/runs/1"


def test_source_of_a_limit_is_a_link_only_where_it_is_an_address() -> None:
    outline = Outline(RICH)
    assert "https://docs.influxdata.com/influxdb/cloud/account-management/limits/" in outline.addresses
    assert "tsaudit&#39;s default: &lt;i&gt;so&lt;/i&gt;" in RICH


def test_summary_stands_on_top_with_its_first_step_and_links_to_the_rest() -> None:
    summary = sample.the_contents().summary
    top = (
        RICH.split('id="verdict"')[1]
        .split("</section>")[0]
        .replace('<span class="day">2026-03-13</span>', "2026-03-13")
    )
    parts = (
        summary.headline,
        *(text for f in summary.figures for text in (f.label, f.value, f.note)),
        summary.first_step,
    )
    place = 0
    for part in parts:
        place = top.index(part, place)
    assert f'href="#f-{summary.fingerprint}">The finding' in top
    assert [f.label for f in summary.figures] == ["Now", "Limit", "Time left"]


def test_top_says_in_one_line_what_was_not_measured() -> None:
    def line(name: str) -> str:
        return re.sub(r"\s+", " ", re.sub("<[^>]+>", "", PAGES[name].split('class="measured">')[1].split("</p>")[0]))

    assert line("rich") == (
        "Measured: 83,906 series in 7 measurements of 2 databases, 2026-03-01 to 2026-03-31. "
        "6 rules evaluated, 2 only in part, 1 not applicable. 3 gaps. 14 statements, 1 minute 5 seconds."
    )
    assert "No gaps." not in line("rich")
    assert line("unreachable") == "Nothing was measured today: see what was not audited, and why."


def test_what_happens_if_nothing_is_done_is_not_cut() -> None:
    consequence = "When it ends, rows go to the wrong partition, unless somebody creates a partition for them, and then"
    finding = replace(a_finding(Subject("main", "t")), consequence=consequence)
    page = html.page(sample.the_contents(result=a_result(a_rule_result(finding)), incidents=()))
    assert page.count(consequence) == 2, "on top, and in the finding"


def test_statement_is_offered_to_be_copied_only_as_it_is() -> None:
    at = Subject("main", "cpu")
    change = MakeField(at, "host")

    def shown(text: str) -> str:
        plan = Plan(at, (Requested(change, ("CAR001",)),), (Step(StepKind.FIND, "Look.", text, "sql"),))
        result = a_result(a_rule_result(a_finding(at, changes=(change,))), plans=(plan,))
        page = html.page(sample.the_contents(result=result, incidents=()))
        return page.split('id="p-')[1].split("</details>")[0]

    assert '<div class="copyable"><pre' in shown("SELECT 1\n  FROM x;")
    hidden = shown('DROP TABLE "a\u200bb";')
    assert 'class="copyable"' not in hidden
    assert "it contains invisible characters" in hidden


def test_unreachable_target_still_has_a_useful_page() -> None:
    page = PAGES["unreachable"]
    assert "The target could not be audited: connection refused." in page
    assert "Unknown" in page
    assert "so nothing is known about its tables today" in page
    assert "Nothing was measured today, so it is not known what has changed since" in page
    assert "Series of the whole target" in page


def test_figures_say_how_they_were_had() -> None:
    assert "≈ 9,120,400<small>estimate ± 12,000</small>" in RICH
    assert "10,000<small>sampled</small>" in RICH
    assert "<p>Sampled: newest 10,000 rows; measured" in RICH
    estimated = a_profile(a_measurement(series=5), a_measurement("b"))
    counted = replace(estimated.measurements[0], series=a_count(5, How.ESTIMATE))
    contents = sample.the_contents(profile=replace(estimated, measurements=(counted,)))
    assert contents.series_how == "estimate"


def test_scope_that_most_figures_share_is_not_repeated() -> None:
    def counted(scope: str) -> Count:
        return replace(a_count(9), source=replace(a_count(9).source, scope=scope))

    usual, odd = counted("rows from monday to friday"), counted("rows of monday")
    profile = a_profile(a_measurement("a", rows=usual), a_measurement("b", rows=usual), a_measurement("c", rows=odd))
    contents = sample.the_contents(profile=profile, incidents=())
    assert contents.usual_scope == "rows from monday to friday"
    page = html.page(contents)
    assert page.count("rows from monday to friday") == 0
    assert page.count("<small>rows of monday</small>") == 1
    assert sample.the_contents(profile=None).usual_scope == ""


def limit_of(origin: str) -> str:
    finding: Finding = a_finding(observed=1.0, limit=sample.a_limit(origin=origin))
    return html.page(sample.the_contents(result=a_result(a_rule_result(finding)), incidents=()))


@pytest.mark.parametrize(
    ("origin", "words"),
    [
        ("default", "tsaudit&#39;s default"),
        ("target", "set for this target"),
        ("all targets", "set for all targets"),
        ("plan influxdb-cloud-free", "of plan influxdb-cloud-free"),
        ("engine influxdb1", "of engine influxdb1"),
        ("measurement http_*", "set for http_*"),
    ],
)
def test_limit_says_who_set_it(origin: str, words: str) -> None:
    assert f"<small>{words}</small>" in limit_of(origin)


def measure_names(*names: MeasureName, count: int = 0, rows: int | None = 100) -> str:
    """The part of the page about a table's measure names."""
    found = MeasureNames(a_count(count or len(names)), names)
    table = a_measurement(measure_names=found, rows=None if rows is None else a_count(rows))
    result = a_result(a_rule_result(a_finding()))
    options: dict[str, Any] = {"incidents": (), "full_values": False, "run_url": None, "previous": None}
    page = html.page(html.contents_of(result, a_profile(table, engine="timestream"), Timeline(), **options))
    (part,) = re.findall(r"<caption><b>Measure names\..*?</table>", page, re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", part))


def test_measure_names_show_where_the_rows_are() -> None:
    text = measure_names(
        MeasureName("metrics", "multi", ("host", "os"), 90), MeasureName("idle", "double", (), 0), count=24
    )
    assert "Measure names. 24" in text
    assert "metrics multi 2 90 90%" in text
    assert "idle double 0 0 0%" in text
    many = measure_names(*(MeasureName(f"n{i}", "multi", (), 1) for i in range(30)))
    assert "the others are not shown" in many
    assert ("n19" in many, "n20" in many) == (True, False)


def test_documents_are_counted_where_series_are_not() -> None:
    def verdict(rows: Count | None) -> str:
        profile = a_profile(a_measurement("a", rows=a_count(7)), a_measurement("b", rows=rows), engine="mongodb")
        options: dict[str, Any] = {"incidents": (), "full_values": False, "run_url": None, "previous": None}
        page = html.page(html.contents_of(replace(a_result(), engine="mongodb"), profile, Timeline(), **options))
        return page.split('id="verdict"')[1].split("</section>")[0]

    assert "Measured: 12 documents in" in verdict(a_count(5))
    assert "Documents were not counted." in verdict(None)
    assert "eries" not in verdict(None)


@pytest.mark.parametrize(
    ("series", "days", "said"),
    [
        (3, 0, "Not enough history yet: a trend needs at least two days."),
        (None, 9, "No trend: the series were not counted."),
        (3, 9, "No trend: no figure was measured on at least two days."),
    ],
)
def test_page_without_a_chart_says_why(series: int | None, days: int, said: str) -> None:
    count = a_count(series) if series else None
    gap = Gap("measurements", Reason.OVER_BUDGET, "1 of 2 not looked at", "main")
    gaps = (gap,) if series is None else ()
    profile = a_profile(replace(a_measurement("a"), series=count), gaps=gaps)
    earlier = tuple(Point(DAY - timedelta(days=n), 70.0) for n in range(days, 0, -1))
    timeline = Timeline(points={("rows", Subject("main", "a")): earlier} if days else {})
    options: dict[str, Any] = {"incidents": (), "full_values": False, "run_url": None, "previous": None}
    assert said in html.page(html.contents_of(a_result(), profile, timeline, **options))


def test_measure_names_when_rows_were_not_counted() -> None:
    text = measure_names(MeasureName("metrics", "multi", ("host",)), rows=None)
    assert "metrics multi 1 \N{EN DASH} \N{EN DASH}" in text


@pytest.mark.full
def test_meanings_of_facts_end_with_a_whole_phrase() -> None:
    said = {name: html._meaning_of(name) for name in FACTS}
    assert [name for name, one in said.items() if one.count("(") != one.count(")") or one.count("`") % 2] == []
    assert said["table_status"] == "what the server counts for each measurement"


@pytest.mark.full
def test_huge_values_do_not_make_a_huge_page() -> None:
    long = "x" * 300_000
    finding = a_finding(
        Subject("d", long, long),
        message=long,
        fix=long,
        evidence=(Evidence(long, long),),
        main_contributor=long,
        samples=(long,),
    )
    table = a_measurement(long, database="d", tags=(a_tag(long),), fields=(a_field(long),), statements={"x": long})
    gap = Gap("row_count", Reason.FAILED, long, "d", long)
    result = a_result(a_rule_result(finding, reason=long, why=long), target="t")
    page = html.page(sample.the_contents(result=result, profile=a_profile(table, gaps=(gap,)), incidents=()))
    assert len(page) < 100_000


@pytest.mark.full
@pytest.mark.parametrize(
    ("count", "name", "column"),
    [
        (10_000, "measurement_{:05}", ""),
        (50_000, "measurement_{:05}", ""),
        (50_000, "a-long-name-with-its-number-{:05}-in-the-middle-of-it-{:05}", "and_a_long_column"),
    ],
)
def test_many_findings_with_everything_make_a_small_page_and_json(
    count: int, name: str, column: str, tmp_path: Path
) -> None:
    """Each with a plan, an incident, and a trend of its own."""
    places = [Subject("main", name.format(n, n), column) for n in range(count)]
    change = {at: (MakeField(Subject(at.database, at.measurement), "host"),) for at in places}
    found = [
        a_finding(at, fix="Write host as a field. " * 8, observed=3.0, unit="series", changes=change[at],
                  samples=("a-value", "b-value"), evidence=(Evidence("Values", "12,345"),) * 6, main_contributor="host")
        for at in places
    ]  # fmt: skip
    made = tuple(
        Plan(
            change[at][0].at,
            (Requested(change[at][0], ("CAR001",)),),
            (Step(StepKind.FIND, "Look. " * 20, "SELECT 1" * 50, "sql"),) * 5,
        )
        for at in places
    )
    incidents = [sample.an_incident("CAR001", f.subject, f) for f in found]
    week = tuple(Point(DAY - timedelta(days=back), 9.0 + back) for back in range(90, 0, -1))
    timeline = Timeline(points={("series", change[at][0].at): week for at in places})
    # Of an engine whose tables have no declared roles, which the page and the JSON tell.
    profile = a_profile(*(a_measurement(at.measurement) for at in places), engine="duckdb")
    result = a_result(a_rule_result(*found), plans=made, target=sample.TARGET, engine="duckdb")
    with watched() as peak:
        report.write(result, profile, timeline, incidents, Report(folder=str(tmp_path)), previous=a_result())
    page, twin = ((tmp_path / sample.TARGET / f"{DAY}.{suffix}").read_bytes() for suffix in ("html", "json"))
    assert len(page) < 1_000_000
    assert len(twin) < 10_000_000
    assert peak.megabytes < 400
    shown = page.decode().split('id="findings"')[1]
    assert "tsaudit ack" in shown
    assert 'class="spark"' in shown
    listed = len(re.findall(r'id="?f-[0-9a-f]{16}', shown))
    left_out = [int(number.replace(",", "")) for number in re.findall(r"([\d,]+) of them have no room here", shown)]
    assert listed + sum(left_out) == count
    assert listed >= min(count, 5_000)
    brief = [one for group in json.loads(twin)["brief"] for one in group["findings"]]
    assert len(brief) + len(json.loads(twin)["findings"]) == count


def test_first_report_of_a_target_proposes_the_baseline() -> None:
    offer = "baseline --target"
    assert offer in html.page(sample.the_contents(timeline=Timeline()))
    assert offer not in html.page(sample.the_contents())
    assert offer not in html.page(sample.the_contents(timeline=Timeline(), profile=None))


def test_overview_shows_worst_case_and_dependent_tags_without_any_finding() -> None:
    page = html.page(sample.the_contents(result=sample.fine(), incidents=(), previous=sample.fine()))
    assert "<small>worst case 150,019,153,920</small>" in page
    assert "<small>host determines rack; request_id determines path</small>" in page
    assert "What each tag contributes." in page
