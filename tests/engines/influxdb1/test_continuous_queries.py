"""Continuous queries that write nothing, and summaries that get nothing, on a real server."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.builders import NOW, a_count, a_field, a_measurement, a_profile, a_source, a_tag
from tests.collecting import collected
from tests.databases import influxql, new_name, write_lines
from tests.servers import ADMIN, Influxd
from tsaudit.config.settings import Target
from tsaudit.engines.registry import ENGINES
from tsaudit.evaluation import evaluate
from tsaudit.model.figures import FOREVER, Forever, Gap, Reason, Subject
from tsaudit.model.finding import Finding, Severity
from tsaudit.model.profile import Database, Profile
from tsaudit.model.rows import FieldRhythm, Rhythms
from tsaudit.model.server import ServerStatus, StoredQuery
from tsaudit.model.storage import Retention
from tsaudit.model.timeline import Point, Timeline

NEWEST = round(NOW.timestamp()) - 600
HOUR = 3_600
DAY = 24 * HOUR
Written = Mapping[str, tuple[str, int, int]]
"""Measurement to the retention policy that it is written to, and to the seconds ago when that began and ended."""


def audited(influxd: Influxd, queries: Mapping[str, str], *writers: Written) -> tuple[Target, Profile, list[Finding]]:
    """A database with the policies `weeks`, its default one, `autogen`, and `years`."""
    database = new_name()
    influxql(influxd.url, f"CREATE DATABASE {database}")
    influxql(influxd.url, f"CREATE RETENTION POLICY years ON {database} DURATION INF REPLICATION 1")
    # The tests write times of the past, which a duration would reject.
    influxql(influxd.url, f"CREATE RETENTION POLICY weeks ON {database} DURATION INF REPLICATION 1 DEFAULT")
    for name, body in queries.items():
        text = body.format(db=database)
        influxql(influxd.url, f'CREATE CONTINUOUS QUERY "{name}" ON {database} BEGIN {text} END')
    for written in writers:
        for name, (policy, first, last) in written.items():
            times = range(NEWEST - first, NEWEST - last + 1, 1_200)
            lines = (f"{name},hall=h{n} amps={n}.5 {time}000000000" for time in times for n in range(3))
            write_lines(influxd.url, database, lines, policy=policy)
    target = Target(name="t", engine="influxdb1", url=influxd.url, databases=(database,))
    profile = collected(target)
    assert profile.gaps == ()
    found = [finding for rule, finding in evaluate(profile).findings() if rule.code == "SRV002"]
    return target, profile, found


BY_HOUR = 'SELECT mean(amps) AS amps INTO {db}.years.amps_1h FROM {db}.autogen."feeder amps" GROUP BY time(1h), *'
FEEDERS = r"feeder\ amps"
OTHERS: Written = {"others": ("weeks", 9 * DAY, 0)}
MOVED: Written = {FEEDERS: ("autogen", 20 * DAY, 9 * DAY), "amps_1h": ("years", 20 * DAY, 9 * DAY)}


def test_source_whose_points_go_to_a_new_default_policy(influxd: Influxd) -> None:
    target, _, (finding,) = audited(influxd, {"by hour": BY_HOUR}, MOVED, {FEEDERS: ("weeks", 9 * DAY - 1_200, 0)})
    database = target.databases[0]
    assert finding.severity is Severity.WARNING
    assert finding.message == (
        "1 continuous query writes nothing (by hour): what is read in retention policy autogen was not written since "
        "2026-03-22 05:50 UTC; its points go to weeks, the default one now."
    )
    assert f'`ALTER RETENTION POLICY "autogen" ON "{database}" DEFAULT`' in finding.fix
    # What it says to run is what helps.
    (replaced,) = re.findall(r"`(DROP CONT[^`]*)`", finding.fix)
    for statement in replaced.split("; "):
        influxql(influxd.url, statement, db=database)
    again = collected(target)
    (query,) = ENGINES["influxdb1"].downsamplings(again)
    assert (query.source, query.policy, query.reads) == (database, "weeks", ("feeder amps",))
    assert not [f for rule, f in evaluate(again).findings() if rule.code == "SRV002"]


def test_queries_of_one_cause_are_one_finding(influxd: Influxd) -> None:
    volts = (
        "SELECT max(amps) INTO {db}.years.:MEASUREMENT FROM {db}.autogen./^volts.*/ WHERE hall = 'h1' "
        "GROUP BY time(30m), *"
    )
    moved = dict.fromkeys(("volts_a", "volts_b"), ("autogen", 9 * DAY, 5 * DAY))
    written = dict.fromkeys((*moved, FEEDERS), ("weeks", 5 * DAY, 0))
    _, _, (finding,) = audited(influxd, {"by hour": BY_HOUR, "volts": volts}, MOVED, moved, written)
    assert finding.message.startswith("2 continuous queries write nothing (by hour and volts): ")
    assert [one.label for one in finding.evidence] == ["by hour", "volts"]
    assert finding.evidence[1].value.startswith("reads volts_a and volts_b of autogen")


@pytest.mark.parametrize(
    "writers",
    [
        ({FEEDERS: ("autogen", 9 * DAY, 0), "amps_1h": ("years", 9 * DAY, HOUR)},),
        # All is switched off.
        (MOVED,),
        # Off for a long weekend.
        ({FEEDERS: ("autogen", 20 * DAY, 3 * DAY), "amps_1h": ("years", 20 * DAY, 3 * DAY)}, OTHERS),
        # Nothing is left of the source.
        ({FEEDERS: ("weeks", 6 * DAY, 0)},),
        # The result is missing: the query may have found nothing that meets its condition.
        ({FEEDERS: ("autogen", 20 * DAY, 0), "amps_1h": ("years", 20 * DAY, 4 * DAY)},),
        # Something else writes the result.
        ({FEEDERS: ("autogen", 20 * DAY, 9 * DAY), "amps_1h": ("years", 20 * DAY, 0)}, OTHERS),
        # Off for the night.
        ({FEEDERS: ("autogen", 9 * DAY, 10 * HOUR), "amps_1h": ("years", 9 * DAY, 10 * HOUR)},),
        # The query is new.
        ({FEEDERS: ("autogen", 9 * DAY, 0)},),
    ],
    ids=["healthy", "all ended", "weekend", "expired", "no result", "another writer", "for a night", "new"],
)
def test_queries_that_are_well(influxd: Influxd, writers: tuple[Written, ...]) -> None:
    _, _, found = audited(influxd, {"by hour": BY_HOUR}, *writers)
    assert found == []


@pytest.mark.parametrize(
    ("writers", "what"),
    [
        # Switched off, and never switched off where the query is.
        ((MOVED, OTHERS), "If nobody needs it anymore, drop it."),
        # Switched off, after it had been written to both.
        ((MOVED, {FEEDERS: ("weeks", 20 * DAY, 9 * DAY)}, OTHERS), "If nobody needs it anymore, drop it."),
        # Written to both, until somebody stopped one of them.
        ((MOVED, {FEEDERS: ("weeks", 20 * DAY, 0)}), "weeks.feeder amps is still written."),
        # Only its result has the name.
        (
            ({FEEDERS: ("autogen", 20 * DAY, 9 * DAY)}, {"amps_1h": ("weeks", 9 * DAY, 0)}),
            "If nobody needs it anymore, drop it.",
        ),
    ],
    ids=["ended", "ended in both", "both", "other names"],
)
def test_source_that_ended_while_others_go_on_is_a_note(
    influxd: Influxd, writers: tuple[Written, ...], what: str
) -> None:
    _, _, (finding,) = audited(influxd, {"by hour": BY_HOUR}, *writers)
    assert finding.severity is Severity.NOTE
    assert finding.message == (
        "1 continuous query writes nothing (by hour): feeder amps was not written since 2026-03-22 05:50 UTC, although "
        "others are."
    )
    assert finding.fix == f"Find what wrote the source, and whether it writes under another name now. {what}"


def test_query_of_a_result_is_no_second_cause(influxd: Influxd) -> None:
    by_quarter = "SELECT mean(amps) AS amps INTO {db}.years.amps_6h FROM {db}.years.amps_1h GROUP BY time(6h), *"
    _, _, (finding,) = audited(influxd, {"by hour": BY_HOUR, "by quarter": by_quarter}, MOVED, OTHERS)
    assert [one.label for one in finding.evidence] == ["by hour"]


@pytest.mark.parametrize(
    ("began", "severity"),
    [
        # The first audit that saw the new name is the first after the old one ended.
        (9, "critical"),
        # It was there all the time, or came later; and without earlier days, nobody knows.
        (12, "note"),
        (3, "note"),
        (None, "note"),
    ],
)
def test_source_that_goes_on_under_another_name(influxd: Influxd, began: int | None, severity: str) -> None:
    renamed = {"amperes": ("autogen", 9 * DAY - 1_200, 0)}
    _, profile, _ = audited(influxd, {"by hour": BY_HOUR}, MOVED, renamed, OTHERS)
    source = next(d for d in profile.databases if d.policy_of and d.own_name == "autogen")
    known = {"feeder amps": range(12, 0, -1), "amperes": range(began or 0, 0, -1)}
    points = {
        ("fields", Subject(source.name, name)): tuple(Point(profile.day - timedelta(days=n), 1.0) for n in days)
        for name, days in known.items()
    }
    # Raw points expire after 14 days.
    policy = Retention("autogen", 14 * DAY, 7 * DAY, default=False)
    profile = replace(
        profile,
        databases=tuple(replace(d, retention=(policy,)) if d is source else d for d in profile.databases),
    )
    (finding,) = (f for rule, f in evaluate(profile, Timeline(points=points)).findings() if rule.code == "SRV002")
    assert finding.severity == severity
    if severity == "critical":
        assert finding.message.endswith("although others are; amperes with the same fields is, since then.")
        assert "autogen keeps points for 14 days: from 2026-04-05 on, they are deleted" in finding.consequence


END = NOW - 12 * timedelta(days=1)
DAILY, HOURLY, MINUTELY = (Rhythms((FieldRhythm("x", 3, 0, float(s)),), None, a_source()) for s in (DAY, HOUR, 60))
IRREGULAR = Rhythms((FieldRhythm("x", 1, 3, float(HOUR)),), None, a_source())


def with_summaries(
    source: Mapping[str, object] | None = None, keeps: int | Forever = FOREVER, **changes: object
) -> tuple[Profile, list[Finding]]:
    """Two measurements in the policy `weeks`, which keeps points for 14 days, and their summaries in `years`, which end
    twelve days ago. `source`: changes to the second measurement. `changes`: those to the summaries.
    """
    raw = {"database": "plant", "fields": (a_field("amps"), a_field("volts")), "rhythms": MINUTELY}
    summary = {"database": "plant/years", "fields": (a_field("mean_amps"),), "tags": (), "rhythms": HOURLY}
    summary |= {"last_time": END} | changes
    profile = a_profile(
        *(a_measurement("pumps", **raw), a_measurement("feeder", **raw | dict(source or {}))),
        *(a_measurement("pumps", **summary), a_measurement("feeder", **summary)),
        engine="influxdb1",
        databases=(
            Database("plant", retention=(Retention("weeks", 14 * DAY, DAY, default=True),)),
            Database("plant/years", policy_of="plant", retention=(Retention("years", keeps, DAY, default=False),)),
        ),
        stored_queries=(),
    )
    return profile, stopped(profile)


def stopped(profile: Profile) -> list[Finding]:
    return [finding for rule, finding in evaluate(profile).findings() if rule.code == "SRV002"]


def test_summaries_that_no_query_writes_anymore(influxd: Influxd) -> None:
    """As after a restore, which leaves out continuous queries."""
    target, _, _ = audited(influxd, {}, {"others": ("weeks", DAY, 0)})
    for policy, step, last, field in (("weeks", 600, 0, "amps"), ("years", HOUR, 9 * DAY, "mean_amps")):
        times = range(NEWEST + 600 - 14 * DAY, NEWEST + 600 - last, step)
        lines = (f"{name},hall=h {field}=2.5 {time}000000000" for time in times for name in ("pumps", FEEDERS))
        write_lines(influxd.url, target.databases[0], lines, policy=policy)
    profile = collected(target)
    # Neither policy deletes points, so whatever was not summed up is still there.
    assert stopped(profile) == []
    weeks = (Retention("weeks", 14 * DAY, DAY, default=True),)
    kept = tuple(d if d.policy_of else replace(d, retention=weeks) for d in profile.databases)
    (finding,) = stopped(replace(profile, databases=kept))
    assert finding.severity is Severity.CRITICAL
    database = target.databases[0]
    assert finding.subject == Subject(f"{database}/years")
    assert finding.message == (
        "years.feeder amps and years.pumps have had no row since 2026-03-22 05:00 UTC, although weeks.feeder amps has, "
        "and no continuous query writes them."
    )
    assert finding.consequence == (
        "weeks keeps points for 14 days: from 2026-04-05 on, they are deleted, and nothing is left of them."
    )
    assert (
        f'Write what is missing before 2026-04-05, or raise the duration of weeks first: `SELECT ... INTO "{database}".'
        f'"years"."pumps" FROM "{database}"."weeks"."pumps" WHERE time >= \'2026-03-22T06:00:00Z\' '
        "AND time < '2026-03-31T06:00:00Z' GROUP BY time(1h), \"hall\"`."
    ) in finding.fix


RENAMED = (
    "SELECT mean(home) AS home INTO {db}.years.:MEASUREMENT FROM (SELECT amps AS home FROM {db}.weeks.pumps WHERE hall "
    "!= 'h9') WHERE home > 1 GROUP BY time(1h), hall"
)
BY_DAY = "SELECT max(home) AS home INTO {db}.autogen.by_day FROM {db}.years.pumps GROUP BY time(1d), hall"


def a_lost_query(influxd: Influxd) -> tuple[str, Profile, Profile]:
    """The profiles of two days, of which only the first lists the query that writes `years.pumps`. Its summaries end
    two days before, and a query that goes on reads them.
    """
    target, _, _ = audited(influxd, {"renamed": RENAMED, "by day": BY_DAY}, {"others": ("weeks", DAY, 0)})
    database = target.databases[0]
    for policy, step, last, text in (("weeks", 600, 0, "amps=2.5"), ("years", HOUR, 2 * DAY, "home=2.5")):
        times = range(NEWEST + 600 - 9 * DAY, NEWEST + 600 - last, step)
        write_lines(influxd.url, database, (f"pumps,hall=h {text} {time}000000000" for time in times), policy=policy)

    def kept(profile: Profile) -> Profile:
        weeks = (Retention("weeks", 10 * DAY, DAY, default=True),)
        return replace(
            profile, databases=tuple(d if d.policy_of else replace(d, retention=weeks) for d in profile.databases)
        )

    day = timedelta(days=1)
    before = replace(collected(target), day=NOW.date() - day, collected_at=NOW - day)
    influxql(influxd.url, f"DROP CONTINUOUS QUERY renamed ON {database}")
    return database, kept(before), kept(collected(target, previous=before))


def test_lost_query_of_an_earlier_audit_is_created_again(influxd: Influxd) -> None:
    database, before, profile = a_lost_query(influxd)
    assert [query.name for query in profile.ended_queries] == ["renamed"]
    (finding,) = stopped(profile)
    assert finding.severity is Severity.CRITICAL
    assert finding.message == (
        "years.pumps has had no row since 2026-03-29 05:00 UTC, although weeks.pumps has, and no continuous query "
        "writes it."
    )
    assert "Then run what by day should have written since then in the same way." in finding.fix
    # What it says to run is what helps.
    created, written = re.findall(r"`([^`]*)`", finding.fix)
    times = "time >= '2026-03-29T06:00:00Z' AND time < '2026-03-31T06:00:00Z'"
    assert f"WHERE {times} AND (home > 1) GROUP BY time(1h), hall" in written
    target = Target(name="t", engine="influxdb1", url=influxd.url, databases=(database,))
    for statement in (created, written):
        influxql(influxd.url, statement, db=database)
    again = collected(target, previous=profile)
    assert again.ended_queries == ()
    summary = next(m for m in again.measurements if m.name == "pumps" and m.database.endswith("/years"))
    assert summary.last_time is not None
    assert NOW - summary.last_time <= timedelta(hours=1)
    # The policies as they are have no duration.
    assert stopped(replace(again, databases=before.databases)) == []


def test_summary_that_another_query_reads_may_have_other_fields(influxd: Influxd) -> None:
    _, _, profile = a_lost_query(influxd)
    unknown = replace(profile, ended_queries=())
    (finding,) = stopped(unknown)
    assert finding.severity is Severity.CRITICAL
    assert "SELECT ... INTO" in finding.fix
    assert "drop" not in finding.fix.lower()
    # Nobody knows what it sums up.
    assert stopped(replace(unknown, stored_queries=())) == []
    # Others of the policy are written, but somebody still needs it.
    others = a_measurement("others", database=f"{unknown.databases[0].name}/years")
    (finding,) = stopped(replace(unknown, measurements=(*unknown.measurements, others)))
    assert finding.severity is Severity.CRITICAL


@pytest.mark.parametrize(
    ("ended", "interval_s", "times", "by", "step"),
    [
        # The policy keeps points for 14 days, and deletes them by day.
        (timedelta(days=12), HOUR, ("03-19T07:00:00Z", "03-31T06:00:00Z"), "1h", "a day"),
        (timedelta(days=29), HOUR, ("03-16T06:00:00Z", "03-31T06:00:00Z"), "1h", "a day"),
        (timedelta(days=28.5), 7 * HOUR, ("03-16T11:00:00Z", "03-31T01:00:00Z"), "7h", "one interval"),
        (timedelta(days=27), 7 * DAY, ("03-18T06:00:00Z", "03-25T06:00:00Z"), "7d", "one interval"),
        (timedelta(days=62), 20 * DAY, ("03-09T06:00:00Z", "03-29T06:00:00Z"), "20d", "one interval"),
        (timedelta(days=12), 0.25, ("03-19T06:00:00.250000Z", "03-31T06:00:00Z"), "250ms", "a day"),
    ],
)
def test_whole_intervals_whose_points_are_there_are_written(
    ended: timedelta, interval_s: float, times: tuple[str, str], by: str, step: str
) -> None:
    rhythms = Rhythms((FieldRhythm("x", 3, 0, interval_s),), None, a_source())
    profile, _ = with_summaries(last_time=NOW - ended, rhythms=rhythms)
    often = Rhythms((FieldRhythm("x", 3, 0, 0.01),), None, a_source())
    raw = tuple(replace(m, rhythms=often) for m in profile.measurements[:2])
    (finding,) = stopped(replace(profile, measurements=(*raw, *profile.measurements[2:])))
    begin, end = (f"time {sign} '2026-{time}'" for sign, time in zip((">=", "<"), times, strict=True))
    assert f"WHERE {begin} AND {end} GROUP BY time({by})`." in finding.fix
    assert f"Write {step} at a time, up to the last interval that is over by then." in finding.fix


def test_query_that_is_there_and_writes_nothing(influxd: Influxd) -> None:
    _, before, profile = a_lost_query(influxd)
    (renamed,) = profile.ended_queries
    plain = replace(
        renamed, statement=renamed.statement.replace(" WHERE home > 1", "").replace(" WHERE hall != 'h9'", "")
    )

    def found(query: StoredQuery, *listed: StoredQuery, ended: timedelta | None = None) -> list[Finding]:
        then = replace(before, stored_queries=listed)
        if ended is not None:
            then = replace(then, measurements=tuple(replace(m, last_time=NOW - ended) for m in then.measurements))
        now = replace(profile, stored_queries=(query, *(profile.stored_queries or ())), ended_queries=())
        results = evaluate(now, Timeline(previous=then)).findings()
        return [finding for rule, finding in results if rule.code == "SRV002"]

    (finding,) = found(plain, plain)
    assert finding.severity is Severity.CRITICAL
    assert finding.message.endswith("although weeks.pumps has, and renamed writes nothing.")
    assert "Find out why renamed writes nothing" in finding.fix
    # It is new; it may have found nothing that meets its condition; and the source was away until now.
    assert found(plain) == []
    assert found(renamed, renamed) == []
    assert found(plain, plain, ended=timedelta(days=2)) == []


@pytest.mark.parametrize(
    ("rhythms", "resample", "ended", "audited_before", "count"),
    [
        # It runs as seldom as that.
        (HOURLY, "EVERY 1w", timedelta(days=4), timedelta(days=1), 0),
        (HOURLY, "EVERY 2d", timedelta(hours=44), timedelta(days=1), 0),
        (HOURLY, "EVERY 5m", timedelta(hours=44), timedelta(days=1), 1),
        # It ran several times, and the audit of the day before listed it.
        (HOURLY, "EVERY 1d", timedelta(days=5), timedelta(days=1), 1),
        (DAILY, "EVERY 1h", timedelta(days=5), timedelta(days=1), 1),
        (HOURLY, "EVERY 1w", timedelta(days=23), timedelta(days=1), 1),
        # It may not have run since it was created.
        (HOURLY, "EVERY 2h", timedelta(days=5), timedelta(hours=1), 0),
        (HOURLY, "EVERY 1d", timedelta(days=5), timedelta(hours=12), 0),
    ],
)
def test_query_writes_nothing_if_it_ran_several_times(
    rhythms: Rhythms, resample: str, ended: timedelta, audited_before: timedelta, count: int
) -> None:
    profile, _ = with_summaries(last_time=NOW - ended, rhythms=rhythms)
    query = summing_up("plant.weeks.pumps")
    query = replace(query, statement=query.statement.replace("BEGIN", f"RESAMPLE {resample} BEGIN"))
    weeks = (Retention("weeks", 60 * DAY, DAY, default=True),)
    databases = (replace(profile.databases[0], retention=weeks), *profile.databases[1:])
    used = profile.measurements[::2]
    profile = replace(profile, databases=databases, measurements=used, stored_queries=(query,))
    before = replace(profile, collected_at=profile.collected_at - audited_before)
    results = evaluate(profile, Timeline(previous=before)).findings()
    assert len([f for rule, f in results if rule.code == "SRV002"]) == count


@pytest.mark.parametrize(("days", "severity"), [(25, Severity.NOTE), (13, Severity.CRITICAL)])
def test_query_left_behind_long_ago_is_a_note(days: int, severity: Severity) -> None:
    """The new default policy keeps points for two days."""
    pumps = {"fields": (a_field("amps"),), "rhythms": MINUTELY}
    last, first = NOW - timedelta(days=days), NOW - timedelta(days=days) + timedelta(minutes=1)
    profile = a_profile(
        a_measurement("pumps", database="plant/old", last_time=last, **pumps),
        a_measurement("pumps", database="plant", first_time=first, last_time=NOW, **pumps),
        engine="influxdb1",
        databases=(
            Database("plant", retention=(Retention("weeks", 2 * DAY, DAY, default=True),)),
            Database("plant/old", policy_of="plant", retention=(Retention("old", FOREVER, DAY, default=False),)),
        ),
        stored_queries=(summing_up("plant.old.pumps"),),
    )
    (finding,) = stopped(profile)
    assert finding.severity is severity
    assert ("weeks has deleted what was not summed up" in finding.severity_reason) == (severity is Severity.NOTE)


def test_summary_whose_fields_have_the_same_names() -> None:
    _, (finding,) = with_summaries(fields=(a_field("amps"), a_field("volts")), tags=(a_tag("host"),))
    assert finding.severity is Severity.CRITICAL


def test_severity_is_that_of_the_time_left() -> None:
    def of(days: int, **changes: Any) -> Severity:
        profile, _ = with_summaries()
        weeks = (Retention("weeks", days * DAY, DAY, default=True),)
        databases = (replace(profile.databases[0], retention=weeks), *profile.databases[1:])
        (finding,) = stopped(replace(profile, databases=databases, **changes))
        return finding.severity

    # The summaries ended twelve days ago.
    assert [of(days) for days in (27, 26, 12, 3)] == [Severity.WARNING, *[Severity.CRITICAL] * 3]
    # Two weeks after the first points were deleted, somebody has noticed.
    (late,) = with_summaries(last_time=NOW - timedelta(days=29))[1]
    assert late.severity_reason.startswith("somebody may have ended them on purpose: weeks has deleted")
    assert (late.severity, "14 days ago" in late.severity_reason) == (Severity.NOTE, True)
    # Nothing is deleted, however long ago it should have been.
    kept = ServerStatus({"retention_enabled": 0})
    assert of(14, server=kept) is Severity.WARNING
    profile, _ = with_summaries(last_time=NOW - timedelta(days=29))
    assert [one.severity for one in stopped(replace(profile, server=kept))] == [Severity.WARNING]


@pytest.mark.parametrize(
    ("first_time", "rows", "days", "count"),
    [
        # Somebody writes to another policy since then, and more often.
        (END, 17_280, [], 0),
        # It was there before: by the rows that were read, by those that were counted, and by an earlier audit.
        (END - timedelta(days=2), 17_280, [], 1),
        (NOW, 3 * 14 * 1_440, [], 1),
        (NOW, 17_280, [13, 12], 1),
        (NOW, 17_280, [12], 0),
    ],
)
def test_same_fields_are_a_summary_of_what_was_there_before(
    first_time: datetime, rows: int, days: list[int], count: int
) -> None:
    profile, _ = with_summaries(fields=(a_field("amps"), a_field("volts")))
    times = {"first_time": first_time, "rows": a_count(rows)}
    raw = tuple(replace(m, **times) for m in profile.measurements[:2])
    points = {
        ("fields", Subject("plant", m.name)): tuple(Point(profile.day - timedelta(days=n), 2.0) for n in days)
        for m in raw
    }
    profile = replace(profile, measurements=(*raw, *profile.measurements[2:]))
    results = evaluate(profile, Timeline(points=points)).findings()
    assert len([f for rule, f in results if rule.code == "SRV002"]) == count


@pytest.mark.parametrize(
    ("keys", "count"),
    [
        (["mean_amps"], 1),
        (["amps", "max_amps"], 1),
        # Somebody writes to another policy since then, and more fields or fewer.
        (["amps"], 0),
        (["amps", "volts", "watts"], 0),
    ],
)
def test_names_of_fields_show_a_summary_even_if_only_new_rows_are_left(keys: list[str], count: int) -> None:
    profile, _ = with_summaries(fields=tuple(map(a_field, keys)))
    raw = tuple(replace(m, first_time=NOW, rows=a_count(1)) for m in profile.measurements[:2])
    assert len(stopped(replace(profile, measurements=(*raw, *profile.measurements[2:])))) == count


@pytest.mark.parametrize(
    "changes",
    [
        {"rhythms": IRREGULAR},
        {"rhythms": None},
        # Somebody wrote them at some time of a day.
        {"last_time": END - timedelta(minutes=7)},
        # Both are written as often.
        {"rhythms": MINUTELY},
        {"last_time": NOW - timedelta(hours=27)},
        {"fields": (a_field("revenue"),)},
        # What has more tags than the source is no summary of it.
        {"tags": (a_tag("shop"),)},
        # The points are kept as long.
        {"keeps": 14 * DAY},
    ],
    ids=["irregular", "unknown interval", "odd time", "as often", "pause", "other fields", "other tags", "as long"],
)
def test_policy_that_is_no_stopped_summary(changes: dict[str, Any]) -> None:
    assert with_summaries(**changes)[1] == []


@pytest.mark.parametrize("ended", [{"last_time": END}, {"last_time": None}, {"rhythms": IRREGULAR}])
def test_summary_of_a_source_that_ended_is_left_out(ended: dict[str, object]) -> None:
    _, (finding,) = with_summaries(ended)
    assert [one.label for one in finding.evidence] == ["years.pumps"]


def test_summary_that_others_outlived_is_a_note() -> None:
    profile, _ = with_summaries()
    written = replace(profile.measurements[-1], last_time=NOW)
    (finding,) = stopped(replace(profile, measurements=(*profile.measurements[:-1], written)))
    assert (finding.severity, finding.observed) == (Severity.NOTE, 1.0)
    ended = replace(written, last_time=END - timedelta(days=9))
    (finding,) = stopped(replace(profile, measurements=(*profile.measurements[:-1], ended)))
    assert (finding.severity, finding.observed) == (Severity.CRITICAL, 1.0)


def test_query_that_reads_a_lost_summary_is_no_second_cause() -> None:
    profile, _ = with_summaries()
    queries = (summing_up("plant.years.pumps", "plant.ages"),)
    (finding,) = stopped(replace(profile, stored_queries=queries))
    assert finding.subject == Subject("plant/years")
    assert "Then run what q should have written" in finding.fix


def test_steps_of_one_cause_are_one_finding() -> None:
    """As after a restore: what sums up a summary has no field of the points."""
    profile, _ = with_summaries()
    ages = Database("plant/ages", policy_of="plant", retention=(Retention("ages", FOREVER, DAY, default=False),))
    renamed = {"database": ages.name, "fields": (a_field("max_mean_amps"),), "rhythms": DAILY}
    renamed |= {"last_time": END.replace(hour=0, minute=0) - timedelta(days=1)}
    step = replace(profile.measurements[2], **renamed)
    both = replace(profile, databases=(*profile.databases, ages), measurements=(*profile.measurements, step))
    (finding,) = stopped(both)
    assert finding.subject == Subject("plant/years")
    assert finding.message.startswith("years.pumps, years.feeder, and ages.pumps have had no row since ")
    assert "Likewise ages.pumps." in finding.fix


def test_summary_that_another_policy_goes_on_with() -> None:
    profile, _ = with_summaries()
    longer = Database("plant/ages", policy_of="plant", retention=(Retention("ages", FOREVER, DAY, default=False),))
    more = (replace(m, database=longer.name, last_time=NOW) for m in profile.measurements[2:])
    more = (replace(m, rhythms=Rhythms((FieldRhythm("x", 3, 0, 1_800.0),), None, a_source())) for m in more)
    both = replace(profile, databases=(*profile.databases, longer), measurements=(*profile.measurements, *more))
    assert stopped(both) == []


def summing_up(source: str, target: str = "plant.years") -> StoredQuery:
    text = f"BEGIN SELECT mean(amps) INTO {target}.:MEASUREMENT FROM {source} GROUP BY time(1h) END"
    database = target.split(".")[0]
    return StoredQuery("q", f"CREATE CONTINUOUS QUERY q ON {database} {text}", None, None, database=database)


@pytest.mark.parametrize(
    "changes",
    [
        {"stored_queries": None},
        # One writes them, and one may.
        {"stored_queries": (summing_up("plant.weeks./.*/"),)},
        {"stored_queries": (summing_up("(SELECT amps FROM plant.weeks.x), (SELECT volts FROM plant.weeks.y)"),)},
        {"gaps": (Gap("row_sample", Reason.TIMED_OUT, "", database="plant"),)},
        {"gaps": (Gap("row_sample", Reason.TIMED_OUT, "", database="plant/years"),)},
        {"databases": (Database("plant"), Database("plant/years", policy_of="plant"))},
    ],
    ids=["queries unknown", "written", "query not read", "source unknown", "summary unknown", "retention unknown"],
)
def test_summary_is_not_reported_when_unknown(changes: dict[str, Any]) -> None:
    profile, _ = with_summaries()
    assert stopped(replace(profile, **changes)) == []


def test_query_of_another_database_is_no_writer_of_a_summary() -> None:
    profile, _ = with_summaries()
    queries = (summing_up("(SELECT amps FROM shop.weeks.x), (SELECT amps FROM shop.weeks.y)", "shop.years"),)
    assert len(stopped(replace(profile, stored_queries=queries))) == 1


def test_regular_expression_reads_names_of_its_own_policy(influxd: Influxd) -> None:
    """Another program writes to the default policy, while the source pauses."""
    everything = "SELECT max(amps) INTO {db}.years.:MEASUREMENT FROM {db}.autogen./.*/ GROUP BY time(30m), *"
    paused: Written = {"pumps": ("autogen", 20 * DAY, 3 * DAY)}
    _, _, found = audited(influxd, {"all": everything}, paused, {"deployments": ("weeks", 3 * DAY, 0)})
    assert found == []


def test_duration_is_not_proposed_for_what_they_read(influxd: Influxd) -> None:
    _, profile, _ = audited(influxd, {"by hour": BY_HOUR}, {FEEDERS: ("autogen", 3 * DAY, 0)}, {"x": ("weeks", DAY, 0)})
    found = {f.subject.database: f for rule, f in evaluate(profile).findings() if rule.code == "RET001"}
    read = next(name for name in found if name.endswith("/autogen"))
    assert found[read].changes == ()
    assert "what by hour still reads there" in found[read].fix
    assert found[read.removesuffix("/autogen")].changes


def test_means_that_are_whole_and_pieces_of_one_reading_are_the_querys(influxd: Influxd) -> None:
    whole = (
        "SELECT mean(amps) AS amps INTO {db}.years.:MEASUREMENT FROM {db}.weeks./^(left|right)$/ GROUP BY time(1h), *"
    )
    raw: Written = {"left": ("weeks", 9 * DAY, 0), "right": ("weeks", 9 * DAY, 0)}
    target, _, _ = audited(influxd, {"both": whole}, raw)
    lines = (
        f"{name},hall=h{n} amps={n + step}.0 {NEWEST - step * HOUR}000000000"
        for name in ("left", "right")
        for n in range(3)
        for step in range(99)
    )
    write_lines(influxd.url, target.databases[0], lines, policy="years")
    found = [
        (r.code, f.subject.database)
        for r, f in evaluate(collected(target)).findings()
        if r.code in ("FLD002", "LAY007")
    ]
    assert found == [("LAY007", target.databases[0])]


def test_users_see_queries_with_the_right_to_read_one_database(influxd_auth: Influxd) -> None:
    """The server asks for a database, and lists the queries of all."""
    admin = dict(zip("up", ADMIN, strict=True))
    database, user = new_name(), f"reader_{new_name()}"
    text = f"SELECT mean(v) INTO {database}.autogen.t FROM {database}.autogen.s GROUP BY time(1h)"
    for statement in (
        f"CREATE DATABASE {database}",
        f"CREATE CONTINUOUS QUERY c ON {database} BEGIN {text} END",
        f"CREATE USER {user} WITH PASSWORD 'secret'",
        f"GRANT READ ON {database} TO {user}",
    ):
        influxql(influxd_auth.url, statement, **admin)
    target = Target(name="t", engine="influxdb1", url=influxd_auth.url, username=user, password="secret")
    queries = collected(target).stored_queries or ()
    assert ("c", database) in {(query.name, query.database) for query in queries}


@pytest.mark.parametrize(
    ("text", "repeated"),
    [
        ("FROM d.w./it's|b/ WHERE h = 'x'", "FROM d.w./it's|b/ WHERE TIMES AND (h = 'x')"),
        ("FROM d.w.s WHERE h =~ /^it's$/ AND a > 1", "FROM d.w.s WHERE TIMES AND (h =~ /^it's$/ AND a > 1)"),
        ("FROM d.w.s WHERE a / 2 > b / 3", "FROM d.w.s WHERE TIMES AND (a / 2 > b / 3)"),
        (r"FROM d.w./a\/ WHERE / WHERE h = 'x'", r"FROM d.w./a\/ WHERE / WHERE TIMES AND (h = 'x')"),
        ("FROM d.w.s", "FROM d.w.s WHERE TIMES"),
    ],
)
def test_condition_is_added_to_those_of_the_query(text: str, repeated: str) -> None:
    begins = "SELECT mean(v) / 60 INTO d.years.z"
    stored = StoredQuery("q", f"CREATE CONTINUOUS QUERY q ON d BEGIN {begins} {text} GROUP BY time(1h) END", None, None)
    database = Database("d", retention=(Retention("weeks", 86_400, None, default=True),))
    pumps = a_measurement("b", database="d/w")
    profile = replace(
        a_profile(pumps, engine="influxdb1"), databases=(database,), stored_queries=(replace(stored, database="d"),)
    )
    (query,) = ENGINES["influxdb1"].downsamplings(profile)
    assert ENGINES["influxdb1"].repetition(query, "TIMES") == f"{begins} {repeated} GROUP BY time(1h)"


def test_statements_that_are_read() -> None:
    """As the server returns them, from 1.0 on."""

    def of(statement: str) -> list[tuple[object, ...]]:
        database = Database("d", retention=(Retention("weeks", 86_400, None, default=True),))
        stored = (StoredQuery("q", f"CREATE CONTINUOUS QUERY q ON d {statement}", None, None, database="d"),)
        profile = replace(a_profile(engine="influxdb1"), databases=(database,), stored_queries=stored)
        found = ENGINES["influxdb1"].downsamplings(profile)
        return [(one.source, one.reads, one.target, one.writes, one.every) for one in found]

    minutes, hour = timedelta(minutes=30), timedelta(hours=1)
    plain = (
        'BEGIN SELECT mean(v), max(v) AS "a FROM b" INTO d.years.z FROM d.weeks.s, d.weeks.r GROUP BY time(30m, 5m) END'
    )
    assert of(plain) == [("d", ("s", "r"), "d/years", ("z",), minutes)]
    named = (
        r'RESAMPLE EVERY 2h FOR 1d BEGIN SELECT v INTO "d"."y 2"."z" FROM "d"."raw"."a \"b\"" GROUP BY *, time(1h) END'
    )
    assert of(named) == [("d/raw", ('a "b"',), "d/y 2", ("z",), timedelta(hours=2))]
    short = "BEGIN SELECT mean(v) INTO z FROM s GROUP BY time(1h30m) END"
    assert of(short) == [("d", ("s",), "d", ("z",), timedelta(minutes=90))]
    inside = (
        "BEGIN SELECT mean(v) INTO d.weeks.z FROM (SELECT v FROM d.weeks.s GROUP BY time(1m)) GROUP BY time(1h) END"
    )
    assert of(inside) == [("d", ("s",), "d", ("z",), timedelta(hours=1))]
    several = (
        "BEGIN SELECT mean(v) INTO d.weeks.z FROM (SELECT v FROM d.weeks.s), (SELECT v FROM d.weeks.r) "
        "GROUP BY time(1h) END"
    )
    assert of(several) == []
    nested = "BEGIN SELECT mean(v) INTO d.weeks.z FROM {}d.weeks.s GROUP BY time(1m){} GROUP BY time(1h) {}"
    assert of(nested.format("(SELECT max(v) AS v FROM " * 9, ")" * 9, "END")) == [("d", ("s",), "d", ("z",), hour)]
    # Not one that takes years to find out that it is none.
    assert of(nested.format("(SELECT max(v) AS v FROM " * 99, ")" * 99, "")) == []
    elsewhere = "BEGIN SELECT mean(v) INTO d.weeks.z FROM other.weeks.s GROUP BY time(1h) END"
    assert of(elsewhere) == []
