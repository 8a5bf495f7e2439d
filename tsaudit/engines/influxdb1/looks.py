"""Queries of InfluxQL that show what a finding is about."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tsaudit.engines.influx.reach import own_name, server_name, table_in
from tsaudit.engines.rendering import Place
from tsaudit.model.change import Inspect
from tsaudit.model.plan import Phase, Step
from tsaudit.text import listed


def inspect(place: Place, changes: Sequence[Inspect]) -> Iterator[Step]:
    """One query for each of them that InfluxQL has one for."""
    for change in changes:
        if found := _query(place, change):
            yield Step(Phase.LOOK, found[0], found[1], "influxql")


def _query(place: Place, change: Inspect) -> tuple[str, str] | None:
    if change.what in ("measurements", "databases", "customers"):
        return _of_database(place, change)
    if place.measurement is None:
        return None
    column, table = place.quoted([change.column]), place.table()
    if change.what == "new values":
        database = place.quoted([next(iter(place.here.path), place.database)])
        if writers := place.writers_of(change.column):
            return (
                f"Find which sources write new values of {change.column}: the number of series of each.",
                f"SHOW SERIES EXACT CARDINALITY ON {database} FROM {table} GROUP BY {place.quoted(writers)}",
            )
        shown = f"SHOW TAG VALUES ON {database} FROM {table} WITH KEY = {column} LIMIT 20"
        return f"See some values of {change.column}.", shown
    if change.what == "types":
        each = [f"SELECT {column}::{kind} FROM {table} LIMIT 20" for kind in change.values]  # noqa: S608 -- shown
        return f"See some values of {change.column} of each type: {listed(change.values)}.", ";\n".join(each)
    if change.what == "both":
        return (
            f"Until the old points have expired, say which {change.column} is meant.",
            f"SELECT {column}::field FROM {table} WHERE {column}::tag = '...'",  # noqa: S608 -- shown, never run
        )
    if change.what == "schema":
        return (
            f"See which tags and fields {place.here.name} has, and where.",
            f"SHOW SERIES FROM {table};\nSHOW FIELD KEYS FROM {table}",
        )
    return None


def _of_database(place: Place, change: Inspect) -> tuple[str, str]:
    known = next((d for d in place.profile.databases if d.name == place.database), None)
    name = server_name(known) if known else place.database
    database = place.quoted([name])
    if change.what == "databases":
        return f"See how many series {name} has; the others likewise.", f"SHOW SERIES CARDINALITY ON {database}"
    if change.what == "customers":
        policy = place.quoted([own_name(known)]) if known and known.policy_of else ""
        example = next((m for m in place.profile.measurements if m.database == place.database), None)
        source = table_in(place.profile, place.database, example.name) if example else ""
        where = place.quoted([source]) if source else f"{database}.{policy}./.*/"
        return (
            f"See what one of them has, here in {example.name if example else name}.",
            f"SELECT * FROM {where} WHERE {place.quoted([change.column])} = '...' LIMIT 20",  # noqa: S608 -- shown
        )
    return f"See which measurements {name} has.", f"SHOW MEASUREMENTS ON {database}"
