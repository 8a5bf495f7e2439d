"""What the modules of SQL layouts make their rows with."""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from tests.builders import NOW

Tables = dict[str, list[Any]]
"""Table to its rows."""

ANALYZE: Final = """DO $$ DECLARE t text; BEGIN
    FOR t IN SELECT tablename FROM pg_tables WHERE schemaname = current_schema() LOOP
        EXECUTE format('ANALYZE %I', t); END LOOP; END $$"""
"""Gathers PostgreSQL's statistics, as autovacuum does on a server that is not the tests'."""


def an_id(noise: random.Random) -> str:
    """A random UUID."""
    return str(uuid.UUID(int=noise.getrandbits(128), version=4))


def evenly(count: int, days: float, until: datetime = NOW) -> Iterator[datetime]:
    """`count` instants spread over the `days` before `until`, oldest first."""
    for number in range(count):
        yield until - timedelta(days=days) * (count - number) / count


def stamp(at: datetime) -> str:
    """As SQLite's own functions write it, in UTC."""
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")


def word(number: int) -> str:
    """A made-up word, another for each number."""
    parts = ("ka", "lo", "mi", "ter", "san", "ve", "ru", "nor", "bel", "tin", "os", "dra", "fe")
    made = ""
    number += 17
    while number:
        number, rest = divmod(number, len(parts))
        made += parts[rest]
    return made
