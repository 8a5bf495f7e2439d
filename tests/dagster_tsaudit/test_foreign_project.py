"""A Dagster project of somebody else's, whose package is called `dagster_project` too, with tsaudit from its wheel."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.test_wheel import installed

__all__ = ["installed"]

_PROJECT = """
[tool.dg]
directory_type = "project"
[tool.dg.project]
root_module = "dagster_project"
"""
_DEFINITIONS = """
from pathlib import Path
from dagster import definitions, load_from_defs_folder
@definitions
def defs():
    return load_from_defs_folder(path_within_project=Path(__file__).parent)
"""
_DATA = """
import sqlite3
with sqlite3.connect("shop.db") as connection:
    connection.execute("create table orders (time text, shop text, total real)")
    rows = [(f"-{i} minutes", f"s{i % 3}", i / 7) for i in range(90)]
    connection.executemany("insert into orders values (datetime('now', ?), ?, ?)", rows)
connection.close()
"""

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(installed: Path, tmp_path: Path) -> Run:
    """Runs a module of Dagster's in the project."""
    package = tmp_path / "dagster_project"
    (package / "defs").mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text(_PROJECT)
    (package / "__init__.py").touch()
    (package / "definitions.py").write_text(_DEFINITIONS)
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "dagster.yaml").write_text("telemetry: {enabled: false}\n")
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join((str(tmp_path), str(installed))),
        "DAGSTER_HOME": str(tmp_path / "home"),
        "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])),
    }

    def running(*command: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=120
        )
        assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
        return done

    return running


def test_component_in_the_project_of_others(run: Run, tmp_path: Path, installed: Path) -> None:
    found = json.loads(run("dg", "list", "components", "--json").stdout)
    assert "dagster_tsaudit.AuditComponent" in [component["key"] for component in found["items"]]

    run("dg", "scaffold", "defs", "dagster_tsaudit.AuditComponent", "audits/shop", "--engine", "sqlite")
    folder = tmp_path / "dagster_project" / "defs" / "audits" / "shop"
    settings = yaml.safe_load((folder / "tsaudit.yaml").read_text())
    settings["targets"][0]["url"] = f"sqlite:///{tmp_path / 'shop.db'}"
    (folder / "tsaudit.yaml").write_text(yaml.safe_dump(settings))
    run(sys.executable, "-c", _DATA)

    code = (
        "import dagster_project.definitions as d, dagster_tsaudit; print(d.__file__); print(dagster_tsaudit.__file__)"
    )
    assert run(sys.executable, "-c", code).stdout.split() == [
        str(tmp_path / "dagster_project" / "definitions.py"),
        str(installed / "dagster_tsaudit" / "__init__.py"),
    ]
    run("dagster", "definitions", "validate", "-m", "dagster_project.definitions")
    done = run("dagster", "asset", "materialize", "-m", "dagster_project.definitions", "--select", "tsaudit/shop")
    assert "RUN_SUCCESS" in done.stderr + done.stdout


def test_wheel_brings_two_packages(installed: Path) -> None:
    packages = {folder.name for folder in installed.iterdir() if folder.is_dir() and folder.suffix != ".dist-info"}
    assert packages - {"bin", "__pycache__"} == {"tsaudit", "dagster_tsaudit"}
