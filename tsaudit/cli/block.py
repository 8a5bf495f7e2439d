"""The output for one target on one screen: the summary of its worst finding, one line for each other finding, and a
hint how to see the rest. The same as Markdown, for a pull request or the summary of a CI job: names are shown, never
rendered.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import click

from tsaudit.cli import results, screen
from tsaudit.text import instant, listed, many, number, plural, short_fingerprint, size
from tsaudit.text.findings import tally
from tsaudit.text.markdown import code, escape

if TYPE_CHECKING:
    from tsaudit.summary import Summary

MOST_LINES: Final = 21
"""Maximum number of lines of a block without `--all`: with the prompt and a line for the next target, it fits a
terminal of 24 lines.
"""
_FEWEST_OTHERS: Final = 3
"""Minimum number of findings listed below the worst one, however long its summary is."""
_CAUSES: Final = 2
"""Maximum number of reasons listed, without `--all`, why rules could not be evaluated."""
_RESOLVED: Final = 3
_FIRST_GAP: Final = ", the first: "


def print_block(found: dict[str, Any], *, everything: bool, stored: bool = True) -> None:
    """Print the block of a target. `stored`: whether the history has the result, so that `tsaudit show` finds it."""
    for line in lines(found, everything=everything, stored=stored):
        click.echo(line)


def lines(found: dict[str, Any], *, everything: bool, stored: bool = True) -> list[str]:
    """The lines of the block. A terminal may still wrap the line with the statement."""
    above, below = [*_heading(found), *_summary(found["summary"])], list(_below(found, everything, stored=stored))
    room = MOST_LINES - sum(map(screen.rows, (*above, *below))) - 1
    rest, left_out = rest_of(found, max(room, _FEWEST_OTHERS), everything=everything)
    others = [screen.fitted(_other(one), "  ", severity=one["severity"]) for one in rest]
    if left_out:
        others.append(f"  {joined_by(found)}{left_out}: {lists_all(found, stored=stored)}")
    return [*above, *others, *below]


def rest_of(found: dict[str, Any], most: int, *, everything: bool) -> tuple[list[dict[str, Any]], str]:
    """The findings to list below the summary, at most `most`, and what is left out: `3 more, 12 notes, 2 muted`; empty
    if nothing is. `everything`: list all, with notes and muted findings.

    On the first day, notes are listed below the others: many problems are only notes then, because there is too little
    history.
    """
    worst = summarized(found)
    others = [one for one in found["findings"] if one is not worst]
    if everything:
        return others, ""
    open_ones = [one for one in others if not one["muted"]]
    shown = [one for one in open_ones if one["severity"] != "note" or found["first"]][:most]
    left = Counter(one["severity"] == "note" for one in open_ones)
    left.subtract(one["severity"] == "note" for one in shown)
    counts = ((left[False], "more"), (left[True], plural(left[True], "note")), (len(others) - len(open_ones), "muted"))
    return shown, ", ".join(f"{number(count)} {word}" for count, word in counts if count)


def summarized(found: dict[str, Any]) -> dict[str, Any] | None:
    """The finding that the summary is about; None if it is about no finding."""
    return next((one for one in found["findings"] if one["fingerprint"] == found["summary"]["fingerprint"]), None)


def lists_all(found: dict[str, Any], *, stored: bool) -> str:
    """A hint how to see all findings."""
    return f"`tsaudit show {found['target']}` lists all" if stored else "pass --all to list them"


def joined_by(found: dict[str, Any]) -> str:
    """The word before what is left out, if a finding is shown above it."""
    return "and " if summarized(found) else ""


def changed(found: dict[str, Any]) -> str:
    """The numbers of new and worse findings since the previous day, and those that are resolved or are only a note now,
    in one line; empty if there are none. What the day's earlier audits found counts as resolved, too.

    On the first day, all findings are new, which is not worth a line. What is muted, and what an earlier audit of the
    day found and this one could not look for, is not counted.
    """
    here = {one["fingerprint"] for one in found["findings"]}
    muted = {one["fingerprint"] for one in found["findings"] if one["muted"]}
    by_kind: dict[str, list[dict[str, Any]]] = {}
    for change in found["changes"]:
        if change["kind"] == "resolved" or change["fingerprint"] in here - muted:
            by_kind.setdefault(change["kind"], []).append(change)
    words = () if found["first"] else (("opened", "new"), ("raised", "worse"), ("lowered", "milder"))
    counts = ", ".join(f"{number(len(by_kind[kind]))} {word}" for kind, word in words if kind in by_kind)
    over: dict[str, list[str]] = {}
    for one in by_kind.get("resolved", ()):
        how = "only a note now" if one["fingerprint"] in here else "resolved"
        over.setdefault(how, []).append(f"{one['code']} {one['subject']}")
    parts = [counts, *(f"{how}: {listed(names, _RESOLVED)}" for how, names in over.items())]
    return "; ".join(filter(None, parts))


def not_evaluated(found: dict[str, Any]) -> dict[str, list[str]]:
    """Reason, empty if the summary has it, to the codes of the rules that could not be evaluated for it, without codes
    that are findings already.

    Rules with the same first gap are named together, however many gaps each of them has.
    """
    alike: dict[str, list[str]] = {}
    for one in results.unknown_rules(found):
        reason = one["reason"] or one["outcome"]
        reason = reason.partition(_FIRST_GAP)[2] or reason
        alike.setdefault("" if reason in found["summary"]["first_step"] else reason, []).append(one["code"])
    return alike


def heading(found: dict[str, Any]) -> list[str]:
    """The parts of the heading: engine, day, when it was audited if a later audit of the day failed, series of the
    whole target if all were counted, and findings by severity. Unknown parts are left out, and so are the series of a
    target that has none.
    """
    engine = f"{found['engine']} {found['server_version']}".strip()
    measured = found["measured"]
    counted = many(measured["series"], "series") if measured and measured["series"] else ""
    # As a figure by itself, it would be taken for the number of devices.
    counted += " by guessed tags" if counted and measured["guessed_tags"] else ""
    counts = tally(one["severity"] for one in found["findings"] if not one["muted"])
    audited, failed = (at and instant(datetime.fromisoformat(at)) for at in (found["audited_at"], found["failed_at"]))
    kept = failed and f"as of {audited}, because the audit at {failed} failed"
    return [part for part in (engine, found["day"], kept, counted, counts) if part]


def _heading(found: dict[str, Any]) -> Iterator[str]:
    after = "  ".join(map(screen.clean, heading(found)))
    yield f"{click.style(found['target'], bold=True)}  {screen.word(found['verdict'])}  {after}"


def _summary(summary: dict[str, Any]) -> Iterator[str]:
    if not summary["headline"]:
        return
    from tsaudit.summary import Summary

    yield from brief(Summary.from_dict(summary))
    if summary["first_step"]:
        yield from screen.wrapped(summary["first_step"], "  ")
    yield from (screen.whole(line, "    ") for line in summary["statement"].splitlines())


def brief(summary: Summary) -> Iterator[str]:
    """What is wrong: the headline of a finding, followed by its figures."""
    yield from screen.wrapped(summary.headline, "  ")
    yield from screen.figures(((figure.label, figure.text) for figure in summary.figures), "    ")


def _other(one: dict[str, Any]) -> str:
    said = f"{one['severity']:8}  {one['code']}  {short_fingerprint(one['fingerprint'])}  {one['headline']}"
    return f"{said} ({decided})" if (decided := _decided(one)) else said


def _named(one: dict[str, Any]) -> str:
    """The finding's rule, its severity, and what somebody decided about it."""
    return ", ".join(filter(None, (f"{one['code']} {one['name']}", one["severity"], _decided(one))))


def _decided(one: dict[str, Any]) -> str:
    """What somebody decided about the finding: `muted`, `acknowledged by ann`; empty if nobody did."""
    by = f"acknowledged by {one['acknowledged_by']}" if one["acknowledged_by"] else ""
    return "muted" if one["muted"] else by


def _below(found: dict[str, Any], everything: bool, *, stored: bool) -> Iterator[str]:
    if said := changed(found):
        yield screen.fitted(f"changed: {said}", "  ")
    yield from _unknown(found, everything)
    if everything:
        yield from _left_out(found)
    if (cost := found["cost"]) and cost["bytes_metered"] is not None:
        yield f"  cost    {_charged(cost)}"
    is_offered = any(one["severity"] != "note" and not one["muted"] for one in found["findings"])
    if found["first"] and found["measured"] and not found["failed_at"] and is_offered:
        offer = f"`tsaudit baseline --target {found['target']} --dry-run` shows what a baseline would cover"
        yield from screen.wrapped(f"first audit: {offer}", "  ")
    if worst := summarized(found):
        short, what = short_fingerprint(worst["fingerprint"]), _named(worst)
        yield screen.fitted(f"more    tsaudit show {short}  ({what})" if stored else f"rule    {what}", "  ")
    if found["plans"]:
        every = f"tsaudit plan {found['target']}"
        whole, others = found["summary"]["rest"] or every, len(found["plans"]) - 1
        more = f"  ({many(others, 'other plan')}: {every})" if others and whole != every else ""
        yield screen.whole(f"plan    {whole}{more}", "  ")
    if found["report"]:
        yield screen.whole(f"report  {found['report']}", "  ")


def _left_out(found: dict[str, Any]) -> Iterator[str]:
    """What some rules do not evaluate, once for all of them: many leave out the same tables."""
    codes: dict[str, list[str]] = {}
    for one in found["left_out"]:
        for part in one["left_out"].split("; "):
            codes.setdefault(part, []).append(one["code"])
    for part, by in codes.items():
        yield from screen.wrapped(f"{'left out':8}  {part}: {', '.join(by)}", "  ")


def _unknown(found: dict[str, Any], everything: bool) -> Iterator[str]:
    if not found["complete"] and not found["not_evaluated"] and not found["error"]:
        yield "  incomplete: not everything was measured, but no rule needed it; the report lists the gaps"
    causes = not_evaluated(found)
    for reason, codes in list(causes.items())[: None if everything else _CAUSES]:
        text = f"{'unknown':8}  {', '.join(codes)}{reason and f': {reason}'}"
        yield from screen.wrapped(text, "  ") if everything else [screen.fitted(text, "  ", severity="unknown")]
    if not everything and len(causes) > _CAUSES:
        codes = [code for some in list(causes.values())[_CAUSES:] for code in some]
        rules, reasons = plural(len(codes), "rule"), many(len(causes) - _CAUSES, "other reason")
        yield f"  {'unknown':8}  {number(len(codes))} more {rules} for {reasons}; the report has them"


def _charged(cost: dict[str, Any]) -> str:
    """What the provider will bill for the audit."""
    scanned, metered = size(cost["bytes_scanned"] or 0), size(cost["bytes_metered"])
    return f"{many(cost['statements'], 'statement')}, {scanned} scanned, {metered} billed"


MOST_FINDINGS: Final = 20
"""Most findings listed below the worst one without `--all`."""


def markdown(found: dict[str, Any], *, everything: bool, stored: bool = True) -> Iterator[str]:
    """The lines of Markdown for one target, with the same content as in text format."""
    from tsaudit.summary import Summary

    yield f"## {escape(found['target'])}: {found['verdict']}"
    yield ""
    yield escape(", ".join(heading(found)))
    if found["summary"]["headline"]:
        yield ""
        # A statement is not shortened, but its control characters must not reach a terminal.
        yield from (screen.whole(line, "") for line in Summary.from_dict(found["summary"]).in_markdown().splitlines())
    yield from _markdown_list(found, everything, stored=stored)


def _markdown_list(found: dict[str, Any], everything: bool, *, stored: bool) -> Iterator[str]:
    rest, left_out = rest_of(found, MOST_FINDINGS, everything=everything)
    items = [_markdown_finding(one) for one in rest]
    if left_out:
        items.append(f"{joined_by(found)}{left_out}: {screen.clean(lists_all(found, stored=stored))}")
    if said := changed(found):
        items.append(f"changed: {escape(said)}")
    items += [f"unknown: {', '.join(codes)}{why and f': {escape(why)}'}" for why, codes in not_evaluated(found).items()]
    if found["error"] and not found["summary"]["headline"]:
        items.append(f"error: {escape(found['error'])}")
    if worst := summarized(found):
        command = code(f"tsaudit show {short_fingerprint(worst['fingerprint'])}") if stored else ""
        items.append(f"rule: {escape(_named(worst))} {command}".rstrip())
    if found["report"]:
        items.append(f"report: {code(found['report'])}")
    if items:
        yield ""
    yield from (f"- {item}" for item in items)


def _markdown_finding(one: dict[str, Any]) -> str:
    decided = f" ({escape(_decided(one))})" if _decided(one) else ""
    severity, short = one["severity"], short_fingerprint(one["fingerprint"])
    return f"{severity} {one['code']} `{short}` {escape(one['headline'])}{decided}"
