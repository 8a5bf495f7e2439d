"""The template environment: what templates can use, and how everything they show is made safe."""

from __future__ import annotations

import base64
import functools
import hashlib
import os
import sys
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from markupsafe import Markup

from tsaudit.analysis.cardinality.contributions import share_of
from tsaudit.model.finding import RULELESS_CODES, Finding, Severity, Verdict
from tsaudit.planning import describe
from tsaudit.report import changes, charts, definitions, findings, tables, untrusted
from tsaudit.rules.rule_texts import rule_texts
from tsaudit.text import (
    NOT_KNOWN,
    change,
    day,
    duration,
    figure,
    in_full,
    instant,
    listed,
    many,
    number,
    percent,
    plural,
    quantity,
    short_fingerprint,
    size,
)
from tsaudit.text.findings import limit_reached, of_severity, origin, pace, reason

if TYPE_CHECKING:
    from jinja2 import Environment

_HERE: Final = Path(__file__).parent
WORDS: Final = {"ok": "OK", "unknown": "Unknown", "note": "Note", "warning": "Warning", "critical": "Critical"}
"""The words for verdicts and severities."""
RULES: Final = "rules"
"""Name of the folder with the pages of rules."""


def render(template: str, view: Mapping[str, Any]) -> str:
    """The filled-in template of this package. Everything in `view` is escaped and made safe."""
    return _environment().get_template(template).render(view)


def sources() -> tuple[str, ...]:
    """The style sheet, the script, and the templates that determine how every page looks."""
    return tuple(_asset(name) for name in ("style.css", "script.js", "base.html.j2", "rule.html.j2", "rules.html.j2"))


def rule_address(code: str) -> str:
    """The address that a report links to for a code: its page or, if there is none, the text on the report itself."""
    has_page = code in RULELESS_CODES or any(text.code == code for text in rule_texts())
    return f"../{RULES}/{code}.html" if has_page else f"#r-{code}"


@functools.cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemBytecodeCache, FileSystemLoader, StrictUndefined

    # Compiling the templates takes a third as long as the audit of a small database. The compiled templates are stored
    # like bytecode, where only users can write who could also change the code.
    beside = _HERE / "__pycache__"
    is_kept = not sys.dont_write_bytecode and os.access(beside, os.W_OK)
    environment = Environment(
        loader=FileSystemLoader(_HERE),
        bytecode_cache=FileSystemBytecodeCache(str(beside), "%s.jinja") if is_kept else None,
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_harmless,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        number=number,
        percent=percent,
        short_fingerprint=short_fingerprint,
        change=change,
        day=lambda moment: untrusted.unbroken(day(moment)),
        instant=instant,
        duration=duration,
        size=lambda count: NOT_KNOWN if count is None else size(count),
        many=many,
        plural=plural,
        listed=listed,
        limit_reached=lambda forecast: _capitalized(limit_reached(forecast)),
        pace=pace,
        cut=untrusted.cut,
        code=untrusted.with_code,
        preformatted=lambda text: Markup.escape(untrusted.cut(untrusted.block(text), findings.LONGEST_TEXT)),
        statement=lambda text: Markup.escape(untrusted.block(text)),
        markdown=untrusted.markdown,
        inline=untrusted.markdown_line,
        in_full=in_full,
        prose=lambda text: untrusted.prose(untrusted.cut(text, findings.LONGEST_TEXT)),
        is_exact=lambda text: untrusted.block(text) == text,
        verdict_word=WORDS.__getitem__,
        heat_level=_heat_level,
        reason=reason,
        origin=lambda limit: untrusted.cut(origin(limit), 60),
        last_day=lambda window: untrusted.unbroken(day(window.end - timedelta(microseconds=1))),
        trend_note=_trend_note,
        spark=lambda trend: charts.sparkline([p.value for p in trend.points], trend.limit),
        identity=id,
        tally=_tally,
        tallies=_tallies,
        web_address=lambda text: text.startswith(("https://", "http://")) and not set(text) & set(" \"'<>"),
    )
    style, script = _asset("style.css"), _asset("script.js")
    environment.globals.update(
        style=style,
        script=script,
        style_hash=_hash(style),
        script_hash=_hash(script),
        figure=figure,
        bar=charts.bar,
        sparkline=charts.sparkline,
        trend_chart=charts.trend,
        dependency_graph=charts.dependency_graph,
        share_of=share_of,
        most_names=tables.MOST_NAMES,
        statements=findings.statements,
        samples=untrusted.shown,
        limit_text=_limit_text,
        definitions=definitions,
        describe=describe,
        rule_address=rule_address,
        describe_schema_changes=changes.describe,
        Severity=Severity,
    )
    return environment


def _harmless(value: object) -> object:
    """Makes a value safe. Applied to every value in a template, so that no template can forget it."""
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    return untrusted.line(value)


def _asset(name: str) -> Markup:
    # Our own file: escaping would break it.
    return Markup(_HERE.joinpath(name).read_text(encoding="utf-8"))  # noqa: S704


def _hash(text: str) -> str:
    """Hash for a Content-Security-Policy, which allows only exactly this script or style."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _heat_level(ratio: float) -> int:
    """The color level: 0 for no nulls, 1 to 5 for up to all."""
    return 0 if ratio <= 0 else min(5, 1 + int(ratio * 4.999))


def _limit_text(finding: Finding) -> str:
    return quantity(finding.limit.value, finding.limit.unit) if finding.limit else ""


def _trend_note(trend: charts.Trend) -> str:
    """What a chart shows, in one line."""
    write = percent if trend.is_ratio else number
    first, now = trend.points[0], trend.points[-1]
    parts = [f"{write(now.value)} on {day(now.day)}, {write(first.value)} on {day(first.day)}"]
    if trend.limit is not None:
        parts.append(f"limit {write(trend.limit)}")
    if trend.forecast is not None and (ahead := limit_reached(trend.forecast)):
        parts.append(ahead)
    return "; ".join(parts) + "."


def _capitalized(text: str) -> str:
    return text[:1].upper() + text[1:]


def _tally(count: int, kind: Severity | Verdict) -> str:
    """A count with its word: `1 critical`, `2 warnings`, `3 notes`, `4 unknown`, `5 OK`."""
    if kind in ("ok", "unknown"):
        return f"{number(count)} {'OK' if kind == 'ok' else 'unknown'}"
    return of_severity(count, kind)


def _tallies(counts: Mapping[Verdict, int]) -> str:
    """All counts except zeros, worst first: `1 critical, 2 warnings, 3 OK`."""
    return ", ".join(_tally(counts[verdict], verdict) for verdict in reversed(Verdict) if counts.get(verdict))
