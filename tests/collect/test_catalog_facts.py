"""What the catalogue's rows on storage make of a measurement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.builders import NOW, a_measurement
from tsaudit.collect.catalog_facts import describe_storage
from tsaudit.collect.draft import Draft
from tsaudit.model.profile import Measurement
from tsaudit.model.storage import MAX_PARTITIONS, Index, Partition, Storage


def member(index: str, position: int, column: str | None, **changes: Any) -> dict[str, Any]:
    return {
        "measurement": "cpu",
        "index": index,
        "kind": "btree",
        "position": position,
        "column": column,
        "is_unique": False,
        "is_constraint": False,
        "is_partial": False,
        "size_bytes": 8192,
        "scans": 3,
        "counted_since": datetime(2026, 3, 1),  # noqa: DTZ001 -- as a driver returns it, without a zone
    } | changes


def described(
    drafts: Sequence[Draft], answers: Mapping[str, Sequence[dict[str, Any]]], now: datetime = NOW
) -> list[Measurement]:
    for fact, rows in answers.items():
        drafts = describe_storage(drafts, fact, rows, now)
    return [draft.measurement for draft in drafts]


DRAFTS = (Draft.new("main", "cpu"), Draft.new("main", "mem"))


def partition(name: str, rows: int | None, kept: int | None, key: str = "host, region") -> dict[str, Any]:
    return {"measurement": "cpu", "key": key, "partition": name, "bounds": "", "rows": rows, "bytes": kept}


def test_indexes_when_rows_come_in_any_order() -> None:
    cpu, mem = described(DRAFTS, {"indexes": [member("b", 2, None), member("a", 1, "host"), member("b", 1, "time")]})
    since = datetime(2026, 3, 1, tzinfo=UTC)
    assert cpu.indexes == (
        Index("a", "btree", ("host",), False, False, False, 8192, 3, since, NOW),
        Index("b", "btree", ("time", None), False, False, False, 8192, 3, since, NOW),
    )
    assert mem.indexes == (), "asked for, and has none"


def test_uses_are_observed_from_audit_to_audit() -> None:
    since: list[datetime | None] = []
    draft = DRAFTS[0]
    for day, scans in enumerate((3, 3, 3, 4, 0, 0, None)):
        now = NOW + timedelta(days=day)
        (found,) = described([draft], {"indexes": [member("a", 1, "host", scans=scans)]}, now)
        assert found.indexes is not None
        since.append(found.indexes[0].scans_since)
        draft = replace(draft, previous=found)
    days = [None if one is None else (one - NOW).days for one in since]
    assert days == [0, 0, 0, 3, 4, 4, None]


def test_uses_of_another_index_of_the_same_name_are_not_its_own() -> None:
    before = a_measurement("cpu", indexes=(Index("a", "btree", ("dc",), False, False, False, 8192, 0, None, NOW),))
    later = NOW + timedelta(days=40)
    draft = replace(Draft.new("main", "cpu"), previous=before)
    (found,) = described([draft], {"indexes": [member("a", 1, "host", scans=0)]}, later)
    assert found.indexes is not None
    assert found.indexes[0].scans_since == later


def test_partitions_when_there_are_very_many_keep_the_largest() -> None:
    rows = [partition(f"p{i:04}", i, i * 10) for i in range(MAX_PARTITIONS + 5)]
    cpu, mem = described(DRAFTS, {"partitions": rows})
    assert cpu.partitioning is not None
    assert cpu.partitioning.key == ("host", "region")
    assert cpu.partitioning.count == MAX_PARTITIONS + 5
    assert len(cpu.partitioning.partitions) == MAX_PARTITIONS
    assert cpu.partitioning.partitions[0] == Partition("p0104", "", 104, 1040)
    assert mem.partitioning is None
    (cpu,) = described(DRAFTS[:1], {"partitions": [*rows, partition("rest", 1, 1) | {"bounds": "DEFAULT"}]})
    assert cpu.partitioning is not None
    assert len(cpu.partitioning.partitions) == MAX_PARTITIONS
    assert cpu.partitioning.partitions[-1] == Partition("rest", "DEFAULT", 1, 1)


def test_partition_that_ends_last_is_kept_though_it_is_empty() -> None:
    months = [(year, month) for year in range(2018, 2027) for month in range(1, 13)]
    bounds = [f"FOR VALUES FROM ('{y}-{m:02}-01') TO ('{y + m // 12}-{m % 12 + 1:02}-01')" for y, m in months]
    rows = [partition(f"p{y}_{m:02}", 10_000 - y, 0) | {"bounds": b} for (y, m), b in zip(months, bounds, strict=True)]
    (cpu,) = described(DRAFTS[:1], {"partitions": rows})
    assert cpu.partitioning is not None
    assert len(cpu.partitioning.partitions) == MAX_PARTITIONS
    assert cpu.partitioning.partitions[-1].name == "p2026_12"
    endless: dict[str, Any] = partition("p2027", 0, 0) | {"bounds": "FOR VALUES FROM ('2027-01-01') TO (MAXVALUE)"}
    (cpu,) = described(DRAFTS[:1], {"partitions": [*rows, endless]})
    assert cpu.partitioning is not None
    assert {p.name for p in cpu.partitioning.partitions[-2:]} == {"p2026_12", "p2027"}


def test_partitions_when_nothing_is_known_of_their_size() -> None:
    (cpu,) = described(DRAFTS[:1], {"partitions": [partition("q", None, None, ""), partition("p", None, None, "")]})
    assert cpu.partitioning is not None
    assert [p.name for p in cpu.partitioning.partitions] == ["p", "q"]
    assert cpu.partitioning.key == ()


def test_options_and_storage_when_one_measurement_has_none() -> None:
    answers = {
        "options": [{"measurement": "cpu", "option": "ttl", "value": "7days"}],
        "storage": [{"measurement": "cpu", "data_bytes": 10, "index_bytes": None}],
    }
    cpu, mem = described(DRAFTS, answers)
    assert cpu.options == {"ttl": "7days"}
    assert mem.options == {}
    assert cpu.storage == Storage(10, None)
    assert mem.storage is None


def test_rows_in_files_when_they_have_no_time() -> None:
    with pytest.raises(ValueError, match="rows in files of cpu have no first time"):
        described([Draft.new("main", "cpu")], {"stored_rows": [{"measurement": "cpu", "rows": 3, "first_time": None}]})
