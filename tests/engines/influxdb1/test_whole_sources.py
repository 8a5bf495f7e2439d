"""Tags whose values come and go, in measurements of which rows of a few series are read, on a real server."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta

import pytest

from tests.builders import NOW
from tests.databases import Dataset, Row, Table, write
from tests.planning.places import Place
from tests.servers import Influxd
from tsaudit.model.finding import Severity
from tsaudit.model.profile import Profile

# Thousands of points each, written to a real server; tests/analysis has the same kinds as plain values.
pytestmark = pytest.mark.full
MINUTE = timedelta(minutes=1)


def audited(rows: Sequence[Row], influxd: Influxd, **budget: int) -> tuple[Profile, Mapping[tuple[str, str], Severity]]:
    """The profile, and how severe what is said of each tag is, by code and tag."""
    keys = tuple(dict.fromkeys(key for row in rows for key in row.tags))
    target = write(Dataset([Table("t", keys, {"v": "float"}, rows)]), "influxdb1", influxd.url, budget=budget)
    profile, result = Place(target, now=NOW).audited()
    found = {(one.code, finding.subject.column): finding.severity for one, finding in result.findings()}
    return profile, {key: severity for key, severity in found.items() if key[1] in keys}


def jobs(printers: int = 4) -> Iterator[Row]:
    """Each printer prints for some hours, then something else; it writes how far it is each two minutes."""
    noise, job = random.Random("jobs"), 4_200
    for printer in range(printers):
        at = NOW - timedelta(days=3)
        while at < NOW:
            job += 1
            steps = noise.randint(60, 180)
            for step in range(steps):
                tags = {"printer": f"p{printer}", "job": str(job), "completion": str(100 * step // steps)}
                yield Row(at + step * 2 * MINUTE + timedelta(seconds=printer), tags, {"v": noise.random()})
            at += (steps + 10) * 2 * MINUTE


def test_progress_and_number_of_each_job(influxd: Influxd) -> None:
    """Most series are left behind after minutes, where one for each printer would do."""
    rows = [row for row in jobs() if row.time < NOW]
    profile, found = audited(rows, influxd)
    assert profile.measurements[0].series is not None
    assert profile.measurements[0].series.value > 2_000
    assert {column: severity for (_, column), severity in found.items()} == dict.fromkeys(
        ("completion", "job"), Severity.WARNING
    )


def test_number_of_a_step_and_of_its_batch_are_all_there_is(influxd: Influxd) -> None:
    """No tag names what goes on, so that nothing is left of the series without the two."""
    rows = [
        Row(
            NOW - (9_000 - number) * timedelta(seconds=20),
            {"batch": str(700 + number // 150), "percent": str(number % 150 * 100 // 150)},
            {"v": 1.0},
        )
        for number in range(9_000)
    ]
    _, found = audited(rows, influxd)
    assert {column: severity for (_, column), severity in found.items()} == dict.fromkeys(
        ("batch", "percent"), Severity.WARNING
    )


def test_machines_that_move_among_hosts_cost_what_they_are(influxd: Influxd) -> None:
    """The series are as many as each machine has hosts, and no more come."""
    noise, rows = random.Random("moves"), []
    for machine in range(400):
        hosts = noise.sample(range(8), 4)
        for move in range(28):
            tags = {"vm": f"vm{machine}", "host": f"node{noise.choice(hosts)}"}
            start = NOW - timedelta(days=7) + move * 6 * timedelta(hours=1) + timedelta(seconds=machine)
            rows += [Row(start + hour * timedelta(hours=1), tags, {"v": noise.random()}) for hour in range(6)]
    _, found = audited(rows, influxd)
    assert set(found.values()) <= {Severity.NOTE}


def test_firmware_that_each_device_replaces_is_growth(influxd: Influxd) -> None:
    """Though few of the 1,200 devices have a second version, and none has an old one again."""
    noise, rows = random.Random("firmware"), []
    for device in range(1_200):
        updates = [noise.uniform(0, 40) for _ in range(12)]
        for at in range(80):
            tags = {"device": f"d{device}", "firmware": f"2.{sum(at / 4 > update for update in updates)}"}
            rows.append(Row(NOW - timedelta(days=20) + timedelta(hours=6 * at, seconds=device), tags, {"v": 1.0}))
    _, found = audited(rows, influxd)
    assert found == {("TAG007", "firmware"): Severity.WARNING}


def test_version_that_is_rolled_out_once_is_a_step(influxd: Influxd) -> None:
    """300 series that nobody needs will not be a thousand: there is no next version in what was read."""
    rows = [
        Row(
            NOW - timedelta(days=20) + timedelta(hours=6 * at, seconds=device),
            {"device": f"d{device}", "version": f"7.{int(at >= 60 + device % 15)}"},
            {"v": 1.0},
        )
        for device in range(300)
        for at in range(80)
    ]
    _, found = audited(rows, influxd)
    assert found == {("TAG007", "version"): Severity.NOTE}


def test_statements_that_each_server_counts_are_a_list(influxd: Influxd) -> None:
    texts = [f"SELECT a, b FROM t{number} WHERE a = $1 AND b < $2 ORDER BY b" for number in range(90)]
    rows = [
        Row(
            NOW - hour * timedelta(hours=1) - timedelta(seconds=server + 1),
            {"server": f"db{server}", "query": text},
            {"v": 1.0},
        )
        for hour in range(24)
        for server in range(15)
        for text in texts
    ]
    _, found = audited(rows, influxd)
    assert found.get(("TAG002", "query")) is Severity.NOTE


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_fleet_on_its_first_day_is_judged_by_the_next_audit(influxd: Influxd, rounds: int) -> None:
    """Its sensors report one after the other, so that each row of an area is of another one at first."""
    rows = [
        Row(
            NOW - at * timedelta(minutes=30) - timedelta(seconds=1 + sensor / 2),
            {"area": f"a{sensor % 9}", "sensor": f"web{sensor}"},
            {"v": 1.0},
        )
        for at in range(rounds)
        for sensor in range(3_000)
    ]
    _, found = audited(rows, influxd)
    assert set(found.values()) <= {Severity.NOTE}


@pytest.mark.parametrize("interval", [timedelta(minutes=15), timedelta(hours=12)])
def test_fleet_is_no_finding(influxd: Influxd, interval: timedelta) -> None:
    """Whether it reports often or seldom."""
    rows = [
        Row(
            NOW - at * interval - timedelta(seconds=1 + meter / 3),
            {"area": f"a{meter % 9}", "meter": f"m{meter}"},
            {"v": 1.0},
        )
        for at in range(8)
        for meter in range(2_000)
    ]
    _, found = audited(rows, influxd)
    assert found == {}


def test_sources_that_report_seldom_are_no_ids(influxd: Influxd) -> None:
    """2,500 trackers report every six hours, at a second of their own: a slice has most of them once."""
    rows = [
        Row(
            NOW - (20 - report) * timedelta(hours=6) + timedelta(seconds=n % 5_000),
            {"herd": f"h{n % 5}", "cow": f"c{n:04x}"},
            {"v": 1.0},
        )
        for report in range(20)
        for n in range(2_500)
    ]
    profile, found = audited(rows, influxd, max_rows=2_000)
    (cow,) = (tag for tag in profile.measurements[0].tags if tag.key == "cow")
    assert cow.turnover is not None
    assert (cow.turnover.first, cow.turnover.new) == (cow.turnover.again, 0)
    assert Severity.WARNING not in found.values()
