"""A folder with a database, a tsaudit.yaml, and the command to run in it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from tests.builders import DAY
from tests.command import CliRunner
from tests.databases import Dataset, Row, Table, times, write
from tsaudit.cli import main

Tsaudit = Callable[..., Result]

CONFIG = """\
incidents: {open_after: 1, resolve_after: 1}
targets:
  - name: shop
    engine: sqlite
    url: sqlite:///shop.db
  - name: plant
    engine: sqlite
    url: sqlite:///plant.db
"""


def a_table(*, text_numbers: bool) -> Table:
    """Five hosts; its numbers may be kept as text, which is worth a warning."""
    rows = [
        Row(at, {"host": f"host-{i % 5}"}, {"usage": f"{i / 7:.3f}" if text_numbers else i / 7})
        for i, at in enumerate(times(300))
    ]
    return Table(
        "cpu", tags=("host",), fields={"usage": "string" if text_numbers else "float"}, rows=rows, key=("time", "host")
    )


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: `shop` has something wrong with it, `plant` has not."""
    _fill(tmp_path, monkeypatch)
    return tmp_path


def _fill(folder: Path, patch: pytest.MonkeyPatch) -> None:
    write(Dataset([a_table(text_numbers=True)]), "sqlite", folder / "shop.db")
    write(Dataset([a_table(text_numbers=False)]), "sqlite", folder / "plant.db")
    (folder / "tsaudit.yaml").write_text(CONFIG)
    patch.chdir(folder)
    patch.delenv("TSAUDIT_CONFIG", raising=False)


@pytest.fixture(scope="session")
def audited_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As `folder`, and audited on `DAY`; each test has a copy."""
    path = tmp_path_factory.mktemp("audited")
    with pytest.MonkeyPatch.context() as patch:
        _fill(path, patch)
        CliRunner().invoke(main, ["audit", "--day", DAY.isoformat(), "--no-notify"], prog_name="tsaudit")
    return path


@pytest.fixture
def fingerprint(audited_folder: Path, folder: Path, tsaudit: Tsaudit) -> str:
    """Of the open incident in the folder, which is audited."""
    shutil.copytree(audited_folder, folder, dirs_exist_ok=True)
    (found,) = json.loads(tsaudit("incidents", "--format", "json").stdout)
    assert (found["target"], found["state"], found["decision"]) == ("shop", "open", None)
    return str(found["fingerprint"])


@pytest.fixture
def tsaudit(folder: Path) -> Tsaudit:
    """Runs the command in the folder."""

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(main, list(arguments), prog_name="tsaudit")

    return run
