"""STO003: partitions that do not divide the work."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import a_measurement, a_profile
from tests.databases import Dataset, Greptime
from tests.rules.cases import Case, dataset, hosts, planned, run_rule, table
from tsaudit.model.finding import Outcome, Severity
from tsaudit.model.profile import MAX_PARTITIONS, Partition, Partitioning, Profile
from tsaudit.model.subject import Subject
from tsaudit.rules.storage.partition_skew import partition_skew as rule

POSTGRESQL = frozenset({"postgresql"})
GREPTIMEDB = frozenset({"greptimedb"})
MONTHS = [f"FOR VALUES FROM ('2026-0{m}-01') TO ('2026-0{m + 1}-01')" for m in (1, 2, 3, 4)]
GB = 1_000_000_000


def _hashed(*hosts_of: str) -> Dataset:
    """A table by hash in four; the hash of the keys decides."""
    bounds = [f"FOR VALUES WITH (MODULUS 4, REMAINDER {i})" for i in range(4)]
    series: list[dict[str, str | None]] = [{"dc": dc} for dc in hosts_of]
    return dataset(table("cpu", series, rows=2000, partition_by="HASH (dc)", partitions=bounds, key=False))


def _monthly(*bounds: str) -> Dataset:
    return dataset(table("cpu", hosts(20), partition_by="RANGE (time)", partitions=bounds))


def _bounded(column: str, *bounds: str) -> Dataset:
    return dataset(table("cpu", hosts(20), greptime=Greptime(partition_by=(column,), partitions=bounds)))


CASES = (
    Case(
        breaks=_hashed("eu"),
        keeps=_hashed(*(f"dc-{i}" for i in range(32))),
        subject=Subject("", "cpu"),
        engines=POSTGRESQL,
        limits={"partition-skew.min_bytes": 10_000, "partition-skew.max_skew": 3},
    ),
    Case(
        breaks=_monthly(*MONTHS[:2], "DEFAULT"),
        keeps=_monthly(*MONTHS, "DEFAULT"),
        subject=Subject("", "cpu"),
        engines=POSTGRESQL,
    ),
    Case(
        breaks=_monthly(*MONTHS),
        keeps=_monthly(*MONTHS[1:]),
        subject=Subject("", "cpu"),
        engines=POSTGRESQL,
        limits={"partition-skew.max_empty": 2},
    ),
    Case(
        breaks=_bounded("time", "time < '2026-03-31 05:45:00'", "time >= '2026-03-31 05:45:00'"),
        keeps=_bounded("host", "host < 'web-010'", "host >= 'web-010'"),
        subject=Subject("", "cpu"),
        engines=GREPTIMEDB,
    ),
    Case(
        breaks=_bounded("host", "host < 'web-001'", "host >= 'web-001'"),
        keeps=_bounded("host", "host < 'web-010'", "host >= 'web-010'"),
        subject=Subject("", "cpu"),
        engines=GREPTIMEDB,
        limits={"partition-skew.min_bytes": 1},
    ),
)


def a_partition(name: str, bytes_: int | None = None, rows: int | None = None, bounds: str = "") -> Partition:
    return Partition(name, bounds, rows, bytes_)


def _profile(*parts: Partition, key: tuple[str, ...] = ("dc",), count: int | None = None, **changes: Any) -> Profile:
    cut = Partitioning(key, len(parts) if count is None else count, parts)
    return a_profile(a_measurement(partitioning=cut), **{"engine": "postgresql"} | changes)


def _message(*parts: Partition, **settings: Any) -> str:
    findings = run_rule(rule, _profile(*parts, **settings)).findings
    return findings[0].message if findings else ""


def test_skew_when_at_the_limit_and_over_it() -> None:
    even = [a_partition(f"p{i}", GB, 10) for i in range(3)]
    assert not _message(a_partition("big", 4 * GB), *even)
    (finding,) = run_rule(rule, _profile(a_partition("big", 4 * GB + 10_000_000, 1_000), *even)).findings
    assert finding.message == "Partition big has 4.01 GB, 4.01 times the median of the others."
    assert (finding.severity, finding.observed) == (Severity.WARNING, 4.01)
    assert finding.fix == "Divide by a column with many values of about the same weight instead of dc."
    assert {e.label: e.value for e in finding.evidence} == {
        "partitions": "4, by dc",
        "largest": "big, 1,000 rows, 4.01 GB",
    }


def test_skew_when_bytes_are_not_known() -> None:
    assert _message(a_partition("a", None, 5_000_000), a_partition("b", None, 1_000_000)).startswith(
        "Partition a has 5,000,000 rows, 5 times"
    )
    assert not _message(a_partition("a", None, 5_000_000), a_partition("b"))
    assert not _message(a_partition("a"), a_partition("b"))


@pytest.mark.parametrize(
    ("largest", "severity"),
    [
        (a_partition("a", 100_000_000), Severity.WARNING),
        (a_partition("a", 99_999_999), Severity.NOTE),
        (a_partition("a", None, 1_000_000), Severity.WARNING),
        (a_partition("a", None, 999_999), Severity.NOTE),
        (a_partition("a", None, 10_000), Severity.NOTE),
    ],
)
def test_skew_is_information_when_partitions_are_small(largest: Partition, severity: Severity) -> None:
    known = a_partition("b", 1) if largest.bytes else a_partition("b", None, 1)
    (finding,) = run_rule(rule, _profile(largest, known)).findings
    assert finding.severity is severity


def test_silence_when_partitions_are_tiny_or_alone() -> None:
    assert not _message(a_partition("a", 999_999), a_partition("b", 1))
    assert not _message(a_partition("a", None, 9_999), a_partition("b", None, 1))
    assert not _message(a_partition("a", 100 * GB))


@pytest.mark.parametrize("key", [("time",), ("time", "dc"), ("date_trunc('day', \"time\")",), ('"time"',)])
def test_silence_when_partitions_are_by_time(key: tuple[str, ...]) -> None:
    assert not _message(a_partition("a", 100 * GB), a_partition("b", GB), key=key)


def test_silence_when_partitions_are_lists_of_values() -> None:
    parts = [a_partition(f"p{n}", n * n * GB, n, f"FOR VALUES IN ('{n}')") for n in (9, 2, 1)]
    assert not _message(*parts)


def test_default_partition_when_it_collects_rows() -> None:
    def parts(rows: int) -> list[Partition]:
        return [a_partition("rest", 1, rows, "DEFAULT"), a_partition("a", 1, 50), a_partition("b", 1, 50)]

    assert not _message(*parts(100))
    assert _message(*parts(101)) == "The default partition rest contains 101 rows, 50% of all."
    assert not _message(*parts(0), key=("time",))
    assert _message(*parts(1), key=("time",)).startswith("The default partition rest contains 1 row, 1% of all.")
    assert not _message(a_partition("rest", 10, None, "DEFAULT"), a_partition("a", 1, 1), key=("time",))


def test_empty_partitions_when_they_pile_up() -> None:
    full, empty = a_partition("f", GB, 10), a_partition("e", 8_192, 0)
    assert not _message(full, *[empty] * 50, key=("time",))
    assert _message(full, *[empty] * 51, key=("time",)) == "51 partitions are empty."
    unread = [a_partition("e", 8_192, None)] * 51
    assert _message(full, *unread, key=("time",)) == "51 partitions are empty."
    assert not _message(full, *[a_partition("e")] * 51, key=("time",))
    assert _message(full, *[empty] * (MAX_PARTITIONS - 1), count=300, key=("time",)) == "299 partitions are empty."
    assert not _message(*[full] * MAX_PARTITIONS, count=300, key=("time",))
    rest = a_partition("rest", 8_192, 0, "DEFAULT")
    assert not _message(full, *[empty] * 50, rest, key=("time",)), "that one should be empty"
    assert _message(full, *[empty] * 98, rest, count=300, key=("time",)) == "298 partitions are empty."


def test_too_many_partitions() -> None:
    full = [a_partition("f", GB, 10)] * MAX_PARTITIONS
    assert not _message(*full, count=1_000)
    assert _message(*full, count=1_001) == "1,001 partitions, more than the recommended 1,000."


def test_all_in_one_finding_when_several_are_wrong() -> None:
    parts = [a_partition("rest", 1, 500, "DEFAULT"), a_partition("a", 5 * GB, 5), a_partition("b", GB, 5)]
    (finding,) = run_rule(rule, _profile(*parts), {"max_partitions": 2}).findings
    assert finding.message == (
        "The default partition rest contains 500 rows, 98% of all; partition a has 5 GB, 5 times the median of the "
        "others; 3 partitions, more than the recommended 2."
    )
    assert (finding.observed, finding.unit) == (500, "rows")


def test_silence_when_there_are_no_partitions() -> None:
    assert run_rule(rule, a_profile(a_measurement(), engine="postgresql")).outcome is Outcome.PASS
    assert not _message(count=0)


def test_partitions_by_a_field_when_the_table_deduplicates() -> None:
    def message(options: dict[str, str] | None, *key: str) -> str:
        cut = Partitioning(key, 2, (a_partition("a", GB), a_partition("b", GB)))
        measurement = a_measurement(partitioning=cut, options=options)
        found = run_rule(rule, a_profile(measurement, engine="greptimedb")).findings
        return found[0].message if found else ""

    assert message({}, "usage") == (
        "Partitions are by usage, outside the primary key: two rows with the same key and time may both stay."
    )
    assert message({}, "host", "usage", "idle").startswith("Partitions are by usage and idle, outside")
    assert not message({}, "host")
    assert not message({"append_mode": "true"}, "usage")
    assert not message(None, "usage")
    assert message({"append_mode": "false"}, "time").startswith("Partitions are by time (time)")


@pytest.mark.parametrize("version", ["1.1.4", "0.17.2"])
def test_statement_when_partitions_are_by_time(version: str) -> None:
    parts = (Partition("p1", "host >= 'm'", None, 9 * GB), Partition("p0", "host < 'm'", None, GB))
    measurement = a_measurement(partitioning=Partitioning(("time",), 2, parts), options={})
    text = planned(rule, a_profile(measurement, engine="greptimedb", server_version=version))
    # The rule that is wrong is not copied.
    assert "PARTITION" not in text.split("CREATE TABLE")[1]


def test_no_statement_where_somebody_has_to_choose_the_column() -> None:
    parts = (Partition("p1", "host >= 'm'", None, 9 * GB), Partition("p0", "host < 'm'", None, GB))
    measurement = a_measurement(partitioning=Partitioning(("host",), 2, parts), options={})
    (finding,) = run_rule(rule, a_profile(measurement, engine="greptimedb")).findings
    assert (finding.changes, finding.fix) == (
        (),
        "Divide by a column with many values of about the same weight instead of host.",
    )


def test_statement_when_the_table_is_of_the_metric_engine() -> None:
    parts = (Partition("p1", "time >= 5", None, 9 * GB), Partition("p0", "time < 5", None, GB))
    measurement = a_measurement(partitioning=Partitioning(("time",), 2, parts), options={"engine": "metric"})
    text = planned(rule, a_profile(measurement, engine="greptimedb", server_version="1.1.4"))
    assert "name it where metrics are sent (physical_table=..." in text
    assert "CREATE TABLE" not in text
