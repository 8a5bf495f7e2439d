"""Builds clauses and statements for GreptimeDB's tables, and for a new table where ALTER TABLE cannot make a change.
They are only displayed, never run.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

from tsaudit.engines.greptimedb.tables import ENGINE, indexes_on
from tsaudit.engines.place import Place, Quoting
from tsaudit.engines.quoting import quote_text
from tsaudit.engines.registry import ENGINES
from tsaudit.engines.sql.merged_table import types_of
from tsaudit.engines.sql.parts import create_table, insert
from tsaudit.model.profile import Measurement
from tsaudit.rule import table_of

APPEND_ONLY: Final[Mapping[str, str]] = {"append_mode": "true", "merge_mode": ""}
"""Options of a table that keeps all rows: the server rejects a merge mode in combination with it."""
CLAUSES: Final = {"inverted": "INVERTED INDEX", "skipping": "SKIPPING INDEX", "fulltext": "FULLTEXT INDEX"}
_PLAIN: Final = re.compile(r"[a-z_][a-z0-9_]*")
_NOT_CARRIED: Final = frozenset({"engine", "sst_format"})
"""Options that a new table does not inherit: the engine of a table is not set by an option, and the format of new
files is best left to the server.
"""


def table(case: Quoting, measurement: Measurement, suffix: str = "") -> str:
    """The table's full name, because the statement may be used in another database with a table of the same name."""
    return case.quoted([table_of(measurement, measurement.name + suffix)])


def set_index(case: Quoting, measurement: Measurement, column: str, kind: str) -> str:
    """A statement that creates an index on the column. The index covers only files that are written from then on."""
    return f"ALTER TABLE {table(case, measurement)} MODIFY COLUMN {case.quoted([column])} SET {CLAUSES[kind]};"


def unset_index(case: Quoting, measurement: Measurement, column: str, kind: str) -> str:
    """A statement that drops an index on the column."""
    return f"ALTER TABLE {table(case, measurement)} MODIFY COLUMN {case.quoted([column])} UNSET {CLAUSES[kind]};"


def set_option(case: Quoting, measurement: Measurement, name: str, value: str) -> str:
    """A statement that changes one of the options that can be changed."""
    return f"ALTER TABLE {table(case, measurement)} SET {quote_text(ENGINE, name)}={quote_text(ENGINE, value)};"


def bounds_of(measurement: Measurement) -> list[str]:
    """The bounds of all partitions, in the order of their numbers; empty if one of them is not known."""
    cut = measurement.partitioning
    if cut is None or cut.count > len(cut.partitions):
        return []
    return [part.bounds for part in sorted(cut.partitions, key=lambda part: (len(part.name), part.name))]


def partitions_clause(case: Quoting, measurement: Measurement, renaming: Mapping[str, str]) -> str:
    """The PARTITION clause of the table as it is now; empty if there is none, or if the bounds that the server prints
    are not valid in a statement.
    """
    cut, bounds = measurement.partitioning, bounds_of(measurement)
    # The server prints names in the bounds without quotes, which is only valid for names that need no quotes.
    if cut is None or not bounds or not all(_PLAIN.fullmatch(c) and c not in renaming for c in cut.key):
        return ""
    rule = ",\n".join(f"  {bound}" for bound in bounds)
    return f" PARTITION ON COLUMNS ({case.quoted(cut.key)}) (\n{rule}\n)"


def options_clause(measurement: Measurement, changed: Mapping[str, str]) -> str:
    """The WITH clause with the options of the table, including changed ones; empty if there are none."""
    options = {k: v for k, v in (measurement.options or {}).items() if k not in _NOT_CARRIED} | dict(changed)
    words = [f"{quote_text(ENGINE, k)}={quote_text(ENGINE, v)}" for k, v in sorted(options.items()) if v]
    return f" WITH ({', '.join(words)})" if words else ""


@dataclass(frozen=True, slots=True)
class NewTable:
    """A new table, described by the names that its columns have now."""

    key: tuple[str, ...]
    time: str | None
    options: Mapping[str, str] = field(default_factory=dict)
    """Options that change; an empty value for an option that is left out."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Current name to new name, for columns that are renamed."""
    types: Mapping[str, str] = field(default_factory=dict)
    """Former tag to its type, if its values are not text: `integer`, `float`, or `boolean`."""
    indexes: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Column to the kinds of index on it, for columns whose indexes change."""
    is_partitioned: bool = True
    is_distinct: bool = False
    """Whether rows that are equal in all columns are copied only once."""

    def ddl(self, place: Place, name: str) -> str:
        """The statement that creates the table."""
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
        """A statement that copies rows of `old` into `new`. It fails as a whole if a value does not fit the type of its
        column.
        """
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
    """The CREATE TABLE statement. `types`: column to type. `kinds`: column to its kinds of index. `end`: the text after
    the columns.
    """
    lines = []
    for column, kind in types.items():
        # An index on the time index would be useless.
        clauses = [] if column == time else [CLAUSES[one] for one in sorted(kinds.get(column, ()))]
        null = ["NOT NULL"] if column == time else []
        lines.append(" ".join([place.quoted([column]), kind.upper(), *null, *clauses]))
    lines += [f"TIME INDEX ({place.quoted([time])})"] if time else []
    lines += [f"PRIMARY KEY ({place.quoted(key)})"] if key else []
    return create_table(place.table(name), lines, end)
