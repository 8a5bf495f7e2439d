"""The documentation as a site: every page is there, no link leads nowhere, and nothing comes from elsewhere."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tsaudit.engines.registry import ENGINES
from tsaudit.guidelines import GUIDELINES
from tsaudit.rules import all_rules

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.ui


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Zensical fails on links to pages and headings that do not exist, and the program on anything from elsewhere."""
    # In a folder of its own: tests of this module may run in several processes.
    build = tmp_path_factory.mktemp("build")
    command = [sys.executable, "-m", "docs.site", str(build)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return build / "site"


def test_site_has_a_page_for_each_rule_guideline_and_engine(site: Path) -> None:
    wanted = [f"rules/{rule.code}" for rule in all_rules()]
    wanted += [f"guidelines/{one.id}" for one in GUIDELINES] + [f"engines/{name}" for name in ENGINES]
    assert [name for name in wanted if not (site / f"{name}.html").is_file()] == []


def test_search_when_the_site_is_opened_from_a_folder_without_a_network(site: Path, browser: Browser) -> None:
    page = browser.new_page()
    requested: list[str] = []
    problems: list[str] = []
    page.on("request", lambda request: requested.append(request.url))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto((site / "rules" / "CAR004.html").as_uri())
    page.keyboard.press("/")
    page.get_by_placeholder("Search").fill("deduplication")
    page.get_by_text("STO006").first.click()
    page.wait_for_url("**/rules/STO006.html*")
    page.close()
    assert [url for url in requested if not url.startswith(("file:", "data:", "blob:", "about:"))] == []
    assert problems == []
