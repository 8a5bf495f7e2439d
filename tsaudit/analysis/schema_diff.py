"""Differences between two snapshots of a schema. What one of the snapshots could not read is not a difference."""

from __future__ import annotations

import enum
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from tsaudit.model.facts import STRUCTURE
from tsaudit.model.figures import How, Role, Subject
from tsaudit.model.profile import Measurement, Profile
from tsaudit.model.rows import KeyedFields
from tsaudit.text.table_roles import is_from_schema

_ROLES: Final = STRUCTURE | {"row_sample"}
"""Facts that show the roles of columns: in SQL engines, roles may be inferred from the values read."""


_EXPECTED: Final = 10
"""Number of documents with the field that a sample should contain, so that finding none is unlikely to be a
coincidence: 1 in 20,000, by the Poisson distribution.
"""


class DifferenceKind(enum.StrEnum):
    NEW = "new"
    GONE = "gone"
    ROLE = "role"
    """Another role; the types may differ, too."""
    TYPE = "type"


@dataclass(frozen=True, slots=True)
class LiveColumn:
    """A column as one snapshot shows it."""

    role: Role
    types: tuple[str, ...]
    """The engine's own names; more than one is a type conflict. Not stored for the time column."""
    role_known: bool = True
    """False if the role depends on rows, and they could not be read."""
    role_from_schema: bool = True
    """False if tsaudit guessed the role, or the configuration sets it: the schema is the same with another role."""
    in_key: bool | None = None
    """Whether the column is part of a unique index; None if the indexes are not known."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A database, a measurement, or a column that is new, removed, or changed."""

    kind: DifferenceKind
    subject: Subject
    before: LiveColumn | Measurement | None = None
    after: LiveColumn | Measurement | None = None
    """The later state, as `before` is the earlier one. None on the side where it does not exist; None on both sides for
    a database.
    """


def differences(before: Profile, after: Profile) -> Iterator[Difference]:
    """All differences: databases first, then by measurement. The contents of a new or removed database are not listed
    separately.

    Measurements that are created for each period are not reported, because they come and go normally.
    """
    yield from _databases(before, after)
    old = {(m.database, m.name): m for m in before.measurements}
    new = {(m.database, m.name): m for m in after.measurements}
    by_period = _made_for_periods(old.keys(), new.keys(), after.window.end)
    for key in sorted(old.keys() | new.keys()):
        subject = Subject(*key)
        if key in old and key in new:
            yield from _columns(before, after, old[key], new[key])
        elif key in by_period:
            continue
        elif key in old and shows(after, *key) and _has_database(after, key[0]):
            yield Difference(DifferenceKind.GONE, subject, before=old[key])
        elif key in new and shows(before, *key) and _has_database(before, key[0]):
            yield Difference(DifferenceKind.NEW, subject, after=new[key])


def _made_for_periods(old: Set[tuple[str, str]], new: Set[tuple[str, str]], now: datetime) -> set[tuple[str, str]]:
    """Measurements of families that both snapshots have."""
    from tsaudit.analysis.shapes.periods import period_families

    inside: dict[str, list[str]] = defaultdict(list)
    for database, name in old | new:
        inside[database].append(name)
    found: set[tuple[str, str]] = set()
    for database, names in inside.items():
        for family in period_families(names, now=now):
            members = {(database, period.name) for period in family.members}
            found |= members if members & old and members & new else set()
    return found


def shows(profile: Profile, database: str, measurement: str | None = None) -> bool:
    """Whether the snapshot would show the database or measurement, with all of its columns, if it existed."""
    return profile.selection.takes(database, measurement) and not _unseen(profile, STRUCTURE, database, measurement)


def _databases(before: Profile, after: Profile) -> Iterator[Difference]:
    old, new = {d.name for d in before.databases}, {d.name for d in after.databases}
    yield from (Difference(DifferenceKind.GONE, Subject(name)) for name in sorted(old - new) if shows(after, name))
    yield from (Difference(DifferenceKind.NEW, Subject(name)) for name in sorted(new - old) if shows(before, name))


def _has_database(profile: Profile, name: str) -> bool:
    return any(database.name == name for database in profile.databases)


def _columns(before: Profile, after: Profile, old: Measurement, new: Measurement) -> Iterator[Difference]:
    at = new.database, new.name
    if _unseen(before, STRUCTURE, *at) or _unseen(after, STRUCTURE, *at):
        return
    if (old.documents is None) != (new.documents is None):
        return  # Other measurements of its family may have been read instead, or it was empty.
    roles_known = not (_unseen(before, _ROLES, *at) or _unseen(after, _ROLES, *at))
    was, now = _by_name(old, roles_known), _by_name(new, roles_known)
    keys = sorted(was.keys() | now.keys())
    come_and_go = _names_that_are_data(keys, [found for m in (old, new) if m.documents for found in m.documents.keyed])
    for key in keys:
        if come_and_go(key):
            continue
        kind = _kind(was.get(key), now.get(key))
        if kind is not None and not _by_chance(kind, key, old, new):
            yield Difference(kind, Subject(*at, key), was.get(key), now.get(key))


def _names_that_are_data(keys: Sequence[str], keyed: Sequence[KeyedFields]) -> Callable[[str], bool]:
    """Whether a path is one of those for which one stands on one of the days, or beside them. At the top, all other
    fields are beside them, so only names that look like data are.
    """
    from tsaudit.analysis.shapes.name_families import is_in, keyed_fields

    beside = {found.above for found in keyed if found.above}
    at_top = [found for found in keyed if not found.above]
    at_top += [found for found in keyed_fields(keys) if not found.above] if at_top else []
    top = {path for found in at_top for path in (found.path, *found.paths)}
    return lambda key: is_in(key.rpartition(".")[0], beside) or is_in(key, top)


def _kind(was: LiveColumn | None, now: LiveColumn | None) -> DifferenceKind | None:
    if was is None or now is None:
        return DifferenceKind.NEW if was is None else DifferenceKind.GONE
    if was.role is not now.role and now.role_known and _has_other_schema(was, now):
        return DifferenceKind.ROLE
    return DifferenceKind.TYPE if was.types and now.types and was.types != now.types else None


def _has_other_schema(was: LiveColumn, now: LiveColumn) -> bool:
    """Whether the other role is due to the schema: to a key, without which rows may look like events, or to what both
    snapshots give as the reason.
    """
    has_other_key = None not in (was.in_key, now.in_key) and was.in_key != now.in_key
    return has_other_key or (was.role_from_schema and now.role_from_schema)


def _by_chance(kind: DifferenceKind, key: str, old: Measurement, new: Measurement) -> bool:
    """Whether the difference may just be between two samples of the same documents."""
    shown, other = (old, new) if kind is DifferenceKind.GONE else (new, old)
    if not any(m.documents and m.documents.source.how is How.SAMPLED for m in (old, new)):
        return False
    field = next((f for f in shown.fields if f.key == key), None)
    if field is None or other.documents is None:
        return False
    if kind is DifferenceKind.TYPE:
        before = next((set(f.types) for f in old.fields if f.key == key), set())
        # A rare type may be in only one of two samples; the rule conflicting-types reports it as soon as it is in one.
        return before <= set(field.types) or before >= set(field.types)
    return field.present_ratio * other.documents.read < _EXPECTED


def _by_name(measurement: Measurement, known: bool) -> dict[str, LiveColumn]:
    indexes = measurement.indexes
    key = {name for i in indexes or () if i.unique and not i.partial for name in i.columns}

    def live(name: str, role: Role, types: tuple[str, ...], reason: str) -> LiveColumn:
        return LiveColumn(role, types, known, is_from_schema(reason), None if indexes is None else name in key)

    fields = {f.key: live(f.key, Role.FIELD, f.types, f.role_reason) for f in measurement.fields}
    tags = {t.key: live(t.key, Role.TAG, (t.data_type,), t.role_reason) for t in measurement.tags}
    # No engine lets another column become the time, so only tsaudit chose another one.
    time = (
        {measurement.time_column: LiveColumn(Role.TIME, (), role_from_schema=False)} if measurement.time_column else {}
    )
    return fields | tags | time


def _unseen(profile: Profile, facts: frozenset[str], database: str, measurement: str | None) -> bool:
    return any(gap.fact in facts and gap.covers(database, measurement) for gap in profile.gaps)
