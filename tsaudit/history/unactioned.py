"""How many of each rule's incidents nobody acted on, according to the history."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from datetime import date

from sqlalchemy import Connection, and_, func, select

from tsaudit.history import clock
from tsaudit.history.lifecycle import DecisionKind
from tsaudit.history.schema import decision, incident_day
from tsaudit.history.store import Store


@dataclass(frozen=True, slots=True)
class Unactioned:
    """What happened to one rule's incidents."""

    code: str
    rule: str
    """The rule's name."""
    opened: int
    """Number of openings; an incident counts each time it opened."""
    still_open: int
    """Number of these openings that were neither resolved nor ever muted."""
    acknowledged: int
    muted: int
    closed_by_itself: int
    """Number of openings that were resolved although nobody had acknowledged or muted them. Some may have been fixed
    without a decision.
    """

    unactioned: int
    """Number of openings that were muted or closed by themselves."""


def unactioned(store: Store, since: date, targets: Collection[str] = ()) -> list[Unactioned]:
    """The rules whose incidents opened on or after the day, those with the most unactioned incidents first.

    `targets`: empty for all. An incident that was acknowledged and then muted counts as both.
    """
    with store.reading() as connection:
        openings = _openings(connection, since, targets)
        decided = _decisions(connection)
    by_rule: dict[tuple[str, str], list[tuple[bool, frozenset[str]]]] = defaultdict(list)
    for code, rule, fingerprint, opened, is_resolved in openings:
        by_rule[code, rule].append((is_resolved, decided.get((fingerprint, opened), frozenset())))
    found = [_of_rule(code, rule, each) for (code, rule), each in by_rule.items()]
    return sorted(found, key=lambda one: (-one.unactioned, -one.opened, one.code))


def _of_rule(code: str, rule: str, openings: list[tuple[bool, frozenset[str]]]) -> Unactioned:
    return Unactioned(
        code=code,
        rule=rule,
        opened=len(openings),
        still_open=sum(not resolved and DecisionKind.MUTE not in kinds for resolved, kinds in openings),
        acknowledged=sum(DecisionKind.ACK in kinds for _, kinds in openings),
        muted=sum(DecisionKind.MUTE in kinds for _, kinds in openings),
        closed_by_itself=sum(resolved and not kinds for resolved, kinds in openings),
        unactioned=sum(DecisionKind.MUTE in kinds or (resolved and not kinds) for resolved, kinds in openings),
    )


def _openings(connection: Connection, since: date, targets: Collection[str]) -> list[tuple[str, str, str, date, bool]]:
    """Code, rule, fingerprint, day of opening, and whether it has been resolved since, for each opening."""
    day = incident_day.c
    wanted = and_(day.opened.is_not(None), day.opened >= since, day.day <= clock.today())
    if targets:
        wanted = and_(wanted, day.target.in_(targets))
    query = (
        select(day.code, day.rule, day.fingerprint, day.opened, func.max(day.resolved).label("resolved"))
        .where(wanted)
        .group_by(day.code, day.rule, day.fingerprint, day.opened)
    )
    return [
        (row.code, row.rule, row.fingerprint, row.opened, row.resolved is not None) for row in connection.execute(query)
    ]


def _decisions(connection: Connection) -> dict[tuple[str, date], frozenset[str]]:
    """(fingerprint, day of an opening) to the kinds of decisions that were made about it."""
    made: dict[tuple[str, date], set[str]] = defaultdict(set)
    for row in connection.execute(select(decision.c.fingerprint, decision.c.opened, decision.c.kind)):
        if row.kind in set(DecisionKind):
            made[row.fingerprint, row.opened].add(row.kind)
    return {key: frozenset(kinds) for key, kinds in made.items()}
