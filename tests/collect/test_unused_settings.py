"""What is said of settings that match nothing, on lists of names made by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tsaudit.analysis.columns.columns import Column
from tsaudit.collect.catalog import listing_of, no_such_database, nothing_to_audit, unused_settings
from tsaudit.collect.draft import Draft
from tsaudit.config.settings import Columns, MeasurementOverride, Target

NAMES = {"main": ["cpu", "disk", "net"], "other": ["cpu", "mem"]}


def a_target(engine: str = "duckdb", **changes: Any) -> Target:
    return Target(**{"name": "t", "engine": engine, "url": "duckdb:///x"} | changes)


def found(target: Target, names: dict[str, list[str]] = NAMES, *drafts: Draft) -> list[str]:
    return [str(one) for one in unused_settings(target, names, drafts)]


def test_nothing_is_said_when_all_matches() -> None:
    settings = {"include": ("c*", "mem", "net"), "exclude": ("net",), "measurements": {"c?u": MeasurementOverride()}}
    assert found(a_target(**settings)) == []
    assert found(a_target()) == []


def test_the_default_include_is_no_setting() -> None:
    assert found(a_target(), {"main": []}) == []


def test_a_pattern_is_looked_for_in_all_databases() -> None:
    assert found(a_target(include=("mem",))) == []
    assert found(a_target(include=("mme",))) == ["include: `mme` matches none of 4 tables, did you mean mem?"]


def test_case_counts_in_a_match_and_not_in_what_is_near() -> None:
    assert found(a_target(exclude=("CPU",))) == ["exclude: `CPU` matches none of 4 tables, did you mean cpu?"]


def test_what_is_nowhere_near_gets_a_few_names() -> None:
    assert found(a_target(exclude=("zzzzzz",))) == [
        "exclude: `zzzzzz` matches none of 4 tables; found cpu, disk, mem and 1 more"
    ]


def test_an_override_for_what_is_left_out_does_nothing() -> None:
    target = a_target(exclude=("disk",), measurements={"disk": MeasurementOverride()})
    (said,) = found(target)
    assert said.startswith("measurements: `disk` matches none of 3 tables")


def test_columns_of_a_table_that_is_left_out_or_not_there() -> None:
    target = a_target(exclude=("disk",), columns={"disk": Columns(), "dsik": Columns(), "cpu": Columns()})
    assert found(target) == [
        "columns: `disk` is excluded by include and exclude",
        "columns: `dsik` matches none of 3 tables; found cpu, mem, net",
    ]


@pytest.mark.parametrize("role", ["time", "tags", "fields"])
def test_each_named_column_is_looked_up(role: str) -> None:
    columns = (Column("ts", "TIMESTAMP", None), Column("host", "VARCHAR", None))
    draft = replace(Draft.new("main", "cpu"), columns=columns)
    wrong: Any = {role: "hots" if role == "time" else ("host", "hots")}
    target = a_target(columns={"cpu": Columns(**wrong)})
    assert found(target, NAMES, draft) == [f"columns.cpu.{role}: `hots` matches none of 2 columns, did you mean host?"]


def test_columns_of_a_table_whose_columns_are_not_known_are_left_alone() -> None:
    assert found(a_target(columns={"cpu": Columns(tags=("x",))}), NAMES, Draft.new("main", "cpu")) == []


@pytest.mark.parametrize(
    ("settings", "names", "why"),
    [
        ({}, {"main": []}, "there is nothing to audit: no table in schema main"),
        ({}, {"a": [], "b": []}, "there is nothing to audit: no table in any of the databases"),
        (
            {"include": ("nope_*",)},
            NAMES,
            'include: ["nope_*"] matches none of 5 tables; found cpu, disk, mem and 1 more',
        ),
        ({"exclude": ("*",)}, NAMES, 'exclude: ["*"] removes everything that `include` selects from 5 tables'),
        (
            {"include": ("cpu",), "exclude": ("c*",)},
            NAMES,
            'exclude: ["c*"] removes everything that `include` selects from 5 tables',
        ),
        ({"include": ("cpu",)}, NAMES, None),
    ],
)
def test_why_there_is_nothing_to_audit(settings: dict[str, Any], names: dict[str, list[str]], why: str | None) -> None:
    assert nothing_to_audit(a_target(**settings), names) == why


def test_each_engine_uses_its_own_words() -> None:
    assert nothing_to_audit(a_target("influxdb2"), {"b": []}) == "there is nothing to audit: no measurement in bucket b"
    assert nothing_to_audit(a_target("mongodb"), {"b": []}) == "there is nothing to audit: no collection in database b"


def test_a_database_that_is_not_there_and_what_is_near() -> None:
    target = a_target("influxdb1")
    assert (
        no_such_database(target, "shpo", ["shop", "plant"]) == "the server lists no database shpo, did you mean shop?"
    )
    assert no_such_database(target, "x", []) == "the server lists no database x"
    assert "does not list its databases" in no_such_database(target, "shop", None)
    assert "lists schemas" in no_such_database(a_target("postgresql"), "shop", ["public"])


def test_what_the_patterns_leave_out_is_counted_with_a_few_names() -> None:
    one = listing_of(a_target(include=("cpu",)), "main", ["e", "d", "cpu", "b", "a"])
    assert (one.measurements, one.left_out, one.examples) == (5, 4, ("a", "b", "d"))


def test_many_patterns_against_many_names_stay_quick() -> None:
    names = {"main": [f"measurement_{i:05}" for i in range(10_000)]}
    target = a_target(exclude=tuple(f"nothing_like_it_{i}" for i in range(20)))
    assert len(found(target, names)) == 20
