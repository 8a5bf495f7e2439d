"""STO017."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from tsaudit import costs
from tsaudit.model.finding import Currency, Evidence, Finding, Impact
from tsaudit.model.profile import Measurement
from tsaudit.rule import Case, Threshold, rule, subject_of, table_of
from tsaudit.text import day as written
from tsaudit.text import listed, number, percent, size

_RECENT: Final = timedelta(days=1)
"""A vacuum that ended less than this long ago has seen most of the rows that are dead now."""
_MOSTLY: Final = 0.5
_FEW_LIVE: Final = 0.01
"""Share of live rows below which rows are deleted soon after they came, as in a queue, and not by their age."""
_MANY_DEAD: Final = 10_000
"""Number of dead rows from which on every scan is slower, however few bytes they take."""
_OFF: Final = ("false", "off", "no", "0")
"""What PostgreSQL takes for false, in any case, and as their beginnings; the catalog has it as it was written."""
_FREE: Final = 0.4
"""Minimum share of the table that must be free: widths are estimates, and some free space is used again."""


@rule(
    code="STO017",
    title="Dead rows fill a table",
    costs={Currency.BYTES, Currency.MECHANISM},
    guidelines=("H5",),
    requires={"table_status"},
    uses={"storage", "options", "server_status", "partitions", "indexes"},
    thresholds=(
        Threshold(
            "max_overdue",
            2,
            "times what autovacuum waits for",
            "our default: a vacuum that is due may wait for a free worker, and takes its time",
        ),
    ),
)
def dead_rows(case: Case) -> Iterator[Finding]:
    """Tables with more rows that were deleted or updated than autovacuum should let them have, or that are mostly
    empty.

    PostgreSQL keeps deleted rows, and the old versions of updated ones, until a vacuum frees their space for new rows.
    Autovacuum begins at `autovacuum_vacuum_threshold` rows and `autovacuum_vacuum_scale_factor` of the table, 50 and a
    fifth by default, as set for the server or the table. A table with more than `max_overdue` times that many dead rows
    is reported. The cost is their share of the table's bytes, as far as autovacuum would not let them have it, and of
    those of its indexes as far as rows were deleted; where nothing has vacuumed it for a day, it grows as rows are
    deleted and updated. Where autovacuum is off, rows are still deleted or updated, and nothing has vacuumed the table
    for a day, from 10,000 dead rows on a mechanism fails, whatever their bytes.

    A table is reported, too, if more than 40% of its bytes, and as many as a warning needs, are neither of live rows,
    by their number and the widths of the columns in PostgreSQL's statistics, nor of the dead ones that autovacuum lets
    there be, and new rows will not need them within the horizon. That is what deletes have left: a vacuum keeps it for
    new rows.

    ## Why it matters

    Dead rows take disk and memory, and every scan reads them. What they took is not given back to the disk: the table
    and its indexes keep their size, and only new rows use it again.

    ## Example

    A job deletes last month's rows of `readings` each night, 40 million of them, and autovacuum is off for the table.

    ## Fix

    Let autovacuum run, and end what holds it up. Make the indexes again, which a vacuum does not shrink. Where rows are
    deleted by their age, partition the table by time and drop partitions: that leaves no dead rows at all. It makes no
    sense for a queue, where fewer than 1% of the rows are live.

    ## References

    - Routine vacuuming: https://www.postgresql.org/docs/current/routine-vacuuming.html
    - When autovacuum begins: https://www.postgresql.org/docs/current/runtime-config-autovacuum.html
    - Partitions: https://www.postgresql.org/docs/current/ddl-partitioning.html
    """
    for measurement in case.profile.measurements:
        dead, free = _dead(case, measurement), _free_bytes(case, measurement)
        if dead is not None:
            yield _finding(case, measurement, dead, free)
        elif free is not None:
            yield _emptied(case, measurement, free)


@dataclass(frozen=True, slots=True)
class _Dead:
    rows: float
    live: float
    allowed: float
    """Number of dead rows that autovacuum tolerates."""

    @property
    def share(self) -> float:
        """Share of dead rows among all rows, 0 to 1."""
        return self.rows / (self.rows + self.live)


def _dead(case: Case, measurement: Measurement) -> _Dead | None:
    figures = measurement.status.figures if measurement.status else {}
    dead, live = figures.get("dead_rows"), figures.get("live_rows")
    if not dead or live is None:
        return None
    allowed = _allowed(case, measurement, live)
    if dead <= case.limit("max_overdue", measurement).value * allowed:
        return None
    return _Dead(dead, live, allowed)


def _allowed(case: Case, measurement: Measurement, live: float) -> float:
    """Number of dead rows that autovacuum tolerates in the table."""
    return _setting(case, measurement, "vacuum_threshold", 50) + live * _setting(
        case, measurement, "vacuum_scale_factor", 0.2
    )


_ROW_BYTES: Final = 32
"""Bytes of a row besides its values: a header of 24, a pointer of 4, and alignment."""


def _free_bytes(case: Case, measurement: Measurement) -> float | None:
    """The bytes used neither by live rows nor by dead rows that autovacuum tolerates; None if they are not a large part
    of the table, if new rows will need them, or if they are not known.
    """
    status, options = measurement.status, measurement.options or {}
    held, live = (status.figures.get(name) if status else None for name in ("heap_bytes", "live_rows"))
    if status is None or not held or live is None or measurement.is_compressed:
        return None
    if live and not status.widths:
        return None
    row = (_ROW_BYTES + sum(status.widths.values())) * 100 / float(options.get("fillfactor", 100))
    free = held - (live + _allowed(case, measurement, live)) * row
    least = max(_FREE * held, case.harm.min_bytes)
    needed = (costs.rows_growth(case, measurement) or 0.0) * case.harm.horizon.days * live * row
    return free if free - needed > least else None


def _emptied(case: Case, measurement: Measurement, free: float) -> Finding:
    figures = measurement.status.figures if measurement.status else {}
    held, live = figures["heap_bytes"], figures["live_rows"]
    how = "bytes of the table without those of its live rows, by the statistics of its columns"
    return Finding(
        subject=subject_of(measurement),
        message=f"{percent(free / held)} of the table is empty: it has {size(round(held))} for {number(round(live))} "
        "live rows.",
        impact=costs.of_bytes(case, measurement, free, how=how, is_row_data=False),
        fix="A plain VACUUM keeps that for new rows. VACUUM FULL, which locks the table, or pg_repack returns it to "
        f"the disk.{_by_partitions(measurement, 1 - free / held)}",
        observed=round(live),
        unit="live rows",
        evidence=(
            Evidence("bytes of the table", size(round(held))),
            Evidence("live rows", number(round(live))),
            Evidence("bytes that could be returned", size(round(free))),
        ),
        facts=("table_status", "storage", "options", "server_status"),
    )


def _setting(case: Case, measurement: Measurement, name: str, default: float) -> float:
    """An autovacuum setting, as it applies to the table."""
    own = (measurement.options or {}).get(f"autovacuum_{name}")
    if own is not None:
        return float(own)
    status = case.profile.server
    return default if status is None else status.settings.get(f"autovacuum_{name}", default)


def _finding(case: Case, measurement: Measurement, dead: _Dead, free: float | None) -> Finding:
    status, storage = measurement.status, measurement.storage
    bytes_ = storage.data_bytes if storage else None
    why, fix = _why(case, measurement)
    counters = status.counters if status else {}
    deleted, updated = counters.get("rows_deleted", 0.0), counters.get("rows_updated", 0.0)
    # What is updated within its page has no new entry in an index.
    of_indexes = (storage.index_bytes or 0) * deleted / (deleted + updated) if storage and deleted else 0.0
    beyond = (dead.rows - dead.allowed) / (dead.rows + dead.live)
    names = [index.name for index in measurement.indexes or ()]
    if of_indexes and beyond > _MOSTLY and names:
        fix += f" A vacuum does not shrink the indexes: REINDEX INDEX CONCURRENTLY for {listed(names, 5)}."
    if beyond > _MOSTLY:
        fix += " A vacuum leaves the table its size for new rows: VACUUM FULL, which locks it, or pg_repack shrinks it."
    if deleted > _MOSTLY * (deleted + updated) and measurement.time_column is not None:
        fix += _by_partitions(measurement, 1 - dead.share)
    how = "the share of dead rows in the bytes of the table and its indexes, beyond what autovacuum lets there be"
    impact = None
    if bytes_ is not None:
        wasted = max(bytes_ * beyond, free or 0.0) + of_indexes * beyond
        impact = costs.of_bytes(case, measurement, wasted, how=how, is_row_data=False)
        dying = _dying(case, measurement)
        each = (bytes_ + of_indexes) / (dead.rows + dead.live)
        impact = replace(impact, per_day=None if dying is None else dying * each)
    if dead.rows >= _MANY_DEAD and _is_switched_off(case, measurement):
        why += f"; they take {size(round(impact.now))}" if impact else ""
        impact = Impact(
            Currency.MECHANISM,
            is_enforced=False,
            consequence="Each update and delete adds dead rows, and the table keeps growing by them.",
            how="the settings, and the counters of dead rows",
        )
    return Finding(
        subject=subject_of(measurement),
        message=f"{number(dead.rows)} dead rows, {percent(dead.share)} of all: {why}.",
        impact=impact,
        fix=fix,
        observed=dead.rows,
        unit="dead rows",
        evidence=(
            Evidence("live rows", number(dead.live)),
            Evidence("autovacuum begins at", f"{number(round(dead.allowed))} dead rows"),
            Evidence("rows deleted", number(deleted)),
            Evidence("rows updated", number(updated)),
            *([Evidence("bytes of the table", size(bytes_))] if bytes_ is not None else []),
        ),
        facts=("table_status", "storage", "options", "server_status", "indexes"),
    )


def _by_partitions(measurement: Measurement, live: float) -> str:
    """How rows are removed by their age without leaving anything; empty if they do not live long enough, or if
    updates left more dead rows than deletes. `live`: share of live rows, 0 to 1.
    """
    counters = measurement.status.counters if measurement.status else {}
    if live < _FEW_LIVE or counters.get("rows_deleted", 0.0) < counters.get("rows_updated", 0.0):
        return ""
    of = "Drop whole partitions" if measurement.partitioning else "Partition the table by time, and drop partitions,"
    return f" {of} instead of deleting rows by their age: that leaves nothing."


def _vacuumed(measurement: Measurement) -> datetime | None:
    at = measurement.status.figures.get("vacuumed") if measurement.status else None
    return None if at is None else datetime.fromtimestamp(at, UTC)


def _is_off_for_server(case: Case) -> bool:
    server = case.profile.server
    return server is not None and server.settings.get("autovacuum") == 0


def _is_off_for_table(measurement: Measurement) -> bool:
    enabled = (measurement.options or {}).get("autovacuum_enabled", "").lower()
    return enabled != "" and any(word.startswith(enabled) for word in _OFF)


def _is_off(case: Case, measurement: Measurement) -> bool:
    return _is_off_for_server(case) or _is_off_for_table(measurement)


def _died(measurement: Measurement) -> float | None:
    counters = measurement.status.counters if measurement.status else {}
    return counters.get("rows_deleted", 0.0) + counters.get("rows_updated", 0.0)


def _is_switched_off(case: Case, measurement: Measurement) -> bool:
    """Whether rows still die, autovacuum is off, and nobody else has vacuumed the table for a day."""
    rate, at = costs.counted_a_day(case, measurement, _died), _vacuumed(measurement)
    is_vacuumed = at is not None and case.profile.collected_at - at <= _RECENT
    return _is_off(case, measurement) and (rate is None or rate.per_day > 0) and not is_vacuumed


def _dying(case: Case, measurement: Measurement) -> float | None:
    """Number of rows that are deleted or updated per day, if nothing frees them; None if something may, or if the
    counters are too young to tell.
    """
    began, at = measurement.status.counted_since if measurement.status else None, _vacuumed(measurement)
    if at is not None and case.profile.collected_at - at <= _RECENT:
        return None
    if at is None and (began is None or case.profile.collected_at - began <= _RECENT):
        return None if _died(measurement) else 0.0
    rate = costs.counted_a_day(case, measurement, _died)
    return rate.per_day if rate else 0.0


_OPEN: Final = ("transaction ", "prepared ")


def _readers(case: Case) -> list[str]:
    """The transactions open for a day, by the names under which SRV002 reports them."""
    status = case.profile.server
    return [one.name for one in status.failures if one.name.startswith(_OPEN)] if status else []


def _why(case: Case, measurement: Measurement) -> tuple[str, str]:
    """Why nothing frees the dead rows, and what to do. That autovacuum is off is said first: a vacuum by hand changes
    nothing about it.
    """
    at = _vacuumed(measurement)
    is_recent = at is not None and case.profile.collected_at - at <= _RECENT
    why, fix = [], []
    if _is_off_for_table(measurement):
        name = case.quoted([table_of(measurement)])
        why.append("autovacuum is off for the table")
        fix.append(
            f"Switch autovacuum on: ALTER TABLE {name} RESET (autovacuum_enabled, toast.autovacuum_enabled); and "
            f"vacuum it once: VACUUM {name}."
        )
    if _is_off_for_server(case):
        why.append("autovacuum is off for the server")
        fix.append("Turn autovacuum on for the server, and vacuum the table once.")
    if at is not None and is_recent:
        by = _readers(case)
        reader = f"the {listed(by, 2)} may still read" if by else "something may still read"
        why.append(f"a vacuum ended on {written(at.date())}, so they are newer, or {reader} them")
        keeps = (
            "what may read them: a transaction open for long (backend_xmin of pg_stat_activity), a prepared one "
            "(pg_prepared_xacts), or a replication slot (xmin of pg_replication_slots)"
        )
        fix.append(
            f"If they stay, end {keeps if not by else 'this transaction' if not by[1:] else 'these transactions'}."
        )
    if why:
        return "; ".join(why), " ".join(fix)
    if at is None:
        return (
            "nothing has vacuumed the table since the counters began",
            "See in the server's log and in pg_stat_activity why autovacuum does not get to it, and vacuum it once.",
        )
    return (
        f"the last vacuum ended on {written(at.date())}",
        (
            "See why autovacuum does not get to it: too few workers (autovacuum_max_workers), its cost limit, or a "
            "lock that stops it; and vacuum it once."
        ),
    )
