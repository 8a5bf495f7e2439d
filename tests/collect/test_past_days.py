"""A past day on an engine that cannot look back: unknown in the audit, in the history, and in `backtest`."""

from __future__ import annotations

import dataclasses
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import duckdb
import pytest
from pydantic import SecretStr

from tests.builders import NOW, a_measurement, a_profile
from tests.histories import clock_at
from tsaudit import run
from tsaudit.backtest import backtest
from tsaudit.collect import of_its_day
from tsaudit.config.settings import Report, Settings, Target
from tsaudit.history.store import Store
from tsaudit.library import measure
from tsaudit.model.figures import Reason
from tsaudit.model.finding import Outcome
from tsaudit.model.profile import Measurement, Profile
from tsaudit.policy import LimitPolicy
from tsaudit.rules import rule_named

FIRST = date(2026, 3, 1)
FACTS = ("documents", "null_counts", "row_sample", "series_listing")


def _day(engine: str, *measurements: Measurement, late: int = 9) -> Profile:
    found = a_profile(*measurements, engine=engine, facts=FACTS)
    return dataclasses.replace(found, collected_at=NOW + timedelta(days=late))


@pytest.mark.parametrize(
    ("engine", "time", "is_known"),
    [
        ("duckdb", "time", True),
        ("duckdb", None, False),
        ("postgresql", None, False),
        ("greptimedb", "time", True),
        ("mongodb", "time", False),
        ("mongodb", None, False),
    ],
)
def test_what_is_read_whatever_its_time_is_unknown_on_a_past_day(engine: str, time: str | None, is_known: bool) -> None:
    found = a_measurement("t", time_column=time)
    assert of_its_day(_day(engine, found, late=0)) == _day(engine, found, late=0)
    profile = of_its_day(_day(engine, found))
    (t,) = profile.measurements
    assert (t.rows is not None, t.series is not None, t.tags[0].values is not None) == (is_known,) * 3
    assert (t.fields[0].null_ratio is not None) is is_known
    assert {gap.fact for gap in profile.gaps} == (set() if is_known else set(FACTS))
    assert all(gap.reason is Reason.PAST_DAY and gap.measurement == "t" for gap in profile.gaps)


def test_past_day_of_a_table_without_time_is_unknown_and_backtest_counts_it_so(tmp_path: Path) -> None:
    """Its values are those of today: on the past day, they may not have been there."""
    path, now = tmp_path / "w.duckdb", datetime(2026, 3, 21, 12, tzinfo=UTC)
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t AS SELECT 'h' || i AS host, 1.5 AS v FROM range(900) AS r(i)")
    columns = {"t": {"tags": ["host"], "kind": "series"}}
    target = Target.model_validate({"name": "past", "engine": "duckdb", "url": f"duckdb:///{path}", "columns": columns})
    settings = Settings(
        history=SecretStr("sqlite:///unused.db"), report=Report(folder=str(tmp_path / "reports")), targets=(target,)
    )
    rule = rule_named("CAR004")
    assert rule is not None
    with clock_at(now), Store.open(f"sqlite:///{tmp_path}/history.db") as store:
        days = (FIRST, FIRST + timedelta(days=10), now.date())
        done = [run.audit_target(target, settings, store, day=day) for day in days]
        found = [one.result.outcome for one in backtest(rule, store, "past", LimitPolicy(), 30) if one.result]
        assert [m.series for m in measure(target, day=FIRST).measurements] == [None]
    assert [one.error for one in done] == [None] * 3
    audited = [next(r.outcome for r in one.result.results if r.code == "CAR004") for one in done if one.result]
    assert audited == found == [Outcome.OPEN, Outcome.OPEN, Outcome.PASS]
