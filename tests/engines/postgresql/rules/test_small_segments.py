"""STO018: compression by a column with too many values."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import a_count, a_measurement, a_profile, a_tag
from tests.collecting import collected
from tests.engines.postgresql.timescaledb import Timescaledb
from tests.rules.cases import run_rule
from tsaudit.engines.postgresql.rules.small_segments import small_segments as rule
from tsaudit.model.finding import Finding, Severity
from tsaudit.model.storage import Partitioning, Storage

CASES = ()
"""Only TimescaleDB has such chunks, and the tests write no data sets to it."""


def _found(
    values: int, rows: int = 1_000_000, chunks: int = 10, data_bytes: int | None = 300_000_000, **options: str
) -> tuple[Finding, ...]:
    set_ = {"timescaledb.compress": "true", "timescaledb.compress_segmentby": "site, request_id"} | options
    made = a_measurement(
        tags=(a_tag("site", values=3), a_tag("request_id", values=values), a_tag("user", values=rows)),
        rows=a_count(rows),
        options=set_,
        partitioning=Partitioning(("time",), chunks, ()),
        storage=None if data_bytes is None else Storage(data_bytes, 0),
    )
    return run_rule(rule, a_profile(made, engine="postgresql")).findings


def test_unique_column() -> None:
    (finding,) = _found(1_000_000)
    assert finding.severity is Severity.WARNING
    assert finding.subject.column == "request_id"
    assert finding.message == "Compressed chunks are segmented by request_id, which has only 1 row for each value."


@pytest.mark.parametrize("data_bytes", [None, 1_000_000])
def test_note_when_it_costs_nothing_that_is_known(data_bytes: int | None) -> None:
    (finding,) = _found(1_000_000, data_bytes=data_bytes)
    assert finding.severity is Severity.NOTE


@pytest.mark.parametrize(
    "changes",
    [
        {"values": 10_000},
        {"values": 1_000_000, "chunks": 1},
        {"values": 1_000_000, "timescaledb.compress": "false"},
        {"values": 1_000_000, "timescaledb.compress_segmentby": "site"},
        {"values": 1_000_000, "timescaledb.compress_segmentby": ""},
    ],
    ids=["100 rows", "one chunk", "not compressed", "other column", "no column"],
)
def test_silence(changes: dict[str, Any]) -> None:
    assert _found(**changes) == ()
    assert _found(10_001), "just over the limit"


def test_what_a_server_says_of_its_hypertables(timescaledb: Timescaledb) -> None:
    profile = collected(timescaledb.target)
    segments = {m.name: (m.options or {}).get("timescaledb.compress_segmentby") for m in profile.measurements}
    assert segments == {"conditions": "device", "epochs": None, "spread": "part", "plain": None}
    # 6 devices of 3,456 rows; with a higher limit, the rule would speak.
    assert run_rule(rule, profile).findings == ()
    (finding,) = run_rule(rule, profile, {"min_segment_rows": 577}).findings
    assert finding.subject.column == "device"
