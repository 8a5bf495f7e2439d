"""A message of every kind, with contents as they come: long names, plans, several owners, hostile names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

from tests.alerts.builders import a_context, an_incident
from tests.builders import DAY, a_finding
from tsaudit.alerts import RunContext, message, reactions
from tsaudit.alerts.blocks import Message
from tsaudit.alerts.message import Closed
from tsaudit.alerts.reactions import ReactionOutcome
from tsaudit.config.settings import Reactions
from tsaudit.history.deliveries import StoredReaction
from tsaudit.history.lifecycle import Decision, DecisionKind, Incident
from tsaudit.model.change import LeaveOut
from tsaudit.model.figures import Subject
from tsaudit.model.finding import Forecast, Limit, Severity, Verdict
from tsaudit.model.plan import Plan, Requested, Step, StepKind

_AT: Final = Subject("main", "http_requests")
_LIMIT: Final = Limit("high-series-cardinality.max_series", 100_000, "series", "our default", "default")
_AHEAD: Final = Forecast(
    1_000_000, 21.0, 15.0, 42.0, 0.05, DAY - timedelta(days=11), "exponential", provisional=False, unit="series"
)
EVIL: Final = (
    "<!channel> @here <http://evil.example|click> *bold* _it_ ~st~ `code` ```block``` :tada: &amp; "
    "\u202egpj.exe\x1b[31m\n> quote https://evil.example <@U0ANN>"
)


def growing(**changes: object) -> Incident:
    """A critical one with figures, samples, and a plan."""
    finding = a_finding(
        _AT,
        Severity.CRITICAL,
        message="Series grew from 768 to 36,096.",
        observed=36_096.0,
        baseline=768.0,
        per_day=3_072.0,
        severity_reason="47 times the series before",
        limit=_LIMIT,
        unit="series",
        main_contributor="request_id",
        share=0.9996,
        since=DAY - timedelta(days=11),
        forecast=_AHEAD,
        samples=("5f2c9a1e77b04d21", "0c41b6d9e8a35f10"),
        changes=(LeaveOut(_AT, "request_id"),),
    )
    return an_incident(replace(finding, **changes), code="CAR004", rule="runaway-cardinality")  # type: ignore[arg-type]


def typed() -> Incident:
    """A warning without figures."""
    at = Subject("main", "power_meters", "reading")
    finding = a_finding(
        at,
        message="Field reading is stored as VARCHAR, and all 64 values read are numbers.",
        fix="Add reading_float at the end of the table; from then on, an INSERT has to name its columns.",
        samples=("60217.56",),
    )
    return an_incident(finding, code="FLD002", rule="mistyped-field")


def attributes() -> Incident:
    """A warning with one figure."""
    finding = a_finding(
        Subject("main", "home_sensors", "sensor"),
        message="Values of tag sensor contain 3 attributes each: location, sensor_model and sensor_id.",
        fix="Write each attribute of sensor into a column of its own: location=baxx, sensor_model=A600.",
        observed=3.0,
        unit="attributes per value",
        samples=("location=b12,sensor_model=A600,sensor_id=170012",),
    )
    return an_incident(finding, code="TAG003", rule="composite-value")


def hostile() -> Incident:
    """One in which every text from the database attacks."""
    finding = a_finding(
        Subject(EVIL, EVIL, EVIL), message=EVIL, fix=EVIL, main_contributor=EVIL, samples=(EVIL, "`", "")
    )
    return an_incident(finding)


def unreachable() -> Incident:
    """A target that was not audited."""
    cause = (
        "the server at db.example:5432 refused the connection within 10 s: FATAL: password authentication failed "
        'for user "tsaudit"'
    )
    finding = a_finding(Subject(), Severity.CRITICAL, message=f"The target could not be audited: {cause}.", fix="")
    return an_incident(finding, code="TGT001", rule="not-audited")


def _plan() -> Plan:
    statement = "ALTER TABLE main.http_requests DROP COLUMN request_id;"
    first = Step(StepKind.STORED, "Stop writing request_id as a tag. Logs have it already.", statement, "sql")
    return Plan(_AT, (Requested(LeaveOut(_AT, "request_id"), ("CAR004",)),), (first, first, first))


def _context(**changes: object) -> RunContext:
    values: dict[str, object] = {"verdict": Verdict.CRITICAL, "plans": (_plan(),), "reactions": Reactions()}
    return a_context(**values | changes)


def _decided(incident: Incident, who: str, *, kind: DecisionKind = DecisionKind.ACK) -> Incident:
    made = Decision(kind, who, "reaction :eyes: in Slack", datetime.now(UTC), None, incident.severity)
    return replace(incident, decision=made)


def _many(count: int) -> list[Incident]:
    return [an_incident(a_finding(Subject("main", f"table_{n}", "host"))) for n in range(count)]


def _reacted(kind: str) -> StoredReaction:
    return StoredReaction(1, "d", kind, "U0ANN")


def _confirmed(kind: str, name: str, outcome: ReactionOutcome, days: int) -> Message:
    until = DAY + timedelta(days=days) if days else None
    made = reactions.confirm_decided(_reacted(kind), name, outcome, until)
    assert made is not None
    return made


_ENDED: Final = (Closed(typed(), "resolved"), Closed(attributes(), "muted until 2026-04-07"))
_REPORTS: Final = {"plant": "https://reports.example/plant/latest.html", "shop": "https://reports.example/shop.html"}

KINDS: Final[dict[str, Callable[[], Message]]] = {
    "alert": lambda: message.alert(_context(), [typed()]),
    "several": lambda: message.alert(_context(), [growing(), attributes(), typed()]),
    "critical_with_mention": lambda: message.alert(_context(), [growing()], mention="U0DBA"),
    "group_mention": lambda: message.alert(_context(), [growing()], mention="S0OPS"),
    "acknowledged_and_ended": lambda: message.alert(
        _context(), [_decided(growing(), "U0ANN"), _decided(attributes(), "bob")], _ENDED
    ),
    "not_audited": lambda: message.alert(_context(verdict=Verdict.UNKNOWN), [unreachable()], mention="U0DBA"),
    "more_than_fit": lambda: message.alert(_context(), [growing(), *_many(400)], [_ENDED[0]] * 14),
    "values_in_full": lambda: message.alert(_context(), [growing(), attributes()], full_values=True),
    "no_addresses": lambda: message.alert(_context(report_url="/srv/reports/r.html", run_url=None), [growing()]),
    "hostile": lambda: message.alert(_context(), [hostile()], [Closed(hostile(), "resolved")], full_values=True),
    "reply_news": lambda: message.news(
        _context(), [growing(), typed()], frozenset({growing().fingerprint}), mention="U0DBA"
    ),
    "reply_over": lambda: message.over(_context(verdict=Verdict.OK), _ENDED),
    "all_clear": lambda: message.alert(_context(verdict=Verdict.OK), [], _ENDED[:1]),
    "moved": lambda: message.moved(_context(), "#platform"),
    "digest": lambda: message.digest(
        DAY,
        [
            replace(growing(), target="plant"),
            replace(attributes(), target="plant"),
            replace(typed(), target="shop", resolved=DAY),
            *(replace(i, target="orders") for i in _many(9)),
        ],
        _REPORTS,
        [replace(i, target="shop") for i in _many(2)],
    ),
    "digest_hostile": lambda: message.digest(DAY, [replace(hostile(), target="plant")], {}),
    "confirmed_ack": lambda: _confirmed("ack", "eyes", ReactionOutcome(decided=[growing()]), 0),
    "confirmed_mute": lambda: _confirmed("mute", "zzz", ReactionOutcome(decided=[growing(), *_many(7)]), 7),
    "confirmed_partly": lambda: _confirmed(
        "ack",
        "eyes",
        ReactionOutcome(decided=[typed()], other=[_decided(hostile(), EVIL, kind=DecisionKind.MUTE)]),
        0,
    ),
    "changed_nothing": lambda: _confirmed("ack", "eyes", ReactionOutcome(over=[typed()]), 0),
    "taken_back": lambda: reactions.confirm_undone(_reacted("mute"), "zzz", [growing(), hostile()]),
}
"""Name of each kind to what makes it."""
