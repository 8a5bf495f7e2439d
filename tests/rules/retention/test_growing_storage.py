"""RET002: data and indexes that outgrow their room."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from tests.builders import DAY, NOW, a_count, a_measurement, a_profile
from tests.engines.influxdb3.server import REAL
from tests.rules.cases import Case, dataset, hosts, run_rule, table
from tsaudit.config.harm import Harm
from tsaudit.evaluation import evaluate
from tsaudit.model.finding import Finding, Outcome, RuleResult
from tsaudit.model.profile import Database, DatabaseStorage, Gap, Measurement, Profile, Reason, Storage
from tsaudit.model.subject import Subject
from tsaudit.model.timeline import Point, Timeline, figures, stored_bytes
from tsaudit.rules.retention.growing_storage import growing_storage as rule

DAYS = 28
GB = 1_000_000_000
GROWING = tuple(0.5 + 0.5 * i / DAYS for i in range(DAYS))
FLAT = (1.0,) * DAYS


def held(profile: Profile, factors: Sequence[float]) -> Timeline:
    """Days on which all figures in bytes were `factors` of what they are today."""
    if REAL and profile.engine == "influxdb3" and not stored_bytes(profile):
        pytest.skip("the server keeps in its log what was just written")
    return Timeline(
        points={
            (f.name, f.subject): tuple(
                Point(DAY - timedelta(days=DAYS - i), f.value * factor) for i, factor in enumerate(factors)
            )
            for f in figures(profile)
            if f.name.endswith("_bytes")
        }
    )


CASES = (
    Case(
        breaks=dataset(table("raw", hosts(30), rows=50)),
        keeps=dataset(table("raw", hosts(30), rows=50)),
        subject=Subject(),
        whole_target=True,
        history=lambda profile: held(profile, GROWING),
        quiet_history=lambda profile: held(profile, FLAT),
        limits={"growing-storage.min_bytes": 1},
    ),
)


def a_table(name: str, data: int | None, index: int | None = 0) -> Measurement:
    return a_measurement(name, storage=Storage(data, index))


def _found(
    *tables: Measurement, factors: Sequence[float] = GROWING, max_bytes: int | None = None
) -> tuple[Finding, ...]:
    profile = a_profile(*tables, engine="postgresql")
    return _judged(profile, max_bytes, held(profile, factors)).findings


def _judged(profile: Profile, max_bytes: int | None, timeline: Timeline | None = None) -> RuleResult:
    (result,) = evaluate(profile, timeline, rules=[rule], harm=Harm(max_bytes=max_bytes)).results
    return result


def test_information_when_no_limit_is_set() -> None:
    (finding,) = _found(a_table("raw", 30 * GB, 10 * GB), a_table("small", 4 * GB))
    assert (finding.impact, finding.observed, finding.limit) == (None, 44 * GB, None)
    assert finding.message.startswith("Data and indexes take 44 GB, 22 GB on 2026-03-03; at this rate they double in ")
    assert finding.fix.startswith("Most of the increase is in main/raw:")
    assert [e.value for e in finding.evidence] == ["2", "20 GB, 91% of it", "2 GB, 9% of it"]
    assert not _found(a_table("raw", 10 * GB - 1))
    assert _found(a_table("raw", 10 * GB))
    assert not _found(a_table("raw", 40 * GB), factors=FLAT)


def test_severity_when_a_limit_is_near() -> None:
    # 28 days brought 20 of 40 GB: 5 GB a week.
    table = a_table("raw", 40 * GB)
    (finding,) = _found(table, max_bytes=45 * GB)
    assert finding.severity == "critical"
    assert finding.forecast is not None
    assert finding.forecast.days is not None
    assert 5 <= finding.forecast.days <= 9
    assert "; at this rate the limit of 45 GB is reached in about 7 days (80% range 5 to 14)." in finding.message
    (finding,) = _found(table, max_bytes=60 * GB)
    assert finding.severity == "warning"
    assert not _found(table, max_bytes=400 * GB)
    # Half full, and full in more than a quarter.
    (finding,) = _found(a_table("raw", 40 * GB), factors=FLAT, max_bytes=80 * GB)
    assert finding.severity == "note"


@pytest.mark.parametrize(
    ("room", "changes", "severity"),
    [
        # 40 GB in two days: 20 GB a day.
        (300, {"first_time": NOW - timedelta(days=2)}, "critical"),
        (340, {"first_time": NOW - timedelta(days=2)}, "warning"),
        (1_900, {"first_time": NOW - timedelta(days=2)}, ""),
        # The same size, of which a tenth came within the month; and nothing since ten days ago.
        (70, {"rows": a_count(100), "rows_total": a_count(1_000)}, "note"),
        (50, {"rows": a_count(100), "rows_total": a_count(1_000)}, "warning"),
        (300, {"last_time": NOW - timedelta(days=10)}, ""),
        (70, {"last_time": NOW - timedelta(days=10)}, "note"),
    ],
)
def test_the_first_day_goes_by_the_times_of_the_rows(room: int, changes: dict[str, Any], severity: str) -> None:
    storage = {"storage": Storage(40 * GB, 0)}
    found = _judged(a_profile(a_measurement("raw", **storage | changes), engine="postgresql"), room * GB).findings
    assert [one.severity for one in found] == ([severity] if severity else [])
    # Only the total is known.
    whole = a_profile(a_measurement("raw", **changes), engine="duckdb", storage=Storage(40 * GB, None))
    found = _judged(whole, room * GB).findings
    assert [one.severity for one in found] == ([severity] if severity else [])


def test_critical_when_the_limit_is_reached_without_growth() -> None:
    (finding,) = _found(a_table("raw", 40 * GB), factors=FLAT, max_bytes=40 * GB)
    assert finding.severity == "critical"
    assert finding.message.endswith("; the limit of 40 GB is reached.")
    assert finding.fix.startswith("Find the table that grows: give its rows a lifetime")
    (finding,) = _found(a_table("raw", 40 * GB), factors=FLAT, max_bytes=48 * GB)
    assert finding.severity == "warning"


def test_finding_when_there_is_no_history() -> None:
    profile = a_profile(a_table("raw", 40 * GB), engine="postgresql")
    assert run_rule(rule, profile).outcome is Outcome.PASS
    (finding,) = _judged(profile, GB).findings
    assert finding.message == "Data and indexes take 40 GB; the limit of 1 GB is reached."
    assert finding.since is None


def test_bytes_are_those_of_the_target_or_of_its_databases_where_the_engine_tells_no_more() -> None:
    tables = (a_measurement("raw", database="a"), a_measurement("raw", database="b"))
    kept = (DatabaseStorage(30 * GB, None, None, None), DatabaseStorage(10 * GB, 4 * GB, None, None))
    databases = tuple(Database(name, storage=storage) for name, storage in zip("ab", kept, strict=True))
    apart = a_profile(*tables, engine="postgresql", databases=databases)
    assert stored_bytes(apart) == 44 * GB
    (finding,) = run_rule(rule, apart, {}, held(apart, GROWING)).findings
    assert finding.fix.startswith("Most of the increase is in a: give its rows a lifetime")
    assert [(e.label, e.value) for e in finding.evidence][1:] == [
        ("added in a", "15 GB, 68% of it"),
        ("added in b", "7 GB, 32% of it"),
    ]
    whole = a_profile(*tables, engine="duckdb", databases=databases, storage=Storage(20 * GB, None))
    assert stored_bytes(whole) == 20 * GB
    (finding,) = run_rule(rule, whole, {}, held(whole, GROWING)).findings
    assert finding.message.startswith("Data and indexes take 20 GB, 10 GB on 2026-03-03")
    assert [e.label for e in finding.evidence] == ["tables"]
    unknown = a_profile(*tables, databases=(databases[0], Database("b")))
    assert stored_bytes(unknown) is None
    gap = Gap("measurements", Reason.DENIED, "denied", "b")
    assert stored_bytes(a_profile(tables[0], databases=(databases[0], Database("b")), gaps=(gap,))) is None


@pytest.mark.parametrize("product", sorted(name for name in rule.not_applicable if " " in name))
def test_products_that_tell_no_bytes(product: str) -> None:
    engine, edition = product.split(" ", 1)
    assert engine in rule.engines
    for version in (edition, f"{edition}, over HTTP"):
        result = run_rule(rule, a_profile(engine=engine, server_version=version))
        assert (result.outcome, result.reason) == (
            Outcome.NOT_APPLICABLE,
            f"does not apply to {product}: {rule.not_applicable[product]}",
        )
    assert run_rule(rule, a_profile(engine=engine, server_version="Core 3.6.0")).outcome is Outcome.PASS


def test_nothing_is_known_when_a_part_is_not() -> None:
    tables = (a_table("raw", 40 * GB), a_table("other", None))
    assert stored_bytes(a_profile(*tables)) is None
    assert stored_bytes(a_profile(*tables[:1])) == 40 * GB
    assert stored_bytes(a_profile(a_measurement())) is None
    assert not _found(*tables, max_bytes=GB)
