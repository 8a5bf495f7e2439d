"""The lines of one incident: what, how much, who is guilty, since when, how long still, and the fix."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import date
from typing import Final

from tsaudit.alerts.escape import plain
from tsaudit.history.incidents import Incident
from tsaudit.model.finding import Finding, Forecast, Limit
from tsaudit.text import number, percent

_SAMPLES: Final = 3
_LINE: Final = 400
_SHORT: Final = 120


def by_badness(incident: Incident) -> tuple[object, ...]:
    """Sort key: worst first, then furthest over its limit, then by rule and subject."""
    finding = incident.finding
    excess = 0.0
    if finding.observed is not None and finding.limit is not None and finding.limit.value > 0:
        excess = finding.observed / finding.limit.value
    return (-incident.severity.rank, -excess, incident.code, incident.subject)


def details(incident: Incident, day: date, *, full_values: bool) -> list[str]:
    """The lines, escaped, for a `plain_text` object. At most 3,000 characters in all."""
    return [plain(line, limit) for line, limit in _lines(incident, day, full_values=full_values)]


def _lines(incident: Incident, day: date, *, full_values: bool) -> Iterator[tuple[str, int]]:
    """What the subject or the message says already is not said again."""
    finding = incident.finding
    yield finding.message, _LINE
    if finding.observed is not None and finding.limit is not None:
        yield _measured(finding.observed, finding.limit, finding), _LINE
    if finding.guilty is not None and (finding.share is not None or finding.guilty != finding.subject.column):
        share = f", {percent(finding.share)} of it" if finding.share is not None else ""
        yield f"Guilty: {finding.guilty[:_SHORT]}{share}", _LINE
    if finding.samples:
        from tsaudit.analysis.shapes.shapes import redact

        show = str if full_values else redact
        alike = dict.fromkeys(show(s)[:60] for s in finding.samples[:_SAMPLES])
        yield "Samples: " + ", ".join(alike), _LINE
    yield _since(finding, incident, day), _SHORT
    if finding.forecast is not None and finding.forecast.days:
        due = _due(finding.forecast, finding.forecast.days)
        if due not in finding.message:
            yield _ahead(finding.forecast, due, finding.unit), _LINE
    if incident.decision is not None:
        # Only acknowledged incidents are shown; what is snoozed or accepted is not told of.
        yield f"Acknowledged by {incident.decision.owner}: {incident.decision.reason}", _LINE
    yield f"Fix: {finding.fix}", _LINE


def _measured(observed: float, limit: Limit, finding: Finding) -> str:
    text = f"Measured {quantity(observed, finding.unit)}"
    if finding.baseline is not None:
        text += f" ({_bare(finding.baseline, finding.unit)} before)"
    shown = _bare if finding.unit == limit.unit else quantity
    text += f", limit {shown(limit.value, limit.unit)} ({limit.origin})"
    if finding.unit == limit.unit and limit.value > 0 and observed >= 2 * limit.value:
        text += f", {number(observed / limit.value)} times as much"
    return text


def _since(finding: Finding, incident: Incident, day: date) -> str:
    since = finding.since or incident.first_seen
    days = (day - since).days
    if days <= 0:
        return f"Since {since}"
    return f"Since {since} ({days} day{'' if days == 1 else 's'})"


def _due(forecast: Forecast, days: float) -> str:
    """Days to the limit, with the interval that holds 80 % of the outcomes."""
    low, high = forecast.days_low, forecast.days_high
    interval = ""
    if low is not None:
        interval = f" ({low:.0f} to {high:.0f})" if high is not None else f" ({low:.0f} or more)"
    return f"{days:.0f} days{interval}"


def _ahead(forecast: Forecast, due: str, unit: str) -> str:
    text = f"Reaches {quantity(forecast.limit, unit)} in about {due}"
    text += f", growing {percent(forecast.growth_per_day)} a day"
    if forecast.onset is not None:
        text += f" since {forecast.onset}"
    return text + (" (provisional: little history)" if forecast.provisional else "")


def _bare(value: float, unit: str) -> str:
    """The value without the unit, which was said."""
    return quantity(value, unit).removesuffix(f" {unit}") if unit else quantity(value, unit)


def quantity(value: float, unit: str) -> str:
    """The value with its unit, for people; a ratio as per cent."""
    if not math.isfinite(value):
        return f"{value} {unit}".strip()
    if unit.startswith(("ratio", "share")):
        return percent(value)
    return f"{number(value)} {unit}".strip()
