"""A package with an engine, two rules and a notifier, from its wheel, beside tsaudit from its own wheel."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.alerts.conftest import slack
from tests.alerts.slack_double import TOKEN, SlackDouble
from tests.test_wheel import installed

pytestmark = pytest.mark.full

__all__ = ["installed", "slack"]

PACKAGE = Path(__file__).parent / "package"

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def venv(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the two wheels. A .pth file adds what the tests have installed, so nothing is fetched."""
    folder = tmp_path_factory.mktemp("plugins")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder / "venv")], check=True)
    (site,) = (folder / "venv").glob("lib/python*/site-packages")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    build = ["wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(PACKAGE)]
    try:
        import hatchling  # noqa: F401
    except ModuleNotFoundError:
        build.remove("--no-build-isolation")
    subprocess.run([*pip, *build], check=True)
    (wheel,) = folder.glob("acme_tsaudit-*.whl")
    subprocess.run([*pip, "install", "--no-deps", "--target", str(site), str(wheel)], check=True)
    # Before the others: there, tsaudit itself may be installed from the checkout.
    (site / "a_tsaudit.pth").write_text(f"{installed}\n")
    (site / "b_dependencies.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    return folder / "venv"


@pytest.fixture
def tsaudit(venv: Path, slack: SlackDouble, tmp_path: Path) -> Command:
    """Runs a module in the environment, in a folder with a ledger and its tsaudit.yaml."""
    with sqlite3.connect(tmp_path / "books.db") as connection:
        for table in ("SALES", "draft_SALES"):
            connection.execute(f"create table {table} (time text, shop text, amount real)")
            rows = [(f"-{i} minutes", f"s{i % 3}", i / 7) for i in range(90)]
            connection.executemany(f"insert into {table} values (datetime('now', ?), ?, ?)", rows)
    connection.close()
    (tmp_path / "pages").mkdir()
    (tmp_path / "tsaudit.yaml").write_text(
        f"slack: {{token: {TOKEN}, base_url: '{slack.base_url}'}}\n"
        f"notifiers: {{pager: {{folder: '{tmp_path / 'pages'}'}}}}\n"
        "owners: {default: {channel: '#default'}}\n"
        "limits: {shouted-name.max_capitals: 2}\n"
        "targets: [{name: books, engine: acmedb, url: 'acme:///books.db'}]\n"
    )
    environment = {k: v for k, v in os.environ.items() if k not in ("DAGSTER_HOME", "PYTHONPATH")}
    environment["DAGSTER_HOME"] = str(tmp_path / "home")
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "dagster.yaml").write_text("telemetry: {enabled: false}\n")

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(venv / "bin" / "python"), *arguments],
            cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=120,
        )  # fmt: skip

    return run


def test_findings_in_command_report_slack_and_pager(tsaudit: Command, slack: SlackDouble, tmp_path: Path) -> None:
    where = tsaudit("-c", "import tsaudit, acme_tsaudit; print(tsaudit.__file__, acme_tsaudit.__file__)").stdout
    assert str(Path(__file__).parents[2]) not in where
    shown = tsaudit("-m", "tsaudit", "version").stdout
    assert re.search(r"^notifier +pager +acme-tsaudit 1\.2$", shown, re.MULTILINE), shown

    done = tsaudit("-m", "tsaudit", "audit", "--format", "json")
    assert done.returncode == 1, done.stdout + done.stderr
    (books,) = json.loads(done.stdout)
    found = {f["code"]: f for f in books["findings"]}
    assert (found["ACME001"]["severity"], found["ACME002"]["severity"]) == ("warning", "critical")
    assert found["ACME001"]["message"] == "SALES has 5 capital letters, more than 2"
    assert (books["engine"], books["verdict"], books["error"]) == ("acmedb", "critical", None)
    assert books["not_evaluated"] == []

    report = (tmp_path / ".tsaudit/reports/books/latest.html").read_text()
    assert "SALES has 5 capital letters, more than 2" in report
    assert 'href="../rules/ACME001.html"' in report
    assert "importers compare names byte by byte." in (tmp_path / ".tsaudit/reports/rules/ACME001.html").read_text()
    assert "draft_SALES" not in report

    pages = [page.read_text() for page in (tmp_path / "pages").iterdir()]
    assert len(pages) == len(slack.messages) == 1  # the digest would only repeat the alert
    for text in (*pages, *(json.dumps(message.blocks) for message in slack.messages)):
        assert "SALES has amounts, and nobody knows of what" in text
    assert sum("ACME002" in text for text in pages) == 1


DEFINITIONS = """
import dagster as dg
from dagster_tsaudit import AuditComponent
from dagster.components.testing import create_defs_folder_sandbox

with create_defs_folder_sandbox() as sandbox:
    params = {"engine": "acmedb"}
    path = sandbox.scaffold_component(component_cls=AuditComponent, defs_path="books", scaffold_params=params)
    (path / "tsaudit.yaml").write_text(open("tsaudit.yaml").read().replace("acme:///books.db", "acme:///BOOKS"))
    with sandbox.load_component_and_build_defs(path) as (component, definitions):
        asset = next(iter(definitions.get_repository_def().assets_defs_by_key.values()))
        with dg.DagsterInstance.ephemeral() as instance:
            done = definitions.get_implicit_global_asset_job_def().execute_in_process(
                instance=instance, raise_on_error=False, asset_selection=[asset.key])
            for e in done.get_asset_check_evaluations():
                print("CHECK", e.check_name, e.passed, e.severity.value, e.description)
"""


def test_findings_in_dagster(tsaudit: Command, tmp_path: Path) -> None:
    done = tsaudit("-c", DEFINITIONS.replace("/BOOKS", f"/{tmp_path / 'books.db'}"))
    checks = dict(re.findall(r"^CHECK (\w+) (\w+ \w+) ", done.stdout, re.MULTILINE))
    assert checks["acme"] == "False WARN", done.stdout + done.stderr[-4000:]
    assert checks["names"] == "False ERROR"
    assert "nobody knows of what" in done.stdout


def test_broken_package_is_one_line_in_each(tsaudit: Command, venv: Path, slack: SlackDouble, tmp_path: Path) -> None:
    (rules,) = venv.glob("lib/python*/site-packages/acme_tsaudit/rules.py")
    sound = rules.read_text()
    rules.write_text("import nowhere_to_be_found\n")
    try:
        done = tsaudit("-m", "tsaudit", "audit", "--format", "json", "--fail-on", "unknown")
    finally:
        rules.write_text(sound)
    assert done.returncode == 3, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    (books,) = json.loads(done.stdout)
    line = "the rule plug-in `acme` of acme-tsaudit 1.2 cannot be used: ModuleNotFoundError"
    assert line in books["findings"][-1]["message"]
    report = (tmp_path / ".tsaudit/reports/books/latest.html").read_text()
    pages = [page.read_text() for page in (tmp_path / "pages").iterdir()]
    assert len(pages) == 1
    for text in (report, *pages, *(json.dumps(message.blocks) for message in slack.messages)):
        assert "of acme-tsaudit 1.2 cannot be used" in text
