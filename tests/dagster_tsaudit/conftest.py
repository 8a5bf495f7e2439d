"""Fixtures for the Dagster code location."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    """A Dagster instance that forgets all."""
    with dg.DagsterInstance.ephemeral() as found:
        yield found


@pytest.fixture(scope="session")
def new_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a Dagster instance in which nothing has happened: Dagster takes long to make its databases."""
    folder = tmp_path_factory.mktemp("dagster_home")
    dg.DagsterInstance.local_temp(str(folder)).dispose()
    return folder


@pytest.fixture
def kept_instance(tmp_path: Path, new_home: Path) -> Iterator[dg.DagsterInstance]:
    """A Dagster instance on disk, which schedules can open."""
    folder = shutil.copytree(new_home, tmp_path / "dagster_home")
    with dg.DagsterInstance.local_temp(str(folder)) as found:
        yield found
