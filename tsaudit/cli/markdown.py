"""Audit results as Markdown, for a pull request or the summary of a CI job. Names are shown, never rendered."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from tsaudit.cli import block
from tsaudit.text import printable, short_fingerprint
from tsaudit.text.findings import severity_word, tally

MOST_FINDINGS: Final = 20
"""Below the worst one, without `--all`."""
_LONGEST: Final = 1000
_SYNTAX: Final = re.compile(r"([\\`*_{}\[\]<>()#|!~&@])")


def lines(found: dict[str, Any], *, everything: bool, stored: bool = True) -> Iterator[str]:
    """One target, with the content that it has as text."""
    story = found["story"]
    yield f"## {escape(found['target'])}: {severity_word(found['verdict'])}"
    yield ""
    engine = f"{found['engine']} {found['server_version']}".strip()
    counts = tally(one["severity"] for one in found["findings"] if not one["settled"])
    yield escape(", ".join(filter(None, (engine, found["day"], counts))))
    if story["headline"]:
        yield from ("", f"**{escape(story['headline'])}**")
    if story["figures"]:
        yield from ("", "| | | |", "|---|---|---|")
        for figure in story["figures"]:
            yield f"| {' | '.join(escape(figure[key]) for key in ('label', 'value', 'note'))} |"
    if story["first_step"]:
        yield from ("", escape(story["first_step"]))
    if story["statement"]:
        yield from ("", *_code_block(story["statement"]))
    yield from _list(found, everything, stored=stored)


def escape(text: str) -> str:
    """The text on one line, with all Markdown syntax escaped."""
    return _SYNTAX.sub(r"\\\1", printable(" ".join(text.split()), _LONGEST))


def _list(found: dict[str, Any], everything: bool, *, stored: bool) -> Iterator[str]:
    most = len(found["findings"]) if everything else MOST_FINDINGS
    rest = block.rest_of(found, most, everything=everything)
    items = [_finding(one) for one in rest.listed]
    if rest.left_out:
        items.append(f"{block.joined_by(found)}{rest.left_out}: {_commands(block.lists_all(found, stored=stored))}")
    if said := block.changed(found):
        items.append(f"changed: {escape(said)}")
    items += [f"unknown: {', '.join(codes)}: {escape(why)}" for why, codes in block.not_judged(found).items()]
    if found["error"] and not found["story"]["headline"]:
        items.append(f"error: {escape(found['error'])}")
    if story_command := found["story"]["rest"]:
        items.append(f"whole plan: {_code(story_command)}")
    if worst := block.told(found):
        command = _code(f"tsaudit show {short_fingerprint(worst['fingerprint'])}") if stored else ""
        items.append(f"rule: {worst['code']} {worst['name']}, {severity_word(worst['severity'])} {command}".rstrip())
    if found["report"]:
        items.append(f"report: {_code(found['report'])}")
    if items:
        yield ""
    yield from (f"- {item}" for item in items)


def _finding(one: dict[str, Any]) -> str:
    settled = " (accepted or snoozed)" if one["settled"] else ""
    severity, mark = severity_word(one["severity"]), short_fingerprint(one["fingerprint"])
    return f"{severity} {one['code']} `{mark}` {escape(one['headline'])}{settled}"


def _commands(text: str) -> str:
    """The text, whose only Markdown is commands of ours in backquotes."""
    return printable(text, _LONGEST)


def _code(text: str) -> str:
    fence = "`" * (_longest_run(text) + 1)
    return f"{fence} {printable(text, _LONGEST)} {fence}" if len(fence) > 1 else f"`{printable(text, _LONGEST)}`"


def _code_block(text: str) -> tuple[str, str, str]:
    fence = "`" * max(3, _longest_run(text) + 1)
    return fence, printable(text, _LONGEST), fence


def _longest_run(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)
