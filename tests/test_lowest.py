"""The lowest versions of dependencies that pyproject.toml allows: `make lowest` installs them and runs tests there."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest
from packaging.version import Version

FLOORS = Path(__file__).parents[1] / ".ci" / "floors"


def _floors() -> dict[str, Version]:
    printed = subprocess.run([sys.executable, FLOORS], check=True, capture_output=True, text=True, timeout=60).stdout
    return {name: Version(floor) for name, floor in (line.split("==") for line in printed.splitlines())}


def test_floors_when_each_dependency_has_one() -> None:
    floors = _floors()
    assert {"click", "sqlalchemy", "psycopg", "boto3", "dagster"} <= floors.keys()
    installed = {name: _installed(name) for name in floors}
    too_old = {name: found for name, found in installed.items() if found and found < floors[name]}
    assert not too_old


@pytest.mark.skipif(not os.environ.get("TSAUDIT_LOWEST"), reason="`make lowest` installs the lowest versions")
def test_installed_are_exactly_the_lowest() -> None:
    installed = {name: _installed(name) for name in _floors()}
    # The web interface and `dg` are of Dagster's own version; nothing here calls them. Airflow has its own environment.
    elsewhere = {"dagster-webserver", "dagster-dg-cli", "apache-airflow"}
    assert {name for name, found in installed.items() if found is None} <= elsewhere
    assert {n: f for n, f in installed.items() if f} == {n: v for n, v in _floors().items() if installed[n]}


def _installed(name: str) -> Version | None:
    try:
        return Version(version(name))
    except PackageNotFoundError:
        return None
