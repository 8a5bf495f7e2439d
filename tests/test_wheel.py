"""The wheel carries all it needs: the queries, the migrations, the templates, and Dagster's project file."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.full

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with nothing but the unpacked wheel, built from the checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--no-deps", "--wheel-dir", str(folder), str(ROOT)], check=True)
    (wheel,) = folder.glob("tsaudit-*.whl")
    site = folder / "site"
    subprocess.run([*pip, "install", "--no-deps", "--target", str(site), str(wheel)], check=True)
    return site


def run(installed: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "DAGSTER_HOME"}
    environment["PYTHONPATH"] = str(installed)
    command = [sys.executable, "-m", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_wheel_runs_an_audit_when_installed_without_the_checkout(installed: Path, tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "metrics.db") as connection:
        connection.execute("create table cpu (time text, host text, usage real)")
        connection.executemany(
            "insert into cpu values (datetime('now', ?), ?, ?)",
            [(f"-{i} minutes", f"h{i % 3}", i / 7) for i in range(90)],
        )
    connection.close()
    (tmp_path / "tsaudit.yaml").write_text("targets:\n  - {name: cpu, engine: sqlite, url: 'sqlite:///metrics.db'}\n")

    assert "audit" in run(installed, tmp_path, "tsaudit", "--help").stdout
    done = run(installed, tmp_path, "tsaudit", "audit", "--fail-on", "unknown")

    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / ".tsaudit/reports/cpu/latest.html").is_file()
    assert (tmp_path / ".tsaudit/history.db").is_file()
    assert (installed / "tsaudit_airflow/example_dags/audits.py").is_file()
