"""Findings as Markdown. Names and messages hold text read from databases: it is shown, never rendered."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from tsaudit.model.finding import Finding, RuleResult
from tsaudit.text import number
from tsaudit.text.findings import sentence as in_words

MAX_ROWS: Final = 50
"""Of a table: Dagster keeps each one in its event log for good, and pages grow slow."""


def escape(text: object) -> str:
    """The text in one line with everything that Markdown would act on made harmless."""
    line = " ".join(str(text).split())
    return re.sub(r"([\\`*_{}\[\]<>()#|!~&])", r"\\\1", line)


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table of at most MAX_ROWS rows; a last line says how many are left out."""
    found = list(rows)
    lines = ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
    lines += ["| " + " | ".join(escape(cell) for cell in row) + " |" for row in found[:MAX_ROWS]]
    if len(found) > MAX_ROWS:
        lines.append(f"\n{number(len(found) - MAX_ROWS)} more are in the report.")
    return "\n".join(lines)


def sentence(rule: RuleResult, finding: Finding) -> str:
    """The finding in one plain line."""
    return f"{rule.code} {finding.subject}: {in_words(finding)}"


def findings_table(pairs: Iterable[tuple[RuleResult, Finding]]) -> str:
    """The findings with what to do, in the given order."""
    return table(
        ("severity", "rule", "where", "what", "what to do"),
        ((f.severity, f"{r.code} {r.name}", f.subject, in_words(f), f.fix) for r, f in pairs),
    )
