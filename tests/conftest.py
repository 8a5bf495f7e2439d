"""Fixtures for all tests."""

from __future__ import annotations

import pytest

from tests import conversations
from tests.conversations import influxdb2
from tests.servers import influxd, influxd_auth, influxdb3, own_influxd, postgresql

__all__ = ["influxd", "influxd_auth", "influxdb2", "influxdb3", "own_influxd", "postgresql"]


def pytest_sessionfinish(session: pytest.Session) -> None:
    conversations.keep_recordings()
