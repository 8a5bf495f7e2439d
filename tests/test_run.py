"""The whole path: databases in, history, incidents, reports and messages out."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from tests.alerts import slack_double
from tests.alerts.builders import an_incident, fast_messages
from tests.builders import DAY, NOW, a_finding, a_result
from tests.databases import Dataset, Row, Table, influxql, times, write, write_lines
from tests.histories import clock_at
from tests.servers import ADMIN, Influxd
from tsaudit import run
from tsaudit.config.settings import Incidents, Owner, Report, Settings, Slack, Target
from tsaudit.engines import opening as connectors
from tsaudit.engines.connection import Connection, FactError, Rows
from tsaudit.engines.opening import open_connection
from tsaudit.history import clock, decisions, incidents, removal
from tsaudit.history.lifecycle import ChangeKind, Decision, DecisionKind, IncidentChange, IncidentState
from tsaudit.history.store import Store
from tsaudit.library import AuditSession
from tsaudit.model.facts import Given
from tsaudit.model.figures import Reason, Subject
from tsaudit.model.finding import DEGRADED_CODE, UNREACHABLE_CODE, Severity, Verdict
from tsaudit.net.watchdog import Deadline
from tsaudit.not_audited import NO_ROWS_THEN

__all__ = ["fast_messages"]

pytestmark = pytest.mark.usefixtures("fast_messages")

NEXT_DAY = DAY + timedelta(days=1)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(f"sqlite:///{tmp_path}/history.db") as opened:
        yield opened


def settings_for(tmp_path: Path, *targets: Target, **changes: Any) -> Settings:
    known: dict[str, Any] = {
        "history": SecretStr(f"sqlite:///{tmp_path}/history.db"),
        "report": Report(folder=str(tmp_path / "reports")),
        "incidents": Incidents(open_after=1, resolve_after=1),
        "targets": targets,
    }
    return Settings(**(known | changes))


def a_table(name: str = "cpu", *, text_numbers: bool = False) -> Table:
    value = "string" if text_numbers else "float"
    rows = [
        Row(at, {"host": f"host-{i % 5}"}, {"usage": f"{i / 7:.3f}" if text_numbers else i / 7})
        for i, at in enumerate(times(300))
    ]
    return Table(name, tags=("host",), fields={"usage": value}, rows=rows, key=("time", "host"))


def test_target_is_audited_remembered_reported_and_told_when_something_is_wrong(tmp_path: Path, store: Store) -> None:
    target = write(Dataset([a_table(text_numbers=True)]), "duckdb", tmp_path / "a.duckdb")
    settings = settings_for(tmp_path, target)

    done = run.audit_target(target, settings, store, day=DAY)

    assert done.error is None
    assert done.verdict is Verdict.WARNING
    assert [c.kind for c in done.changes] == [ChangeKind.OPENED]
    assert store.days("test") == [DAY]
    assert store.result("test", DAY) == done.result
    assert done.report is not None
    assert "usage" in Path(done.report.path).read_text()
    said: list[str] = []
    sent = AuditSession(settings, store).notify(said.append)
    assert sent.not_sent == 1
    assert "usage" in "\n".join(said)


def test_second_audit_of_a_day_changes_nothing_when_the_database_has_not(tmp_path: Path, store: Store) -> None:
    target = write(Dataset([a_table(text_numbers=True)]), "duckdb", tmp_path / "a.duckdb")
    settings = settings_for(tmp_path, target)
    run.audit_target(target, settings, store, day=DAY)
    AuditSession(settings, store).notify(lambda _line: None)

    again = run.audit_target(target, settings, store, day=DAY)

    assert [c.kind for c in again.changes] == [ChangeKind.OPENED]
    assert len(incidents.current(store)) == 1
    assert AuditSession(settings, store).notify(lambda _line: None).not_sent == 0


def test_history_of_one_engine_is_not_continued_with_another(tmp_path: Path, store: Store) -> None:
    before = write(Dataset([a_table(text_numbers=True)]), "duckdb", tmp_path / "a.duckdb")
    run.audit_target(before, settings_for(tmp_path, before), store, day=DAY)
    after = write(Dataset([a_table("other")]), "sqlite", tmp_path / "b.db")

    done = run.audit_target(after, settings_for(tmp_path, after), store, day=NEXT_DAY)

    assert done.verdict is Verdict.UNKNOWN
    assert done.error is not None
    assert "history of test is about duckdb" in done.error
    assert done.result is not None
    assert done.result.not_audited is not None
    (finding,) = done.result.not_audited.findings
    assert finding.fix is not None
    assert finding.fix.startswith("Give this database a target name of its own. Run `tsaudit check`")
    assert ChangeKind.RESOLVED not in {change.kind for change in done.changes}


def test_past_day_without_rows_is_unknown(tmp_path: Path, store: Store) -> None:
    target = write(Dataset([a_table()]), "duckdb", tmp_path / "a.duckdb")

    done = run.audit_target(target, settings_for(tmp_path, target), store, day=DAY - timedelta(days=400))

    assert done.verdict is Verdict.UNKNOWN
    assert done.error is not None
    assert "no table has a row within the window of that day" in done.error


def test_past_day_of_which_the_rows_are_gone_keeps_its_audit(tmp_path: Path, store: Store) -> None:
    target = write(Dataset([a_table(text_numbers=True)]), "sqlite", tmp_path / "a.db")
    settings = settings_for(tmp_path, target)
    first = run.audit_target(target, settings, store, day=DAY)
    with closing(sqlite3.connect(tmp_path / "a.db")) as database, database:
        database.execute("DELETE FROM cpu")
    again = run.audit_target(target, settings, store, day=DAY)
    assert again.error == NO_ROWS_THEN
    assert first.result is not None
    assert again.result is not None
    assert again.result.failed_at is not None
    assert again.profile == store.profile(target.name, DAY) == first.profile
    assert again.verdict is first.verdict is Verdict.WARNING
    assert {c.incident.code: c.incident.state for c in again.changes} == {
        **{c.incident.code: IncidentState.OPEN for c in first.changes},
        UNREACHABLE_CODE: IncidentState.OPEN,
    }
    page = json.loads((tmp_path / f"reports/{target.name}/{DAY}.json").read_text())
    assert page["failed_at"] == again.result.failed_at.isoformat()


@pytest.mark.full
def test_audit_compacts_the_history_when_it_is_due(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(removal, "DAILY", timedelta(days=1))
    target = write(Dataset([a_table()]), "duckdb", tmp_path / "a.duckdb")
    settings, expected = settings_for(tmp_path, target), set[date]()
    for day in [DAY + timedelta(days=n) for n in range(2 * removal.EVERY + 1)]:
        run.audit_target(target, settings, store, day=day)
        expected.add(day)
        if removal.is_due("test", sorted(expected), day):
            expected = set(removal.kept_days([(one, True) for one in expected], day))
        assert set(store.days("test")) == expected
    assert len(expected) < 2 * removal.EVERY


def test_muted_findings_are_known_and_acknowledged_ones_are_not(tmp_path: Path, store: Store) -> None:
    target = write(Dataset([a_table(name, text_numbers=True) for name in "ab"]), "duckdb", tmp_path / "a.duckdb")
    settings = settings_for(tmp_path, target)
    today = clock.today()
    first = run.audit_target(target, settings, store, day=today)
    assert first.muted == {}
    marks = {change.incident.subject.measurement: change.incident.fingerprint for change in first.changes}
    for name, kind in (("a", "mute"), ("b", "ack")):
        until = None if kind == "ack" else today + timedelta(days=30)
        decisions.decide(store, [marks[name]], kind, "ada", "known", until)

    assert run.audit_target(target, settings, store, day=today).muted == {marks["a"]: today + timedelta(days=30)}
    # A day before all others is not the first audit, and what is muted today does not fail it.
    earlier = run.audit_target(target, settings, store, day=today - timedelta(days=3))
    assert (first.is_first, earlier.is_first) == (True, False)
    assert earlier.muted == {marks["a"]: today + timedelta(days=30)}


@pytest.mark.full
def test_past_day_is_audited_again_with_what_was_muted_then(tmp_path: Path, store: Store) -> None:
    """The mute of a has ended since, and b has been mended. Report and history list say the same of it."""
    path, ago = tmp_path / "a.duckdb", [clock.today() - timedelta(days=n) for n in range(13)]
    target = write(Dataset([a_table(name, text_numbers=True) for name in "ab"]), "duckdb", path)
    settings = settings_for(tmp_path, target)
    first = run.audit_target(target, settings, store, day=ago[10])
    until = {
        change.incident.fingerprint: ago[6 if change.incident.subject.measurement == "a" else 0]
        for change in first.changes
    }
    for mark, last in until.items():
        decisions.decide(store, [mark], "mute", "ada", "known", last)
    assert run.audit_target(target, settings, store, day=ago[8]).muted == until
    path.rename(tmp_path / "broken.duckdb")
    write(Dataset([a_table("a", text_numbers=True), a_table("b")]), "duckdb", path)
    for day in (ago[2], ago[1]):
        assert run.audit_target(target, settings, store, day=day).verdict is Verdict.WARNING
    path.unlink()
    (tmp_path / "broken.duckdb").rename(path)
    for day in (ago[8], ago[12]):
        again = run.audit_target(target, settings, store, day=day)
        assert (again.muted, again.verdict) == (until, Verdict.OK)
        assert again.muted == incidents.muted(incidents.of_day(store, target.name, day))
        page = json.loads((tmp_path / f"reports/{target.name}/{day}.json").read_text())
        assert (page["verdict"], page["incidents"]) == ("ok", [])


def test_morning_after_an_outage_is_compared_with_the_last_audit_that_measured(tmp_path: Path, store: Store) -> None:
    """Otherwise every finding would be new, and on the days of the outage a muted one would seem not to be there."""
    path, days = tmp_path / "a.duckdb", [clock.today() - timedelta(days=ago) for ago in (3, 2, 1, 0)]
    target = write(Dataset([a_table(name, text_numbers=True) for name in "ab"]), "duckdb", path)
    settings = settings_for(tmp_path, target)
    first = run.audit_target(target, settings, store, day=days[0])
    muted = next(c.incident for c in first.changes if c.incident.subject.measurement == "a")
    decisions.decide(store, [muted.fingerprint], "mute", "ada", "known", days[0] + timedelta(days=30))
    path.rename(tmp_path / "elsewhere.duckdb")
    for day in days[1:3]:
        run.audit_target(target, settings, store, day=day)
        page = (tmp_path / f"reports/{target.name}/{day}.html").read_text()
        assert "1 finding not looked for that day" in page
        assert '<a class="tally" href="#muted">1 muted</a>' in page
    (tmp_path / "elsewhere.duckdb").rename(path)
    run.audit_target(target, settings, store, day=days[3])
    found = json.loads((tmp_path / f"reports/{target.name}/{days[3]}.json").read_text())["changes"]
    assert (found["day_before"], found["new"], found["gone"]) == (str(days[0]), [], [])


def test_muted_finding_that_was_looked_for_or_whose_rule_is_off_is_not_said_to_be_unknown(
    tmp_path: Path, store: Store
) -> None:
    path, days = tmp_path / "a.duckdb", [clock.today() - timedelta(days=ago) for ago in (3, 2, 1, 0)]
    target = write(Dataset([a_table(text_numbers=True)]), "duckdb", path)
    settings = settings_for(tmp_path, target)
    (found,) = (change.incident for change in run.audit_target(target, settings, store, day=days[0]).changes)
    decisions.decide(store, [found.fingerprint], "mute", "ada", "known", days[3])
    run.audit_target(target, settings, store, day=days[1])
    run.audit_target(target, settings.model_copy(update={"rules": {found.rule: "off"}}), store, day=days[2])
    path.unlink()
    write(Dataset([a_table()]), "duckdb", path)
    run.audit_target(target, settings, store, day=days[1])
    for day in days[1:3]:
        assert "was not measured that day" not in (tmp_path / f"reports/{target.name}/{day}.html").read_text()


def test_target_that_is_gone_is_unknown_and_an_incident_and_closes_nothing(tmp_path: Path, store: Store) -> None:
    path = tmp_path / "a.duckdb"
    target = write(Dataset([a_table(text_numbers=True)]), "duckdb", path)
    settings = settings_for(tmp_path, target)
    run.audit_target(target, settings, store, day=DAY)
    path.rename(tmp_path / "elsewhere.duckdb")

    gone = run.audit_target(target, settings, store, day=NEXT_DAY)

    assert gone.verdict is Verdict.UNKNOWN
    assert gone.error is not None
    assert "a.duckdb" in gone.error
    open_now = {i.code for i in incidents.current(store) if i.state is IncidentState.OPEN}
    assert len(open_now) == 2
    assert UNREACHABLE_CODE in open_now

    (tmp_path / "elsewhere.duckdb").rename(path)
    back = run.audit_target(target, settings, store, day=NEXT_DAY + timedelta(days=1))
    assert back.error is None
    assert ChangeKind.RESOLVED in {c.kind for c in back.changes if c.incident.code == UNREACHABLE_CODE}
    assert not [c for c in back.changes if c.incident.code.startswith("DRF")]


def test_one_failing_target_neither_stops_nor_hides_the_others(tmp_path: Path, store: Store) -> None:
    good = [write(Dataset([a_table()]), "sqlite", tmp_path / f"{name}.db", name=name) for name in ("first", "second")]
    bad = Target(name="bad", engine="sqlite", url=SecretStr(f"sqlite:///{tmp_path}/nothing.db"))
    settings = settings_for(tmp_path, good[0], bad, good[1])

    runs = {r.target: r for r in run.audit_targets(settings.targets, settings, store, day=DAY)}

    assert set(runs) == {"first", "second", "bad"}
    assert [name for name, done in runs.items() if done.error] == ["bad"]
    assert runs["first"].verdict is Verdict.OK
    assert store.targets() == ["bad", "first", "second"]


def test_error_is_one_line_when_tsaudit_itself_fails(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = write(Dataset([a_table()]), "duckdb", tmp_path / "a.duckdb")

    def breaks(*_: object, **__: object) -> None:
        raise RuntimeError("first line\nsecond line")

    monkeypatch.setattr(run, "evaluate", breaks)
    (done,) = run.audit_targets([target], settings_for(tmp_path, target), store, day=DAY)
    assert done.error == "the audit could not be saved: internal error in tsaudit.run: RuntimeError: first line"
    assert _moved(done.changes) == [(UNREACHABLE_CODE, ChangeKind.OPENED)]


def test_alert_is_queued_when_the_report_cannot_be_written(tmp_path: Path, store: Store) -> None:
    target = write(Dataset([a_table(text_numbers=True)]), "duckdb", tmp_path / "a.duckdb")
    (tmp_path / "taken").write_text("a file where the folder should be")
    settings = settings_for(tmp_path, target, report=Report(folder=str(tmp_path / "taken")))

    done = run.audit_target(target, settings, store, day=DAY)

    assert done.report is None
    assert done.error is not None
    assert AuditSession(settings, store).notify(lambda _line: None).not_sent == 1


def test_alert_is_queued_when_the_report_breaks(tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    target = write(Dataset([a_table(text_numbers=True)]), "duckdb", tmp_path / "a.duckdb")
    settings = settings_for(tmp_path, target)

    def breaks(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a chart without days")

    monkeypatch.setattr("tsaudit.report.write_saved", breaks)
    done = run.audit_target(target, settings, store, day=DAY)

    assert (
        done.error
        == "the report could not be created: internal error in tsaudit.run: ZeroDivisionError: a chart without days"
    )
    assert AuditSession(settings, store).notify(lambda _line: None).not_sent == 1


def test_audit_goes_on_with_gaps_when_the_server_is_killed_midway(
    own_influxd: Influxd, tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = [a_table(name) for name in ("cpu", "disk", "net")]
    target = write(Dataset(tables), "influxdb1", own_influxd.url, name="metrics")
    settings = settings_for(tmp_path, target)
    run.audit_target(target, settings, store, day=DAY)

    @contextmanager
    def killed_while_listing(target: Target, deadline: Deadline) -> Iterator[Connection]:
        with open_connection(target, deadline) as connection:
            yield Killer(connection, own_influxd)

    with monkeypatch.context() as patched:
        patched.setattr(connectors, "open_connection", killed_while_listing)
        broken = run.audit_target(target, settings, store, day=NEXT_DAY)
    own_influxd.start()
    clean = run.audit_target(target, settings, store, day=NEXT_DAY + timedelta(days=1))

    assert broken.profile is not None
    gaps = [gap for gap in broken.profile.gaps if gap.reason is not Reason.PAST_DAY]
    assert {gap.reason for gap in gaps} == {Reason.UNREACHABLE}
    assert broken.verdict is Verdict.UNKNOWN
    # That the three contain the same points was known before, and is still so.
    assert _moved(broken.changes) == [(UNREACHABLE_CODE, ChangeKind.OPENED)]
    assert clean.error is None
    assert clean.profile is not None
    assert {gap.reason for gap in clean.profile.gaps} <= {Reason.PAST_DAY}
    assert _moved(clean.changes) == [(UNREACHABLE_CODE, ChangeKind.RESOLVED)]
    assert len(store.days("metrics")) == 3


def test_rotated_password_is_an_incident_with_its_cause_until_it_is_put_right(
    influxd_auth: Influxd, tmp_path: Path, store: Store
) -> None:
    login = {"u": ADMIN[0], "p": ADMIN[1]}
    for statement in (
        "CREATE DATABASE rotated",
        "CREATE USER rotating WITH PASSWORD 'first'",
        "GRANT READ ON rotated TO rotating",
    ):
        influxql(influxd_auth.url, statement, **login)
    lines = (f"cpu,host=h{i} v={i} {round(at.timestamp()) * 10**9}" for i, at in enumerate(times(20)))
    write_lines(influxd_auth.url, "rotated", lines, **login)
    target = Target(
        name="rotated",
        engine="influxdb1",
        url=SecretStr(influxd_auth.url),
        username="rotating",
        password=SecretStr("first"),
        databases=("rotated",),
    )
    settings = settings_for(tmp_path, target)
    first = run.audit_target(target, settings, store, day=DAY)
    influxql(influxd_auth.url, "SET PASSWORD FOR rotating = 'second'", **login)

    lost = run.audit_target(target, settings, store, day=NEXT_DAY)

    assert first.result is not None
    assert first.result.not_audited is None
    assert lost.verdict is Verdict.UNKNOWN
    assert lost.profile is None, "nothing was seen, so nothing is kept as the day's schema"
    assert lost.error is not None
    assert "authoriz" in lost.error.lower() or "authentic" in lost.error.lower()
    assert "\n" not in lost.error
    assert _moved(lost.changes) == [(UNREACHABLE_CODE, ChangeKind.OPENED)]
    said: list[str] = []
    AuditSession(settings, store).notify(said.append)
    assert sum(lost.error in line for text in said for line in text.splitlines()) == 1

    changed = target.model_copy(update={"password": SecretStr("second")})
    back = run.audit_target(changed, settings, store, day=NEXT_DAY + timedelta(days=1))
    assert back.error is None
    assert _moved(back.changes) == [(UNREACHABLE_CODE, ChangeKind.RESOLVED)]


def test_database_that_is_denied_beside_one_that_is_not(tmp_path: Path, influxd_auth: Influxd, store: Store) -> None:
    login = {"u": ADMIN[0], "p": ADMIN[1]}
    for statement in (
        "CREATE DATABASE open_one",
        "CREATE DATABASE shut_one",
        "CREATE USER half WITH PASSWORD 'half'",
        "GRANT READ ON open_one TO half",
    ):
        influxql(influxd_auth.url, statement, **login)
    for database in ("open_one", "shut_one"):
        lines = (f"cpu,host=h{i} v={i} {round(at.timestamp()) * 10**9}" for i, at in enumerate(times(20)))
        write_lines(influxd_auth.url, database, lines, **login)
    target = Target(
        name="half",
        engine="influxdb1",
        url=SecretStr(influxd_auth.url),
        username="half",
        password=SecretStr("half"),
        databases=("open_one", "shut_one"),
    )
    settings = settings_for(tmp_path, target)

    half = run.audit_target(target, settings, store, day=DAY)

    assert half.profile is not None
    assert {m.database for m in half.profile.measurements} == {"open_one"}
    subjects = [c.incident.subject for c in half.changes if c.incident.code == UNREACHABLE_CODE]
    assert subjects == [Subject("shut_one")]
    assert half.error is not None
    assert half.error.startswith("shut_one: ")
    influxql(influxd_auth.url, "GRANT READ ON shut_one TO half", **login)
    whole = run.audit_target(target, settings, store, day=NEXT_DAY)
    assert whole.error is None
    assert (UNREACHABLE_CODE, ChangeKind.RESOLVED) in _moved(whole.changes)


def test_database_that_is_no_longer_listed_is_not_audited_until_it_is_listed_or_given_up(
    tmp_path: Path, influxd_auth: Influxd, store: Store
) -> None:
    """For an account that only sees what it may read: to any other, the server shows that it was dropped."""
    login = {"u": ADMIN[0], "p": ADMIN[1]}
    names = ("listed_kept", "listed_gone")
    for statement in ("CREATE USER seer WITH PASSWORD 'seer'", *(f"CREATE DATABASE {name}" for name in names)):
        influxql(influxd_auth.url, statement, **login)
    for name in names:
        influxql(influxd_auth.url, f"GRANT READ ON {name} TO seer", **login)
        lines = (f"cpu,host=h{i} v={i} {round(at.timestamp()) * 10**9}" for i, at in enumerate(times(20)))
        write_lines(influxd_auth.url, name, lines, **login)
    password = SecretStr("seer")
    target = Target(
        name="seer", engine="influxdb1", url=SecretStr(influxd_auth.url), username="seer", password=password
    )
    settings = settings_for(tmp_path, target)

    def moved(target: Target, day: int) -> list[tuple[Subject, ChangeKind]]:
        done = run.audit_target(target, settings, store, day=DAY + timedelta(days=day))
        assert not [f for rule, f in done.result.findings() if rule.code == "DRF001"] if done.result else False
        gone = [c for c in done.changes if c.incident.code == UNREACHABLE_CODE]
        return [(c.incident.subject, c.kind) for c in gone]

    assert moved(target, 0) == []
    influxql(influxd_auth.url, "REVOKE READ ON listed_gone FROM seer", **login)
    gone = Subject("listed_gone")
    assert moved(target, 1) == [(gone, ChangeKind.OPENED)]
    influxql(influxd_auth.url, "DROP DATABASE listed_gone", **login)
    # Longer than a complete snapshot of an earlier day is compared with.
    assert moved(target, 9) == [(gone, ChangeKind.CONTINUED)]
    assert moved(target, 10) == [(gone, ChangeKind.CONTINUED)]
    named = target.model_copy(update={"databases": ("listed_kept",)})
    assert moved(named, 11) == [(gone, ChangeKind.RESOLVED)]


def test_database_that_an_administrator_no_longer_sees_was_dropped(
    tmp_path: Path, influxd_auth: Influxd, store: Store
) -> None:
    login = {"u": ADMIN[0], "p": ADMIN[1]}
    for name in ("seen_kept", "seen_gone"):
        influxql(influxd_auth.url, f"CREATE DATABASE {name}", **login)
        lines = (f"cpu,host=h{i} v={i} {round(at.timestamp()) * 10**9}" for i, at in enumerate(times(20)))
        write_lines(influxd_auth.url, name, lines, **login)
    target = Target(
        name="admin",
        engine="influxdb1",
        url=SecretStr(influxd_auth.url),
        username=ADMIN[0],
        password=SecretStr(ADMIN[1]),
    )
    settings = settings_for(tmp_path, target)
    assert run.audit_target(target, settings, store, day=DAY).result is not None
    influxql(influxd_auth.url, "DROP DATABASE seen_gone", **login)
    done = run.audit_target(target, settings, store, day=DAY + timedelta(days=1))
    assert done.result is not None
    assert done.result.not_audited is None
    (drift,) = [f for rule, f in done.result.findings() if rule.code == "DRF001"]
    assert drift.message.startswith("Database seen_gone was dropped.")


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_emptied_database_closes_nothing_and_reads_as_nothing_dropped(
    tmp_path: Path, store: Store, engine: str
) -> None:
    path = tmp_path / f"a.{engine}"
    target = write(Dataset([a_table(text_numbers=True)]), engine, path)
    settings = settings_for(tmp_path, target)
    run.audit_target(target, settings, store, day=DAY)
    path.rename(tmp_path / "kept")
    write(Dataset([]), engine, path)

    empty = run.audit_target(target, settings, store, day=NEXT_DAY)

    assert empty.error is not None
    assert "there is nothing to audit: no table in " in empty.error
    assert f"on {DAY} 1 table was audited" in empty.error
    assert empty.verdict is Verdict.UNKNOWN
    assert _moved(empty.changes) == [(UNREACHABLE_CODE, ChangeKind.OPENED)]
    path.unlink()
    (tmp_path / "kept").rename(path)
    back = run.audit_target(target, settings, store, day=NEXT_DAY + timedelta(days=1))
    assert back.error is None
    assert _moved(back.changes) == [(UNREACHABLE_CODE, ChangeKind.RESOLVED)]


def test_budget_that_is_used_up_before_the_first_measurement(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = write(Dataset([a_table()]), "duckdb", tmp_path / "a.duckdb")
    spent = "5 bytes were scanned or billed"
    monkeypatch.setattr(import_module("tsaudit.collect.query_runner").QueryCosts, "overspent", lambda *_: spent)
    done = run.audit_target(target, settings_for(tmp_path, target), store, day=DAY)
    assert done.error == f"{spent}; raise budget.max_bytes_scanned"
    assert [(c.incident.code, c.kind) for c in done.changes] == [(UNREACHABLE_CODE, ChangeKind.OPENED)]


def test_right_that_is_taken_away_is_an_incident_at_once_and_over_when_it_is_back(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = write(Dataset([a_table()]), "sqlite", tmp_path / "a.db")
    settings = settings_for(tmp_path, target, incidents=Incidents(resolve_after=1, unknown_after=3))

    @contextmanager
    def without_listings(target: Target, deadline: Deadline) -> Iterator[Connection]:
        with open_connection(target, deadline) as connection:
            yield WithoutListings(connection)

    def days(numbers: Iterable[int]) -> list[list[tuple[str, ChangeKind]]]:
        runs = []
        for n in numbers:
            with clock_at(NOW + timedelta(days=n)):
                runs.append(run.audit_target(target, settings, store, day=DAY + timedelta(days=n)))
        assert not [one.error for one in runs if one.error]
        return [[(c.incident.code, c.kind) for c in one.changes] for one in runs]

    assert days([0]) == [[]]
    with monkeypatch.context() as patched:
        patched.setattr(connectors, "open_connection", without_listings)
        lost = days([1, 4, 5])
    assert lost == [[(DEGRADED_CODE, ChangeKind.OPENED)], *[[(DEGRADED_CODE, ChangeKind.CONTINUED)]] * 2]
    said: list[str] = []
    AuditSession(settings, store).notify(said.append)
    assert sum("rules that worked before are unknown" in text for text in said) == 1
    assert "no SELECT" in said[0]
    assert days([6]) == [[(DEGRADED_CODE, ChangeKind.RESOLVED)]]


@pytest.mark.parametrize(("denied", "is_kept"), [({"b", "c"}, True), ({"c"}, False)])
def test_later_audit_of_the_day_that_may_read_less_than_half_changes_nothing(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch, denied: set[str], is_kept: bool
) -> None:
    target = write(Dataset([a_table(name, text_numbers=True) for name in "abc"]), "sqlite", tmp_path / "a.db")
    settings = settings_for(tmp_path, target)
    first = run.audit_target(target, settings, store, day=DAY)

    @contextmanager
    def deny(target: Target, deadline: Deadline) -> Iterator[Connection]:
        with open_connection(target, deadline) as connection:
            yield Denying(connection, denied)

    monkeypatch.setattr(connectors, "open_connection", deny)
    again = run.audit_target(target, settings, store, day=DAY)
    assert first.result is not None
    assert again.result is not None
    assert (again.result.failed_at is not None) is is_kept
    assert (store.profile(target.name, DAY) == first.profile) is is_kept
    if is_kept:
        assert again.error == "only 1 of 3 tables could be measured: no SELECT"
        assert {r.code for r in again.result.results} == {r.code for r in first.result.results} | {UNREACHABLE_CODE}
    # Whatever the day shows, nothing is closed that was not looked for.
    still = {c.incident.fingerprint for c in again.changes if c.kind is not ChangeKind.RESOLVED}
    assert still >= {c.incident.fingerprint for c in first.changes}


class Denying:
    """A connection whose user may read no row of some tables."""

    def __init__(self, connection: Connection, denied: set[str]) -> None:
        self._connection = connection
        self._denied = denied
        self.server_version = connection.server_version

    def query(self, fact: str, timeout_s: float, given: Given) -> Rows:
        asked = {getattr(given, "measurement", "")}
        if asked & self._denied:
            raise FactError(Reason.DENIED, "no SELECT")
        return self._connection.query(fact, timeout_s, given)

    def reconnect(self) -> Connection:
        return Denying(self._connection.reconnect(), self._denied)

    def abort(self) -> None:
        self._connection.abort()

    def close(self) -> None:
        self._connection.close()


class WithoutListings:
    """A connection whose server lets nobody list tag sets any more."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.server_version = connection.server_version

    def query(self, fact: str, timeout_s: float, given: Given) -> Rows:
        if fact == "series_listing":
            raise FactError(Reason.DENIED, "no SELECT on cpu")
        return self._connection.query(fact, timeout_s, given)

    def reconnect(self) -> Connection:
        return WithoutListings(self._connection.reconnect())

    def abort(self) -> None:
        self._connection.abort()

    def close(self) -> None:
        self._connection.close()


def _moved(changes: Iterable[IncidentChange]) -> list[tuple[str, ChangeKind]]:
    return [(c.incident.code, c.kind) for c in changes if c.kind is not ChangeKind.CONTINUED]


class Killer:
    """A connection whose server dies while the second measurement's tag sets are being listed."""

    def __init__(self, connection: Connection, server: Influxd) -> None:
        self._connection = connection
        self._server = server
        self._listings = 0
        self.server_version = connection.server_version

    def query(self, fact: str, timeout_s: float, given: Given) -> Rows:
        if fact == "series_listing":
            self._listings += 1
            if self._listings == 2:
                self._server.kill()
        return self._connection.query(fact, timeout_s, given)

    def reconnect(self) -> Connection:
        return self._connection.reconnect()

    def close(self) -> None:
        self._connection.close()

    def abort(self) -> None:
        self._connection.abort()


NEXT_DAY = DAY + timedelta(days=1)


def digest_settings(tmp_path: Path, slack: slack_double.SlackDouble, *targets: Target, when: str) -> Settings:
    return settings_for(
        tmp_path,
        *targets,
        owners={"default": Owner(channel="#default")},
        slack=Slack.model_validate(
            {"token": slack_double.TOKEN, "base_url": slack.base_url, "digest_weekday": when},
        ),
    )


def test_digest_is_sent_once_when_the_last_target_of_the_day_was_audited(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock, "today", lambda: NEXT_DAY)
    targets = [
        write(Dataset([a_table(text_numbers=True)]), "sqlite", tmp_path / f"{name}.db", name=name)
        for name in ("a", "b")
    ]
    with slack_double.running() as slack:
        settings = digest_settings(tmp_path, slack, *targets, when="daily")
        for target in targets:
            run.audit_target(target, settings, store, day=DAY)
        AuditSession(settings, store).notify(print)
        run.audit_target(targets[0], settings, store, day=NEXT_DAY)
        AuditSession(settings, store).notify(print)
        alone = len(slack.messages)
        run.audit_target(targets[1], settings, store, day=NEXT_DAY)
        AuditSession(settings, store).notify(print)
        AuditSession(settings, store).notify(print)

    assert alone == 2
    assert len(slack.messages) == 3


@pytest.mark.parametrize(
    ("when", "sent"), [("daily", True), (f"{NEXT_DAY:%A}".lower(), True), (f"{DAY:%A}".lower(), False)]
)
def test_digest_is_sent_on_its_day_and_a_weekly_target_does_not_hold_it_up(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch, when: str, sent: bool
) -> None:
    monkeypatch.setattr(clock, "today", lambda: NEXT_DAY)
    targets = [
        write(Dataset([a_table(text_numbers=True)]), "sqlite", tmp_path / f"{name}.db", name=name, schedule=line)
        for name, line in (("a", "0 6 * * *"), ("weekly", "0 6 * * sun"))
    ]
    assert NEXT_DAY.isoweekday() != 7
    with slack_double.running() as slack:
        settings = digest_settings(tmp_path, slack, *targets, when=when)
        for day in (DAY, NEXT_DAY):
            run.audit_target(targets[0], settings, store, day=day)
            AuditSession(settings, store).notify(print)

    assert len(slack.messages) == 1 + sent


@pytest.mark.parametrize(("late", "queued"), [(0, 1), (1, 1), (2, 0)])
def test_digest_of_a_day_that_is_over_is_not_queued(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch, late: int, queued: int
) -> None:
    """A weekly target was audited late, with `--day`, and completes its day; some audit each day after midnight."""
    target = write(Dataset([a_table(text_numbers=True)]), "sqlite", tmp_path / "a.db", name="a")
    monkeypatch.setattr(clock, "today", lambda: NEXT_DAY)
    with slack_double.running() as slack:
        settings = digest_settings(tmp_path, slack, target, when="daily")
        for day in (DAY, NEXT_DAY):
            run.audit_target(target, settings, store, day=day)
        monkeypatch.setattr(clock, "today", lambda: NEXT_DAY + timedelta(days=late))
        AuditSession(settings, store).notify(print)
    assert len(slack.messages) == 1 + queued


def test_reactions_are_read_before_an_audit_and_a_missing_scope_is_one_line(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock, "today", lambda: NEXT_DAY)
    target = write(Dataset([a_table(text_numbers=True)]), "sqlite", tmp_path / "a.db", name="a")
    said: list[str] = []
    with slack_double.running() as slack:
        settings = digest_settings(tmp_path, slack, target, when="never")
        list(run.audit_targets([target], settings, store, day=DAY))
        AuditSession(settings, store).notify(said.append)
        slack.messages[0].react("zzz", "U0ANN")
        list(run.audit_targets([target], settings, store, day=NEXT_DAY))
        AuditSession(settings, store).notify(said.append)
        assert said == []
        assert "muted until" in slack.messages[0].text, "the audit already knows that it is muted"
        assert [m.text.split(" ")[1] for m in slack.messages[1:]] == ["muted"], "one reply, which confirms it"
        slack.scopes.remove("reactions:read")
        assert AuditSession(settings, store).notify(said.append).errors == ()
    assert len(said) == 1
    assert "reactions:read" in said[0]


def test_what_breaks_while_collecting_is_an_incident_too(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise KeyError("a column that no version of the driver knew")

    target = write(Dataset([a_table(text_numbers=False)]), "sqlite", tmp_path / "a.db", name="a")
    settings = settings_for(tmp_path, target)
    monkeypatch.setattr(run, "collect", broken)
    found = run.audit_target(target, settings, store, day=DAY)
    assert found.error == "internal error in tsaudit.run: KeyError: 'a column that no version of the driver knew'"
    assert (found.verdict, found.profile) == ("unknown", None)
    assert [(i.code, i.target) for i in incidents.current(store)] == [("TGT001", "a")]


def test_as_of_is_now_while_the_day_lasts_and_its_end_afterwards() -> None:
    morning = datetime(2026, 3, 31, 6, tzinfo=UTC)

    assert run.as_of(date(2026, 3, 31), morning) == morning
    assert run.as_of(date(2026, 3, 30), morning) == datetime(2026, 3, 31, tzinfo=UTC)
    assert NOW.date() == DAY


def test_two_audits_of_one_database_under_two_names_never_ask_it_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = write(Dataset([a_table()]), "duckdb", tmp_path / "a.duckdb")
    other = target.model_copy(update={"name": "other"})
    inside, most, lock = 0, 0, threading.Lock()
    collect = run.collect

    def watched(*arguments: Any, **options: Any) -> Any:
        nonlocal inside, most
        with lock:
            inside += 1
            most = max(most, inside)
        time.sleep(0.3)
        try:
            return collect(*arguments, **options)
        finally:
            with lock:
                inside -= 1

    monkeypatch.setattr(run, "collect", watched)

    def location(audited: Target) -> run.AuditRun:
        # As two code locations do: each with its own settings and its own connection to the history.
        settings = settings_for(tmp_path, audited)
        with Store.open(settings.history.get_secret_value()) as store:
            return run.audit_target(audited, settings, store, day=DAY)

    with ThreadPoolExecutor(2) as pool:
        done = list(pool.map(location, [target, other]))
    assert [d.error for d in done] == [None, None]
    assert most == 1


def test_what_is_new_is_what_is_no_longer_muted_or_was_never() -> None:
    made = Decision(DecisionKind.MUTE, "ada", "known", datetime.now(UTC), DAY, Severity.WARNING, 10.0)
    opened, raised, muted, worse, resolved, known = (
        an_incident(a_finding(Subject("main", name))) for name in ("a", "b", "c", "d", "e", "f")
    )
    worse, resolved, known = (replace(one, exceeded=made) for one in (worse, resolved, known))
    kinds = (
        (ChangeKind.OPENED, opened),
        (ChangeKind.RAISED, raised),
        (ChangeKind.OPENED, replace(muted, decision=made)),
        (ChangeKind.CONTINUED, worse),
        (ChangeKind.RESOLVED, resolved),
        (ChangeKind.CONTINUED, known),
    )
    changes = tuple(IncidentChange(kind, incident) for kind, incident in kinds)
    found = run.AuditRun(
        "demo",
        DAY,
        a_result(),
        None,
        changes,
        None,
        0.0,
        None,
        muted={muted.fingerprint: DAY},
        returned=frozenset({worse.fingerprint, resolved.fingerprint}),
    )
    assert found.new == (opened, raised, worse)
