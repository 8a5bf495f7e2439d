"""`tsaudit backtest` on a history that real audits and the store have written."""

from __future__ import annotations

import json
from datetime import date, timedelta
from pathlib import Path

import pytest

from tests.builders import DAY, a_count, a_measurement, a_profile, a_result
from tests.cli.conftest import CONFIG, Tsaudit
from tsaudit.backtest import backtest
from tsaudit.cli.errors import Exit
from tsaudit.config import file as config_file
from tsaudit.history.store import Store
from tsaudit.policy import LimitPolicy
from tsaudit.rules import rule_named

RULE = "CAR004"


@pytest.fixture
def store(folder: Path) -> Store:
    """The history that the folder's tsaudit.yaml names."""
    return Store.open(config_file.load(folder / "tsaudit.yaml").history.get_secret_value())


def remember(store: Store, day: date, series: int | None, target: str = "shop") -> None:
    """One audited day; without series it could not be measured."""
    profile = None
    if series is not None:
        profile = a_profile(
            a_measurement("cpu", series=series, rows=a_count(series * 10)), target=target, day=day, engine="influxdb1"
        )
    store.save(profile, a_result(target=target, day=day, engine="influxdb1"), None)


@pytest.fixture
def runaway(store: Store) -> Store:
    """30 days at 300 series, then 900 more a day for 8; the day before the last was lost."""
    for i in range(38):
        series = 300 + 900 * max(0, i - 29)
        remember(store, DAY - timedelta(days=37 - i), None if i == 36 else series)
    return store


def fired(found: list[dict[str, object]]) -> list[object]:
    return [one["day"] for one in found if one["findings"]]


def test_backtest_when_series_ran_away_names_the_days(runaway: Store, tsaudit: Tsaudit) -> None:
    ran = tsaudit("backtest", RULE, "shop", "--format", "json")

    assert ran.exit_code == Exit.FINDINGS
    found = json.loads(ran.stdout)
    assert len(found) == 38
    days = fired(found)
    assert days
    assert min(days) > (DAY - timedelta(days=8)).isoformat()
    assert max(days) == DAY.isoformat()
    (lost,) = [one for one in found if one["outcome"] is None]
    assert lost["day"] == (DAY - timedelta(days=1)).isoformat()
    assert "no profile" in lost["reason"]
    (finding,) = found[-1]["findings"]
    assert finding["subject"] == "main/cpu"
    assert finding["message"].startswith("Series grew from 300 to 7,500")


def test_backtest_when_a_limit_changes_uses_the_new_one(folder: Path, runaway: Store, tsaudit: Tsaudit) -> None:
    (folder / "tsaudit.yaml").write_text(f"limits:\n  runaway-cardinality.min_series: 1000000\n{CONFIG}")

    ran = tsaudit("backtest", "runaway-cardinality", "shop", "--format", "json")

    assert ran.exit_code == Exit.OK
    found = json.loads(ran.stdout)
    assert fired(found) == []
    limit = next(x for x in found[0]["limits"] if x["name"] == "runaway-cardinality.min_series")
    assert (limit["value"], limit["origin"]) == (1_000_000, "all targets")


def test_backtest_when_read_by_people_prints_limits_days_and_what_is_lost(runaway: Store, tsaudit: Tsaudit) -> None:
    printed = tsaudit("backtest", RULE, "--days", "3").stdout

    assert printed.startswith("shop  CAR004 runaway-cardinality: fires on 2 of 3 audited days\n")
    assert "limit runaway-cardinality.min_series = 1,000 series (default)" in printed
    assert f"{DAY - timedelta(days=1)}  not evaluated: no profile" in printed
    assert f"  {DAY}  " in printed
    assert "main/cpu" in printed


def test_backtest_when_no_day_can_be_judged_exits_as_not_audited(store: Store, tsaudit: Tsaudit) -> None:
    remember(store, DAY, None)

    assert tsaudit("backtest", RULE).exit_code == Exit.NOT_AUDITED


def test_backtest_when_nothing_was_audited_says_so(tsaudit: Tsaudit) -> None:
    assert "there are no audits yet" in tsaudit("backtest", RULE).stdout
    named = tsaudit("backtest", RULE, "shop")
    assert named.exit_code == Exit.USAGE
    assert "`shop` was never audited" in named.stderr


def test_backtest_when_the_rule_or_target_is_unknown_is_a_usage_error(tsaudit: Tsaudit) -> None:
    for arguments in (("CAR999",), (RULE, "shpo")):
        assert tsaudit("backtest", *arguments).exit_code == Exit.USAGE


def test_backtest_when_a_real_audit_was_stored_agrees_with_it(tsaudit: Tsaudit) -> None:
    ran = tsaudit("audit", "shop", "--day", DAY.isoformat(), "--format", "json")
    audited = json.loads(ran.stdout)[0]["findings"]
    code = audited[0]["code"]

    (found,) = json.loads(tsaudit("backtest", code, "shop", "--format", "json").stdout)

    expected = [(f["severity"], f["subject"], f["message"]) for f in audited if f["code"] == code]
    assert [tuple(f.values()) for f in found["findings"]] == expected


def test_backtest_when_run_writes_nothing_and_counts_days_from_the_newest(runaway: Store) -> None:
    before = runaway.days("shop")
    rule = rule_named(RULE)
    assert rule is not None

    found = list(backtest(rule, runaway, "shop", LimitPolicy(), days=5))

    assert [one.day for one in found] == before[-5:]
    assert runaway.days("shop") == before
