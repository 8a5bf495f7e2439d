"""Copies what a history contains about some targets to as many as wanted, inside the database."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, func, insert, inspect, literal, select, text

from tsaudit.history.schema import metadata
from tsaudit.history.store import Store

_OF_TARGET = ("base_text", "snapshot", "rule_outcome", "value_set", "incident_day")


def multiply(store: Store, names: Sequence[str], targets: int) -> None:
    """Copy the named targets in turn until there are `targets` of them. Raises HistoryError."""
    for number, name in zip(range(len(names), targets), itertools.cycle(names)):
        with store.writing("copy") as connection:
            _copy(connection, name, number, number // len(names))
    if store.engine.dialect.name == "postgresql":
        with store.writing("copy") as connection:
            for table in ("snapshot", "decision", "reaction"):
                top = f"(SELECT coalesce(max(id), 0) + 1 FROM {table})"
                connection.execute(text(f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), {top})"))


def _copy(connection: Connection, name: str, number: int, turn: int) -> None:
    """Copies have the IDs and fingerprints of the original, shifted by the number of copies made so far."""
    new = f"target-{number:05}"
    shift = _shift(connection, turn)
    for table in (metadata.tables[one] for one in _OF_TARGET):
        changed: dict[str, Any] = {"target": literal(new)}
        if "id" in table.c:
            changed["id"] = table.c.id + shift
        if "fingerprint" in table.c:
            changed["fingerprint"] = func.substr(table.c.fingerprint, 1, 10) + literal(f"{number:06}")
        columns = [changed.get(column.name, column) for column in table.c]
        connection.execute(
            insert(table).from_select(list(table.c.keys()), select(*columns).where(table.c.target == name))
        )
    figure, snapshot = metadata.tables["figure"], metadata.tables["snapshot"]
    columns = [c + shift if c.name == "snapshot_id" else c for c in figure.c]
    # As a list, because without statistics PostgreSQL would read the whole table for a subquery.
    ids = connection.execute(select(snapshot.c.id).where(snapshot.c.target == name)).scalars()
    mine = figure.c.snapshot_id.in_(list(ids))
    connection.execute(insert(figure).from_select(list(figure.c.keys()), select(*columns).where(mine)))
    delivery = metadata.tables["delivery"]
    for_copy = {
        "id": func.substr(delivery.c.id, 1, 29) + literal(f"-{number:06}"),
        "parent_id": func.substr(delivery.c.parent_id, 1, 29) + literal(f"-{number:06}"),
        "thread": func.replace(delivery.c.thread, name, new),
    }
    columns = [for_copy.get(c.name, c) for c in delivery.c]
    mine = delivery.c.thread.like(f"%{name}%")
    connection.execute(insert(delivery).from_select(list(delivery.c.keys()), select(*columns).where(mine)))


_tops: dict[str, int] = {}


def _shift(connection: Connection, turn: int) -> int:
    key = str(connection.engine.url)
    if key not in _tops:
        _tops[key] = connection.execute(select(func.max(metadata.tables["snapshot"].c.id))).scalar() or 0
    return turn * (_tops[key] + 1)


def size(store: Store) -> int:
    """Bytes of the whole history, with its indexes."""
    with store.reading() as connection:
        if connection.dialect.name == "sqlite":
            pages = connection.execute(
                text("SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()")
            )
            return int(pages.scalar_one())
        return sum(bytes_ for _, _, bytes_ in tables(store))


def tables(store: Store) -> list[tuple[str, int, int]]:
    """Name, rows, and bytes with indexes of each table, the largest first."""
    found = []
    with store.reading() as connection:
        for table in metadata.sorted_tables:
            rows = connection.execute(select(func.count()).select_from(table)).scalar_one()
            if connection.dialect.name == "sqlite":
                names = [table.name, *(str(index["name"]) for index in inspect(connection).get_indexes(table.name))]
                listed = ", ".join(f"'{name}'" for name in (*names, f"sqlite_autoindex_{table.name}_1"))
                query = f"SELECT coalesce(sum(pgsize), 0) FROM dbstat('main', 1) WHERE name IN ({listed})"
            else:
                query = f"SELECT pg_total_relation_size('{table.name}')"
            found.append((table.name, rows, int(connection.execute(text(query)).scalar_one())))
    return sorted(found, key=lambda one: -one[2])
