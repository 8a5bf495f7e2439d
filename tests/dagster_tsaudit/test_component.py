"""The component: from YAML to definitions, its errors, and what `dg scaffold` writes."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import click
import dagster as dg
import pytest
import yaml
from dagster.components.testing import create_defs_folder_sandbox
from dagster.components.testing.test_cases import TestTranslationBatched
from dagster_shared.yaml_utils import load_run_config_yaml

from dagster_tsaudit import AuditComponent
from dagster_tsaudit.plan import AuditConfig, audited_days, encode
from dagster_tsaudit.scaffold import AuditScaffoldParams
from tsaudit.cli.init import proposed_limits
from tsaudit.config import file as config_file
from tsaudit.engines.registry import ENGINES

ROOT = Path(__file__).parents[2]
TARGET = {"name": "shop", "engine": "duckdb", "url": "duckdb:///shop.duckdb"}


def definitions_from(attributes: dict[str, Any], files: dict[str, str] | None = None) -> dg.Definitions:
    """What a defs.yaml with the attributes becomes, in a project of its own."""
    with create_defs_folder_sandbox() as sandbox:
        folder = sandbox.defs_folder_path / "audits" / "shop"
        folder.mkdir(parents=True)
        for name, text in (files or {}).items():
            (folder / name).write_text(text)
        component = {"type": "dagster_tsaudit.AuditComponent", "attributes": attributes}
        (folder / "defs.yaml").write_text(yaml.safe_dump(component))
        with sandbox.build_all_defs() as definitions:
            return definitions


def message_of(caught: pytest.ExceptionInfo[BaseException]) -> str:
    """The texts of the error and of those it came from."""
    texts, error = [], caught.value
    while error is not None:
        texts.append(str(error))
        error = error.__cause__ or error.__context__
    return "\n".join(texts)


def test_a_target_inline_becomes_asset_job_schedule_and_sensors() -> None:
    definitions = definitions_from({"target": {**TARGET, "schedule": "15 4 * * *"}})
    keys = {key.to_user_string() for key in definitions.resolve_asset_graph().get_all_asset_keys()}
    assert keys == {"tsaudit/shop", "tsaudit/overview/shop"}
    (schedule,) = [s for s in definitions.schedules or () if isinstance(s, dg.ScheduleDefinition)]
    assert (schedule.name, schedule.cron_schedule) == ("audit_shop", "15 4 * * *")
    assert len(list(definitions.sensors or ())) == 2


def test_a_file_beside_defs_yaml_is_read_and_options_apply() -> None:
    text = "targets:\n" + "".join(
        f"  - {{name: t{n}, engine: duckdb, url: 'duckdb:///t{n}.duckdb'}}\n" for n in range(5)
    )
    attributes = {"config": "tsaudit.yaml", "schedule": "0 3 * * *", "shard_size": 2, "name": "my.shop"}
    attributes |= {"pool": "own", "tags": {"team": "data"}}
    definitions = definitions_from(attributes, {"tsaudit.yaml": text})
    ops = {a.op.name for a in definitions.assets or () if isinstance(a, dg.AssetsDefinition) and a.is_executable}
    assert len(ops) == 1
    (schedule,) = [s for s in definitions.schedules or () if isinstance(s, dg.ScheduleDefinition)]
    assert schedule.cron_schedule == "0 3 * * *"
    assert schedule.name.startswith("audit_my_shop__x")
    assert {asset.op.pool for asset in definitions.assets or () if isinstance(asset, dg.AssetsDefinition)} == {"own"}


class TestTheTranslation(TestTranslationBatched):
    """What Dagster's own components translate, each attribute of it."""

    def test_translation(self, attributes: dict[str, Any], assertion: Any, key_modifier: Any) -> None:
        definitions = definitions_from({"target": TARGET, "translation": attributes})
        key = key_modifier(dg.AssetKey(["tsaudit", "shop"]))
        assert assertion(definitions.get_assets_def(key).get_asset_spec(key))


@pytest.mark.parametrize("granularity", ["target", "group"])
def test_the_documented_translation_applies_to_checks_and_job_too(granularity: str) -> None:
    text = (ROOT / "docs" / "dagster.md").read_text().split("### Keys, groups, tags, and owners")[1]
    documented = yaml.safe_load(text.split("```yaml\n")[1].split("```")[0])["attributes"]["translation"]
    target = {**TARGET, "owner": "default", "group": "web shop"}
    attributes = {"target": target, "granularity": granularity, "translation": documented}
    definitions = definitions_from(attributes)
    (key,) = definitions.resolve_asset_graph().executable_asset_keys
    audit = definitions.resolve_asset_graph().get(key)
    group, name = encode("web shop"), "shop" if granularity == "target" else encode("web shop")
    assert key.path == ["quality", group, name]
    assert (audit.group_name, audit.tags["engine"], audit.owners) == (f"audits_{group}", "duckdb", ["team:default"])
    assert {check.asset_key for check in definitions.resolve_asset_graph().asset_check_keys} == {key}
    assert definitions.resolve_job_def("audit_shop").asset_layer.executable_asset_keys == {key}


def test_the_documented_days_fit_the_component_that_the_steps_add() -> None:
    page = (ROOT / "docs" / "dagster.md").read_text()
    (name,) = set(re.findall(r"dg scaffold defs dagster_tsaudit.AuditComponent (\w+)", page))
    config = load_run_config_yaml(page.split("### Past days")[1].split("```yaml\n")[1].split("```")[0])
    job = definitions_from({"target": TARGET, "name": name}).resolve_job_def(f"audit_{name}")
    ((_, op),) = config["ops"].items()
    assert dg.validate_run_config(job, config)
    assert len(list(audited_days(AuditConfig(days=op["config"]["days"])))) == 31


@pytest.mark.parametrize(
    ("schedules", "environment", "status"),
    [
        ("auto", "", "RUNNING"),
        ("auto", "1", "STOPPED"),
        ("running", "1", "RUNNING"),
        ("stopped", "", "STOPPED"),
    ],
)
def test_schedules_start_stopped_on_a_developers_machine(
    monkeypatch: pytest.MonkeyPatch, schedules: str, environment: str, status: str
) -> None:
    monkeypatch.setenv("DAGSTER_IS_DEV_CLI", environment)
    found = definitions_from({"target": TARGET, "schedules": schedules})
    (schedule,) = [s for s in found.schedules or () if isinstance(s, dg.ScheduleDefinition)]
    assert schedule.default_status.value == status


def test_the_component_describes_itself() -> None:
    spec = AuditComponent.get_spec()
    assert spec.owners
    assert {"data-quality", "influxdb1"} <= set(spec.tags)
    assert spec.description


def test_loading_needs_no_environment_variable_and_no_database(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TSAUDIT_TEST_NOT_SET", raising=False)
    definitions_from({"target": {**TARGET, "password": "${TSAUDIT_TEST_NOT_SET}"}})


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({}, "set either `config` or `target`"),
        ({"config": "a.yaml", "target": TARGET}, "set either `config` or `target`"),
        ({"target": {**TARGET, "engin": "duckdb"}}, "targets[0].engin: unknown key, did you mean engine?"),
        ({"config": "missing.yaml"}, "config `missing.yaml`: there is neither"),
        ({"target": TARGET, "schedule": "daily"}, "`shop`: schedule `daily` is not a cron expression"),
        ({"target": TARGET, "granularity": "table"}, "granularity"),
        ({"target": TARGET, "shard_size": 0}, "shard_size"),
        ({"target": TARGET, "confg": "x"}, "confg"),
    ],
)
def test_a_mistake_is_told_in_one_line(attributes: dict[str, Any], message: str) -> None:
    with pytest.raises(Exception) as caught:  # noqa: PT011 -- Dagster wraps it in errors of its own
        definitions_from(attributes)
    assert message in message_of(caught)


def test_scaffolding_says_what_comes_next(capsys: pytest.CaptureFixture[str]) -> None:
    with create_defs_folder_sandbox() as sandbox:
        params = {"engine": "sqlite", "target": "north", "url": "sqlite:///${NORTH_DB}"}
        path = sandbox.scaffold_component(component_cls=AuditComponent, defs_path="plants", scaffold_params=params)
    printed = capsys.readouterr().out
    assert "Set NORTH_DB in .env." in printed
    assert f"Complete {path / 'tsaudit.yaml'}" in printed
    assert "\ndg launch --assets tsaudit/north\n" in printed
    assert all(f"--{name} " in (AuditComponent.__doc__ or "") for name in AuditScaffoldParams.model_fields)


def test_scaffolding_writes_a_component_that_loads() -> None:
    with create_defs_folder_sandbox() as sandbox:
        path = sandbox.scaffold_component(
            component_cls=AuditComponent, defs_path="plants", scaffold_params={"engine": "sqlite", "target": "north"}
        )
        settings = config_file.load(path / "tsaudit.yaml")
        assert (settings.targets[0].name, settings.targets[0].engine) == ("north", "sqlite")
        assert Path(settings.report.folder).resolve() == (path / ".tsaudit" / "reports").resolve()
        with sandbox.load_component_and_build_defs(path) as (component, definitions):
            assert isinstance(component, AuditComponent)
            dg.Definitions.validate_loadable(definitions)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("url", [None, "http://${SHOP_USER}:${SHOP_PASSWORD}@db/shop"])
def test_scaffolding_writes_what_the_engine_needs(engine: str, url: str | None) -> None:
    """The variables in tsaudit.yaml are those in defs.yaml, and nothing is written outside the folder."""
    with create_defs_folder_sandbox() as sandbox:
        before = set(sandbox.project_root.rglob("*"))
        path = sandbox.scaffold_component(
            component_cls=AuditComponent, defs_path="audits/shop", scaffold_params={"engine": engine, "url": url}
        )
        config_file.load(path / "tsaudit.yaml", resolve_env=False)
        new = {p for p in sandbox.project_root.rglob("*") if p.is_file()} - before
        assert {p.name for p in new if p.parent == path} == {"defs.yaml", "tsaudit.yaml", ".gitignore"}
        assert all(p.parent == path for p in new)
        assert "../" not in (path / "tsaudit.yaml").read_text()
        assert proposed_limits(ENGINES[engine]) in (path / "tsaudit.yaml").read_text()
        active = [line for line in (path / "tsaudit.yaml").read_text().splitlines() if not line.strip().startswith("#")]
        used = sorted({name for line in active for name in re.findall(r"\$\{(\w+)\}", line)})
        defs = yaml.safe_load((path / "defs.yaml").read_text())
        assert defs.get("requirements", {}).get("env", []) == used
        assert ("SHOP_PASSWORD" in used) is (url is not None)
        assert ("TSAUDIT_SHOP_TOKEN" in used) is ENGINES[engine].signs_in_by_token
        with sandbox.load_component_and_build_defs(path) as (_, definitions):
            dg.Definitions.validate_loadable(definitions)


def test_scaffolding_proposes_limits_that_are_valid_once_they_are_uncommented() -> None:
    with create_defs_folder_sandbox() as sandbox:
        path = sandbox.scaffold_component(
            component_cls=AuditComponent, defs_path="audits/shop", scaffold_params={"engine": "sqlite"}
        )
        file = path / "tsaudit.yaml"
        proposed = proposed_limits(ENGINES["sqlite"])
        text = file.read_text()
        assert proposed in text
        file.write_text(text.replace(proposed, re.sub(r"^    # ", "    ", proposed, flags=re.MULTILINE)))
        (target,) = config_file.load(file, resolve_env=False).targets
        assert target.limits["high-series-cardinality.max_series"] == 500_000
        assert target.harm.max_bytes == 500_000_000_000


def test_scaffolding_keeps_what_audits_write_out_of_git() -> None:
    with create_defs_folder_sandbox() as sandbox:
        path = sandbox.scaffold_component(component_cls=AuditComponent, defs_path="audits/shop")
        settings = config_file.load(path / "tsaudit.yaml")
        written = [Path(settings.report.folder), Path(settings.history.get_secret_value().removeprefix("sqlite:///"))]
        subprocess.run(["git", "init", "-q"], cwd=sandbox.project_root, check=True)
        for file in (folder / "x" for folder in written):
            ignored = subprocess.run(["git", "check-ignore", "-q", str(file)], cwd=sandbox.project_root, check=False)
            assert ignored.returncode == 0, file


@pytest.mark.parametrize(
    ("engine", "url", "expected"),
    [
        ("postgresql", "postgresql://audit@db7/shop", "${TSAUDIT_SHOP_PASSWORD}"),
        ("greptimedb", "http://audit@db7:4000", "${TSAUDIT_SHOP_PASSWORD}"),
        ("postgresql", None, "${TSAUDIT_SHOP_PASSWORD}"),
        ("influxdb1", "http://db7:8086", None),
        ("postgresql", "postgresql://audit:${PW}@db7/shop", None),
    ],
)
def test_scaffolding_asks_for_the_password_of_a_user(engine: str, url: str | None, expected: str | None) -> None:
    with create_defs_folder_sandbox() as sandbox:
        params = {"engine": engine, "url": url}
        path = sandbox.scaffold_component(component_cls=AuditComponent, defs_path="shop", scaffold_params=params)
        (target,) = yaml.safe_load((path / "tsaudit.yaml").read_text())["targets"]
        assert target.get("password") == expected
        assert (target["owner"], target["schedule"]) == ("default", "0 6 * * *")


@pytest.mark.parametrize(
    ("engine", "url", "said"),
    [
        (
            "postgresql",
            "postgresql://me:hunter2@db/shop",
            "contains a password; write its variable's name in its place",
        ),
        ("postgresql", "postgresql://[db/shop", "--url is not an address: "),
        ("postgres", "postgresql://db/shop", "engine `postgres` is not supported, did you mean postgresql?"),
        ("oracle", None, "engine `oracle` is not supported; one of "),
    ],
)
def test_scaffolding_says_in_a_line_what_it_cannot_write(engine: Any, url: str | None, said: str) -> None:
    """`dg` prints an error of click as a line, and anything of pydantic as JSON."""
    params = {"engine": engine, "url": url}
    with create_defs_folder_sandbox() as sandbox, pytest.raises(click.UsageError) as caught:
        sandbox.scaffold_component(component_cls=AuditComponent, defs_path="shop", scaffold_params=params)
    assert said in caught.value.message
    assert "hunter2" not in caught.value.message


def test_scaffolding_keeps_a_tsaudit_yaml_that_is_there() -> None:
    with create_defs_folder_sandbox() as sandbox:
        folder = sandbox.defs_folder_path / "audits" / "shop"
        folder.mkdir(parents=True)
        (folder / "tsaudit.yaml").write_text("# mine\n")
        sandbox.scaffold_component(component_cls=AuditComponent, defs_path="audits/shop")
        assert (folder / "tsaudit.yaml").read_text() == "# mine\n"


def test_inline_settings_are_those_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TSAUDIT_TEST_SECRET", "s3cret")
    data = {"targets": [{**TARGET, "password": "${TSAUDIT_TEST_SECRET}", "budget": {"concurrency": 2}}]}
    settings = config_file.load_mapping(data, label="defs.yaml", folder=tmp_path)
    target = settings.targets[0]
    assert target.password is not None
    assert target.password.get_secret_value() == "s3cret"
    assert target.url.get_secret_value() == f"duckdb:///{tmp_path}/shop.duckdb"
    assert target.budget.concurrency == 2
    monkeypatch.delenv("TSAUDIT_TEST_SECRET")
    (target,) = config_file.load_mapping(data, label="defs.yaml", folder=tmp_path).targets
    assert target.unset.startswith(
        "defs.yaml: targets[0].password: the environment variable TSAUDIT_TEST_SECRET is not"
    )
