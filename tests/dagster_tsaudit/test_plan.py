"""How targets become assets and steps."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import dagster as dg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagster_tsaudit.automation import definitions_of
from dagster_tsaudit.plan import AUTO_LIMIT, AssetPlan, PlanError, freshness, make_plan
from tests.dagster_tsaudit.runs import a_plan, write_config
from tsaudit.config.settings import Settings


def many(count: int, **options: object) -> AssetPlan:
    targets = [
        {"name": f"t-{n}", "engine": "duckdb", "url": "duckdb:///x", "group": f"group {n % 3}"} for n in range(count)
    ]
    settings = Settings.model_validate({"targets": targets})
    return make_plan("shop", settings, lambda: settings, **options)


def test_each_target_is_an_asset_and_shards_hold_a_hundred() -> None:
    plan = many(250)
    assert plan.granularity == "target"
    (step,) = plan.steps
    assert [len(shard) for shard in plan.shards(step)] == [84, 83, 83]
    assert len(plan.keys) == 250


@given(size=st.integers(1, 30))
def test_shards_hold_every_target_once(size: int) -> None:
    plan = many(30, shard_size=size)
    (step,) = plan.steps
    shards = plan.shards(step)
    assert sorted(unit.name for shard in shards for unit in shard) == sorted(unit.name for unit in step.units)
    assert len(shards) == -(-30 // size)
    assert max(map(len, shards)) <= size


def test_auto_makes_one_asset_per_group_just_over_the_limit() -> None:
    assert many(AUTO_LIMIT).granularity == "target"
    plan = many(AUTO_LIMIT + 1)
    assert plan.granularity == "group"
    assert len(plan.keys) == 3
    assert sum(len(unit.targets) for unit in plan.units) == AUTO_LIMIT + 1
    assert len(list(definitions_of(plan).schedules or ())) == 1


def test_a_step_never_mixes_schedules(tmp_path: Path) -> None:
    config = write_config(tmp_path, "a", "b", "c")
    text = config.read_text().replace("url: duckdb:///b.duckdb", "url: duckdb:///b.duckdb\n    schedule: 0 7 * * *")
    config.write_text(text)
    plan = a_plan(config)
    assert [(step.name, step.schedule, [u.name for u in step.units]) for step in plan.steps] == [
        ("tsaudit_shop__0_6_any_any_any", "0 6 * * *", ["a", "c"]),
        ("tsaudit_shop__0_7_any_any_any", "0 7 * * *", ["b"]),
    ]
    crons = {
        s.name: s.cron_schedule for s in definitions_of(plan).schedules or () if isinstance(s, dg.ScheduleDefinition)
    }
    assert crons == {"audit_shop__0_6_any_any_any": "0 6 * * *", "audit_shop__0_7_any_any_any": "0 7 * * *"}


def test_names_of_steps_stay_when_others_come(tmp_path: Path) -> None:
    lines = ["*/15 * * * *", "0 6 * * mon-fri", "0 6,18 * * *", "5-50/5 1 1 1 *", "@daily"]
    names = {"targets": [{"name": f"t{n}", "engine": "duckdb", "url": "duckdb:///x", "schedule": line}
                         for n, line in enumerate(lines)]}  # fmt: skip
    found = []
    for count in (2, 5):
        settings = Settings.model_validate({"targets": names["targets"][:count]})
        plan = make_plan("shop", settings, lambda settings=settings: settings)
        found.append({step.schedule: step.suffix for step in plan.steps})
        definitions_of(plan).get_repository_def()
    few, many = found
    assert few.items() <= many.items()
    assert many == {
        "*/15 * * * *": "__every15_any_any_any_any",
        "0 6 * * mon-fri": "__0_6_any_any_montofri",
        "0 6,18 * * *": "__0_6and18_any_any_any",
        "5-50/5 1 1 1 *": "__5to50by5_1_1_1_any",
        "@daily": "__daily",
    }


def test_targets_with_other_tags_are_audited_by_other_runs(tmp_path: Path) -> None:
    config = write_config(tmp_path, "a", "b")
    config.write_text(config.read_text() + "    run_tags: {dagster-celery/queue: edge}\n")
    plan = a_plan(config, tags={"team": "data"})
    assert [dict(step.tags) for step in plan.steps] == [
        {"team": "data", "dagster-celery/queue": "edge"},
        {"team": "data"},
    ]
    assert len({step.name for step in plan.steps}) == 2
    with pytest.raises(PlanError, match=r"2 different values of `run_tags`; .* set `tags` in defs.yaml"):
        a_plan(config, granularity="group")


def test_a_target_that_is_never_due_has_an_asset_and_no_schedule(tmp_path: Path) -> None:
    config = write_config(tmp_path, "a", "b")
    config.write_text(config.read_text() + "    schedule: never\n")
    for schedule in (None, "0 3 * * *"):
        definitions = definitions_of(a_plan(config, schedule=schedule))
        (found,) = [s for s in definitions.schedules or () if isinstance(s, dg.ScheduleDefinition)]
        assert found.cron_schedule == (schedule or "0 6 * * *")
        audit = definitions.resolve_asset_graph().get(dg.AssetKey(["tsaudit", "b"]))
        assert audit.metadata["schedule"] == "never"


def test_a_group_with_two_schedules_is_refused(tmp_path: Path) -> None:
    config = write_config(tmp_path, "a", "b")
    config.write_text(config.read_text() + "    schedule: 0 7 * * *\n")
    with pytest.raises(PlanError, match="2 different values of `schedule`"):
        a_plan(config, granularity="group")
    assert len(a_plan(config, granularity="group", schedule="0 5 * * *").steps) == 1


def test_a_schedule_that_is_no_cron_line_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=r"`a`: schedule `daily at 6` is not a cron expression"):
        a_plan(write_config(tmp_path, "a"), schedule="daily at 6")


@pytest.mark.full
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
    assert not audit.parent_keys


@pytest.mark.parametrize("linked", [False, True])
def test_an_asset_of_the_targets_name_is_the_users_own(tmp_path: Path, linked: bool) -> None:
    @dg.asset
    def shop() -> None: ...

    config = write_config(tmp_path, "shop", target_extra="asset_key: [shop]" if linked else "")
    merged = dg.Definitions.merge(dg.Definitions(assets=[shop]), definitions_of(a_plan(config)))
    graph = merged.resolve_asset_graph()
    assert graph.get(dg.AssetKey(["tsaudit", "shop"])).parent_keys == ({shop.key} if linked else set())


def test_group_of_several_engines_shows_no_more_kinds_than_dagster_takes(tmp_path: Path) -> None:
    config = write_config(tmp_path, "a", target_extra="group: shop")
    engines = {"b": "postgresql", "c": "sqlite"}
    others = "".join(f"  - {{name: {n}, engine: {e}, url: '{e}:///x', group: shop}}\n" for n, e in engines.items())
    config.write_text(config.read_text() + others, encoding="utf-8")
    graph = definitions_of(a_plan(config, granularity="group")).resolve_asset_graph()
    (audit,) = graph.executable_asset_keys
    assert graph.get(audit).kinds == {"duckdb", "postgresql", "report"}


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


@pytest.mark.parametrize("pool", [None, "warehouse"])
def test_steps_have_a_pool_if_one_is_named(tmp_path: Path, pool: str | None) -> None:
    definitions = definitions_of(a_plan(write_config(tmp_path, "a"), pool=pool))
    assert definitions.get_assets_def(["tsaudit", "a"]).op.pool == pool
