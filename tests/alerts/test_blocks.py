"""Which of the groups of blocks fit into a message: all that do, and not one that does not.

No text in them does harm.
"""

from __future__ import annotations

import html
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tsaudit.alerts.blocks import Block, clean, code, fitting, inert, link, markup, plain, size


def group(*lengths: int) -> list[Block]:
    """A block of so many characters for each length."""
    return [markup("x" * length) for length in lengths]


GROUPS = [group(10, 5), group(7), group(20, 1, 1)]


@pytest.mark.parametrize(
    ("blocks", "characters", "fit"),
    [
        (6, 44, 3),
        (5, 44, 2),  # a block too many
        (6, 43, 2),  # a character too many
        (3, 22, 2),
        (2, 22, 1),
        (3, 21, 1),
        (1, 44, 0),
        (6, 14, 0),
        (0, 0, 0),
    ],
)
def test_groups_fit_up_to_both_limits(blocks: int, characters: int, fit: int) -> None:
    assert fitting(GROUPS, blocks, characters) == GROUPS[:fit]


@given(
    st.lists(st.lists(st.integers(1, 9), min_size=1, max_size=3), max_size=6), st.integers(0, 12), st.integers(0, 60)
)
def test_the_longest_start_that_fits_is_taken(lengths: list[list[int]], blocks: int, characters: int) -> None:
    """Nothing is passed over for what comes after it: the first are the most important."""
    groups = [group(*some) for some in lengths]
    fits = [
        n
        for n in range(len(groups) + 1)
        if sum(map(len, lengths[:n])) <= blocks and sum(map(sum, lengths[:n])) <= characters
    ]
    assert fitting(groups, blocks, characters) == groups[: max(fits)]


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
