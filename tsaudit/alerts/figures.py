"""The lines of one incident: what, how much, the main contributor, since when, how long is left, and the fix."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import Final

from tsaudit.alerts.escape import plain
from tsaudit.history.decisions import in_words, outgrown
from tsaudit.history.incidents import Incident
from tsaudit.model.finding import Finding, worst_first
from tsaudit.text import day as day_in_words
from tsaudit.text import findings as wording
from tsaudit.text import many
from tsaudit.text.forecasts import limit_reached, pace

_SAMPLES: Final = 3
_LINE: Final = 400
_SHORT: Final = 120


def by_badness(incident: Incident) -> tuple[object, ...]:
    """Sort key: worst first, as everywhere."""
    return worst_first(incident.code, incident.finding, incident.severity)


def details(incident: Incident, day: date, *, full_values: bool) -> list[str]:
    """The lines, escaped, for a `plain_text` object. At most 3,000 characters in all."""
    return [plain(line, limit) for line, limit in _lines(incident, day, full_values=full_values)]


def _lines(incident: Incident, day: date, *, full_values: bool) -> Iterator[tuple[str, int]]:
    """Parts already in the subject or the message are not repeated."""
    finding = incident.finding
    yield finding.message, _LINE
    if figures := wording.measured(finding):
        yield f"Measured {figures}", _LINE
    if finding.guilty is not None and (finding.share is not None or finding.guilty != finding.subject.column):
        yield _sentence_case(wording.contributor(finding, _SHORT)), _LINE
    if finding.samples:
        from tsaudit.analysis.shapes.shapes import redact

        show = str if full_values else redact
        alike = dict.fromkeys(show(s)[:60] for s in finding.samples[:_SAMPLES])
        yield "Samples: " + ", ".join(alike), _LINE
    yield _since(finding, incident, day), _SHORT
    if finding.forecast is not None and finding.forecast.days:
        due = limit_reached(finding.forecast)
        if due not in finding.message:
            yield f"{_sentence_case(due)}, {pace(finding.forecast)}", _LINE
    if incident.decision is not None:
        # Only acknowledged incidents are shown; snoozed and accepted ones are not.
        yield f"Acknowledged by {incident.decision.owner}: {incident.decision.reason}", _LINE
    if incident.lapsed is not None:
        yield f"Back, although {in_words(incident.lapsed)}: that {outgrown(incident)}", _LINE
    yield f"Fix: {finding.fix}", _LINE


def _since(finding: Finding, incident: Incident, day: date) -> str:
    since = finding.since or incident.first_seen
    days = (day - since).days
    return f"Since {day_in_words(since)}" + (f" ({many(days, 'day')})" if days > 0 else "")


def _sentence_case(clause: str) -> str:
    return f"{clause[:1].upper()}{clause[1:]}"
