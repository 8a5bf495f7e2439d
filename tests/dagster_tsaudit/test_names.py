"""Names that Dagster accepts."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dagster_tsaudit.plan import encode

NAMES = st.text(st.sampled_from("ab_.-/ é") | st.characters(), min_size=1, max_size=12)


@given(NAMES, NAMES)
@settings(deadline=None)
def test_different_names_stay_different_and_are_what_dagster_takes(one: str, other: str) -> None:
    assume(one != other)
    assert encode(one) != encode(other)
    assert re.fullmatch(r"[A-Za-z0-9_]+", encode(one))


@given(NAMES)
@settings(deadline=None)
def test_an_encoded_name_is_never_the_result_of_a_plain_one(name: str) -> None:
    assume(encode(name) != name)
    assert encode(encode(name)) != encode(name)


@pytest.mark.parametrize("name", ["demo", "http_requests", "A1", "__x123"])
def test_a_name_of_letters_digits_and_underscores_stays_as_it_is(name: str) -> None:
    assert encode(name) == name


def test_names_that_dagster_itself_would_confuse_are_told_apart() -> None:
    assert len({encode(name) for name in ("a.b", "a_b", "a-b", "a b")}) == 4
