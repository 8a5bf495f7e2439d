"""The demo's summary: verdict, main contributor, forecast, and the message that the owner received."""

from collections.abc import Iterator, Sequence
from datetime import date
from typing import TYPE_CHECKING

from tsaudit.model.finding import AuditResult, Finding, Forecast, RuleResult, Severity
from tsaudit.text import day as formatted_day
from tsaudit.text import number, percent
from tsaudit.text.findings import is_growing
from tsaudit.text.forecasts import limit_reached

if TYPE_CHECKING:
    from tsaudit.history.deliveries import Delivery
    from tsaudit.history.store import Store


def day_line(day: date, result: AuditResult, series: int | None) -> str:
    """One line about one audited day."""
    worst = next((f"{r.code} {f.message}" for r, f in _bad(result)), "nothing found")
    count = "series not measured" if series is None else f"{number(series)} series in all"
    return f"{day}  {result.verdict:<8}  {count:>14}  {_cut(worst, 110)}"


def ending(result: AuditResult, report: str | None) -> Iterator[str]:
    """The lines that summarize the last day."""
    yield from (f"{label:13}  {text}" for label, text in _summary(result, report))


def _summary(result: AuditResult, report: str | None) -> Iterator[tuple[str, str]]:
    yield "Verdict", result.verdict
    found = _dated(result)
    if found is not None:
        share = f" ({percent(found.share)})" if found.share is not None else ""
        yield "Contributor", f"{found.main_contributor} of {found.subject.measurement or found.subject}{share}"
        if found.since:
            yield "Growing since" if is_growing(found) else "Began", formatted_day(found.since)
    forecast = _soonest(result)
    if forecast is not None:
        yield "Forecast", limit_reached(forecast)
    yield "Report", report or "could not be written"


def worst_message(store: "Store", target: str) -> Iterator[str]:
    """The owner's message about the worst open incident, in its current version, and its history.

    Nothing if nobody was notified.
    """
    from tsaudit.alerts.blocks import Message
    from tsaudit.history import deliveries

    with store.reading() as connection:
        threads = deliveries.threads_about(connection, target)
        alerts = [a for t in threads if (a := deliveries.newest(connection, t, deliveries.DeliveryKind.ALERT))]
        families = [deliveries.family(connection, alert.id) for alert in alerts]
    worst = max(families, key=_badness, default=None)
    if worst is None:
        return
    alert, news = worst[0], [row for row in worst if row.kind is deliveries.DeliveryKind.REPLY]
    edits = [
        row
        for row in worst
        if row.kind is deliveries.DeliveryKind.EDIT and row.state is not deliveries.DeliveryState.SUPERSEDED
    ]
    owner, _ = deliveries.split_thread(alert.thread)
    life = [f"opened {alert.day}", *(f"notified again {row.day}" for row in news)]
    if edits:
        often = "once," if len(edits) == 1 else f"{len(edits)} times, last"
        life.append(f"edited {often} {edits[-1].day}")
    yield f"Message to {owner}: {', '.join(life)}"
    message = Message.from_payload((edits[-1] if edits else alert).payload)
    yield from (f"  {line}" for line in message.readable().splitlines())


def _badness(family: Sequence["Delivery"]) -> int:
    """The severity of the worst incident in the newest text of a message."""
    newest = [row for row in family if row.kind in ("alert", "edit")][-1]
    return max((Severity(s).rank for s in newest.payload["about"].values()), default=-1)


def _dated(result: AuditResult) -> Finding | None:
    """The worst finding that names a tag as main contributor; if several are equal, one with a start date, then the one
    with the largest share.
    """
    blaming = [f for _, f in _bad(result) if f.main_contributor]
    return max(blaming, key=lambda f: (f.severity.rank, f.since is not None, f.share or 0.0), default=None)


def _bad(result: AuditResult) -> Iterator[tuple[RuleResult, Finding]]:
    return ((r, f) for r, f in result.findings() if f.severity is not Severity.NOTE)


def _soonest(result: AuditResult) -> Forecast | None:
    dated = [f.forecast for _, f in result.findings() if f.forecast and f.forecast.days is not None]
    return min(dated, key=lambda forecast: forecast.days or 0.0, default=None)


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"
