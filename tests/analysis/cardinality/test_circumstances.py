"""Shares that are net of what left, and causes beside new values: on listings of a few days."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

from tests.analysis.cardinality.test_arrivals import TagSet, after, hosts, on
from tests.builders import a_count
from tsaudit.analysis.cardinality.attribution import (
    Attribution,
    KeptLonger,
    KeyChange,
    Parent,
    Past,
    attribute,
    combined_tags,
    kept_longer,
    key_change,
    parent_of,
    shares_of_logarithms,
)
from tsaudit.model.profile import Measurement


def counted(days: Iterable[Sequence[TagSet]]) -> tuple[Measurement, Past]:
    """The measurement after the days, and its numbers on the last day but one."""
    listings = list(days)
    before = listings[-2]
    keys = {key for rows in listings for row in rows for key in row}
    values = {key: float(len({row.get(key) for row in before} - {None})) for key in keys}
    found = after(listings)
    tags = tuple(
        dataclasses.replace(tag, values=a_count(len({row.get(tag.key) for row in listings[-1]} - {None})))
        for tag in found.tags
    )
    return dataclasses.replace(found, tags=tags), Past(on(len(listings) - 2), float(len(before)), values)


def found_on_last_day(days: Sequence[Sequence[TagSet]]) -> tuple[Measurement, Past, Attribution]:
    measurement, past = counted(days)
    found = attribute(measurement, on(len(days) - 1), past)
    assert found is not None
    return measurement, past, found


def pods(first: int, count: int = 20) -> list[TagSet]:
    return [{"pod": f"p{i}"} for i in range(first, first + count)]


def users(count: int) -> list[TagSet]:
    return [{"pod": "old", "user": f"u{i}"} for i in range(count)]


def test_values_that_take_the_place_of_others_add_nothing() -> None:
    days = [[*pods(0), *users(1)], [*pods(10), *users(1)], [*pods(20), *users(6)]]
    _, _, found = found_on_last_day(days)
    (contributor,) = found.contributors
    assert (found.new_series, found.growth) == (15, 5)
    assert (contributor.tag, contributor.share, contributor.more_values, contributor.lasts) == ("user", 1.0, 5.0, True)


def test_without_a_past_arrivals_are_counted_whatever_left() -> None:
    days = [[*pods(0), *users(1)], [*pods(10), *users(6)]]
    found = attribute(counted(days)[0], on(1))
    assert found is not None
    assert {contributor.tag: round(contributor.share, 2) for contributor in found.contributors} == {
        "pod": 0.67,
        "user": 0.33,
    }


def test_what_grew_at_the_same_pace_before_comes_after_what_changed() -> None:
    days = [[*pods(0, 20), *users(1)], [*pods(0, 30), *users(8)]]
    measurement, past = counted(days)
    steady = Past(past.day, past.series, past.values, 10.0, {"pod": 10.0, "user": 0.0})
    for known, first in ((past, "pod"), (steady, "user")):
        found = attribute(measurement, on(1), known)
        assert found is not None
        assert found.contributors[0].tag == first
        assert {contributor.tag: round(contributor.share, 2) for contributor in found.contributors} == {
            "pod": 0.59,
            "user": 0.41,
        }


def test_of_equal_shares_the_tag_with_more_values_is_first() -> None:
    _, _, found = found_on_last_day([hosts(9), [*hosts(9), *({"host": "cron", "path": f"/{i}"} for i in range(9))]])
    assert [(contributor.tag, contributor.share) for contributor in found.contributors] == [
        ("path", 1.0),
        ("host", 1.0),
    ]


def regions(sizes: Sequence[int]) -> list[TagSet]:
    return [{"region": f"r{n}", "host": f"h{n}-{i}"} for n, size in enumerate(sizes) for i in range(size)]


def test_a_parent_is_named_if_it_brings_as_many_children_as_the_others_have() -> None:
    for new, expected in (([40], Parent("region", 1)), ([40, 40], Parent("region", 2)), ([121], None), ([9], None)):
        measurement, past, found = found_on_last_day([regions([40, 40]), regions([40, 40, *new])])
        assert parent_of(measurement, found.contributors[0], found, past) == expected


def test_children_of_old_parents_grow_by_themselves() -> None:
    measurement, past, found = found_on_last_day([regions([40, 40]), regions([80, 40])])
    assert parent_of(measurement, found.contributors[0], found, past) is None


def test_keys_that_were_added_dropped_or_renamed_are_recognized() -> None:
    old = [{"host": f"h{i}", "core": str(c), "dc": "x"} for i in range(20) for c in range(3)]
    added = [{**row, "version": "7"} for row in old]
    dropped = [{"host": row["host"], "core": row["core"]} for row in old]
    renamed = [{"name": row["host"], "core": row["core"], "dc": "x"} for row in old]
    other = [{"job": f"j{i}", "queue": "q"} for i in range(60)]
    ids = [{**row, "id": f"{i}"} for i, row in enumerate(old)]
    for new, expected in (
        (added, KeyChange("version", None)),
        (dropped, KeyChange(None, "dc")),
        (renamed, KeyChange("name", "host")),
        (other, None),
        (ids, None),
        ([{**row, "version": "7", "commit": "a91f"} for row in old], None),
        ([{"host": row["host"]} for row in old], None),
        ([{**row, "host": f"new-{row['host']}"} for row in old], None),
    ):
        measurement, _ = counted([old, [*old, *new]])
        assert key_change(measurement, on(1)) == expected


def test_a_key_with_far_fewer_values_replaces_no_other() -> None:
    old: list[TagSet] = [{"host": f"h{i}", "core": str(c)} for i in range(20) for c in range(3)]
    new: list[TagSet] = [{"rack": f"k{i % 5}", "core": str(c)} for i in range(20) for c in range(3)]
    measurement, _ = counted([old, [*old, *new]])
    assert key_change(measurement, on(1)) is None


def test_a_key_that_fills_slowly_replaces_no_other() -> None:
    """It has as many values in the end, but they came one by one, as those of a leak do."""
    old: list[TagSet] = [{"host": f"h{i}", "core": "0"} for i in range(20)]
    for per_day, expected in ((4, None), (20, KeyChange("name", "host"))):
        days = [[*old, *({"name": f"h{i}", "core": "0"} for i in range(per_day * n))] for n in range(20 // per_day + 1)]
        assert key_change(counted(days)[0], on(1)) == expected


def test_new_combinations_name_the_tags_that_were_combined() -> None:
    def visits(hosts_each: int) -> list[TagSet]:
        return [
            {"user": f"u{u}", "host": f"h{(u + k) % 12}", "method": method}
            for u in range(12)
            for k in range(hosts_each)
            for method in ("get", "put")
        ]

    measurement, _, found = found_on_last_day([visits(3), visits(6)])
    assert found.contributors == ()
    assert combined_tags(measurement, found) == ("host", "user")
    measurement, _, found = found_on_last_day([visits(3), [*visits(3), *({**r, "host": "new"} for r in visits(1))]])
    assert combined_tags(measurement, found) == ()


def test_some_new_combinations_beside_new_values_are_not_the_cause() -> None:
    old: list[TagSet] = [{"user": f"u{i}", "host": f"h{i}"} for i in range(20)]
    combined: list[TagSet] = [{"user": f"u{i}", "host": f"h{i + 1}"} for i in range(8)]
    for new, expected in ((7, {"host", "user"}), (9, set())):
        more: list[TagSet] = [{"user": f"new{i}", "host": "h1"} for i in range(new)]
        measurement, _, found = found_on_last_day([old, [*old, *combined, *more]])
        assert set(combined_tags(measurement, found)) == expected


def sessions(number: int, count: int = 30) -> list[TagSet]:
    return [{"session": f"s{number}-{i}"} for i in range(count)]


def test_what_no_longer_leaves_is_no_growth_of_its_values() -> None:
    """Two days are kept until the seventh, then all."""
    kept = [[*sessions(n - 1), *sessions(n)] for n in range(7)]
    growing = [*kept]
    for n in range(7, 11):
        growing.append([*growing[-1], *sessions(n)])
    measurement = after(growing)
    found = attribute(measurement, on(7), Past(on(6), 60.0, {"session": 60.0}))
    assert found is not None
    assert kept_longer(measurement, found) == KeptLonger(left_before=30.0, left_now=0.0, arriving=30.0)


def test_more_arrivals_are_growth_even_if_nothing_leaves() -> None:
    growing = [[*sessions(n - 1), *sessions(n)] for n in range(7)]
    for n in range(7, 11):
        growing.append([*growing[-1], *sessions(n, 40)])
    measurement = after(growing)
    found = attribute(measurement, on(7), Past(on(6), 60.0, {"session": 60.0}))
    assert found is not None
    assert kept_longer(measurement, found) is None


def test_logarithms_name_no_tag_that_explains_next_to_nothing() -> None:
    before, now = {"user": 1_000.0, "host": 40.0}, {"user": 1_003.0, "host": 40.0}
    assert shares_of_logarithms(before, now, (), 3.0) == {}
    assert shares_of_logarithms(before, {"user": 3_000.0, "host": 40.0}, (), 3.0) == {"user": 1.0}
