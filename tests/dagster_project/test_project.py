"""The project as Dagster finds it: both ways to load it agree, and the instance's settings are valid."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import dagster as dg
import yaml

from dagster_project.definitions import defs
from dagster_tsaudit.checks import check_names

ROOT = Path(__file__).parents[2]


def test_workspace_and_pyproject_load_the_same_code_location() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["dg"]["project"]
    (entry,) = yaml.safe_load((ROOT / "workspace.yaml").read_text())["load_from"]
    module = entry["python_module"]
    assert module["module_name"] == f"{project['root_module']}.definitions"
    assert module["location_name"] == project["code_location_name"]


def test_the_shipped_definitions_are_loadable() -> None:
    definitions = defs()
    dg.Definitions.validate_loadable(definitions)
    graph = definitions.resolve_asset_graph()
    assert graph.executable_asset_keys == {dg.AssetKey(["tsaudit", "demo"]), dg.AssetKey(["demo", "database"])}
    assert graph.get(dg.AssetKey(["tsaudit", "demo"])).parent_keys == {dg.AssetKey(["demo", "database"])}
    checks = 2 * len(check_names(["duckdb"]))
    assert len(graph.asset_check_keys) == checks, "on the audit, and on the asset of the owner"


def test_loading_the_code_location_imports_no_driver_and_no_sqlalchemy() -> None:
    heavy = ("sqlalchemy", "duckdb", "pyarrow", "numpy", "slack_sdk")
    code = (
        "import sys; from dagster_project.definitions import defs; import dagster; before = set(sys.modules); "
        f"d = defs(); d.resolve_all_job_defs(); print([m for m in {heavy} if m in set(sys.modules) - before])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.strip() == "[]"


def test_the_instance_settings_are_valid_and_telemetry_is_off(tmp_path: Path) -> None:
    shutil.copy(ROOT / "dagster.yaml", tmp_path)
    with dg.DagsterInstance.from_config(str(tmp_path)) as instance:
        assert not instance.telemetry_enabled
        assert not instance.nux_enabled
        assert instance.run_monitoring_enabled
        assert instance.get_concurrency_config().pool_config.default_pool_limit == 1


def test_dg_itself_sends_nothing_once_dagster_home_is_set(tmp_path: Path) -> None:
    shutil.copy(ROOT / "dagster.yaml", tmp_path)
    code = "from dagster_shared.telemetry import get_telemetry_enabled_from_dagster_yaml as on; print(on())"
    environment = os.environ | {"DAGSTER_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, cwd=tmp_path, check=True
    )
    assert done.stdout.strip() == "False"


def test_annotations_in_the_code_location_are_real() -> None:
    postponed = re.compile(r"^from __future__ import annotations", re.MULTILINE)
    files = [p for package in ("dagster_tsaudit", "dagster_project") for p in (ROOT / package).rglob("*.py")]
    found = [p for p in files if postponed.search(p.read_text())]
    assert found == [], "Dagster reads annotations at run time"
