"""Findings as Markdown. Names and messages contain text from databases: it is shown, never rendered."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from tsaudit.model.finding import Finding, RuleResult
from tsaudit.model.plan import Plan
from tsaudit.model.subject import Subject
from tsaudit.planning import words
from tsaudit.text import number
from tsaudit.text.findings import sentence as in_words

MAX_ROWS: Final = 50
"""Rows in a table: Dagster stores each of them in its event log permanently, and pages become slow."""


MAX_PLANS: Final = 5
"""Of which the first step is shown: a description is read in a list of checks."""


def escape(text: object) -> str:
    """The text on one line with all Markdown syntax escaped."""
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


def first_steps(findings: Iterable[Finding], plans: Sequence[Plan], target: str) -> str:
    """How the plans of the findings begin, and how to see the rest of each, as Markdown; empty without plans."""
    asked = {plan.subject: plan for finding in findings if (plan := words.of_finding(finding, plans))}
    said = [_first_step(plan, target) for plan in list(asked.values())[:MAX_PLANS]]
    if len(asked) > MAX_PLANS:
        said.append(f"{number(len(asked) - MAX_PLANS)} more: {code(words.command(Subject(), target))}")
    return "\n\n".join(said)


def _first_step(plan: Plan, target: str) -> str:
    begins = words.beginning(plan, target)
    assert begins is not None  # plans without steps are nobody's
    lines = [f"{escape(plan.subject)}: {escape(begins.sentence)}"]
    if begins.statement and "`" not in begins.statement:
        lines.append(f"```\n{begins.statement}\n```")
    return "\n\n".join([*lines, f"The whole plan: {code(begins.rest)}"])


def code(text: str) -> str:
    """The text as inline code; in one line, and with back quotes, which would end it, left out."""
    return f"`{' '.join(text.split()).replace('`', ' ')}`"
