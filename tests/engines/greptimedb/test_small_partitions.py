"""STO003: partitions before one machine is too small."""

from __future__ import annotations

from typing import Any

from tests.builders import a_measurement, a_profile
from tests.databases import Greptime
from tests.rules.cases import Case, dataset, hosts, run_rule, table
from tsaudit.model.figures import Subject
from tsaudit.model.finding import Outcome, RuleResult, Severity
from tsaudit.model.storage import Partition, Partitioning, Storage
from tsaudit.rules.storage.partition_skew import partition_skew as rule

GB = 1_000_000_000
DIVIDED = Greptime(partition_by=("host",), partitions=("host < 'web-010'", "host >= 'web-010'"))

CASES = (
    Case(
        breaks=dataset(table("cpu", hosts(20), greptime=DIVIDED)),
        keeps=dataset(table("cpu", hosts(20))),
        subject=Subject("", "cpu"),
        engines=frozenset({"greptimedb"}),
    ),
    Case(
        breaks=dataset(table("cpu", hosts(20), greptime=DIVIDED)),
        keeps=dataset(
            table(
                "cpu",
                hosts(20),
                greptime=Greptime(
                    options={"table_data_model": "greptime_trace_v1"},
                    partition_by=DIVIDED.partition_by,
                    partitions=DIVIDED.partitions,
                ),
            )
        ),
        subject=Subject("", "cpu"),
        engines=frozenset({"greptimedb"}),
    ),
)


def _judge(
    held: int | None,
    *bytes_of: int | None,
    version: str = "0.17.2",
    **more: Any,
) -> RuleResult:
    parts = tuple(Partition(f"p{i}", f"host < '{i}'", None, size) for i, size in enumerate(bytes_of))
    cut = Partitioning(("host",), len(parts), parts)
    measurement = a_measurement("or'der", partitioning=cut, storage=Storage(held, None), **more)
    profile = a_profile(measurement, engine="greptimedb", server_version=version)
    return run_rule(rule, profile)


def test_finding_when_just_below_the_limit() -> None:
    assert _judge(10 * GB, 1, 1).outcome is Outcome.PASS
    (finding,) = _judge(10 * GB - 1, 1, 1).findings
    assert finding.message == "2 partitions for 10 GB of data; below 10 GB one is enough."
    assert (finding.observed, finding.severity) == (10 * GB, Severity.NOTE)
    assert finding.fix == (
        "Recreate or'der with no partitions: no ALTER TABLE does this. Leave them where fast growth is planned."
    )


def test_bytes_of_the_partitions_when_those_of_the_table_are_not_known() -> None:
    assert _judge(None, 1, 2).findings[0].observed == 3
    assert _judge(None, 1, None).outcome is Outcome.PASS


def test_silence_when_there_is_one_partition_or_the_server_divides_traces() -> None:
    assert _judge(1, 1).outcome is Outcome.PASS
    assert _judge(1, 1, 1, options={"table_data_model": "greptime_trace_v1"}).outcome is Outcome.PASS
    assert _judge(1, 1, 1, options={"engine": "metric"}).outcome is Outcome.PASS
    assert run_rule(rule, a_profile(a_measurement(), engine="greptimedb")).outcome is Outcome.PASS
