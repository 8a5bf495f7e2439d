"""A Dagster project of somebody else's, whose package is called `dagster_project` too, with tsaudit from its wheel.

It follows the steps of docs/dagster.md, from the installation to the checks in the UI.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import textwrap
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
from playwright.sync_api import Browser

from dagster_tsaudit.checks import check_names
from tests.browser import browser
from tests.test_wheel import installed

pytestmark = pytest.mark.full

__all__ = ["browser", "installed"]

ROOT: Final = Path(__file__).parents[2]
MOST_STEPS: Final = 10
PORT: Final = "3000"
"""What the documentation says, and what other tests may use."""

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
_SCHEDULES = """{ repositoriesOrError { ... on RepositoryConnection {
  nodes { schedules { name scheduleState { status } } }
} } }"""
_PIP = """#!/bin/sh
# The wheel is installed already, and tests access no other machine: only the project is added to Python's path.
test "$*" = "install -e . ../tsaudit[ui]" && echo "import sys; sys.path.insert(0,'$PWD/src')" >"{site}/sitecustomize.py"
"""


def steps() -> list[str]:
    """The commands of each step, as the documentation has them."""
    text = (ROOT / "docs" / "dagster.md").read_text()
    section = text.split("## From your own project to checks in the UI\n")[1].split("\n## ")[0]
    parts = re.split(r"^(\d+)\. ", section, flags=re.MULTILINE)[1:]
    assert parts[::2] == [str(n) for n in range(1, len(parts) // 2 + 1)]
    blocks = [re.findall(r"^ +```sh\n(.*?)^ +```$", part, flags=re.MULTILINE | re.DOTALL) for part in parts[1::2]]
    assert all(len(found) == 1 for found in blocks), "a step is one block of commands"
    return [textwrap.dedent(block) for (block,) in blocks]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """What `create-dagster project` makes, and a database."""
    folder = tmp_path / "project"
    package = folder / "src" / "dagster_project"
    (package / "defs").mkdir(parents=True)
    (folder / "pyproject.toml").write_text(_PROJECT)
    (package / "__init__.py").touch()
    (package / "definitions.py").write_text(_DEFINITIONS)
    with sqlite3.connect(folder / "shop.db") as connection:
        connection.execute("create table freezers (time text, freezer text, celsius real)")
        rows = [(f"-{i // 3} minutes", f"f{i % 3}", -18 + i / 700) for i in range(270)]
        connection.executemany("insert into freezers values (datetime('now', ?), ?, ?)", rows)
    connection.close()
    return folder


@pytest.fixture
def environment(project: Path, installed: Path, tmp_path: Path) -> dict[str, str]:
    """That of a fresh shell in the project, with the wheel installed."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (site := tmp_path / "site").mkdir()
    (programs / "pip").write_text(_PIP.format(site=site))
    (programs / "pip").chmod(0o755)
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("DAGSTER_", "TSAUDIT_", "SHOP_"))}
    return kept | {
        "PYTHONPATH": os.pathsep.join((str(site), str(installed))),
        "PATH": os.pathsep.join((str(programs), str(Path(sys.executable).parent), os.environ["PATH"])),
        "DAGSTER_DISABLE_TELEMETRY": "1",
    }


@contextmanager
def follow(commands: list[str], folder: Path, environment: dict[str, str]) -> Iterator[str]:
    """All steps in one shell, the last of which goes on until the end; the address that it listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    script = "\n".join(["set -e", *(f"echo 'step {n}'\n{step}" for n, step in enumerate(commands, 1))])
    assert script.count(PORT) == 1
    with (folder.parent / "shell.log").open("wb") as log:
        shell = subprocess.Popen(
            ["bash", "-c", script.replace(PORT, port)],
            cwd=folder, env=environment, stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
    try:
        deadline = time.monotonic() + 600
        while not _listens(port):
            written = (folder.parent / "shell.log").read_text()
            assert shell.poll() is None, f"a step failed:\n{written[-4000:]}"
            assert time.monotonic() < deadline, f"a step did not end:\n{written[-4000:]}"
            time.sleep(0.5)
        yield f"http://127.0.0.1:{port}"
    finally:
        os.killpg(shell.pid, signal.SIGTERM)
        try:
            shell.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(shell.pid, signal.SIGKILL)
            shell.wait()


def _listens(port: str) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", int(port))) == 0


@pytest.mark.ui
def test_from_a_project_to_checks_in_the_ui(project: Path, environment: dict[str, str], browser: Browser) -> None:
    commands = steps()
    assert 1 < len(commands) <= MOST_STEPS
    with follow(commands, project, environment) as address:
        page = browser.new_page(viewport={"width": 1200, "height": 1600})
        page.goto(f"{address}/assets/tsaudit/shop?view=checks&checkDetail=cardinality", timeout=120_000)
        page.get_by_text("series of the whole target").first.wait_for(timeout=120_000)
        page.get_by_text("Nothing wrong was found").first.wait_for(timeout=60_000)
        shown = {name for name in check_names(["sqlite"]) if page.get_by_text(name, exact=True).count()}
        assert shown == set(check_names(["sqlite"]))
        page.close()
        (repository,) = _ask(address, _SCHEDULES)["repositoriesOrError"]["nodes"]
        assert [schedule["scheduleState"]["status"] for schedule in repository["schedules"]] == ["STOPPED"]
    written = {str(file.relative_to(project)) for file in project.rglob("*.html")}
    assert "src/dagster_project/defs/databases/.tsaudit/reports/shop/latest.html" in written


def _ask(address: str, query: str) -> Any:
    body = json.dumps({"query": query}).encode()
    request = urllib.request.Request(f"{address}/graphql", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)["data"]


def test_component_is_found_beside_a_package_of_the_same_name(
    project: Path, environment: dict[str, str], installed: Path
) -> None:
    def run(*command: str) -> str:
        done = subprocess.run(
            command, cwd=project, env=environment, capture_output=True, text=True, check=False, timeout=300
        )
        assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
        return done.stdout

    run("pip", "install", "-e", ".", "../tsaudit[ui]")
    found = json.loads(run("dg", "list", "components", "--json"))["items"]
    assert "dagster_tsaudit.AuditComponent" in [component["key"] for component in found]
    code = (
        "import dagster_project.definitions as d, dagster_tsaudit; print(d.__file__); print(dagster_tsaudit.__file__)"
    )
    assert run(sys.executable, "-c", code).split() == [
        str(project / "src" / "dagster_project" / "definitions.py"),
        str(installed / "dagster_tsaudit" / "__init__.py"),
    ]


def test_wheel_brings_three_packages(installed: Path) -> None:
    packages = {folder.name for folder in installed.iterdir() if folder.is_dir() and folder.suffix != ".dist-info"}
    assert packages - {"bin", "__pycache__"} == {"tsaudit", "dagster_tsaudit", "tsaudit_airflow"}
