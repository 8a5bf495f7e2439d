"""Deletes a target's old reports."""

from __future__ import annotations

import re
from datetime import date

from tsaudit.report.publish import Folder


def remove_old(folder: Folder, target: str, before: date) -> None:
    """Delete the target's pages and JSON files of days before `before`, except for those of its newest day.

    Only files whose name is a day count as reports. Raises ReportError.
    """
    files = {name: day for name in folder.versions(target, "") if (day := _day(name)) is not None}
    newest = max(files.values(), default=before)
    for name, day in files.items():
        if day < before and day != newest:
            folder.delete(f"{target}/{name}")


def _day(name: str) -> date | None:
    """The audited day of a file; None if its name is not that of a report of a day."""
    found = re.fullmatch(r"(\d{4}-\d{2}-\d{2})\.(html|json)", name, re.ASCII)
    try:
        return date.fromisoformat(found[1]) if found else None
    except ValueError:
        return None
