"""Writes data sets to the files of an embedded database."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.databases import Dataset, Table, Written, create_indexes, create_table


def written_file(
    dataset: Dataset,
    where: str | Path,
    engine: str,
    connect: Callable[[str], Any],
    types: Mapping[str, str],
    insert: Callable[[Any, Table], None],
    time_type: Callable[[Table], str],
) -> Written:
    """A new file. `types`: kind to the engine's type; `insert`: writes the rows of a table that was made."""
    if dataset.beside:
        raise ValueError("a file has no databases beside each other")
    with closing(connect(str(where))) as connection, connection:
        for table in dataset.tables:
            connection.execute(create_table(table, types, time_type(table)))
            insert(connection, table)
            for statement in create_indexes(table, engine):
                connection.execute(statement)
    return Written(f"{engine}:///{where}")
