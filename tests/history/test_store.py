"""Snapshots: what is saved is had back, a day is one snapshot, and neither crash nor rival leaves half of one."""

from __future__ import annotations

import math
import secrets
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import pytest
from sqlalchemy import func, select, text, update

from tests.builders import (
    DAY,
    NOW,
    a_field,
    a_finding,
    a_measurement,
    a_profile,
    a_result,
    a_rule_result,
    a_tag,
)
from tsaudit.history.database import HistoryError
from tsaudit.history.schema import figure, snapshot
from tsaudit.history.store import Packer, Store, stored_subject, subject_from
from tsaudit.model.figures import Gap, Reason, Subject
from tsaudit.model.finding import UNREACHABLE_CODE, AuditResult, Outcome
from tsaudit.model.jsonfile import to_json
from tsaudit.model.profile import Profile
from tsaudit.model.timeline import Point, figures

ROOT = Path(__file__).parents[2]
CPU = Subject("main", "cpu")

_HALF_A_SAVE = """
import sys, time
from dataclasses import replace
from sqlalchemy import event
from tests.builders import a_measurement, a_profile, a_result
from tsaudit.history.store import Store

store = Store.open(sys.argv[1])

@event.listens_for(store.engine, "before_cursor_execute")
def stop(connection, cursor, statement, *rest):
    if statement.startswith("INSERT INTO figure"):
        print("half", flush=True)
        time.sleep(60)

store.save(a_profile(a_measurement(series=9)), a_result(), None)
"""


def on(days: int) -> date:
    return DAY + timedelta(days=days)


def profile_on(days: int, series: int = 3, **changes: object) -> Profile:
    return a_profile(a_measurement(series=series), day=on(days), **changes)


def save(store: Store, days: int, series: int = 3, **changes: object) -> None:
    store.save(profile_on(days, series, **changes), a_result(day=on(days)), None)


def unreachable(days: int) -> AuditResult:
    rule = a_rule_result(a_finding(Subject()), code=UNREACHABLE_CODE, outcome=Outcome.ERROR)
    return a_result(rule, day=on(days))


def figures_kept(store: Store) -> int:
    with store.reading() as connection:
        return connection.execute(select(func.count()).select_from(figure)).scalar_one()


def test_save_gives_back_what_was_saved(store: Store) -> None:
    profile, result = a_profile(), a_result(a_rule_result(a_finding()))
    store.save(profile, result, "https://reports/demo")
    assert store.profile("demo", DAY) == profile
    assert store.result("demo", DAY) == result
    assert store.days("demo") == [DAY]
    assert store.targets() == ["demo"]
    assert figures_kept(store) == len(list(figures(profile)))


def test_history_when_nothing_was_saved(store: Store) -> None:
    assert store.profile("demo", DAY) is None
    assert store.result("demo", DAY) is None
    assert store.days("demo") == []
    assert store.timeline("demo", DAY).points == {}
    assert store.timeline("demo", DAY).previous is None
    assert store.trend("demo", "series", CPU, 30, DAY) == ()


def test_save_of_the_same_day_replaces(store: Store) -> None:
    save(store, 0, series=3)
    smaller = a_profile(a_measurement("disk", series=5))
    store.save(smaller, a_result(), None)
    assert store.profile("demo", DAY) == smaller
    assert store.days("demo") == [DAY]
    assert store.trend("demo", "series", CPU, 1, DAY) == ()
    assert figures_kept(store) == len(list(figures(smaller)))


def test_save_of_the_same_audit_only_notes_the_report(store: Store) -> None:
    profile = a_profile()
    store.save(profile, a_result(), None)
    store.save(profile, a_result(), "https://reports/demo")
    with store.reading() as connection:
        assert connection.execute(select(snapshot.c.report_url)).scalars().all() == ["https://reports/demo"]
    assert store.profile("demo", DAY) == profile
    assert figures_kept(store) == len(list(figures(profile)))


def test_save_of_a_failed_later_run_keeps_what_was_measured(store: Store) -> None:
    save(store, 0)
    store.save(None, unreachable(0), None)
    assert store.profile("demo", DAY) == profile_on(0)
    assert store.result("demo", DAY) == unreachable(0)
    assert store.timeline("demo", on(1)).previous == profile_on(0)
    assert store.trend("demo", "series", CPU, 1, DAY) == (Point(DAY, 3.0),)
    with store.reading() as connection:
        assert connection.execute(select(snapshot.c.verdict, snapshot.c.schema_complete)).one() == ("unknown", 1)


def test_save_after_a_failed_run_of_the_day_replaces_it(store: Store) -> None:
    store.save(None, unreachable(0), None)
    assert store.profile("demo", DAY) is None
    assert store.timeline("demo", on(1)).points == {}
    save(store, 0)
    assert store.profile("demo", DAY) == profile_on(0)
    assert store.result("demo", DAY) == a_result()


def test_targets_and_days_are_kept_apart_and_sorted(store: Store) -> None:
    for name, days in (("b", 1), ("b", 0), ("a", 5)):
        store.save(profile_on(days, target=name), a_result(target=name, day=on(days)), None)
    assert store.targets() == ["a", "b"]
    assert store.days("b") == [on(0), on(1)]
    assert store.profile("a", on(0)) is None
    assert store.timeline("a", on(9)).of("series", CPU) == (Point(on(5), 3.0),)


def test_timeline_ends_before_the_day_and_begins_days_earlier(store: Store) -> None:
    for days in (-3, -2, -1, 0, 1):
        save(store, days, series=10 + days)
    timeline = store.timeline("demo", DAY, days=2)
    assert timeline.of("series", CPU) == (Point(on(-2), 8.0), Point(on(-1), 9.0))
    assert timeline.previous == profile_on(-1, 9)
    assert set(timeline.points) == {(f.name, f.subject) for f in figures(a_profile())}
    assert len(timeline.points) == len(list(figures(a_profile())))
    assert timeline.of("series", Subject("main", "disk")) == ()


def test_timeline_reaches_back_ninety_days(store: Store) -> None:
    save(store, -91)
    save(store, -90)
    timeline = store.timeline("demo", DAY)
    assert timeline.of("series", CPU) == (Point(on(-90), 3.0),)
    assert timeline.previous == profile_on(-90)


@pytest.mark.parametrize("fact", ["databases", "measurements", "columns", "tag_keys", "field_types"])
def test_previous_skips_a_snapshot_that_does_not_show_the_whole_schema(store: Store, fact: str) -> None:
    save(store, -2)
    save(store, -1, gaps=(Gap(fact, Reason.DENIED, "no right"),))
    assert store.timeline("demo", DAY).previous == profile_on(-2)
    assert store.timeline("demo", DAY).of("series", CPU) == (Point(on(-2), 3.0), Point(on(-1), 3.0))


def audited(store: Store, days: int, ago: timedelta, tags: int) -> None:
    """Save the day's audit, made so long before now, when the table had so many tags."""
    found = a_profile(
        a_measurement(tags=tuple(a_tag(f"t{n}") for n in range(tags))), day=on(days), collected_at=NOW - ago
    )
    store.save(found, a_result(day=on(days), audited_at=NOW - ago), None)


def test_what_a_catalog_said_is_as_of_the_audit(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Yesterday, audited again after today or right before it, shows the catalog of today."""
    monkeypatch.setattr("tsaudit.history.store.utc_now", lambda: NOW)
    day = timedelta(days=1)

    def known() -> tuple[list[int], list[int], int | None]:
        timeline = store.timeline("demo", DAY)
        points = (timeline.of(name, CPU) for name in ("tags", "rows"))
        tags, rows = ([(DAY - point.day).days for point in one] for one in points)
        return tags, rows, (DAY - timeline.previous.day).days if timeline.previous else None

    audited(store, -1, timedelta(minutes=2), tags=3)
    assert known() == ([], [1], 1), "nothing else is known about earlier days"
    audited(store, -3, 3 * day, tags=1)
    audited(store, -2, 2 * day, tags=2)
    assert known() == ([3, 2], [3, 2, 1], 2)
    audited(store, -1, day - timedelta(hours=7), tags=3)
    assert known() == ([3, 2, 1], [3, 2, 1], 1), "a schedule may be late"
    audited(store, 0, timedelta(hours=3), tags=3)
    audited(store, -1, timedelta(hours=2), tags=4)
    assert known() == ([3, 2], [3, 2, 1], 2), "it was new since today's first audit"


def test_points_come_oldest_first_whatever_was_saved_last(store: Store) -> None:
    for days in (-1, -3, -2):
        save(store, days, series=10 + days)
    expected = (Point(on(-3), 7.0), Point(on(-2), 8.0), Point(on(-1), 9.0))
    assert store.timeline("demo", DAY).of("series", CPU) == expected
    assert store.trend("demo", "series", CPU, 9, DAY) == expected


def test_previous_is_a_partial_snapshot_when_no_recent_one_is_whole(store: Store) -> None:
    gaps = (Gap("columns", Reason.DENIED, "no right", "secret"),)
    save(store, -9)
    save(store, -2, gaps=gaps)
    assert store.timeline("demo", on(-1)).previous == profile_on(-9), "a week is recent"
    save(store, -1, gaps=gaps)
    assert store.timeline("demo", DAY).previous == profile_on(-1, gaps=gaps)


def test_previous_may_lack_figures(store: Store) -> None:
    gaps = (Gap("row_count", Reason.TIMED_OUT, "too slow"),)
    save(store, -1, gaps=gaps)
    assert store.timeline("demo", DAY).previous == profile_on(-1, gaps=gaps)


def test_previous_skips_a_day_without_profile(store: Store) -> None:
    save(store, -2)
    store.save(None, unreachable(-1), None)
    assert store.timeline("demo", DAY).previous == profile_on(-2)


@pytest.mark.parametrize(
    "blob",
    [
        Packer().packed(to_json(replace(a_profile(), schema_version=99))),
        Packer().packed(b'{"some": "other version"}'),
        b"damaged",
    ],
    ids=["newer", "other", "damaged"],
)
def test_profile_that_this_version_cannot_read_is_absent(store: Store, blob: bytes) -> None:
    save(store, -2)
    save(store, -1)
    with store.writing("test") as connection:
        connection.execute(update(snapshot).where(snapshot.c.day == on(-1)).values(profile=blob, result=blob))
    assert store.profile("demo", on(-1)) is None
    assert store.result("demo", on(-1)) is None
    assert store.timeline("demo", DAY).previous == profile_on(-2)
    assert len(store.timeline("demo", DAY).of("series", CPU)) == 2


def test_trend_includes_the_last_day(store: Store) -> None:
    for days in (-2, -1, 0, 1):
        save(store, days, series=10 + days)
    assert store.trend("demo", "series", CPU, 2, DAY) == (Point(on(-1), 9.0), Point(DAY, 10.0))
    assert store.trend("demo", "series", Subject("main", "disk"), 2, DAY) == ()


@pytest.mark.parametrize("name", ["a/b", "50%", "%2F", "%00", "nul\x00nul", "Grün 🌡", "", "x" * 900])
def test_subjects_of_any_name_come_back(store: Store, name: str) -> None:
    subject = Subject("main", name, name)
    assert subject_from(stored_subject(subject)) == subject
    profile = a_profile(a_measurement(name, tags=(a_tag(name, values=7),)))
    store.save(profile, a_result(), None)
    assert store.timeline("demo", on(1)).of("tag_values", subject) == (Point(DAY, 7.0),)
    assert store.trend("demo", "tag_values", subject, 1, DAY) == (Point(DAY, 7.0),)


def test_figures_of_a_name_too_long_to_index_are_left_out(store: Store) -> None:
    name = secrets.token_hex(1500)
    profile = a_profile(a_measurement(name), a_measurement())
    store.save(profile, a_result(), None)
    assert store.profile("demo", DAY) == profile
    assert store.trend("demo", "series", Subject("main", name), 1, DAY) == ()
    assert store.trend("demo", "series", CPU, 1, DAY) == (Point(DAY, 3.0),)


def test_figure_that_is_no_number_is_left_out(store: Store) -> None:
    store.save(a_profile(a_measurement(fields=(a_field(null_ratio=math.nan),))), a_result(), None)
    assert store.trend("demo", "null_ratio", replace(CPU, column="usage"), 1, DAY) == ()
    assert store.trend("demo", "series", CPU, 1, DAY) == (Point(DAY, 3.0),)


def test_save_when_the_process_is_killed_leaves_the_one_before(address: str) -> None:
    with Store.open(address) as store:
        save(store, 0, series=3)
        victim = subprocess.Popen(
            [sys.executable, "-c", _HALF_A_SAVE, address], stdout=subprocess.PIPE, text=True, cwd=ROOT
        )
        assert victim.stdout is not None
        assert victim.stdout.readline() == "half\n"
        victim.kill()
        victim.wait(10)
        victim.stdout.close()
        assert store.profile("demo", DAY) == profile_on(0, 3)
        assert store.timeline("demo", on(1)).of("series", CPU) == (Point(DAY, 3.0),)
        save(store, 0, series=4)
        assert store.profile("demo", DAY) == profile_on(0, 4)


def test_saves_of_one_day_at_once_do_not_mix(address: str) -> None:
    def writer(series: int) -> None:
        with Store.open(address) as store:
            for _ in range(5):
                store.save(profile_on(0, series), a_result(server_version=str(series)), None)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(writer, range(1, 5)))
    with Store.open(address) as store:
        profile, result = store.profile("demo", DAY), store.result("demo", DAY)
        assert profile is not None
        assert result is not None
        assert profile.series == int(result.server_version)
        assert store.trend("demo", "series", Subject(), 1, DAY) == (Point(DAY, float(profile.series or 0)),)
        assert figures_kept(store) == len(list(figures(profile)))


def test_one_store_serves_many_threads(store: Store) -> None:
    def one(number: int) -> None:
        name = f"t{number}"
        store.timeline(name, DAY)
        store.save(profile_on(0, number, target=name), a_result(target=name), None)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(one, range(24)))
    assert len(store.targets()) == 24


def test_store_says_in_one_line_when_the_history_is_damaged(store: Store) -> None:
    with store.engine.begin() as connection:
        connection.execute(text("DROP TABLE figure"))
    with pytest.raises(HistoryError, match=r"^history .*figure") as caught:
        save(store, 0)
    assert "\n" not in str(caught.value)
    assert store.days("demo") == []
