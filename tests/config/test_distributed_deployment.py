"""What `tsaudit check` says of files when runs are launched on other machines."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tsaudit.config.file import load_mapping
from tsaudit.config.pitfalls import distributed_deployment

CELERY = Path(__file__).parents[2] / "deploy" / "celery" / "dagster.yaml"
OF_SQLITE = {"name": "a", "engine": "sqlite", "url": "sqlite:///a.db"}
OF_POSTGRESQL = {"name": "b", "engine": "postgresql", "url": "postgresql://db/x"}
SHARED = {"history": "postgresql://db/tsaudit", "report": {"folder": "s3://audits/tsaudit"}}


def said(home: Path | None, *targets: dict[str, Any], **top: Any) -> list[str]:
    settings = load_mapping({"targets": list(targets), **top}, label="x", folder=Path("/"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DAGSTER_HOME", str(home or ""))
        return list(distributed_deployment(settings, settings.targets))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    shutil.copy(CELERY, tmp_path / "dagster.yaml")
    return tmp_path


def test_files_are_named(home: Path) -> None:
    history, folder, targets = said(home, OF_SQLITE, OF_POSTGRESQL, OF_SQLITE | {"name": "c"})
    assert history.startswith("history: CeleryRunLauncher launches runs on other machines")
    assert folder.startswith("report.folder: ")
    assert targets.startswith("a, c: ")
    assert "2 targets are files on one" in targets


def test_what_all_machines_share_is_fine(home: Path) -> None:
    tagged = OF_SQLITE | {"run_tags": {"dagster-celery/queue": "edge"}}
    assert said(home, OF_POSTGRESQL, tagged, **SHARED) == []
    (only,) = said(home, OF_SQLITE, **SHARED)
    assert "1 target is a file on one" in only


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "run_launcher: x",
        "run_launcher: {class: 3}",
        "a: [",
        "run_launcher: {module: dagster, class: DefaultRunLauncher}",
        "telemetry: {enabled: false}",
    ],
)
def test_one_machine_or_no_launcher_that_is_known(tmp_path: Path, text: str) -> None:
    (tmp_path / "dagster.yaml").write_text(text)
    assert said(tmp_path, OF_SQLITE) == []


def test_no_home_and_one_without_a_file(tmp_path: Path) -> None:
    assert said(None, OF_SQLITE) == []
    assert said(tmp_path / "missing", OF_SQLITE) == []
