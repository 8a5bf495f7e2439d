"""Old reports are deleted, and nothing else ever is."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import pytest

from tests.builders import DAY
from tests.databases import Dataset, Row, Table, times, write
from tsaudit import report, run
from tsaudit.config import settings as config
from tsaudit.config.settings import Settings
from tsaudit.history.store import Store
from tsaudit.report.storage import Folder, ReportError

OTHERS = ("latest.html", "notes.html", "2026-01-01.txt", "2026-13-01.html", "2026-01-01.html.bak", "x2026-01-01.html")


@pytest.fixture(params=["local", "memory"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Folder:
    """Reports of two targets, and other files beside them."""
    address = str(tmp_path / "reports") if request.param == "local" else f"memory://{tmp_path.name}"
    found = Folder(address)
    for back in (0, 1, 29, 30, 31, 400):
        for suffix in ("html", "json"):
            found.write(f"a/{DAY - timedelta(days=back)}.{suffix}", b"x")
    for name in OTHERS:
        found.write(f"a/{name}", b"x")
    found.write("a/2026-01-01/2020-01-01.html", b"x")
    found.write("b/2020-01-01.html", b"x")
    found.write("2020-01-01.html", b"x")
    return found


def days(folder: Folder, target: str = "a") -> set[int]:
    """How many days before the newest each report is."""
    names = [name for name in folder.versions(target, "") if name not in OTHERS]
    return {(DAY - date.fromisoformat(name.partition(".")[0])).days for name in names}


def remove(folder: Folder, target: str, newest: date, **settings: int) -> None:
    report.remove_old(target, config.Report(folder=folder.address, **settings), newest)


def test_reports_older_than_the_limit_are_deleted_and_no_other_file(folder: Folder) -> None:
    remove(folder, "a", DAY, keep_days=30)
    assert days(folder) == {0, 1, 29, 30}
    assert {name for name in folder.versions("a", "") if name in OTHERS} == set(OTHERS)
    assert folder.read("a/2026-01-01/2020-01-01.html") == b"x"
    assert (folder.read("b/2020-01-01.html"), folder.read("2020-01-01.html")) == (b"x", b"x")


def test_the_newest_of_a_target_stays_however_old_it_is(folder: Folder) -> None:
    remove(folder, "b", DAY, keep_days=1)
    assert folder.read("b/2020-01-01.html") == b"x"
    remove(folder, "a", DAY + timedelta(days=10_000), keep_days=1)
    assert days(folder) == {0}


def test_all_are_kept_without_a_limit(folder: Folder) -> None:
    remove(folder, "a", DAY)
    assert days(folder) == {0, 1, 29, 30, 31, 400}


def test_a_target_without_reports_is_fine(folder: Folder) -> None:
    remove(folder, "none", DAY, keep_days=1)


def test_audits_delete_old_reports_of_their_own_target(tmp_path: Path) -> None:
    rows = [Row(at, {"host": "a"}, {"v": 1.0}) for at in times(10)]
    target = write(Dataset([Table("cpu", ("host",), {"v": "float"}, rows)]), "sqlite", tmp_path / "a.db", name="a")
    settings = Settings(targets=[target], report=config.Report(folder=str(tmp_path / "reports"), keep_days=2))
    with Store.open(f"sqlite:///{tmp_path}/history.db") as store:
        for number in range(5):
            assert run.audit_target(target, settings, store, day=DAY + timedelta(days=number)).error is None
        assert {path.name for path in (tmp_path / "reports" / "a").glob("*-*.html")} == {
            f"{DAY + timedelta(days=number)}.html" for number in (2, 3, 4)
        }


def test_a_clock_that_jumps_ahead_deletes_no_reports(tmp_path: Path) -> None:
    rows = [Row(at, {"host": "a"}, {"v": 1.0}) for at in times(10)]
    target = write(Dataset([Table("cpu", ("host",), {"v": "float"}, rows)]), "sqlite", tmp_path / "a.db", name="a")
    settings = Settings(targets=[target], report=config.Report(folder=str(tmp_path / "reports"), keep_days=3))
    with Store.open(f"sqlite:///{tmp_path}/history.db") as store:
        for number in (*range(4), 300, 301):
            run.audit_target(target, settings, store, day=DAY + timedelta(days=number))
    assert {-days for days in days_of(tmp_path / "reports" / "a")} == {0, 1, 2, 3, 300, 301}


def test_the_report_of_a_past_day_stays_until_another_day_is_audited(tmp_path: Path) -> None:
    rows = [Row(at, {"host": "a"}, {"v": 1.0}) for at in times(10)]
    target = write(Dataset([Table("cpu", ("host",), {"v": "float"}, rows)]), "sqlite", tmp_path / "a.db", name="a")
    settings = Settings(targets=[target], report=config.Report(folder=str(tmp_path / "reports"), keep_days=2))
    with Store.open(f"sqlite:///{tmp_path}/history.db") as store:

        def audited(number: int) -> set[int]:
            done = run.audit_target(target, settings, store, day=DAY + timedelta(days=number))
            assert done.report is not None
            assert Path(done.report.path).is_file()
            return {-days for days in days_of(Path(done.report.path).parent)}

        assert audited(10) == {10}
        assert audited(0) == {0, 10}
        assert audited(5) == {5, 10}
        assert audited(11) == {10, 11}


def days_of(folder: Path) -> set[int]:
    return {(DAY - date.fromisoformat(path.stem)).days for path in folder.glob("*-*.html")}


def test_a_report_that_cannot_be_deleted_fails_the_run_and_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [Row(at, {"host": "a"}, {"v": 1.0}) for at in times(10)]
    target = write(Dataset([Table("cpu", ("host",), {"v": "float"}, rows)]), "sqlite", tmp_path / "a.db", name="a")
    settings = Settings(targets=[target], report=config.Report(folder=str(tmp_path / "reports"), keep_days=2))
    Folder(settings.report.folder).write("a/2020-01-01.html", b"x")

    def refuse(self: Folder, path: str) -> None:
        raise ReportError(f"cannot delete {path}: not permitted")

    monkeypatch.setattr(Folder, "delete", refuse)
    with Store.open(f"sqlite:///{tmp_path}/history.db") as store:
        done = run.audit_target(target, settings, store, day=DAY)
    assert done.report is not None
    assert done.error == "cannot delete a/2020-01-01.html: not permitted"
