"""The index: every target's newest audit, whoever writes when."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.builders import DAY
from tests.report import sample
from tsaudit import report
from tsaudit.config import settings as config
from tsaudit.model.finding import Verdict
from tsaudit.model.jsonfile import to_json
from tsaudit.report import index
from tsaudit.report.publish import Folder


def an_entry(target: str = "demo", **changes: Any) -> index.Entry:
    return index.Entry(
        **{
            "target": target,
            "engine": "duckdb",
            "day": DAY,
            "audited_at": datetime(2026, 3, 31, tzinfo=UTC),
            "verdict": Verdict.WARN,
            "headline": "Something is wrong.",
            "counts": {"critical": 0, "warn": 2, "info": 0},
            "series": 12,
            "trend": (1.0, 2.0, 3.0),
            "href": f"{target}/latest.html",
        }
        | changes
    )


def shown(folder: Path) -> str:
    return (folder / index.PAGE).read_text(encoding="utf-8")


def test_entry_tells_what_the_report_tells() -> None:
    story = sample.the_story()
    entry = index.entry_of(story)
    assert (entry.target, entry.day, entry.verdict) == (sample.TARGET, DAY, Verdict.CRITICAL)
    assert entry.headline == story.headline
    assert entry.counts == {"critical": 1, "warn": 2, "info": 1}
    assert entry.series == 83_906
    assert entry.trend[-1] == 83_906
    assert len(entry.trend) == 29


def test_page_lists_the_worst_first_and_says_who_is_behind() -> None:
    entries = [
        an_entry("fine", verdict=Verdict.OK),
        an_entry("lost", verdict=Verdict.UNKNOWN, series=None),
        an_entry("bad", verdict=Verdict.CRITICAL, counts={"critical": 3, "warn": 1, "info": 0}),
        an_entry("old", day=DAY - timedelta(days=3)),
    ]
    page = index.page({e.target + ".json": to_json(e) for e in entries})
    places = [page.index(f'href="{name}/latest.html"') for name in ("bad", "old", "lost", "fine")]
    assert places == sorted(places)
    assert "3 days behind" in page
    assert "4 targets" in page


def test_page_of_very_many_lists_the_rest_by_name() -> None:
    entries = [an_entry(f"t{n:04}", verdict=Verdict.OK) for n in range(index.MOST_ROWS)] + [an_entry("zz")]
    page = index.page({e.target + ".json": to_json(e) for e in entries})
    assert page.index("zz/latest.html") < page.index("1 more target, in short") < page.index("t0999/latest.html")
    assert f"{index.MOST_ROWS + 1:,} targets" in page


def test_page_of_nothing_is_a_page() -> None:
    assert "0 targets" in index.page({})


def test_page_names_entries_it_cannot_read() -> None:
    page = index.page({"good.json": to_json(an_entry("good")), "broken.json": b"{"})
    assert "good/latest.html" in page
    assert "broken.json" in page


def test_headline_of_a_hostile_target_is_harmless() -> None:
    page = index.page({"x.json": to_json(an_entry(headline=f"<script>alert(1)</script> {sample.HOSTILE}"))})
    assert "<script>alert" not in page
    assert "\u202e" not in page


def test_writers_of_different_targets_at_once_lose_no_row(tmp_path: Path) -> None:
    names = [f"target-{n:02}" for n in range(12)]
    start = threading.Barrier(len(names))
    failures: list[BaseException] = []

    def write(name: str) -> None:
        try:
            start.wait()
            index.update(Folder(str(tmp_path)), an_entry(name))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert [name for name in names if f'href="{name}/latest.html"' not in shown(tmp_path)] == []


def test_page_written_over_by_a_slower_writer_is_mended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worst order: another writer finishes between our reading of the entries and our writing of the page."""
    original = Folder.write
    done: list[str] = []

    def write(self: Folder, path: str, data: bytes) -> None:
        if path == index.PAGE and not done:
            done.append("other")
            index.update(Folder(str(tmp_path)), an_entry("other"))
        original(self, path, data)

    monkeypatch.setattr(Folder, "write", write)
    index.update(Folder(str(tmp_path)), an_entry("mine"))
    assert "other/latest.html" in shown(tmp_path)
    assert "mine/latest.html" in shown(tmp_path)


def test_page_while_others_keep_writing_is_left_to_the_last_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original, count = Folder.write, iter(range(1_000))

    def write(self: Folder, path: str, data: bytes) -> None:
        if path == index.PAGE:
            original(self, f"_targets/other-{next(count)}.json", to_json(an_entry()))
        original(self, path, data)

    monkeypatch.setattr(Folder, "write", write)
    index.update(Folder(str(tmp_path)), an_entry("mine"))
    assert next(count) < 10
    assert "mine/latest.html" in shown(tmp_path)


def test_older_day_when_audited_again_does_not_replace_the_newest(tmp_path: Path) -> None:
    settings = config.Report(folder=str(tmp_path))
    sample.write_rich(settings)
    latest = (tmp_path / sample.TARGET / "latest.html").read_bytes()
    older = replace(sample.the_result(), day=date(2026, 2, 1), results=())
    location = report.write(older, None, sample.empty_timeline(), (), settings)
    assert location.path.endswith("2026-02-01.html")
    assert (tmp_path / sample.TARGET / "latest.html").read_bytes() == latest
    assert "2026-03-31" in shown(tmp_path)
    assert "2026-02-01" not in shown(tmp_path)


def test_broken_entry_does_not_stop_the_next_audit(tmp_path: Path) -> None:
    Folder(str(tmp_path)).write(f"_targets/{sample.TARGET}.json", b"not JSON")
    sample.write_rich(config.Report(folder=str(tmp_path)))
    assert f"{sample.TARGET}/latest.html" in shown(tmp_path)
