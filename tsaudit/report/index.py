"""The index of all targets, generated from one small JSON file per target.

Each audit writes its own target's file, so no two targets write the same one. The page is written from all files, once
after many audits, so its cost does not grow with their number. Entries that a killed run has written appear in the next
version of the page.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, Final

from tsaudit.model.finding import Severity, Verdict, first_limit
from tsaudit.model.jsonfile import from_json, to_json
from tsaudit.report import charts, html, untrusted
from tsaudit.report.storage import Folder, ReportError
from tsaudit.text import ended

if TYPE_CHECKING:
    from tsaudit.history.store import Store

PAGE: Final = "index.html"
ENTRIES: Final = "_targets"
"""Name of the folder with the entries. Target names never begin with an underscore, so it cannot be the folder of a
target.
"""
SEEN: Final = "_index.json"
"""Name of the file that caches all entries with the versions of their files: only files that have changed are read
again.
"""
SPARK_POINTS: Final = 30
ROOM_BYTES: Final = 900_000
"""Approximate size of the page, in bytes. The worst targets get a row of their own until it is used up; the others are
only named.
"""
LEAST_ROWS: Final = 50
"""Minimum number of targets with a row, however many there are."""
LONGEST: Final = 240
"""Maximum number of characters of a headline."""
_ROW_BYTES: Final = 1_150
"""Bytes of a row without its texts, including a full trend."""
_NAME_BYTES: Final = 26
"""Bytes of a target that is only named, without its name and address."""
_GROUP_BYTES: Final = 260
"""Bytes of a group of targets that are only named, without its texts."""
_WAIT_S: Final = 90.0
"""Seconds to wait for another writer of the page: longer than the lease of a killed one lasts."""


@dataclass(frozen=True, slots=True)
class IndexEntry:
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
    owners: tuple[str, ...] = ()
    """Owners of open findings, worst first, then the owner of the target, which may be `default`."""
    days_left: float | None = None
    """Days until the first limit is reached, by the findings that decide the verdict; None: within a year, none is."""
    affected: float | None = None
    """Largest number of series that one of these findings affects; None: not known."""
    muted: int = 0
    """Number of muted findings, which are not in `counts`."""

    @property
    def urgency(self) -> tuple[object, ...]:
        """Sort key, most urgent first: by verdict, by time left, by series affected."""
        left = math.inf if self.days_left is None else self.days_left
        return (-self.verdict.rank, left, -(self.affected or 0.0), self.target)

    @property
    def owner(self) -> str:
        """The owner to ask first; empty if there is none."""
        return self.owners[0] if self.owners else ""


def entry_of(contents: html.ReportContents, owner: str = "") -> IndexEntry:
    """The target's entry. `owner`: the owner of the target; empty if not known."""
    result, profile = contents.result, contents.profile
    actionable = [item for item in contents.items if not item.muted and item.finding.severity is not Severity.NOTE]
    deciding = [item.finding for item in actionable if Verdict(item.finding.severity) is contents.verdict]
    owners = dict.fromkeys(item.incident.owner for item in actionable if item.incident)
    points = charts.whole(profile, contents.timeline)
    return IndexEntry(
        target=result.target,
        engine=result.engine,
        day=result.day,
        audited_at=result.audited_at,
        verdict=contents.verdict,
        headline=_headline(contents),
        counts={str(severity): count for severity, count in contents.counts.items()},
        series=profile.series if profile else None,
        trend=tuple(p.value for p in points[-SPARK_POINTS:]),
        href=f"{result.target}/latest.html",
        owners=tuple(filter(None, dict.fromkeys((*owners, owner)))),
        days_left=first_limit(deciding),
        affected=max((f.affected_series for f in deciding if f.affected_series is not None), default=None),
        muted=sum(item.muted for item in contents.items),
    )


def _headline(contents: html.ReportContents) -> str:
    """What is wrong; if nothing is known to be, although rules could not be evaluated, also the reason why not."""
    summary = contents.summary
    lacking = contents.verdict is Verdict.UNKNOWN and not summary.fingerprint
    return f"{ended(summary.headline)} {summary.first_step}" if lacking and summary.first_step else summary.headline


def write_entry(folder: Folder, entry: IndexEntry) -> None:
    """Write the target's entry. It appears the next time that the page is written."""
    folder.write(_place(entry.target), to_json(entry))


def remove_entry(folder: Folder, target: str) -> None:
    """Remove the target's entry, if there is one. It disappears the next time that the page is written."""
    folder.delete(_place(target))


def write_page(folder: Folder, store: Store) -> list[IndexEntry]:
    """Write the page from all entries, and return the entries, most urgent first.

    Only one process writes at a time, on all machines: otherwise a slow one could overwrite a newer page with an older
    one. Raises ReportError, and HistoryError if the history, which records who is writing, cannot be reached.
    """
    from tsaudit.history import lease

    try:
        with lease.held(store, lease.identity_of_folder(folder.address), _WAIT_S):
            entries, broken = listed(_entries(folder))
            folder.write(PAGE, page(entries, broken).encode())
            return entries
    except lease.InUseError:
        problem = f"{PAGE} was not written: others have been writing it for {_WAIT_S:.0f} s; the next audit writes it"
        raise ReportError(problem) from None


def _entries(folder: Folder) -> dict[str, bytes]:
    """File name to contents of all entries. Reads only those that have changed since the last page, because each takes
    one request in an object store.
    """
    versions, seen = folder.versions(ENTRIES, ".json"), _seen(folder)
    known = {name: text.encode() for name, (version, text) in seen.items() if versions.get(name) == version}
    changed = folder.read_all(ENTRIES, versions.keys() - known.keys())
    if changed or len(known) < len(seen):
        texts = {name: data.decode(errors="replace") for name, data in (known | changed).items()}
        folder.write(SEEN, json.dumps({name: (versions[name], text) for name, text in texts.items()}).encode())
    return known | changed


def _seen(folder: Folder) -> dict[str, tuple[str, str]]:
    """File name to version and contents, from the cache; empty if there is no usable cache."""
    try:
        found: Any = json.loads(folder.read(SEEN) or b"{}")
        return {str(name): (str(version), str(text)) for name, (version, text) in found.items()}
    except (AttributeError, TypeError, ValueError):
        return {}


def listed(files: dict[str, bytes]) -> tuple[list[IndexEntry], list[str]]:
    """The entries in the files, most urgent first, and the names of invalid files."""
    parsed = {name: _parsed(data) for name, data in files.items()}
    entries = sorted((entry for entry in parsed.values() if entry is not None), key=lambda entry: entry.urgency)
    return entries, sorted(name for name, entry in parsed.items() if entry is None)


def page(entries: Sequence[IndexEntry], broken: Sequence[str]) -> str:
    """The index page with the given entries, most urgent first, and the names of invalid files."""
    rows, named = _fitting(entries)
    verdicts = list(reversed(Verdict))
    view = {
        "entries": entries[:rows],
        "others": _grouped(entries[rows : rows + named]),
        "others_count": named,
        "left_out": len(entries) - rows - named,
        "total": len(entries),
        "broken": broken,
        "counts": {verdict: sum(e.verdict is verdict for e in entries) for verdict in verdicts},
        "owners": sorted({owner for e in entries for owner in e.owners}),
        "engines": sorted({e.engine for e in entries}),
        "newest": max((e.day for e in entries), default=None),
        "longest": LONGEST,
    }
    return html.render("index.html.j2", view)


@dataclass(frozen=True, slots=True)
class TargetGroup:
    """Targets that are only named, grouped by what they have in common."""

    verdict: Verdict
    engine: str
    owners: tuple[str, ...]
    entries: tuple[IndexEntry, ...]


def _grouped(entries: Iterable[IndexEntry]) -> list[TargetGroup]:
    """The targets by verdict, then by engine and owners, in the order of the most urgent."""
    found: dict[tuple[Verdict, str, tuple[str, ...]], list[IndexEntry]] = {}
    for entry in entries:
        found.setdefault(_key(entry), []).append(entry)
    groups = [TargetGroup(*key, tuple(members)) for key, members in found.items()]
    return sorted(groups, key=lambda group: -group.verdict.rank)


def _key(entry: IndexEntry) -> tuple[Verdict, str, tuple[str, ...]]:
    return entry.verdict, entry.engine, entry.owners


def _fitting(entries: Sequence[IndexEntry]) -> tuple[int, int]:
    """How many entries get a row, and how many of the others are named."""
    names = [_NAME_BYTES + len(e.href) + len(e.target) for e in entries]
    keys = {_key(e): _GROUP_BYTES + 2 * len(e.engine) + 2 * sum(map(len, e.owners)) for e in entries}
    room, rows = ROOM_BYTES, 0
    reserve = sum(names) + sum(keys.values())
    for entry, name in zip(entries, names, strict=True):
        text = untrusted.with_code(untrusted.cut(entry.headline, LONGEST)).encode()
        row = _ROW_BYTES + len(text) + len(entry.target) + len(entry.href)
        reserve -= name
        if room - row < reserve and rows >= LEAST_ROWS:
            break
        room, rows = room - row, rows + 1
    seen, named = set(), 0
    for entry, name in zip(entries[rows:], names[rows:], strict=True):
        room -= name if _key(entry) in seen else name + keys[_key(entry)]
        if room < 0:
            break
        seen.add(_key(entry))
        named += 1
    return rows, named


def _place(target: str) -> str:
    return f"{ENTRIES}/{target}.json"


def _parsed(data: bytes) -> IndexEntry | None:
    try:
        return from_json(IndexEntry, data)
    except ValueError:
        return None
