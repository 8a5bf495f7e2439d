"""SRV001: points that the server dropped, by its own counters."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest

from tests.builders import DAY, NOW, a_count, a_field, a_measurement, a_profile, a_source, a_tag
from tests.databases import Dataset, Row, Table, times
from tests.rules.cases import Case, dataset
from tsaudit.evaluation import evaluate
from tsaudit.model.figures import FOREVER, Gap, Listed, Reason, Selection, Subject
from tsaudit.model.finding import Finding, Severity
from tsaudit.model.profile import Database, Measurement, Profile
from tsaudit.model.rows import FieldRhythm, Rhythms
from tsaudit.model.server import KeptPoints, ServerCounter, ServerStatus, StoredQuery
from tsaudit.model.storage import Retention
from tsaudit.model.timeline import Point, Timeline
from tsaudit.rules.server.dropped_points import dropped_points as rule
from tsaudit.text import instant, number
from tsaudit.text.findings import headline


def _of_type(kind: str, *values: float | str) -> Table:
    rows = [Row(at, {"pump": "p1"}, {"status": value}) for at, value in zip(times(len(values)), values, strict=True)]
    return Table("pumps", ("pump",), {"status": kind}, rows)


_KEPT = _of_type("float", *map(float, range(20)))

CASES = (
    Case(
        breaks=Dataset([_KEPT], rejected=[_of_type("string", "ok", "ok", "worn")]),
        keeps=dataset(_KEPT),
        subject=Subject(""),
        engines=frozenset({"influxdb1", "influxdb3"}),
    ),
)


def _profile(
    dropped: int | None, written: int = 10_000, up: timedelta = timedelta(hours=3), days_ago: int = 0
) -> Profile:
    counters = [ServerCounter("points_written", "main", written)]
    counters += [] if dropped is None else [ServerCounter("points_dropped", "main", dropped)]
    status = ServerStatus(counters=tuple(counters), started=NOW - up)
    made = a_profile(a_measurement(), engine="influxdb1", server=status, collected_at=NOW - timedelta(days=days_ago))
    return dataclasses.replace(made, day=DAY - timedelta(days=days_ago), facts=(*made.facts, "server_status"))


def _found(today: Profile, *before: Profile) -> tuple[Finding, ...]:
    counted = [(p.day, p.server.counted("points_dropped", "main")) for p in before if p.server]
    points = tuple(Point(day, float(count)) for day, count in counted if count is not None)
    history = Timeline(points={("points_dropped", Subject("main")): points}, previous=before[-1] if before else None)
    (result,) = evaluate(today, history, rules=[rule]).results
    return result.findings


@pytest.mark.parametrize(
    ("dropped", "severity"),
    [(None, None), (0, None), (9, Severity.WARNING), (11, Severity.CRITICAL)],
)
def test_first_day_of_a_server_that_started_today(dropped: int | None, severity: Severity | None) -> None:
    found = _found(_profile(dropped))
    assert [finding.severity for finding in found] == ([severity] if severity else [])


def test_a_longer_past_is_a_note_on_the_first_day() -> None:
    (finding,) = _found(_profile(5_000, up=timedelta(days=40)))
    assert finding.severity is Severity.NOTE
    assert finding.message.startswith(
        "The server dropped 5,000 points of main since the server started on 2026-02-19, 33% of those sent: "
    )
    assert {e.label: e.value for e in finding.evidence} == {
        "points sent": "15,000",
        "points written": "10,000",
        "points dropped": "5,000",
    }


def test_only_what_came_since_the_audit_before_counts() -> None:
    up = timedelta(days=40)
    yesterday = _profile(5_000, 100_000, up, days_ago=1)
    assert not _found(_profile(5_000, 200_000, up), yesterday)
    (finding,) = _found(_profile(5_050, 200_000, up), yesterday)
    assert finding.severity is Severity.WARNING
    assert finding.message.startswith(
        "The server dropped 50 points of main since the audit of 2026-03-30, < 0.1% of those sent: "
    )
    (finding,) = _found(_profile(5_500, 200_000, up), yesterday)
    assert finding.severity is Severity.CRITICAL


def test_what_goes_on_for_a_second_day_is_critical() -> None:
    up = timedelta(days=40)
    days = [_profile(5_000, 100_000, up, days_ago=2), _profile(5_001, 200_000, up, days_ago=1)]
    (finding,) = _found(_profile(5_002, 300_000, up), *days)
    assert finding.severity is Severity.CRITICAL
    assert finding.severity_reason.endswith("as on the day before")


def test_a_restart_begins_the_counters_anew() -> None:
    yesterday = _profile(5_000, 100_000, timedelta(days=40), days_ago=1)
    (finding,) = _found(_profile(3, 90_000, timedelta(hours=2)), yesterday)
    assert finding.severity is Severity.WARNING
    assert finding.observed == 3


def _recorded(profile: Profile) -> Profile:
    """As `_internal` tells it to a user who is no administrator."""
    assert profile.server is not None
    return dataclasses.replace(profile, server=dataclasses.replace(profile.server, started=None))


def test_without_the_start_only_what_came_since_the_audit_before_counts() -> None:
    (first,) = _found(_recorded(_profile(5_000, 100_000)))
    assert (first.severity, first.impact) == (Severity.NOTE, None)
    # The audit before may have been that of an administrator.
    for before in (_profile(5_000, 100_000, days_ago=1), _recorded(_profile(5_000, 100_000, days_ago=1))):
        assert not _found(_recorded(_profile(5_000, 200_000)), before)
        (finding,) = _found(_recorded(_profile(5_050, 200_000)), before)
        assert (finding.severity, finding.observed) == (Severity.WARNING, 50)


def test_an_expired_shard_takes_its_counters_along() -> None:
    up = timedelta(days=40)
    assert not _found(_profile(100, 90_000, up), _profile(5_000, 100_000, up, days_ago=1))


def _with_kept(
    overwritten: int,
    accepted: int,
    days_ago: int = 0,
    series: int = 1_000,
    first: datetime = NOW,
    up_days: int = 9,
    counted: bool = False,
) -> Profile:
    shard = KeptPoints("flow", first - timedelta(days=3), first + timedelta(days=4), accepted, overwritten, counted)
    database = Database("main", series=a_count(series), kept=shard)
    made = _profile(0, accepted, timedelta(days=up_days), days_ago=days_ago)
    return dataclasses.replace(made, databases=(database,))


def test_points_that_were_overwritten_count_once() -> None:
    (first,) = _found(_with_kept(40_000, 100_000))
    assert (first.severity, first.observed) == (Severity.WARNING, 40_000)
    before = _with_kept(40_000, 100_000, days_ago=1)
    assert not _found(_with_kept(40_000, 180_000), before)
    (later,) = _found(_with_kept(50_000, 180_000), before)
    assert (later.severity, later.observed) == (Severity.WARNING, 10_000)
    assert later.message.startswith("At least 10,000 of 80,000 accepted points (12%) are not in the shard")
    (counted,) = _found(
        _with_kept(50_400, 180_000, counted=True), _with_kept(40_000, 100_000, days_ago=1, counted=True)
    )
    assert counted.message.startswith("About 10,400 of 80,000 accepted points (13%) are not in the shard")
    # A writer that only sends again what is there, and nothing new at all.
    (all_of_them,) = _found(_with_kept(120_000, 180_000), before)
    assert (all_of_them.severity, all_of_them.observed) == (Severity.WARNING, 80_000)
    assert "80,000 of 80,000 accepted points (100%)" in all_of_them.message
    assert not _found(_with_kept(40_000, 100_000), before)
    assert not _found(_with_kept(0, 90_000), before)
    # Of another shard, and after a restart, all of them are new.
    for today in (_with_kept(50_000, 180_000, first=NOW + timedelta(days=7)), _with_kept(50_000, 180_000, up_days=0)):
        (new,) = _found(today, before)
        assert new.observed == 50_000


_RESAMPLED = (
    "CREATE CONTINUOUS QUERY q ON main RESAMPLE FOR 1h BEGIN SELECT mean(v) INTO {} FROM main.autogen.cpu "
    "GROUP BY time(10m) END"
)


@pytest.mark.parametrize(
    ("statement", "database", "found"),
    [
        (_RESAMPLED.format("main.autogen.flow"), "main", 0),
        (_RESAMPLED.format("main.autogen.hourly"), "main", 1),
        (_RESAMPLED.format("main.year.flow"), "main", 1),
        (_RESAMPLED.format("main.autogen.flow").replace("RESAMPLE FOR 1h ", ""), "main", 1),
        # A target that cannot be read may be anything in the query's own database.
        (_RESAMPLED.format("?"), "main", 0),
        (_RESAMPLED.format("?"), "other", 1),
    ],
)
def test_points_that_a_query_writes_again_are_meant(statement: str, database: str, found: int) -> None:
    profile = _with_kept(40_000, 100_000)
    (main,) = profile.databases
    main = dataclasses.replace(main, retention=(Retention("autogen", FOREVER, 604_800, default=True),))
    query = StoredQuery("q", statement, None, None, database=database)
    assert len(_found(dataclasses.replace(profile, databases=(main,), stored_queries=(query,)))) == found


def test_a_minimum_says_nothing_about_an_exact_number() -> None:
    """A server that counts values since it was updated: what it lost before is not of today."""
    assert not _found(_with_kept(50_000, 180_000, counted=True), _with_kept(0, 100_000, days_ago=1))


def test_points_of_deleted_series_were_not_overwritten() -> None:
    before = _with_kept(0, 100_000, days_ago=1)
    assert not _found(_with_kept(60_000, 180_000, series=400), before)
    assert not _found(_with_kept(60_000, 260_000, series=400), _with_kept(60_000, 180_000, days_ago=1, series=400))
    assert _found(_with_kept(60_000, 180_000), before)


def _of_server(total: int, of_shards: int = 5, *, is_full: bool = True, days_ago: int = 0) -> Profile:
    """Of InfluxDB 1.8, whose shards do not count what is beyond a limit. `total`: what the whole server counts."""
    made = _profile(of_shards, 10_000, timedelta(days=40), days_ago)
    assert made.server is not None
    counters = (*made.server.counters, ServerCounter("points_dropped", "", total))
    settings = {"max_series_per_database": 100.0, "index_in_memory": 1.0}
    full = Database("main", a_count(96 if is_full else 5))
    status = dataclasses.replace(made.server, counters=counters, settings=settings)
    return dataclasses.replace(made, server=status, databases=(full,))


def test_what_only_the_whole_server_counts_is_that_of_the_database_at_its_limit() -> None:
    (finding,) = _found(_of_server(305), _of_server(5, days_ago=1))
    assert (finding.severity, finding.observed, finding.subject.database) == (Severity.CRITICAL, 300, "main")
    assert "the database has 96 of the 100 series that it may have" in finding.message


def test_what_only_the_whole_server_counts_is_of_no_database_if_none_is_full() -> None:
    (finding,) = _found(_of_server(305, is_full=False), _of_server(5, is_full=False, days_ago=1))
    assert (finding.severity, finding.observed, finding.subject.database) == (Severity.CRITICAL, 300, "")


def test_what_shards_count_is_not_counted_again() -> None:
    (finding,) = _found(_of_server(12, 12), _of_server(5, days_ago=1))
    assert (finding.observed, finding.subject.database) == (7, "main")
    assert _found(_of_server(12, 0), _of_server(12, 12, days_ago=1)) == (), "the shard expired, with its counter"


_LIMITS: Final = {"max_series_per_database": 1_000_000.0, "max_values_per_tag": 5_000.0}


def _of_tag(values: int, dropped: int = 40, *, in_memory: float | None = 1.0, **changes: Any) -> Profile:
    """Of a server with these values. `in_memory`: whether its index is; None if that is not known."""
    tags = (a_tag("order", values, ("a1", "b2")), a_tag("shop", 4))
    measurement = a_measurement("sales", values, tags=tags)
    made = _profile(dropped, 60)
    assert made.server is not None
    index = {} if in_memory is None else {"index_in_memory": in_memory}
    status = dataclasses.replace(made.server, settings=_LIMITS | index)
    databases = (Database("main", a_count(values + 10)),)
    return dataclasses.replace(made, server=status, measurements=(measurement,), databases=databases, **changes)


# The server compares the number of values with its limit before it adds those of a write.
@pytest.mark.parametrize("values", [5_000, 5_900])
def test_a_tag_that_has_all_values_is_the_reason_and_its_finding_follows(values: int) -> None:
    result = evaluate(_of_tag(values), Timeline())
    found = {item.code: finding for item, finding in result.findings() if item.code != "RET001"}
    finding = found["SRV001"]
    assert f"tag order of sales has {number(values)} of the 5,000 values that one tag may have." in finding.message
    assert headline(finding).endswith(
        "points of main: tag order of sales has " + finding.message.partition(" has ")[2][:-1]
    )
    assert finding.main_contributor == "order"
    assert "raise `max-values-per-tag`" in finding.fix
    assert "TAG002" not in found
    (tag,) = (rule for rule in result.results if rule.code == "TAG002")
    assert [one.main_contributor for one in tag.folded] == ["order"]
    assert any(one.label == "also TAG002" for one in finding.evidence)


def test_a_tag_beyond_its_limit_is_the_reason_only_where_the_limit_holds() -> None:
    (finding,) = _found(_of_tag(40_000, in_memory=None))
    assert "40,000 of the 5,000 values that one tag may have, if this server enforces that limit" in finding.message
    (finding,) = _found(_of_tag(40_000, in_memory=0.0))
    assert "this server enforces no limit" in finding.message


_EXCLUDED: Final = "no limit of the server is near, so a field most likely has another type than before"


def test_a_type_is_the_reason_only_if_all_others_would_have_been_seen() -> None:
    (finding,) = _found(_of_tag(50))
    assert _EXCLUDED in finding.message
    gap = Gap("field_types", Reason.TIMED_OUT, "", "main", "sales")
    (unseen,) = _found(_of_tag(50, gaps=(gap,)))
    known = _of_tag(50)
    assert known.server is not None
    status = dataclasses.replace(known.server, settings={})
    (unlimited,) = _found(dataclasses.replace(known, server=status))
    for one in (unseen, unlimited):
        assert "most likely" not in one.message
        assert "the audit does not see why" in one.message


@pytest.mark.parametrize(
    ("product", "fields", "is_excluded"),
    # With its time and its tag, a table has two columns more than fields, of at most 500.
    [("Core 3.6.0", 397, True), ("Core 3.6.0", 398, False), ("", 397, False), ("Enterprise 3.6.0", 10, True)],
)
def test_limits_of_a_product_are_no_reason_if_none_is_near(product: str, fields: int, is_excluded: bool) -> None:
    table = a_measurement("pump", fields=tuple(a_field(f"f{n}") for n in range(fields)))
    made = dataclasses.replace(_profile(7), engine="influxdb3", server_version=product, measurements=(table,))
    (finding,) = _found(made)
    assert "enforces no limit" not in finding.message
    assert (_EXCLUDED in finding.message) is is_excluded
    assert ("a limit may be reached" in finding.message) is not is_excluded


@pytest.mark.parametrize(
    ("product", "selection", "left_out", "is_excluded"),
    [
        ("Core 3.6.0", Selection(), 0, True),
        # Nobody knows how many databases and tables the server has beside those in scope.
        ("Core 3.6.0", Selection(databases=("main",)), 0, False),
        ("Core 3.6.0", Selection(exclude=("debug_*",)), 3, False),
        # Each limit is one of a database, or of a table in it.
        ("Cloud Dedicated", Selection(databases=("main",)), 0, True),
        ("Cloud Dedicated", Selection(exclude=("debug_*",)), 3, False),
    ],
)
def test_nothing_is_concluded_from_limits_on_what_is_out_of_scope(
    product: str, selection: Selection, left_out: int, is_excluded: bool
) -> None:
    made = dataclasses.replace(_profile(7), engine="influxdb3", server_version=product)
    listed = (Listed("main", 1 + left_out, left_out),)
    (finding,) = _found(dataclasses.replace(made, selection=selection, listed=listed))
    assert (_EXCLUDED in finding.message) is is_excluded


def test_a_field_of_another_type_in_another_policy_is_a_possibility() -> None:
    hourly = a_measurement("tank", database="main/hourly", fields=(a_field("level", ("float",)), a_field("pump")))
    raw = a_measurement("tank", fields=(a_field("level", ("integer",)), a_field("pump")))
    databases = (Database("main", a_count(5)), Database("main/hourly", policy_of="main"))
    profile = dataclasses.replace(_profile(7), measurements=(raw, hourly), databases=databases)
    (finding,) = _found(profile)
    said = "; the types of level of tank (float and integer) differ between its retention policies."
    assert finding.message.endswith(said)
    assert (finding.main_contributor, finding.changes) == (None, ())
    assert finding.headline.startswith("The server dropped 7 points of main since the server started on")


@pytest.mark.parametrize(
    ("ends", "said"),
    [
        ({"soc": 96, "pv": 0, "grid": 1}, "; soc has had no point since 2026-02-28 06:00 UTC, and others have."),
        ({"soc": 96, "plan": 98, "pv": 0, "grid": 1, "home": 2}, "; soc and plan have had no point since 2026-02-28"),
        # Written once a day; most have ended.
        ({"soc": 20, "pv": 0}, _EXCLUDED + "."),
        ({"soc": 96, "plan": 98, "pv": 0}, _EXCLUDED + "."),
    ],
)
def test_measurements_without_new_points_are_a_hint(ends: dict[str, int], said: str) -> None:
    """Hours since the last point of each measurement of a database of which the server drops points."""
    newest = datetime(2026, 3, 4, 6, tzinfo=UTC)
    found = [a_measurement(name, last_time=newest - timedelta(hours=hours)) for name, hours in ends.items()]
    (finding,) = _found(dataclasses.replace(_of_tag(50), measurements=tuple(found)))
    assert said in finding.message


def _one_silent(hours: int, interval_s: float | None) -> tuple[Measurement, ...]:
    rhythms = Rhythms((FieldRhythm("value", 3, 0, interval_s),), None, a_source())
    last = {"pasteurizer": hours, "tank": 0, "energy": 0}
    return tuple(a_measurement(m, last_time=NOW - timedelta(hours=ago), rhythms=rhythms) for m, ago in last.items())


@pytest.mark.parametrize(
    ("hours", "interval_s", "is_named"),
    [
        *((17, 120.0, True), (4, 120.0, True), (3, 120.0, False), (17, 900.0, False), (17, None, False)),
        # A sender may collect what it measures each second for a while.
        *((1, 1.0, False), (2, 1.0, True)),
    ],
)
def test_a_measurement_that_usually_has_many_points_is_silent_sooner(
    hours: int, interval_s: float | None, is_named: bool
) -> None:
    (finding,) = _found(dataclasses.replace(_of_tag(50), measurements=_one_silent(hours, interval_s)))
    assert ("; pasteurizer has had no point since" in finding.message) is is_named
    assert ("; pasteurizer has had no point since" in headline(finding)) is is_named, "what a reader sees first"
    assert "without new points" not in {one.label for one in finding.evidence}


@pytest.mark.parametrize(
    ("up_hours", "hours", "is_named"), [(8, 5, True), (10, 5, False), (900, 24, False), (900, 25, True)]
)
def test_who_is_silent_for_a_small_part_of_the_time_is_evidence(up_hours: int, hours: int, is_named: bool) -> None:
    """Points were dropped while it had some."""
    made = _profile(7, up=timedelta(hours=up_hours))
    (finding,) = _found(dataclasses.replace(made, measurements=_one_silent(hours, 60.0)))
    since = f"pasteurizer since {instant(NOW - timedelta(hours=hours))}"
    assert ({e.label: e.value for e in finding.evidence}.get("without new points") == since) is not is_named
    for said in (finding.message, headline(finding)):
        assert ("; pasteurizer has had no point since" in said) is is_named


def test_reused_figures_do_not_show_that_a_measurement_ended() -> None:
    profile = _of_tag(50)
    now = profile.window.end
    hours = {"pump": 0, "valve": 0, "boiler": 48}
    found = [a_measurement(name, last_time=now - timedelta(hours=age)) for name, age in hours.items()]
    fresh = [dataclasses.replace(one, fingerprint_as_of=now) for one in found]
    (ended,) = _found(dataclasses.replace(profile, measurements=tuple(fresh)))
    assert "; boiler has had no point since" in ended.message
    fresh[-1] = dataclasses.replace(fresh[-1], fingerprint_as_of=now - timedelta(hours=48))
    (unknown,) = _found(dataclasses.replace(profile, measurements=tuple(fresh)))
    assert unknown.message.endswith(_EXCLUDED + ".")


@pytest.mark.parametrize(("dropped", "is_named"), [(3, True), (0, False)])
def test_an_earlier_audit_that_found_dropped_points_shows_who_was_silent(dropped: int, is_named: bool) -> None:
    """Figures of series that stay the same are reused: those of the silent ones, and of all others but one."""
    profile = _of_tag(50)
    now = profile.window.end
    yesterday = _profile(dropped, days_ago=1)
    last = {"pump": now, "valve": now - timedelta(hours=24.5), "boiler": now - timedelta(days=4)}
    found = [
        a_measurement(name, last_time=time, fingerprint_as_of=now if time == now else now - timedelta(days=1))
        for name, time in last.items()
    ]
    (finding,) = _found(dataclasses.replace(profile, measurements=tuple(found)), yesterday)
    until = instant(now - timedelta(days=4))
    said = f"; boiler has had no point since {until}, and others have, as the audit of {yesterday.day} saw"
    assert (said in finding.message) is is_named


def test_only_the_first_reasons_are_named() -> None:
    fields = tuple(a_field(f"f{n}", ("float", "string")) for n in range(5))
    made = _profile(7)
    (finding,) = _found(dataclasses.replace(made, measurements=(a_measurement("tank", fields=fields),)))
    assert finding.message.endswith("field f2 of tank has several types: float and string; 2 more like these.")
