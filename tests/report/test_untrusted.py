"""Foreign text: nothing invisible, nothing endless, nothing secret."""

from __future__ import annotations

import re
import unicodedata
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tsaudit.report import untrusted


@given(st.text(st.characters(), max_size=30))
@settings(deadline=None, max_examples=examples(150))
def test_line_holds_no_character_that_cannot_be_seen(text: str) -> None:
    shown = untrusted.line(text)
    assert {unicodedata.category(c) for c in shown}.isdisjoint({"Cc", "Cs", "Zl", "Zp"})
    assert not set(shown) & set("\u200b\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff\xad")
    shown.encode()


def test_line_spells_out_what_it_takes_away() -> None:
    assert untrusted.line("a\u202eb\n\x07") == "a⟨U+202E⟩b⟨U+000A⟩⟨U+0007⟩"
    assert untrusted.line("héllo Ärger 日本") == "héllo Ärger 日本"


def test_block_keeps_line_ends_and_tabs() -> None:
    assert untrusted.block("a\r\n\tb\x00") == "a\n\tb⟨U+0000⟩"


def test_cut_leaves_out_the_middle_and_says_how_much() -> None:
    assert untrusted.cut("x" * 160) == "x" * 160
    shown = untrusted.cut("a" + "x" * 1_000_000 + "z")
    assert len(shown) < 200
    assert shown.startswith("ax")
    assert shown.endswith("xz")
    assert "999,862 characters" in shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("SELECT 1", "SELECT 1"),
        ("WITH a AS (\n  SELECT relnatts\n)\nSELECT 1", "WITH a AS (\n… and 29 more characters"),
        ("WITH a AS (\n)\nSELECT relnatts FROM a", "WITH a AS (\n)\n… and 23 more characters"),
        ("SELECT relnatts FROM pg_class", "SELECT relnatts\n… and 14 more characters"),
        ("x" * 30, "x" * 20 + "\n… and 10 more characters"),
    ],
)
def test_beginning_ends_with_a_line_or_a_word(text: str, shown: str) -> None:
    assert untrusted.beginning(text, 20) == shown


def test_with_code_escapes_before_it_marks_up() -> None:
    assert untrusted.with_code("see `<b>` & <i>") == "see <code>&lt;b&gt;</code> &amp; &lt;i&gt;"


@pytest.mark.parametrize("full", [True, False])
def test_shown_values_are_redacted_unless_full(full: bool) -> None:
    values = ("person@example.com", "0190c2d5-4a3b-7e1f-9c0d-2b6f7a8e9d10", "c", "d")
    shown = untrusted.shown(values, full=full)
    assert len(shown) == 3
    assert (values[0] in shown) is full
    assert (values[1] in shown) is full


@pytest.mark.parametrize(
    ("statement", "shown"),
    [
        ("WHERE (\"user\"::tag = 'ada@example.com' OR \"user\"::tag = 'o\\'brien@x.org')", "'adx@xxxxxxx.xxx'"),
        ("WHERE place = 'hall' AND id = 'it''s 4711'", "place = 'hall' AND id = 'it''x 0000'"),
        ("WHERE time >= '2026-11-29T00:00:00Z' AND note = ''", None),
    ],
)
def test_statements_show_no_value_that_they_ask_for(statement: str, shown: str | None) -> None:
    found = untrusted.without_values(statement)
    assert (found == statement) if shown is None else (shown in found)
    assert not re.search("ada@|brien|4711", found)


def test_squeezed_keeps_both_ends() -> None:
    assert untrusted.squeezed("measurement_00019", 17) == "measurement_00019"
    assert untrusted.squeezed("measurement_00019", 11) == "measu…00019"
    assert all(len(untrusted.squeezed("x" * 99, longest)) == longest for longest in range(2, 99))


def test_threads_that_render_at_the_same_time_share_no_state() -> None:
    """The search for links keeps the text that it is in: two audits in parallel lost their reports by it."""
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(untrusted._parser).result().linkify is not untrusted._parser().linkify
    assert untrusted._parser() is untrusted._parser()


def test_dates_and_shares_are_not_broken() -> None:
    assert untrusted.unbroken("> 99.9% since 2026-03-01, a < b") == (
        '<span class="day">&gt; 99.9%</span> since <span class="day">2026-03-01</span>, a &lt; b'
    )
