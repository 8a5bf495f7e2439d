"""RET001: data kept forever."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from tests.builders import DAY, a_count, a_measurement, a_place, a_profile
from tests.databases import Greptime
from tests.engines.timestream.proposals import arguments, commands
from tests.engines.traits import SPEAK_INFLUXQL
from tests.rules.cases import Case, dataset, history_of, hosts, run_rule, table, with_steps
from tsaudit.engines.registry import ENGINES
from tsaudit.model.figures import FOREVER, Forever, Subject
from tsaudit.model.finding import Finding, Outcome
from tsaudit.model.profile import Database, Profile
from tsaudit.model.rows import MeasureName, MeasureNames
from tsaudit.model.storage import Partitioning, Retention, Storage
from tsaudit.model.timeline import Point, Timeline
from tsaudit.rule import subject_of
from tsaudit.rules.retention.unbounded_retention import unbounded_retention as rule

GROWING = tuple(1.1 ** (i - 40) for i in range(40))
FLAT = (1.0,) * 40
LONG = timedelta(days=3650)

TABLES = frozenset({"postgresql", "greptimedb"})
"""Where each table has a lifetime, or none can be set."""


def bytes_of(profile: Profile, factors: Sequence[float], today: float = 1e9) -> Timeline:
    """Days on which every table held `factors` of what it holds today, or of `today`."""
    points: dict[tuple[str, Subject], tuple[Point, ...]] = {}
    for m in profile.measurements:
        held = m.storage.data_bytes if m.storage and m.storage.data_bytes else today
        days = [DAY - timedelta(days=len(factors) - i) for i in range(len(factors))]
        points["data_bytes", subject_of(m)] = tuple(Point(d, held * f) for d, f in zip(days, factors, strict=True))
    return Timeline(points=points)


CASES = (
    Case(
        breaks=dataset(table("raw", hosts(120))),
        keeps=dataset(table("raw", hosts(120)), retention=LONG),
        subject=Subject(""),
        engines=SPEAK_INFLUXQL,  # that count the series of a database
        history=lambda profile: history_of(profile, GROWING),
        quiet_history=lambda profile: history_of(profile, GROWING),
    ),
    Case(
        breaks=dataset(table("raw", hosts(3))),
        keeps=dataset(table("raw", hosts(3)), retention=LONG),
        subject=Subject(""),
        engines=rule.engines - TABLES,
    ),
    Case(
        breaks=dataset(table("raw", hosts(3))),
        keeps=dataset(table("raw", hosts(3))),
        subject=Subject("", "raw"),
        engines=frozenset({"postgresql"}),
        history=lambda profile: bytes_of(profile, GROWING),
        quiet_history=lambda profile: bytes_of(profile, FLAT),
    ),
    Case(
        breaks=dataset(table("raw", hosts(3))),
        keeps=dataset(table("raw", hosts(3), greptime=Greptime(options={"ttl": "365days"}))),
        subject=Subject("", "raw"),
        engines=frozenset({"greptimedb"}),
    ),
)


def _profile(duration: int | Forever = FOREVER, series: int = 2000, rows: tuple[int, ...] = (1000,)) -> Profile:
    policies = (Retention("autogen", duration, 604_800, default=True), Retention("other", FOREVER, None, default=False))
    measurements = [a_measurement(f"m{i}", rows=a_count(n)) for i, n in enumerate(rows)]
    database = Database("main", a_count(series), policies)
    return a_profile(*measurements, engine="influxdb1", databases=(database,))


def test_information_when_nothing_grows() -> None:
    profile = _profile()
    for timeline in (None, history_of(profile, FLAT)):
        (finding,) = run_rule(rule, profile, timeline=timeline).findings
        assert finding.impact is None
    schema = ENGINES["influxdb1"].advice()(a_place(profile, "main", None), finding.changes).schema()
    assert schema is not None
    assert 'ALTER RETENTION POLICY "autogen" ON "main" DURATION 52w SHARD DURATION 7d' in schema.text


def test_series_that_grow_are_named() -> None:
    profile = _profile()
    (finding,) = run_rule(rule, profile, timeline=history_of(profile, GROWING)).findings
    assert finding.impact is None
    assert finding.baseline is not None
    assert finding.baseline < 2000


def test_silence_when_the_default_policy_ends() -> None:
    assert run_rule(rule, _profile(86_400)).outcome is Outcome.PASS


def _table(policy: str, kept: int | Forever = FOREVER, held: int | None = 1_000_000_000, **changes: Any) -> Profile:
    settings = {"retention": Retention(policy, kept, None, default=True), "storage": Storage(held, None)} | changes
    return a_profile(a_measurement("raw", **settings), engine="postgresql")


def _steps(finding: Finding, profile: Profile) -> str:
    """What the plan says of the finding's changes."""
    (measurement,) = profile.measurements
    advice = ENGINES[profile.engine].advice()(a_place(profile, measurement.database, measurement), finding.changes)
    steps = [step for step in (advice.schema(), advice.stored()) if step is not None]
    return "\n".join(f"{step.words}\n{step.text}" for step in steps)


def test_table_without_a_policy_when_it_could_have_one() -> None:
    profile = _table("drop_after")
    (finding,) = run_rule(rule, profile, timeline=bytes_of(profile, FLAT)).findings
    assert (finding.impact, finding.message) == (None, "Rows never expire.")
    assert "SELECT add_retention_policy('\"main\".\"raw\"', drop_after => INTERVAL '365 days');" in _steps(
        finding, profile
    )
    (finding,) = run_rule(rule, profile, timeline=bytes_of(profile, GROWING)).findings
    assert finding.impact is None
    assert "while data grew from" in finding.message
    assert "to 1 GB." in finding.message
    assert run_rule(rule, _table("drop_after", 86_400)).outcome is Outcome.PASS


def test_table_of_an_engine_without_policies_when_it_grows() -> None:
    profile = _table("")
    assert run_rule(rule, profile, timeline=bytes_of(profile, FLAT)).outcome is Outcome.PASS
    (finding,) = run_rule(rule, profile, timeline=bytes_of(profile, GROWING)).findings
    assert finding.impact is None
    assert 'DELETE FROM "main"."raw" WHERE "time" < now()' in _steps(finding, profile)
    parts = _table("", partitioning=Partitioning(("time",), 3, ()))
    (finding,) = run_rule(rule, parts, timeline=bytes_of(parts, GROWING)).findings
    assert "Detach and drop the partitions of raw that are older than 365 days" in finding.fix
    assert "DELETE" not in _steps(finding, parts)


def test_silence_when_bytes_or_retention_are_not_known() -> None:
    profile = _table("", held=None)
    assert run_rule(rule, profile, timeline=bytes_of(profile, GROWING)).outcome is Outcome.PASS
    profile = _table("", retention=None)
    assert run_rule(rule, profile, timeline=bytes_of(profile, GROWING)).outcome is Outcome.PASS


def _timestream(rows: int, *names: MeasureName) -> Profile:
    options = {"MemoryStoreRetentionPeriodInHours": "12", "MagneticStoreRetentionPeriodInDays": "73000"}
    found = MeasureNames(a_count(len(names)), names) if names else None
    kept, short = (a_measurement(n, rows=a_count(rows), options=options, measure_names=found) for n in ("raw", "sums"))
    policies = (Retention("raw", FOREVER, None, default=False), Retention("sums", 86_400, None, default=False))
    return a_profile(kept, short, engine="timestream", databases=(Database("main", None, policies),))


def test_table_that_is_paid_for_by_its_rows() -> None:
    (finding,) = run_rule(rule, _timestream(0)).findings
    assert (finding.impact, finding.message) == (None, "Table raw has no retention.")
    (finding,) = with_steps(rule, _timestream(1_000_000))
    assert finding.message == "Table raw has no retention, and 1,000,000 rows were written to it within the window."
    # The memory store is left as it is, though the API asks for both.
    (command,) = commands(finding.fix)
    assert arguments(command) == {
        "DatabaseName": "main",
        "TableName": "raw",
        "RetentionProperties": {"MemoryStoreRetentionPeriodInHours": 12, "MagneticStoreRetentionPeriodInDays": 365},
    }


@pytest.mark.parametrize(
    ("kind", "condition"),
    [
        ("timestamp with time zone", "\"time\" < now() - INTERVAL '365 days';"),
        ("text", "CAST(\"time\" AS TIMESTAMPTZ) < now() - INTERVAL '365 days';"),
        ("bigint", "\"time\" < extract(EPOCH FROM now() - INTERVAL '365 days')"),
    ],
)
def test_fix_goes_by_the_type_of_the_time(kind: str, condition: str) -> None:
    profile = _table("", time_type=kind)
    (finding,) = run_rule(rule, profile, timeline=bytes_of(profile, GROWING)).findings
    assert f'DELETE FROM "main"."raw" WHERE {condition}' in _steps(finding, profile)


def test_policy_goes_by_the_type_of_the_time() -> None:
    profile = _table("drop_after", time_type="bigint")
    (finding,) = run_rule(rule, profile).findings
    policy = "add_retention_policy('\"main\".\"raw\"', drop_after => BIGINT '31536000');"
    assert policy in _steps(finding, profile)


@pytest.mark.parametrize("a_day", [0.01, 0.03])
def test_growth_of_series_is_told(a_day: float) -> None:
    points = tuple(Point(DAY - timedelta(days=n), 20_000 * (1 + a_day) ** -n) for n in range(60, 0, -1))
    timeline = Timeline(points={("series", Subject("main")): points})
    (finding,) = run_rule(rule, _profile(series=20_000), timeline=timeline).findings
    assert "while series grew from" in finding.message
    assert finding.per_day == pytest.approx(20_000 * a_day, rel=0.2)
    uncounted = _profile()
    (database,) = uncounted.databases
    uncounted = dataclasses.replace(uncounted, databases=(dataclasses.replace(database, series=None),))
    (finding,) = run_rule(rule, uncounted, timeline=timeline).findings
    assert "grew" not in finding.message
