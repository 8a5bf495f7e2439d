"""The section with what to do: plans of open findings, worst measurement first, and how they are said."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import a_finding, a_profile, a_result, a_rule_result
from tests.report.sample import HOSTILE, empty_timeline
from tsaudit import report
from tsaudit.config.settings import Report
from tsaudit.model.change import MakeField
from tsaudit.model.finding import AuditResult
from tsaudit.model.plan import Asked, Effect, Phase, Plan, SetAside, Step
from tsaudit.model.subject import Subject
from tsaudit.planning import words
from tsaudit.report import html, plans
from tsaudit.report.findings import items_of

AT = Subject("main", HOSTILE)
CHANGE = MakeField(AT, "url")
STEPS = (
    Step(Phase.WRITE, f"Write {HOSTILE} as a field.", rules=("TAG002",)),
    Step(Phase.COPY, "Copy it.", "SELECT 1", "sql", cost="reads and writes all rows"),
    Step(Phase.REMOVE, "Drop it.", "DROP TABLE x;", "sql", can_undo=False, loses="all rows of x"),
)


def _result(steps: tuple[Step, ...] = STEPS, at: Subject = AT, **changes: object) -> AuditResult:
    finding = a_finding(subject=at, changes=(MakeField(at, "url"),))
    made = Plan(at, (Asked(CHANGE, ("TAG002",)),), steps, Effect(30_000, 600, True, 0, "exact"), **changes)
    return a_result(a_rule_result(findings=(finding,)), plans=(made,))


def _page(result: AuditResult, folder: Path) -> str:
    written = report.write(result, a_profile(), empty_timeline(), (), Report(folder=str(folder)))
    return Path(written.path).read_text(encoding="utf-8")


def test_a_step_that_loses_something_hides_its_statement_behind_the_decision(tmp_path: Path) -> None:
    page = _page(_result(set_aside=(SetAside(CHANGE, ("LAY002",), "it relies on it"),)), tmp_path)
    assert "3 steps, 1 of which needs a decision" in page
    assert "Series: 30,000 now, 600 afterward." in page
    assert (
        page.index("all rows of x") < page.index("<summary>Once that is decided</summary>") < page.index("DROP TABLE x")
    )
    assert "LAY002 on <code>url</code>, because it relies on it." in page
    assert "<img" not in page


def contents_of(result: AuditResult) -> html.ReportContents:
    return html.contents_of(result, a_profile(), empty_timeline(), (), full_values=False, run_url=None, previous=None)


@pytest.mark.parametrize(
    ("fix", "before", "after"),
    [
        ("Keep it as a column. Use tags for what many rows share.", "", "Use tags for what many rows share."),
        ("Keep it as a column.", "", ""),
        ("Rename it.", "Rename it.", ""),
    ],
)
def test_a_card_does_not_repeat_the_first_step_that_its_fix_begins_with(
    fix: str, before: str, after: str, tmp_path: Path
) -> None:
    result = _result((Step(Phase.WRITE, "Keep it as a column."),))
    ((rule, finding),) = result.findings()
    changed = replace(result, results=(replace(rule, findings=(replace(finding, fix=fix),)),))
    (card,) = re.findall(r'<article id="f-.*?</article>', _page(changed, tmp_path), re.DOTALL)
    assert card.count("Keep it as a column.") == 1
    step = card.index("Only step: Keep it as a column.")
    fixes = [(found.start() < step, found[1]) for found in re.finditer(r'<p class="fix">(.*?)</p>', card)]
    assert fixes == [(True, before)] * bool(before) + [(False, after)] * bool(after)


def test_findings_lead_to_their_plan(tmp_path: Path) -> None:
    page = _page(_result(), tmp_path)
    (card,) = re.findall(r'<article id="f-.*?</article>', page, re.DOTALL)
    anchor = re.findall(r'<a href="#(p-[0-9a-f]+)">The plan: 3 steps', card)[0]
    assert f'id="{anchor}"' in page
    assert "First step of 3: Write" in card
    assert "Series: 30,000 now, 600 afterward." in card


def test_finding_whose_plan_is_not_on_the_page_has_the_command_for_it() -> None:
    found = [a_finding(subject=Subject("main", f"m{i:03}"), changes=(MakeField(Subject("main", f"m{i:03}"), "url"),),
                       fix="x") for i in range(100)]  # fmt: skip
    steps = (Step(Phase.LOOK, "Look.", "x" * 3_900, "sql"),) * 3
    made = tuple(Plan(finding.subject, (), steps) for finding in found)
    page = html.page(contents_of(a_result(a_rule_result(*found), plans=made)))
    cards = re.findall(r'<article id="f-.*?</article>', page, re.DOTALL)
    with_link = [card for card in cards if "#p-" in card]
    assert 0 < len(with_link) < len(cards)
    assert all(("#p-" in card) != ("tsaudit plan demo m" in card) for card in cards)


def test_a_statement_is_never_cut(tmp_path: Path) -> None:
    long = "SELECT " + "x" * plans.LONGEST_TEXT
    page = _page(_result((Step(Phase.LOOK, "Look.", long, "sql"),)), tmp_path)
    assert "it is too long for this page" in page
    assert "x" * 2000 not in page


def test_the_page_has_room_for_the_worst_plans_only() -> None:
    subjects = [Subject("main", f"m{i:03}") for i in range(200)]
    found = [a_finding(subject=at, changes=(MakeField(at, "url"),)) for at in subjects]
    steps = (Step(Phase.LOOK, "Look.", "x" * 3_000, "sql"),)
    result = a_result(a_rule_result(findings=tuple(found)), plans=tuple(Plan(at, (), steps) for at in subjects))
    view = plans.arrange(result.plans, items_of(result, None, ()))
    assert 0 < len(view.full) < 200
    assert len(view.full) + view.more == 200
    assert sum(len(s.step.text) for p in view.full for s in p.steps) <= plans.ROOM_BYTES


@given(st.lists(st.booleans(), min_size=1, max_size=5))
def test_steps_are_counted_as_people_say_it(decisions: list[bool]) -> None:
    steps = tuple(Step(Phase.WRITE, "Do.", loses="rows" if open_ else "") for open_ in decisions)
    said = words.summary(Plan(AT, (), steps))
    assert said.startswith(f"{len(steps)} step{'' if len(steps) == 1 else 's'}")
    assert ("decision" in said) is any(decisions)
