"""Whom to blame for the series, and by how much."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tests.builders import a_source
from tsaudit.analysis.cardinality import TagSetCounter
from tsaudit.analysis.contributions import guilty_tag, left_ratio, share_of, share_of_tag
from tsaudit.profile import TagSets


def listed(**tags: list[str]) -> TagSets:
    counter = TagSetCounter(list(tags))
    counter.add(pa.record_batch(tags))
    return counter.tag_sets(a_source())


def test_the_tag_without_which_fewest_series_are_left_is_guilty() -> None:
    sets = listed(host=["a", "a", "b", "b"], request=["1", "2", "3", "4"])
    found = guilty_tag(sets)
    assert found is not None
    assert (found.tag, found.series_left) == ("request", 2)
    assert (left_ratio(found, sets), share_of(found, sets)) == (0.5, 0.5)


def test_a_tag_that_another_determines_is_blamed_with_it() -> None:
    sets = listed(host=["a", "b", "c", "d"], region=["x", "x", "y", "y"])
    assert share_of_tag("host", sets) == 0.5
    assert share_of_tag("region", sets) == 0.75


@pytest.mark.parametrize("tags", [{"host": ["a"]}, {"host": ["a", "a"], "region": ["x", "x"]}])
def test_nobody_is_guilty_of_one_series(tags: dict[str, list[str]]) -> None:
    assert guilty_tag(listed(**tags)) is None


def test_nothing_is_known_of_a_tag_that_was_not_listed() -> None:
    assert share_of_tag("host", None) is None
    assert share_of_tag("host", listed(region=["x"])) is None
