"""A folder with a database, a tsaudit.yaml, and the command to run in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

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
    write(Dataset([a_table(text_numbers=True)]), "sqlite", tmp_path / "shop.db")
    write(Dataset([a_table(text_numbers=False)]), "sqlite", tmp_path / "plant.db")
    (tmp_path / "tsaudit.yaml").write_text(CONFIG)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TSAUDIT_CONFIG", raising=False)
    return tmp_path


@pytest.fixture
def tsaudit(folder: Path) -> Tsaudit:
    """Runs the command in the folder."""

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(main, list(arguments), prog_name="tsaudit")

    return run
