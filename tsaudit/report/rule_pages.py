"""The texts of each rule for its page beside the reports: the same as `tsaudit explain` prints."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tsaudit.model.finding import RULELESS_CODES

if TYPE_CHECKING:
    from tsaudit.rule import Rule

FOLDER: Final = "rules"


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


def address(code: str) -> str:
    """The address that a report links to for a code: its page or, if there is none, the text on the report itself."""
    from tsaudit.rules import all_rules

    has_page = code in RULELESS_CODES or any(rule.code == code for rule in all_rules())
    return f"../{FOLDER}/{code}.html" if has_page else f"#r-{code}"


def pages() -> list[Page]:
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
