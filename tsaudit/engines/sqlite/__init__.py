"""SQLite."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from tsaudit.engines.engine import ServerLimit
from tsaudit.engines.sql import FileEngine

if TYPE_CHECKING:
    from tsaudit.engines.sql.connector import FileDriver


class Sqlite(FileEngine):
    """SQLite, which stores any value in any column."""

    name = "sqlite"
    adviser = "tsaudit.engines.sqlite.advice:SqliteAdvice"
    example_url = "sqlite:///{name}.db"
    keywords = ("sqlite/keywords.txt",)
    file_magic = (0, b"SQLite format 3\0")
    measurement_bytes = index_bytes = 4_200
    measurement_price = "4.2 kB of disk for each table and each index: measured on SQLite 3.40"
    limits = (ServerLimit("near-limit.columns", 2_000, "https://www.sqlite.org/limits.html#max_column"),)
    enforces_types = False
    shrinking = (
        "Run VACUUM while nothing writes; it needs up to twice the bytes that are used as free disk, and gives new "
        "rowids to rows of tables without an INTEGER PRIMARY KEY. If that much will be written again soon, leave it: "
        "new rows use the free pages first."
    )
    repeats_texts = True
    packs_integers = True
    row_address = "rowid"
    index_entry_bytes = 16.8
    index_price = "16.8 B for each row in an index on a short text, 10 to 13 on small whole numbers: measured on 3.40"
    sql_types = {"integer": "INTEGER", "float": "REAL", "boolean": "INTEGER", "time": "TIMESTAMP"}
    not_applicable = {**FileEngine.not_applicable, "C7": "C3 covers values that do not fit the column's type"}

    def driver(self) -> FileDriver:
        from tsaudit.engines.sqlite.driver import DRIVER

        return DRIVER

    def index_bytes_of(self, widths: Sequence[float]) -> float | None:
        # A cell has 8 B and 1 for each value, and an eighth of a page that is written in any order stays free.
        return 1.12 * (8 + len(widths) + sum(widths))

    def label(self, column: str, data_type: str, label: str) -> str | None:
        # It stores JSON as text.
        if data_type.upper() not in ("JSON", "TEXT", ""):
            return None
        path = f"'$.' || json_quote({label})"
        return f"CASE WHEN json_valid({column}) THEN CAST(json_extract({column}, {path}) AS TEXT) END"


ENGINE: Final = Sqlite()
