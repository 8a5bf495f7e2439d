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


def test_what_reads_the_history_loads_nothing_that_measures(tmp_path: Path) -> None:
    (tmp_path / "tsaudit.yaml").write_text("targets: [{name: shop, engine: sqlite, url: 'sqlite:///shop.db'}]\n")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "incidents"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    loaded = set(done.stdout.rsplit("loaded:", 1)[1].split())
    assert "sqlalchemy" in loaded
    assert loaded & HEAVY <= {"sqlalchemy", "pydantic"}
    assert loaded & {"tsaudit.model.profile", "tsaudit.model.facts", "tsaudit.rule", "tsaudit.not_audited"} == set()


def test_an_audit_loads_nothing_for_what_it_does_not_use(tmp_path: Path) -> None:
    """It has no Slack, and a folder of its own for reports."""
    with closing(sqlite3.connect(tmp_path / "shop.db")) as database:
        database.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, paid TEXT)")
    (tmp_path / "tsaudit.yaml").write_text("targets: [{name: shop, engine: sqlite, url: 'sqlite:///shop.db'}]\n")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "audit"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    loaded = set(done.stdout.rsplit("loaded:", 1)[1].split())
    assert "jinja2" in loaded
    assert loaded & {"slack_sdk", "fsspec", "urllib3", "duckdb", "dagster", "boto3"} == set()


def test_the_end_of_a_command_searches_nothing_for_cycles() -> None:
    # What is registered first is called last.
    program = "import atexit, gc; atexit.register(lambda: print(gc.get_freeze_count() > 1_000)); import tsaudit.cli"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "True\n"
