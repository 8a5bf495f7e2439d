"""The pages in a real browser: nothing is loaded, nothing is blocked, and everybody can read them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page, expect

from tests.builders import a_finding, a_result, a_rule_result
from tests.report import sample
from tests.report.test_index import an_entry
from tsaudit.model.figures import Subject
from tsaudit.model.finding import Verdict, fingerprint
from tsaudit.model.jsonfile import to_json
from tsaudit.report import findings, html, index

pytestmark = pytest.mark.ui

PAGES = (
    f"{sample.TARGET}/latest.html",
    "lost/latest.html",
    "fine/latest.html",
    "eight.html",
    "index.html",
    "rules/CAR001.html",
    "rules/index.html",
)


CARD = fingerprint(sample.TARGET, "CAR001", sample.HTTP)
NO_TIMERS = "window.setTimeout = () => 0;"
"""What a button shows for two seconds stays, however busy the machine is."""


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


_BROKEN_DAYS = """() => {
  const texts = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT), broken = [];
  while (texts.nextNode()) {
    const node = texts.currentNode;
    if (node.parentElement.closest("pre")) continue;
    for (const day of node.data.matchAll(/(?<![\\w-])\\d{4}-\\d\\d-\\d\\d(?![\\w-])/g)) {
      const range = document.createRange();
      range.setStart(node, day.index);
      range.setEnd(node, day.index + day[0].length);
      if (new Set([...range.getClientRects()].map((r) => r.top)).size > 1) broken.push(node.data);
    }
  }
  return broken;
}"""
"""Texts with a date that goes over two lines."""


def test_page_on_a_narrow_screen_never_scrolls_sideways(browser: Browser, reports: Path) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 900})
    for name in PAGES:
        page.goto((reports / name).as_uri())
        page.evaluate("for (const d of document.querySelectorAll('details')) d.open = true")
        assert page.evaluate("document.documentElement.scrollWidth") == 390, name
        assert page.evaluate(_BROKEN_DAYS) == [], name
        menu = page.locator("nav ol")
        if menu.count():
            assert menu.evaluate("menu => menu.scrollWidth <= menu.clientWidth"), name
    page.close()


_ROWS_OF_FOUR = """() => {
  const figure = document.querySelector(".verdict .pairs > :not(.said)"), four = [figure];
  figure.querySelector("dd").textContent = "words ".repeat(9);
  while (four.length < 4) figure.after(four[four.push(figure.cloneNode(true)) - 1]);
  return new Set(four.map((one) => one.getBoundingClientRect().top)).size;
}"""
"""In how many rows four figures are."""


@pytest.mark.parametrize("width", [390, 970, 1200])
def test_sentence_beside_figures_has_a_line_of_its_own(browser: Browser, width: int) -> None:
    page = browser.new_page(viewport={"width": width, "height": 900})
    said = {"severity_reason": "queries return wrong or incomplete answers", "consequence": "It goes on " * 9}
    impact = a_finding(since=date(2026, 1, 1), **said)
    page.set_content(html.page(sample.the_contents(result=a_result(a_rule_result(impact)))))
    boxes = [one.bounding_box() or {} for one in page.locator(".verdict .pairs > div").all()]
    rows = page.evaluate(_ROWS_OF_FOUR)
    page.close()
    assert rows == (1 if width > 400 else 2)
    why, consequence, began = boxes
    assert min(why["width"], consequence["width"]) > 300
    assert began["y"] < why["y"] < consequence["y"]


def test_page_without_javascript_shows_every_finding(browser: Browser, reports: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((reports / PAGES[0]).as_uri())
    for code, finding in sample.the_findings().items():
        mark = fingerprint(sample.TARGET, code, finding.subject)
        assert page.locator(f"#f-{mark}").count() == 1
        # Its headline is visible, or is in a fold that a click, no script, opens.
        title = page.locator(f"#t-f-{mark}")
        assert title.is_visible() or page.locator("details.notes > summary, #h-muted").first.is_visible()
    assert not page.locator("form.filter").is_visible()
    page.get_by_role("link", name="The finding").click()
    assert page.locator(f"#f-{CARD}").is_visible()
    context.close()


def open_card(page: Page) -> Locator:
    """The worst finding, opened."""
    card = page.locator("article", has=page.locator(f"#f-{CARD}"))
    card.locator("summary").first.click()
    return card


def test_filter_when_typed_into_hides_the_others(page: Page, reports: Path) -> None:
    page.goto((reports / PAGES[0]).as_uri())
    findings = page.locator("#findings article:visible")
    assert findings.count() == 3
    page.locator("details.notes summary").first.click()
    assert findings.count() == 4
    page.get_by_role("searchbox").fill("request_id too many")
    assert findings.count() == 1
    assert page.locator("#findings output").inner_text() == "1 of 4 shown"
    page.get_by_role("searchbox").fill("")
    page.get_by_label("Warning").uncheck()
    assert findings.count() == 2


def test_table_when_its_heading_is_clicked_is_sorted(page: Page, reports: Path) -> None:
    page.goto((reports / PAGES[0]).as_uri() + "#tables")
    heading = page.locator("#tables table.sortable th", has_text="Rows").first
    heading.get_by_role("button").click()
    assert heading.get_attribute("aria-sort") == "descending"
    first = page.locator("#tables table.sortable tbody tr").first
    assert "http_requests" in first.inner_text()
    heading.get_by_role("button").press("Enter")
    assert heading.get_attribute("aria-sort") == "ascending"
    assert "1,200" in first.inner_text()


def test_link_into_a_closed_fold_opens_it(page: Page, reports: Path) -> None:
    muted = sample.the_findings()["NAM001"]
    mark = fingerprint(sample.TARGET, "NAM001", muted.subject)
    page.goto((reports / PAGES[0]).as_uri() + f"#f-{mark}")
    assert page.locator(f"#f-{mark}").is_visible()


@pytest.fixture
def eight(reports: Path) -> str:
    """The address of a page of six tables, eight findings, and four plans."""
    return (reports / "eight.html").as_uri()


@pytest.mark.parametrize(("width", "most"), [(1200, 4_000), (390, 7_000)])
def test_page_of_eight_findings_is_short_and_each_takes_one_screen(
    browser: Browser, eight: str, width: int, most: int
) -> None:
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.goto(eight)
    assert page.locator("article.finding").count() == 8
    assert page.evaluate("document.documentElement.scrollHeight") < most
    page.evaluate("for (const d of document.querySelectorAll('article > details, details.notes')) d.open = true")
    cards = page.locator("article.finding").evaluate_all("all => all.map(a => a.getBoundingClientRect().height)")
    # A phone's screen is narrow: the same takes up to one and a half.
    assert max(cards) < (900 if width > 390 else 1_350)
    page.evaluate("for (const d of document.querySelectorAll('details')) d.open = true")
    assert page.evaluate(_BROKEN_DAYS) == []
    page.close()


def test_everything_folded_is_printed(browser: Browser, eight: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(eight)
    folds = "[...document.querySelectorAll('article.finding .inside, #tables table, ol.steps, #definitions')]"
    is_shown = "one => one.checkVisibility({contentVisibilityAuto: true})"
    assert not page.evaluate(f"{folds}.some({is_shown})")
    page.emulate_media(media="print")
    # The browser lays the page out again, some time later.
    page.wait_for_function(f"{folds}.length > 20 && {folds}.every({is_shown})")
    context.close()


def test_link_to_a_plan_opens_its_finding_and_the_plan(page: Page, eight: str) -> None:
    page.goto(eight)
    page.get_by_role("link", name="The plan: 5 steps").first.click()
    plan = page.locator("article .steps:visible")
    assert plan.count() == 1
    assert plan.locator("li").count() == 5


def test_finding_is_opened_and_closed_with_the_keyboard(page: Page, eight: str) -> None:
    page.goto(eight)
    first = page.locator("article.finding").first
    first.locator("summary").first.focus()
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
    page.keyboard.press("Enter")
    assert first.locator(".inside").is_visible()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('article.finding .inside') !== null")
    first.locator("summary").first.press("Enter")
    assert not first.locator(".inside").is_visible()


def test_link_to_what_has_no_room_leads_to_the_remark(page: Page, tmp_path: Path) -> None:
    found = (a_finding(Subject("main", f"m{n:03}"), fix="x" * 1_400) for n in range(400))
    contents = sample.the_contents(result=a_result(a_rule_result(*found)), profile=None, incidents=())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(findings, "ROOM_BYTES", 10_000)
        (tmp_path / "page.html").write_text(html.page(contents))
    page.goto((tmp_path / "page.html").as_uri() + "#f-0123456789abcdef")
    remark = page.locator("#left-out")
    assert "have no room here" in remark.inner_text()
    expect(remark).to_be_in_viewport()


def test_skip_link_when_used_leads_to_the_content(page: Page, reports: Path) -> None:
    page.goto((reports / PAGES[0]).as_uri())
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


@pytest.fixture
def many_targets(tmp_path: Path) -> str:
    """The address of an index with targets of two engines and three owners; those without room for a row are named."""
    entries = [
        an_entry(f"t{n}", engine=engine, owners=owners, verdict=verdict, headline=f"Table {engine} {n} is too wide")
        for n, (engine, owners, verdict) in enumerate(
            [
                ("duckdb", ("iot", "web"), Verdict.CRITICAL),
                ("duckdb", ("web",), Verdict.WARNING),
                ("sqlite", ("iot",), Verdict.WARNING),
                ("sqlite", (), Verdict.OK),
            ]
        )
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index, "LEAST_ROWS", 2)
        patch.setattr(index, "ROOM_BYTES", 3_500)
        page = index.page(*index.listed({f"{e.target}.json": to_json(e) for e in entries}))
    (tmp_path / "index.html").write_text(page)
    return (tmp_path / "index.html").as_uri()


def test_index_is_filtered_by_owner_engine_verdict_and_text(page: Page, many_targets: str) -> None:
    page.goto(many_targets)

    def shown() -> list[str]:
        return page.locator("main a:visible").all_inner_texts()

    assert page.locator("table.targets tbody tr").count() == 2
    assert shown() == ["t0", "t1", "t2", "t3"]
    page.get_by_label("Owner").select_option("iot")
    assert shown() == ["t0", "t2"]
    page.get_by_label("Engine").select_option("sqlite")
    assert shown() == ["t2"]
    assert page.locator("form output").inner_text() == "1 of 4 shown"
    page.get_by_label("Owner").select_option("")
    page.get_by_label("Warning").uncheck()
    assert shown() == ["t3"]
    page.get_by_label("Warning").check()
    page.get_by_label("Engine").select_option("")
    page.get_by_role("searchbox").fill("duckdb wide")
    assert shown() == ["t0", "t1"]
    page.get_by_role("searchbox").fill("sqlite")
    assert shown() == ["t2", "t3"]


def test_index_on_a_phone_shows_what_is_wrong_in_full(browser: Browser, reports: Path) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 900})
    page.goto((reports / "index.html").as_uri())
    for cell in page.locator("td.what").all():
        box = cell.bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
        assert box["width"] > 300
    page.close()


def test_index_without_javascript_shows_every_target(browser: Browser, many_targets: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(many_targets)
    assert page.locator("main a:visible").all_inner_texts() == ["t0", "t1", "t2", "t3"]
    assert not page.locator("form.filter").is_visible()
    context.close()


def test_copy_button_copies_exactly_the_statement(browser: Browser, reports: Path) -> None:
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.add_init_script(NO_TIMERS)
    page.goto((reports / PAGES[0]).as_uri())
    card = open_card(page)
    card.locator("summary", has_text="Acknowledge or mute").click()
    card.get_by_role("button", name="Copy: Mute for a week").click()
    expect(card.get_by_role("button", name="Copy: Mute for a week")).to_have_text("Copied")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == f"tsaudit mute {CARD[:8]} --for 1w --reason 'planned for later'"
    context.close()


def test_copy_button_without_a_clipboard_selects_the_statement(page: Page, reports: Path) -> None:
    page.add_init_script(NO_TIMERS)
    page.add_init_script(
        "Object.defineProperty(navigator, 'clipboard', {value: undefined}); document.execCommand = () => false;"
    )
    page.goto((reports / PAGES[0]).as_uri())
    card = open_card(page)
    card.locator("summary", has_text="Acknowledge or mute").click()
    button = card.get_by_role("button", name="Copy: Mute for a week")
    button.click()
    expect(button).to_have_text("Selected")
    assert page.evaluate("getSelection().toString()").startswith(f"tsaudit mute {CARD[:8]} --for 1w")


def test_paper_shows_no_button_that_nobody_can_press(page: Page, reports: Path) -> None:
    page.goto((reports / PAGES[0]).as_uri())
    buttons, shown = page.locator(".copyable button"), "all => all.map(b => getComputedStyle(b).display !== 'none')"
    assert any(buttons.evaluate_all(shown))
    page.emulate_media(media="print")
    assert not any(buttons.evaluate_all(shown))


def test_statement_without_javascript_is_selected_whole_by_one_click(browser: Browser, reports: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((reports / PAGES[0]).as_uri())
    card = open_card(page)
    card.locator("summary", has_text="Acknowledge or mute").click()
    assert card.get_by_role("button").count() == 0
    statement = card.locator(".copyable pre").first
    assert statement.evaluate("element => getComputedStyle(element).userSelect") == "all"
    context.close()
