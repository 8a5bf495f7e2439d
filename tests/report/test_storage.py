"""Files arrive whole or not at all, wherever the folder is."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.report import sample
from tsaudit import report
from tsaudit.config import settings as config
from tsaudit.report.storage import Folder, ReportError


def files_below(folder: Path) -> set[str]:
    return {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}


def test_write_to_a_folder_leaves_exactly_the_files_promised(tmp_path: Path) -> None:
    location = sample.write_rich(config.Report(folder=str(tmp_path / "new" / "folder")))
    folder = tmp_path / "new" / "folder"
    assert {name for name in files_below(folder) if not name.startswith("rules/")} == {
        "index.html",
        "_index.json",
        "_targets/metrics-prod.json",
        "metrics-prod/2026-03-31.html",
        "metrics-prod/2026-03-31.json",
        "metrics-prod/latest.html",
    }
    assert location.path == str(folder / "metrics-prod/2026-03-31.html")
    assert location.url == Path(location.path).as_uri()
    assert (folder / "metrics-prod/latest.html").read_bytes() == Path(location.path).read_bytes()


def test_write_to_a_url_works_the_same(tmp_path: Path) -> None:
    settings = config.Report(folder="memory://reports/daily")
    location = sample.write_rich(settings)
    assert location.url == location.path == "memory:///reports/daily/metrics-prod/2026-03-31.html"
    here = sample.write_rich(config.Report(folder=str(tmp_path)))
    data = Folder("memory://reports/daily").read("metrics-prod/2026-03-31.html")
    assert data == Path(here.path).read_bytes()
    assert Folder("memory://reports/daily").read("index.html") == (tmp_path / "index.html").read_bytes()


@pytest.mark.parametrize("folder", ["memory://below", None])
def test_url_when_a_base_is_configured_lies_below_it(folder: str | None, tmp_path: Path) -> None:
    settings = config.Report(folder=folder or str(tmp_path), base_url="https://reports.example/ts/")
    assert sample.write_rich(settings).url == "https://reports.example/ts/metrics-prod/2026-03-31.html"


def test_files_can_be_read_by_whom_the_umask_lets(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("")
    Folder(str(tmp_path)).write("report.html", b"x")
    assert (tmp_path / "report.html").stat().st_mode == plain.stat().st_mode


def test_write_when_it_breaks_off_keeps_the_old_file_and_leaves_no_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Folder(str(tmp_path))
    folder.write("a/b.html", b"old")

    def broken(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", broken)
    with pytest.raises(ReportError, match=r"cannot write .*/a/b\.html: No space left .*; check `report\.folder`"):
        folder.write("a/b.html", b"new")
    assert files_below(tmp_path) == {"a/b.html"}
    assert (tmp_path / "a/b.html").read_bytes() == b"old"


def test_write_below_a_file_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ReportError) as caught:
        sample.write_rich(config.Report(folder=str(tmp_path / "file")))
    assert str(caught.value).count("\n") == 0
    assert str(tmp_path / "file") in str(caught.value)


def test_folder_of_an_unknown_kind_is_one_clear_line() -> None:
    with pytest.raises(ReportError, match=r"cannot open nowhere://x: .*nowhere.*; check `report\.folder`"):
        Folder("nowhere://x")


def test_error_never_shows_a_password() -> None:
    with pytest.raises(ReportError) as caught:
        Folder("nowhere://me:secret-9@host/x")
    assert "secret-9" not in str(caught.value)


def test_read_what_is_not_there_is_nothing(tmp_path: Path) -> None:
    folder = Folder(str(tmp_path))
    assert folder.read("absent.json") is None
    assert folder.versions("absent", ".json") == {}
    assert folder.read_all("absent", ["x"]) == {}
    (tmp_path / "d").mkdir()
    with pytest.raises(ReportError, match="cannot read"):
        folder.read("d")
    folder.delete("absent.json")


def test_read_all_when_the_folder_refuses_is_one_clear_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Folder(str(tmp_path))
    (tmp_path / "d").mkdir()

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("os.scandir", refuse)
    with pytest.raises(ReportError, match=r"cannot read .*: Permission denied"):
        folder.versions("d", ".json")
    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(ReportError, match=r"cannot read .*: Permission denied"):
        folder.read_all("d", ["x"])


def test_target_named_like_the_index_is_refused(tmp_path: Path) -> None:
    result = sample.the_result(target="index.html")
    with pytest.raises(ReportError, match="rename the target"):
        report.write(result, None, sample.empty_timeline(), (), config.Report(folder=str(tmp_path)))
