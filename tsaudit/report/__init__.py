"""The report: one self-contained HTML page per audit, the same as JSON, and an index of all targets."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from typing import TYPE_CHECKING

from tsaudit.config import settings as config
from tsaudit.model.finding import AuditResult
from tsaudit.model.profile import Profile
from tsaudit.model.timeline import Timeline
from tsaudit.report.publish import Folder, ReportError, ReportLocation

if TYPE_CHECKING:
    from tsaudit.history.incidents import Incident
    from tsaudit.history.store import Store
    from tsaudit.report.index import IndexEntry

__all__ = ["ReportError", "ReportLocation", "remove_old", "write", "write_index"]


def write(
    result: AuditResult,
    profile: Profile | None,
    timeline: Timeline,
    incidents: Sequence[Incident],
    settings: config.Report,
    *,
    run_url: str | None = None,
    previous: AuditResult | None = None,
    warning: str = "",
    owner: str = "",
) -> ReportLocation:
    """Write `<target>/<day>.html` and `.json`, `<target>/latest.html`, and the entry in the index; returns where the
    page is.

    The first run of a version also writes a page for each rule, `rules/<code>.html`.

    `latest.html` and the entry do not change if they already show a later day. `profile` is None for a target that
    could not be audited, `previous` is the result of the previous run. `warning` is shown in red: a problem that makes
    the audit itself doubtful. `owner` is that of the target, for the index. Raises ReportError.
    """
    from tsaudit.history import clock
    from tsaudit.report import html, index, rule_files
    from tsaudit.report.json_report import json_report

    if result.target == index.PAGE:
        raise ReportError(f"a target cannot be called {index.PAGE}: the index has that name; rename the target")
    full_values = settings.values == "full"
    contents = html.contents_of(
        result,
        profile,
        timeline,
        incidents,
        full_values=full_values,
        run_url=run_url,
        previous=previous,
        warning=warning,
    )
    page = html.page(contents).encode(errors="replace")
    folder = Folder(settings.folder, settings.permissions)
    base = f"{result.target}/{result.day.isoformat()}"
    folder.write(f"{base}.html", page)
    folder.write(f"{base}.json", json_report(contents))
    shown = index.newest_day(folder, result.target)
    if shown is None or shown <= result.day or clock.days_ahead([shown]):
        folder.write(f"{result.target}/latest.html", page)
        index.write_entry(folder, index.entry_of(contents, owner))
    rule_files.write(folder)
    return folder.location(f"{base}.html", settings.base_url)


def remove_old(target: str, settings: config.Report, newest: date) -> None:
    """Delete the target's reports of days more than `report.keep_days` before `newest`, if that is set. ReportError."""
    from tsaudit.report import publish

    if settings.keep_days is not None:
        before = newest - timedelta(days=settings.keep_days)
        publish.remove_old(Folder(settings.folder, settings.permissions), target, before)


def write_index(settings: config.Report, store: Store) -> list[IndexEntry]:
    """Write `index.html` from the entries of all targets: once after many audits. Returns those, most urgent first.

    ReportError, HistoryError.
    """
    from tsaudit.report import index

    return index.write_page(Folder(settings.folder, settings.permissions), store)
