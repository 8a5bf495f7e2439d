"""The job on real DuckDB files, with nothing faked."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import dagster as dg
import pytest

from dagster_project.world import World
from dagster_tsaudit.automation import definitions_of
from dagster_tsaudit.checks import check_names
from tests.dagster_tsaudit.runs import a_plan, execute, failure_of, write_config
from tsaudit.history.store import Store

pytestmark = pytest.mark.full


def evaluations(outcome: dg.ExecuteInProcessResult, name: str) -> dict[str, dg.AssetCheckEvaluation]:
    return {c.check_name: c for c in outcome.get_asset_check_evaluations() if c.asset_key.path[-1] == name}


def test_checks_carry_their_numbers_over_several_days(tmp_path: Path, instance: dg.DagsterInstance) -> None:
    tags = "[host, region, method, status, path, request_id]"
    declared = f"columns: {{http_requests: {{kind: series, time: time, tags: {tags}}}}}"
    limit = "limits: {high-series-cardinality.max_series: 500}"
    config = write_config(tmp_path, "shop", target_extra=f"{limit}\n{declared}")
    plan, world = a_plan(config), World(tmp_path / "shop.duckdb")
    shown = []
    for n in range(3):
        day = date(2026, 3, 1) + timedelta(days=n)
        world.advance(day)
        outcome = execute(plan, instance, day=str(day))
        assert outcome.success
        metadata = evaluations(outcome, "shop")["cardinality"].metadata
        shown.append({k: metadata[k].value for k in ("value", "threshold", "baseline") if k in metadata})
    assert shown == [
        {"value": 865, "threshold": 500},
        {"value": 865, "threshold": 500, "baseline": 865},
        {"value": 865, "threshold": 500, "baseline": 865},
    ]
    last = evaluations(outcome, "shop")
    assert not last["cardinality"].passed
    assert "http" in str(last["cardinality"].metadata["findings"].value)
    event, overview = outcome.get_asset_materialization_events()
    assert "shop" in str(overview.materialization.metadata["critical"].value)
    found = event.materialization.metadata
    assert found["verdict"].value in ("warning", "critical")
    path = Path("".join(str(found["report"].value).split("`")[1::2]))
    assert path.is_file()
    assert path.is_relative_to(tmp_path)
    assert found["rows_in_window"].value == 3 * (6144 + 1920 + 960 + 1440 + 1728 + 480)
    with Store.open(f"sqlite:///{tmp_path}/history.db") as store:
        assert len(store.days("shop")) == 3


def test_past_days_are_audited_in_one_run_and_the_owners_checks_show_the_last(
    tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    plan, world = (
        a_plan(write_config(tmp_path, "shop", target_extra="asset_key: [orders]")),
        World(tmp_path / "shop.duckdb"),
    )
    days = [date(2026, 3, 1) + timedelta(days=n) for n in range(3)]
    for day in days:
        world.advance(day)
    outcome = execute(plan, instance, days=[f"{days[0]}..{days[-1]}"])
    assert outcome.success
    with Store.open(f"sqlite:///{tmp_path}/history.db") as store:
        assert store.days("shop") == days
    assert evaluations(outcome, "shop")["cardinality"].metadata["baseline"].value == 865

    (steps,) = definitions_of(plan).asset_checks or ()
    (tmp_path / "shop.duckdb").unlink()
    again = dg.materialize([steps], instance=instance, selection=dg.AssetSelection.all_asset_checks())
    shown = {c.check_name: c for c in again.get_asset_check_evaluations()}
    audited = evaluations(outcome, "shop")
    assert {name.removeprefix("tsaudit_shop_") for name in shown} == set(audited)
    for name, check in audited.items():
        other = shown[f"tsaudit_shop_{name}"]
        assert (other.passed, other.description, other.metadata) == (check.passed, check.description, check.metadata)


def test_a_history_that_cannot_be_read_does_not_fail_the_owners_run(
    tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    plan = a_plan(write_config(tmp_path, "shop", target_extra="asset_key: [orders]"))
    (tmp_path / "history.db").mkdir()

    @dg.asset
    def orders() -> None: ...

    outcome = dg.materialize([orders, *(definitions_of(plan).asset_checks or ())], instance=instance)
    assert outcome.success
    assert not outcome.get_asset_check_evaluations()


def test_a_missing_file_among_three_targets_turns_the_run_red_and_hides_nothing(
    tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    plan = a_plan(write_config(tmp_path, "one", "gone", "two"))
    for name in ("one", "two"):
        World(tmp_path / f"{name}.duckdb").advance(date(2026, 3, 31))
    outcome = execute(plan, instance)
    assert not outcome.success
    *audits, overview = outcome.get_asset_materialization_events()
    assert {audit.asset_key.path[-1] for audit in audits if audit.asset_key} == {"one", "two"}
    assert "gone" in str(overview.materialization.metadata["unknown"].value)
    assert failure_of(outcome).startswith("gone: ")
    bad = evaluations(outcome, "gone")
    assert len(bad) == len(check_names(["duckdb"]))
    assert not any(check.passed for check in bad.values())
    assert "cardinality" in evaluations(outcome, "two")
    with Store.open(f"sqlite:///{tmp_path}/history.db") as store:
        result = store.result("gone", date(2026, 3, 31))
    assert result is not None
    assert result.verdict == "unknown"
