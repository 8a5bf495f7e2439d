"""Fixtures for all tests."""

from __future__ import annotations

import pytest

from tests import conversations
from tests.browser import browser
from tests.conversations import influxdb2
from tests.servers import (
    aws_credentials,
    greptimedb,
    influxd,
    influxd_auth,
    influxdb3,
    mongodb,
    own_influxd,
    postgresql,
    timestream,
)
from tests.timescaledb import timescaledb

__all__ = [
    "aws_credentials",
    "browser",
    "greptimedb",
    "influxd",
    "influxd_auth",
    "influxdb2",
    "influxdb3",
    "mongodb",
    "own_influxd",
    "postgresql",
    "timescaledb",
    "timestream",
]


def pytest_sessionfinish(session: pytest.Session) -> None:
    conversations.keep_recordings()
