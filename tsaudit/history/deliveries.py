"""Messages as rows, written before anything is sent, so that a crash neither loses nor duplicates one.

A row is `queued`, then `sending` from just before the call until its outcome is known, then `sent` or `failed`. Only
one sender works at a time (`sole_sender`), so a row found in state `sending` was left by a sender that died: it is in
doubt. `superseded` rows were replaced by a newer edit; `not_sent` rows were printed in the terminal, because Slack is
not configured, or are edits of messages that cannot be edited.

The reactions on messages that led to decisions are here, too: each row lasts from when the reaction was seen until it
is gone.
"""

from __future__ import annotations

import contextlib
import enum
import json
import time
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import Connection, Engine

from tsaudit.history import database
from tsaudit.history.schema import delivery as table
from tsaudit.history.schema import reaction

SLACK: Final = "slack"
"""The notifier of messages to Slack; any other name is that of an entry under `notifiers:`."""


class DeliveryKind(enum.StrEnum):
    """Kinds of messages."""

    ALERT = "alert"
    """The first message of a thread about one owner and target."""
    EDIT = "edit"
    """The new text of an alert; notifies nobody."""
    REPLY = "reply"
    """News in an alert's thread; notifies."""
    RESOLVE = "resolve"
    """The last reply: nothing is open anymore, not even muted, and the next incident starts a new alert."""
    CONFIRM = "confirm"
    """A reply that confirms what a reaction did."""
    DIGEST = "digest"


class DeliveryState(enum.StrEnum):
    """States of a message."""

    QUEUED = "queued"
    SENDING = "sending"
    SENT = "sent"
    FAILED = "failed"
    """The notifier rejected it, also as plain text."""
    NOT_SENT = "not_sent"
    """Printed in the terminal, or an edit where nothing can be edited; a final state."""
    SUPERSEDED = "superseded"


@dataclass(frozen=True, slots=True)
class Delivery:
    """One message as stored."""

    id: str
    position: int
    kind: DeliveryKind
    thread: str
    day: date
    channel: str
    payload: Mapping[str, Any]
    state: DeliveryState
    parent_id: str | None
    sent_channel: str | None
    """Where the message was sent, in the notifier's own terms; a Slack channel is given by its ID."""
    sent_id: str | None
    """ID of the message itself; None if the message can be neither edited nor replied to."""
    attempts: int
    last_error: str | None
    queued_at: datetime
    claimed_at: datetime | None
    notifier: str = SLACK


@dataclass(frozen=True, slots=True)
class MessageDraft:
    """A message to queue."""

    kind: DeliveryKind
    thread: str
    day: date
    channel: str
    payload: Mapping[str, Any]
    parent_id: str | None = None
    notifier: str = SLACK


_COLUMNS: Final = [table.c[name] for name in Delivery.__dataclass_fields__]
_OPEN: Final = (DeliveryState.QUEUED, DeliveryState.SENDING)
_AT_ONCE: Final = 200
"""Messages read at a time."""


def thread_of(owner: str, target: str = "") -> str:
    """The thread of messages to the owner about the target; without a target, the thread of the owner's digests."""
    return f"{owner}/{target}"


def split_thread(thread: str) -> tuple[str, str]:
    """The owner and the target of a thread; target names contain no slash."""
    owner, _, target = thread.rpartition("/")
    return owner, target


def writing(engine: Engine) -> contextlib.AbstractContextManager[Connection]:
    """A transaction in which nobody else can queue messages: what is read at its start is still valid at its end."""
    return database.writing(engine, "deliveries")


def add(connection: Connection, draft: MessageDraft) -> str:
    """Queue the message and return its ID. An edit supersedes older edits of its message that have not been sent."""
    if draft.kind is DeliveryKind.EDIT:
        older = (
            table.c.parent_id == draft.parent_id,
            table.c.kind == DeliveryKind.EDIT,
            table.c.state == DeliveryState.QUEUED,
        )
        connection.execute(sa.update(table).where(*older).values(state=DeliveryState.SUPERSEDED, done_at=_now()))
    last = connection.scalar(sa.select(sa.func.max(table.c.position))) or 0
    identity = str(uuid.uuid4())
    connection.execute(
        sa.insert(table).values(
            id=identity,
            queued_at=_now(),
            position=last + 1,
            kind=draft.kind,
            thread=draft.thread,
            day=draft.day,
            notifier=draft.notifier,
            channel=draft.channel,
            payload=_to_json(draft.payload),
            state=DeliveryState.QUEUED,
            parent_id=draft.parent_id,
            attempts=0,
        )
    )
    return identity


def newest(connection: Connection, thread: str, kind: DeliveryKind, notifier: str = SLACK) -> Delivery | None:
    """The newest message of the kind in the thread for the notifier; None if there is none."""
    query = sa.select(*_COLUMNS).where(table.c.thread == thread, table.c.kind == kind, table.c.notifier == notifier)
    row = connection.execute(query.order_by(table.c.position.desc()).limit(1)).first()
    return _delivery(row) if row else None


def family(connection: Connection, parent_id: str) -> list[Delivery]:
    """The message and all its edits and replies, oldest first."""
    return _found(connection, sa.or_(table.c.id == parent_id, table.c.parent_id == parent_id))


def on_slack(connection: Connection) -> list[Delivery]:
    """The alerts, their edits, and the replies about incidents that have arrived in Slack, oldest first."""
    kinds = table.c.kind.in_([DeliveryKind.ALERT, DeliveryKind.EDIT, DeliveryKind.REPLY])
    arrived = (table.c.state == DeliveryState.SENT, table.c.sent_id.is_not(None))
    return _found(connection, kinds, table.c.notifier == SLACK, *arrived)


def notifications_on(
    connection: Connection, threads: Collection[str], day: date, notifier: str = SLACK
) -> list[Delivery]:
    """Messages of that day in the threads that notify, or will once they are sent, oldest first."""
    kinds = table.c.kind.in_([DeliveryKind.ALERT, DeliveryKind.REPLY, DeliveryKind.RESOLVE])
    where = (kinds, table.c.day == day, table.c.notifier == notifier, table.c.state != DeliveryState.FAILED)
    return _found(connection, *where, table.c.thread.in_(threads))


def threads_about(connection: Connection, target: str, notifier: str = SLACK) -> list[str]:
    """All threads about the target for the notifier, including those of earlier owners."""
    ends_so = table.c.thread.endswith(f"/{target}", autoescape=True)
    query = (
        sa.select(table.c.thread)
        .where(table.c.kind == DeliveryKind.ALERT, table.c.notifier == notifier, ends_so)
        .distinct()
    )
    # SQLite compares without regard to case here.
    return sorted(t for t in connection.scalars(query) if split_thread(t)[1] == target)


def rewrite(connection: Connection, delivery: Delivery, payload: Mapping[str, Any]) -> bool:
    """Replace the content of a message; False if it is no longer waiting."""
    waits = (table.c.id == delivery.id, table.c.state == DeliveryState.QUEUED)
    text = _to_json(payload)
    return connection.execute(sa.update(table).where(*waits).values(payload=text)).rowcount == 1


def withdraw(connection: Connection, thread: str, day: date, found: Collection[str], notifier: str = SLACK) -> None:
    """Delete the day's messages about incidents that nobody has tried to send, if one is about an incident that is not
    among those `found`: an earlier audit of the day queued it, and a later one takes that audit's place.
    """
    kinds = table.c.kind.in_([DeliveryKind.ALERT, DeliveryKind.EDIT, DeliveryKind.REPLY, DeliveryKind.RESOLVE])
    unsent = (table.c.state.in_([DeliveryState.QUEUED, DeliveryState.SUPERSEDED]), table.c.attempts == 0)
    where = (kinds, *unsent, table.c.thread == thread, table.c.day == day, table.c.notifier == notifier)
    if {fingerprint for row in _found(connection, *where) for fingerprint in row.payload["about"]}.difference(found):
        connection.execute(sa.delete(table).where(*where))


def drop_content(connection: Connection, delivery: Delivery) -> None:
    """Delete the text of a message, but keep which incidents it covered. A message that is still waiting is not
    changed.
    """
    kept = {name: delivery.payload[name] for name in ("about", "muted") if name in delivery.payload}
    text = _to_json({"text": "", "blocks": [], "about": {}} | kept)
    done = (table.c.id == delivery.id, table.c.state.not_in(_OPEN))
    connection.execute(sa.update(table).where(*done).values(payload=text))


def find(engine: Engine, identity: str) -> Delivery | None:
    """The message with the ID; None if there is none."""
    with database.reading(engine) as connection:
        return next(iter(_found(connection, table.c.id == identity)), None)


def waiting(engine: Engine, after: int = 0, notifier: str = SLACK) -> list[Delivery]:
    """Messages queued for the notifier or in doubt, in sending order: the first few after position `after`."""
    query = sa.select(*_COLUMNS).where(table.c.state.in_(_OPEN), table.c.position > after, table.c.notifier == notifier)
    with database.reading(engine) as connection:
        return [_delivery(row) for row in connection.execute(query.order_by(table.c.position).limit(_AT_ONCE))]


def waiting_notifiers(engine: Engine) -> list[str]:
    """The notifiers that have messages queued or in doubt: Slack first, then the others by name."""
    query = sa.select(table.c.notifier).where(table.c.state.in_(_OPEN)).distinct()
    with database.reading(engine) as connection:
        return sorted(connection.scalars(query), key=lambda notifier: (notifier != SLACK, notifier))


def waiting_ids(engine: Engine) -> list[str]:
    """IDs of all messages queued or in doubt, in sending order."""
    query = sa.select(table.c.id).where(table.c.state.in_(_OPEN)).order_by(table.c.position)
    with database.reading(engine) as connection:
        return list(connection.scalars(query))


def waiting_since(engine: Engine, before: datetime) -> list[Delivery]:
    """Messages queued before that time (in UTC, naive) that are still queued or in doubt, oldest first."""
    query = sa.select(*_COLUMNS).where(table.c.state.in_(_OPEN), table.c.queued_at < before)
    with database.reading(engine) as connection:
        return [_delivery(row) for row in connection.execute(query.order_by(table.c.queued_at, table.c.position))]


def claim(engine: Engine, delivery: Delivery, channel: str) -> Delivery | None:
    """Set the state of the message to `sending` and commit, before the call is made. Returns the message; None if it
    has changed since it was read.

    Its content is current: it may have been rewritten while it waited.
    """
    same = (table.c.id == delivery.id, table.c.state == delivery.state, table.c.attempts == delivery.attempts)
    changed = {
        "state": DeliveryState.SENDING,
        "attempts": delivery.attempts + 1,
        "claimed_at": _now(),
        "channel": channel,
    }
    with writing(engine) as connection:
        if connection.execute(sa.update(table).where(*same).values(**changed)).rowcount != 1:
            return None
        return _found(connection, table.c.id == delivery.id)[0]


def record_result(
    engine: Engine,
    delivery: Delivery,
    state: DeliveryState,
    *,
    error: str | None = None,
    sent_to: tuple[str, str] | None = None,
) -> None:
    """Store the outcome of sending the message. `sent_to`: its channel and ID, if it can be edited and replied to."""
    values: dict[str, Any] = {"state": state, "last_error": error}
    if sent_to is not None:
        values |= dict(zip(("sent_channel", "sent_id"), sent_to, strict=True))
    if state not in _OPEN:
        values["done_at"] = _now()
    with writing(engine) as connection:
        connection.execute(sa.update(table).where(table.c.id == delivery.id).values(**values))


def known_channel_id(engine: Engine, channel: str) -> str | None:
    """Slack's ID of a channel known by name, taken from an earlier message; None if there is none.

    Edits and replies are ignored: they go to the channel of their message, even if the owner's channel has changed.
    """
    own = (table.c.parent_id.is_(None), table.c.sent_channel.is_not(None), table.c.notifier == SLACK)
    query = sa.select(table.c.sent_channel).where(table.c.channel == channel, *own)
    with database.reading(engine) as connection:
        found: str | None = connection.scalar(query.order_by(table.c.position.desc()).limit(1))
    return found


def _found(connection: Connection, *where: sa.ColumnElement[bool]) -> list[Delivery]:
    """The messages that meet the conditions, in sending order."""
    query = sa.select(*_COLUMNS).where(*where).order_by(table.c.position)
    return [_delivery(row) for row in connection.execute(query)]


def _delivery(row: sa.Row[Any]) -> Delivery:
    values = dict(row._mapping)
    values |= {"kind": DeliveryKind(row.kind), "state": DeliveryState(row.state), "payload": json.loads(row.payload)}
    return Delivery(**values)


def _to_json(payload: Mapping[str, Any]) -> str:
    return json.dumps(payload, ensure_ascii=False, sort_keys=True)


def _now() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None)


_ADVISORY_KEY: Final = 0x7473617564697401
"""An arbitrary number that no other program locks in the same database; "tsaudit" and 1."""


@contextlib.contextmanager
def sole_sender(engine: Engine, wait_s: float) -> Iterator[bool]:
    """True while no other process or thread sends from this history; False if one still does after `wait_s` seconds.

    The lock is released when its holder ends, even if it is killed, so a holder can be sure that nobody else is
    sending.
    """
    take_lock = _advisory_lock if engine.dialect.name == "postgresql" else _file_lock
    with database.readable_errors(engine.url), take_lock(engine, wait_s) as alone:
        yield alone


@contextlib.contextmanager
def _advisory_lock(engine: Engine, wait_s: float) -> Iterator[bool]:
    """A PostgreSQL lock that belongs to the connection and ends with it."""
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        query = sa.select(sa.func.pg_try_advisory_lock(_ADVISORY_KEY))
        alone = _retry(lambda: bool(connection.scalar(query)), wait_s)
        try:
            yield alone
        finally:
            # Closed instead of returned to the pool: the lock ends with the session, even after an error.
            connection.invalidate()


@contextlib.contextmanager
def _file_lock(engine: Engine, wait_s: float) -> Iterator[bool]:
    """A lock on an empty SQLite file next to the history: portable, and released by the system if a process dies."""
    import sqlite3

    with database.reading(engine) as connection:
        path = connection.scalar(sa.text("SELECT file FROM pragma_database_list WHERE name = 'main'"))
    database.keep_private(Path(f"{path}.sender"))
    with contextlib.closing(sqlite3.connect(f"{path}.sender", isolation_level=None, timeout=0)) as beside:

        def attempt() -> bool:
            try:
                beside.execute("BEGIN EXCLUSIVE")
            except sqlite3.OperationalError as error:
                if "locked" in str(error):
                    return False
                raise
            return True

        yield _retry(attempt, wait_s)


def _retry(attempt: Callable[[], bool], wait_s: float) -> bool:
    deadline = time.monotonic() + wait_s
    while not attempt():
        if time.monotonic() >= deadline:
            return False
        time.sleep(min(0.2, wait_s))
    return True


# --- Reactions that led to decisions -------------------------------------------------------------------------------


_OF_REACTION: Final = (reaction.c.id, reaction.c.delivery_id, reaction.c.kind, reaction.c.person)


@dataclass(frozen=True, slots=True)
class StoredReaction:
    """A reaction that was there the last time its message was read."""

    id: int
    delivery_id: str
    kind: str
    """What the reaction does: a DecisionKind."""
    person: str
    """Slack ID of the person whose decision it is; other people with the same reaction on the message only agree."""


def reactions_present(connection: Connection, delivery_id: str | None = None) -> list[StoredReaction]:
    """The reactions on the message that have not been removed, oldest first; None: on all messages."""
    query = sa.select(*_OF_REACTION).where(reaction.c.gone_at.is_(None))
    if delivery_id is not None:
        query = query.where(reaction.c.delivery_id == delivery_id)
    rows = connection.execute(query.order_by(reaction.c.id))
    return [StoredReaction(*row) for row in rows]


def add_reaction(connection: Connection, message: Delivery, kind: str, person: str) -> StoredReaction:
    """Store a reaction that was not there before."""
    values = {"delivery_id": message.id, "kind": kind, "person": person, "seen_at": _now()}
    key = connection.execute(sa.insert(reaction).values(values)).inserted_primary_key
    assert key is not None
    return StoredReaction(key[0], message.id, kind, person)


def hand_over_reaction(connection: Connection, found: StoredReaction, person: str) -> None:
    """Assign the reaction to another person who also left it, after the first one removed theirs."""
    connection.execute(sa.update(reaction).where(reaction.c.id == found.id).values(person=person))


def end_reaction(connection: Connection, found: StoredReaction) -> None:
    """Store that the reaction was removed."""
    connection.execute(sa.update(reaction).where(reaction.c.id == found.id).values(gone_at=_now()))


def prune_reactions(connection: Connection, which: sa.ColumnElement[bool], messages: sa.ColumnElement[bool]) -> None:
    """Delete the matching reactions on the matching messages; both arguments are conditions on the two tables.

    The newest reaction of all is kept: SQLite would reuse its ID for another reaction, to which old decisions would
    then refer.
    """
    newest = sa.select(sa.func.max(reaction.c.id)).scalar_subquery()
    # Checked for each of the few reactions: no index finds the messages of a thread, and an audit must not read all of
    # them.
    mine = sa.select(table.c.id).where(table.c.id == reaction.c.delivery_id, messages).exists()
    connection.execute(sa.delete(reaction).where(which, mine, reaction.c.id < newest))
