"""Reactions on messages that were acted upon, as stored: each is a row from when it was seen until it is gone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from sqlalchemy import ColumnElement, Connection, delete, func, insert, select, update

from tsaudit.history.deliveries import Delivery
from tsaudit.history.schema import delivery
from tsaudit.history.schema import reaction as table
from tsaudit.history.store import naive

_COLUMNS: Final = (table.c.id, table.c.delivery_id, table.c.kind, table.c.person)


@dataclass(frozen=True, slots=True)
class StoredReaction:
    """A reaction that was there when its message was last read."""

    id: int
    delivery_id: str
    kind: str
    """What it does: a DecisionKind."""
    person: str
    """Slack ID of the one who decides; others with the same reaction on the same message only agree."""


def present(connection: Connection, delivery_id: str | None = None) -> list[StoredReaction]:
    """Those on the message that have not been taken back, oldest first; None: on all messages."""
    query = select(*_COLUMNS).where(table.c.gone_at.is_(None))
    if delivery_id is not None:
        query = query.where(table.c.delivery_id == delivery_id)
    rows = connection.execute(query.order_by(table.c.id))
    return [StoredReaction(*row) for row in rows]


def add(connection: Connection, message: Delivery, kind: str, person: str) -> StoredReaction:
    """Store a reaction that was not there before."""
    values = {"delivery_id": message.id, "kind": kind, "person": person, "seen_at": _now()}
    key = connection.execute(insert(table).values(values)).inserted_primary_key
    assert key is not None
    return StoredReaction(key[0], message.id, kind, person)


def hand_over(connection: Connection, found: StoredReaction, person: str) -> None:
    """Whoever decided took it back, and somebody else's is still there."""
    connection.execute(update(table).where(table.c.id == found.id).values(person=person))


def end(connection: Connection, found: StoredReaction) -> None:
    """It was taken back."""
    connection.execute(update(table).where(table.c.id == found.id).values(gone_at=_now()))


def prune(connection: Connection, which: ColumnElement[bool], messages: ColumnElement[bool]) -> None:
    """Delete those on the messages, which are conditions on the two tables.

    The newest of all stays: SQLite would give its ID to another reaction, which would then be behind old decisions.
    """
    newest = select(func.max(table.c.id)).scalar_subquery()
    # Asked of each of the few reactions: no index finds the messages of a thread, and an audit must not read all.
    mine = select(delivery.c.id).where(delivery.c.id == table.c.delivery_id, messages).exists()
    connection.execute(delete(table).where(which, mine, table.c.id < newest))


def _now() -> datetime:
    return naive(datetime.now(UTC))
