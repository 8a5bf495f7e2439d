"""How to make changes on DuckDB."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tsaudit.engines.registry import ENGINES
from tsaudit.engines.sql.advice import SqlAdvice, is_complete
from tsaudit.engines.sql.statements import Part, fits, folded
from tsaudit.text import many


class DuckdbAdvice(SqlAdvice):
    """DuckDB cannot alter a column or table that has an index, so indexes are dropped before and recreated
    afterward.
    """

    text_type = "VARCHAR"
    indexes_one_column = True

    def altered(self, statements: Sequence[str], without: Sequence[str] = ()) -> list[str]:
        left = [index for index in self.own_indexes if not set(without) & set(index.columns)]
        drops = [self.drop_index(index.name) for index in left]
        return [*drops, *statements, *self.made_again([index for index in left if is_complete(index)])]

    def columns_altered(self) -> Iterator[Part]:
        for part in super().columns_altered():
            if part.are_one and not fits(*part.statements):
                words = f"Drop its {many(len(self.own_indexes), 'index')} before, and create them again after."
                yield replace(part, words=f"{part.words} {words}", statements=())
            else:
                yield part

    def retyped(self, column: str, kind: str) -> Part | None:
        if kind == "decimal":
            return None  # A cast rounds what has more digits, without an error.
        quoted, to = self.place.quoted([column]), ENGINES["duckdb"].sql_types[kind]
        pieces = [f"ALTER TABLE {self.place.table()}", f"ALTER COLUMN {quoted}", f"TYPE {to}"]
        statement = folded([*pieces, f"USING CAST(NULLIF(trim({quoted}), '') AS {to});"])
        words = f"Convert {column} to {to}. If a value does not convert, the statement fails and changes nothing."
        return Part(words, (statement,), locks="all writers of the table", cost="rewrites the column")
