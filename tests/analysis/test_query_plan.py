"""How many rows a plan of PostgreSQL's reads."""

from __future__ import annotations

from typing import Any

from tsaudit.analysis.query_plan import ScanEstimate, scan_estimate


def _scan(kind: str, rows: int, relation: str = "t", **more: Any) -> dict[str, Any]:
    return {"Node Type": kind, "Relation Name": relation, "Plan Rows": rows} | more


def _node(kind: str, *below: dict[str, Any]) -> dict[str, Any]:
    return {"Node Type": kind, "Plan Rows": 0, "Plans": list(below)}


def test_whole_table_is_read_where_no_index_helps() -> None:
    newest = _node("Limit", _node("Sort", _scan("Seq Scan", 10)))
    found = scan_estimate(_scan("Seq Scan", 10), _scan("Seq Scan", 1000), newest)
    assert found == ScanEstimate(rows=10, rows_read=1000, rows_all=1000, ordered=False)


def test_index_reads_what_it_finds() -> None:
    inside = _scan("Bitmap Heap Scan", 10, Plans=[{"Node Type": "Bitmap Index Scan", "Plan Rows": 10}])
    found = scan_estimate(inside, _scan("Index Only Scan", 1000), _node("Limit", _scan("Index Scan", 10)))
    assert found == ScanEstimate(rows=10, rows_read=10, rows_all=1000, ordered=True)


def test_partitions_are_read_each_in_its_way() -> None:
    inside = _node("Append", _scan("Seq Scan", 90, "p1"), _scan("Index Scan", 7, "p2"))
    every = _node(
        "Append", *(_scan("Seq Scan", rows, name) for name, rows in (("p1", 100), ("p2", 1000), ("p3", 5000)))
    )
    partly = _node("Limit", _node("Merge Append", _scan("Index Scan", 90, "p1"), _node("Sort", _scan("Seq Scan", 7))))
    found = scan_estimate(inside, every, partly)
    assert found == ScanEstimate(rows=97, rows_read=107, rows_all=6100, ordered=False)


def test_compressed_rows_are_not_counted_twice() -> None:
    compressed = _scan("Custom Scan", 5000, "chunk", Plans=[_scan("Seq Scan", 5, "compressed_chunk")])
    found = scan_estimate(_node("Custom Scan", compressed), _node("Append", compressed), None)
    assert found == ScanEstimate(rows=5000, rows_read=5000, rows_all=5000, ordered=False)


def test_nothing_lies_within_the_window() -> None:
    found = scan_estimate({"Node Type": "Result", "Plan Rows": 0}, _scan("Seq Scan", 1000), None)
    assert (found.rows, found.rows_read, found.rows_all) == (0, 0, 1000)
