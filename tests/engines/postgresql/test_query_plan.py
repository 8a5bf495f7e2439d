"""How many rows a plan of PostgreSQL's reads."""

from __future__ import annotations

from typing import Any

from tsaudit.engines.postgresql.connector import scan_estimate


def _scan(kind: str, rows: int, relation: str = "t", **more: Any) -> dict[str, Any]:
    return {"Node Type": kind, "Relation Name": relation, "Plan Rows": rows} | more


def _node(kind: str, *below: dict[str, Any], rows: int = 0) -> dict[str, Any]:
    return {"Node Type": kind, "Plan Rows": rows, "Plans": list(below)}


def test_whole_table_is_read_where_no_index_helps() -> None:
    newest = _node("Limit", _node("Sort", _scan("Seq Scan", 10)))
    found = scan_estimate(_scan("Seq Scan", 10), _scan("Seq Scan", 1000), newest)
    assert found == {"rows": 10, "rows_read": 1000, "rows_all": 1000, "rows_sorted": 1000}


def test_index_reads_what_it_finds() -> None:
    inside = _scan("Bitmap Heap Scan", 10, Plans=[{"Node Type": "Bitmap Index Scan", "Plan Rows": 10}])
    found = scan_estimate(inside, _scan("Index Only Scan", 1000), _node("Limit", _scan("Index Scan", 500), rows=10))
    assert found == {"rows": 10, "rows_read": 10, "rows_all": 1000, "rows_sorted": 0}


def test_partitions_are_read_each_in_its_way() -> None:
    inside = _node("Append", _scan("Seq Scan", 90, "p1"), _scan("Index Scan", 7, "p2"))
    every = _node(
        "Append", *(_scan("Seq Scan", rows, name) for name, rows in (("p1", 100), ("p2", 1000), ("p3", 5000)))
    )
    partly = _node(
        "Limit", _node("Merge Append", _scan("Index Scan", 90, "p1"), _node("Sort", _scan("Seq Scan", 7, "p2")))
    )
    found = scan_estimate(inside, every, partly)
    assert found == {"rows": 97, "rows_read": 107, "rows_all": 6100, "rows_sorted": 1090}


def test_compressed_rows_are_not_counted_twice() -> None:
    compressed = _scan("Custom Scan", 5000, "chunk", Plans=[_scan("Seq Scan", 5, "compressed_chunk")])
    found = scan_estimate(_node("Custom Scan", compressed), _node("Append", compressed), None)
    assert found == {"rows": 5000, "rows_read": 5000, "rows_all": 5000, "rows_sorted": None}


def test_nothing_lies_within_the_window() -> None:
    found = scan_estimate({"Node Type": "Result", "Plan Rows": 0}, _scan("Seq Scan", 1000), None)
    assert (found["rows"], found["rows_read"], found["rows_all"]) == (0, 0, 1000)


def _chunks(*parts: dict[str, Any]) -> dict[str, Any]:
    """The newest 100 rows of a hypertable."""
    over = _scan("Custom Scan", 0, "hypertable", Order=["time DESC"], Plans=list(parts))
    return _node("Limit", over | {"Custom Plan Provider": "ChunkAppend"}, rows=100)


def test_chunks_are_read_until_there_are_enough_rows() -> None:
    every = _node("Append", *(_scan("Seq Scan", 5000, f"c{i}") for i in range(4)))
    batches = _node("Sort", _scan("Seq Scan", 5, "compressed"))
    compressed = _scan("Custom Scan", 5000, "c1", Plans=[batches]) | {"Custom Plan Provider": "ColumnarScan"}
    unsorted = _node("Sort", _scan("Seq Scan", 5000, "c2"))

    def newest(*parts: dict[str, Any]) -> int | None:
        return scan_estimate(every, every, _chunks(*parts))["rows_sorted"]

    assert newest(_scan("Index Scan", 80, "c0"), compressed, unsorted) == 0, "it is batches that are sorted"
    assert newest(_scan("Index Scan", 80, "c0"), unsorted, compressed) == 5000
    assert newest(unsorted, compressed) == 5000, "that chunk, and no other one"
    assert newest() == 0
