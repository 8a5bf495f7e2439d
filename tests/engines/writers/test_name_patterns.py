"""Patterns of names: they match what is meant, and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tsaudit.engines.writers.name_patterns import NamePattern, name_patterns

_NAMES = st.sets(st.text("ab.", min_size=1, max_size=6), min_size=1, max_size=12)


@settings(deadline=None, max_examples=examples(200))
@given(_NAMES, _NAMES, st.integers(1, 8))
def test_they_match_all_of_the_names_and_none_of_the_others(names: set[str], others: set[str], most: int) -> None:
    others -= names
    found = name_patterns(names, others, most)
    assert len(found) <= most
    assert all(one.begins or one.ends for one in found)
    if found:
        assert all(any(one.fits(name) for one in found) for name in names)
    assert not any(one.fits(name) for one in found for name in others)


@pytest.mark.parametrize(
    ("others", "most", "patterns"),
    [
        (["a.1.b"], 2, ["a.*.h", "a.*.t"]),
        (["a.1.b"], 1, []),
        (["a.3.t"], 3, ["a.1.*", "a.2.*"]),
        (["a.1.tt", "a.2.hh"], 8, ["a.*.h", "a.*.t"]),
        ([], 1, ["a.*"]),
    ],
)
def test_parts_of_names(others: list[str], most: int, patterns: list[str]) -> None:
    found = name_patterns(["a.1.t", "a.2.t", "a.1.h", "a.2.h"], others, most)
    assert ["*".join(one.parts) for one in found] == patterns


def test_names_that_have_no_part_in_common_are_patterns() -> None:
    names = ["cpu", "mem", "disk_c", "net_a", "net_b"]
    assert ["*".join(one.parts) for one in name_patterns(names, ["gateway"], 4)] == ["cpu", "disk_c", "mem", "net_*"]
    assert name_patterns(names, ["gateway"], 3) == []
    assert not NamePattern("cpu", None).fits("cpu_a")


def test_a_beginning_and_an_end_do_not_overlap() -> None:
    assert not NamePattern("a.b", "b.c").fits("a.b.c")
    assert NamePattern("a.", ".c").fits("a..c")
