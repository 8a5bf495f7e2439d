"""The tables of the page: measurements, their columns and contributions, null ratios, and shares of rows."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from heapq import nsmallest
from typing import TYPE_CHECKING, Final

from tsaudit.analysis.cardinality.contributions import determined_tags
from tsaudit.engines.registry import ENGINES
from tsaudit.model.columns import Contribution, Dependency, Field, Tag
from tsaudit.model.figures import Subject, Window
from tsaudit.model.finding import Severity, Verdict
from tsaudit.model.profile import Measurement, Profile
from tsaudit.model.storage import Retention
from tsaudit.model.timeline import Timeline
from tsaudit.report.findings import Item
from tsaudit.text import NOT_KNOWN, listed, number, retention, size
from tsaudit.text.table_roles import TableRoles, override, table_roles

if TYPE_CHECKING:
    from tsaudit.analysis.collection_families import CollectionFamily

MOST_ROWS: Final = 500
MOST_DETAILS: Final = 20
MOST_DETAIL_COLUMNS: Final = 200
"""Most columns in all details together; the first detail is always shown in full."""
MOST_COLUMNS: Final = 30
HEAT_ROWS: Final = 30
HEAT_COLUMNS: Final = 12
MOST_NAMES: Final = 20
MOST_ROLES: Final = 100


@dataclass(frozen=True, slots=True)
class TableRow:
    """One measurement in the overview."""

    measurement: Measurement
    verdict: Verdict
    series_change: float | None
    """Change of the series from the newest earlier day; None if there is none."""
    row_share: float | None
    """Share of all rows read in the target, 0 to 1; None if the total is not known."""
    worst_null: tuple[str, float] | None
    """The field with the most nulls and its ratio; None if there are no nulls."""
    retention: str
    determined: str
    """Tags that add no series, with the tags that determine them; empty if there are none, or this is not known."""


@dataclass(frozen=True, slots=True)
class Detail:
    """What is known about one measurement."""

    measurement: Measurement
    tags: tuple[Tag, ...]
    fields: tuple[Field, ...]
    columns_left_out: int
    contributions: tuple[Contribution, ...]
    drop_curve: tuple[Contribution, ...]
    dependencies: tuple[Dependency, ...]
    values_from: str
    """Which rows were read to count the distinct values of all fields; empty if this differs between fields."""
    daily: str
    """Bytes of values written a day, and the columns that take most of them; empty if not known."""


@dataclass(frozen=True, slots=True)
class HeatMap:
    """Share of nulls: one row per measurement, one column per field name."""

    fields: tuple[str, ...]
    rows: tuple[tuple[Measurement, tuple[float | None, ...]], ...]
    left_out: int
    """Number of measurements with nulls that did not fit."""


@dataclass(frozen=True, slots=True)
class Overview:
    """The measurements, worst first."""

    rows: tuple[TableRow, ...]
    left_out: int
    verdicts: Counter[Verdict]
    """Verdicts of all measurements, counted."""


def overview(profile: Profile, timeline: Timeline, items: Sequence[Item]) -> Overview:
    """The overview: one row per measurement, by verdict, then by series; at most MOST_ROWS."""
    worst = _verdicts(profile, items)
    total = _total_rows(profile)
    policies = {d.name: d.retention or () for d in profile.databases}

    def row(m: Measurement) -> TableRow:
        points = [p for p in timeline.of("series", Subject(m.database, m.name)) if p.day < profile.day]
        return TableRow(
            measurement=m,
            verdict=worst[m.database, m.name],
            series_change=m.series.value - points[-1].value if m.series and points else None,
            row_share=m.rows.value / total if total and m.rows else None,
            worst_null=_worst_null(m),
            retention=_kept([m.retention] if m.retention else policies.get(m.database, ()), m.name),
            determined="; ".join(f"{tag} determines {listed(others)}" for tag, others in determined_tags(m).items()),
        )

    def order(m: Measurement) -> tuple[object, ...]:
        return (-worst[m.database, m.name].rank, _by_series(m))

    chosen = sorted(profile.measurements, key=order)
    rows = tuple(row(m) for m in chosen[:MOST_ROWS])
    return Overview(rows, max(0, len(chosen) - MOST_ROWS), Counter(worst[m.database, m.name] for m in chosen))


def details(profile: Profile, items: Sequence[Item]) -> list[Detail]:
    """Columns and contributions of measurements: those with findings first, ordered by their worst finding, then those
    whose tags were listed, most series first.
    """
    wanted = dict.fromkeys(
        (i.finding.subject.database, i.finding.subject.measurement) for i in items if i.finding.subject.measurement
    )
    known = {(m.database, m.name): m for m in profile.measurements}
    listed_ones = (m for m in profile.measurements if m.tag_sets is not None)
    wanted |= dict.fromkeys((m.database, m.name) for m in sorted(listed_ones, key=_by_series))
    found: list[Detail] = []
    room = MOST_DETAIL_COLUMNS
    for detail in (_detail(known[key], profile.window) for key in wanted if key in known):
        room -= len(detail.tags) + len(detail.fields) + len(detail.contributions)
        if found and (room < 0 or len(found) == MOST_DETAILS):
            break
        found.append(detail)
    return found


def roles(profile: Profile) -> tuple[list[tuple[TableRoles, str]], int]:
    """How the audit reads the biggest tables, each with the setting that changes it, and the number of others.

    Empty if the engine declares the roles.
    """
    if not ENGINES[profile.engine].infers_roles:
        return [], 0
    chosen = nsmallest(MOST_ROLES, profile.measurements, key=lambda m: (-_size(m), m.database, m.name))
    return [(table_roles(m), override(m)) for m in chosen], len(profile.measurements) - len(chosen)


def _by_series(m: Measurement) -> tuple[object, ...]:
    return (-(m.series.value if m.series else 0), m.database, m.name)


def _size(m: Measurement) -> int:
    rows = m.rows_total or m.rows
    return rows.value if rows else 0


def heat_map(profile: Profile) -> HeatMap | None:
    """The measurements and fields with the most nulls; None if there are none."""
    with_nulls = []
    for m in profile.measurements:
        ratios = {f.key: f.null_ratio.value for f in m.fields if f.null_ratio is not None}
        if any(value > 0 for value in ratios.values()):
            with_nulls.append((m, ratios))
    if not with_nulls:
        return None
    with_nulls.sort(key=lambda pair: (-max(pair[1].values()), pair[0].database, pair[0].name))
    shown = with_nulls[:HEAT_ROWS]
    weight: Counter[str] = Counter()
    for _, ratios in shown:
        weight.update(ratios)
    fields = tuple(key for key, _ in sorted(weight.items(), key=lambda kv: (-kv[1], kv[0]))[:HEAT_COLUMNS])
    rows = tuple((m, tuple(ratios.get(f) for f in fields)) for m, ratios in shown)
    return HeatMap(fields, rows, len(with_nulls) - len(shown))


def _detail(m: Measurement, window: Window) -> Detail:
    sets = m.tag_sets
    tags = sorted(m.tags, key=lambda t: (-(t.values.value if t.values else 0), t.key))
    fields = sorted(m.fields, key=lambda f: (-(f.null_ratio.value if f.null_ratio else 0), f.key))
    return Detail(
        measurement=m,
        tags=tuple(tags[:MOST_COLUMNS]),
        fields=tuple(fields[:MOST_COLUMNS]),
        columns_left_out=max(0, len(tags) - MOST_COLUMNS) + max(0, len(fields) - MOST_COLUMNS),
        contributions=sets.contributions[:MOST_COLUMNS] if sets else (),
        drop_curve=sets.drop_curve[:8] if sets else (),
        dependencies=sets.dependencies[:MOST_COLUMNS] if sets else (),
        values_from=_values_from(m),
        daily=_daily(m, window),
    )


_MOST_DAILY: Final = 5
_HOUR: Final = timedelta(hours=1)
"""Rates computed from less than this are too unreliable."""


def _daily(m: Measurement, window: Window) -> str:
    if m.row_bytes is None or m.rows is None or m.last_time is None or m.own_window is not None:
        return ""
    # For a big table, the query planner estimates how many rows are within the window.
    span = min(m.last_time, window.end) - (m.first_time or window.start)
    if span < _HOUR:
        return ""
    rows = m.rows.value / (span / timedelta(days=1))
    most = list(m.row_bytes.columns.items())[:_MOST_DAILY]
    columns = listed([f"{name} {size(round(rows * width))}" for name, width in most])
    return f"{size(round(rows * m.row_bytes.total))} in {number(round(rows))} rows; most in {columns}"


def _values_from(m: Measurement) -> str:
    scopes = {f.distinct.source.scope for f in m.fields if f.distinct is not None}
    return scopes.pop() if len(scopes) == 1 else ""


def _verdicts(profile: Profile, items: Sequence[Item]) -> dict[tuple[str, str], Verdict]:
    """The verdict of each measurement: the worst finding about it or about its family; `unknown` if something about it
    was not measured.
    """
    gaps = {(g.database, g.measurement) for g in profile.gaps}
    said: dict[tuple[str, str], list[Verdict]] = defaultdict(list)
    for finding in (i.finding for i in items if not i.muted and i.finding.severity is not Severity.NOTE):
        said[finding.subject.database, finding.subject.measurement].append(Verdict(finding.severity))
    keeps_documents = ENGINES[profile.engine].keeps_documents
    families: dict[tuple[str, str], CollectionFamily] = {}
    if keeps_documents:
        from tsaudit.analysis.collection_families import families_by_member

        families = families_by_member(profile)
    found: dict[tuple[str, str], Verdict] = {}
    for m in profile.measurements:
        blind = not gaps.isdisjoint({(None, None), (m.database, None), (m.database, m.name), (None, m.name)})
        # The representative of a family of measurements stands for all its members.
        blind = blind or (keeps_documents and m.documents is None and m.storage is None)
        family = families.get((m.database, m.name))
        of_family = said.get((m.database, family.template), []) if family else []
        own = said.get((m.database, m.name), [])
        found[m.database, m.name] = Verdict.worst((Verdict.UNKNOWN if blind else Verdict.OK, *own, *of_family))
    return found


def _total_rows(profile: Profile) -> int | None:
    counts = [m.rows for m in profile.measurements]
    if not counts or not profile.all_listed() or any(c is None for c in counts):
        return None
    return sum(c.value for c in counts if c is not None)


def _worst_null(m: Measurement) -> tuple[str, float] | None:
    ratios = [(f.key, f.null_ratio.value) for f in m.fields if f.null_ratio is not None]
    return max(ratios, key=lambda pair: pair[1], default=None)


def _kept(policies: Sequence[Retention], measurement: str) -> str:
    """The duration of the default policy or of the measurement's own policy, or all durations; a dash
    if there is none.
    """
    own = [p for p in policies if p.policy == measurement]
    chosen = [p for p in policies if p.default] or own or list(policies)
    return ", ".join(dict.fromkeys(retention(p.duration_s) for p in chosen[:3])) or NOT_KNOWN
