"""Which rules ran on each day, as stored.

Those of removed days stay as long as they show how long a rule has been unknown.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Collection
from datetime import date

from sqlalchemy import Connection, delete, insert, select

from tsaudit.history.schema import past_outcome, snapshot
from tsaudit.silenced_rules import RuleOutcomes


def written(outcomes: RuleOutcomes) -> str:
    """The outcomes in storable form."""
    return json.dumps({"judged": sorted(outcomes.judged), "unknown": sorted(outcomes.unknown)}, separators=(",", ":"))


def read(day: date, rules: str) -> RuleOutcomes:
    """The day's outcomes; for a text that this version cannot read, as if no rule had run."""
    return RuleOutcomes(day, *_parsed(rules))


@functools.lru_cache(maxsize=64)
def _parsed(rules: str) -> tuple[frozenset[str], frozenset[str]]:
    """Cached, because a target has the same outcomes on most days."""
    try:
        known = json.loads(rules)
        return frozenset(known["judged"]), frozenset(known["unknown"])
    except (ValueError, KeyError, TypeError):
        return frozenset(), frozenset()


def past(connection: Connection, target: str, before: date) -> list[RuleOutcomes]:
    """Those of removed days before the day that are still known."""
    columns = (past_outcome.c.day, past_outcome.c.rules)
    query = select(*columns).where(past_outcome.c.target == target, past_outcome.c.day < before)
    return [read(row.day, row.rules) for row in connection.execute(query)]


def keep_past(connection: Connection, target: str, removed: Collection[date]) -> None:
    """Before snapshots of these days are removed: keep what later audits need to count how long a rule is unknown."""
    mine = (past_outcome.c.target == target,)
    of_target = select(snapshot.c.day, snapshot.c.rules).where(snapshot.c.target == target)
    rows = {row.day: row.rules for row in connection.execute(of_target) if row.rules is not None}
    known = {row.day: row.rules for row in connection.execute(select(past_outcome).where(*mine))}
    gone = known | {day: rules for day, rules in rows.items() if day in removed}
    needed = _needed([read(day, rules) for day, rules in sorted((known | rows).items(), reverse=True)])
    connection.execute(delete(past_outcome).where(*mine))
    kept = [{"target": target, "day": day, "rules": rules} for day, rules in gone.items() if day in needed]
    if kept:
        connection.execute(insert(past_outcome), kept)


def _needed(newest_first: list[RuleOutcomes]) -> set[date]:
    """The days on which a rule was unknown or last worked, for every rule from its newest day back to when it worked.

    A rule that never worked needs none: it is not reported.
    """
    ever = {code for one in newest_first for code in one.judged}
    found: set[date] = set()
    done: set[str] = set()
    for one in newest_first:
        open_ = ever - done
        if open_ & (one.judged | one.unknown):
            found.add(one.day)
        done |= one.judged
    return found
