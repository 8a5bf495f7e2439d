"""The rows of all samples of a target together are limited; what small tables leave over goes to the others."""

from __future__ import annotations

import gc
from pathlib import Path

import duckdb
import pytest

from tests.builders import NOW
from tests.collecting import collected, figures
from tsaudit import collect
from tsaudit.collect import FEWEST_ROWS, SAMPLED_ROWS, rows_each
from tsaudit.collect import rows as described_by
from tsaudit.collect.draft import Draft, ReadRows
from tsaudit.collect.query_runner import QueryRunner
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
    monkeypatch.setattr(collect, "SAMPLED_ROWS", 500)
    monkeypatch.setattr(collect, "FEWEST_ROWS", 100)
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


def test_of_many_small_tables_rows_of_a_part_are_kept_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with duckdb.connect(str(tmp_path / "fleet.duckdb")) as connection:
        for number in range(7):
            connection.execute(
                f"CREATE TABLE truck{number} AS SELECT TIMESTAMP '{NOW:%Y-%m-%d}' - i * INTERVAL 1 MINUTE AS at, "
                f"'t' || i % {number + 2} AS truck, i / 7.0 AS speed FROM range(1, 101) AS t(i)"
            )
    target = Target(name="t", engine="duckdb", url=f"duckdb:///{tmp_path}/fleet.duckdb")
    whole = collected(target)
    kept: list[int] = []
    describe = described_by.describe_fields

    def count() -> int:
        gc.collect()
        return sum(isinstance(one, ReadRows) for one in gc.get_objects())

    def counting(runner: QueryRunner, draft: Draft) -> Draft:
        kept.append(count())
        return describe(runner, draft)

    monkeypatch.setattr(described_by, "describe_fields", counting)
    monkeypatch.setattr(collect, "_AT_A_TIME", 2_500)
    gc.freeze()  # What other tests of this process have left is neither searched nor counted.
    try:
        assert figures(collected(target)) == figures(whole)
    finally:
        gc.unfreeze()
    assert len(kept) == 7
    assert max(kept) == 2


def test_tables_of_one_layout_are_read_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with duckdb.connect(str(tmp_path / "fleet.duckdb")) as connection:
        for number in range(8):
            fields = "".join(f", i / {place + 3}.0 AS v{place}" for place in range(number % 2))
            connection.execute(
                f"CREATE TABLE truck{number} AS SELECT TIMESTAMP '{NOW:%Y-%m-%d}' - i * INTERVAL 1 MINUTE AS at, "
                f"'t' || i % 3 AS truck, i / 7.0 AS speed{fields} FROM range(1, 101) AS t(i)"
            )
    target = Target(name="t", engine="duckdb", url=f"duckdb:///{tmp_path}/fleet.duckdb")
    monkeypatch.setattr(collect, "_AT_A_TIME", 4_000)
    sent = {cost.fact: cost.statements for cost in collected(target).costs}
    # Two parts of four tables, which have one layout each.
    assert (sent["row_sample"], sent["null_counts"]) == (2, 2)
