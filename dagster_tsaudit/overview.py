"""The asset where people start: it lists the targets of a component, most urgent first."""

import re
from collections.abc import Iterable, Sequence
from datetime import date
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

import dagster as dg

from dagster_tsaudit.checks import numbers
from dagster_tsaudit.metadata import address
from dagster_tsaudit.plan import KEY_PREFIX, AssetPlan
from tsaudit.model.finding import Verdict
from tsaudit.text import many, number, printable
from tsaudit.text.markdown import escape

if TYPE_CHECKING:
    from tsaudit.report.index import IndexEntry

_SHOWN: Final = 950
"""Maximum characters of Markdown for each verdict on the asset's page: Dagster hides texts of 1,000 characters or more
behind a click.
"""
_HEADLINE: Final = 240
"""Maximum characters of a headline."""
_NO_WIDTH: Final = "\u200b"
"""A zero-width space."""
_LONG_WORD: Final = re.compile(r"\S{16,}")
"""As many characters fit beside the longest of Dagster's own keys on a page of 1,200 pixels."""
_PARTS: Final = re.compile(r"[^\W_]{1,16}[\W_]*|[\W_]+")
"""Letters and digits with what follows them, so that an escaping backslash stays with its character."""
_MISSING: Final = "never_audited"
_ORDER: Final = (*(verdict.value for verdict in reversed(Verdict) if verdict is not Verdict.OK), _MISSING, "ok")


def overview_spec(plan: AssetPlan) -> dg.AssetSpec:
    """The asset's spec. The asset is external: each audit step materializes it at its end."""
    return dg.AssetSpec(
        key=_key(plan),
        group_name=plan.name,
        description=f"All targets of {plan.name} by urgency. Every audit brings it up to date.",
        kinds={"report"},
    )


def overview(plan: AssetPlan, entries: Iterable["IndexEntry"], base_url: str | None) -> dg.AssetMaterialization:
    """The materialization with the newest audits of the plan's targets. `entries`: most urgent first; they may include
    targets of other components.
    """
    pages = {target.name: f"{_page(plan, unit.key)}?view=checks" for unit in plan.units for target in unit.targets}
    ours = [entry for entry in entries if entry.target in pages]
    newest = max((entry.day for entry in ours), default=None)
    lines: dict[str, list[str]] = {verdict: [] for verdict in _ORDER}
    for entry in ours:
        lines[entry.verdict.value].append(_link(entry.target, pages.pop(entry.target)) + _said(entry, newest, base_url))
    lines[_MISSING] = [_link(name, page) for name, page in sorted(pages.items())]
    found = {verdict: of for verdict, of in lines.items() if of}
    tally = ", ".join(f"{number(len(of))} {_words(verdict)}" for verdict, of in found.items())
    index = f"\n\n[Index of reports]({address(f'{base_url}/index.html')})" if base_url else ""
    texts = {"summary": f"{many(sum(map(len, found.values())), 'target')}: {tally}{index}"}
    texts |= {verdict: _first(of) for verdict, of in found.items()}
    counts = {f"targets_{verdict}": len(lines[verdict.value]) for verdict in reversed(Verdict)}
    return dg.AssetMaterialization(
        _key(plan), metadata={**{name: dg.MetadataValue.md(text) for name, text in texts.items()}, **numbers(**counts)}
    )


def link_to_overview(plan: AssetPlan) -> str:
    """A Markdown link to the overview."""
    return f"[All targets by urgency]({_page(plan, _key(plan))})"


def _page(plan: AssetPlan, key: dg.AssetKey) -> str:
    """The address of the asset's page; if the configuration does not give Dagster's address, relative to the page with
    the link.
    """
    return f"{plan.dagster_url or ''}/assets/{'/'.join(map(quote, key.path))}"


def _key(plan: AssetPlan) -> dg.AssetKey:
    # No target or group has this key: a target's key has two parts, and a group's has `group` in the middle.
    return dg.AssetKey([KEY_PREFIX, "overview", plan.name])


def _link(target: str, page: str) -> str:
    return f"[{_wrapping(escape(target))}]({page})"


def _wrapping(markdown: str) -> str:
    """The escaped text with places to wrap in long words, such as addresses and paths: what does not wrap widens the
    table on the asset's page, which cuts off its right side.
    """
    return _LONG_WORD.sub(lambda word: _NO_WIDTH.join(_PARTS.findall(word[0])), markdown)


def _said(entry: "IndexEntry", newest: date | None, base_url: str | None) -> str:
    """The text after the target's name."""
    headline = "" if entry.verdict is Verdict.OK else f": {_wrapping(escape(printable(entry.headline, _HEADLINE)))}"
    muted = f", {number(entry.muted)} muted" if entry.muted else ""
    behind = f", last audited {entry.day}" if entry.day != newest else ""
    report = f" ([report]({address(f'{base_url}/{entry.href}')}))" if base_url else ""
    return f"{headline}{muted}{behind}{report}"


def _words(verdict: str) -> str:
    return verdict.replace("_", " ")


def _first(lines: Sequence[str]) -> str:
    """A list of as many lines as fit, at least one, and how many more there are."""
    shown: list[str] = []
    room = _SHOWN
    for line in lines:
        room -= len(line) + len("- \n")
        if shown and room < 0:
            break
        shown.append(f"- {line}")
    left = len(lines) - len(shown)
    return "\n".join([*shown, *([f"\nand {number(left)} more"] if left else [])])
