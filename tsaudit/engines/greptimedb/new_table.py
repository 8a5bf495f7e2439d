"""The table that replaces one of GreptimeDB, for changes that ALTER TABLE does not make."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from tsaudit.engines.greptimedb.statements import CLAUSES, options_clause, partitions_clause
from tsaudit.engines.greptimedb.tables import indexes_on
from tsaudit.engines.place import Place
from tsaudit.engines.registry import ENGINES
from tsaudit.engines.sql.merged_table import types_of
from tsaudit.engines.sql.parts import create_table, insert


@dataclass(frozen=True, slots=True)
class NewTable:
    """What it is like, by the names that its columns have now."""

    key: tuple[str, ...]
    time: str | None
    options: Mapping[str, str] = field(default_factory=dict)
    """Those that change; empty for one that is left out."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Of columns that get others."""
    types: Mapping[str, str] = field(default_factory=dict)
    """Former tags to what they become, if their values are no text: `integer`, `float`, or `boolean`."""
    indexes: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Column to the kinds of index on it, of those where they change."""
    is_partitioned: bool = True
    is_distinct: bool = False
    """Whether rows that are equal in all columns are copied once."""

    def ddl(self, place: Place, name: str) -> str:
        """Creates it."""
        types = types_of(place.here) | {
            column: ENGINES["greptimedb"].sql_types[kind] for column, kind in self.types.items()
        }
        kinds = {c: self.indexes.get(c, frozenset(indexes_on(place.here, c))) for c in types}
        partitions = partitions_clause(place, place.here, self.names) if self.is_partitioned else ""
        return create(
            place,
            name,
            {self.names.get(c, c): kind for c, kind in types.items()},
            [self.names.get(c, c) for c in self.key],
            self.names.get(self.time or "", self.time),
            {self.names.get(c, c): found for c, found in kinds.items()},
            f"{partitions}{options_clause(place.here, self.options)}",
        )

    def copy(self, place: Place, old: str, new: str, where: str = "") -> str:
        """Copies rows of `old` into `new`. A value that is none of its column's type makes it fail as a whole."""
        into, values = list[str](), list[str]()
        for column in types_of(place.here):
            quoted = place.quoted([column])
            value = (
                f"CAST({quoted} AS {ENGINES['greptimedb'].sql_types[self.types[column]]})"
                if column in self.types
                else quoted
            )
            if column == self.time and column != place.here.time_column and place.here.time_column:
                value = f"coalesce({quoted}, {place.quoted([place.here.time_column])})"
            into.append(place.quoted([self.names.get(column, column)]))
            values.append(value)
        distinct = " DISTINCT" if self.is_distinct else ""
        rows = f"FROM {place.table(old)}{f' WHERE {where}' if where else ''};"
        return insert(place.table(new), into, values, rows, distinct)


def create(
    place: Place,
    name: str,
    types: Mapping[str, str],
    key: Collection[str],
    time: str | None,
    kinds: Mapping[str, Collection[str]],
    end: str,
) -> str:
    """CREATE TABLE. `types`, `kinds`: column to its type, and to its kinds of index; `end`: what follows."""
    lines = []
    for column, kind in types.items():
        # An index on the time index would serve nothing.
        clauses = [] if column == time else [CLAUSES[one] for one in sorted(kinds.get(column, ()))]
        null = ["NOT NULL"] if column == time else []
        lines.append(" ".join([place.quoted([column]), kind.upper(), *null, *clauses]))
    lines += [f"TIME INDEX ({place.quoted([time])})"] if time else []
    lines += [f"PRIMARY KEY ({place.quoted(key)})"] if key else []
    return create_table(place.table(name), lines, end)
