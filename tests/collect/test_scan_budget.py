"""The budget of bytes scanned, on a connection that tells of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.collecting import collected_with
from tests.databases import Dataset, Row, Table, times, write
from tsaudit.config.settings import Target
from tsaudit.engines.connection import Rows
from tsaudit.model.figures import Reason

_READS = {"row_sample": 700, "series_listing": 500, "null_counts": 200}


class _Metered:
    """Stands between tsaudit and the database, and says what each statement scans: a hundred bytes at a time."""

    def __init__(self) -> None:
        self.given_up: list[str] = []

    def __call__(self, fact: str, parameters: Mapping[str, Any]) -> Rows | None:
        if fact not in _READS:
            return None
        rows = Rows("SELECT 1", iter(()))
        return rows.reading(self._at_work(fact, rows))

    def _at_work(self, fact: str, rows: Rows) -> Iterator[pa.RecordBatch]:
        try:
            for so_far in range(100, _READS[fact] + 1, 100):
                rows.bytes_scanned = so_far
                rows.bytes_metered = max(so_far, 400)
                yield pa.record_batch([], names=[])
        except GeneratorExit:
            self.given_up.append(fact)
            raise


def _written(folder: Path, **budget: Any) -> Target:
    rows = [Row(t, {"host": "a"}, {"v": 1.0}) for t in times(3)]
    dataset = Dataset([Table("t", ("host",), {"v": "float"}, rows, key=("time", "host"))])
    return write(dataset, "duckdb", folder / "main.duckdb", budget=budget)


def test_bytes_are_on_the_bill(tmp_path: Path) -> None:
    costs = {c.fact: c for c in collected_with(_written(tmp_path), _Metered()).costs}
    assert (costs["row_sample"].bytes_scanned, costs["row_sample"].bytes_metered) == (700, 700)
    assert (costs["null_counts"].bytes_scanned, costs["null_counts"].bytes_metered) == (200, 400)
    assert costs["columns"].bytes_scanned is None


@pytest.mark.parametrize(
    ("most", "given_up", "gaps"),
    [
        (650, ["row_sample"], {"row_sample", "series_listing", "null_counts"}),
        # Charged for more than is read: 700 for the rows, 500 for the listing, at least 400 for any statement.
        (1_500, ["null_counts"], {"null_counts"}),
        (1_601, [], set()),
    ],
)
def test_statement_is_given_up_when_the_bytes_are_used_up(
    tmp_path: Path, most: int, given_up: list[str], gaps: set[str]
) -> None:
    metered = _Metered()
    profile = collected_with(_written(tmp_path, max_bytes_scanned=most), metered)
    over = [g for g in profile.gaps if g.reason is Reason.OVER_BUDGET]
    assert metered.given_up == given_up
    assert {g.fact for g in over} == gaps
    assert all("raise budget.max_bytes_scanned" in g.detail for g in over)
