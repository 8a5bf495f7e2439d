"""Points whose times were written in a wrong unit, on a real server."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pytest

from tests.builders import NOW
from tests.collecting import collected
from tests.databases import influxql, new_name, write_lines
from tests.servers import Influxd
from tsaudit.config.settings import Target
from tsaudit.evaluation import evaluate
from tsaudit.model.finding import Finding, Severity
from tsaudit.model.profile import Profile
from tsaudit.rule import subject_of

SECOND = 10**9
NEWEST = round(NOW.timestamp()) - 300
YEAR = 31_536_000
LAST = {"precision=s": NEWEST, "precision=ms": NEWEST * 1_000, "precision=u": NEWEST * 1_000_000}
"""The setting that the writer forgot to the last time that it wrote."""


def points(name: str, times: Iterable[int]) -> list[str]:
    return [f"{name},tank=t{n % 3} litres={100.5 + n} {time}" for n, time in enumerate(times)]


def audited(influxd: Influxd, *lines: str, policy: str = "") -> tuple[Profile, list[tuple[str, Finding]]]:
    database = new_name()
    # Otherwise, a history would be in thousands of shards.
    influxql(influxd.url, f"CREATE DATABASE {database} WITH SHARD DURATION 5200w")
    if policy:
        influxql(influxd.url, f"CREATE RETENTION POLICY {policy} ON {database} DURATION INF REPLICATION 1")
        write_lines(influxd.url, database, iter(points("pumps", [NEWEST * SECOND])))
    write_lines(influxd.url, database, iter(lines), policy=policy)
    target = Target(name="t", engine="influxdb1", url=influxd.url, databases=(database,))
    profile = collected(target)
    assert profile.gaps == ()
    return profile, [(rule.code, finding) for rule, finding in evaluate(profile).findings()]


def test_source_that_all_of_them_have_in_common(influxd: Influxd) -> None:
    """Two measurements, and one collector: the tag that has other values, too, and only one in these points."""

    def written(name: str, site: str, factor: int) -> list[str]:
        times = ((NEWEST - n * 600) * factor for n in range(300))
        return [f"{name},site={site},rack=r{n % 3},env=prod v={n} {time}" for n, time in enumerate(times)]

    wrong = [line for name in ("inlet", "outlet") for line in written(name, "frankfurt", 1)]
    right = [line for name in ("inlet", "outlet") for line in written(name, "london", SECOND)]
    _, found = audited(influxd, *wrong, *right)
    both = [one for code, one in found if code == "FLD002"]
    assert len(both) == 2
    for finding in both:
        assert finding.message.startswith(
            "300 points, all with the same site (frankfurt), are, unlike all others, in January 1970: "
        )
        assert finding.since is not None
        assert finding.since.isoformat() == "2026-03-29"
    # Without others, no source stands out.
    _, found = audited(influxd, *wrong)
    assert not any("all with" in one.message for _, one in found)


@pytest.mark.costly
@pytest.mark.parametrize("setting", LAST)
@pytest.mark.parametrize("policy", ["", "raw"])
def test_measurement_whose_writer_names_no_unit(influxd: Influxd, setting: str, policy: str) -> None:
    step = max(LAST[setting] // NEWEST, 1) * 60
    wrong = points("wells", (LAST[setting] - n * step for n in range(500)))
    told = "2026-03-31" if setting == "precision=s" else "2026-03-31 05:55 UTC"
    beside = points("gauges", ((NEWEST - n * 60) * SECOND for n in range(50)))
    profile, found = audited(influxd, *wrong, *beside, policy=policy)
    (finding,) = (one for _, one in found if one.severity is not Severity.NOTE)
    (wells,) = (m for m in profile.measurements if m.name == "wells")
    assert finding.subject == subject_of(wells)
    assert finding.severity is Severity.WARNING
    assert finding.message.startswith("All its 500 points are in January 1970: ")
    assert finding.message.endswith(f"the newest is {told}.")
    assert f"`{setting}`" in finding.fix
    (deletion,) = re.findall("then delete the 500 points in January 1970: `([^`]*)`", finding.fix)
    database = wells.database.partition("/")[0]
    influxql(influxd.url, deletion, db=database)
    left = collected(Target(name="t", engine="influxdb1", url=influxd.url, databases=(database,)))
    assert {m.name for m in left.measurements} == {m.name for m in profile.measurements} - {"wells"}
    # The retention of their policy would delete them, and nobody stopped writing them.
    (of_retention,) = (one for code, one in found if code == "RET001" and one.subject.database == wells.database)
    assert of_retention.changes == ()
    assert "Set no duration yet: the times of wells are in 1970 by mistake" in of_retention.fix
    assert not any("still stored" in one.label for one in of_retention.evidence)


def test_second_writer_with_another_unit(influxd: Influxd) -> None:
    right = points("wells", ((NEWEST - n * 60) * SECOND for n in range(900)))
    wrong = points("wells", ((NEWEST - n * 60) * 1_000_000 for n in range(40)))
    profile, found = audited(influxd, *right, *wrong)
    (finding,) = (one for code, one in found if code == "FLD002")
    assert finding.message.startswith("40 points are, unlike all others, in January 1970: microseconds were written")
    (wells,) = profile.measurements
    assert wells.rows is not None
    assert wells.rows.value == 900


def test_all_other_points_are_older_than_the_window(influxd: Influxd) -> None:
    right = points("wells", ((NEWEST - YEAR - n * 60) * SECOND for n in range(100)))
    wrong = points("wells", ((NEWEST - n * 60) * 1_000_000 for n in range(40)))
    beside = points("gauges", ((NEWEST - n * 60) * SECOND for n in range(50)))
    _, found = audited(influxd, *right, *wrong, *beside)
    (finding,) = (one for code, one in found if code == "FLD002")
    assert finding.message.startswith("40 points are, unlike all others, in January 1970: ")


@pytest.mark.parametrize(
    ("name", "times"),
    [
        # Rainfall since 1950, by day.
        ("rainfall", [n * 86_400 * SECOND for n in range(-20 * 365, 56 * 365, 3)]),
        # By the hour since 1970.
        ("rainfall", [n * 3_600 * SECOND for n in range(10_000)]),
        # No time is known.
        ("wells", [0, *((NEWEST - n) * SECOND for n in range(100))]),
        ("wells", [0]),
        # It ended.
        ("wells", [(NEWEST - 3 * YEAR - n) * SECOND for n in range(100)]),
    ],
    ids=["history before 1970", "history from 1970 on", "no time beside times", "no time", "ended"],
)
def test_times_that_are_meant(influxd: Influxd, name: str, times: list[int]) -> None:
    beside = points("gauges", ((NEWEST - n * 60) * SECOND for n in range(50)))
    profile, found = audited(influxd, *points(name, times), *beside)
    assert [m.misdated for m in profile.measurements] == [None, None]
    assert all(one.severity is Severity.NOTE for _, one in found)
