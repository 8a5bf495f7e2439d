"""Which tags the series come from, and how many."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tests.builders import a_measurement, a_source, a_tag
from tsaudit.analysis.cardinality.contributions import (
    left_ratio,
    made_fields,
    main_contribution,
    share_of,
    share_of_tags,
)
from tsaudit.analysis.cardinality.tag_sets import TagSetCounter
from tsaudit.model.columns import Reports, TagSets
from tsaudit.model.rows import RowsApart, SetApart


def listed(**tags: list[str]) -> TagSets:
    counter = TagSetCounter(list(tags))
    counter.add(pa.record_batch(tags))
    return counter.tag_sets(a_source())


def test_main_contributor_is_the_tag_without_which_fewest_series_are_left() -> None:
    sets = listed(host=["a", "a", "b", "b"], request=["1", "2", "3", "4"])
    found = main_contribution(sets)
    assert found is not None
    assert (found.tag, found.series_left) == ("request", 2)
    assert (left_ratio(found, sets), share_of(found, sets)) == (0.5, 0.5)


def test_a_tag_that_another_determines_is_blamed_with_it() -> None:
    sets = listed(host=["a", "b", "c", "d"], region=["x", "x", "y", "y"])
    assert share_of_tags(["host"], sets) == 0.5
    assert share_of_tags(["region"], sets) == 0.75


@pytest.mark.parametrize("tags", [{"host": ["a"]}, {"host": ["a", "a"], "region": ["x", "x"]}])
def test_no_tag_is_the_main_contributor_of_one_series(tags: dict[str, list[str]]) -> None:
    assert main_contribution(listed(**tags)) is None


def test_nothing_is_known_of_a_tag_that_was_not_listed() -> None:
    assert share_of_tags(["host"], None) is None
    # Any two of them tell all series apart: the third one's share is none, which says nothing about it.
    three = listed(a=["x", "x", "y", "y"], b=["p", "q", "p", "q"], c=["1", "2", "2", "1"])
    assert {share_of_tags([tag], three) for tag in "abc"} == {None}
    assert share_of_tags(["host"], listed(region=["x"])) is None


def test_of_a_pair_that_says_the_same_one_is_blamed_rather_than_a_small_tag() -> None:
    """250 machines by name and by address, 4 cores each: the machines make the series."""
    machines = [i // 4 for i in range(1000)]
    sets = listed(
        core=[str(i % 4) for i in range(1000)],
        host=[f"h{i}" for i in machines],
        ip=[f"10.0.0.{i}" for i in machines],
    )
    found = main_contribution(sets)
    assert found is not None
    assert ({found.tag, *found.together_with}, found.series_left) == ({"host", "ip"}, 4)


@pytest.mark.parametrize(
    ("tags", "main_contributor"),
    [
        # The host determines the region: without the region as many are left, without the host two.
        ({"host": ["a", "b", "c", "d"], "region": ["x", "x", "y", "y"]}, "host"),
        # Each determines the other: there is nothing but to drop both.
        ({"host": ["a", "b"], "ip": ["1", "2"]}, "host"),
        # One value adds no series, and is not to blame.
        ({"env": ["prod"] * 3, "host": ["a", "b", "c"]}, "host"),
    ],
)
def test_main_contributor_of_few_series(tags: dict[str, list[str]], main_contributor: str) -> None:
    found = main_contribution(listed(**tags))
    assert found is not None
    assert found.tag == main_contributor


def test_two_tags_are_to_blame_together_where_any_two_tell_the_series_apart() -> None:
    """Dropping one of them saves nothing, so none is to blame alone."""
    grid = [(i // 20, i % 20) for i in range(400)]
    sets = listed(a=[f"a{a}" for a, _ in grid], b=[f"b{b}" for _, b in grid], c=[f"c{(a + b) % 20}" for a, b in grid])
    found = main_contribution(sets)
    assert found is not None
    assert (len(found.tags), found.series_left) == (2, 20)


def test_a_tag_that_saves_nothing_alone_stays_if_the_one_it_needs_has_to() -> None:
    """Each allocation has an ID, by which points at the same time are told apart. That of a service shares its job with
    two others; that of a dispatch has a job of its own.
    """
    services = [(f"{i * 7919:08x}", f"service-{i // 3}") for i in range(60)]
    runs = [*services, *((f"{i * 7919:08x}", f"render/{i}") for i in range(60, 1_000))]
    hosts = [f"h{i % 7}" for i in range(1_000)]
    sets = listed(run=[run for run, _ in runs], job=[job for _, job in runs], host=hosts)
    seen = Reports(3.0, 3.0, 0.0)
    tags = (a_tag("run", 1_000, reports=seen), a_tag("job", 960, reports=seen), a_tag("host", 7))
    apart = RowsApart(1_000, (SetApart(("run",), 400),), complete=True, source=a_source())
    measurement = a_measurement("runs", 1_000, tags=tags, tag_sets=sets, rows_apart=apart)
    for keeps_rows, expected in ((False, []), (True, ["job", "run"])):
        made = made_fields(measurement, "job", keeps_rows=keeps_rows)
        assert sorted(change.tag for change in made) == expected
