"""The rich sample's report as a file to be reviewed; TSAUDIT_REBASELINE=1 writes it anew.

Style and script are left out: they have tests of their own, and would drown what the page says.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.report import sample
from tsaudit.report import html, index

GOLDEN = Path(__file__).parent.parent / "golden"


def without_style(page: str) -> str:
    page = re.sub(r"<(style|script)>.*?</\1>", r"<\1></\1>", page, flags=re.DOTALL)
    return re.sub(r"sha256-[A-Za-z0-9+/=]+", "sha256-", page)


def pages() -> dict[str, str]:
    lost = html.contents_of(
        sample.unreachable(),
        None,
        sample.the_timeline(),
        (),
        full_values=False,
        run_url=None,
        previous=None,
    )
    summaries = (sample.the_contents(), lost)
    entries = {f"{s.result.target}.json": index.to_json(index.entry_of(s)) for s in summaries}
    return {
        "report.html": html.page(summaries[0]),
        "report_unreachable.html": html.page(summaries[1]),
        "report_index.html": index.page(*index.listed(entries)),
    }


@pytest.mark.golden
@pytest.mark.parametrize("name", ["report.html", "report_unreachable.html", "report_index.html"])
def test_page_is_as_reviewed(name: str) -> None:
    page = without_style(pages()[name])
    file = GOLDEN / name
    if os.environ.get("TSAUDIT_REBASELINE"):
        file.write_text(page, encoding="utf-8")
    assert page == file.read_text(encoding="utf-8"), f"{name} has changed: review it, then `make golden`"
