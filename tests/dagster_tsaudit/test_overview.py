"""The asset that people begin with."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import pytest

from dagster_tsaudit.overview import overview
from dagster_tsaudit.plan import encode
from tests.dagster_tsaudit.runs import a_plan, write_config
from tests.dagster_tsaudit.test_plan import many
from tests.report import sample
from tests.report.test_index import an_entry
from tsaudit.model.finding import Verdict

LONG = "main/http_requests: Tag request_id takes a new value with each row, and the series reach the limit in 4 days"


@pytest.mark.parametrize("count", [10, 100, 1000])
def test_the_most_urgent_are_on_the_page_and_all_are_counted(count: int) -> None:
    verdicts = [Verdict.CRITICAL, Verdict.CRITICAL, Verdict.WARNING, Verdict.UNKNOWN, *[Verdict.OK] * 5]
    entries = [an_entry(f"t-{n}", verdict=verdicts[n % 10], headline=LONG) for n in range(count) if n % 10 < 9]
    plan = many(count)
    shown = {name: entry.value for name, entry in overview(plan, entries, None).metadata.items()}
    shown = {name: text.replace("\u200b", "") if isinstance(text, str) else text for name, text in shown.items()}
    named = ["critical", "warning", "unknown", "never_audited", "ok"]
    plotted = [f"targets_{verdict}" for verdict in ("critical", "warning", "unknown", "ok")]
    assert list(shown) == ["summary", *named, *plotted]
    tenth = count // 10
    assert [shown[name] for name in plotted] == [2 * tenth, tenth, tenth, 5 * tenth]
    tally = f"{2 * tenth} critical, {tenth} warning, {tenth} unknown, {tenth} never audited, {5 * tenth} ok"
    assert shown["summary"] == f"{count:,} targets: {tally}"
    for name in named:
        text, number = str(shown[name]), shown.get(f"targets_{name}", tenth)
        assert len(text) < 1000, "Dagster hides it"
        listed, more = (
            re.findall(r"^- \[t-\d+\]\((.+?)\)", text, re.MULTILINE),
            re.search(r"^and (\d+) more$", text, re.M),
        )
        assert len(listed) + int(more[1] if more else 0) == number
    place = f"group/{encode('group 0')}" if count == 1000 else encode("t-0")
    assert str(shown["critical"]).startswith(f"- [t-0](/assets/tsaudit/{place}?view=checks): main/http")


def test_links_lead_to_reports_and_names_from_elsewhere_are_harmless(tmp_path: Path) -> None:
    config = write_config(tmp_path, "a", "late")
    plan = a_plan(config, dagster_url="https://dagster.example.com")
    hostile = an_entry("a", headline=f"[x](http://evil) {sample.HOSTILE}")
    late = an_entry("late", verdict=Verdict.OK, day=hostile.day - timedelta(days=3), muted=2)
    entries = [an_entry("of another component"), hostile, late]
    shown = overview(plan, entries, "https://audits.example.com/x y").metadata
    text = str(shown["warning"].value).replace("\u200b", "")
    assert text.startswith("- [a](https://dagster.example.com/assets/tsaudit/a?view=checks): \\[x\\]\\(http:")
    assert text.endswith(" ([report](<https://audits.example.com/x%20y/a/latest.html>))")
    assert "[Index of reports](<https://audits.example.com/x%20y/index.html>)" in str(shown["summary"].value)
    assert "view=checks), 2 muted, last audited 2026-03-28 (" in str(shown["ok"].value)
    assert "another" not in str(shown)


def test_every_word_wraps_on_a_narrow_page(tmp_path: Path) -> None:
    """An address in the reason of an unknown target widened the table, so that the page cut off its right side."""
    address = "cannot connect to 127.0.0.1:55491/billing_of_the_eastern_region: permission denied"
    entries = [an_entry("a", verdict=Verdict.UNKNOWN, headline=address), an_entry("x" * 60, headline="x" * 60)]
    shown = overview(a_plan(write_config(tmp_path, "a", "x" * 60)), entries, None).metadata
    for name in ("warning", "unknown"):
        text = re.sub(r"\]\(\S+\)", "] ", str(shown[name].value))
        assert max(map(len, re.split("[\u200b ]", text))) <= 20
    assert address in str(shown["unknown"].value).replace("\u200b", "").replace("\\", "")
