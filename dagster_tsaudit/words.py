"""Findings as Markdown. Names and messages contain text from databases: it is shown, never rendered."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from tsaudit.model.finding import Finding, RuleResult
from tsaudit.story import Story
from tsaudit.text import number
from tsaudit.text.findings import sentence as in_words
from tsaudit.text.findings import severity_word

MAX_ROWS: Final = 50
"""Rows in a table: Dagster stores each of them in its event log permanently, and pages become slow."""


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


def findings_table(pairs: Iterable[tuple[RuleResult, Finding]]) -> str:
    """The findings with what to do, in the given order."""
    return table(
        ("severity", "rule", "where", "what", "what to do"),
        ((severity_word(f.severity), f"{r.code} {r.name}", f.subject, in_words(f), f.fix) for r, f in pairs),
    )


def in_markdown(told: Story) -> str:
    """The story in the order of all outputs: headline, figures, first step with its statement, and the rest."""
    parts = [f"**{escape(told.headline)}**"]
    if told.figures:
        parts.append("\n".join(f"- {escape(figure.label)}: {escape(figure.text)}" for figure in told.figures))
    if told.first_step:
        parts.append(escape(told.first_step))
    if told.statement:
        parts.append(statement(told.statement))
    if told.rest:
        parts.append(f"The whole plan: {code(told.rest)}")
    return "\n\n".join(parts)


def statement(text: str) -> str:
    """The text as it is, to be copied, in a line that wraps: a block does not, and widens Dagster's pages, which then
    cut off whatever is beside it.
    """
    if text != " ".join(text.split()):
        # A browser would show, and copy, a single blank.
        return code_block(text)
    longest = _longest_run(text)
    fence, blank = "`" * (longest + 1), " " if longest else ""
    return f"{fence}{blank}{text}{blank}{fence}"


def code_block(text: str) -> str:
    """The text as it is, to be copied: the fence is longer than any in the text."""
    fence = "`" * max(3, _longest_run(text) + 1)
    return f"{fence}\n{text}\n{fence}"


def code(text: str) -> str:
    """The text as inline code; in one line, and with back quotes, which would end it, left out."""
    return f"`{' '.join(text.split()).replace('`', ' ')}`"


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)
