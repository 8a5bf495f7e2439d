"""Fixtures for all tests."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.browser import browser
from tests.engines.influxdb2 import conversations
from tests.engines.influxdb2.conversations import influxdb2
from tests.engines.postgresql.timescaledb import timescaledb
from tests.examples import IS_FIRST_TIER, examples
from tests.quick_files import keep_files_in_memory
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
from tests.tiers import is_left_out, mark
from tsaudit import secrets

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

# A machine that others use, too, may be slow at any moment: that is no property of what is tested.
settings.register_profile(
    "any machine",
    max_examples=examples(100),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
# New examples are for who can look at what they find: CI comes to the same result twice.
settings.register_profile("CI", settings.get_profile("any machine"), derandomize=True)
settings.load_profile("CI" if os.environ.get("CI") else "any machine")

pytest_plugins = ["tests.collecting"]
keep_files_in_memory()


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    return True if IS_FIRST_TIER and is_left_out(collection_path) else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A limit of half a second is kept on an idle machine; on a busy one, it may take a second or third attempt."""
    mark(items)
    items.sort(key=lambda item: item.get_closest_marker("waits") is None)
    for item in items:
        if item.get_closest_marker("wall_clock"):
            item.add_marker(pytest.mark.flaky(reruns=2, reruns_delay=2))


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """What was collected stays until the end: nobody need search it for garbage again and again."""
    gc.freeze()


@pytest.fixture(autouse=True)
def _no_secrets_of_other_tests() -> None:
    """What one test gives as a password is a word like any other in the next."""
    secrets.clear()


def pytest_sessionfinish(session: pytest.Session) -> None:
    conversations.keep_recordings()
