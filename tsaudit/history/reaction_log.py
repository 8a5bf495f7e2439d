"""The reactions that led to decisions, as stored: each row lasts from when the reaction was seen until it is gone."""

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
    """A reaction that was there the last time its message was read."""

    id: int
    delivery_id: str
    kind: str
    """What the reaction does: a DecisionKind."""
    person: str
    """Slack ID of the person whose decision it is; other people with the same reaction on the message only agree."""


def present(connection: Connection, delivery_id: str | None = None) -> list[StoredReaction]:
    """The reactions on the message that have not been removed, oldest first; None: on all messages."""
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
    """Assign the reaction to another person who also left it, after the first one removed theirs."""
    connection.execute(update(table).where(table.c.id == found.id).values(person=person))


def end(connection: Connection, found: StoredReaction) -> None:
    """Store that the reaction was removed."""
    connection.execute(update(table).where(table.c.id == found.id).values(gone_at=_now()))


def prune(connection: Connection, which: ColumnElement[bool], messages: ColumnElement[bool]) -> None:
    """Delete the matching reactions on the matching messages; both arguments are conditions on the two tables.

    The newest reaction of all is kept: SQLite would reuse its ID for another reaction, to which old decisions would
    then refer.
    """
    newest = select(func.max(table.c.id)).scalar_subquery()
    # Checked for each of the few reactions: no index finds the messages of a thread, and an audit must not read all of
    # them.
    mine = select(delivery.c.id).where(delivery.c.id == table.c.delivery_id, messages).exists()
    connection.execute(delete(table).where(which, mine, table.c.id < newest))


def _now() -> datetime:
    return naive(datetime.now(UTC))
