"""Renders the pages of all rules as one document, from their docstrings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tsaudit.rule import Rule, Threshold
from tsaudit.text import number


def markdown(rules: Iterable[Rule]) -> str:
    """The catalog: a table of all rules, then a page for each."""
    known = tuple(rules)
    lines = [
        "# Rules",
        "",
        "Generated from the docstrings in `tsaudit/rules/`; `make golden` regenerates it.",
        "",
        "A limit is set in `tsaudit.yaml` as `<rule>.<limit>`, for all targets, for one, or for measurements by",
        "pattern; see `docs/configuration.md`.",
        "",
        "| code | rule | finds | guidelines | engines |",
        "|---|---|---|---|---|",
        *(_row(rule) for rule in known),
    ]
    for rule in known:
        # Headings are one level deeper, because all pages are in one document.
        lines += ["", *(re.sub(r"^#", "##", line, flags=re.MULTILINE) for line in page(rule))]
    return "\n".join(lines) + "\n"


def _row(rule: Rule) -> str:
    link = f"[{rule.name}](#{rule.code.lower()}-{rule.name})"
    return f"| {rule.code} | {link} | {rule.title} | {', '.join(rule.guidelines)} | {', '.join(sorted(rule.engines))} |"


def page(rule: Rule) -> Iterator[str]:
    """The lines of the rule's page, in Markdown."""
    yield f"# {rule.code} {rule.name}"
    yield ""
    yield rule.doc
    if rule.thresholds:
        yield ""
        yield "## Limits"
        yield ""
        yield "| limit | default | unit | source |"
        yield "|---|---|---|---|"
        for threshold in rule.thresholds:
            yield from _limits(rule, threshold)


def _limits(rule: Rule, threshold: Threshold) -> Iterator[str]:
    name, engines = f"`{rule.name}.{threshold.name}`", rule.by_engine(threshold)
    if threshold.default is None:
        # One line for all engines: there are many numbers for engines and their editions.
        numbers = ", ".join(f"{_number(value)} on {engine}" for engine, (value, _) in engines.items())
        sources = dict.fromkeys(source for _, source in engines.values())
        yield f"| {name} | {numbers or 'none'} | {threshold.unit} | {'; '.join((threshold.source, *sources))} |"
        return
    yield f"| {name} | {number(threshold.default)} | {threshold.unit} | {threshold.source} |"
    for engine, (value, source) in engines.items():
        yield f"| {name} on {engine} | {_number(value)} | {threshold.unit} | {source} |"


def _number(value: float | None) -> str:
    return "that of the server" if value is None else number(value)
