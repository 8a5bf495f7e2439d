"""Audit results as Markdown, for a pull request or the summary of a CI job. Names are shown, never rendered."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from tsaudit.cli import block, show
from tsaudit.text import printable, short_fingerprint
from tsaudit.text.markdown import code, escape

MOST_FINDINGS: Final = 20
"""Most findings listed below the worst one without `--all`."""
_LONGEST: Final = 1000


def lines(found: dict[str, Any], *, everything: bool, stored: bool = True) -> Iterator[str]:
    """The lines for one target, with the same content as in text format."""
    from tsaudit.summary import Summary

    yield f"## {escape(found['target'])}: {found['verdict']}"
    yield ""
    yield escape(", ".join(block.heading(found)))
    if found["summary"]["headline"]:
        yield ""
        # A statement is not shortened, but its control characters must not reach a terminal.
        yield from (show.whole(line, "") for line in Summary.from_dict(found["summary"]).in_markdown().splitlines())
    yield from _list(found, everything, stored=stored)


def _list(found: dict[str, Any], everything: bool, *, stored: bool) -> Iterator[str]:
    most = len(found["findings"]) if everything else MOST_FINDINGS
    rest = block.rest_of(found, most, everything=everything)
    items = [_finding(one) for one in rest.listed]
    if rest.left_out:
        items.append(f"{block.joined_by(found)}{rest.left_out}: {_commands(block.lists_all(found, stored=stored))}")
    if said := block.changed(found):
        items.append(f"changed: {escape(said)}")
    items += [f"unknown: {', '.join(codes)}: {escape(why)}" for why, codes in block.not_evaluated(found).items()]
    if found["error"] and not found["summary"]["headline"]:
        items.append(f"error: {escape(found['error'])}")
    if worst := block.summarized(found):
        command = code(f"tsaudit show {short_fingerprint(worst['fingerprint'])}") if stored else ""
        items.append(f"rule: {worst['code']} {worst['name']}, {worst['severity']} {command}".rstrip())
    if found["report"]:
        items.append(f"report: {code(found['report'])}")
    if items:
        yield ""
    yield from (f"- {item}" for item in items)


def _finding(one: dict[str, Any]) -> str:
    muted = " (muted)" if one["muted"] else ""
    severity, short = one["severity"], short_fingerprint(one["fingerprint"])
    return f"{severity} {one['code']} `{short}` {escape(one['headline'])}{muted}"


def _commands(text: str) -> str:
    """The text as Markdown: the only Markdown in it is our own commands in backquotes."""
    return printable(text, _LONGEST)
