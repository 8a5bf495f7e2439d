"""The pages in a real browser: nothing is loaded, nothing is blocked, and everybody can read them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from tests.report import sample
from tsaudit.model.finding import fingerprint

pytestmark = pytest.mark.ui

PAGES = (f"{sample.TARGET}/latest.html", "lost/latest.html", "fine/latest.html", "index.html")


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    opened = browser.new_page(viewport={"width": 1280, "height": 900})
    yield opened
    opened.close()


@pytest.mark.parametrize("name", PAGES)
def test_page_when_opened_requests_only_itself_and_breaks_no_policy(page: Page, reports: Path, name: str) -> None:
    requested: list[str] = []
    complaints: list[str] = []
    page.on("request", lambda request: requested.append(request.url))
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: complaints.append(f"dialog {dialog.message}"))
    address = (reports / name).as_uri()
    page.goto(address)
    page.emulate_media(media="print")
    assert [url for url in requested if not url.startswith("data:")] == [address]
    assert complaints == []


def test_policy_when_markup_is_slipped_in_stops_it(page: Page, reports: Path) -> None:
    page.goto((reports / PAGES[0]).as_uri())
    ran = page.evaluate(
        """() => {
          document.body.insertAdjacentHTML('beforeend', '<img src=x onerror="window.hit=1"><p style="color:red" id=s>');
          const script = document.createElement('script');
          script.textContent = 'window.hit = 1';
          document.body.append(script);
          return [window.hit === 1, getComputedStyle(document.getElementById('s')).color === 'rgb(255, 0, 0)'];
        }"""
    )
    assert ran == [False, False]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_page_has_no_accessibility_violation(browser: Browser, reports: Path, name: str, scheme: str) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 900}, color_scheme=scheme)
    page.goto((reports / name).as_uri())
    page.evaluate("for (const d of document.querySelectorAll('details')) d.open = true")
    results = Axe().run(page)
    page.close()
    found = [(v["id"], [node["html"][:160] for node in v["nodes"][:3]]) for v in results.response["violations"]]
    assert found == []
    assert len(results.response["passes"]) > 10


def test_page_on_a_narrow_screen_never_scrolls_sideways(browser: Browser, reports: Path) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 900})
    for name in PAGES:
        page.goto((reports / name).as_uri())
        page.evaluate("for (const d of document.querySelectorAll('details')) d.open = true")
        assert page.evaluate("document.documentElement.scrollWidth") == 390, name
    page.close()


def test_page_without_javascript_shows_every_finding(browser: Browser, reports: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((reports / PAGES[0]).as_uri())
    for code, finding in sample.the_findings().items():
        article = page.locator(f"[id='f-{fingerprint(sample.TARGET, code, finding.subject)}']")
        assert article.count() == 1
        # Notes and what is accepted are folded: a click, no script, opens them.
        assert article.is_visible() or page.locator("details.settled, details.notes", has=article).is_visible()
    assert not page.locator("form.filter").is_visible()
    context.close()


def test_filter_when_typed_into_hides_the_others(page: Page, reports: Path) -> None:
    page.goto((reports / PAGES[0]).as_uri())
    findings = page.locator("#findings article:visible")
    assert findings.count() == 3
    page.locator("details.notes summary").first.click()
    assert findings.count() == 4
    page.get_by_role("searchbox").fill("request_id too many")
    assert findings.count() == 1
    assert page.locator("#filter-count").inner_text() == "1 of 4 shown"
    page.get_by_role("searchbox").fill("")
    page.get_by_label("Warning").uncheck()
    assert findings.count() == 2


def test_table_when_its_heading_is_clicked_is_sorted(page: Page, reports: Path) -> None:
    page.goto((reports / PAGES[0]).as_uri())
    heading = page.locator("#tables table.sortable th", has_text="Rows").first
    heading.get_by_role("button").click()
    assert heading.get_attribute("aria-sort") == "descending"
    first = page.locator("#tables table.sortable tbody tr").first
    assert "http_requests" in first.inner_text()
    heading.get_by_role("button").press("Enter")
    assert heading.get_attribute("aria-sort") == "ascending"
    assert "1,200" in first.inner_text()


def test_link_into_a_closed_fold_opens_it(page: Page, reports: Path) -> None:
    accepted = sample.the_findings()["NAM001"]
    mark = fingerprint(sample.TARGET, "NAM001", accepted.subject)
    page.goto((reports / PAGES[0]).as_uri() + f"#f-{mark}")
    assert page.locator(f"#f-{mark}").is_visible()


def test_skip_link_when_used_leads_to_the_content(page: Page, reports: Path) -> None:
    page.goto((reports / PAGES[0]).as_uri())
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
