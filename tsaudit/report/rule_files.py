"""Writes the page of each rule beside the reports, once per version."""

from __future__ import annotations

import hashlib
from typing import Any

from tsaudit.harm import worst_of
from tsaudit.model.version import VERSION
from tsaudit.report import rule_pages, templates
from tsaudit.report.publish import Folder
from tsaudit.report.rule_pages import FOLDER


def write(folder: Folder) -> None:
    """Write all rule pages and their list, unless a run of this version with the same rules has already done so. Raises
    ReportError.

    Every run of a version writes the same bytes, so concurrent runs do no harm. The marker is written last, so the next
    run makes up for one that was interrupted.
    """
    pages = rule_pages.pages()
    texts = [(page.code, page.name, page.title, page.text, page.summary, _facts(page)) for page in pages]
    made = repr((VERSION, templates.sources(), texts))
    marker = f"{FOLDER}/_{hashlib.sha256(made.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}.json"
    if folder.read(marker) is not None:
        return
    for page in pages:
        worst = worst_of(page.rule.costs) if page.rule else None
        shown = {"version": VERSION, "page": page, "rule": page.rule, "worst": worst}
        text = templates.render("rule.html.j2", shown)
        folder.write(f"{FOLDER}/{page.code}.html", text.encode(errors="replace"))
    text = templates.render("rules.html.j2", {"version": VERSION, "pages": pages})
    folder.write(f"{FOLDER}/index.html", text.encode(errors="replace"))
    folder.write(marker, b"{}")


def _facts(page: rule_pages.Page) -> Any:
    rule = page.rule
    return rule and (
        worst_of(rule.costs),
        rule.guidelines,
        sorted(rule.engines),
        sorted(rule.requires),
        [(t, rule.by_engine(t)) for t in rule.thresholds],
    )
