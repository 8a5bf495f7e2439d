"""TAG002: IDs and texts as tags."""

from __future__ import annotations

import dataclasses
import random
import uuid
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

import pytest

from tests.builders import (
    DAY,
    NOW,
    PASSING,
    RECURRING,
    a_count,
    a_field,
    a_measurement,
    a_profile,
    a_ratio,
    a_source,
    a_tag,
    a_turnover,
    values_over_time,
)
from tests.engines.greptimedb.cases import a_table, findings
from tests.rules.cases import Case, dataset, hosts, planned, plans, run_rule, table
from tests.rules.tags.kind_cases import OF_KINDS, RECORDED
from tsaudit import costs
from tsaudit.evaluation import evaluate
from tsaudit.model.change import Diagnose, MakeField
from tsaudit.model.columns import Dependency, Reports, SeriesSince, TagSets, Turnover, ValuesKind, ValuesOverTime
from tsaudit.model.figures import FOREVER, How, Subject
from tsaudit.model.finding import Currency, Finding, Jump, Outcome, RuleResult, Severity
from tsaudit.model.profile import Database, Measurement, Profile
from tsaudit.model.rows import RowsApart, SetApart
from tsaudit.model.server import ServerStatus
from tsaudit.model.storage import Retention
from tsaudit.model.timeline import Point, Timeline
from tsaudit.policy import LimitPolicy
from tsaudit.rule import Case as RuleCase
from tsaudit.rules.tags.unbounded_tag import unbounded_tag as rule

KINDS: Final[tuple[ValuesKind, ...]] = ("bounded", "churning", "unknown")
SENSORS = tuple(f"TLM0{i}" for i in ("100", "101", "102", "103", "200", "201", "202", "203"))
_random = random.Random(7)
UUIDS = tuple(str(uuid.UUID(int=_random.getrandbits(128), version=4)) for _ in range(150))


def _messages(count: int) -> tuple[str, ...]:
    return tuple(
        f"ERROR user {i * 7919 % 100_000} not found: session 2024-03-{i % 28 + 1:02}T12:{i % 60:02}:03Z"
        for i in range(count)
    )


CASES = (
    Case(
        breaks=dataset(table("checkout", [{"order_id": u, "shop": f"s{i % 3}"} for i, u in enumerate(UUIDS)])),
        keeps=dataset(table("air_sensors", [{"sensor_id": s} for s in SENSORS], rows=40)),
        subject=Subject("", "checkout", "order_id"),
        main_contributor="order_id",
        limits={"unbounded-tag.max_values": 100},
    ),
    Case(
        breaks=dataset(table("visits", [{"ticket": f"word{i}s"} for i in range(120)], rows=2)),
        keeps=dataset(table("visits", [{"ticket": f"word{i}s"} for i in range(120)], rows=20)),
        subject=Subject("", "visits", "ticket"),
        main_contributor="ticket",
        limits={"unbounded-tag.max_values": 200},
    ),
    Case(
        breaks=dataset(table("app_log", [{"message": m, "level": "error"} for m in _messages(40)])),
        keeps=dataset(table("app_log", [h | {"level": v} for h in hosts(30) for v in ("error", "info")])),
        subject=Subject("", "app_log", "message"),
        main_contributor="message",
        engines=rule.engines - {RECORDED},
    ),
    *OF_KINDS,
)


def _measurement(values: int, sample: tuple[str, ...], rows: int = 1_000_000, series: int = 1000) -> Measurement:
    return a_measurement("checkout", series, tags=(a_tag("order_id", values, sample),), rows=a_count(rows))


def test_finding_when_just_over_the_number_of_ids() -> None:
    assert run_rule(rule, a_profile(_measurement(1000, UUIDS[:64]))).outcome is Outcome.PASS
    assert run_rule(rule, a_profile(_measurement(1001, UUIDS[:64]))).outcome is Outcome.FAIL
    assert run_rule(rule, a_profile(_measurement(1001, UUIDS[:64])), {"max_values": 5000}).outcome is Outcome.PASS


@pytest.mark.parametrize(
    ("in_memory", "limits", "currency"),
    [
        (1.0, {}, Currency.LIMIT),
        # The index on disk takes any number of values, whatever the setting says.
        (0.0, {}, Currency.SERIES),
        # A limit of the owner holds on each server, also once there is more.
        (0.0, {"engine_values": 900}, Currency.LIMIT),
    ],
)
def test_values_count_toward_a_limit_that_holds(in_memory: float, limits: Mapping[str, float], currency: str) -> None:
    server = ServerStatus({"max_values_per_tag": 1_200.0, "index_in_memory": in_memory})
    profile = a_profile(_measurement(1_001, UUIDS[:64]), engine="influxdb1", server=server)
    (finding,) = run_rule(rule, profile, limits).findings
    assert finding.impact is not None
    assert finding.impact.currency == currency
    assert ("raise `max-values-per-tag`" in finding.fix) is bool(in_memory)


def test_silence_when_ids_are_scoped() -> None:
    assert run_rule(rule, a_profile(_measurement(8, SENSORS))).outcome is Outcome.PASS


def test_finding_when_hardly_any_value_is_used_again() -> None:
    words = tuple(f"name{i}x" for i in range(64))
    assert run_rule(rule, a_profile(_measurement(500, words, rows=5000))).outcome is Outcome.PASS
    (finding,) = run_rule(rule, a_profile(_measurement(501, words, rows=5000))).findings
    assert finding.message == "Tag order_id has 501 values in 5,000 rows, each in 10 of them on average."
    assert run_rule(rule, a_profile(_measurement(499, words, rows=600))).outcome is Outcome.PASS


@pytest.mark.parametrize(
    ("rows", "error", "said"),
    [
        (4_321, 50.0, "in about 4,300 rows, each in about 5 of them on average"),
        (1_100, 20.0, "in about 1,100 rows, hardly any is used again"),
        (2_345, 900.0, "in about 2,000 rows, each in few of them"),
        (1_234, 700.0, "in about 1,000 rows, each in few of them"),
    ],
)
def test_what_an_estimate_of_the_rows_does_not_show_is_not_said(rows: int, error: float, said: str) -> None:
    measurement = dataclasses.replace(
        _measurement(900, tuple(f"name{i}x" for i in range(64))),
        rows=a_count(rows, How.ESTIMATE, standard_error=error),
    )
    (finding,) = run_rule(rule, a_profile(measurement)).findings
    assert finding.message == f"Tag order_id has 900 values {said}."


def test_rows_of_which_there_may_be_any_number_more_show_nothing() -> None:
    """1,077 rows of which an index says nothing: each of the 600 values may be written hundreds of times a day."""
    words = tuple(f"name{i}x" for i in range(64))
    known = a_count(1_077, How.SAMPLED)
    for is_at_least, outcome in ((False, Outcome.FAIL), (True, Outcome.PASS)):
        rows = dataclasses.replace(known, source=dataclasses.replace(known.source, is_at_least=is_at_least))
        measurement = dataclasses.replace(_measurement(600, words), rows=rows)
        assert run_rule(rule, a_profile(measurement)).outcome is outcome


def test_silence_when_devices_wrote_little_so_far() -> None:
    devices = tuple(f"70b3d5{7919 * i % 16**10:010x}" for i in range(64))
    assert run_rule(rule, a_profile(_measurement(3_000, devices, rows=6_000))).outcome is Outcome.PASS
    others = tuple(f"name{i}x" for i in range(64))
    assert run_rule(rule, a_profile(_measurement(3_000, others, rows=6_000))).outcome is Outcome.FAIL


def test_finding_when_pods_are_many() -> None:
    chance = random.Random(8)
    pods = tuple(f"cart-{''.join(chance.choices('bcdfghjklmnpqrstvwxz2456789', k=5))}" for _ in range(64))
    (finding,) = run_rule(rule, a_profile(_measurement(2_000, pods))).findings
    assert "shaped like IDs (pod name)" in finding.message


def test_ids_of_no_special_kind_are_called_ids_once() -> None:
    tickets = tuple(f"/basket/{7919 * i % 10**7}/pay" for i in range(1, 65))
    (finding,) = run_rule(rule, a_profile(_measurement(2_000, tickets))).findings
    assert "has 2,000 values shaped like IDs; whether more come, 7 daily audits show" in finding.message


def test_finding_when_the_limit_of_the_engine_is_near() -> None:
    words = tuple(f"name{i}x" for i in range(64))
    for values, outcome in ((79_999, Outcome.PASS), (80_000, Outcome.FAIL)):
        profile = a_profile(_measurement(values, words, rows=10**9, series=values), engine="influxdb1")
        assert run_rule(rule, profile).outcome is outcome
    profile = a_profile(_measurement(80_000, words, rows=10**9, series=80_000))
    assert run_rule(rule, profile).outcome is Outcome.PASS


def test_silence_when_rows_were_not_counted() -> None:
    measurement = a_measurement(tags=(a_tag("host", 600, tuple(f"name{i}x" for i in range(64))),), rows=None)
    assert run_rule(rule, a_profile(measurement)).outcome is Outcome.PASS


def _watched(sample: tuple[str, ...], over_time: ValuesOverTime | None, values: int = 1001) -> Measurement:
    tags = (a_tag("order_id", values, sample, over_time=over_time),)
    return a_measurement("checkout", 2000, tags=tags, rows=a_count(1_000_000))


def test_finding_when_the_listings_show_no_end() -> None:
    words = tuple(f"name{i}x" for i in range(64))
    (finding,) = run_rule(rule, a_profile(_watched(words, values_over_time("unbounded")))).findings
    assert finding.message == "Tag order_id has 1,001 values, gains 310 a day and is not leveling off."
    assert finding.per_day == 310
    assert finding.evidence[-1].value == "unbounded over 28 days: beta 1, 98% of a week's values were new"
    assert run_rule(rule, a_profile(_watched(words, values_over_time("unbounded"), 1000))).outcome is Outcome.PASS
    for kind in KINDS:
        assert run_rule(rule, a_profile(_watched(words, values_over_time(kind)))).outcome is Outcome.PASS


_GOES_ON: Final = "not leveling off"
_ENDED: Final = "has stopped"


def _arrived(*days_ago: int, **changes: Any) -> ValuesOverTime:
    """New values on each of those days, the newest last."""
    days = [DAY - timedelta(days=n) for n in days_ago]
    series = tuple(SeriesSince(day, 300, 300) for day in days)
    return dataclasses.replace(values_over_time("unbounded"), newest=days[-1], series=series, new_values=0, **changes)


@pytest.mark.parametrize(
    ("arrived", "says"),
    [
        (_arrived(*range(27, -1, -1)), _GOES_ON),
        # One day without any is more than ever before, but does not show that they have ended.
        (_arrived(*range(27, 1, -1)), "gained 310 a day until 2026-03-29 and none since"),
        (_arrived(*range(27, 2, -1)), _ENDED),
        # A week's load brings new values on Sundays only.
        (_arrived(26, 19, 12, 5), _GOES_ON),
        (_arrived(27, 20), _ENDED),
        # Nobody writes them on weekends: two Mondays without are needed.
        (_arrived(*(n for n in range(27, -1, -1) if n % 7 not in (1, 2))), _GOES_ON),
        (_arrived(*(n for n in range(27, 4, -1) if n % 7 not in (1, 2))), "until 2026-03-26 and none since"),
        (_arrived(*(n for n in range(27, 6, -1) if n % 7 not in (1, 2))), _ENDED),
        (_arrived(*range(27, 2, -1), sampled_values=500), _GOES_ON),
    ],
)
def test_a_leak_that_was_fixed_is_good_news(arrived: ValuesOverTime, says: str) -> None:
    (finding,) = run_rule(rule, a_profile(_watched(UUIDS[:64], arrived), engine="influxdb1")).findings
    assert (finding.impact is None) is (says == _ENDED)
    assert says in finding.message
    assert ("has stopped" in finding.message) is (says == _ENDED)
    # No figure says "more a day" beside "none since": a date is that of the case that more come.
    is_quiet = "none since" in finding.message
    assert ("the time left assumes that more will come" in finding.message) is (is_quiet and says != _ENDED)
    assert finding.per_day is None or not is_quiet


def test_values_of_one_day_are_no_rate() -> None:
    """So many on the last day may come once: the rate is that of the days before."""
    known = _arrived(*range(27, -1, -1), new_per_day=44_180.0)
    last = SeriesSince(DAY, 44_180, 44_180)
    burst = dataclasses.replace(known, series=(*known.series[:-1], last), new_values=44_180)
    (finding,) = run_rule(rule, a_profile(_watched(UUIDS[:64], burst, 60_000), engine="influxdb1")).findings
    assert f", gained 44,180 on {DAY}, 300 a day before" in finding.message
    assert "leveling off" not in finding.message
    assert finding.per_day == 300
    assert finding.jump == Jump(DAY - timedelta(days=1), 44_180)
    assert finding.impact is None or finding.impact.per_day is None
    again = dataclasses.replace(
        burst, series=(*known.series[:-2], SeriesSince(DAY - timedelta(1), 44_180, 44_180), last)
    )
    (finding,) = run_rule(rule, a_profile(_watched(UUIDS[:64], again, 60_000), engine="influxdb1")).findings
    assert "gains 44,180 a day and is not leveling off" in finding.message


def test_listing_that_was_reused_shows_no_end_of_the_values() -> None:
    """The newest values are three days old, but so is the listing."""
    profile = a_profile(_watched(UUIDS[:64], _arrived(*range(27, 2, -1))), engine="influxdb1")
    (measurement,) = profile.measurements
    listed = a_count(1_001)
    listed = dataclasses.replace(listed, source=a_source(as_of=NOW - timedelta(days=3)))
    tags = (dataclasses.replace(measurement.tags[0], values=listed),)
    (finding,) = run_rule(rule, a_profile(dataclasses.replace(measurement, tags=tags), engine="influxdb1")).findings
    assert "has stopped" not in finding.message
    assert "gains 310 a day" in finding.message


@pytest.mark.parametrize(
    ("engine", "rest"), [("duckdb", "They leave the figures by "), ("influxdb1", "They stay in the index until ")]
)
def test_what_is_left_after_the_fix(engine: str, rest: str) -> None:
    profile = a_profile(_watched(UUIDS[:64], _arrived(*range(27, 2, -1))), engine=engine)
    assert rest in run_rule(rule, profile).findings[0].message


def test_ids_by_their_look_are_a_guess_until_it_is_known_how_many_come() -> None:
    guess, pace = "; whether more come, 7 daily audits show.", "; about 310 come a day."
    for known, says in ((None, guess), (values_over_time("unknown", 3), pace), (values_over_time("churning"), ".")):
        (finding,) = run_rule(rule, a_profile(_watched(UUIDS[:64], known))).findings
        assert finding.message == f"Tag order_id has 1,001 values shaped like IDs (UUID){says}"
    assert run_rule(rule, a_profile(_watched(UUIDS[:64], values_over_time("bounded")))).outcome is Outcome.PASS


def test_values_written_once_are_no_guess_once_there_are_two_listings() -> None:
    """Nothing becomes less certain as more values come."""
    for values in (900, 1_001):
        known = values_over_time("unknown", 2, new_values=400)
        measurement = _watched(UUIDS[:64], known, values)
        once = Reports(1.0, 30.0, 0.0)
        (tag,) = measurement.tags
        measurement = dataclasses.replace(measurement, tags=(dataclasses.replace(tag, reports=once),))
        (finding,) = run_rule(rule, a_profile(measurement)).findings
        assert finding.message.endswith(", 400 of them new since the listing before, each written once or twice.")


@pytest.mark.parametrize(
    ("since", "days_left"),
    [
        (timedelta(days=1), 2.0),
        (timedelta(hours=8), 2 / 3),
        (timedelta(days=3), 6.0),
        # Too short for a rate: as on the first day, all came in the 30 days of the rows.
        (timedelta(minutes=5), 30 * 2_000 / 1_001),
    ],
)
def test_values_since_the_listing_before_count_for_the_time_that_passed(since: timedelta, days_left: float) -> None:
    """An audit of yesterday, made today, and one of today are no day apart."""
    server = ServerStatus({"max_values_per_tag": 3_001.0, "index_in_memory": 1.0})
    now = _watched(UUIDS[:64], values_over_time("unknown", 2, new_values=1_000, new_per_day=None))
    now = dataclasses.replace(now, tags=(dataclasses.replace(now.tags[0], turnover=PASSING),))
    earlier = a_profile(now, day=DAY - timedelta(days=1), collected_at=NOW - since)
    profile = a_profile(now, engine="influxdb1", server=server)
    (finding,) = run_rule(rule, profile, timeline=Timeline(previous=earlier)).findings
    assert finding.impact is not None
    assert finding.impact.days_left == pytest.approx(days_left)


@pytest.mark.parametrize(
    ("newest", "usual", "per_day"),
    [
        (520, 840.0, 840.0),  # Saturday: two weekdays with 1,000 each came before.
        (2_000, 840.0, 2_000.0),  # A leak that began yesterday.
        (20, 840.0, 20.0),  # What a rollout has left.
        (140, 840.0, 140.0),  # A leak that was fixed in the morning.
        (0, 840.0, 0.0),
    ],
)
def test_a_day_off_does_not_hide_what_the_weekdays_bring(newest: int, usual: float, per_day: float) -> None:
    server = ServerStatus({"max_values_per_tag": 3_001.0, "index_in_memory": 1.0})
    now = _watched(UUIDS[:64], values_over_time("unknown", 4, new_values=newest, new_per_day=usual))
    now = dataclasses.replace(now, tags=(dataclasses.replace(now.tags[0], turnover=PASSING),))
    earlier = a_profile(now, day=DAY - timedelta(days=1), collected_at=NOW - timedelta(days=1))
    profile = a_profile(now, engine="influxdb1", server=server)
    case = RuleCase(rule, profile, Timeline(previous=earlier), LimitPolicy())
    growth = costs.growth_of(case, now, now.tags)
    assert growth == pytest.approx(per_day / 1_001)


@pytest.mark.parametrize(
    ("had_tag", "hours", "per_day"), [(False, 24, 1_001), (False, 8, 3_003), (True, 24, 1_001 / 30)]
)
def test_values_of_a_tag_that_is_new_have_come_since_the_audit_that_did_not_see_it(
    had_tag: bool, hours: int, per_day: float
) -> None:
    """A deploy adds it to a measurement with rows of a month: 1,001 values are those of a day, not of a month."""
    now = _watched(UUIDS[:64], values_over_time("unknown", 1, new_values=None))
    tags = (dataclasses.replace(now.tags[0], turnover=PASSING), a_tag("shop"))
    now = dataclasses.replace(now, tags=tags)
    then = dataclasses.replace(now, tags=tags if had_tag else tags[1:])
    earlier = a_profile(then, day=DAY - timedelta(days=1), collected_at=NOW - timedelta(hours=hours))
    case = RuleCase(rule, a_profile(now, engine="influxdb1"), Timeline(previous=earlier), LimitPolicy())
    growth = costs.growth_of(case, now, now.tags[:1])
    assert growth == pytest.approx(per_day / 1_001)


def test_values_of_a_column_whose_role_was_another_one_are_not_new() -> None:
    now = _watched(UUIDS[:64], values_over_time("unknown", 1, new_values=None))
    now = dataclasses.replace(now, tags=(dataclasses.replace(now.tags[0], turnover=PASSING), a_tag("shop")))
    then = dataclasses.replace(now, tags=now.tags[1:], fields=(a_field("order_id"),))
    earlier = a_profile(then, day=DAY - timedelta(days=1), collected_at=NOW - timedelta(days=1))
    case = RuleCase(rule, a_profile(now, engine="influxdb1"), Timeline(previous=earlier), LimitPolicy())
    assert costs.growth_of(case, now, now.tags[:1]) == pytest.approx(1 / 30)


@pytest.mark.parametrize(("limit", "days"), [(5_000, 120), (20_000, 365)])
def test_series_grow_no_further_than_the_server_accepts(limit: int, days: int) -> None:
    """33 a day are 13,000 in a year, if there is room for them."""
    tag = a_tag("client", 1_000, UUIDS[:64], turnover=PASSING)
    measurement = a_measurement("wifi", 1_000, tags=(tag,), rows=a_count(10**6))
    server = ServerStatus({"max_series_per_database": float(limit), "index_in_memory": 1.0})
    (finding,) = run_rule(rule, a_profile(measurement, engine="influxdb1", server=server)).findings
    assert finding.impact is not None
    assert finding.impact.currency is Currency.SERIES
    assert finding.impact.after(365) == pytest.approx(min(999 + 365 * 999 / 30, 999 + limit - 1_000))
    assert finding.impact.stops_after(365) == pytest.approx(days, rel=0.01)
    assert ("more is rejected" in finding.consequence) is (days < 365)


def _runners(values: Sequence[int], per_day: int, kept: int | None, kind: ValuesKind = "unbounded") -> RuleResult:
    """A tag with these numbers of values on successive days, the newest today, of which so many are new."""
    first = [per_day] * len(values)
    series = tuple(SeriesSince(DAY - timedelta(days=n), count, count) for n, count in enumerate(first))[::-1]
    known = values_over_time(kind, new_values=per_day, new_per_day=float(per_day))
    known = dataclasses.replace(known, series=series, newest=DAY)
    lasting = Reports(5.0, 30.0, 0.9)
    tag = a_tag("runner", values[-1], UUIDS[:64], over_time=known, reports=lasting)
    policy = Retention("p", FOREVER if kept is None else kept * 86_400, None, default=True)
    profile = a_profile(
        a_measurement("ci", values[-1], tags=(tag,), rows=a_count(1_000_000)),
        engine="influxdb1",
        databases=(Database("main", retention=(policy,)),),
    )
    points = tuple(Point(DAY - timedelta(days=len(values) - 1 - n), float(v)) for n, v in enumerate(values[:-1]))
    history = Timeline(points={("tag_values", Subject("main", "ci", "runner")): points})
    return run_rule(rule, profile, timeline=history)


def test_values_level_off_where_as_many_expire_as_are_added() -> None:
    """After the retention was extended to 60 days, 1,500 new ones a day add up to 90,000: below 100,000."""
    growing = [9_000 + 1_500 * n for n in range(20)]
    for kept, is_reached in ((60, False), (70, True), (None, True)):
        for kind in _COMING:
            (finding,) = _runners(growing, 1_500, kept, kind).findings
            left = finding.impact.days_left if finding.impact else None
            assert (left is not None) is is_reached, (kept, kind)


def test_values_that_all_replace_others_reach_no_limit() -> None:
    for kind in _COMING:
        for finding in _runners([60_000] * 20, 1_500, None, kind).findings:
            assert finding.impact is None or finding.impact.days_left is None


_COMING: Final[tuple[ValuesKind, ...]] = ("churning", "unbounded")


def test_values_take_the_place_of_others_only_if_others_leave() -> None:
    (same,) = _runners([9_000] * 20, 1_500, 6).findings
    assert same.message.endswith(": 1,500 a day take the place of others, and each reports for a while.")
    assert same.per_day is None
    (more,) = _runners([9_000 + 1_500 * n for n in range(20)], 1_500, 60).findings
    assert more.message.endswith(": 1,500 a day are added, and each reports for a while.")
    assert more.per_day == 1_500


def test_the_limit_shown_is_the_one_that_the_severity_is_about() -> None:
    growing = [9_000 + 1_500 * n for n in range(20)]
    (far,), (near,) = _runners(growing, 1_500, 60).findings, _runners(growing, 1_500, None).findings
    assert far.limit is not None
    assert near.limit is not None
    assert (far.limit.value, near.limit.value) == (1_000, 100_000)


def test_key_of_the_copy_when_it_is_greptimedb() -> None:
    tags = (a_tag("app", 3), a_tag("trace_id", 2000, UUIDS[:64]))
    steps = planned(rule, a_profile(a_table(tags=tags, key=("app", "trace_id")), engine="greptimedb"))
    assert 'PRIMARY KEY ("app")' in steps


def test_label_when_it_is_the_metric_engine() -> None:
    tags = (a_tag("__table_id", 3), a_tag("trace_id", 2000, UUIDS[:64]))
    (finding,) = findings(rule, a_table(tags=tags, key=("__table_id", "trace_id"), options={"engine": "metric"}))
    assert "Stop writing trace_id to logs." in finding.fix
    assert "CREATE TABLE" not in finding.fix
    assert "INDEX" not in finding.fix


def test_key_when_the_id_was_all_of_it() -> None:
    table = a_table(tags=(a_tag("trace_id", 2000, UUIDS[:64]),), key=("trace_id",))
    steps = planned(rule, a_profile(table, engine="greptimedb"))
    assert "PRIMARY KEY" not in steps
    assert "'append_mode'='true'" in steps


@pytest.mark.parametrize(("per_value", "reported"), [(2.0, ["id"]), (1.0, ["id", "name"])])
def test_tags_that_say_the_same_go_together(per_value: float, reported: list[str]) -> None:
    reports = Reports(per_value, 48.0, lasting_ratio=0.0)
    tags = (a_tag("id", 2000, UUIDS[:64], reports=reports), a_tag("name", 2000, UUIDS[64:128], reports=reports))
    said = (Dependency("id", "name"), Dependency("name", "id"))
    sets = TagSets(2000, 2000, 2000, said, ("id",), (), (), a_source())
    profile = a_profile(a_measurement("pods", 2000, tags=tags, tag_sets=sets), engine="influxdb1")
    # Two findings would tell one cause twice, unless both are written once, as is whatever is in such a row.
    found = run_rule(rule, profile).findings
    assert [finding.subject.column for finding in found] == reported
    assert found[0].fix.startswith("Write id and name as fields")
    (plan,) = plans(rule, profile)
    assert [(asked.change.claims(), asked.rules) for asked in plan.changes] == [
        ({("role", "id"): "field"}, ("TAG002",)),
        ({("role", "name"): "field"}, ("TAG002",)),
    ]


def test_fleet_that_reports_seldom_is_no_endless_id() -> None:
    """3,000 water meters by their serials, which call home once a day."""
    serials = tuple(f"1EBZ{100_000_000 + 7_919 * i}" for i in range(64))
    meters = a_tag("meter_id", 3_000, serials)
    for tag, outcome in (
        (meters, Outcome.PASS),
        (dataclasses.replace(meters, key="order_id"), Outcome.FAIL),
        (dataclasses.replace(meters, key="order_id", turnover=RECURRING), Outcome.PASS),
        (dataclasses.replace(meters, turnover=PASSING, reports=Reports(2.0, 48.0, 0.0)), Outcome.FAIL),
        (dataclasses.replace(meters, over_time=values_over_time("unbounded")), Outcome.FAIL),
    ):
        measurement = a_measurement("readings", 3_000, tags=(tag,), rows=a_count(3_000))
        assert run_rule(rule, a_profile(measurement)).outcome is outcome


def test_finding_when_each_value_is_replaced_after_a_while() -> None:
    words = tuple(f"name{i}x" for i in range(64))

    def of(values: int, seen: Turnover | None, **changes: Any) -> Measurement:
        tags = (a_tag("mac", values, words, turnover=seen, **changes),)
        return a_measurement("clients", values, tags=tags, rows=a_count(1_000_000))

    (finding,) = run_rule(rule, a_profile(of(201, PASSING))).findings
    assert finding.message == (
        "Tag mac has 201 values, and new ones keep coming for the same unit: in the last third of the rows read, 100 "
        "appear for the first time and 5 of the 100 in the first third again."
    )
    step = a_turnover(100, 0, 100, is_step=True)
    for quiet in (
        of(20, PASSING),
        of(201, step),
        of(201, None),
        of(201, PASSING, over_time=values_over_time("bounded")),
    ):
        assert run_rule(rule, a_profile(quiet)).outcome is Outcome.PASS


@pytest.mark.parametrize(
    ("per_value", "hours", "words", "priced"),
    [
        # 1,500 hosts at one instant, or in an hour; requests over a day; hosts that were seen twice.
        (1.0, 0.0, tuple(f"web{i}" for i in range(64)), False),
        (1.0, 24.0, tuple(f"web{i}" for i in range(64)), True),
        (2.0, 1.0, tuple(f"web{i}" for i in range(64)), True),
        # What looks like an ID needs no second look.
        (1.0, 0.0, UUIDS[:64], True),
    ],
)
def test_values_that_could_not_have_come_again_are_judged_by_the_next_audit(
    per_value: float, hours: float, words: tuple[str, ...], priced: bool
) -> None:
    reports = Reports(per_value, hours, lasting_ratio=0.0)
    measurement = a_measurement(
        "hosts", 1_500, tags=(a_tag("host", 1_500, words, reports=reports),), rows=a_count(1_500)
    )
    (finding,) = run_rule(rule, a_profile(measurement, engine="influxdb1")).findings
    assert (finding.impact is not None) is priced
    assert ("next audit" in finding.message) is not priced


def test_values_of_sources_that_others_replace_cost_nothing() -> None:
    passing = dataclasses.replace(PASSING, lasting_ratio=0.9)
    pods = a_tag("pod", 1_500, turnover=passing, reports=Reports(12.0, 96.0, lasting_ratio=0.9))
    (finding,) = run_rule(rule, a_profile(a_measurement("cpu", 1_500, tags=(pods,)), engine="influxdb1")).findings
    assert (finding.severity, finding.impact) == ("note", None)


@pytest.mark.parametrize(("kept", "severity"), [(40, "note"), (None, "warning")])
def test_what_ends_within_minutes_costs_the_series_that_are_kept(kept: int | None, severity: str) -> None:
    """667 come a day: 27,000 are there at a time, or 260,000 in a year."""
    runs = a_tag("worker", 20_000, turnover=PASSING, reports=Reports(5.0, 96.0, lasting_ratio=0.0))
    retention = Retention("all", FOREVER if kept is None else kept * 86_400, None, default=True)
    measurement = a_measurement("jobs", 20_000, tags=(runs,), retention=retention)
    (finding,) = run_rule(rule, a_profile(measurement, engine="influxdb1")).findings
    assert finding.impact is not None
    assert finding.severity == severity


def test_tag_that_has_to_stay_in_one_measurement_stays_in_all() -> None:
    tag = a_tag("pump", 1_900, turnover=PASSING, reports=Reports(40.0, 96.0, lasting_ratio=0.0))
    flow, heat = (
        a_measurement(
            name, 1_900, tags=(tag,), rows_apart=RowsApart(1_000, (SetApart(("pump",), lost),), True, a_source())
        )
        for name, lost in (("flow", 30), ("heat", 0))
    )
    alone, *_ = run_rule(rule, a_profile(heat, engine="influxdb1")).findings
    assert isinstance(alone.changes[0], MakeField)
    for finding in run_rule(rule, a_profile(flow, heat, engine="influxdb1")).findings:
        assert "It has to stay" in finding.fix


@pytest.mark.parametrize(
    ("seen", "days_left"),
    [
        # A thousand in 30 days, or by a step; of devices, hardly any is new.
        (PASSING, pytest.approx(100 / (1_000 / 30))),
        (a_turnover(100, 0, 100, is_step=True), None),
        (None, None),
        (RECURRING, None),
    ],
)
def test_date_of_the_limit_is_known_on_the_first_day_if_the_rows_show_the_rate(
    seen: Turnover | None, days_left: float | None
) -> None:
    words = tuple(f"name{i}x" for i in range(64))
    server = ServerStatus({"max_values_per_tag": 1_100.0, "index_in_memory": 1.0})
    measurement = a_measurement(
        "wifi", 1_000, tags=(a_tag("client", 1_000, words, turnover=seen),), rows=a_count(10**6)
    )
    (finding,) = run_rule(rule, a_profile(measurement, engine="influxdb1", server=server)).findings
    assert finding.impact is not None
    assert finding.impact.days_left == days_left
    assert (finding.impact.per_day is None) is (seen is None)


@pytest.mark.parametrize(
    ("limit", "kept", "is_reached"),
    [(2_000, None, True), (2_000, 70, True), (2_000, 50, False), (5_000, None, False), (None, None, False)],
)
def test_series_that_a_tag_adds_count_toward_the_limit_of_the_owner(
    limit: int | None, kept: int | None, is_reached: bool
) -> None:
    """Series that came in 30 days reach twice as many in 30 more, unless as many expire before."""
    tag = a_tag("client", 1_000, UUIDS[:64], turnover=PASSING)
    retention = Retention("p", FOREVER if kept is None else kept * 86_400, None, default=True)
    measurement = a_measurement("wifi", 1_000, tags=(tag,), rows=a_count(10**6))
    profile = a_profile(measurement, engine="influxdb2", databases=(Database("main", retention=(retention,)),))
    policy = LimitPolicy(target={} if limit is None else {"high-series-cardinality.max_series": limit})
    (result,) = evaluate(profile, policy=policy, rules=[rule]).results
    (finding,) = result.findings
    assert finding.impact is not None
    assert (finding.impact.currency is Currency.LIMIT) is is_reached
    if is_reached:
        assert finding.impact.days_left == pytest.approx(30, rel=0.01)
        assert finding.limit is not None
        assert (finding.limit.value, finding.impact.unit) == (2_000, "series")


@pytest.mark.parametrize(("others", "values", "days_left"), [(3, 1_000, 30), (3, 950, 30), (3, 500, 48)])
def test_series_of_all_measurements_to_which_a_writer_adds_a_tag_reach_the_limit(
    others: int, values: int, days_left: int
) -> None:
    """4,000 series, 8,000 are the limit; a thousand come in 30 days in one measurement, and in others as many."""
    made = [a_measurement("wifi", 1_000, tags=(a_tag("client", 1_000, UUIDS[:64], turnover=PASSING),))]
    tag = a_tag("client", values, UUIDS[:64], turnover=PASSING)
    made += [a_measurement(f"wifi_{n}", 1_000, tags=(tag,)) for n in range(others)]
    profile = a_profile(*made, engine="influxdb2", databases=(Database("main", series=a_count(4_000)),))
    policy = LimitPolicy(target={"high-series-cardinality.max_series": 8_000})
    (result,) = evaluate(profile, policy=policy, rules=[rule]).results
    found = next(f for f in result.findings if f.subject.measurement == "wifi")
    assert found.impact is not None
    is_near = found.impact.currency is Currency.LIMIT
    assert is_near is (days_left <= 90)
    assert not is_near or found.impact.days_left == pytest.approx(days_left, rel=0.05)


def test_addresses_cost_series_however_long_a_writer_repeats_them() -> None:
    growing = a_turnover(900, 900, 90, hours=6.0, lasting_ratio=1.0)
    paths = tuple(f"/basket/{i * 7919}/items/{i * 104_729}" for i in range(64))
    tag = a_tag("target", 1_500, paths, turnover=growing, reports=Reports(12.0, 96.0, lasting_ratio=0.9))
    (finding,) = run_rule(rule, a_profile(a_measurement("calls", 1_500, tags=(tag,)), engine="influxdb1")).findings
    assert finding.impact is not None
    assert finding.impact.currency is Currency.SERIES


def _spread(measurements: int, values: int, *, shared: bool) -> Profile:
    """A tag whose values come and go, a few in each of many measurements: the same in each, or others."""
    seen = a_turnover(first=4, again=0, new=4)

    def one(number: int) -> Measurement:
        first = 0 if shared else number * values
        words = tuple(f"{place * 7919 % 1_000_003}" for place in range(first, first + values))
        return a_measurement(f"unit{number}", values, tags=(a_tag("seq", values, words, turnover=seen),))

    return a_profile(*map(one, range(measurements)), engine="influxdb1")


@pytest.mark.costly
@pytest.mark.parametrize(
    ("measurements", "shared", "expected"),
    [(600, False, Severity.WARNING), (5, False, Severity.NOTE), (1, False, None), (600, True, None)],
)
def test_values_are_counted_in_all_measurements_that_have_the_tag(
    measurements: int, shared: bool, expected: Severity | None
) -> None:
    """18 in each, and 4 new ones: too few to mean anything, but ten thousand in all."""
    found = run_rule(rule, _spread(measurements, 18, shared=shared)).findings
    assert {finding.severity for finding in found} == ({expected} if expected else set())
    if expected:
        assert found[0].message.startswith(f"Tag seq has 18 of {18 * measurements:,} values in {measurements} measur")


@pytest.mark.parametrize(("measurements", "per_value", "found"), [(40, 1.0, True), (3, 1.0, False), (40, 9.0, False)])
def test_ids_written_once_cost_series_in_each_measurement(measurements: int, per_value: float, found: bool) -> None:
    """Ten new ones a day, the same in all tables of a program."""
    seen = values_over_time("unknown", 3, new_values=10, new_per_day=10.0)
    tag = a_tag("call", 30, UUIDS[:30], over_time=seen, reports=Reports(per_value, 60.0, 0.0))
    tables = (a_measurement(f"part{n}", 35, tags=(tag,), rows=a_count(5_000)) for n in range(measurements))
    findings = run_rule(rule, a_profile(*tables, engine="influxdb1")).findings
    assert bool(findings) is found
    if found:
        assert findings[0].message.startswith(
            "Tag call has 30 values shaped like IDs (UUID) in each of 40 measurements"
        )
        assert findings[0].severity is Severity.WARNING


def test_measurement_in_which_the_values_recur_is_left_out_of_what_the_others_have() -> None:
    """JMeter's threads have one transaction, `all`; its samples have one for each request."""
    steady = a_turnover(first=1, again=1, new=0)
    profile = _spread(60, 18, shared=False)
    threads = a_measurement("threads", 1, tags=(a_tag("seq", 1, ("all",), turnover=steady),))
    (finding,) = run_rule(rule, dataclasses.replace(profile, measurements=(*profile.measurements, threads))).findings
    assert finding.subject.measurement != "threads"
    assert "threads" not in finding.message
    assert "59 more" in finding.message


@pytest.mark.parametrize(("again", "new", "found"), [(1, 14, False), (0, 25, True)])
def test_a_fleet_on_which_many_short_series_run(again: int, new: int, found: bool) -> None:
    """Jobs on 120 nodes: the rows of 64 jobs have few nodes in common, the same few in each measurement."""
    seen = a_turnover(20 + 10 * found, again, new, by=None)
    tag = a_tag("host", 120, tuple(f"node{n:03}" for n in range(64)), turnover=seen)
    parts = (a_measurement(f"part{n}", 20_000, tags=(tag,), rows=a_count(160_000)) for n in range(8))
    assert bool(run_rule(rule, a_profile(*parts, engine="influxdb1")).findings) is found


def _in_timestream(rows: int) -> Profile:
    """Records of 48 bytes, of which the ID takes 37."""
    measurement = a_measurement(
        "readings",
        tags=(a_tag("m", 100_000, UUIDS[:64]), a_tag("s", 40, ("eu",))),
        fields=(),
        rows=a_count(rows),
        options={"MemoryStoreRetentionPeriodInHours": "24", "MagneticStoreRetentionPeriodInDays": "365"},
        first_time=NOW - timedelta(days=30),
        last_time=NOW,
    )
    return a_profile(measurement, engine="timestream")


@pytest.mark.parametrize(("rows", "expected"), [(100_000_000, Severity.NOTE), (200_000_000, Severity.WARNING)])
def test_cost_where_each_row_is_charged_for_the_id(rows: int, expected: Severity) -> None:
    (finding,) = run_rule(rule, _in_timestream(rows)).findings
    assert finding.severity is expected
    assert finding.impact is not None
    assert (finding.impact.currency, finding.impact.share) == (Currency.MONEY, pytest.approx(37 / 48))


def _judged(sample: tuple[str, ...], values: int) -> RuleResult:
    return run_rule(rule, a_profile(a_measurement(tags=(a_tag("message", values, sample),), rows=a_count(1_000_000))))


def test_texts_when_below_the_fewest_values() -> None:
    assert _judged(_messages(19), 19).outcome is Outcome.PASS
    assert _judged(_messages(20), 20).outcome is Outcome.FAIL


def test_words_are_no_texts() -> None:
    assert (
        _judged(
            tuple(f"{a}_{b}" for a in ("red", "big", "old", "new", "raw") for b in ("cat", "dog", "cow", "hen")), 20
        ).outcome
        is Outcome.PASS
    )


def test_finding_when_values_are_times() -> None:
    (finding,) = _judged(tuple(f"2024-03-01T12:{i:02}:00Z" for i in range(40)), 40).findings
    assert "values that are times" in finding.message


@pytest.mark.parametrize("document", ['{"env": "prod", "host": "web%d"}', '{"find": "users", "filter": {"id": %d}}'])
def test_json_in_a_tag(document: str) -> None:
    (finding,) = _judged(tuple(document % i for i in range(30)), 30).findings
    assert "values that are JSON documents" in finding.message


def test_sentences_among_short_values_when_they_are_many() -> None:
    aliases = tuple(f"uplink {i}" for i in range(38)) + tuple(f"to rack {i} / via panel" for i in range(26))
    assert _judged(aliases, 99).outcome is Outcome.PASS
    assert _judged(aliases, 100).outcome is Outcome.FAIL


def test_urls_when_they_are_many() -> None:
    sample = tuple(f"https://shop.example/item/{i}?ref=mail" for i in range(64))
    assert _judged(sample, 999).outcome is Outcome.PASS
    assert _judged(sample, 1000).outcome is Outcome.FAIL


def test_samples_when_the_tag_is_reported() -> None:
    (finding,) = _judged(_messages(64), 5000).findings
    assert finding.samples == _messages(64)[:3]
    assert finding.message == "Tag message has 5,000 values that are log messages."


def test_texts_that_never_end_are_told_from_a_list_of_them() -> None:
    def watched(kind: ValuesKind) -> Finding:
        tags = (a_tag("message", 5000, _messages(64), over_time=values_over_time(kind)),)
        (finding,) = run_rule(rule, a_profile(a_measurement(tags=tags))).findings
        return finding

    endless, ending, unknown = watched("unbounded"), watched("bounded"), watched("unknown")
    assert endless.message.endswith("that are log messages, gains 310 a day and is not leveling off.")
    assert endless.evidence[-1].value == "unbounded over 28 days: beta 1, 98% of a week's values were new"
    assert ending.evidence[-1].label == "values over time" != unknown.evidence[-1].label


@pytest.mark.parametrize(("is_step", "per_day"), [(False, 1_000 / 30), (True, 0.0)])
def test_growth_by_a_step_is_not_extrapolated(is_step: bool, per_day: float) -> None:
    """As if racks with IDs for names were renamed once, or all the time."""
    seen = a_turnover(first=500, again=0, new=500, is_step=is_step)
    ids = a_tag("rack", 1_001, UUIDS[:64], turnover=seen)
    (finding,) = run_rule(rule, a_profile(a_measurement("power", 1_001, tags=(ids,)), engine="influxdb1")).findings
    assert finding.impact is not None
    assert (finding.impact.now, finding.impact.per_day) == (1_000, pytest.approx(per_day))


@pytest.mark.parametrize(("waves", "per_day"), [(1, 0.0), (2, 0.0), (3, 310.0), (0, 310.0)])
def test_growth_on_many_days_is_no_step(waves: int, per_day: float) -> None:
    """However few changes the rows of one day show."""
    series = tuple(SeriesSince(DAY - timedelta(days=n), 300, 300) for n in (20, *range(waves, 0, -1)))
    known = dataclasses.replace(values_over_time("churning"), series=series if waves else ())
    ids = a_tag("rack", 1_001, UUIDS[:64], over_time=known, turnover=a_turnover(500, 0, 500, is_step=True))
    (finding,) = run_rule(rule, a_profile(a_measurement("power", 1_001, tags=(ids,)), engine="influxdb1")).findings
    assert finding.impact is not None
    assert finding.impact.per_day == pytest.approx(per_day * 1_000 / 1_001)


@pytest.mark.parametrize(
    ("rows", "how", "per_value", "said"),
    [
        (2_000, How.EXACT, 2.0, "1,500 values in 2,000 rows, hardly any is used again"),
        (9_000, How.EXACT, 2.0, "1,500 values in 9,000 rows, each in 6 of them on average"),
        (2_000, How.ESTIMATE, 2.0, "1,500 values in about 2,000 rows, hardly any is used again"),
        (30, How.EXACT, 1.0, "1,500 values; of those in the rows read, hardly any is used again"),
        (30, How.EXACT, 15.0, ""),
    ],
)
def test_values_of_all_time_are_not_those_of_few_rows(rows: int, how: How, per_value: float, said: str) -> None:
    """An index lists what was ever written: 1,500 values cannot be those of 30 rows."""
    tag = a_tag("batch", 1_500, ("alpha", "beta"), reports=Reports(per_value, 48.0, 0.0))
    profile = a_profile(a_measurement(series=1_500, rows=a_count(rows, how), tags=(tag,)), engine="influxdb1")
    messages = [finding.message for finding in run_rule(rule, profile).findings]
    assert messages == ([f"Tag batch has {said}."] if said else [])


def test_rows_without_the_tag_are_not_those_of_its_values() -> None:
    """Few of the orders have a coupon: some coupons of each source come in one order, those of others in dozens, of
    which hardly any two are among the rows read.
    """

    def message(orders: int) -> str:
        tag = a_tag("coupon", 1_500, ("alpha", "beta"), absent=a_ratio(0.8), reports=Reports(1.0, 48.0, 0.0))
        rows = a_count(orders)
        found = run_rule(rule, a_profile(a_measurement("orders", 2_500, rows=rows, tags=(tag,)))).findings
        return found[0].message if found else ""

    assert message(9_000) == "Tag coupon has 1,500 values in 1,800 rows, hardly any is used again."
    assert message(6_000) == "Tag coupon has 1,500 values; of those in the rows read, hardly any is used again."
    assert not message(300_000)


@pytest.mark.parametrize(
    ("words", "seen", "per_value", "rows", "priced"),
    [
        # Boards that all reported again within four hours, whatever they are called; and others that did not.
        (("a/1/x", "a/2/x"), a_turnover(64, 64, 0, hours=4.0), 5.0, 7_500, False),
        (UUIDS[:64], a_turnover(64, 64, 0, hours=4.0), 5.0, 7_500, False),
        (("a/1/x", "a/2/x"), a_turnover(64, 0, 64, hours=4.0), 5.0, 7_500, True),
        # Of each, most rows are not among those read.
        (UUIDS[:64], None, 1.0, 60_000, False),
        (UUIDS[:64], None, 1.0, 1_600, True),
    ],
)
def test_what_may_be_sources_costs_nothing_until_the_next_audit(
    words: tuple[str, ...], seen: Turnover | None, per_value: float, rows: int, priced: bool
) -> None:
    tag = a_tag("board", 1_500, words, turnover=seen, reports=Reports(per_value, 4.0, 0.0))
    measurement = a_measurement("leds", 1_500, tags=(tag,), rows=a_count(rows))
    found = run_rule(rule, a_profile(measurement, engine="influxdb1")).findings
    assert any(finding.impact is not None for finding in found) is priced


@pytest.mark.parametrize(
    ("lost", "seen", "each", "kept"),
    [
        (950, None, 40.0, True),
        (800, None, 40.0, True),
        # Others take the place of these pumps, but each of them reports what is measured.
        (950, PASSING, 40.0, True),
        (30, None, 40.0, True),
        # Now and then a row comes late.
        (9, None, 40.0, False),
        # Rows of events, which share a time by chance.
        (300, None, 1.0, False),
    ],
)
def test_no_plan_removes_what_identifies_the_sources(lost: int, seen: Turnover | None, each: float, kept: bool) -> None:
    """1,900 pumps near the limit of the server: without the tag, rows are the same as another's."""
    tag = a_tag("pump", 1_900, turnover=seen, reports=Reports(each, 96.0, 1.0))
    apart = RowsApart(1_000, (SetApart(("pump",), lost),), complete=True, source=a_source())
    server = ServerStatus({"max_values_per_tag": 2_000.0, "index_in_memory": 1.0})
    measurement = a_measurement("flow", 1_900, tags=(tag,), rows=a_count(round(1_900 * each)), rows_apart=apart)
    profile = a_profile(measurement, engine="influxdb1", server=server)
    (finding,) = run_rule(rule, profile).findings
    assert finding.severity is not Severity.NOTE
    assert ("It has to stay" in finding.fix) is kept
    assert all(isinstance(change, Diagnose) for change in finding.changes) is kept


@pytest.mark.parametrize(("pumps", "found"), [(310, 0), (2_000, 1)])
def test_silence_where_the_values_are_all_those_of_another_table(pumps: int, found: int) -> None:
    """Of each pump, the newest readings are kept: those of fast ones are all newer than those of slow ones."""
    tag = a_tag("pump_id", 300, turnover=a_turnover(100, 10, 90), refers_to="pumps")
    others = a_measurement("pumps", rows_total=a_count(pumps), time_column=None, tags=())
    profile = a_profile(a_measurement("flow", tags=(tag,), rows=a_count(90_000)), others, engine="postgresql")
    assert len(run_rule(rule, profile).findings) == found
