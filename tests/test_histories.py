"""What audits say on each day of a month: true warnings in time, and no other, on any day."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import SecretStr

from tests.databases import influxql, new_name, write_lines
from tests.histories import DAYS, EVENT, FIXED, HISTORIES, Daily, Expected, at, clock_at, lines
from tests.servers import Influxd
from tsaudit import run
from tsaudit.config.settings import Incidents, Settings, Target
from tsaudit.history.store import Store
from tsaudit.model.finding import AuditResult, Outcome, Severity

CHEAP = EVENT + 6
"""Days that show the event, and what follows from it at once."""


def audited(daily: Daily, server: Influxd, folder: Path, days: int) -> Iterator[AuditResult]:
    """The audits at the end of each day."""
    database = new_name()
    influxql(server.url, f"CREATE DATABASE {database}")
    write_lines(server.url, database, lines(daily, 0, on=-1))
    limits = {"high-series-cardinality.max_series": daily.max_series} if daily.max_series else {}
    target = Target(name="month", engine="influxdb1", url=server.url, databases=(database,), limits=limits)
    settings = Settings(
        history=SecretStr("sqlite:///unused.db"),
        incidents=Incidents(open_after=1, resolve_after=1),
        targets=(target,),
    )
    with Store.open(f"sqlite:///{folder}/history.db") as store, pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "_report", lambda *_: (None, None))
        for day in range(days):
            if daily.dropped and day == FIXED:
                influxql(server.url, f"DROP SERIES FROM m WHERE {daily.dropped} != ''", db=database)
            write_lines(server.url, database, lines(daily, day))
            now = at(day) + timedelta(hours=23, minutes=59)
            with clock_at(now):
                done = run.audit_target(target, settings, store, day=now.date())
            assert done.result is not None, done.error
            yield done.result


def wrong(result: AuditResult, expected: Expected) -> Iterator[str]:
    """What is not as expected."""
    found = {(f"{r.code} {f.subject.column}".strip(), str(f.severity)): f.message for r, f in result.findings()}
    most = Severity(expected.severity)
    for (code, severity), message in found.items():
        if Severity(severity).rank > most.rank:
            yield f"{severity} {code}: {message}"
    missing = {code for code in expected.must if (code, expected.severity) not in found}
    yield from (f"no {expected.severity} {code}" for code in sorted(missing))


def _played(daily: Daily, server: Influxd, folder: Path, days: int) -> None:
    results = enumerate(audited(daily, server, folder, days))
    found = [f"day {day}: {line}" for day, result in results for line in wrong(result, daily.expected(day))]
    assert not found, "\n".join(found)


@pytest.mark.full
@pytest.mark.parametrize("daily", HISTORIES, ids=lambda daily: daily.name)
def test_month_has_its_warnings_on_their_days_and_no_other(daily: Daily, influxd: Influxd, tmp_path: Path) -> None:
    _played(daily, influxd, tmp_path, DAYS)


@pytest.mark.full
def test_event_has_its_warnings_on_their_days_and_no_other(influxd: Influxd, tmp_path: Path) -> None:
    """The one of these histories that needs most of what they need: a day takes half a second."""
    (daily,) = (one for one in HISTORIES if one.name == "a leak in an old tag")
    _played(daily, influxd, tmp_path, CHEAP)


def test_past_day_of_an_index_is_unknown_and_never_passes(influxd: Influxd, tmp_path: Path) -> None:
    """Its series are listed as they are today: on the past day, they may not have been there."""
    (daily,) = (one for one in HISTORIES if one.name == "a leak")
    past = at(EVENT).date()
    with Store.open(f"sqlite:///{tmp_path}/history.db") as store:
        target = _written(daily, influxd, EVENT + 4)
        with clock_at(at(EVENT + 3) + timedelta(hours=23)):
            settings = Settings(history=SecretStr("sqlite:///unused.db"), targets=(target,))
            done = run.audit_target(target, settings, store, day=past)
    assert done.error is None
    assert done.profile is not None
    assert [m.series for m in done.profile.measurements] == [None]
    assert [tag.values for m in done.profile.measurements for tag in m.tags] == [None] * 3
    assert done.result is not None
    outcomes = {r.code: r.outcome for r in done.result.results}
    assert {outcomes[code] for code in ("CAR001", "CAR004", "TAG002")} == {Outcome.OPEN}
    # What only needs rows is known.
    assert outcomes["LAY006"] is Outcome.PASS


def _written(daily: Daily, server: Influxd, days: int) -> Target:
    database = new_name()
    influxql(server.url, f"CREATE DATABASE {database}")
    for day in range(days):
        write_lines(server.url, database, lines(daily, day))
    return Target(name="month", engine="influxdb1", url=server.url, databases=(database,))
