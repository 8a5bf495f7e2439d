"""How targets become assets and steps."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import dagster as dg
import pytest

from dagster_tsaudit.assets import audit_assets, freshness
from dagster_tsaudit.automation import definitions_of
from dagster_tsaudit.plan import AUTO_LIMIT, Plan, PlanError, make_plan
from tests.dagster_tsaudit.runs import a_plan, write_config
from tsaudit.config.settings import Settings


def many(count: int, **options: object) -> Plan:
    targets = [
        {"name": f"t-{n}", "engine": "duckdb", "url": "duckdb:///x", "group": f"group {n % 3}"} for n in range(count)
    ]
    settings = Settings.model_validate({"targets": targets})
    return make_plan("shop", settings, lambda: settings, **options)


def test_each_target_is_an_asset_and_shards_hold_a_hundred() -> None:
    plan = many(250)
    assert plan.granularity == "target"
    assert [len(shard.units) for shard in plan.shards] == [100, 100, 50]
    assert len(plan.keys) == 250


def test_auto_makes_one_asset_per_group_just_over_the_limit() -> None:
    assert many(AUTO_LIMIT).granularity == "target"
    plan = many(AUTO_LIMIT + 1)
    assert plan.granularity == "group"
    assert len(plan.keys) == 3
    assert sum(len(unit.targets) for shard in plan.shards for unit in shard.units) == AUTO_LIMIT + 1
    assert len(list(definitions_of(plan).schedules or ())) == 3


def test_a_shard_never_mixes_schedules(tmp_path: Path) -> None:
    config = write_config(tmp_path, "a", "b", "c")
    text = config.read_text().replace("url: duckdb:///b.duckdb", "url: duckdb:///b.duckdb\n    schedule: 0 7 * * *")
    config.write_text(text)
    plan = a_plan(config)
    assert [(shard.schedule, [u.name for u in shard.units]) for shard in plan.shards] == [
        ("0 6 * * *", ["a", "c"]),
        ("0 7 * * *", ["b"]),
    ]
    crons = {
        s.name: s.cron_schedule for s in definitions_of(plan).schedules or () if isinstance(s, dg.ScheduleDefinition)
    }
    assert crons == {"audit_shop__a": "0 6 * * *", "audit_shop__b": "0 7 * * *", "audit_shop__c": "0 6 * * *"}


def test_a_group_with_two_schedules_is_refused(tmp_path: Path) -> None:
    config = write_config(tmp_path, "a", "b")
    config.write_text(config.read_text() + "    schedule: 0 7 * * *\n")
    with pytest.raises(PlanError, match="different schedules"):
        a_plan(config, granularity="group")
    assert len(a_plan(config, granularity="group", schedule="0 5 * * *").shards) == 1


def test_a_schedule_that_is_no_cron_line_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=r"`a`: schedule `daily at 6` is not a cron expression"):
        a_plan(write_config(tmp_path, "a"), schedule="daily at 6")


def test_a_thousand_targets_become_loadable_definitions() -> None:
    plan = many(1000, granularity="target")
    definitions = definitions_of(plan)
    dg.Definitions.validate_loadable(definitions)
    assert len(definitions.resolve_asset_graph().executable_asset_keys) == 1000


@pytest.mark.parametrize(
    ("schedule", "deadline"),
    [
        ("0 6 * * *", "0 8 * * *"),
        ("30 23 * * *", "30 1 * * *"),
        ("0 6 * * 1", "0 8 * * 1"),
        ("0 23 * * 1", None),
        ("*/5 * * * *", None),
        ("@daily", None),
    ],
)
def test_an_audit_may_be_two_hours_late(schedule: str, deadline: str | None) -> None:
    late = timedelta(hours=2)
    expected = dg.FreshnessPolicy.cron(deadline_cron=deadline, lower_bound_delta=late) if deadline else None
    assert freshness(schedule) == expected


def test_specs_carry_kind_group_and_the_real_name(tmp_path: Path) -> None:
    config = write_config(tmp_path, "a.b", "c", target_extra="group: shop one")
    graph = definitions_of(a_plan(config)).resolve_asset_graph()
    (encoded,) = [k for k in graph.executable_asset_keys if k.path[1].startswith("a_b")]
    audit = graph.get(encoded)
    assert audit.metadata["target"] == "a.b"
    assert audit.kinds == {"duckdb", "report"}
    assert audit.group_name.startswith("shop_one")
    assert audit.parent_keys == {dg.AssetKey(encoded.path[1])}
    assert graph.get(dg.AssetKey("c")).is_external


@pytest.mark.parametrize(
    ("owners", "owner", "shown"),
    [
        ("default: {}", "", []),
        ('default: {channel: "#data"}', "", []),
        ("default: {email: data@example.com}", "", ["data@example.com"]),
        ("default: {}\n  web: {email: web@example.com}", "web", ["web@example.com"]),
        ("default: {email: data@example.com}\n  web: {}", "web", ["team:web"]),
    ],
)
def test_owners_are_those_of_the_configuration(tmp_path: Path, owners: str, owner: str, shown: list[str]) -> None:
    config = write_config(tmp_path, "a", extra=f"owners:\n  {owners}", target_extra=f"owner: {owner}" if owner else "")
    graph = definitions_of(a_plan(config)).resolve_asset_graph()
    assert graph.get(dg.AssetKey(["tsaudit", "a"])).owners == shown
    assert graph.get(dg.AssetKey("a")).owners == shown


def test_each_step_has_a_pool_of_its_own_name(tmp_path: Path) -> None:
    plan = a_plan(write_config(tmp_path, "a", "b", "c"), shard_size=2)
    assert [step.op.pool for step in audit_assets(plan)] == ["tsaudit_shop_1", "tsaudit_shop_2"]
