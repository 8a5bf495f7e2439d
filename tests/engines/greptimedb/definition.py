"""What GreptimeDB's SHOW CREATE TABLE says, as its recorded outputs have it (tests/cases/standalone/common/show)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tests.engines.greptimedb.stored import INTERNAL, TYPES, Column, Stored

_INDEX_OPTIONS: Final = {
    "fulltext": (
        "analyzer = 'English', backend = 'bloom', case_sensitive = 'false', "
        "false_positive_rate = '0.01', granularity = '10240'"
    ),
    "skipping": "false_positive_rate = '0.01', granularity = '10240', type = 'BLOOM'",
    "inverted": "",
}


def definition(table: Stored, quote: str = "`") -> str:
    """What SHOW CREATE TABLE says."""

    def name(text: str) -> str:
        return quote + text.replace(quote, quote * 2) + quote

    def names(many: Sequence[str]) -> str:
        return ", ".join(map(name, many))

    lines = [f"  {name(c.name)} {_column_definition(table, c)}," for c in table.columns if c.name not in INTERNAL]
    key = [k for k in table.key if k not in INTERNAL]
    constraints = [f"  TIME INDEX ({name(table.time)})", *([f"  PRIMARY KEY ({names(key)})"] if key else [])]
    bounds = ",\n".join(f"  {region.bound}" for region in table.regions if region.bound)
    partitions = f"PARTITION ON COLUMNS ({names(table.partition_by)}) (\n{bounds}\n)" if table.partition_by else ""
    options = ",\n".join(_option(key, value) for key, value in sorted(table.options.items()))
    return "\n".join(
        [
            f"CREATE TABLE IF NOT EXISTS {name(table.name)} (",
            *lines,
            ",\n".join(constraints),
            ")",
            partitions,
            f"ENGINE={table.engine}",
            f"WITH(\n{options}\n)" if options else "",
        ]
    )


def _column_definition(table: Stored, column: Column) -> str:
    kind = TYPES[column.type][0].upper()
    text = f"{kind} {'NULL' if column.nullable else 'NOT NULL'}"
    for index, options in _INDEX_OPTIONS.items():
        if index in table.indexes.get(column.name, ()):
            text += f" {index.upper()} INDEX{f' WITH({options})' if options else ''}"
    return text


def _option(key: str, value: str) -> str:
    # As Rust's escape_debug prints it.
    escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace('"', '\\"').replace("\n", "\\n")
    return f"  '{key}' = '{escaped}'" if "." in key else f"  {key} = '{escaped}'"
