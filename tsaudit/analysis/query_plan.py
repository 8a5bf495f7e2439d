"""What PostgreSQL's planner says a statement would read, from `EXPLAIN (FORMAT JSON)`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

Plan = Mapping[str, Any]
"""A node of a plan, with the ones below it."""
_WHOLE: Final = frozenset({"Seq Scan", "Sample Scan"})
"""Nodes that read all rows of a relation, however few they keep."""
_SORTS: Final = frozenset({"Sort", "Incremental Sort"})


@dataclass(frozen=True, slots=True)
class ScanEstimate:
    """Rows of a table by the planner's estimate, which goes by the size of its files today and the last ANALYZE."""

    rows: int
    """Within the window."""
    rows_read: int
    """Read to find these."""
    rows_all: int
    """In the table."""
    ordered: bool
    """An index hands the newest rows over first, so that a few can be read without the others."""


def scan_estimate(inside: Plan, every: Plan, newest: Plan | None) -> ScanEstimate:
    """From the plans for reading the rows inside a window, every row, and the newest of those inside, in their order.

    `newest`: None for a table without time, which has no such order.
    """
    sizes: dict[str, int] = {}
    for scan in _scans(every):
        sizes[scan["Relation Name"]] = sizes.get(scan["Relation Name"], 0) + scan["Plan Rows"]
    scans = list(_scans(inside))
    return ScanEstimate(
        rows=sum(scan["Plan Rows"] for scan in scans),
        rows_read=sum(
            sizes.get(scan["Relation Name"], 0) if scan["Node Type"] in _WHOLE else scan["Plan Rows"] for scan in scans
        ),
        rows_all=sum(sizes.values()),
        ordered=newest is not None and not any(node["Node Type"] in _SORTS for node in _nodes(newest)),
    )


def _scans(plan: Plan) -> Iterator[Plan]:
    """The nodes that read a relation; what stands below one, such as the index it asks, is a part of that."""
    if "Relation Name" in plan:
        yield plan
        return
    for below in plan.get("Plans", ()):
        yield from _scans(below)


def _nodes(plan: Plan) -> Iterator[Plan]:
    yield plan
    for below in plan.get("Plans", ()):
        yield from _nodes(below)
