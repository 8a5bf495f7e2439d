"""The base texts of each target, from which its snapshots and incidents are stored as differences (`packing`).

A target gets a new base when the audits since its newest one have become so different from it that they together take
more than the new one will. A base is itself stored as what differs from an older one, its root, unless little of that
is left; so every text is read in two steps at most. Compaction deletes bases that nothing needs any more,
and those whose few remaining snapshots take less with the next base.
"""

from __future__ import annotations

import statistics
from collections.abc import Collection
from dataclasses import dataclass
from datetime import date
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, delete, func, insert, literal, select, update

from tsaudit.history.packing import LARGEST_BASE, Packer
from tsaudit.history.schema import base, incident_day, snapshot

_REPACKED: Final = 10
"""Most snapshots of an earlier version that one compaction packs again, so that no audit takes long for it."""
_FEW: Final = 2
"""Most snapshots of a base that compaction packs with the next one, so that no audit takes long for it."""
_FIRST: Final = 5
"""Number of snapshots that show how much a base saves at first."""
_LEAST: Final = 1_000
"""Bytes that a new base has to save, so that targets that hardly change have few."""
_ZLIB: Final = b"x"
"""First byte of what earlier versions stored."""


@dataclass(frozen=True, slots=True)
class Packed:
    """A day's texts as stored."""

    base_id: int | None
    profile: bytes | None
    result: bytes


class Packers:
    """Packers by the ID of their base, for one transaction; keeps the newest one, because texts can be long."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._kept: tuple[int | None, Packer] = (None, Packer())

    def of(self, base_id: int | None) -> Packer:
        """The packer with that base; None: without a base. If the base is missing, nothing can be unpacked with it."""
        if self._kept[0] != base_id:
            self._kept = (base_id, Packer(_text(self._connection, base_id)))
        return self._kept[1]


def _text(connection: Connection, base_id: int | None) -> bytes:
    """The base's text; empty if there is none."""
    row = connection.execute(select(base.c.data, base.c.root_id).where(base.c.id == base_id)).one_or_none()
    if row is None:
        return b""
    return Packer(_text(connection, row.root_id) if row.root_id is not None else b"").unpacked(row.data)


def newest(connection: Connection, target: str) -> int | None:
    """The ID of the target's newest base; None if it has none."""
    return connection.execute(select(func.max(base.c.id)).where(base.c.target == target)).scalar()


def pack(connection: Connection, target: str, day: date, profile: bytes | None, result: bytes) -> Packed:
    """The day's texts, packed with the target's newest base, or with a new one made of them."""
    base_id = newest(connection, target)
    if base_id is None:
        return _with_new_base(connection, target, day, profile, result)
    found = _packed(Packers(connection).of(base_id), base_id, profile, result)
    if profile is not None and _is_outgrown(connection, target, day, found):
        return _with_new_base(connection, target, day, profile, result)
    return found


def pack_with(connection: Connection, base_id: int | None, profile: bytes | None, result: bytes) -> Packed:
    """The texts, packed with a base that exists; None: without one."""
    return _packed(Packers(connection).of(base_id), base_id, profile, result)


def of_days(connection: Connection, target: str, days: Collection[date]) -> list[int]:
    """The IDs of the bases that the snapshots of these days are stored with."""
    mine = (snapshot.c.target == target, snapshot.c.day.in_(sorted(days)), snapshot.c.base_id.is_not(None))
    return list(connection.execute(select(snapshot.c.base_id).where(*mine).distinct()).scalars())


def tidy(connection: Connection, target: str, less_used: Collection[int] = ()) -> None:
    """Pack some snapshots that an earlier version stored, and delete the target's bases that nothing needs.

    `less_used`: the bases with which fewer snapshots are stored than before.
    """
    kept = newest(connection, target)
    if kept is None:
        return
    _pack_again(connection, target, kept)
    for base_id in sorted(less_used):
        _move_to_next(connection, target, base_id)
    needed = (
        select(table.c.base_id).where(table.c.target == target, table.c.base_id.is_not(None))
        for table in (snapshot, incident_day)
    )
    roots = select(base.c.root_id).where(base.c.target == target, base.c.root_id.is_not(None))
    mine = (base.c.target == target, base.c.id != kept, base.c.id.not_in(roots))
    connection.execute(delete(base).where(*mine, *(base.c.id.not_in(ids) for ids in needed)))


def _pack_again(connection: Connection, target: str, base_id: int) -> None:
    old = (snapshot.c.target == target, snapshot.c.base_id.is_(None), func.substr(snapshot.c.result, 1, 1) == _ZLIB)
    columns = (snapshot.c.id, snapshot.c.profile, snapshot.c.result)
    rows = connection.execute(select(*columns).where(*old).order_by(snapshot.c.day.desc()).limit(_REPACKED)).all()
    plain, packer = Packer(), Packers(connection).of(base_id) if rows else Packer()
    for row in rows:
        try:
            profile = plain.unpacked(row.profile) if row.profile is not None else None
            found = _packed(packer, base_id, profile, plain.unpacked(row.result))
        except ValueError:
            continue  # Damaged: it stays as it is, like everything that this version cannot read.
        values = {"base_id": found.base_id, "profile": found.profile, "result": found.result}
        connection.execute(update(snapshot).where(snapshot.c.id == row.id).values(values))


def _move_to_next(connection: Connection, target: str, base_id: int) -> None:
    """Pack the base's few snapshots, and the findings of incidents, with the next base, if the base takes more."""
    following = connection.execute(
        select(func.min(base.c.id)).where(base.c.target == target, base.c.id > base_id)
    ).scalar()
    is_root = connection.execute(select(base.c.id).where(base.c.target == target, base.c.root_id == base_id)).first()
    mine = (snapshot.c.target == target, snapshot.c.base_id == base_id)
    rows = connection.execute(select(snapshot).where(*mine).limit(_FEW + 1)).all()
    if following is None or is_root is not None or len(rows) > _FEW:
        return
    old, new = (Packers(connection).of(one) for one in (base_id, following))
    own = (incident_day.c.target == target, incident_day.c.base_id == base_id)
    findings = connection.execute(select(incident_day).where(*own)).all()
    try:
        texts = [(None if r.profile is None else old.unpacked(r.profile), old.unpacked(r.result)) for r in rows]
        found = [_packed(new, following, *each) for each in texts]
        again = [new.packed(old.unpacked(row.finding)) for row in findings]
    except ValueError:
        return  # Damaged: it stays as it is.
    taken = connection.execute(select(_bytes(base.c.data)).where(base.c.id == base_id)).scalar_one()
    if sum(map(_size, found)) >= sum(map(_size, rows)) + taken:
        return
    for row, each in zip(rows, found, strict=True):
        values = {"base_id": following, "profile": each.profile, "result": each.result}
        connection.execute(update(snapshot).where(snapshot.c.id == row.id).values(values))
    for row, data in zip(findings, again, strict=True):
        of_day = (*own, incident_day.c.fingerprint == row.fingerprint, incident_day.c.day == row.day)
        connection.execute(update(incident_day).where(*of_day).values(base_id=following, finding=data))


def _size(texts: Any) -> int:
    return len(texts.profile or b"") + len(texts.result)


def _packed(packer: Packer, base_id: int | None, profile: bytes | None, result: bytes) -> Packed:
    return Packed(base_id, packer.packed(profile) if profile is not None else None, packer.packed(result))


def _with_new_base(connection: Connection, target: str, day: date, profile: bytes | None, result: bytes) -> Packed:
    text = (profile or b"") + result
    if len(text) > LARGEST_BASE:
        return _packed(Packer(), None, profile, result)
    last = connection.execute(
        select(base.c.id, base.c.root_id).where(base.c.target == target).order_by(base.c.id.desc()).limit(1)
    ).one_or_none()
    root_id = None if last is None else last.id if last.root_id is None else last.root_id
    data, whole = Packer(_text(connection, root_id)).packed(text), Packer().packed(text)
    if len(data) > len(whole) / 2:
        data, root_id = whole, None
    row = {"target": target, "day": day, "data": data, "root_id": root_id}
    key = connection.execute(insert(base).values(row)).inserted_primary_key
    assert key is not None
    return _packed(Packer(text), key[0], profile, result)


def _is_outgrown(connection: Connection, target: str, day: date, found: Packed) -> bool:
    """Whether the snapshots with this base take more than its first ones did, by as much as a new base takes.

    The day of the base itself says nothing about how close others are to it.
    """
    size = _bytes(snapshot.c.profile) + _bytes(snapshot.c.result)
    begun = select(base.c.day).where(base.c.id == found.base_id).scalar_subquery()
    others = (snapshot.c.target == target, snapshot.c.base_id == found.base_id, snapshot.c.day.not_in([day, begun]))
    query = select(size).where(*others, snapshot.c.profile.is_not(None)).order_by(snapshot.c.day)
    sizes = [*connection.execute(query).scalars(), len(found.profile or b"") + len(found.result)]
    if len(sizes) == 1:
        return False
    # A median, because single days differ much: of a tag with changing values, each audit samples others.
    usual = statistics.median_low(sizes[:_FIRST])
    columns = (_bytes(base.c.data), base.c.root_id)
    taken, root_id = connection.execute(select(*columns).where(base.c.id == found.base_id)).one()
    # The next one is a difference from the same root: from this base itself if that is the root.
    room = max(sizes[-1] if root_id is None else taken, _LEAST)
    return bool(sum(each - usual for each in sizes) > room)


def _bytes(column: ColumnElement[bytes | None]) -> ColumnElement[int]:
    return func.coalesce(func.length(column), literal(0))
