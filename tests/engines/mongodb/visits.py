"""The guideline's example: who was there each day, week, month, in a collection for each, with an id beside `_id`.

Its author found almost 12 GB in well over a thousand collections, made the user's id the `_id`, counted closed periods
into one collection and dropped them.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import date, timedelta
from typing import Any, Final

from tests.builders import DAY
from tests.databases import Collection, Dataset

YEARS: Final = 3
FORMS: Final = {"day": "visits_%Y_%m_%d", "week": "visits_%Gw%V", "month": "visits_%Y_%m"}
OPEN: Final = frozenset(DAY.strftime(form) for form in FORMS.values())
"""The collections that are still written."""


def visits(days: int = YEARS * 365) -> Dataset:
    """Users who were there, each once a period, ever more of them; integers as ids."""
    return Dataset(
        collections=[
            Collection(name, [{"user_id": user} for user in sorted(users)], unique=("user_id",))
            for name, users in sorted(_users(days).items())
        ],
        database="visits",
    )


def by_own_id(days: int = YEARS * 365) -> Dataset:
    """The same with the user's id as the document's."""
    return Dataset(
        collections=[
            Collection(name, [{"_id": user} for user in sorted(users)]) for name, users in sorted(_users(days).items())
        ],
        database="visits",
    )


def counted(days: int = YEARS * 365) -> Dataset:
    """What the author left: counts of the closed periods, by the collections' names, and the open ones by own ids."""
    users = _users(days)
    counts: list[dict[str, Any]] = [{"_id": name, "n": len(u)} for name, u in sorted(users.items()) if name not in OPEN]
    still = [Collection(name, [{"_id": user} for user in sorted(users[name])]) for name in sorted(OPEN)]
    return Dataset(collections=[Collection("visits_counts", counts), *still], database="visits")


def _users(days: int) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {}
    for day, users in _by_day(days):
        for form in FORMS.values():
            found.setdefault(day.strftime(form), set()).update(users)
    return found


def _by_day(days: int) -> Iterator[tuple[date, list[int]]]:
    chance = random.Random(11)
    for i in range(days):
        everybody = 40 + i // 12
        weekend = (DAY - timedelta(days=days - 1 - i)).weekday() >= 5
        there = chance.randint(8, 14) if weekend else chance.randint(14, 26)
        yield DAY - timedelta(days=days - 1 - i), chance.sample(range(1_000_000, 1_000_000 + everybody), there)
