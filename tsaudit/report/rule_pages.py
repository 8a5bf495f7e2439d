"""A page for each rule beside the reports, with the texts that `tsaudit explain` prints; written once per version."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tsaudit.harm import worst_of
from tsaudit.model.finding import RULELESS_CODES
from tsaudit.model.version import VERSION
from tsaudit.report import templates
from tsaudit.report.publish import Folder
from tsaudit.report.templates import RULES

if TYPE_CHECKING:
    from tsaudit.rule import Rule


@dataclass(frozen=True, slots=True)
class Page:
    """One code with its texts."""

    code: str
    name: str
    title: str
    text: str
    """The text in Markdown."""
    summary: str
    """One paragraph of Markdown for the list of all rules."""
    rule: Rule | None = None
    """The rule; None for a finding without a rule."""


def write(folder: Folder) -> None:
    """Write all rule pages and their list, unless a run of this version with the same rules has already done so. Raises
    ReportError.

    Every run of a version writes the same bytes, so concurrent runs do no harm. The marker is written last, so the next
    run makes up for one that was interrupted.
    """
    pages = _pages()
    texts = [(page.code, page.name, page.title, page.text, page.summary, _facts(page.rule)) for page in pages]
    made = repr((VERSION, templates.sources(), texts))
    marker = f"{RULES}/_{hashlib.sha256(made.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}.json"
    if folder.read(marker) is not None:
        return
    for page in pages:
        worst = worst_of(page.rule.costs) if page.rule else None
        shown = {"version": VERSION, "page": page, "rule": page.rule, "worst": worst}
        text = templates.render("rule.html.j2", shown)
        folder.write(f"{RULES}/{page.code}.html", text.encode(errors="replace"))
    text = templates.render("rules.html.j2", {"version": VERSION, "pages": pages})
    folder.write(f"{RULES}/index.html", text.encode(errors="replace"))
    folder.write(marker, b"{}")


def _pages() -> list[Page]:
    """Every code with its texts, those without a rule last."""
    from tsaudit.rules import all_rules

    found = [Page(rule.code, rule.name, rule.title, rule.doc, rule.summary, rule) for rule in all_rules()]
    return [*found, *_without_rule()]


def _without_rule() -> Iterator[Page]:
    from tsaudit.not_audited import TEXTS

    for code, name in RULELESS_CODES.items():
        about = TEXTS[code]
        text = f"## Why it matters\n\n{about.why}\n\n## Fix\n\n{about.fix}"
        yield Page(code, name, about.title, text, about.why)


def _facts(rule: Rule | None) -> Any:
    return rule and (
        worst_of(rule.costs),
        rule.guidelines,
        sorted(rule.engines),
        sorted(rule.requires),
        [(t, rule.by_engine(t)) for t in rule.thresholds],
    )
