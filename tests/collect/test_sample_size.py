"""The rows of all samples of a target together are limited; what small tables leave over goes to the others."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from tests.builders import NOW
from tests.collecting import collected
from tsaudit.collect import sample_size
from tsaudit.collect.sample_size import FEWEST_ROWS, SAMPLED_ROWS, rows_each
from tsaudit.config.settings import Target

MOST = 10_000


@pytest.mark.parametrize(
    ("rows", "each"),
    [
        ([], MOST),
        ([10**9], MOST),
        ([None] * 50, MOST),
        ([None] * 100, SAMPLED_ROWS // 100),
        ([10] * 5_000, MOST),
        ([10] * 5_000 + [10**6] * 90, (SAMPLED_ROWS - 50_000) // 90),
        ([None] * 20_000, FEWEST_ROWS),
    ],
)
def test_what_small_tables_leave_over_goes_to_the_others(rows: list[int | None], each: int) -> None:
    assert rows_each(rows, MOST) == each


def test_no_sample_is_larger_than_configured() -> None:
    assert rows_each([None] * 20_000, 300) == 300


def test_samples_of_many_tables_are_smaller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sample_size, "SAMPLED_ROWS", 500)
    monkeypatch.setattr(sample_size, "FEWEST_ROWS", 100)
    with duckdb.connect(str(tmp_path / "many.duckdb")) as connection:
        for name, rows in (("small", 50), ("big", 900), ("bigger", 3_000)):
            connection.execute(
                f"CREATE TABLE {name} AS SELECT TIMESTAMP '{NOW:%Y-%m-%d}' - i * INTERVAL 1 SECOND AS ts, "
                f"'m' || i % 4 AS machine, i / 3.0 AS rpm FROM range(1, {rows + 1}) AS t(i)"
            )
    profile = collected(Target(name="t", engine="duckdb", url=f"duckdb:///{tmp_path}/many.duckdb"))
    read = {m.name: m.row_patterns.rows for m in profile.measurements if m.row_patterns}
    assert read == {"small": 50, "big": 225, "bigger": 225}
    assert {m.name: m.rows.value for m in profile.measurements if m.rows} == {"small": 50, "big": 900, "bigger": 3_000}
