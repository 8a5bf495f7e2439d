"""What people see in Dagster: a real web server with a few audited days, asked by GraphQL and by a browser."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from dagster_project import demo, tables
from tests.command import CliRunner

pytestmark = pytest.mark.ui

ROOT = Path(__file__).parents[2]
END = date(2026, 3, 31)
REPORTS = "https://audits.example.com"
HEADLINE = "main/power_meters: Field reading"
"""Of the worst finding. Four days are too few for a date at which the series reach their limit."""

TOO_WIDE = "tables => tables.map(t => t.scrollWidth - t.parentElement.clientWidth).filter(more => more > 1)"
"""By how many pixels tables are wider than their place, for those that are."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a web server with the shipped code location and four days of the demo, told quickly."""
    folder = tmp_path_factory.mktemp("ui")
    config = folder / "tsaudit.yaml"
    text = demo.CONFIG.read_text().replace("../../../../.tsaudit/demo/", "")
    config.write_text(text.replace("report:\n", f"report:\n  base_url: {REPORTS}\n"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "FIRMWARE", 1)
        patch.setattr(tables, "DEPLOYMENT", 2)
        patch.setenv("DAGSTER_HOME", str(folder / "home"))
        done = CliRunner().invoke(demo.main, ["--config", str(config), "--end", str(END), "--days", "4"])
        assert done.exit_code == 0, done.output
        with running(folder) as address:
            yield address


@contextmanager
def running(folder: Path) -> Iterator[str]:
    """The web server as a process of its own, on a free port of loopback."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{probe.getsockname()[1]}"
    program = Path(sys.executable).parent / "dagster-webserver"
    command = [program, "-w", ROOT / "workspace.yaml", "-h", "127.0.0.1", "-p", address.rsplit(":", 1)[1]]
    environment = os.environ | {"DAGSTER_DISABLE_TELEMETRY": "1"}
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log)
    try:
        wait_for(address, process)
        yield address
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def wait_for(address: str, process: subprocess.Popen[bytes]) -> None:
    """Until the server answers; fails when it ends or takes longer than three minutes."""
    for _ in range(720):
        assert process.poll() is None, "the web server ended; see server.log"
        try:
            urllib.request.urlopen(f"{address}/server_info", timeout=2).close()
        except OSError:
            time.sleep(0.25)
        else:
            return
    raise AssertionError("the web server did not come up; see server.log")


def ask(server: str, query: str) -> Any:
    """The data that a GraphQL query gives."""
    body = json.dumps({"query": query}).encode()
    request = urllib.request.Request(f"{server}/graphql", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        found = json.load(answer)
    assert "errors" not in found, found["errors"]
    return found["data"]


ENTRIES = """
metadataEntries {
  label
  ... on IntMetadataEntry { intValue }
  ... on MarkdownMetadataEntry { mdStr }
  ... on TextMetadataEntry { text }
}
"""


def test_the_code_location_loads(server: str) -> None:
    entries = ask(
        server,
        """{ workspaceOrError { ... on Workspace { locationEntries {
          name loadStatus locationOrLoadError { __typename } } } } }""",
    )["workspaceOrError"]["locationEntries"]
    assert entries == [
        {"name": "tsaudit", "loadStatus": "LOADED", "locationOrLoadError": {"__typename": "RepositoryLocation"}}
    ]


def test_a_materialized_audit_links_its_report_and_has_numbers_for_each_day(server: str) -> None:
    node = ask(
        server,
        f"""{{ assetNodeOrError(assetKey: {{path: ["tsaudit", "demo"]}}) {{ ... on AssetNode {{
          assetMaterializations(limit: 10) {{ {ENTRIES} }} }} }} }}""",
    )["assetNodeOrError"]
    runs = [{entry["label"]: entry for entry in run["metadataEntries"]} for run in node["assetMaterializations"]]
    assert [run["series"]["intValue"] for run in runs] == [865 + 1536 + 3072, 865 + 1536, 865, 865]
    assert runs[0]["report"]["mdStr"] == f"[open the report](<{REPORTS}/demo/{END}.html>)"


def test_a_check_has_its_numbers_over_all_runs(server: str) -> None:
    found = ask(
        server,
        f"""{{ assetCheckExecutions(
          assetKey: {{path: ["tsaudit", "demo"]}}, checkName: "cardinality", limit: 10
        ) {{ status evaluation {{ severity success {ENTRIES} }} }} }}""",
    )["assetCheckExecutions"]
    numbers = [
        {entry["label"]: entry.get("intValue") for entry in run["evaluation"]["metadataEntries"]} for run in found
    ]
    assert [run["value"] for run in numbers] == [5473, 2401, 865, 865]
    assert [run.get("baseline") for run in numbers] == [2401, 865, 865, None]
    assert {run["threshold"] for run in numbers} == {60_000}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_of_an_audit_shows_checks_figures_and_the_report(server: str, browser: Browser, scheme: str) -> None:
    page = browser.new_page(viewport={"width": 1500, "height": 2400}, color_scheme=scheme)
    page.goto(f"{server}/assets/tsaudit/demo")
    page.get_by_text("series_limit").first.wait_for(timeout=60_000)
    link = page.get_by_role("link", name="open the report").first
    assert link.get_attribute("href") == f"{REPORTS}/demo/{END}.html"
    picture = page.get_by_role("img", name="series over time").first
    assert picture.evaluate("image => image.complete && image.naturalWidth > 0")
    assert page.get_by_text(HEADLINE).first.is_visible()
    page.close()


@pytest.mark.full
def test_the_overview_fits_and_leads_to_the_checks_of_a_target(server: str, browser: Browser) -> None:
    page = browser.new_page(viewport={"width": 1200, "height": 1300})
    page.goto(f"{server}/assets/tsaudit/overview/demo")
    link = page.locator("td a[href='/assets/tsaudit/demo?view=checks']")
    link.wait_for(timeout=60_000)
    assert page.locator("table").evaluate_all(TOO_WIDE) == []
    link.click()
    page.get_by_text("cardinality", exact=True).first.wait_for(timeout=60_000)
    page.close()


@pytest.mark.parametrize(
    ("view", "said"),
    [("overview", "main/http_requests: Series grew from 768"), ("checks&checkDetail=fields", HEADLINE)],
)
def test_nothing_is_cut_off_on_a_narrow_screen(server: str, browser: Browser, view: str, said: str) -> None:
    """What does not wrap, such as an address, makes the table too wide, and the summary beside it is cut off."""
    page = browser.new_page(viewport={"width": 1200, "height": 1300})
    page.goto(f"{server}/assets/tsaudit/demo?view={view}")
    headline = page.locator("strong", has_text=said).first
    headline.wait_for(timeout=60_000)
    if view == "overview":
        page.get_by_role("img", name="series over time").first.wait_for(timeout=30_000)
    assert page.locator("table").evaluate_all(TOO_WIDE) == []
    box = headline.bounding_box()
    assert box is not None
    assert box["x"] + box["width"] <= 1200
    page.close()


def test_the_page_of_the_checks_lists_one_per_family_and_plots_their_numbers(server: str, browser: Browser) -> None:
    page = browser.new_page(viewport={"width": 1500, "height": 2000})
    page.goto(f"{server}/assets/tsaudit/demo?view=checks&checkDetail=cardinality")
    page.get_by_text("Plots").wait_for(timeout=60_000)
    for name in ("cardinality", "tags", "fields", "names", "layout", "storage", "retention", "drift", "coverage"):
        page.get_by_text(name, exact=True).first.wait_for(timeout=30_000)
    page.locator("canvas").nth(2).wait_for(timeout=30_000)
    page.close()


def test_a_failed_check_shows_the_summary_of_its_worst_finding(server: str, browser: Browser) -> None:
    page = browser.new_page(viewport={"width": 1200, "height": 1600})
    page.goto(f"{server}/assets/tsaudit/demo?view=checks&checkDetail=fields")
    headline = page.locator("strong", has_text=HEADLINE).first
    headline.wait_for(timeout=60_000)
    assert page.get_by_text("Why a warning: ").first.is_visible()
    assert page.locator("code", has_text="tsaudit plan demo power_meters").first.is_visible()
    page.close()


def test_the_owners_asset_has_the_checks_of_the_audit(server: str) -> None:
    keys = [("tsaudit/demo", "cardinality"), ("demo/database", "tsaudit_demo_cardinality")]
    (audit, own) = (
        ask(
            server,
            f"""{{ assetCheckExecutions(
              assetKey: {{path: {json.dumps(key.split("/"))}}}, checkName: "{name}", limit: 10
            )
            {{ status evaluation {{ severity success description {ENTRIES} }} }} }}""",
        )["assetCheckExecutions"]
        for key, name in keys
    )
    assert len(own) == 4
    for check in own:
        entries = check["evaluation"]["metadataEntries"]
        check["evaluation"]["metadataEntries"] = [entry for entry in entries if entry["label"] != "run"]
        assert len(entries) == len(check["evaluation"]["metadataEntries"]) + 1
    assert own == audit
