"""Fixtures for the Dagster code location."""

from __future__ import annotations

from collections.abc import Iterator

import dagster as dg
import pytest


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    """A Dagster instance that forgets all."""
    with dg.DagsterInstance.ephemeral() as found:
        yield found
