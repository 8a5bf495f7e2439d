"""Who may read what tsaudit writes, whatever the umask says."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Tsaudit, folder, tsaudit
from tsaudit.history import deliveries
from tsaudit.history.store import Store
from tsaudit.report.storage import Folder

__all__ = ["folder", "tsaudit"]


def mode(file: Path) -> int:
    return file.stat().st_mode & 0o777


@pytest.fixture(autouse=True, params=[0o000, 0o022, 0o077], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


def test_a_history_and_what_is_beside_it_are_for_the_owner(tmp_path: Path) -> None:
    with Store.open(f"sqlite:///{tmp_path}/history.db") as store, deliveries.sole_sender(store.engine, 0):
        found = {file.name: mode(file) for file in tmp_path.iterdir()}
    assert {"history.db", "history.db-wal", "history.db-shm", "history.db.sender"} <= set(found)
    assert set(found.values()) == {0o600}


@pytest.mark.parametrize(("before", "after"), [(0o644, 0o600), (0o640, 0o600), (0o664, 0o660), (0o600, 0o600)])
def test_an_older_history_is_taken_away_from_others(tmp_path: Path, before: int, after: int) -> None:
    file = tmp_path / "history.db"
    Store.open(f"sqlite:///{file}").close()
    file.chmod(before)
    Store.open(f"sqlite:///{file}").close()
    assert mode(file) == after


@pytest.mark.parametrize(("permissions", "around"), [(0o640, 0o750), (0o644, 0o755), (0o600, 0o700)])
def test_reports_have_the_permissions_of_the_configuration(tmp_path: Path, permissions: int, around: int) -> None:
    given = mode(tmp_path)
    Folder(str(tmp_path / "new"), permissions).write("t/page.html", b"x")
    assert mode(tmp_path / "new/t/page.html") == permissions
    assert mode(tmp_path / "new/t") == mode(tmp_path / "new") == around
    assert mode(tmp_path) == given


def test_saved_profiles_have_them_too(tsaudit: Tsaudit, folder: Path) -> None:
    (folder / "tsaudit.yaml").write_text('report: {mode: "0600"}\n' + (folder / "tsaudit.yaml").read_text())
    (folder / "old.json").write_text("{}")
    (folder / "old.json").chmod(0o644)
    for name in ("new.json", "old.json"):
        assert tsaudit("collect", "plant", "-o", name).exit_code == 0
        assert mode(folder / name) == 0o600


@pytest.mark.parametrize("wrong", ["640", "0999", "rw-", "0040", "416"])
def test_permissions_that_are_none_are_refused(tsaudit: Tsaudit, folder: Path, wrong: str) -> None:
    (folder / "tsaudit.yaml").write_text(f"report: {{mode: {wrong}}}\n" + (folder / "tsaudit.yaml").read_text())
    done = tsaudit("check")
    assert done.exit_code == 2
    assert "report.mode" in done.stderr
