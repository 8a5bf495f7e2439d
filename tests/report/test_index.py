"""The index: every target's newest audit, whoever writes when."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.builders import DAY, a_finding, a_result, a_rule_result
from tests.report import sample
from tsaudit import report
from tsaudit.config import settings as config
from tsaudit.history import lease
from tsaudit.history.store import Store
from tsaudit.model.figures import Gap, Reason, Subject
from tsaudit.model.finding import Forecast, Outcome, Verdict
from tsaudit.model.jsonfile import to_json
from tsaudit.report import index
from tsaudit.report.storage import Folder, ReportError


def an_entry(target: str = "demo", **changes: Any) -> index.IndexEntry:
    return index.IndexEntry(
        **{
            "target": target,
            "engine": "duckdb",
            "day": DAY,
            "audited_at": datetime(2026, 3, 31, tzinfo=UTC),
            "verdict": Verdict.WARNING,
            "headline": "Something is wrong.",
            "counts": {"critical": 0, "warning": 2, "note": 0},
            "series": 12,
            "trend": (1.0, 2.0, 3.0),
            "href": f"{target}/latest.html",
        }
        | changes
    )


def shown(folder: Path) -> str:
    return (folder / index.PAGE).read_text(encoding="utf-8")


def test_entry_tells_what_the_report_tells() -> None:
    contents = sample.the_contents()
    entry = index.entry_of(contents)
    assert (entry.target, entry.day, entry.verdict) == (sample.TARGET, DAY, Verdict.CRITICAL)
    assert entry.headline == contents.summary.headline
    assert entry.counts == {"critical": 1, "warning": 2, "note": 1}
    assert entry.series == 83_906
    assert entry.trend[-1] == 83_906
    assert len(entry.trend) == 29


def test_page_lists_the_worst_first_and_says_who_is_behind() -> None:
    entries = [
        an_entry("fine", verdict=Verdict.OK),
        an_entry("lost", verdict=Verdict.UNKNOWN, series=None),
        an_entry("bad", verdict=Verdict.CRITICAL, counts={"critical": 3, "warning": 1, "note": 0}),
        an_entry("old", day=DAY - timedelta(days=3)),
    ]
    page = index.page(*index.listed({e.target + ".json": to_json(e) for e in entries}))
    places = [page.index(f'href="{name}/latest.html"') for name in ("bad", "old", "lost", "fine")]
    assert places == sorted(places)
    assert "3 days behind" in page
    assert "4 targets" in page


def order(*entries: index.IndexEntry) -> list[str]:
    page = index.page(*index.listed({e.target + ".json": to_json(e) for e in entries}))
    return re.findall(r'href="([^"]+)/latest.html"', page)


def test_most_urgent_come_first_by_verdict_then_time_left_then_series() -> None:
    critical, warn = Verdict.CRITICAL, Verdict.WARNING
    entries = [
        an_entry("big-index", verdict=warn, affected=9e6),
        an_entry("slow-runaway", verdict=warn, days_left=90.0, affected=10.0),
        an_entry("runaway", verdict=warn, days_left=3.0),
        an_entry("full", verdict=warn, days_left=0.0),
        an_entry("small", verdict=warn, affected=10.0),
        an_entry("not-known", verdict=warn, affected=None),
        an_entry("calm-critical", verdict=critical),
        an_entry("lost", verdict=Verdict.UNKNOWN),
    ]
    expected = ["calm-critical", "full", "runaway", "slow-runaway", "big-index", "small", "not-known", "lost"]
    assert order(*entries) == order(*reversed(entries)) == expected


def test_entry_of_what_could_not_be_evaluated_says_why() -> None:
    gap = Gap("row_sample", Reason.DENIED, "the account may not read it", "telegraf", "disk")
    result = a_result(a_rule_result(outcome=Outcome.OPEN, gaps=(gap,)), a_rule_result(code="CAR004"))
    entry = index.entry_of(sample.the_contents(result=result, incidents=()))
    assert entry.verdict is Verdict.UNKNOWN
    assert entry.headline.endswith(
        "1 only in part. 1 rule was evaluated only in part on telegraf/disk: the account may not read it."
    )


def test_entry_takes_its_urgency_from_what_decides_the_verdict() -> None:
    """Neither from a milder finding, nor from one that somebody has muted."""

    def entry(**changes: Any) -> index.IndexEntry:
        return index.entry_of(sample.the_contents(**changes), "platform")

    rich = entry()
    assert (rich.days_left, rich.affected) == (9.2, pytest.approx(81_412 * 0.977))
    assert rich.owners == ("web-platform", "platform")
    muted = sample.an_incident(
        "CAR001", sample.HTTP, sample.the_findings()["CAR001"], decision=sample.the_incidents()[3].decision
    )
    assert entry(incidents=(muted,)).days_left is None
    lost = index.entry_of(sample.the_contents(result=sample.unreachable(), profile=None, incidents=()), "platform")
    assert (lost.owner, lost.days_left, lost.affected) == ("platform", None, None)


@pytest.mark.parametrize(
    ("observed", "unit", "left"),
    [(100_000.0, "series", 0.0), (99_999.0, "series", 9.0), (200_000.0, "tables", 9.0)],
    ids=["at the limit", "just below", "not series"],
)
def test_no_time_is_left_where_the_series_have_reached_their_limit(observed: float, unit: str, left: float) -> None:
    forecast = Forecast(1e6, 9.0, 7.0, 13.0, 0.1, None, "steady", False)
    limit = sample.a_limit(100_000, unit=unit)
    finding = a_finding(Subject("telegraf", "cpu"), observed=observed, unit=unit, limit=limit, forecast=forecast)
    entry = index.entry_of(sample.the_contents(result=a_result(a_rule_result(finding)), incidents=()))
    assert entry.days_left == left


def test_entry_of_an_earlier_version_can_be_read() -> None:
    new = json.loads(to_json(an_entry("older")))
    old = {name: value for name, value in new.items() if name not in ("owners", "days_left", "affected")}
    assert "older/latest.html" in index.page(*index.listed({"older.json": json.dumps(old).encode()}))


def test_owners_of_all_findings_can_be_chosen() -> None:
    page = index.page(*index.listed({"a.json": to_json(an_entry("a", owners=("iot", "web")))}))
    assert "<option>iot</option><option>web</option>" in page
    assert 'data-owner="iot|web"' in page


@pytest.mark.parametrize(
    ("count", "name", "headline"),
    [
        (10_000, "t{:05}", "Series grew from 768 to 36,096, main contributor request_id (98%), since 2026-11-11"),
        (10_000, "a-rather-long-name-of-a-target-in-a-data-center-{:05}", "x & y < z " * 40),
        (1_000, "t{:05}", "\u202e<&" * 200),
    ],
    ids=["usual", "long", "hostile"],
)
def test_page_of_very_many_stays_small_and_loses_none(count: int, name: str, headline: str) -> None:
    owners = [(), ("iot",), ("web", "iot")]
    wave = tuple(1_000_000 + 999.0 * n for n in range(index.SPARK_POINTS))
    entries = [
        an_entry(name.format(n), headline=headline, trend=wave, owners=owners[n % 3], series=10**9,
                 verdict=Verdict.OK if n % 10 else Verdict.CRITICAL) for n in range(count)
    ]  # fmt: skip
    page = index.page(*index.listed({e.target + ".json": to_json(e) for e in entries}))
    assert len(page.encode()) < 1_000_000
    links = re.findall(r'href="([^"]+)/latest.html"', page)
    left_out = re.search(r"([\d,]+) more targets without room", page)
    assert len(set(links)) == len(links)
    assert len(links) + (int(left_out[1].replace(",", "")) if left_out else 0) == count
    assert page.count("<tr ") >= index.LEAST_ROWS
    # The critical ones come first, in rows or by name.
    critical = {e.target for e in entries if e.verdict is Verdict.CRITICAL}
    assert set(links[: len(critical)]) == critical


def test_page_of_nothing_is_a_page() -> None:
    assert "0 targets" in index.page([], [])


def test_page_names_entries_it_cannot_read() -> None:
    page = index.page(*index.listed({"good.json": to_json(an_entry("good")), "broken.json": b"{"}))
    assert "good/latest.html" in page
    assert "broken.json" in page


def test_headline_of_a_hostile_target_is_harmless() -> None:
    page = index.page(
        *index.listed({"x.json": to_json(an_entry(headline=f"<script>alert(1)</script> {sample.HOSTILE}"))})
    )
    assert "<script>alert" not in page
    assert "\u202e" not in page


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(f"sqlite:///{tmp_path}/history.db") as store:
        yield store


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(str(tmp_path / "reports"))


def listed(folder: Folder) -> set[str]:
    """Targets on the page."""
    return set(re.findall(r'href="([^"]+)/latest.html"', (folder.read(index.PAGE) or b"").decode()))


def test_writers_of_different_targets_at_once_lose_no_row(store: Store, folder: Folder) -> None:
    names = [f"target-{n:02}" for n in range(12)]
    start = threading.Barrier(len(names))

    def write(name: str) -> None:
        start.wait()
        index.write_entry(folder, an_entry(name))
        index.write_page(folder, store)

    with ThreadPoolExecutor(len(names)) as pool:
        list(pool.map(write, names))
    assert listed(folder) == set(names)


def test_page_of_a_slow_writer_does_not_replace_a_newer_one(
    store: Store, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worst order: another process wants to write the page after we read the entries and before we write it."""
    original, others = Folder.write, list[threading.Thread]()

    def write(self: Folder, path: str, data: bytes) -> None:
        if path == index.PAGE and not others:
            index.write_entry(folder, an_entry("other"))
            others.append(threading.Thread(target=index.write_page, args=(folder, store)))
            others[0].start()
            others[0].join(0.5)
        original(self, path, data)

    monkeypatch.setattr(Folder, "write", write)
    index.write_entry(folder, an_entry("mine"))
    index.write_page(folder, store)
    others[0].join()
    assert listed(folder) == {"mine", "other"}


def test_page_is_left_to_another_writer_that_does_not_end(
    store: Store, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "_WAIT_S", 0.0)
    held = lease.held(store, lease.identity_of_folder(folder.address), 0.0)
    with held, pytest.raises(ReportError, match=r"index\.html was not written: others have been writing it"):
        index.write_page(folder, store)
    index.write_page(folder, store)


def test_entries_of_a_killed_run_are_on_the_next_page(store: Store, folder: Folder) -> None:
    index.write_entry(folder, an_entry("killed"))
    assert folder.read(index.PAGE) is None
    index.write_entry(folder, an_entry("next"))
    index.write_page(folder, store)
    assert listed(folder) == {"killed", "next"}


def test_page_reads_only_the_entries_that_have_changed(
    store: Store, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("same", "changed", "removed"):
        index.write_entry(folder, an_entry(name))
    index.write_page(folder, store)
    original, asked = Folder.read_all, list[str]()

    def read_all(self: Folder, subfolder: str, names: Iterable[str]) -> dict[str, bytes]:
        asked.extend(names)
        return original(self, subfolder, names)

    monkeypatch.setattr(Folder, "read_all", read_all)
    index.write_entry(folder, an_entry("changed", headline="Now it is something else."))
    Path(folder.address, "_targets/removed.json").unlink()
    index.write_page(folder, store)
    assert asked == ["changed.json"]
    assert listed(folder) == {"same", "changed"}
    assert b"Now it is something else." in (folder.read(index.PAGE) or b"")


@pytest.mark.parametrize("kept", [b"", b"{", b"[]", b'{"a.json": 1}', b'{"a.json": ["mark"]}', b"\xff"])
def test_page_is_whole_whatever_was_kept(store: Store, folder: Folder, kept: bytes) -> None:
    folder.write(index.SEEN, kept)
    index.write_entry(folder, an_entry("a"))
    index.write_page(folder, store)
    index.write_page(folder, store)
    assert listed(folder) == {"a"}


def test_older_day_when_audited_again_does_not_replace_the_newest(tmp_path: Path) -> None:
    settings = config.Report(folder=str(tmp_path))
    sample.write_rich(settings)
    latest = (tmp_path / sample.TARGET / "latest.html").read_bytes()
    older = replace(sample.the_result(), day=date(2026, 2, 1), results=())
    location = report.write(older, None, sample.empty_timeline(), (), settings, is_newest=False)
    assert location.path.endswith("2026-02-01.html")
    assert (tmp_path / sample.TARGET / "latest.html").read_bytes() == latest
    assert "2026-03-31" in shown(tmp_path)
    assert "2026-02-01" not in shown(tmp_path)


def test_broken_entry_does_not_stop_the_next_audit(tmp_path: Path) -> None:
    Folder(str(tmp_path)).write(f"_targets/{sample.TARGET}.json", b"not JSON")
    sample.write_rich(config.Report(folder=str(tmp_path)))
    assert f"{sample.TARGET}/latest.html" in shown(tmp_path)


def test_time_left_is_the_same_on_the_index_and_in_the_report() -> None:
    """Not `1 day` here and `13 hours left` there."""
    entries = [an_entry("soon", days_left=13 / 24), an_entry("later", days_left=9.2)]
    page = index.page(*index.listed({e.target + ".json": to_json(e) for e in entries}))
    assert ">13 hours<" in page
    assert ">9 days<" in page
