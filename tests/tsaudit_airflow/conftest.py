"""Airflow has an environment of its own: `make airflow` runs these tests there."""

from __future__ import annotations

import os
import tempfile
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.metrics import write_metrics

collect_ignore_glob = [] if find_spec("airflow") else ["test_*.py"]

_HOME = tempfile.TemporaryDirectory(prefix="airflow")
os.environ["AIRFLOW_HOME"] = _HOME.name
"""Airflow writes its configuration there when it is imported."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With a database that has a finding, one that is not there, and a tsaudit.yaml for both."""
    return project(tmp_path)


def project(folder: Path) -> Path:
    """The same in any folder."""
    folder.mkdir(exist_ok=True)
    write_metrics(folder / "metrics.db")
    (folder / "tsaudit.yaml").write_text(
        "incidents: {open_after: 1}\n"
        "report: {base_url: 'https://reports.example/tsaudit'}\n"
        "targets:\n"
        "  - {name: metrics, engine: sqlite, url: 'sqlite:///${SHOP_HOST}'}\n"
        "  - {name: lost, engine: sqlite, url: 'sqlite:///nowhere/lost.db'}\n"
    )
    return folder
