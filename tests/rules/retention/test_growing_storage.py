"""RET002: data and indexes that outgrow their room."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.builders import DAY, NOW, a_count, a_measurement, a_profile, a_source
from tests.collecting import collected, file_with
from tests.databases import Collection, Dataset
from tests.engines.influxdb3.server import REAL
from tests.rules.cases import Case, History, dataset, hosts, run_rule, table, with_steps
from tsaudit.config.settings import Harm
from tsaudit.evaluation import evaluate
from tsaudit.model.figures import Gap, Reason, Subject
from tsaudit.model.finding import Currency, Finding, Outcome, RuleResult, Severity
from tsaudit.model.plan import StepKind
from tsaudit.model.profile import Database, Measurement, Profile
from tsaudit.model.rows import LargerColumn, RowBytes
from tsaudit.model.server import TableStatus
from tsaudit.model.storage import DatabaseStorage, Storage
from tsaudit.model.timeline import Point, Timeline, figures, stored_bytes
from tsaudit.planning.plans import plans_of
from tsaudit.rules.retention.growing_storage import growing_storage as rule

DAYS = 28
GB = 1_000_000_000
GROWING = tuple(0.5 + 0.5 * i / DAYS for i in range(DAYS))
FLAT = (1.0,) * DAYS


def held(profile: Profile, factors: Sequence[float]) -> Timeline:
    """Days on which all figures in bytes were `factors` of what they are today."""
    if REAL and profile.engine == "influxdb3" and not stored_bytes(profile):
        pytest.skip("the server keeps in its log what was just written")
    return Timeline(
        points={
            (f.name, f.subject): tuple(
                Point(DAY - timedelta(days=DAYS - i), f.value * factor) for i, factor in enumerate(factors)
            )
            for f in figures(profile)
            if f.name.endswith("_bytes")
        }
    )


def full_in(days: float) -> History:
    """A history that goes on in a straight line until the disk is full; for no growth, infinity."""

    def history(profile: Profile) -> Timeline:
        points = {}
        for database in profile.databases:
            kept = database.storage
            assert kept is not None
            if kept.disk_bytes is None:
                pytest.skip("the server does not report its disk")
            assert kept.disk_used_bytes is not None
            a_day = (kept.disk_bytes - kept.disk_used_bytes) / days
            used = [kept.disk_used_bytes - a_day * (DAYS - i) for i in range(DAYS)]
            points["disk_used_bytes", Subject(database.name)] = tuple(
                Point(DAY - timedelta(days=DAYS - i), value) for i, value in enumerate(used)
            )
        return Timeline(points=points)

    return history


USERS = Dataset(collections=[Collection("users", [{"name": "a"}])])
CASES = (
    Case(
        breaks=dataset(table("raw", hosts(30), rows=50)),
        keeps=dataset(table("raw", hosts(30), rows=50)),
        engines=rule.engines - {"mongodb"},
        subject=Subject(),
        whole_target=True,
        harm=Harm(min_bytes=1),
        history=lambda profile: held(profile, GROWING),
        quiet_history=lambda profile: held(profile, FLAT),
    ),
    Case(
        breaks=USERS,
        keeps=USERS,
        subject=Subject(""),
        engines=frozenset({"mongodb"}),
        history=full_in(85),
        quiet_history=full_in(float("inf")),
    ),
)


def a_table(name: str, data: int | None, index: int | None = 0) -> Measurement:
    return a_measurement(name, storage=Storage(data, index))


def _found(
    *tables: Measurement, factors: Sequence[float] = GROWING, max_bytes: int | None = None
) -> tuple[Finding, ...]:
    profile = a_profile(*tables, engine="postgresql")
    return _judged(profile, max_bytes, held(profile, factors)).findings


def _judged(profile: Profile, max_bytes: int | None, timeline: Timeline | None = None) -> RuleResult:
    (result,) = evaluate(profile, timeline, rules=[rule], harm=Harm(max_bytes=max_bytes)).results
    return result


def test_information_when_no_limit_is_set() -> None:
    (finding,) = _found(a_table("raw", 30 * GB, 10 * GB), a_table("small", 4 * GB))
    assert (finding.impact, finding.observed, finding.limit) == (None, 44 * GB, None)
    assert finding.message.startswith("Data and indexes take 44 GB, 22 GB on 2026-03-03; at this rate they double in ")
    assert finding.fix.startswith("Delete the rows of raw that nobody needs any longer")
    assert finding.fix.endswith(
        "oldest first. 91% of the increase is in main/raw. If all rows are needed, make room in time."
    )
    assert [e.value for e in finding.evidence] == ["2", "20 GB, 91% of it", "2 GB, 9% of it"]
    assert not _found(a_table("raw", 40 * GB), factors=FLAT)


@pytest.mark.parametrize(
    ("came", "deleted", "live", "is_said"),
    [
        (1_000, 0, 1_000, True),
        # A job deletes; nobody knows of how many from before, TRUNCATE was; the server does not count.
        (1_000, 10, 990, False),
        (1_000, 0, 5_000, False),
        (1_000, 0, 100, False),
        (0, 0, 0, False),
        (None, None, 1_000, False),
    ],
)
def test_note_of_the_first_week_where_no_row_was_ever_deleted(
    came: int | None, deleted: int | None, live: int, is_said: bool
) -> None:
    counters = {"rows_inserted": came, "rows_deleted": deleted}
    status = TableStatus({name: n for name, n in counters.items() if n is not None}, {"live_rows": live})
    log = replace(a_table("log", 10 * GB), first_time=NOW - timedelta(days=20), status=status)
    profile = a_profile(log, engine="postgresql")
    history = held(profile, GROWING)
    young = Timeline(points={figure: points[-2:] for figure, points in history.points.items()})
    found = _judged(profile, None, young).findings
    assert [one.severity for one in found] == ["note"] * is_said
    for one in found:
        assert one.message == (
            "Data and indexes take 10 GB, 9.64 GB on 2026-03-29; no row of main/log was ever deleted, and about 182 GB "
            "a year are added in all."
        )
    # What autovacuum gave back is no growth.
    more = {key: tuple(replace(p, value=2 * p.value) for p in points) for key, points in young.points.items()}
    found = _judged(profile, None, Timeline(points=more)).findings
    assert ["Data and indexes take 10 GB; no row of main/log was" in one.message for one in found] == [True] * is_said
    later = _judged(profile, None, history).findings
    assert ["no row of main/log was ever deleted, and about 65" in one.message for one in later] == [is_said]


def test_severity_when_a_limit_is_near() -> None:
    # 28 days brought 20 of 40 GB: 5 GB a week.
    table = a_table("raw", 40 * GB)
    (finding,) = _found(table, max_bytes=45 * GB)
    assert finding.severity == "critical"
    assert finding.forecast is not None
    assert finding.forecast.days is not None
    assert 5 <= finding.forecast.days <= 9
    assert "; at this rate the limit of 45 GB is reached in about 7 days (80% range 5 to 14)." in finding.message
    (finding,) = _found(table, max_bytes=60 * GB)
    assert finding.severity == "warning"
    assert not _found(table, max_bytes=400 * GB)
    # Half full, and full in more than a quarter.
    (finding,) = _found(a_table("raw", 40 * GB), factors=FLAT, max_bytes=80 * GB)
    assert finding.severity == "note"


@pytest.mark.parametrize(
    ("room", "changes", "severity"),
    [
        # 40 GB in two days: 20 GB a day.
        (300, {"first_time": NOW - timedelta(days=2)}, "critical"),
        (340, {"first_time": NOW - timedelta(days=2)}, "warning"),
        (1_900, {"first_time": NOW - timedelta(days=2)}, ""),
        # The same size, of which a tenth came within the month; and nothing since ten days ago.
        (70, {"rows": a_count(100), "rows_total": a_count(1_000)}, "note"),
        (50, {"rows": a_count(100), "rows_total": a_count(1_000)}, "warning"),
        (300, {"last_time": NOW - timedelta(days=10)}, ""),
        (70, {"last_time": NOW - timedelta(days=10)}, "note"),
    ],
)
def test_the_first_day_goes_by_the_times_of_the_rows(room: int, changes: dict[str, Any], severity: str) -> None:
    storage = {"storage": Storage(40 * GB, 0)}
    found = _judged(a_profile(a_measurement("raw", **storage | changes), engine="postgresql"), room * GB).findings
    assert [one.severity for one in found] == ([severity] if severity else [])
    # Only the total is known.
    whole = a_profile(a_measurement("raw", **changes), engine="duckdb", storage=Storage(40 * GB, None))
    found = _judged(whole, room * GB).findings
    assert [one.severity for one in found] == ([severity] if severity else [])


def test_rows_that_have_become_larger_fill_the_space_sooner() -> None:
    """1,000 rows in 30 days, with 20 MB of payloads each, and 60 MB since yesterday."""
    larger = LargerColumn("payload", 18e6, 60e6, NOW - timedelta(days=1), is_confirmed=True)
    read = RowBytes({"payload": 20e6}, (), 100, a_source(), larger=(larger,))
    for read_, per_day in ((None, 40 / 30), (read, 80 / 30)):
        table = a_measurement("raw", storage=Storage(40 * GB, 0), row_bytes=read_)
        (finding,) = _judged(a_profile(table, engine="postgresql"), 70 * GB).findings
        assert finding.per_day == pytest.approx(per_day * GB, rel=0.02)


def test_critical_when_the_limit_is_reached_without_growth() -> None:
    (finding,) = _found(a_table("raw", 40 * GB), factors=FLAT, max_bytes=40 * GB)
    assert finding.severity == "critical"
    assert finding.message.endswith("; the limit of 40 GB is reached.")
    assert finding.fix.startswith("Find the table that grows: give its rows a lifetime")
    (finding,) = _found(a_table("raw", 40 * GB), factors=FLAT, max_bytes=48 * GB)
    assert finding.severity == "warning"


def test_finding_when_there_is_no_history() -> None:
    profile = a_profile(a_table("raw", 40 * GB), engine="postgresql")
    assert run_rule(rule, profile).outcome is Outcome.PASS
    (finding,) = _judged(profile, GB).findings
    assert finding.message == "Data and indexes take 40 GB; the limit of 1 GB is reached."
    assert finding.since is None


def test_bytes_are_those_of_the_target_or_of_its_databases_where_the_engine_tells_no_more() -> None:
    tables = (a_measurement("raw", database="a"), a_measurement("raw", database="b"))
    kept = (DatabaseStorage(30 * GB, None, None, None), DatabaseStorage(10 * GB, 4 * GB, None, None))
    databases = tuple(Database(name, storage=storage) for name, storage in zip("ab", kept, strict=True))
    apart = a_profile(*tables, engine="postgresql", databases=databases)
    assert stored_bytes(apart) == 44 * GB
    (finding,) = run_rule(rule, apart, {}, held(apart, GROWING)).findings
    assert finding.fix.startswith("100% of the increase is in a and b: give its rows a lifetime")
    assert [(e.label, e.value) for e in finding.evidence][1:] == [
        ("added in a", "15 GB, 68% of it"),
        ("added in b", "7 GB, 32% of it"),
    ]
    whole = a_profile(*tables, engine="duckdb", databases=databases, storage=Storage(20 * GB, None))
    assert stored_bytes(whole) == 20 * GB
    (finding,) = run_rule(rule, whole, {}, held(whole, GROWING)).findings
    assert finding.message.startswith("Data and indexes take 20 GB, 10 GB on 2026-03-03")
    assert [e.label for e in finding.evidence] == ["tables", "added in a/raw", "added in b/raw"]
    unknown = a_profile(*tables, databases=(databases[0], Database("b")))
    assert stored_bytes(unknown) is None
    gap = Gap("measurements", Reason.DENIED, "denied", "b")
    assert stored_bytes(a_profile(tables[0], databases=(databases[0], Database("b")), gaps=(gap,))) is None


def test_the_table_that_grows_is_named_where_only_the_total_is_known(tmp_path: Path) -> None:
    """A queue in SQLite that takes a row a minute, beside a table of devices. The plan is found under the queue."""
    path = tmp_path / "gateway.sqlite"
    target = file_with(
        "sqlite",
        path,
        "CREATE TABLE devices (id INTEGER PRIMARY KEY, name TEXT)",
        "CREATE TABLE messages (id INTEGER PRIMARY KEY, ts INTEGER, body TEXT)",
        *(f"INSERT INTO devices VALUES ({n}, 'd{n}')" for n in range(9)),
        f"""WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 9999)
          INSERT INTO messages SELECT i, {int(NOW.timestamp())} - 600000 + 60 * i, hex(randomblob(200)) FROM n""",
    )
    profile = collected(target)
    (result,) = evaluate(profile, None, rules=[rule], harm=Harm(max_bytes=6_000_000)).results
    (finding,) = result.findings
    assert finding.severity is Severity.CRITICAL
    assert finding.message.endswith("; 100% of the increase is in main/messages.")
    (plan,) = plans_of(profile, [result])
    assert plan.subject == Subject("main", "messages")
    steps = {step.kind: step for step in plan.steps}
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        (counted,) = connection.execute(steps[StepKind.FIND].text)
        assert counted[0] == 10_000
        before = path.stat().st_size
        connection.execute("DELETE FROM messages WHERE id < 9000")
        assert path.stat().st_size == before
        connection.executescript(steps[StepKind.STORED].text)
        assert path.stat().st_size < before / 5
        assert connection.execute("PRAGMA auto_vacuum").fetchone() == (2,)


@pytest.mark.parametrize("product", sorted(name for name in rule.not_applicable if " " in name))
def test_products_that_tell_no_bytes(product: str) -> None:
    engine, edition = product.split(" ", 1)
    assert engine in rule.engines
    for version in (edition, f"{edition}, over HTTP"):
        result = run_rule(rule, a_profile(engine=engine, server_version=version))
        assert (result.outcome, result.reason) == (
            Outcome.NOT_APPLICABLE,
            f"does not apply to {product}: {rule.not_applicable[product]}",
        )
    assert run_rule(rule, a_profile(engine=engine, server_version="Core 3.6.0")).outcome is Outcome.PASS


def test_nothing_is_known_when_a_part_is_not() -> None:
    tables = (a_table("raw", 40 * GB), a_table("other", None))
    assert stored_bytes(a_profile(*tables)) is None
    assert stored_bytes(a_profile(*tables[:1])) == 40 * GB
    assert stored_bytes(a_profile(a_measurement())) is None
    assert not _found(*tables, max_bytes=GB)


# --- The server's own disk --------------------------------------------------------------------------------------------


def _with_disk(used: int, total: int = 100 * GB, names: tuple[str, ...] = ("main",)) -> Profile:
    databases = tuple(
        Database(name, storage=DatabaseStorage(10_000_000 * (i + 1), 2_000_000, used, total))
        for i, name in enumerate(names)
    )
    return a_profile(a_measurement("users"), engine="mongodb", databases=databases)


def _of_disk(profile: Profile, days: float = float("inf")) -> tuple[Finding, ...]:
    return with_steps(rule, profile, {}, full_in(days)(profile))


def test_severity_follows_from_the_days_until_the_disk_is_full() -> None:
    assert [f.severity for f in _of_disk(_with_disk(60 * GB), 60)] == [Severity.WARNING]
    assert [f.severity for f in _of_disk(_with_disk(60 * GB), 10)] == [Severity.CRITICAL]
    assert [f.severity for f in _of_disk(_with_disk(60 * GB), 150)] == [Severity.NOTE]
    assert _of_disk(_with_disk(40 * GB), 150) == ()


@pytest.mark.parametrize(
    ("used", "expected"),
    [(49, []), (50, [Severity.NOTE]), (80, [Severity.WARNING]), (95, [Severity.CRITICAL])],
)
def test_severity_follows_from_the_share_of_the_disk(used: int, expected: list[Severity]) -> None:
    found = run_rule(rule, _with_disk(used * GB)).findings
    assert [f.severity for f in found] == expected
    for finding in found:
        assert finding.impact is not None
        assert (finding.impact.currency, finding.impact.is_enforced) == (Currency.LIMIT, True)
        assert (finding.impact.now, finding.impact.whole) == (used * GB, 100 * GB)


def test_message_and_forecast_of_a_disk() -> None:
    (finding,) = _of_disk(_with_disk(60 * GB), 40)
    assert finding.message == (
        "60% of the disk's 100 GB are used; at this rate the limit of 100 GB is reached in about 40 days "
        "(80% range 28 to 80)."
    )
    assert finding.forecast is not None
    assert finding.forecast.limit == 100 * GB
    assert finding.impact is not None
    assert finding.impact.days_left == finding.forecast.days
    assert "totalSize()" in finding.fix


def test_disk_is_reported_once_for_the_database_that_grew_most() -> None:
    (finding,) = run_rule(rule, _with_disk(95 * GB, names=("a", "b", "c"))).findings
    assert finding.message == "95% of the disk's 100 GB are used."
    assert finding.subject == Subject("c")
    assert finding.evidence[-1].value == "a, b, and c"


def test_declared_space_holds_beside_the_disk() -> None:
    found = _judged(_with_disk(95 * GB), 12_500_000).findings
    assert {f.subject: f.severity for f in found} == {
        Subject("main"): Severity.CRITICAL,
        Subject(): Severity.CRITICAL,
    }


def test_silence_when_the_server_says_nothing_of_its_disk() -> None:
    databases = (Database("main", storage=DatabaseStorage(1, 1, None, None)),)
    assert run_rule(rule, a_profile(a_measurement(), engine="mongodb", databases=databases)).outcome is Outcome.PASS


def test_timeline_follows_what_a_database_takes() -> None:
    found = {f.name: f.value for f in figures(_with_disk(5, 10)) if f.subject == Subject("main")}
    assert found["disk_used_bytes"] == 5
    assert found["data_bytes"] == 10_000_000
    assert found["index_bytes"] == 2_000_000
