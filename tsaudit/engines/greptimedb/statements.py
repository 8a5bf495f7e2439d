"""Clauses and statements about GreptimeDB's tables. They are shown, and never run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from tsaudit.engines.greptimedb.tables import ENGINE
from tsaudit.engines.place import Quoting
from tsaudit.engines.quoting import quote_text
from tsaudit.model.profile import Measurement
from tsaudit.rule import table_of

APPEND_ONLY: Final[Mapping[str, str]] = {"append_mode": "true", "merge_mode": ""}
"""Options of a table that keeps all rows: the server refuses a merge mode beside."""
CLAUSES: Final = {"inverted": "INVERTED INDEX", "skipping": "SKIPPING INDEX", "fulltext": "FULLTEXT INDEX"}
_PLAIN: Final = re.compile(r"[a-z_][a-z0-9_]*")
_NOT_CARRIED: Final = frozenset({"engine", "sst_format"})
"""Which engine a table has says no option, and what format new files have is best left to the server."""


def table(case: Quoting, measurement: Measurement, suffix: str = "") -> str:
    """Its full name, because the statement may be pasted in another database with a table of the same name."""
    return case.quoted([table_of(measurement, measurement.name + suffix)])


def set_index(case: Quoting, measurement: Measurement, column: str, kind: str) -> str:
    """Makes an index on the column; it covers files that are written from then on."""
    return f"ALTER TABLE {table(case, measurement)} MODIFY COLUMN {case.quoted([column])} SET {CLAUSES[kind]};"


def unset_index(case: Quoting, measurement: Measurement, column: str, kind: str) -> str:
    """Drops an index on the column."""
    return f"ALTER TABLE {table(case, measurement)} MODIFY COLUMN {case.quoted([column])} UNSET {CLAUSES[kind]};"


def set_option(case: Quoting, measurement: Measurement, name: str, value: str) -> str:
    """Changes one of the options that can be changed."""
    return f"ALTER TABLE {table(case, measurement)} SET {quote_text(ENGINE, name)}={quote_text(ENGINE, value)};"


def bounds_of(measurement: Measurement) -> list[str]:
    """Of all partitions, in the order of their numbers; empty where one is not known."""
    cut = measurement.partitioning
    if cut is None or cut.count > len(cut.partitions):
        return []
    return [part.bounds for part in sorted(cut.partitions, key=lambda part: (len(part.name), part.name))]


def partitions_clause(case: Quoting, measurement: Measurement, renaming: Mapping[str, str]) -> str:
    """The clause of the table as it is; empty for none, and where the server's bounds cannot be sent back to it."""
    cut, bounds = measurement.partitioning, bounds_of(measurement)
    # It prints the names in them without quotes, in which only such are taken as they are.
    if cut is None or not bounds or not all(_PLAIN.fullmatch(c) and c not in renaming for c in cut.key):
        return ""
    rule = ",\n".join(f"  {bound}" for bound in bounds)
    return f" PARTITION ON COLUMNS ({case.quoted(cut.key)}) (\n{rule}\n)"


def options_clause(measurement: Measurement, changed: Mapping[str, str]) -> str:
    """The clause with the options of the table, those that change included; empty for none."""
    options = {k: v for k, v in (measurement.options or {}).items() if k not in _NOT_CARRIED} | dict(changed)
    words = [f"{quote_text(ENGINE, k)}={quote_text(ENGINE, v)}" for k, v in sorted(options.items()) if v]
    return f" WITH ({', '.join(words)})" if words else ""
