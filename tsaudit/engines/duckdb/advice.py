"""How to make changes on DuckDB."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property

from tsaudit.engines.registry import ENGINES
from tsaudit.engines.sql.advice import SqlAdvice
from tsaudit.engines.sql.statements import Part, enumerated, fits, folded
from tsaudit.model.change import DropIndex
from tsaudit.model.storage import Index
from tsaudit.text import many


class DuckdbAdvice(SqlAdvice):
    """DuckDB cannot alter a column or table that has an index, so indexes are dropped before and recreated after."""

    text_type = "VARCHAR"
    indexes_one_column = True

    @cached_property
    def _indexes(self) -> list[Index]:
        """Its indexes that stay, without those of constraints."""
        gone = {c.index for c in self.changes if isinstance(c, DropIndex)}
        return [i for i in self.place.here.indexes or () if not i.constraint and i.name not in gone]

    def altered(self, statements: Sequence[str]) -> list[str]:
        drops = [self.drop_index(index.name) for index in self._indexes]
        # The profile does not contain the complete definition of others.
        known = [index for index in self._indexes if not index.partial and None not in index.columns]
        return [*drops, *statements, *map(self._created_again, known)]

    def _created_again(self, index: Index) -> str:
        sorting = index.sorting or ("",) * len(index.columns)
        columns = [
            f"{self.place.quoted([str(c)])} {how}".strip() for c, how in zip(index.columns, sorting, strict=True)
        ]
        create = f"CREATE {'UNIQUE ' if index.unique else ''}INDEX {self.place.quoted([index.name])}"
        return folded([create, f"ON {self.place.table()}", *enumerated(columns, "(", ");")])

    def columns_altered(self) -> Iterator[Part]:
        for part in super().columns_altered():
            if part.are_one and not fits(*part.statements):
                words = f"Drop its {many(len(self._indexes), 'index')} before, and create them again after."
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
