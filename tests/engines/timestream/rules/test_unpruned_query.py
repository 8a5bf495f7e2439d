"""LAY011: scheduled queries without conditions that prune."""

from __future__ import annotations

from typing import Any

from tests.builders import a_count, a_measurement, a_profile
from tests.engines.timestream.devops import devops, partitioned_by
from tests.rules.cases import Case, run_rule
from tsaudit.engines.timestream.rules.unpruned_query import unpruned_query as rule
from tsaudit.model.finding import Finding, Outcome, RuleResult, Severity
from tsaudit.model.profile import MeasureName, MeasureNames, StoredQuery
from tsaudit.model.subject import Subject

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


def test_warning_when_there_is_no_condition_on_the_time() -> None:
    (finding,) = _findings("", f"WHERE {IN_TIME} AND measure_name = 'x'")
    assert (finding.severity, finding.main_contributor) == (Severity.WARNING, "q0")
    assert finding.message == "q0 runs on it without a condition on the time: everything ever written is read."
    assert [e.value for e in finding.evidence] == [
        "filters by nothing; 1 MB read by the last run; up to 50% of the partitions; 2 hours of data",
        "filters by measure_name and time; 2 MB read by the last run; up to 50% of the partitions; 2 hours of data",
    ]


def test_warning_when_nobody_asks_for_the_key() -> None:
    (finding,) = _findings(f"WHERE {IN_TIME} AND measure_name = 'x'", key="host")
    assert finding.severity is Severity.WARNING
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
