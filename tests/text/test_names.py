"""Lists of words, and suggestions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tsaudit.text import listed, near_rule


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


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("TAG1", ", did you mean TAG001?"),
        ("tag", ", did you mean TAG001 or TAG002?"),
        ("unbounded_tags", ", did you mean unbounded-tag?"),
        ("frobnicate", "; `tsaudit rules` lists them"),
        ("", "; `tsaudit rules` lists them"),
    ],
)
def test_near_rule(word: str, expected: str) -> None:
    assert near_rule(word, {"TAG001": "conflicting-tag", "TAG002": "unbounded-tag"}) == expected
