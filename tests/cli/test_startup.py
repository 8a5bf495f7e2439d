"""Commands that only print must not pay for what only an audit needs."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

HEAVY = {"dagster", "numpy", "pyarrow", "sqlalchemy", "pydantic", "duckdb", "urllib3", "jinja2", "slack_sdk", "fsspec"}

PROGRAM = """
import sys
from tsaudit.cli import main
try:
    main(sys.argv[1:])
except SystemExit as done:
    code = done.code
print("\\nloaded:", *sys.modules)
sys.exit(code)
"""


@pytest.mark.costly
@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["--version"],
        ["audit", "--help"],
        ["rules"],
        ["rules", "--format", "json"],
        ["explain", "CAR001"],
        ["guidelines"],
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("cold", [True, False], ids=["cold", "warm"])
def test_imports_when_only_printing(arguments: list[str], cold: bool, tmp_path: Path) -> None:
    environment = os.environ | ({"PYTHONPYCACHEPREFIX": str(tmp_path)} if cold else {})
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    loaded = set(done.stdout.rsplit("loaded:", 1)[1].split())
    assert "click" in loaded
    assert loaded & HEAVY == set()


def test_a_file_that_names_no_rule_loads_none(tmp_path: Path) -> None:
    """Neither the rules nor what they are built on: that takes as long as all else that `tsaudit incidents` does."""
    (tmp_path / "tsaudit.yaml").write_text("targets: [{name: shop, engine: sqlite, url: 'sqlite:///shop.db'}]\n")
    program = "import sys; from tsaudit.config.file import load; load('tsaudit.yaml'); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    of_rules = ("tsaudit.rules.", "tsaudit.rule", "tsaudit.analysis")
    assert [n for n in done.stdout.split() if n.startswith(of_rules) and n != "tsaudit.rules"] == []


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, set[str]]:
    """A folder in which a target was audited, without Slack and with a folder of its own for reports; what that
    loaded.
    """
    folder = tmp_path_factory.mktemp("audited")
    with closing(sqlite3.connect(folder / "shop.db")) as database:
        database.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, paid TEXT)")
    (folder / "tsaudit.yaml").write_text("targets: [{name: shop, engine: sqlite, url: 'sqlite:///shop.db'}]\n")
    return folder, loaded_by("audit", folder)


def loaded_by(command: str, folder: Path, code: int = 0) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *command.split()],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == code, done.stderr
    return set(done.stdout.rsplit("loaded:", 1)[1].split())


@pytest.mark.costly
@pytest.mark.parametrize("command", ["incidents", "plan shop", "show shop"])
def test_what_reads_the_history_loads_nothing_that_measures(command: str, audited: tuple[Path, set[str]]) -> None:
    folder, _ = audited
    loaded = loaded_by(command, folder)
    assert "sqlalchemy" in loaded
    assert loaded & HEAVY <= {"sqlalchemy", "pydantic"}
    assert [name for name in loaded if name.startswith(("tsaudit.analysis.columns", "tsaudit.planning.plans"))] == []
    # It says which roles were guessed, and that is in a profile.
    needed = {"tsaudit.model.profile"} if command == "show shop" else set()
    of_audits = {"tsaudit.model.profile", "tsaudit.model.facts", "tsaudit.rule", "tsaudit.not_audited"}
    assert loaded & of_audits <= needed


def test_an_audit_loads_nothing_for_what_it_does_not_use(audited: tuple[Path, set[str]]) -> None:
    _, loaded = audited
    assert "jinja2" in loaded
    assert loaded & {"slack_sdk", "fsspec", "urllib3", "duckdb", "dagster", "boto3", "alembic"} == set()
    # Nothing was found, so there is nothing to plan, to write, or to send.
    of_findings = {"planning.plans", "rules.causes", "alerts.message", "alerts.notifier", "alerts.sending"}
    assert loaded & {f"tsaudit.{name}" for name in of_findings} == set()


def test_an_audit_of_nothing_loads_no_steps(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "shop.db")) as database:
        database.execute("PRAGMA user_version = 1")
    (tmp_path / "tsaudit.yaml").write_text("targets: [{name: shop, engine: sqlite, url: 'sqlite:///shop.db'}]\n")
    loaded = loaded_by("audit", tmp_path, code=3)
    assert "tsaudit.collect.measuring" in loaded
    of_rows = ("roles", "rows", "row_bytes", "row_figures", "copies", "counts", "series")
    assert loaded & {f"tsaudit.collect.{name}" for name in of_rows} == set()


def test_commands_search_for_cycles_rarely() -> None:
    program = (
        "import gc; before = gc.get_threshold()[0]; import tsaudit.cli; print(gc.get_threshold()[0] > 10 * before)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "True\n"


def test_the_end_of_a_command_searches_nothing_for_cycles() -> None:
    # What is registered first is called last.
    program = "import atexit, gc; atexit.register(lambda: print(gc.get_freeze_count() > 1_000)); import tsaudit.cli"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "True\n"
