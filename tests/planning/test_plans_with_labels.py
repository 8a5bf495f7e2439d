"""Plans for a table with labels in one column: no statement names a label as if it were a column."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pytest

from tests.collecting import collected
from tsaudit.config.settings import Target
from tsaudit.model.change import (
    Change,
    ChangeType,
    Inspect,
    MakeField,
    MakeTag,
    Merged,
    MergeMeasurements,
    Rename,
    SplitColumn,
    SplitMeasurement,
)
from tsaudit.model.finding import Severity
from tsaudit.model.plan import Phase
from tsaudit.model.profile import Profile
from tsaudit.model.subject import Subject
from tsaudit.planning.merging import Wanted
from tsaudit.planning.plans import _plan

AT = Subject("main", "metrics")
LABEL = "labels.pod"
CHANGES = (
    MakeField(AT, LABEL),
    MakeField(AT, LABEL, "float"),
    MakeTag(AT, LABEL),
    ChangeType(AT, LABEL, "integer"),
    Rename(AT, LABEL, "pod"),
    SplitColumn(AT, LABEL, "-", (), "api-1"),
    SplitMeasurement(AT, "others", ("v",)),
    Inspect(AT, "new values", LABEL),
    Inspect(AT, "sources", "v"),
)


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("labels") / "t.db"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE metrics (time TIMESTAMP, host VARCHAR, v DOUBLE, labels JSON)")
        labels = [json.dumps({"pod": f"p-{i % 20}", "zone": f"z{i % 2}"}) for i in range(600)]
        times = [f"2026-03-30 {i // 60:02}:{i % 60:02}:00" for i in range(600)]
        rows = [(times[i], f"h{i % 3}", i / 7, labels[i]) for i in range(600)]
        connection.executemany("INSERT INTO metrics VALUES (?, ?, ?, ?)", rows)
    return path


@pytest.fixture(scope="module")
def profile(database: Path) -> Profile:
    found = collected(Target(name="t", engine="duckdb", url=f"duckdb:///{database}"))
    assert LABEL in {tag.key for tag in found.measurements[0].tags}
    return found


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: type(change).__name__)
def test_every_statement_runs(change: Change, profile: Profile, database: Path) -> None:
    (metrics,) = profile.measurements
    plan = _plan(profile, AT, metrics, [Wanted(change, "X", Severity.WARN)])
    assert plan.steps or isinstance(change, Inspect)
    with duckdb.connect(str(database)) as connection:
        connection.begin()
        for step in plan.steps:
            if step.language == "sql":
                connection.execute(step.text)
        connection.rollback()


def test_a_label_is_not_called_a_column(profile: Profile) -> None:
    (metrics,) = profile.measurements
    plan = _plan(profile, AT, metrics, [Wanted(MakeField(AT, LABEL), "X", Severity.WARN)])
    (step,) = plan.steps
    assert step.words.startswith("Leave pod out of the labels of metrics")
    assert step.text == 'columns:\n  "metrics":\n    fields: ["labels.pod"]'


@pytest.fixture(scope="module")
def shops(tmp_path_factory: pytest.TempPathFactory) -> Profile:
    """Two tables that differ in the name of a shop only; their labels are JSON."""
    path = tmp_path_factory.mktemp("shops") / "t.db"
    with duckdb.connect(str(path)) as connection:
        for shop in ("north", "south"):
            connection.execute(f"CREATE TABLE sold_{shop} (time TIMESTAMP, v DOUBLE, labels JSON)")
            rows = [
                (f"2026-03-30 {i // 60:02}:{i % 60:02}:00", i / 7, json.dumps({"pod": f"p-{i % 20}", "zone": "z"}))
                for i in range(600)
            ]
            connection.executemany(f"INSERT INTO sold_{shop} VALUES (?, ?, ?)", rows)
    return collected(Target(name="t", engine="duckdb", url=f"duckdb:///{path}"))


def test_tables_with_labels_are_merged_in_words(shops: Profile) -> None:
    """An expert wants no statement that takes a label for a column, and nothing dropped that no statement copied."""
    at = Subject("main")
    members = tuple(Merged(f"sold_{shop}", (("shop", shop),)) for shop in ("north", "south"))
    change = MergeMeasurements(at, "sold", "sold_{shop}", members)
    assert all(tag.label_of for m in shops.measurements for tag in m.tags)
    plan = _plan(shops, at, None, [Wanted(change, "X", Severity.WARN)])
    assert plan.changes
    assert not plan.set_aside
    assert not [step.text for step in plan.steps if step.text]
    (copy,) = (step for step in plan.steps if step.phase is Phase.COPY)
    assert "some of their tags are labels in one column" in copy.words
    assert "2 tables" in copy.words
    assert [step.phase for step in plan.steps] == [Phase.WRITE, Phase.COPY, Phase.SWITCH, Phase.REMOVE]
    assert plan.steps[0].words.startswith("Write to sold, with shop=north in columns of their own")
    assert plan.steps[-1].loses
