"""Writes data sets to InfluxDB 3."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.databases import Server, write_to_server


def place(request: pytest.FixtureRequest, folder: Path) -> Server:
    """The stand-in, or a real server."""
    del folder
    found: Server = request.getfixturevalue("influxdb3")
    return found


written = write_to_server
