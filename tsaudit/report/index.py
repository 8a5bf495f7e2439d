"""The index of all targets, generated from one small JSON file per target.

Each audit writes its own target's file and then the page from all files, so no history is read and no two targets write
the same file. Two audits that end at the same time could each miss the other's file: after writing the page, each one
checks whether a file has changed, and if so, writes the page again. The last writer has always seen all files.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from typing import Final

from tsaudit.model.finding import Verdict
from tsaudit.model.jsonfile import from_json, to_json
from tsaudit.report import html, trends
from tsaudit.report.publish import Folder

PAGE: Final = "index.html"
ENTRIES: Final = "_targets"
"""No target's name begins with an underscore, so this cannot be the folder of one."""
SPARK_POINTS: Final = 30
MOST_ROWS: Final = 1_000
"""Number of targets with a row of their own, worst first; the others are listed by name."""
_ATTEMPTS: Final = 5


@dataclass(frozen=True, slots=True)
class Entry:
    """A target's line in the index: its newest audit."""

    target: str
    engine: str
    day: date
    audited_at: datetime
    verdict: Verdict
    headline: str
    counts: dict[str, int]
    series: int | None
    trend: tuple[float, ...]
    """Series over the last days, oldest first."""
    href: str
    """Path of the report, relative to the index."""


def entry_of(story: html.Story) -> Entry:
    """The target's entry."""
    result, profile = story.result, story.profile
    points = trends.whole(profile, story.timeline)
    return Entry(
        target=result.target,
        engine=result.engine,
        day=result.day,
        audited_at=result.audited_at,
        verdict=story.verdict,
        headline=story.headline,
        counts={str(severity): count for severity, count in story.counts.items()},
        series=profile.series if profile else None,
        trend=tuple(p.value for p in points[-SPARK_POINTS:]),
        href=f"{result.target}/latest.html",
    )


def newest_day(folder: Folder, target: str) -> date | None:
    """The day of the target's entry; None if it has no readable entry."""
    data = folder.read(_place(target))
    entry = _parsed(data) if data is not None else None
    return entry.day if entry else None


def update(folder: Folder, entry: Entry) -> None:
    """Write the target's entry, and the page from all entries.

    While other audits keep ending, this stops after a few attempts: the last audit writes the complete page.
    """
    folder.write(_place(entry.target), to_json(entry))
    marks = folder.marks(ENTRIES, ".json")
    for _ in range(_ATTEMPTS):
        folder.write(PAGE, page(folder.read_all(ENTRIES, marks)).encode())
        seen, marks = marks, folder.marks(ENTRIES, ".json")
        if marks == seen:
            return


def page(files: dict[str, bytes]) -> str:
    """The index page, worst targets first. Files that are not valid entries are listed on it."""
    parsed = {name: _parsed(data) for name, data in files.items()}
    entries = [entry for entry in parsed.values() if entry is not None]
    entries.sort(key=lambda e: (-e.verdict.rank, e.target))
    broken = sorted(name for name, entry in parsed.items() if entry is None)
    view = {
        "entries": entries[:MOST_ROWS],
        "others": entries[MOST_ROWS:],
        "total": len(entries),
        "broken": broken,
        "counts": {verdict: sum(e.verdict is verdict for e in entries) for verdict in reversed(Verdict)},
        "newest": max((e.day for e in entries), default=None),
    }
    return html.render("index.html.j2", view)


def _place(target: str) -> str:
    return f"{ENTRIES}/{target}.json"


def _parsed(data: bytes) -> Entry | None:
    try:
        return from_json(Entry, data)
    except ValueError:
        return None
