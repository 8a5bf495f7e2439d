"""How much a statement would read according to PostgreSQL's planner, from `EXPLAIN (FORMAT JSON)`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

Plan = Mapping[str, Any]
"""A node of a plan, with its child nodes."""
_WHOLE: Final = frozenset({"Seq Scan", "Sample Scan"})
"""Nodes that read all rows of a relation, however few they return."""
_SORTS: Final = frozenset({"Sort", "Incremental Sort"})
_OVER_CHUNKS: Final = frozenset({"ChunkAppend", "ConstraintAwareAppend"})
"""TimescaleDB's own nodes for a hypertable, whose child nodes read the chunks."""


@dataclass(frozen=True, slots=True)
class ScanEstimate:
    """The planner's estimates of a table's rows, from the current size of its files and the last ANALYZE."""

    rows: int
    """Rows within the window."""
    rows_read: int
    """Rows that are read to find these."""
    rows_all: int
    """Rows in the table."""
    rows_sorted: int | None
    """Rows that are sorted to return the requested number of newest rows: 0 if an index returns them in that order.
    None for a table without a time.
    """


def scan_estimate(inside: Plan, every: Plan, newest: Plan | None) -> ScanEstimate:
    """The estimate from the plans for reading the rows in the window, every row, and the newest rows in the window, in
    order.

    `newest`: a plan with a limit; None for a table without a time, which has no newest rows.
    """
    sizes: dict[str, int] = {}
    for scan in _scans(every):
        sizes[scan["Relation Name"]] = sizes.get(scan["Relation Name"], 0) + scan["Plan Rows"]
    scans = list(_scans(inside))
    return ScanEstimate(
        rows=sum(scan["Plan Rows"] for scan in scans),
        rows_read=_read(scans, sizes),
        rows_all=sum(sizes.values()),
        rows_sorted=None if newest is None else _sorted_for_newest(newest, sizes),
    )


def _read(scans: Iterable[Plan], sizes: Mapping[str, int]) -> int:
    """The number of rows that the nodes read. `sizes`: relation to its total number of rows."""
    return sum(
        sizes.get(scan["Relation Name"], 0) if scan["Node Type"] in _WHOLE else scan["Plan Rows"] for scan in scans
    )


def _sorted_for_newest(newest: Plan, sizes: Mapping[str, int]) -> int:
    """The number of rows that are sorted for the newest rows. Chunks are read in time order until there are enough
    rows.
    """
    top, wanted = newest, newest["Plan Rows"]
    while top["Node Type"] == "Limit":
        top = top["Plans"][0]
    chunks = top.get("Custom Plan Provider") in _OVER_CHUNKS and "Order" in top
    handed = found = 0
    for part in top["Plans"] if chunks else [top]:
        scans = list(_scans(part))
        found += _read(scans, sizes) if _is_sorted(part) else 0
        handed += sum(scan["Plan Rows"] for scan in scans)
        if handed >= wanted:
            break
    return found


def _is_sorted(plan: Plan) -> bool:
    """Whether rows are sorted above the nodes that read them. Sorting below such a node is ignored: TimescaleDB sorts
    its batches there.
    """
    if plan["Node Type"] in _SORTS:
        return True
    return not _is_scan(plan) and any(map(_is_sorted, plan.get("Plans", ())))


def _is_scan(plan: Plan) -> bool:
    return "Relation Name" in plan and plan.get("Custom Plan Provider") not in _OVER_CHUNKS


def _scans(plan: Plan) -> Iterator[Plan]:
    """The nodes that read a relation. Nodes below such a node, such as its index scan, are part of it."""
    if _is_scan(plan):
        yield plan
        return
    for below in plan.get("Plans", ()):
        yield from _scans(below)
