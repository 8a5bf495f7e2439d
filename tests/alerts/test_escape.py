from __future__ import annotations

import html
import re
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from tsaudit.alerts.blocks import clean, code, inert, link, plain, size

HOSTILE = st.lists(
    st.one_of(
        st.sampled_from(
            ["<!channel>", "<!here>", "<@U1>", "<#C1>", "<http://x|y>", "@here", "@everyone", "*b*", "_i_"]
        ),
        st.sampled_from(["~s~", "`c`", "```", "&lt;!channel&gt;", "\u202e", "\u200b", "\n> quote", "https://x.y", "&"]),
        st.text(max_size=20),
        st.characters(),
    ),
    max_size=12,
).map("".join)


def assert_no_markup(text: str) -> None:
    assert "<" not in text
    assert ">" not in text
    assert re.fullmatch(r"(?:[^&]|&amp;|&lt;|&gt;)*", text), "a bare ampersand could start an entity"
    assert not any(unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") for c in text)


@given(HOSTILE, st.integers(2, 60))
def test_plain_is_without_markup_and_within_the_limit(text: str, limit: int) -> None:
    shown = plain(text, limit)
    assert_no_markup(shown)
    assert not any(unicodedata.category(c) == "Cf" for c in shown)
    assert size(shown) <= limit


@given(HOSTILE)
def test_plain_keeps_all_that_is_visible(text: str) -> None:
    assert html.unescape(plain(text, 10_000)) == clean(text)


@given(HOSTILE, st.integers(4, 60))
def test_code_cannot_be_left(text: str, limit: int) -> None:
    shown = code(text, limit)
    assert_no_markup(shown)
    assert shown[0] == shown[-1] == "`"
    assert "`" not in shown[1:-1]
    assert len(shown) > 2, "`` would show two back quotes"
    assert size(shown) <= limit


@given(HOSTILE, st.integers(2, 60))
def test_inert_formats_links_and_calls_nothing(text: str, limit: int) -> None:
    shown = inert(text, limit)
    assert_no_markup(shown)
    assert size(shown) <= limit
    assert not re.search(r"[*~`]|://|:[a-z0-9_+'-]+:", shown)
    assert not re.search(r"@(?=\w)", shown)
    assert not re.search(r"(?<![^\W_])_", shown), "an underscore that could open italics"


@given(HOSTILE)
def test_link_is_one_link_whatever_the_address_holds(text: str) -> None:
    shown = link(f"https://reports.example/{text}", "report")
    assert re.fullmatch(r"<https://[^<>|\s]*\|report>", shown)


def test_names_stay_readable() -> None:
    assert inert("user_id of http_requests", 99) == "user_id of http_requests"
    assert code("a_b*c", 99) == "`a_b*c`"
    assert plain("x < 1 & y", 99) == "x &lt; 1 &amp; y"


def test_bells_are_muffled() -> None:
    assert inert("<!channel> @here", 99) == "&lt;!channel&gt; @\u2060here"
    assert plain("<!channel>", 99) == "&lt;!channel&gt;"


def test_controls_and_bidi_are_removed() -> None:
    assert clean("a\x1b[31m\u202eb\u2066\n\tc\ud800\u2028d") == "a [31mb c d"


def test_an_entity_is_never_cut() -> None:
    assert plain("<<<<", 9) == "&lt;&lt;…"
    assert plain("aaaa", 4) == "aaaa"
    assert plain("aaaaa", 4) == "aaa…"


def test_characters_outside_the_basic_plane_count_twice() -> None:
    assert plain("😀😀😀", 5) == "😀😀…"


def test_an_address_nobody_can_open_is_no_link() -> None:
    assert link("/srv/reports/demo.html", "report") == "report: `/srv/reports/demo.html`"
    assert link("javascript:alert(1)", "report") == "report: `javascript:alert(1)`"
