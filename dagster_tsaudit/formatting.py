"""Findings as tables in Markdown."""

from collections.abc import Iterable

from tsaudit.model.finding import Finding, RuleResult
from tsaudit.text.findings import sentence as sentence_of
from tsaudit.text.markdown import table


def findings_table(pairs: Iterable[tuple[RuleResult, Finding]]) -> str:
    """The findings with what to do, in the given order."""
    return table(
        ("severity", "rule", "where", "what", "what to do"),
        ((f.severity, f"{r.code} {r.name}", f.subject, sentence_of(f), f.fix) for r, f in pairs),
    )
