"""What becomes of a table of GreptimeDB: all of it in one copy, or by ALTER TABLE alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest

from tests import plans
from tests.builders import NOW
from tests.collecting import collected
from tests.databases import Dataset, Greptime, Row, Table, times, write
from tests.engines.greptimedb.ddl import execute
from tests.engines.greptimedb.double import GreptimeDB
from tsaudit.model.change import (
    AddIndex,
    Change,
    ChangeType,
    DropIndex,
    MakeField,
    MakeTag,
    Part,
    Rename,
    SetKey,
    SetOption,
    SetRetention,
    SplitColumn,
    SplitMeasurement,
)
from tsaudit.model.finding import Severity
from tsaudit.model.plan import Plan
from tsaudit.model.subject import Subject
from tsaudit.planning.merging import Wanted
from tsaudit.planning.plans import _plan

NAME = 'lo"gs, by'
AT = Subject("shop", NAME)
VALUES = ("1.5", "007", "abc", "2", "")


@pytest.fixture(scope="module")
def server() -> Iterator[GreptimeDB]:
    running = GreptimeDB()
    yield running
    running.stop()


def _written(server: GreptimeDB, **settings: object) -> Callable[..., Plan]:
    """Writes a table, and returns what plans changes of it and runs them."""
    rows = [
        Row(
            at,
            {"app": "a", "trace": f"t{i}", "place": f"loc-x{i % 2}.r{i}"},
            {"v": VALUES[i % 5], "u": i / 4, "line": "x"},
        )
        for i, at in enumerate(times(40, timedelta(hours=2)))
    ]
    fields = {"v": "string", "u": "float", "line": "string"}
    key = ("app", "place", "trace")
    settled = Greptime(options={"ttl": "7days"}, indexes={"line": "fulltext", "v": "skipping"})
    target = write(
        Dataset([Table(NAME, key, fields, rows, key=key, greptime=settled)], database="shop"), "greptimedb", server
    )

    def run(*changes: Change) -> Plan:
        profile = collected(target)
        (here,) = profile.measurements
        plan = _plan(profile, AT, here, [Wanted(change, "X", Severity.WARN) for change in changes])
        assert not plan.set_aside
        plans.run(plan, lambda statement: execute(server, statement), NOW - timedelta(days=6), NOW)
        return plan

    return run


def test_all_changes_are_made_in_one_copy(server: GreptimeDB) -> None:
    run = _written(server)
    plan = run(
        MakeField(AT, "trace"),
        SetOption(AT, "append_mode", "true"),
        AddIndex(AT, ("trace",), "skipping"),
        DropIndex(AT, "FULLTEXT_INDEX_line", ("line",), "fulltext"),
        ChangeType(AT, "v", "float", ("abc",)),
        Rename(AT, "u", "usage"),
        Rename(AT, "", "logs"),
        SplitColumn(AT, "place", ".", (Part("location", "x1"), Part("rack", "r1")), "loc-x1.r1"),
        SetRetention(AT, timedelta(days=365)),
    )
    text = "\n".join(step.text for step in plan.steps)
    assert text.count("CREATE TABLE") == 1
    assert text.count("INSERT INTO") == 1
    assert "MODIFY COLUMN" not in text
    table = server.tables["shop", "logs"]
    assert list(table.key) == ["app", "location", "rack"]
    assert table.options == {"ttl": "365d", "append_mode": "true"}
    assert {c: k for c, k in table.indexes.items() if k} == {"trace": ["skipping"], "v": ["skipping"]}
    rows = server.rows(table).to_pylist()
    assert len(rows) == 40
    assert {(r["v"], r["v_former"]) for r in rows} == {
        (1.5, None),
        (None, "007"),
        (None, "abc"),
        (2.0, None),
        (None, ""),
    }
    assert {(r["location"], r["rack"]) for r in rows} == {(f"x{i % 2}", f"r{i}") for i in range(40)}
    assert set(server.tables) & {("shop", NAME), ("shop", f"{NAME}_new"), ("shop", f"{NAME}_old")} == set()


def test_values_of_another_form_stay_whole(server: GreptimeDB) -> None:
    run = _written(server)
    run(SplitColumn(AT, "place", ".", (Part("location", "x1"), Part("rack", "7")), "loc-x1.q7"))
    rows = server.rows(server.tables["shop", NAME]).to_pylist()
    assert {(r["location"], r["rack"]) for r in rows} == {(f"loc-x{i % 2}.r{i}", None) for i in range(40)}


def test_nothing_is_copied_that_alter_table_does(server: GreptimeDB) -> None:
    run = _written(server)
    plan = run(
        SetOption(AT, "append_mode", "true"),
        AddIndex(AT, ("u",), "inverted"),
        DropIndex(AT, "SKIPPING_INDEX_v", ("v",), "skipping"),
        SetKey(AT, key=("trace", "app", "place"), only_with_copy=True),
        Rename(AT, "", "logs"),
    )
    assert "INSERT" not in "\n".join(step.text for step in plan.steps)
    table = server.tables["shop", "logs"]
    assert list(table.key) == ["app", "place", "trace"]
    assert table.options["append_mode"] == "true"
    assert {c: k for c, k in table.indexes.items() if k} == {"line": ["fulltext"], "u": ["inverted"]}


def test_what_is_worth_it_in_a_copy_only_goes_along(server: GreptimeDB) -> None:
    run = _written(server)
    run(SetKey(AT, key=("trace", "app", "place"), only_with_copy=True), MakeField(AT, "place"), MakeTag(AT, "line"))
    assert list(server.tables["shop", NAME].key) == ["trace", "app", "line"]


def test_columns_that_move_out(server: GreptimeDB) -> None:
    run = _written(server)
    run(SplitMeasurement(AT, "events", ("v", "line")))
    assert [c.name for c in server.tables["shop", NAME].columns] == ["time", "app", "place", "trace", "u"]
    moved = server.tables["shop", "events"]
    assert len(server.rows(moved)) == 40
    assert {c: k for c, k in moved.indexes.items() if k} == {"line": ["fulltext"], "v": ["skipping"]}
    assert moved.options == {"ttl": "7days"}
