"""LAY011: scheduled queries without conditions that prune."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.builders import DAY, a_count, a_measurement, a_profile
from tests.engines.timestream.devops import devops, partitioned_by
from tests.rules.cases import Case, run_rule
from tsaudit.engines.timestream.rules.unpruned_query import unpruned_query as rule
from tsaudit.model.figures import Subject
from tsaudit.model.finding import Currency, Finding, Outcome, RuleResult, Severity
from tsaudit.model.rows import MeasureName, MeasureNames
from tsaudit.model.server import StoredQuery
from tsaudit.model.timeline import Point, Timeline

GB = 1_000_000_000
IN_TIME = "time BETWEEN @scheduled_runtime - 1h AND @scheduled_runtime"


def _scheduled(name: str, condition: str, state: str = "ENABLED") -> dict[str, Any]:
    return {
        "Arn": f"arn:aws:timestream:eu-central-1:123456789012:scheduled-query/{name}",
        "Name": name,
        "State": state,
        "QueryString": f'SELECT region, avg(cpu_user) FROM "shop"."devops" {condition} GROUP BY region',
        "LastRunSummary": {
            "ExecutionStats": {"CumulativeBytesScanned": 5_000_000, "BytesMetered": 10_000_000},
            "QueryInsightsResponse": {"QuerySpatialCoverage": {"Max": {"Value": 0.75}}},
        },
    }


def _devops(*queries: dict[str, Any]) -> Any:
    own = {"ScheduledQueries": list(queries)}
    return devops(hosts=4, instants=4, request_id=None, table=partitioned_by("instance_name"), account=own)


GOOD = _scheduled("hourly", f"WHERE {IN_TIME} AND measure_name = 'metrics' AND instance_name = 'i-1'")

CASES = (
    Case(
        breaks=_devops(GOOD, _scheduled("forever", "WHERE region = 'eu-west-1'")),
        keeps=_devops(GOOD, _scheduled("off", "", state="DISABLED")),
        subject=Subject("", "devops"),
        main_contributor="forever",
    ),
    Case(
        breaks=_devops(_scheduled("by_region", f"WHERE {IN_TIME} AND region = 'eu-west-1'")),
        keeps=_devops(GOOD),
        subject=Subject("", "devops"),
        main_contributor="by_region",
    ),
)


def _findings(*conditions: str, key: str = "", names: int = 2) -> tuple[Finding, ...]:
    queries = tuple(
        StoredQuery(f"q{i}", f"SELECT 1 FROM main.cpu {condition}", 1_000_000 * (i + 1), 0.5, 7200.0)
        for i, condition in enumerate(conditions)
    )
    found = MeasureNames(a_count(names), (MeasureName("metrics", "multi", ("host",)),))
    options = {"CompositePartitionKey": key} if key else {}
    profile = a_profile(
        a_measurement(options=options, measure_names=found), engine="timestream", stored_queries=queries
    )
    return run_rule(rule, profile).findings


def _forever(scanned: int | None, period_s: float | None = 3600.0, range_s: float | None = 7200.0) -> Finding:
    """The finding about a query without a condition on the time, beside one for which more is paid."""
    queries = (
        StoredQuery("forever", "SELECT 1 FROM main.cpu", scanned, 0.5, range_s, period_s),
        StoredQuery("other", f"SELECT 1 FROM main.mem WHERE {IN_TIME}", 40 * GB, 0.5, 3600.0, 3600.0),
    )
    (finding,) = run_rule(
        rule, a_profile(a_measurement(options={}), engine="timestream", stored_queries=queries)
    ).findings
    return finding


def test_cost_is_what_was_read_before() -> None:
    finding = _forever(20 * GB)
    assert finding.impact is not None
    assert finding.impact.currency is Currency.MONEY
    # A cent for each of 10 GB, 730 times a month: the other half of the two hours is new.
    assert finding.impact.now == pytest.approx(0.01 * 10 * 730)
    assert finding.impact.whole == pytest.approx(0.01 * (20 + 40) * 730)
    # Of thirty days, an hour.
    finding = _forever(20 * GB, range_s=None)
    assert finding.impact is not None
    assert finding.impact.now == pytest.approx(0.01 * 20 * 730 * (1 - 1 / 720))


@pytest.mark.parametrize(
    ("scanned", "period_s", "expected"),
    [
        (5 * GB, 3600.0, Severity.WARNING),
        # Once a day: half of 5 GB, 30 times, is less than a dollar.
        (5 * GB, 86_400.0, Severity.NOTE),
        # Much, and less than a twentieth of the bill.
        (4 * GB, 3600.0, Severity.NOTE),
    ],
)
def test_severity_follows_from_the_bill(scanned: int, period_s: float, expected: Severity) -> None:
    assert _forever(scanned, period_s, range_s=2 * period_s).severity is expected


@pytest.mark.parametrize(("scanned", "period_s"), [(None, 3600.0), (5 * GB, None), (5_000_000, 3600.0)])
def test_no_cost_when_it_is_not_reported_or_below_the_least_charge(scanned: int | None, period_s: float | None) -> None:
    finding = _forever(scanned, period_s)
    assert (finding.impact, finding.severity) == (None, Severity.NOTE)


def test_message_when_there_is_no_condition_on_the_time() -> None:
    (finding,) = _findings("", f"WHERE {IN_TIME} AND measure_name = 'x'")
    assert finding.main_contributor == "q0"
    assert finding.message == "q0 runs on it without a condition on the time: everything ever written is read."
    assert [e.value for e in finding.evidence] == [
        "filters by nothing; 1 MB read by the last run; up to 50% of the partitions; 2 hours of data",
        "filters by measure_name and time; 2 MB read by the last run; up to 50% of the partitions; 2 hours of data",
    ]


TRUNCATED = "WHERE date_trunc('day', time) = date_trunc('day', @scheduled_runtime) AND measure_name = 'x'"


def test_message_when_the_time_is_inside_a_function() -> None:
    (finding,) = _findings(TRUNCATED, f"WHERE {IN_TIME} AND measure_name = 'x'")
    said = "q0 runs on it with the time inside a function, which rules nothing out: everything ever written is read."
    assert finding.message == said
    (finding,) = _findings(TRUNCATED, "")
    assert finding.message.startswith("q1 runs on it without a condition on the time, and q0 runs on it with the time")


@pytest.mark.parametrize(
    ("before", "per_day"),
    [
        # Each day, half a GB more.
        ({3: 18.5, 2: 19.0, 1: 19.5}, 0.5),
        ({2: 19.0, 1: 19.5}, None),
        ({3: 18.5, 2: 19.4, 1: 19.5}, None),
        # A week is enough, however uneven.
        ({8: 16.0, 2: 19.9}, 0.5),
        ({8: 20.0, 1: 20.0}, 0.0),
    ],
)
def test_cost_grows_as_what_the_runs_read(before: dict[int, float], per_day: float | None) -> None:
    query = StoredQuery("forever", "SELECT 1 FROM main.cpu", 20 * GB, 0.5, None, 3600.0)
    profile = a_profile(a_measurement(options={}), engine="timestream", stored_queries=(query,))
    points = tuple(Point(DAY - timedelta(days=ago), gb * GB) for ago, gb in before.items())
    history = Timeline(points={("bytes_scanned", Subject("", "forever")): points})
    (finding,) = run_rule(rule, profile, timeline=history).findings
    assert finding.impact is not None
    # Of thirty days, an hour is needed.
    expected = None if per_day is None else pytest.approx(0.01 * per_day * 730 * (1 - 1 / 720))
    assert finding.impact.per_day == expected
    assert ("not known yet" in finding.consequence) is (per_day is None)


def test_note_when_nobody_asks_for_the_key() -> None:
    (finding,) = _findings(f"WHERE {IN_TIME} AND measure_name = 'x'", key="host")
    assert (finding.impact, finding.severity) == (None, Severity.NOTE)
    assert finding.message == "It is partitioned by host, which none of 1 scheduled query filters by."


def test_information_when_some_query_names_neither() -> None:
    (finding,) = _findings(f"WHERE {IN_TIME}", f"WHERE {IN_TIME} AND host = 'a'", key="host")
    assert (finding.severity, finding.message) == (
        Severity.NOTE,
        "q0 runs on it without a condition on host or measure_name.",
    )


def test_silence_when_there_is_nothing_to_prune_by() -> None:
    assert not _findings(f"WHERE {IN_TIME}", names=1)
    assert not _findings()
    assert run_rule(rule, a_profile(engine="timestream")).outcome is Outcome.PASS


def test_query_that_cannot_be_parsed_is_no_pass() -> None:
    def judged(*statements: str) -> RuleResult:
        queries = tuple(StoredQuery(f"q{i}", sql, None, None) for i, sql in enumerate(statements))
        return run_rule(rule, a_profile(a_measurement(), engine="timestream", stored_queries=queries))

    good, bad, odd = f"SELECT 1 FROM main.cpu WHERE {IN_TIME}", "SELECT 1 FROM main.cpu", "SELECT FROM WHERE"
    assert judged(good).outcome is Outcome.PASS
    alone = judged(good, odd)
    assert alone.outcome is Outcome.ERROR
    assert "q1: line 1, column" in alone.reason
    (finding,) = judged(bad, odd).findings
    assert [e.label for e in finding.evidence] == ["q0", "not evaluated"]
    assert finding.evidence[1].value.startswith("could not parse q1: line 1, column")
