"""CAR004: growth."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from datetime import timedelta

import pytest

from tests.builders import DAY, a_count, a_field, a_measurement, a_profile, a_source, a_tag, a_turnover
from tests.engines.traits import engines_that
from tests.rules.cases import Case, dataset, history_of, hosts, run_rule, table
from tsaudit.evaluation import evaluate
from tsaudit.model.columns import Arrivals, Dependency, SeriesSince, TagSets, ValuesOverTime
from tsaudit.model.figures import FOREVER, Subject
from tsaudit.model.finding import Currency, Outcome, RuleResult, Severity
from tsaudit.model.profile import Database, Profile
from tsaudit.model.storage import Retention
from tsaudit.model.timeline import Episode, Point, Timeline
from tsaudit.policy import LimitPolicy
from tsaudit.rules.cardinality.runaway_cardinality import runaway_cardinality as rule
from tsaudit.text.findings import PROVISIONAL

INDEXED = engines_that(lambda engine: engine.indexes_tag_values)
DOUBLING = tuple(1.08 ** (i - 40) for i in range(40))
FLAT = (1.0,) * 40

_GROWING = dataset(table("requests", [h | {"user": f"u{i}"} for i, h in enumerate(hosts(150))]))

CASES = (
    Case(
        breaks=_GROWING,
        keeps=_GROWING,
        subject=Subject("", "requests"),
        main_contributor="user",
        engines=rule.engines & INDEXED,
        limits={"runaway-cardinality.min_series": 100, "high-series-cardinality.max_series": 300},
        history=lambda profile: history_of(profile, DOUBLING, "user"),
        quiet_history=lambda profile: history_of(profile, FLAT),
    ),
    # Where tag values are in no index their growth is information.
    Case(
        breaks=_GROWING,
        keeps=_GROWING,
        subject=Subject("", "requests"),
        main_contributor="user",
        engines=rule.engines - INDEXED,
        limits={"runaway-cardinality.min_series": 100},
        history=lambda profile: history_of(profile, DOUBLING, "user"),
        quiet_history=lambda profile: history_of(profile, FLAT),
    ),
)


def _profile(series: int, customers: int = 0, devices: int = 0, fields: int = 1) -> Profile:
    tags = (a_tag("customer_id", customers), a_tag("device_id", devices))
    measurement = a_measurement("iot", series, tags=tags, fields=tuple(a_field(f"f{i}") for i in range(fields)))
    return a_profile(measurement, engine="influxdb1")


def _kept(profile: Profile, days: int | None) -> Profile:
    """The profile with this retention; None: data is kept forever."""
    policy = Retention("p", FOREVER if days is None else days * 86_400, 86_400, default=True)
    return dataclasses.replace(profile, databases=(Database("main", retention=(policy,)),))


def _timeline(profile: Profile, series: Sequence[float], **tags: Sequence[float]) -> Timeline:
    def points(values: Sequence[float]) -> tuple[Point, ...]:
        return tuple(Point(DAY - timedelta(days=len(values) - i), v) for i, v in enumerate(values))

    history = {("series", Subject("main", "iot")): points(series)}
    history |= {("tag_values", Subject("main", "iot", tag)): points(values) for tag, values in tags.items()}
    return Timeline(points=history)


def _judged(profile: Profile, timeline: Timeline, limit: float = 1_000_000, **limits: float) -> RuleResult:
    named = {f"runaway-cardinality.{k}": v for k, v in limits.items()}
    policy = LimitPolicy(target={"high-series-cardinality.max_series": limit} | named)
    (result,) = evaluate(profile, timeline, policy, [rule]).results
    return result


def test_critical_when_25_series_become_5_000_000() -> None:
    """The guide's example: 5 x 5 x 1 grows to 100,000 x 10 x 5; here counted as tag sets."""
    days = 30
    series = [25 * (1_000_000 / 25) ** (i / days) for i in range(days)]
    customers = [5 * (100_000 / 5) ** (i / days) for i in range(days)]
    devices = [5 * (10 / 5) ** (i / days) for i in range(days)]
    profile = _profile(1_000_000, 100_000, 10, fields=5)
    timeline = _timeline(profile, series, customer_id=customers, device_id=devices)
    (finding,) = _judged(profile, timeline).findings
    assert finding.severity is Severity.CRITICAL
    assert finding.main_contributor == "customer_id"
    assert finding.share is not None
    assert 0.9 < finding.share < 1
    assert finding.forecast is not None
    assert finding.forecast.days == 0
    assert finding.baseline is not None
    assert finding.baseline < 100


def test_days_to_the_limit_when_growth_is_steady() -> None:
    """10% a day: from 100,000 to 1,000,000 in 24 days."""
    profile = _profile(100_000)
    timeline = _timeline(profile, [100_000 * 1.1 ** (i - 30) for i in range(30)])
    (finding,) = _judged(
        profile,
        timeline,
    ).findings
    assert finding.forecast is not None
    assert finding.forecast.days is not None
    assert 22 < finding.forecast.days < 26
    assert finding.severity is Severity.WARNING
    assert "the limit of 1,000,000 series is reached in about 24 days" in finding.message


def test_critical_when_the_limit_is_near() -> None:
    profile = _profile(100_000)
    timeline = _timeline(profile, [100_000 * 1.1 ** (i - 20) for i in range(20)])
    for limit, severity in ((370_000, Severity.CRITICAL), (400_000, Severity.WARNING)):
        (finding,) = _judged(profile, timeline, limit=limit).findings
        assert finding.severity is severity, finding.forecast


def test_information_when_growth_is_slow_and_the_limit_is_far() -> None:
    profile = _profile(2000)
    timeline = _timeline(profile, [2000 * 1.005 ** (i - 60) for i in range(60)])
    (finding,) = _judged(profile, timeline).findings
    assert (finding.severity, finding.impact) == (Severity.NOTE, None)


def test_silence_when_nothing_grows() -> None:
    profile = _profile(5000)
    assert _judged(profile, _timeline(profile, [5000.0] * 40)).outcome is Outcome.PASS
    assert _judged(profile, Timeline()).outcome is Outcome.PASS


def test_silence_when_series_are_few() -> None:
    profile = _profile(999)
    timeline = _timeline(profile, [999 * 1.1 ** (i - 30) for i in range(30)])
    assert _judged(profile, timeline).outcome is Outcome.PASS
    assert _judged(profile, timeline, min_series=999).outcome is Outcome.FAIL


def test_provisional_when_history_is_short() -> None:
    profile = _profile(10_000)
    (finding,) = _judged(profile, _timeline(profile, [1000.0, 3000.0])).findings
    assert finding.severity is Severity.WARNING
    assert "provisional" in finding.message
    assert _judged(profile, _timeline(profile, [1001.0, 3000.0])).outcome is Outcome.PASS


@pytest.mark.parametrize(
    ("counts", "limit", "severity", "days"),
    [
        ([120.0] * 8 + [8_120.0, 18_120.0], 50_000, Severity.CRITICAL, 4),
        ([120.0] * 40 + [8_120.0, 18_120.0], 50_000, Severity.CRITICAL, 4),
        ([120.0] * 2 + [8_120.0, 18_120.0], 500_000, Severity.WARNING, 60),
        ([120.0] * 8 + [10_120.0, 20_120.0, 30_120.0, 40_120.0], 100_000, Severity.CRITICAL, 6),
        ([8_000.0, 13_000.0, 18_000.0], 30_000, Severity.CRITICAL, 2),  # more than doubled since the first audit
    ],
)
def test_a_limit_that_is_set_counts_from_three_audits_on(
    counts: list[float], limit: float, severity: Severity, days: int
) -> None:
    (finding,) = _judged(_profile(round(counts[-1])), _timeline(_profile(1), counts[:-1]), limit=limit).findings
    assert finding.severity is severity
    assert finding.forecast is not None
    assert finding.forecast.days == pytest.approx(days, rel=0.2)
    added = min(counts[-1] - counts[-2], counts[-2] - counts[-3])
    assert f" {added:,.0f} a day" in finding.message
    assert finding.message.startswith("Series grew from ")


@pytest.mark.parametrize(
    "counts",
    [
        [120.0] * 8 + [18_120.0],  # two audits
        [120.0] * 8 + [18_000.0, 18_050.0, 18_120.0],  # a rollout, then noise
        [18_000.0] * 8 + [18_050.0, 18_120.0, 18_200.0],  # noise
        [9_000.0, 14_000.0] * 5 + [8_500.0, 13_000.0, 18_000.0],  # noise that is larger
        [12_000.0, 14_000.0, 16_000.0, 18_000.0],  # data may be filling up
        [12_000.0, 13_500.0, 13_400.0, 16_000.0, 18_000.0],  # and not evenly
        [19_000.0] + [8_000.0] * 5 + [13_000.0, 18_000.0],  # it has been more
        [120.0] * 8 + [8_120.0, 18_120.0, 18_120.0],  # it has stopped
    ],
)
def test_a_limit_that_is_set_counts_from_three_audits_on_only_where_they_show_growth(counts: list[float]) -> None:
    found = _judged(_profile(round(counts[-1])), _timeline(_profile(1), counts[:-1]), limit=20_000).findings
    assert [finding.forecast for finding in found if finding.forecast] == []


def test_warning_when_series_jumped() -> None:
    profile = _profile(9000)
    (finding,) = _judged(profile, _timeline(profile, [3000.0] * 30 + [9000.0] * 8)).findings
    assert finding.severity is Severity.NOTE, "old news"
    assert finding.message.startswith("Series jumped from 3,000 to 9,000")
    assert finding.since == DAY - timedelta(days=8)
    assert _judged(profile, _timeline(profile, [3000.0] * 30 + [9000.0] * 20)).outcome is Outcome.PASS


def test_tag_when_it_is_new() -> None:
    profile = _profile(9000, customers=3000, devices=3)
    before = dataclasses.replace(profile.measurements[0], tags=(a_tag("device_id", 3),))
    timeline = _timeline(profile, [3.0] * 20 + [9000.0] * 4, device_id=[3.0] * 24)
    timeline = dataclasses.replace(timeline, previous=a_profile(before))
    (finding,) = _judged(profile, timeline).findings
    assert finding.main_contributor == "customer_id"
    assert finding.share == 1.0


def test_determining_tag_when_another_grows_with_it() -> None:
    profile = _profile(9000, customers=500, devices=9000)
    sets = TagSets(9000, 10, 9000, (Dependency("device_id", "customer_id"),), ("device_id",), (), (), a_source())
    profile = a_profile(dataclasses.replace(profile.measurements[0], tag_sets=sets))
    values = [9000 * 1.1 ** (i - 30) for i in range(30)]
    timeline = _timeline(profile, values, device_id=values, customer_id=[v / 18 for v in values])
    (finding,) = _judged(profile, timeline).findings
    assert finding.main_contributor == "device_id"


def test_database_when_new_measurements_make_the_growth() -> None:
    profile = a_profile(a_measurement(series=10), databases=(Database("main", a_count(20_000)),))
    points = tuple(Point(DAY - timedelta(days=30 - i), 20_000 * 1.1 ** (i - 30)) for i in range(30))
    (finding,) = _judged(profile, Timeline(points={("series", Subject("main")): points})).findings
    assert finding.subject == Subject("main")
    assert finding.main_contributor is None


def test_measurement_alone_when_it_explains_the_database() -> None:
    profile = a_profile(a_measurement(series=20_000), databases=(Database("main", a_count(20_000)),))
    result = run_rule(rule, profile, timeline=history_of(profile, DOUBLING, "host"))
    assert [f.subject for f in result.findings] == [Subject("main", "cpu")]


def test_target_when_the_engine_counts_no_series_by_database() -> None:
    """A measurement that is new today has no history; the target has."""
    profile = a_profile(a_measurement("old", 100), a_measurement("new", 30_000))
    points = tuple(Point(DAY - timedelta(days=20 - i), 100.0 if i < 19 else 30_000.0) for i in range(20))
    (finding,) = _judged(profile, Timeline(points={("series", Subject()): points})).findings
    assert finding.subject == Subject()
    assert finding.baseline == 100


def test_growth_of_a_database_after_another_one_stood_still_is_its_own() -> None:
    """A leak of six days in one measurement, fixed but not deleted; three weeks later, another one begins to leak."""
    fixed, leak = [60.0, 60.0, *[60 + 3_000.0 * day for day in range(1, 7)], *[18_060.0] * 21], [3_100.0, 6_200, 9_300]
    other = [0.0] * len(fixed) + leak
    counts = [one + two for one, two in zip([*fixed, *[18_060.0] * 3], other, strict=True)]
    mail, jobs = a_measurement("mail", 18_060), a_measurement("jobs", 12_400)
    profile = a_profile(mail, jobs, databases=(Database("main", a_count(30_460)),), engine="influxdb1")

    def points(values: Sequence[float]) -> tuple[Point, ...]:
        days = [DAY - timedelta(days=len(values) - n) for n in range(len(values))]
        return tuple(Point(day, value) for day, value in zip(days, values, strict=True))

    history = {("series", Subject("main")): points(counts), ("series", Subject("main", "jobs")): points(leak)}
    history["series", Subject("main", "mail")] = points([*fixed, *[18_060.0] * 3])
    (finding,) = _judged(profile, Timeline(points=history)).findings
    assert (finding.subject, finding.since) == (Subject("main"), DAY - timedelta(days=3))
    assert (finding.baseline, finding.observed) == (18_060, 30_460)
    assert "new measurement jobs adds 100% of it" in finding.message
    assert "mail" not in finding.headline + finding.fix


def _runaway(new_hosts: int = 0, seen_since: int = 9) -> Profile:
    """A hundred new ids a day for ten days, in series of their own; some of them on new hosts, all on the last day."""
    days = [DAY - timedelta(days=n) for n in range(seen_since, -1, -1)]
    old = DAY - timedelta(days=30)
    ids = ValuesOverTime(
        kind="unbounded",
        beta=1.0,
        turnover=1.0,
        days=10,
        new_values=100,
        new_per_day=100.0,
        series=tuple(SeriesSince(day, 100) for day in days),
        newest=DAY,
        examples=("8c1f-aaaa", "8c1f-bbbb", "8c1f-cccc"),
        shape="hash",
    )
    hosts = (SeriesSince(old, 5000 + 1000 - new_hosts), *([SeriesSince(DAY, new_hosts)] if new_hosts else []))
    host = dataclasses.replace(
        ids, kind="bounded", new_per_day=0.5, series=hosts, shape="unknown", examples=("web-9",), newest=DAY
    )
    series = (SeriesSince(old, 5000), *ids.series)
    arrivals = Arrivals(DAY, days[-2], old, 100, series)
    tags = (a_tag("host", 50, over_time=host), a_tag("id", 1000, over_time=ids))
    return a_profile(a_measurement("iot", 6000, tags=tags, arrivals=arrivals))


def _grown(counts: Sequence[float] = (*[5000.0] * 20, *(5100.0 + 100 * n for n in range(9)))) -> Timeline:
    return _timeline(_runaway(), list(counts))


def test_blame_is_counted_by_the_new_series_where_listings_are_remembered() -> None:
    (finding,) = _judged(_runaway(new_hosts=200), _grown()).findings
    assert (finding.main_contributor, finding.share) == ("id", 1.0)
    assert finding.since == DAY - timedelta(days=9)
    assert finding.samples == ("8c1f-aaaa", "8c1f-bbbb", "8c1f-cccc")
    assert "of 1,000 new series since 2026-03-22, 100% carry a new value of tag id " in finding.message
    assert "(first seen 2026-03-22, shape: hash)" in finding.message
    evidence = {e.label: e.value for e in finding.evidence}
    assert evidence["new series"] == "1,000 first seen on 2026-03-22 or later"
    described = "in 100% of the new series, first seen 2026-03-22, 100 a day, unbounded over 10 days"
    assert evidence["new values of id"] == described
    assert evidence["new values of host"].startswith("in 20% of the new series, first seen 2026-03-31")


def test_values_of_which_no_more_come_are_combined() -> None:
    """All ids are there, and their series with other tags still come."""
    profile = _runaway()
    (measurement,) = profile.measurements
    host, ids = measurement.tags
    assert ids.over_time is not None
    for per_day, words in ((100.0, "all from new values of id"), (0.0, "all from combinations with id")):
        tags = (host, dataclasses.replace(ids, over_time=dataclasses.replace(ids.over_time, new_per_day=per_day)))
        changed = dataclasses.replace(measurement, tags=tags)
        (finding,) = _judged(dataclasses.replace(profile, measurements=(changed,)), _grown()).findings
        assert finding.headline.endswith(words)


def test_blame_is_by_numbers_of_values_where_no_listing_is_remembered() -> None:
    profile = _profile(6000, customers=1000, devices=6)
    values = [6000 * 1.02 ** (i - 30) for i in range(30)]
    timeline = _timeline(profile, values, customer_id=[v / 6 for v in values], device_id=[6.0] * 30)
    (finding,) = _judged(profile, timeline).findings
    assert "tag customer_id causes 100% of it, judging by the numbers of values" in finding.message
    assert not any(e.label == "new series" for e in finding.evidence)


def test_a_tag_of_few_new_series_does_not_date_the_growth() -> None:
    profile = _runaway()
    (measurement,) = profile.measurements
    few = dataclasses.replace(
        measurement.tags[1].over_time, series=(SeriesSince(DAY - timedelta(days=2), 400),), sampled_values=900
    )
    tags = (measurement.tags[0], dataclasses.replace(measurement.tags[1], over_time=few))
    changed = a_profile(dataclasses.replace(measurement, tags=tags))
    (finding,) = _judged(changed, _grown()).findings
    assert (finding.main_contributor, finding.share) == ("id", 0.4)
    assert "estimated: of 1,000 new series" in finding.message
    assert finding.since == DAY - timedelta(days=9)


def test_values_that_came_later_do_not_date_a_growth_that_was_counted_before() -> None:
    """Not all days were listed: the values of the first ones are unknown, but the counts are not."""
    (finding,) = _judged(_runaway(seen_since=4), _grown()).findings
    assert (finding.main_contributor, finding.baseline) == ("id", 5000)
    assert finding.since == DAY - timedelta(days=9)


def test_a_known_incident_that_was_put_right_hides_no_later_growth() -> None:
    ran_away = [1_000.0 + 4_000 * n for n in range(1, 9)]
    again = [1_000.0 + 600 * n for n in range(1, 6)]
    history = [1_000.0] * 20 + ran_away + [1_000.0] * 20 + again
    profile = _profile(4_600)
    timeline = _timeline(profile, history)
    assert not _judged(profile, timeline, limit=30_000).findings, "lower than it was: as if it were on its way back"

    began = DAY - timedelta(days=len(history))
    known = Episode("CAR004", Subject("main", "iot"), began + timedelta(days=20), began + timedelta(days=28))
    (finding,) = _judged(profile, dataclasses.replace(timeline, episodes=(known,)), limit=30_000).findings
    assert finding.severity is Severity.WARNING
    assert finding.since == DAY - timedelta(days=5)
    assert finding.baseline == 1_000
    assert finding.forecast is not None
    assert finding.forecast.days == pytest.approx((30_000 - 4_600) / 600, rel=0.05)


def _course_told(*series: float) -> str:
    profile = _profile(int(series[-1]))
    (finding,) = _judged(profile, _timeline(profile, series[:-1])).findings
    return next(e.value for e in finding.evidence if e.label == "trend")


@pytest.mark.parametrize(
    ("kept", "days", "severity"),
    [
        (None, 12, Severity.WARNING),
        # At 7 days, it would have stopped.
        (7, 20, Severity.WARNING),
        (90, 29, Severity.NOTE),
        (90, 40, Severity.WARNING),
    ],
)
def test_growth_since_the_first_audit_waits_only_while_data_may_fill_up(
    kept: int | None, days: int, severity: Severity
) -> None:
    counts = [12_000 + 150.0 * n for n in range(days)]
    profile = _kept(_profile(round(counts[-1] + 150)), kept)
    (finding,) = _judged(profile, _timeline(profile, counts), limit=26_000).findings
    assert finding.severity is severity
    assert (PROVISIONAL in finding.message) == (days < 20 or severity is Severity.NOTE)


@pytest.mark.parametrize(("kept", "is_reached"), [(40, False), (60, True), (None, True)])
def test_series_that_expire_are_not_forecast_beyond_what_the_retention_adds(kept: int | None, is_reached: bool) -> None:
    """250 new ones a day, of which none left for 20 days after the retention was extended: 10,000 in 40 days."""
    counts = [2_000.0] * 30 + [2_000.0 + 250 * n for n in range(1, 20)]
    ago = [DAY - timedelta(days=n) for n in range(48, -1, -1)]
    listed, came = (tuple(SeriesSince(day, 250) for day in days) for days in (ago[-28:], ago))
    left = tuple(SeriesSince(day, 250) for day in ago[:29])
    arrivals = Arrivals(DAY, DAY - timedelta(days=1), ago[0], 250, listed, arrived=came, left=left)
    profile = _profile(7_000)
    measurement = dataclasses.replace(profile.measurements[0], arrivals=arrivals)
    profile = _kept(dataclasses.replace(profile, measurements=(measurement,)), kept)
    (finding,) = _judged(profile, _timeline(profile, counts), limit=12_000).findings
    assert (finding.forecast is not None) is is_reached
    assert (finding.severity is Severity.WARNING) is is_reached


@pytest.mark.parametrize(
    ("engine", "again", "is_reached"),
    [("influxdb1", 0, True), ("postgresql", 0, False), ("postgresql", 70, True)],
)
def test_series_that_leave_the_window_are_not_forecast_beyond_what_it_adds(
    engine: str, again: int, is_reached: bool
) -> None:
    """250 new ones a day, of a table younger than the window of 30 days: 7,500, and those of the first that stay."""
    counts = [5_000.0 + 250 * n for n in range(20)]
    came = tuple(SeriesSince(DAY - timedelta(days=n), 250) for n in range(19, -1, -1))
    listed = (SeriesSince(DAY - timedelta(days=20), 5_000), *came)
    arrivals = Arrivals(DAY, DAY - timedelta(days=1), listed[0].day, 250, listed, arrived=came)
    profile = _kept(_profile(10_000, customers=10_000), None)
    (measurement,) = profile.measurements
    tags = tuple(dataclasses.replace(tag, turnover=a_turnover(100, again, 90)) for tag in measurement.tags)
    measurement = dataclasses.replace(measurement, tags=tags, arrivals=arrivals, first_time=profile.window.start)
    profile = dataclasses.replace(profile, measurements=(measurement,), engine=engine)
    timeline = _timeline(profile, counts, customer_id=counts)
    of_whole = {("series", Subject()): timeline.points["series", Subject("main", "iot")]}
    timeline = dataclasses.replace(timeline, points={**timeline.points, **of_whole})
    (finding,) = _judged(profile, timeline, limit=10_500).findings
    assert finding.main_contributor == "customer_id"
    assert (finding.forecast is not None) is is_reached


def test_growth_that_stops_at_the_retention_costs_nothing() -> None:
    for days in range(7, 30):
        counts = [12_000 + 600.0 * min(n, 10) for n in range(days + 1)]
        profile = _kept(_profile(round(counts[-1])), 10)
        found = _judged(profile, _timeline(profile, counts[:-1]), limit=26_000).findings
        assert [f for f in found if f.severity is not Severity.NOTE] == [], days


def test_the_trend_is_its_pace_and_whether_it_changes() -> None:
    """From a level of 10,000, as much every day; more and more; less and less."""
    steady = _course_told(*[10_000.0] * 30, *(10_000 + 1_500.0 * n for n in range(1, 11)))
    assert steady == "steady, 1,500 series a day, doubling in 16.7 days at the present rate"
    faster = _course_told(*(1_000 * 2 ** (n / 8) for n in range(41)))
    assert faster.startswith("speeding up, 2,896 series a day, doubling in 8 days")
    slower = _course_told(*[10_000.0] * 30, *(10_000 + 30_000 * (1 - 0.9**n) for n in range(1, 21)))
    assert slower.startswith("slowing, ")
    assert _course_told(*[2_000.0] * 30, *[7_000.0] * 5) == "a step to 3.5 times as many as before"


def test_a_step_is_as_large_as_the_counts_beside_it_say() -> None:
    """Two empty days, 240 series, then 48,000: 200 times as many, although the level before was lower than 240."""
    counts = [0.0, 0.0, *[240.0] * 2, *[48_000.0] * 6]
    assert _course_told(*counts) == "a step to 200 times as many as before"
    young = [991.0, 1_007.0, 1_007.0] * 10 + [1_100.0, 1_210.0, 1_330.0, 1_470.0]
    assert not _course_told(*young).startswith(("steady", "speeding up", "slowing")), "four days do not show it"


@pytest.mark.parametrize(("fields", "counted_in", "days"), [(5, 1, 7), (5, 0, 24), (1, 1, 24)])
def test_the_limit_is_nearer_where_it_counts_fields_too(fields: int, counted_in: int, days: int) -> None:
    """10% a day: 100,000 tag sets of 5 fields are 500,000 series, and double in 7 days."""
    profile = _profile(100_000, fields=fields)
    timeline = _timeline(profile, [100_000 * 1.1 ** (i - 30) for i in range(30)])
    limits = {"max_series": 1_000_000, "count_fields": counted_in}
    named = {f"high-series-cardinality.{name}": value for name, value in limits.items()}
    policy = LimitPolicy(target=named)
    (result,) = evaluate(profile, timeline, policy, [rule]).results
    (finding,) = result.findings
    limit = "200,000 tag sets (1,000,000 series)" if days == 7 else "1,000,000 series"
    assert f"the limit of {limit} is reached in about {days} days" in finding.message
    assert finding.severity is (Severity.CRITICAL if days == 7 else Severity.WARNING)


@pytest.mark.parametrize(
    ("now", "age", "severity"),
    [
        (4500, 14, Severity.NOTE),  # half as many again as before, a fortnight ago
        (6000, 15, None),
        (4499, 8, None),
        (6000, 3, Severity.NOTE),
        (4800, 1, Severity.WARNING),  # overnight, by 60% and 90%
        (5700, 1, Severity.WARNING),
        (6000, 2, Severity.WARNING),
        (9000, 1, Severity.WARNING),
    ],
)
def test_a_jump_is_a_warning_for_two_days_and_a_note_for_a_fortnight(
    now: int, age: int, severity: Severity | None
) -> None:
    profile = _profile(now)
    found = _judged(profile, _timeline(profile, [3000.0] * 30 + [float(now)] * age)).findings
    assert [f.severity for f in found] == ([severity] if severity else [])


def test_a_tag_explains_no_more_than_all_new_series_where_both_are_estimates() -> None:
    """1,100 series with a new id by a sample of its values; 1,000 new series by a sample of the series."""
    profile = _runaway()
    (measurement,) = profile.measurements
    host, ids = measurement.tags
    assert ids.over_time is not None
    assert measurement.arrivals is not None
    more = dataclasses.replace(
        ids.over_time, series=tuple(SeriesSince(s.day, 110) for s in ids.over_time.series), sampled_values=900
    )
    tags = (host, dataclasses.replace(ids, over_time=more))
    (finding,) = _judged(a_profile(dataclasses.replace(measurement, tags=tags)), _grown()).findings
    assert (finding.main_contributor, finding.share) == ("id", 1.0)
    assert "of 1,000 new series since 2026-03-22, 100% carry a new value of tag id " in finding.message


def _spread_leak(kind: str = "churning", times: int = 1) -> tuple[Profile, Timeline]:
    """25 tables of which each gets 12 new jobs a day, the same in all; for ten days; or `times` as many."""
    days = [DAY - timedelta(days=n) for n in range(9, -1, -1)]
    old = DAY - timedelta(days=30)
    jobs = dataclasses.replace(
        _runaway().measurements[0].tags[1].over_time,
        kind=kind,
        series=tuple(SeriesSince(day, 12 * times) for day in days),
        new_values=12 * times,
        new_per_day=12.0 * times,
    )
    arrivals = Arrivals(DAY, days[-2], old, 12 * times, (SeriesSince(old, 20), *jobs.series))
    tags = (a_tag("queue", 20), a_tag("job", 120 * times, over_time=jobs))
    tables = [a_measurement(f"step{n}", 20 + 120 * times, tags=tags, arrivals=arrivals) for n in range(25)]
    whole = a_count(25 * (20 + 120 * times))
    profile = a_profile(*tables, databases=(Database("main", whole),), engine="influxdb1")
    counts = [20.0] * 20 + [20.0 + 12 * times * (n + 1) for n in range(9)]

    def points(of: float) -> tuple[Point, ...]:
        return tuple(Point(DAY - timedelta(days=len(counts) - n), of * one) for n, one in enumerate(counts))

    history = {("series", Subject("main", m.name)): points(1) for m in tables}
    return profile, Timeline(points={**history, ("series", Subject("main")): points(25)})


@pytest.mark.parametrize(("kind", "severity"), [("churning", Severity.WARNING), ("bounded", Severity.NOTE)])
def test_tag_that_leaks_a_little_in_many_measurements(kind: str, severity: Severity) -> None:
    """Each measurement is below `min_series`; together, they are a leak, unless the values are those of sources."""
    (finding,) = _judged(*_spread_leak(kind)).findings
    assert (finding.subject, finding.severity) == (Subject("main"), severity)
    assert "new values of tag job in 25 measurements add 100% of it" in finding.headline
    if severity is Severity.WARNING:
        assert finding.impact is not None
        assert (finding.impact.now, finding.impact.whole, finding.impact.per_day) == (3_000, 3_500, 300)
        assert {change.at.measurement for change in finding.changes} == {f"step{n}" for n in range(25)}


def test_one_cause_in_many_measurements_is_one_finding() -> None:
    """Each measurement is above `min_series`: 25 findings about one tag, none of which knows how near the limit is."""
    profile, timeline = _spread_leak(times=20)
    (finding,) = _judged(profile, timeline).findings
    assert (finding.subject, finding.severity) == (Subject("main"), Severity.WARNING)
    assert "new values of tag job in 25 measurements add 100% of it" in finding.headline
    assert {change.at.measurement for change in finding.changes} == {f"step{n}" for n in range(25)}
    # 6,000 series a day, 60,500 so far: no single measurement comes near the limit of all.
    (near,) = _judged(profile, timeline, limit=300_000).findings
    assert near.impact is not None
    assert near.impact.currency is Currency.LIMIT
    assert near.impact.days_left == pytest.approx(40, rel=0.1)


@pytest.mark.parametrize(("counts", "since"), [([762.0] * 2, 0), ([762.0], 0), ([762.0, 8_762.0], 1)])
def test_growth_begins_with_the_first_audit_that_counts_more(counts: list[float], since: int) -> None:
    profile = _profile(16_762)
    (finding,) = _judged(profile, _timeline(profile, counts)).findings
    assert finding.message.startswith(f"Series grew from 762 to 16,762 since {DAY - timedelta(days=since)}")


@pytest.mark.parametrize(("kind", "kept"), [("bounded", None), ("unknown", 30.0)])
def test_what_sources_that_stay_write_again_does_not_expire(kind: str, kept: float | None) -> None:
    """Sources in new combinations go on to write: their series do not expire, as those of things that end do."""
    seen = _runaway().measurements[0].tags[0].over_time
    assert seen is not None
    source = a_tag("source", 700, over_time=dataclasses.replace(seen, kind=kind))
    measurement = a_measurement("iot", 24_762, tags=(a_tag("zone", 3), source))
    before = a_profile(dataclasses.replace(measurement, tags=(a_tag("zone", 3),)))
    profile = _kept(a_profile(measurement, engine="influxdb1"), 30)
    timeline = dataclasses.replace(_timeline(profile, [762.0, 8_762.0, 16_762.0]), previous=before)
    (finding,) = _judged(profile, timeline).findings
    assert finding.main_contributor == "source"
    assert finding.impact is not None
    assert (finding.impact.currency, finding.impact.kept_days) == (Currency.SERIES, kept)
