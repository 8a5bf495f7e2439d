"""Both databases a history can be kept in: a fresh SQLite file, and a schema of a PostgreSQL server."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.examples import examples
from tests.servers import Postgresql
from tsaudit.history.store import Store

EXAMPLES: Final = {"sqlite": examples(25), "postgresql": 4}
"""Of a property that does not depend on the database, by dialect: on PostgreSQL, each costs ten times as much."""


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Where a history can be made; there is none yet."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/folder/history.db"
        return
    server: Postgresql = request.getfixturevalue("postgresql")
    schema = f"t{uuid.uuid4().hex}"
    server.execute(f"CREATE SCHEMA {schema}")
    yield server.address(schema)
    server.execute(f"DROP SCHEMA {schema} CASCADE")


@pytest.fixture
def store(address: str) -> Iterator[Store]:
    """An empty history."""
    with Store.open(address) as opened:
        yield opened
