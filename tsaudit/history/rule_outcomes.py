"""Which rules ran on each day, as stored.

Outcomes of days without a snapshot are kept as long as they show how long a rule has been unknown.
"""

from __future__ import annotations

import functools
from collections.abc import Collection
from datetime import date

from sqlalchemy import Connection, delete, insert, select

from tsaudit.history.schema import rule_outcome
from tsaudit.not_audited import RuleOutcomes


def write(connection: Connection, target: str, outcomes: RuleOutcomes) -> None:
    """Store the day's outcomes in place of those of an earlier audit of the day."""
    remove(connection, target, outcomes.day)
    row = {"evaluated": " ".join(sorted(outcomes.evaluated)), "unknown": " ".join(sorted(outcomes.unknown))}
    connection.execute(insert(rule_outcome).values(target=target, day=outcomes.day, **row))


def read(connection: Connection, target: str, before: date = date.max) -> list[RuleOutcomes]:
    """The outcomes of the days before that day, newest first."""
    query = select(rule_outcome).where(rule_outcome.c.target == target, rule_outcome.c.day < before)
    rows = connection.execute(query.order_by(rule_outcome.c.day.desc()))
    return [RuleOutcomes(row.day, _codes(row.evaluated), _codes(row.unknown)) for row in rows]


def remove(connection: Connection, target: str, day: date) -> None:
    """Delete the outcomes of the day."""
    connection.execute(delete(rule_outcome).where(rule_outcome.c.target == target, rule_outcome.c.day == day))


def prune(connection: Connection, target: str, kept: Collection[date]) -> None:
    """Delete the outcomes of all days except `kept`, and except those that show how long a rule has been unknown."""
    known = read(connection, target)
    for day in {one.day for one in known} - _needed(known) - set(kept):
        remove(connection, target, day)


@functools.lru_cache(maxsize=64)
def _codes(stored: str) -> frozenset[str]:
    """The rule codes in a stored text. Cached, because a target has the same outcomes on most days."""
    return frozenset(stored.split())


def _needed(newest_first: list[RuleOutcomes]) -> set[date]:
    """The days that show since when each rule has been unknown: from its newest day back to the day it last worked.

    A rule that never worked needs none, because it is not reported.
    """
    ever = {code for one in newest_first for code in one.evaluated}
    found: set[date] = set()
    done: set[str] = set()
    for one in newest_first:
        open_ = ever - done
        if open_ & (one.evaluated | one.unknown):
            found.add(one.day)
        done |= one.evaluated
    return found
