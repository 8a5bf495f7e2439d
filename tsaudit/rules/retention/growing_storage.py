"""RET002."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from tsaudit import costs
from tsaudit.model.change import Change, Diagnose
from tsaudit.model.figures import Subject
from tsaudit.model.finding import Currency, Evidence, Finding, Forecast, Impact, Limit
from tsaudit.model.profile import Database
from tsaudit.model.server import TableStatus
from tsaudit.model.timeline import Point, held_bytes, stored_bytes, stored_parts
from tsaudit.rule import Case, rule
from tsaudit.text import listed, many, number, percent, size
from tsaudit.text.findings import SET_IN_FILE, limit_reached


@rule(
    code="RET002",
    title="Data and indexes fill the space they have",
    costs={Currency.LIMIT},
    guidelines=("H5",),
    requires={"stored_bytes"},
    uses={"row_estimate"},
    shows={"table_status"},
    not_applicable={
        "influxdb2 Cloud": "the service does not report bytes",
        "influxdb3 Cloud Serverless": "the service does not report bytes",
        "influxdb3 Cloud Dedicated": (
            "according to its documentation its partition tables are slow, so they are not queried"
        ),
    },
)
def growing_storage(case: Case) -> Iterator[Finding]:
    """When the data and indexes will fill the disk of the server, or reach the space that `harm` declares.

    MongoDB reports its disk, which its databases share: the finding is about the one that grew most. Other servers do
    not report how much space there is, so set `harm: {max_bytes: ...}` to the size of the disk minus everything else on
    it. From half of the space on, or if it is reached within the days that `harm` warns of, the cost is the room that
    is left: at the rate of the daily history or, before there is a week of it, at that of the newest rows by their
    times. Where no space is known, growth is a note, from `harm.min_bytes` within `harm.horizon` on; in the first week
    of the history, only that of tables of which no row was ever deleted, as PostgreSQL counts. For the sizes that each
    engine reports and what they include, see `docs/engines.md`.

    ## Why it matters

    A full disk stops the server for all tables at once, and freeing space (vacuum, compaction, a copy) needs some space
    itself.

    ## Example

    80 GB today, growing 2% a day, on a disk of 100 GB: eleven days.

    ## Fix

    Set a retention period for the data that grows, or get a larger disk in time.

    ## References

    - Disk full, PostgreSQL: https://www.postgresql.org/docs/current/disk-full.html
    - Storage of a database, MongoDB: https://www.mongodb.com/docs/manual/reference/command/dbStats/
    - Region statistics, GreptimeDB: https://docs.greptime.com/reference/sql/information-schema/region-statistics/
    """
    for space in _spaces(case):
        yield from _evaluated(case, space)


_SLOPE_DAYS: Final = 7
"""If the history is shorter than this, the growth of the data is computed from the times of the rows."""


@dataclass(frozen=True, slots=True)
class _Space:
    """A space that fills with data: a disk, or all data. Its limit may be unknown."""

    subject: Subject
    held: int
    figure: str
    """Its name in the history."""
    limit: Limit | None
    on_disk: tuple[str, ...] = ()
    """The databases that share the disk; empty if the space is not a whole disk."""


def _spaces(case: Case) -> Iterator[_Space]:
    disks: dict[tuple[int, int], list[Database]] = {}
    for database in case.profile.databases:
        kept = database.storage
        if kept is not None and kept.disk_bytes and kept.disk_used_bytes is not None:
            disks.setdefault((kept.disk_used_bytes, kept.disk_bytes), []).append(database)
    for (used, total), sharing in disks.items():
        grew_most = max(sharing, key=lambda database: (_growth_of(case, database), database.name))
        limit = Limit(
            "growing-storage.disk", total, "bytes", "the size of the disk, as the server reports it", "server"
        )
        names = tuple(sorted(database.name for database in sharing))
        yield _Space(Subject(grew_most.name), used, "disk_used_bytes", limit, names)
    held, declared = stored_bytes(case.profile), case.harm.max_bytes
    if held is not None and (declared or not disks):
        set_limit = Limit("harm.max_bytes", declared, "bytes", SET_IN_FILE, "target") if declared else None
        yield _Space(Subject(), held, "stored_bytes", set_limit)


def _growth_of(case: Case, database: Database) -> float:
    """Number of bytes by which the database has grown since the history started."""
    points = case.timeline.of("data_bytes", Subject(database.name))
    now = database.storage.data_bytes if database.storage else None
    return float(now or 0) - (points[0].value if points else 0.0)


def _evaluated(case: Case, space: _Space) -> Iterator[Finding]:
    held, limit = space.held, space.limit
    points = (*case.usual(space.figure, space.subject), Point(case.profile.day, float(held)))
    if limit is None and len(points) < 2:
        return
    from tsaudit.analysis.growth import detection as growth

    days, values = [p.day for p in points], [p.value for p in points]
    evaluated = growth.detect(days, values)
    forecast = growth.forecast(days, values, limit.value, unit=limit.unit) if limit else None
    rates = _rates_of_rows(case) if _is_young(case, points[0]) else None
    per_day = evaluated.added_per_day if rates is None else sum(rates.values()) if rates else None
    impact = _impact(case, space, limit, forecast, per_day) if limit else None
    added = (per_day or 0.0) * case.harm.horizon.days
    is_growth = evaluated.kind == "growth" or _are_kept(case, [part for _, part in _largest(rates or {}, per_day or 0)])
    if impact is None if limit else not is_growth or added < case.harm.min_bytes:
        return
    before = evaluated.points_before(points)[-1]
    if limit is None and held < before.value:
        # Space came free since: what it took then says nothing of the growth.
        before = points[-1]
    doubling = evaluated.doubling_days if not limit else None
    found = _finding(case, space, forecast, before, doubling, per_day or 0.0)
    yield replace(found, impact=impact, per_day=per_day or None, jump=evaluated.jump)


def _is_young(case: Case, first: Point) -> bool:
    """Whether the history is too short to show the growth of the data."""
    return (case.profile.day - first.day).days < _SLOPE_DAYS


def _impact(case: Case, space: _Space, limit: Limit, forecast: Forecast | None, per_day: float | None) -> Impact | None:
    """How near the space is to its limit; None if it is neither half full nor soon reached. `per_day`: None if it is
    not known.
    """
    held = space.held
    left = forecast.days if forecast else None
    if left is None and per_day:
        left = max(limit.value - held, 0.0) / per_day
    bytes_read = "what is used of the disk" if space.on_disk else "bytes of data and indexes"
    how = f"{bytes_read}, as the server reports them, and {'its size' if space.on_disk else 'the declared space'}"
    impact = Impact(
        Currency.LIMIT,
        now=held,
        whole=limit.value,
        per_day=per_day,
        days_left=0.0 if held >= limit.value else left,
        is_owners=not space.on_disk,
        unit="bytes",
        how=how,
    )
    return impact if costs.is_near(case, impact, costs.NOTED) else None


def _rates_of_rows(case: Case) -> dict[Subject, float]:
    """Bytes added per day to each measurement, computed from the times of the rows; without those whose rows do not
    show it. Where only a total is reported, every row is assumed to have the same size.
    """
    counts = {Subject(m.database, m.name): m.rows_total or m.rows for m in case.measurements}
    rows = {part: count.value for part, count in counts.items() if count}
    row_bytes = sum(held or 0 for held in stored_parts(case.profile).values()) / max(sum(rows.values()), 1)
    rates = {}
    for measurement in case.measurements:
        part, growth = Subject(measurement.database, measurement.name), costs.rows_growth(case, measurement)
        if growth is not None:
            held = held_bytes(measurement.storage)
            rates[part] = growth * (rows.get(part, 0) * row_bytes if held is None else held)
            if read := measurement.row_bytes:
                # The rows to come are as large as the newest ones.
                rates[part] += (
                    growth
                    * rows.get(part, 0)
                    * sum(read.newest(one.column) - read.of(one.column) for one in read.larger)
                )
    return rates


def _finding(
    case: Case, space: _Space, forecast: Forecast | None, before: Point, doubling: float | None, per_day: float
) -> Finding:
    limit, held = space.limit, space.held
    if limit and space.on_disk:
        message = f"{percent(held / limit.value)} of the disk's {size(limit.value)} are used"
    else:
        message = f"Data and indexes take {size(held)}"
        if before.day < case.profile.day:
            message += f", {size(before.value)} on {before.day}"
    if forecast and forecast.days is not None:
        message += f"; {limit_reached(forecast)}"
    elif doubling is not None:
        message += f"; at this rate they double in about {many(max(1, round(doubling)), 'day')}"
    word = case.engine.words.measurement
    grown = _grown(case, before) if before.day < case.profile.day else []
    increase, a_day = held - before.value, ""
    if not grown and not space.on_disk and (increase > 0 or _is_young(case, before)):
        rates = [(added, part) for part, added in _rates_of_rows(case).items() if added > 0]
        grown, increase = sorted(rates, key=_largest_first), sum(added for added, _ in rates)
        a_day = " a day, by its rows"
    most = [part for _, part in _largest({part: added for added, part in grown}, increase)]
    where = f"Find the {word} that grows"
    if most:
        share = min(1.0, sum(added for added, part in grown if part in most) / increase)
        where = f"{percent(share)} of the increase is in {listed(list(map(str, most)))}"
        message += f"; {where}" if len(case.measurements) > 1 else ""
    if _are_kept(case, most) and not limit:
        message += f"; no row of {'these' if len(most) > 1 else most[0]} was ever deleted"
        message += f", and about {size(per_day * 365)} a year are added in all" if per_day else ""
    what = f"{where}: give its rows a lifetime, keep coarser values of old ones, or make room in time."
    look: tuple[Change, ...] = (Diagnose(space.subject, "sizes"),) if space.on_disk else ()
    if case.engine.infers_roles:
        look = tuple(Diagnose(part, "growth") for part in most if part.measurement)
        what = f"{where}. If all rows are needed, make room in time." if look else what
    return Finding(
        subject=space.subject,
        severity_reason="the server does not report its disk; to be warned, set `harm: {max_bytes: SIZE}`",
        message=f"{message}.",
        fix=what,
        changes=look,
        observed=float(held),
        limit=limit,
        unit="bytes",
        baseline=before.value,
        evidence=(
            Evidence(f"{word}s", number(len(case.measurements))),
            *(Evidence(f"added in {part}", _added(added, increase, a_day)) for added, part in grown[:3]),
            *([Evidence("databases on the disk", listed(space.on_disk))] if space.on_disk else []),
        ),
        since=before.day if before.day < case.profile.day else None,
        forecast=forecast,
        facts=("stored_bytes",),
    )


def _largest(added: Mapping[Subject, float], of_all: float) -> list[tuple[float, Subject]]:
    """Those that are named as growing, with what each has grown by, largest first."""
    found = sorted(((bytes_, part) for part, bytes_ in added.items()), key=_largest_first)
    return [pair for pair in found[:_NAMED] if pair[0] >= _LARGE * of_all > 0]


def _are_kept(case: Case, parts: Sequence[Subject]) -> bool:
    """Whether all rows that ever came to these tables are still there, as the server counts."""
    counted = {Subject(m.database, m.name): m.status for m in case.measurements}
    return bool(parts) and all((status := counted.get(part)) is not None and _is_kept(status) for part in parts)


def _is_kept(status: TableStatus) -> bool:
    # It counts rows before their transaction ends, and TRUNCATE not at all.
    came, live = status.counters.get("rows_inserted", 0.0), status.figures.get("live_rows", 0.0)
    return status.counters.get("rows_deleted") == 0 and came > 0 and abs(came - live) <= _LARGE * came


_NAMED: Final = 3
"""Most measurements named as those that grow."""
_LARGE: Final = 0.1
"""Share of the growth from which on a measurement is named."""


def _added(added: float, of_all: float, a_day: str) -> str:
    return f"{size(added)}{a_day}" + (f", {percent(min(1.0, added / of_all))} of it" if of_all > 0 else "")


def _grown(case: Case, before: Point) -> Sequence[tuple[float, Subject]]:
    """The number of bytes by which each database or measurement has grown since that day, largest first; those that did
    not grow are left out.

    Empty if only the total size of the target is known.
    """
    found = []
    for part, now in stored_parts(case.profile).items():
        past = sum(
            next((p.value for p in case.timeline.of(name, part) if p.day == before.day), 0.0)
            for name in ("data_bytes", "index_bytes")
        )
        if part != Subject() and now is not None and now > past:
            found.append((now - past, part))
    return sorted(found, key=_largest_first)


def _largest_first(pair: tuple[float, Subject]) -> tuple[float, Subject]:
    added, part = pair
    return -added, part
