"""Writes data sets to InfluxDB 2.x."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.databases import Server, write_to_server
from tsaudit.config.settings import Target


def place(request: pytest.FixtureRequest, folder: Path) -> Server:
    """A recorded conversation, or a real server."""
    del folder
    found: Server = request.getfixturevalue("influxdb2")
    return found


written = write_to_server


def server(where: Server, target: Target) -> None:
    """Nothing: the answers are recorded."""
    del where, target
