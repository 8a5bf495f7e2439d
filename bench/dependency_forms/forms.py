"""The forms compared. Each takes a table and gives a function that runs once and returns the dependencies it found.

The forms in SQL and of data frames are the fastest of those tried (minimum and maximum of each tag per value of
another; counting distinct pairs takes four times as long). They get the same help from counting as tsaudit: a tag is
only tried against tags of no more values, and one that differs in each row is not tried at all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from bench.dependency_forms.data import DEPENDENCIES, Codes

Run = Callable[[], int]
_BATCH = 10_000
"""Series that are taken in together, as InfluxDB sends them."""


def search(table: pa.Table) -> Run:
    """tsaudit, from codes."""
    from tsaudit.analysis.cardinality import series_table

    columns, levels, rows = *_codes(table), table.num_rows
    return lambda: int(series_table.single(columns, levels, rows).sum())


def contributions(table: pa.Table) -> Run:
    """What each tag contributes, from codes and what determines what."""
    from tsaudit.analysis.cardinality import series_table
    from tsaudit.analysis.cardinality.series_table import SeriesTable

    columns, levels, rows = *_codes(table), table.num_rows
    determines = series_table.single(columns, levels, rows)

    def run() -> int:
        drops = SeriesTable(columns, levels, rows, rows, determines).drops(range(len(columns)))
        return sum(len(drop.together_with) for drop in drops)

    return run


def polars(table: pa.Table) -> Run:
    import polars as pl

    columns, counts = _codes(table)
    frame = pl.DataFrame(dict(zip(table.column_names, columns, strict=True)))
    levels = dict(zip(table.column_names, counts, strict=True))
    tried = _tried(levels, table.num_rows)

    def run() -> int:
        found = _of_unique(levels, len(frame))
        for x, others in tried.items():
            extremes = [pl.col(y).min().alias(f"{y}_min") for y in others] + [pl.col(y).max() for y in others]
            same = ((pl.col(f"{y}_min") == pl.col(y)).all().alias(y) for y in others)
            found += sum(frame.lazy().group_by(x).agg(extremes).select(same).collect().row(0))
        return found

    return run


def duckdb(table: pa.Table) -> Run:
    connection = _loaded(table)
    levels, rows = dict(zip(table.column_names, _codes(table)[1], strict=True)), table.num_rows
    return lambda: _by_extremes(connection, levels, rows)


def one_read(table: pa.Table) -> Run:
    """One read of the memory that holds the codes."""
    words = [codes[: codes.nbytes // 8 * 8 // codes.itemsize].view(np.uint64) for codes in _codes(table)[0]]

    def run() -> int:
        for column in words:
            np.bitwise_xor.reduce(column)
        return DEPENDENCIES

    return run


def search_texts(table: pa.Table) -> Run:
    """tsaudit, from texts: numbering them is part of it."""
    from tsaudit.analysis.cardinality.tag_sets import TagSetCounter

    def run() -> int:
        counter = TagSetCounter(table.column_names)
        for batch in table.to_batches(max_chunksize=_BATCH):
            counter.add(batch)
        counter.series  # noqa: B018
        return int(counter._table().determines.sum())

    return run


def duckdb_texts(table: pa.Table) -> Run:
    connection = _loaded(table)
    return lambda: _by_extremes(connection, _counted_levels(connection, table.column_names), table.num_rows)


def duckdb_enums(table: pa.Table) -> Run:
    """DuckDB, from texts that it numbers itself first; but for the id, which would take it longest."""
    connection = _loaded(table)

    def run() -> int:
        levels = _counted_levels(connection, table.column_names)
        coded = [name for name, count in levels.items() if count < table.num_rows]
        for name in coded:
            connection.execute(f"DROP TYPE IF EXISTS {name}_values")
            connection.execute(f"CREATE TYPE {name}_values AS ENUM (SELECT DISTINCT {name} FROM tags)")
        casts = ", ".join(f"{name}::{name}_values AS {name}" for name in coded)
        connection.execute(f"CREATE OR REPLACE TEMP TABLE coded AS SELECT {casts} FROM tags")
        return _by_extremes(connection, levels, table.num_rows, "coded")

    return run


def _codes(table: pa.Table) -> tuple[list[Codes], list[int]]:
    """The codes of each column, and how many different ones."""
    columns = [np.concatenate([chunk.to_numpy() for chunk in column.chunks]) for column in table.columns]
    return columns, [int(codes.max()) + 1 for codes in columns]


def _loaded(table: pa.Table) -> Any:
    import duckdb

    connection = duckdb.connect()
    connection.register("arrow_tags", table)
    connection.execute("CREATE TABLE tags AS FROM arrow_tags")
    connection.unregister("arrow_tags")
    return connection


def _counted_levels(connection: Any, names: list[str]) -> dict[str, int]:
    counts = ", ".join(f"count(DISTINCT {name})" for name in names)
    return dict(zip(names, connection.execute(f"SELECT {counts} FROM tags").fetchone(), strict=True))


def _by_extremes(connection: Any, levels: Mapping[str, int], rows: int, table: str = "tags") -> int:
    tried = _tried(levels, rows)
    found = _of_unique(levels, rows)
    for x, others in tried.items():
        extremes = ", ".join(f"min({y}) AS {y}_min, max({y}) AS {y}_max" for y in others)
        same = ", ".join(f"bool_and({y}_min = {y}_max)" for y in others)
        found += sum(
            connection.execute(f"SELECT {same} FROM (SELECT {x}, {extremes} FROM {table} GROUP BY {x})").fetchone()
        )
    return found


def _tried(levels: Mapping[str, int], rows: int) -> dict[str, list[str]]:
    tried = {x: [y for y in levels if y != x and levels[y] <= levels[x]] for x in levels if levels[x] < rows}
    return {x: others for x, others in tried.items() if others}


def _of_unique(levels: Mapping[str, int], rows: int) -> int:
    """Dependencies on tags that differ in each row: nothing to be read for them."""
    return sum(len(levels) - 1 for count in levels.values() if count == rows)
