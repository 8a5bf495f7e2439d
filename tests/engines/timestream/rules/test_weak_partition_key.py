"""STO015: customer-defined partition keys."""

from __future__ import annotations

import dataclasses
from typing import Any

from tests.builders import (
    PASSING,
    RECURRING,
    a_count,
    a_measurement,
    a_profile,
    a_ratio,
    a_tag,
    a_turnover,
    values_over_time,
)
from tests.engines.timestream.devops import devops, partitioned_by
from tests.engines.timestream.proposals import arguments, commands
from tests.rules.cases import Case, run_rule, with_steps
from tsaudit.engines.timestream.rules.weak_partition_key import weak_partition_key as rule
from tsaudit.engines.timestream.tables import best_key
from tsaudit.model.figures import Subject
from tsaudit.model.finding import Currency, Finding, Outcome, Severity
from tsaudit.model.profile import Profile
from tsaudit.model.rows import MeasureName, MeasureNames

FEW = {"weak-partition-key.min_values": 10}

CASES = (
    Case(
        breaks=devops(table=partitioned_by("region")),
        keeps=devops(table=partitioned_by("instance_name")),
        subject=Subject("", "devops"),
        main_contributor="region",
        limits=FEW,
    ),
    Case(
        breaks=devops(table=partitioned_by("process_name", "OPTIONAL")),
        keeps=devops(table=partitioned_by("instance_name")),
        subject=Subject("", "devops"),
        main_contributor="process_name",
        limits={"weak-partition-key.min_values": 3},
    ),
    Case(
        breaks=devops("one_name"),
        keeps=devops("multi"),
        subject=Subject("", "devops"),
        limits=FEW,
    ),
)


def _profile(key: str | None = "host", enforcement: str = "REQUIRED", rows: int = 10_000, **changes: Any) -> Profile:
    options = {"CompositePartitionKey": key, "EnforcementInRecord": enforcement} if key else {}
    tags, values = changes.pop("tags", None), changes.pop("values", 200)
    host = dataclasses.replace(a_tag("host", **changes), values=None if values is None else a_count(values))
    names = MeasureNames(a_count(1), (MeasureName("metrics", "multi", ("host",), rows),))
    measurement = a_measurement(
        tags=tags or (host, a_tag("device", 500)), options=options, rows=a_count(rows), measure_names=names
    )
    return a_profile(measurement, engine="timestream")


def _finding(profile: Profile, **limits: float) -> Finding:
    (finding,) = with_steps(rule, profile, limits)
    return finding


def test_silence_when_the_key_is_enforced_and_selective() -> None:
    assert run_rule(rule, _profile()).outcome is Outcome.PASS
    assert run_rule(rule, _profile(values=100)).outcome is Outcome.PASS


def test_note_when_the_key_has_few_values() -> None:
    finding = _finding(_profile(values=99))
    assert finding.message == "The partition key host has only 99 values, device has 500."
    assert (finding.impact, finding.severity) == (None, Severity.NOTE)
    assert run_rule(rule, _profile(values=99), {"min_values": 99}).outcome is Outcome.PASS


def test_severity_when_the_key_is_optional() -> None:
    finding = _finding(_profile(enforcement="OPTIONAL"))
    assert (finding.severity, finding.message) == (
        Severity.NOTE,
        "The partition key host is not enforced: all records have it so far.",
    )
    finding = _finding(_profile(enforcement="OPTIONAL", absent=a_ratio(0.25)))
    assert finding.impact is not None
    assert finding.impact.currency is Currency.MECHANISM
    assert (finding.severity, finding.message) == (
        Severity.WARNING,
        "The partition key host is not enforced: 25% of the series lack it.",
    )


def test_note_when_a_table_of_many_sources_has_none() -> None:
    """A fleet of meters reports twice a day: the rows are few, and the key cannot be set later."""
    for meters, outcome in ((99, Outcome.PASS), (100, Outcome.FAIL)):
        fleet = _profile(None, rows=2 * meters, tags=(a_tag("meter_id", meters), a_tag("tariff", 3)))
        assert run_rule(rule, fleet).outcome is outcome
    finding = _finding(fleet)
    assert (finding.impact, finding.severity) == (None, Severity.NOTE)
    assert "100 values of meter_id" in finding.message
    assert run_rule(rule, _profile(None, rows=1_000_000), {"min_values": 501}).outcome is Outcome.PASS
    events = _profile(None, rows=80_000, tags=(a_tag("request_id", 40_000), a_tag("tariff", 3)))
    assert run_rule(rule, events).outcome is Outcome.PASS


def test_silence_when_the_key_was_not_measured() -> None:
    assert run_rule(rule, _profile("gone", rows=0)).outcome is Outcome.PASS
    assert run_rule(rule, _profile(values=None)).outcome is Outcome.PASS
    bare = a_measurement(tags=(), options={})
    assert run_rule(rule, a_profile(bare, engine="timestream")).outcome is Outcome.PASS


def test_warning_when_no_record_has_the_key() -> None:
    finding = _finding(_profile("gone", "OPTIONAL"))
    assert (finding.severity, finding.message) == (
        Severity.WARNING,
        "No record has the partition key gone as a dimension.",
    )


def test_key_when_one_is_proposed() -> None:
    tags = (a_tag("host", 99), a_tag("device", 500), a_tag("request_id", 9_000))
    finding = _finding(_profile(values=99, tags=tags))
    # Not the id of which each row has another value.
    assert finding.message.endswith("device has 500.")
    assert "Create another table that is partitioned by" in finding.fix
    # Nor what leaks, however many rows each value has so far.
    leak = a_tag("container", 700, over_time=values_over_time("unbounded"))
    ended = a_tag("rack", 600, over_time=values_over_time("bounded"))
    finding = _finding(_profile(values=99, tags=(*tags, leak)))
    assert finding.message.endswith("device has 500.")
    assert _finding(_profile(values=99, tags=(*tags, leak, ended))).message.endswith("rack has 600.")


def test_command_when_the_key_is_to_be_enforced() -> None:
    finding = _finding(_profile(enforcement="OPTIONAL", absent=a_ratio(0.25)))
    key = {"Type": "DIMENSION", "Name": "host", "EnforcementInRecord": "REQUIRED"}
    assert arguments(*commands(finding.fix)) == {
        "DatabaseName": "main",
        "TableName": "cpu",
        "Schema": {"CompositePartitionKey": [key]},
    }


def test_dimension_that_is_replaced_is_not_recommended() -> None:
    """A session has many rows, and is gone an hour later."""
    region, host = a_tag("region", 3, ("eu", "us")), a_tag("host", 150, ("web-1", "web-2"), turnover=RECURRING)
    for session in (
        a_tag("session", 5_000, ("s1", "s2"), turnover=PASSING),
        a_tag("session", 5_000, tuple(f"{i * 7919:08x}-1f2e-4a11-9c1d-{i * 104729:012x}" for i in range(9))),
    ):
        measurement = a_measurement(tags=(region, host, session), rows=a_count(1_000_000))
        assert best_key(measurement) is host
    lasting = a_tag("session", 5_000, ("s1", "s2"), turnover=a_turnover(100, 60, 100))
    assert best_key(a_measurement(tags=(region, host, lasting), rows=a_count(1_000_000))) is lasting
