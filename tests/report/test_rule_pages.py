"""A page for each rule beside the reports: complete, harmless, and written once per version."""

from __future__ import annotations

import re
import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.builders import a_finding, a_profile, a_result, a_rule_result
from tests.report import sample
from tsaudit import report
from tsaudit.config import settings as config
from tsaudit.engines.registry import ENGINES
from tsaudit.model.finding import RULELESS_CODES
from tsaudit.report import html
from tsaudit.report.storage import Folder
from tsaudit.report.untrusted import markdown, markdown_line
from tsaudit.rules import all_rules
from tsaudit.rules.rule_texts import texts_of


def words(html: str) -> list[str]:
    text = re.sub(r"<(style|script)>.*?</\1>", " ", html, flags=re.DOTALL)
    return re.findall(r"\w+", re.sub("<[^>]+>", " ", text).replace("&#39;", "'").replace("&amp;", "&"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pages")
    html.write_rule_pages(Folder(str(path)))
    return path / "rules"


def test_every_code_has_a_page_and_a_line_in_the_list(folder: Path) -> None:
    codes = {rule.code for rule in all_rules()} | set(RULELESS_CODES)
    assert {path.stem for path in folder.glob("[A-Z]*.html")} == codes
    listed = (folder / "index.html").read_text()
    assert [code for code in codes if listed.count(f'href="{code}.html"') != 1] == []


def test_no_word_of_a_rules_text_is_lost(folder: Path) -> None:
    for rule in all_rules():
        shown = words((folder / f"{rule.code}.html").read_text())
        expected = re.findall(r"\w+", rule.doc)
        rest = iter(shown)
        assert [word for word in expected if word not in rest] == [], rule.code


def test_report_leads_to_the_page_of_each_finding(tmp_path: Path) -> None:
    written = Path(sample.write_rich(config.Report(folder=str(tmp_path))).path)
    links = set(re.findall(r'href="(\.\./rules/[^"]+)"', written.read_text()))
    assert {link.removeprefix("../rules/") for link in links} >= {f"{code}.html" for code in sample.the_findings()}
    assert [link for link in links if not (written.parent / link).resolve().is_file()] == []


def test_code_without_a_page_leads_to_the_text_on_the_report(tmp_path: Path) -> None:
    result = a_result(a_rule_result(a_finding(), code="GONE001"))
    written = report.write(result, a_profile(), sample.empty_timeline(), (), config.Report(folder=str(tmp_path)))
    page = Path(written.path).read_text()
    assert 'href="#r-GONE001"' in page
    assert 'id="r-GONE001"' in page
    assert "rules/GONE001" not in page


def count_writes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    original, written = Folder.write, []

    def write(self: Folder, path: str, data: bytes) -> None:
        written.append(path)
        original(self, path, data)

    monkeypatch.setattr(Folder, "write", write)
    return written


def test_pages_are_written_once_per_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = count_writes(monkeypatch)
    html.write_rule_pages(Folder(str(tmp_path)))
    first = len(written)
    assert first == len(all_rules()) + len(RULELESS_CODES) + 2
    html.write_rule_pages(Folder(str(tmp_path)))
    assert len(written) == first
    monkeypatch.setattr(html, "VERSION", "99.0.0")
    html.write_rule_pages(Folder(str(tmp_path)))
    assert len(written) == 2 * first
    assert "tsaudit 99.0.0" in (tmp_path / "rules" / "CAR001.html").read_text()


def test_run_that_was_cut_off_is_made_up_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original = Folder.write

    def write(self: Folder, path: str, data: bytes) -> None:
        if path.endswith("TAG002.html"):
            raise KeyboardInterrupt
        original(self, path, data)

    monkeypatch.setattr(Folder, "write", write)
    with pytest.raises(KeyboardInterrupt):
        html.write_rule_pages(Folder(str(tmp_path)))
    monkeypatch.setattr(Folder, "write", original)
    html.write_rule_pages(Folder(str(tmp_path)))
    assert (tmp_path / "rules" / "TAG002.html").is_file()


def test_audits_at_the_same_time_write_the_same_files(tmp_path: Path, folder: Path) -> None:
    start = threading.Barrier(4)

    def write(_: int) -> None:
        start.wait()
        html.write_rule_pages(Folder(str(tmp_path)))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    found = {path.name: path.read_bytes() for path in (tmp_path / "rules").iterdir()}
    assert found == {path.name: path.read_bytes() for path in folder.iterdir()}


def test_text_is_read_as_people_write_it() -> None:
    text = (
        "First\nline.\n\n## Fix\nDo it:\n- one\n  more\n- two\n\nThen:\n\n    SELECT 1\n\n"
        "```sql\nSELECT 2\n\nFROM x\n```\n1. *This*\n2. **That**"
    )
    code = '<pre tabindex="0" aria-label="Example">'
    assert str(markdown(text)).replace("\n<", "<").replace(">\n", ">") == (
        "<p>First\nline.</p><h2>Fix</h2><p>Do it:</p><ul><li>one\nmore</li><li>two</li></ul><p>Then:</p>"
        f"{code}SELECT 1</pre>{code}SELECT 2\n\nFROM x</pre>"
        "<ol><li><em>This</em></li><li><strong>That</strong></li></ol>"
    )


OPEN = 'rel="noreferrer noopener">'


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("a `b<c` d", "a <code>b&lt;c</code> d"),
        ("<i>a</i> `b`", "&lt;i&gt;a&lt;/i&gt; <code>b</code>"),
        ("see https://x.example/a_(b).", f'see <a href="https://x.example/a_(b)" {OPEN}https://x.example/a_(b)</a>.'),
        ("[a *page*](http://x.example)", f'<a href="http://x.example" {OPEN}a <em>page</em></a>'),
        ("`https://x.example`", "<code>https://x.example</code>"),
        ("javascript:alert(1)", "javascript:alert(1)"),
        ("[a](javascript:alert(1))", "[a](javascript:alert(1))"),
        ("[a](data:text/html,x)", "[a](data:text/html,x)"),
        ("[a](//x.example) [b](b.html)", "[a](//x.example) [b](b.html)"),
        ("//x.example audit.py a@x.example", "//x.example audit.py a@x.example"),
        ("<mailto:a@x.example>", "&lt;mailto:a@x.example&gt;"),
        ("![a](https://x.example/a.png)", f'!<a href="https://x.example/a.png" {OPEN}a</a>'),
        ('https://x.example/"onclick=1', "x.example/</a>&quot;onclick=1"),
        ('[a](https://x.example "evil")', f'<a href="https://x.example" {OPEN}a</a>'),
        ("https://xn--pple-43d.example", ">https://xn--pple-43d.example</a>"),
        ("https://x.example/%E2%80%AEa", ">https://x.example/%E2%80%AEa</a>"),
        ("a&#x202e;b", "a⟨U+202E⟩b"),
        ("`a\u202eb`", "<code>a⟨U+202E⟩b</code>"),
    ],
)
def test_words_become_code_emphasis_and_web_links_and_nothing_else(text: str, html: str) -> None:
    assert html in str(markdown_line(text))


@example("[a]() and [b](https://x)")
@given(st.text(alphabet="ab `<>&\"'#-*_[]()!\\1.\n\u202e:/htps.;x02e~|=", max_size=80))
def test_no_text_becomes_markup_of_its_own(text: str) -> None:
    shown = str(markdown(text))
    words = {"h2", "p", "pre", "code", "ul", "ol", "li", "em", "strong", "a", "blockquote", "hr", "br"}
    tags = re.findall(r"</?([a-z0-9]+)((?: [^>]*)?)>", shown)
    assert shown.count("<") == len(tags)
    assert {tag for tag, _ in tags} <= words
    attributes = (
        r'(?: (?:href="https?://[^"]*"|rel="noreferrer noopener"|start="\d+"|tabindex="0"|aria-label="Example"))*'
    )
    assert [given for _, given in tags if not re.fullmatch(attributes, given, re.IGNORECASE)] == []
    assert "\u202e" not in shown


@given(st.text(max_size=200))
def test_any_text_makes_a_page(text: str) -> None:
    assert "\u202e" not in markdown(text) + markdown_line(text)


def test_rules_of_other_packages_have_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (own,) = [rule for rule in all_rules() if rule.code == "CAR001"]
    from dataclasses import replace

    other: Any = replace(own, code="ACME001", name="theirs", title="<b>Theirs</b>", package="acme 1.0", guidelines=())
    monkeypatch.setattr(html, "rule_texts", lambda: texts_of((own, other)))
    html.write_rule_pages(Folder(str(tmp_path)))
    page = (tmp_path / "rules" / "ACME001.html").read_text()
    assert "<b>Theirs" not in page
    assert "from acme 1.0" in page
    assert html.rule_address("ACME001") == "../rules/ACME001.html"


def test_report_loads_the_rules_of_no_other_engine(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "shop.db")) as database:
        database.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, paid TEXT)")
    (tmp_path / "tsaudit.yaml").write_text("targets: [{name: shop, engine: sqlite, url: 'sqlite:///shop.db'}]\n")
    program = "import sys, tsaudit; tsaudit.run_audit(tsaudit.load_settings('tsaudit.yaml')); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True
    )
    assert (tmp_path / ".tsaudit/reports/rules/CAR001.html").is_file()
    engines = {name.split(".")[2] for name in done.stdout.split() if name.startswith("tsaudit.engines.")}
    assert engines & set(ENGINES) == {"sqlite"}
