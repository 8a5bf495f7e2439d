"""Queries that show what a finding is about, in InfluxDB 3."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tsaudit.engines.quoting import quote_text
from tsaudit.engines.rendering import Place, by_source, by_time
from tsaudit.model.change import Inspect
from tsaudit.model.plan import Phase, Step

_RECENT = "WHERE time >= now() - INTERVAL '1 day'"


def inspect(place: Place, changes: Sequence[Inspect]) -> Iterator[Step]:
    """One query for each of them that SQL has one for."""
    for change in changes:
        if found := _of_database(place, change) if place.measurement is None else _of_table(place, change):
            yield Step(Phase.LOOK, found[0], found[1], "sql", cost=found[2])


def _of_database(place: Place, change: Inspect) -> tuple[str, str, str] | None:
    if change.what == "databases":
        pattern = quote_text(place.profile.engine, f"^{'.*'.join(map(re.escape, change.values))}$")
        words = "See which databases these are (Core and Enterprise; in database _internal, with an admin token)."
        return (
            words,
            f"SELECT database_name FROM system.databases WHERE NOT deleted AND database_name ~ {pattern}",  # noqa: S608
            "",
        )
    if change.what == "measurements":
        return f"See which tables {place.database} has.", "SHOW TABLES", ""
    if change.what == "customers":
        example = next((m.name for m in place.profile.measurements if m.database == place.database), "")
        text = f"SELECT * FROM {place.table(example)} {_RECENT} AND {place.quoted([change.column])} = '...' LIMIT 20"  # noqa: S608
        return f"See what one of them has, here in {example}.", text, "reads a day of rows"
    return None


def _of_table(place: Place, change: Inspect) -> tuple[str, str, str] | None:
    column, table = place.quoted([change.column]), place.table()
    if change.what == "new values" and (writers := place.writers_of(change.column)):
        by = place.quoted(writers)
        return (
            by_source(change.column),
            (
                f"SELECT {by}, count(DISTINCT {column}) AS distinct_values FROM {table} "  # noqa: S608 -- shown, never run
                f"{_RECENT} GROUP BY {by} ORDER BY {len(writers) + 1} DESC LIMIT 20"
            ),
            "reads a day of rows",
        )
    if change.what == "new values":
        return (
            by_time(change.column),
            (
                f"SELECT {column}, min(time) AS first, count(*) FROM {table} {_RECENT} "  # noqa: S608 -- shown, never run
                f"GROUP BY {column} ORDER BY 2 DESC LIMIT 20"
            ),
            "reads a day of rows",
        )
    if change.what == "sources":
        tags = place.quoted(tag.key for tag in place.here.tags)
        by, group = (f"{tags}, ", f" GROUP BY {tags} ORDER BY filled") if tags else ("", "")
        return (
            f"Find the sources that stopped sending {change.column}.",
            f"SELECT {by}count(*) AS total, count({column}) AS filled FROM {table} {_RECENT}{group}",  # noqa: S608
            "reads a day of rows",
        )
    if change.what == "schema":
        return f"See which columns {place.here.name} has.", f"SHOW COLUMNS FROM {table}", ""
    return None
