"""Writes data sets to GreptimeDB."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.databases import Server, write_to_server
from tests.engines.greptimedb.ddl import execute
from tests.planning.places import Statements
from tsaudit.config.settings import Target


def place(request: pytest.FixtureRequest, folder: Path) -> Server:
    """The stand-in, or a real server."""
    del folder
    found: Server = request.getfixturevalue("greptimedb")
    return found


written = write_to_server


def server(where: Any, target: Target) -> Statements:
    """Queries are answered, and all other statements are carried out on the stand-in's tables."""

    def rows(statement: str) -> list[Any]:
        if statement.startswith("SELECT"):
            return [tuple(row.values()) for row in where.read(statement.rstrip(";")).to_pylist()]
        execute(where, statement)
        return []

    return Statements(target.engine, rows)
