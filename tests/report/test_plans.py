"""The section with what to do: plans of open findings, worst measurement first, and how they are said."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.builders import a_finding, a_profile, a_result, a_rule_result
from tests.report.sample import HOSTILE, empty_timeline
from tsaudit import report
from tsaudit.config.settings import Report
from tsaudit.model.change import MakeField
from tsaudit.model.figures import Subject
from tsaudit.model.finding import AuditResult
from tsaudit.model.plan import Effect, LeftOut, Loss, Plan, Requested, Step, StepKind
from tsaudit.report import findings, html

AT = Subject("main", HOSTILE)
CHANGE = MakeField(AT, "url")
STEPS = (
    Step(StepKind.WRITER, f"Write {HOSTILE} as a field.", "[[processors.converter]]", "toml"),
    Step(StepKind.SCHEMA, "Make a table.", "SELECT 1", "sql", cost="reads and writes all rows"),
    Step(StepKind.STORED, "Drop it.", "DROP TABLE x;", "sql", loses="all rows of x"),
)
EFFECT = Effect(30_000, 600, next_tag="id", enough=("url", "id"), loss=Loss(7, 9_000, "10 minutes"))


def _plan(at: Subject, steps: tuple[Step, ...], **changes: Any) -> Plan:
    return Plan(at, (Requested(MakeField(at, "url"), ("TAG002",)),), steps, **changes)


def _result(steps: tuple[Step, ...] = STEPS, at: Subject = AT, **changes: Any) -> AuditResult:
    finding = a_finding(subject=at, changes=(MakeField(at, "url"),))
    return a_result(a_rule_result(findings=(finding,)), plans=(_plan(at, steps, effect=EFFECT, **changes),))


def _page(result: AuditResult, folder: Path) -> str:
    written = report.write(result, a_profile(), empty_timeline(), (), Report(folder=str(folder)))
    return Path(written.path).read_text(encoding="utf-8")


def test_plan_shows_what_it_achieves_and_what_each_step_loses(tmp_path: Path) -> None:
    other = Subject("main", "logins")
    page = _page(_result(left_out=(LeftOut(CHANGE, ("SRV003",), "it relies on it"),), also=(other,)), tmp_path)
    assert "3 steps, also for 1 other" in page
    assert "The same in main/logins." in page
    assert "Series: 30,000 now, 600 afterward. That is still too many: change id next; url and id together" in page
    assert "7 of the 9,000 rows compared (10 minutes) would overwrite another." in page
    assert page.index("all rows of x") < page.index("DROP TABLE x")
    assert "Left out: SRV003, because it relies on it." in page
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
    result = _result((Step(StepKind.WRITER, "Keep it as a column."),))
    ((rule, finding),) = result.findings()
    changed = replace(result, results=(replace(rule, findings=(replace(finding, fix=fix),)),))
    (card,) = re.findall(r'<article class="finding.*?</article>', _page(changed, tmp_path), re.DOTALL)
    assert card.count("Keep it as a column.") == 1
    step = card.index("Only step: Keep it as a column.")
    fixes = [(found.start() < step, found[1]) for found in re.finditer(r'<p class="fix">(.*?)</p>', card)]
    assert fixes == [(True, before)] * bool(before) + [(False, after)] * bool(after)


def test_the_worst_of_the_findings_that_ask_for_a_plan_has_it_the_others_lead_to_it(tmp_path: Path) -> None:
    result = _result()
    ((rule, finding),) = result.findings()
    twice = replace(finding, subject=replace(finding.subject, column="url"))
    page = _page(replace(result, results=(replace(rule, findings=(finding, twice)),)), tmp_path)
    first, second = re.findall(r'<article class="finding.*?</article>', page, re.DOTALL)
    (anchor,) = re.findall(r'<a href="#(p-[0-9a-f]+)">The plan: 3 steps', second)
    assert f'<summary>The plan: 3 steps</summary>\n<div id="{anchor}">' in first
    assert page.count("DROP TABLE x") == 1
    assert "Step 1 of 3: Write" in first
    assert "Series: 30,000 now, 600 afterward." in first
    assert "The same in" not in page


def test_finding_whose_plan_is_not_on_the_page_has_the_command_for_it() -> None:
    found = [a_finding(subject=Subject("main", f"m{i:03}"), changes=(MakeField(Subject("main", f"m{i:03}"), "url"),),
                       fix="x") for i in range(100)]  # fmt: skip
    steps = (Step(StepKind.FIND, "Look.", "x" * 3_900, "sql"),) * 3
    made = tuple(_plan(finding.subject, steps) for finding in found)
    page = html.page(contents_of(a_result(a_rule_result(*found), plans=made)))
    cards = re.findall(r'<article class="finding.*?</article>', page, re.DOTALL)
    with_plan = [card for card in cards if 'id="p-' in card]
    assert 0 < len(with_plan) < len(cards)
    assert all(('id="p-' in card) != ("tsaudit plan demo m" in card) for card in cards)
    assert sum(card.count("x" * 3_900) * 3_900 for card in cards) <= findings.PLANS_BYTES


def test_plans_near_a_finding_are_those_of_what_it_asks_to_change_in_their_order() -> None:
    at = [Subject("main", name) for name in "abc"]
    made = [_plan(at[1], STEPS), _plan(at[0], STEPS, also=(at[2],)), _plan(at[0], STEPS[:1])]
    index = findings.PlanIndex(made)
    assert index.near(a_finding(changes=(MakeField(at[0], "url"), MakeField(at[1], "url")))) == made
    assert index.near(a_finding(changes=(MakeField(at[2], "url"),))) == made[1:2]
    assert index.near(a_finding()) == []
