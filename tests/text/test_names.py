"""Lists of words."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tsaudit.text import listed


def test_listed_when_short_or_long() -> None:
    assert listed([]) == "none"
    assert listed(["a"]) == "a"
    assert listed(["a", "b"]) == "a and b"
    assert listed(["a", "b", "c"]) == "a, b, and c"
    assert listed(["a", "b", "c", "d"], most=3) == "a, b, and 2 more"
    assert listed(["a", "b"], last="or") == "a or b"
    assert listed(["a", "b", "c"], last="or") == "a, b, or c"


@given(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=40), st.integers(2, 12))
def test_listed_names_or_counts_every_word(words: list[str], most: int) -> None:
    text = listed(words, most)
    parts = text.replace(", and ", ", ").replace(" and ", ", ").split(", ")
    rest = int(parts.pop().removesuffix(" more")) if text.endswith(" more") else 0
    named = len(parts)
    assert named + rest == len(words)
    assert named <= most
