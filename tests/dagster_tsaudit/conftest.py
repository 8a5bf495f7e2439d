"""Fixtures for the Dagster code location."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    """A Dagster instance that forgets all."""
    with dg.DagsterInstance.ephemeral() as found:
        yield found


@pytest.fixture
def kept_instance(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    """A Dagster instance on disk, which schedules can open."""
    folder = tmp_path / "dagster_home"
    folder.mkdir()
    with dg.DagsterInstance.local_temp(str(folder)) as found:
        yield found
