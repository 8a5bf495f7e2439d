"""Fixtures for all tests."""

from __future__ import annotations

import pytest

from tests import conversations
from tests.conversations import influxdb2
from tests.servers import greptimedb, influxd, influxd_auth, influxdb3, mongodb, own_influxd, postgresql
from tests.timescaledb import timescaledb

__all__ = [
    "greptimedb",
    "influxd",
    "influxd_auth",
    "influxdb2",
    "influxdb3",
    "mongodb",
    "own_influxd",
    "postgresql",
    "timescaledb",
]


def pytest_sessionfinish(session: pytest.Session) -> None:
    conversations.keep_recordings()
