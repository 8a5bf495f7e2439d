"""The report: one self-contained HTML page per audit, the same as JSON, and an index of all targets."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, timedelta
from typing import TYPE_CHECKING

from tsaudit.config import settings as config
from tsaudit.model.finding import AuditResult
from tsaudit.model.profile import Profile
from tsaudit.model.timeline import Timeline
from tsaudit.report.storage import Folder, ReportError, ReportLocation

if TYPE_CHECKING:
    from tsaudit.history.lifecycle import Incident
    from tsaudit.history.store import Store
    from tsaudit.report.index import IndexEntry

__all__ = [
    "ReportError",
    "ReportLocation",
    "remove_day",
    "remove_old",
    "rewrite",
    "write",
    "write_index",
    "write_saved",
]


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
    is_newest: bool = True,
) -> ReportLocation:
    """Write `<target>/<day>.html` and `.json`, `<target>/latest.html`, and the target's entry in the index; returns the
    location of the page.

    `profile` is None for a target that could not be audited, `previous` is the result to compare with. `warning`, a
    problem that makes the audit itself doubtful, is shown in red. `owner`: the target's owner, for the index.
    `is_newest`: whether the history has no later day; otherwise `latest.html` and the index entry are not changed.
    Raises ReportError.
    """
    from tsaudit.report import html, index
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
    if is_newest:
        folder.write(f"{result.target}/latest.html", page)
        index.write_entry(folder, index.entry_of(contents, owner))
    return folder.location(f"{base}.html", settings.base_url)


def write_saved(
    store: Store,
    settings: config.Settings,
    result: AuditResult,
    profile: Profile | None,
    timeline: Timeline,
    standing: Sequence[Incident],
    run_url: str | None = None,
) -> ReportLocation:
    """Write the report of a result that the history has, with the previous result. `standing`: its incidents, see
    `incidents.of_day`. Raises ReportError, HistoryError.
    """
    from tsaudit.history import clock

    target, day, days = result.target, result.day, store.days(result.target)
    return write(
        result,
        profile,
        timeline,
        standing,
        settings.report,
        run_url=run_url,
        previous=store.result_before(target, day),
        warning=clock.future_days_warning(target, days) or "",
        owner=next((one.owner or "default" for one in settings.targets if one.name == target), ""),
        is_newest=not clock.is_closed(days, day),
    )


def rewrite(store: Store, settings: config.Settings, result: AuditResult) -> ReportLocation:
    """Write the report of a stored result, using the history. Raises ReportError, HistoryError."""
    from tsaudit.history import incidents

    timeline = store.timeline(result.target, before=result.day)
    standing = incidents.of_day(store, result.target, result.day)
    return write_saved(store, settings, result, store.profile_of(result), timeline, standing)


def remove_day(store: Store, settings: config.Settings, target: str, day: date) -> None:
    """Delete the report of a day that the history no longer has.

    `latest.html` and the index then show the newest remaining day; if there is none, the target is removed from the
    index. Raises ReportError, HistoryError.
    """
    from tsaudit.report import index

    folder = Folder(settings.report.folder, settings.report.permissions)
    for suffix in ("html", "json"):
        folder.delete(f"{target}/{day.isoformat()}.{suffix}")
    days = store.past_days(target) or store.days(target)
    newest = next(filter(None, (store.result(target, one) for one in reversed(days))), None)
    if newest:
        rewrite(store, settings, newest)
    else:
        folder.delete(f"{target}/latest.html")
        index.remove_entry(folder, target)
    write_index(settings.report, store)


def remove_old(target: str, settings: config.Report, newest: date) -> None:
    """Delete the target's pages and JSON files of days more than `report.keep_days` before `newest`, if that is set,
    except for those of its newest day. Only files whose name is a day count as reports. Raises ReportError.
    """
    if settings.keep_days is None:
        return
    before, folder = newest - timedelta(days=settings.keep_days), Folder(settings.folder, settings.permissions)
    files = {name: day for name in folder.versions(target, "") if (day := _day(name)) is not None}
    last = max(files.values(), default=before)
    for name, day in files.items():
        if day < before and day != last:
            folder.delete(f"{target}/{name}")


def _day(name: str) -> date | None:
    """The audited day of a file; None if its name is not that of a report of a day."""
    found = re.fullmatch(r"(\d{4}-\d{2}-\d{2})\.(html|json)", name, re.ASCII)
    try:
        return date.fromisoformat(found[1]) if found else None
    except ValueError:
        return None


def write_index(settings: config.Report, store: Store) -> list[IndexEntry]:
    """Write `index.html` from the entries of all targets. Called once after many audits. Returns the entries, most
    urgent first.

    The first run of a version also writes a page for each rule, `rules/<code>.html`. Raises ReportError, HistoryError.
    """
    from tsaudit.report import html, index

    folder = Folder(settings.folder, settings.permissions)
    html.write_rule_pages(folder)
    return index.write_page(folder, store)
