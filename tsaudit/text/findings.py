"""One finding in words: measured value and limit, main contributor, start, and time left."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from tsaudit.text.forecasts import limit_reached
from tsaudit.text.numbers import many, percent
from tsaudit.text.times import day

if TYPE_CHECKING:
    from datetime import date

    from tsaudit.model.finding import Finding, Limit

_NOUNS: Final = {"critical": ("critical", "critical"), "warning": ("warning", "warnings"), "note": ("note", "notes")}
"""Severity to the singular and plural noun for a finding; worst first."""
SET_IN_FILE: Final = "set in tsaudit.yaml"
"""The source of a limit that is set in the configuration."""
OUR_DEFAULT: Final = "our default:"
"""Prefix of the source of a limit that no vendor states. Outputs show the origin, "tsaudit's default", instead."""


def sentence(finding: Finding) -> str:
    """The message, plus what it does not mention: main contributor, start date, and time left.

    Nothing is repeated. Ends with a period.
    """
    message = finding.message.strip().rstrip(".")
    return "; ".join([message, *(clause for clause in _clauses(finding, message) if clause)]) + "."


def tally(severities: Iterable[str]) -> str:
    """Findings by severity, worst first: `1 critical, 4 warnings, 3 notes`; empty if there are none."""
    counts = Counter(map(str, severities))
    return ", ".join(of_severity(counts[severity], severity) for severity in _NOUNS if counts[severity])


def of_severity(count: int, severity: str) -> str:
    """A number of findings or verdicts: `1 critical`, `2 warnings`, `3 notes`, `4 unknown`, `5 ok`."""
    return many(count, *_NOUNS.get(severity, (severity, severity)))


def baseline_offer(target: str) -> str:
    """Text after the first audit of a target with findings: how to be notified only about new ones."""
    return (
        "This is the first audit of the target. If you know these findings and will not fix all of them soon, mute "
        "them as the baseline, except for critical ones, and hear only about what is new or gets worse: "
        f"`tsaudit baseline --target {target} --dry-run` shows what it covers."
    )


def origin(limit: Limit) -> str:
    """Where the limit was set: `tsaudit's default`, `set for this target`, `of engine influxdb1`."""
    kind, _, name = limit.origin.partition(" ")
    if limit.origin == "default":
        return "tsaudit's default"
    if kind == "target":
        return "set for this target"
    if limit.origin == "all targets":
        return "set for all targets"
    return f"set for {name}" if kind == "measurement" else f"of {kind} {name}"


def reason(limit: Limit) -> str:
    """Why the limit has its value: words or an address; empty if `origin` already explains it."""
    return "" if limit.source == SET_IN_FILE else limit.source.removeprefix(f"{OUR_DEFAULT} ")


def contributor(finding: Finding, longest: int = 120) -> str:
    """`main contributor request_id (97%)`; empty if none is known."""
    if finding.main_contributor is None:
        return ""
    share = f" ({percent(finding.share)})" if finding.share else ""
    return f"main contributor {finding.main_contributor[:longest]}{share}"


def onset(finding: Finding) -> date | None:
    """The day on which the problem began; None if the history does not show it. The incident opens on that day or
    later.
    """
    return finding.since or (finding.forecast.onset if finding.forecast else None)


def is_growing(finding: Finding) -> bool:
    """Whether the figure is growing now; a figure that made a single step, for example, is not."""
    return bool(finding.per_day or (finding.forecast and finding.forecast.growth_per_day))


def since(finding: Finding) -> str:
    """When the problem began: `growing since 2026-03-13`; `since 2026-03-13` if it does not grow; empty if the history
    does not show it.
    """
    began = onset(finding)
    return f"{'growing ' if is_growing(finding) else ''}since {day(began)}" if began else ""


def mentions_onset(finding: Finding, text: str) -> bool:
    """Whether the text contains the day on which the problem began. Also True if that day is not known."""
    began = onset(finding)
    return began is None or day(began) in text


def names(message: str, name: str) -> bool:
    """Whether the message contains the name as a whole word."""
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", message) is not None


def _clauses(finding: Finding, message: str) -> list[str]:
    main_contributor = finding.main_contributor
    left = limit_reached(finding.forecast) if finding.forecast else ""
    return [
        contributor(finding) if main_contributor and not names(message, main_contributor) else "",
        "" if mentions_onset(finding, message) else since(finding),
        left if left not in message else "",
    ]
