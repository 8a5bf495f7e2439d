"""Responses that cannot be true: no figure of them is used, whatever part of them is wrong."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st

from tests.builders import DAY, NOW
from tests.collecting import Tampered, writer_to
from tests.databases import Dataset, Row, Table, times
from tests.examples import examples
from tsaudit.collect import catalog_facts, collect, plausibility
from tsaudit.config.settings import Target
from tsaudit.engines.connection import Rows, RowsOfSeveral
from tsaudit.engines.opening import open_connection
from tsaudit.engines.registry import ENGINES
from tsaudit.evaluation import evaluate
from tsaudit.model.facts import (
    FACTS,
    Given,
    OfDatabase,
    OfMeasurement,
    OfMeasurements,
    OfNullCounts,
    OfRowSample,
    OfTarget,
    OfTimeExtents,
)
from tsaudit.model.figures import Subject
from tsaudit.model.finding import AuditResult, Verdict
from tsaudit.model.profile import Profile

ABOUT = OfMeasurements(database="d", measurements=["t"], start=NOW, end=NOW)
WINDOW: Final = {"start": NOW, "end": NOW, "time": "at", "time_kind": "text"}
OF_TWO = OfNullCounts(database="d", measurement="t", tags=[], policies=[], fields=["a", "b"], later="by scan", **WINDOW)
SAMPLE = OfRowSample(
    **{"database": "d", "measurement": "t", "tags": [], "policies": [], "fields": ["v"], **WINDOW, "time_kind": None},
    columns=["at", "v"],
    texts=[],
    longest=100,
    limit=100,
)
AT: Final = NOW.isoformat()
EPOCH: Final = datetime.fromtimestamp(0, UTC)
SERVER: Final[dict[str, Any]] = {"kind": ["setting"], "name": ["a"], "database": [""]}
COUNTS: Final = {"rows": [10], "first_time": [AT], "last_time": [AT], "n1": [10], "n2": [0], "later": [99]}
BY_NAME = OfMeasurement(database="d", measurement="t", tags=["a"], policies=[], fields=["b"], **WINDOW)
BY_NAMES: Final = {"measure_name": ["m"], "rows": [10], "first_time": [AT], "last_time": [AT], "series": [12]} | {
    "count_1": [10],
    "count_2": [0],
    "distinct_1": [12],
}
OF_TIMES = OfTimeExtents(database="d", measurement="t", tags=[], policies=[], fields=[], columns=["a", "b"], **WINDOW)
EXTENTS: Final = {
    "rows": [10],
    "n_1": [10],
    "low_1": [99],
    "high_1": [99],
    "n_2": [0],
    "low_2": [None],
    "high_2": [None],
}


@pytest.mark.parametrize(
    ("fact", "given", "columns", "said"),
    [
        ("row_estimate", ABOUT, {"measurement": ["t"], "rows": [-6]}, "rows is -6"),
        ("row_estimate", ABOUT, {"measurement": ["t", "u"], "rows": [1.0, math.nan]}, "rows is nan"),
        ("row_estimate", ABOUT, {"measurement": ["t"], "rows": [math.inf]}, "rows is inf"),
        ("row_estimate", ABOUT, {"measurement": ["t"], "rows": ["many"]}, "rows is no number, but string"),
        ("row_estimate", ABOUT, {"measurement": [None], "rows": [1]}, "measurement is null"),
        ("row_estimate", ABOUT, {"measurement": ["t"]}, "no column rows"),
        ("row_estimate", ABOUT, {"measurement": ["t"], "rows": [None]}, ""),
        ("measurements", OfDatabase(database="d"), {"measurement": [None]}, "measurement is null"),
        ("measurements", OfDatabase(database="d"), {"measurement": [7]}, "measurement is no text, but int64"),
        (
            "measurements",
            OfDatabase(database="d"),
            {"measurement": [["a"]]},
            "measurement is no text, but list<item: string>",
        ),
        ("server_status", OfTarget(), SERVER | {"value": [-1.0]}, "value is -1.0"),
        ("server_status", OfTarget(), SERVER | {"value": [math.inf]}, "value is inf"),
        ("stored_rows", ABOUT, {"measurement": ["t"], "rows": [1], "first_time": [NOW]}, ""),
        ("stored_rows", ABOUT, {"measurement": ["t"], "rows": [1], "first_time": [EPOCH]}, f"first_time is {EPOCH}"),
        (
            "database_storage",
            OfDatabase(database="d"),
            {"data_bytes": [1], "index_bytes": [None], "disk_used_bytes": [5], "disk_bytes": [4]},
            "disk_used_bytes is 5, and disk_bytes 4",
        ),
        (
            "database_storage",
            OfDatabase(database="d"),
            {"data_bytes": [1], "index_bytes": [None], "disk_used_bytes": [None], "disk_bytes": [None]},
            "",
        ),
        ("null_counts", OF_TWO, COUNTS, ""),
        ("null_counts", OF_TWO, COUNTS | {"first_time": ["soon"]}, "first_time is soon"),
        ("null_counts", OF_TWO, COUNTS | {"last_time": [None]}, ""),
        ("null_counts", OF_TWO, COUNTS | {"n1": [11]}, "the count of a is 11, and rows 10"),
        ("null_counts", OF_TWO, COUNTS | {"n2": [-1]}, "the count of b is -1"),
        ("measure_name_counts", BY_NAME, BY_NAMES, ""),
        ("measure_name_counts", BY_NAME, BY_NAMES | {"count_2": [11]}, "the count of b is 11, and rows 10"),
        ("time_extents", OF_TIMES, EXTENTS, ""),
        ("row_sample", SAMPLE, {"at": [NOW] * 20, "v": [1.0] * 20}, ""),
        ("row_sample", SAMPLE, {"at": [NOW] * 19 + [EPOCH], "v": [1.0] * 20}, f"at is {EPOCH}"),
        ("row_sample", SAMPLE, {"at": [NOW] * 19 + [None], "v": [1.0] * 20}, ""),
        ("row_sample", replace(SAMPLE, time_kind="s"), {"at": [int(NOW.timestamp())] * 20}, ""),
        (
            "row_sample",
            replace(SAMPLE, time_kind="s"),
            {"at": [int(NOW.timestamp()) * 1000]},
            f"at is {int(NOW.timestamp()) * 1000}",
        ),
        ("row_sample", replace(SAMPLE, time_kind="text"), {"at": ["31.3.2026"] * 20}, ""),
        ("row_sample", replace(SAMPLE, time=None), {"at": [EPOCH] * 20}, ""),
        ("time_extents", OF_TIMES, EXTENTS | {"n_2": [1_000_000]}, "the count of b is 1,000,000, and rows 10"),
    ],
)
def test_what_cannot_be(fact: str, given: Given, columns: dict[str, list[Any]], said: str) -> None:
    assert plausibility.impossible(fact, pa.record_batch(columns), given) == said


def test_every_column_that_is_checked_is_one_of_a_fact() -> None:
    known = {column for fact in FACTS.values() for column in fact.columns}
    optional = {"expires_s", "shards", "shard_series", "rows_read", "expired_shards", "expired_bytes", "expired_since"}
    optional |= {"mean_row_bytes"}
    assert known | optional >= plausibility._COUNTS | plausibility._TEXTS


# --- Any leaf ---------------------------------------------------------------------------------------------------------


def _database() -> Dataset:
    """Tables that break several rules, and one that breaks none."""
    hosts = [{"host": f"h{i}", "region": "eu"} for i in range(4)]
    cpu = [Row(t, host, {"usage": i + 0.5}) for i, t in enumerate(times(60)) for host in hosts]
    requests = [
        Row(t, {"request_id": f"{i:08x}-4c1b", "host": f"h{i % 4}"}, {"ms": f"{i}.5", "note": None, "code": "200"})
        for i, t in enumerate(times(240))
    ]
    fields = {"ms": "string", "note": "string", "code": "string"}
    return Dataset(
        [
            Table("cpu", ("host", "region"), {"usage": "float"}, cpu),
            Table("requests", ("request_id", "host"), fields, requests),
        ]
    )


@dataclass
class _Wire(Tampered):
    """Counts the responses, and damages one batch."""

    _connection: Any
    damage: Callable[[str, pa.RecordBatch], pa.RecordBatch] | None = None
    at: int = -1
    seen: list[tuple[str, pa.RecordBatch]] = field(default_factory=list)
    """The first batch of each response."""

    def __post_init__(self) -> None:
        self.server_version = self._connection.server_version

    def query(self, fact: str, timeout_s: float, given: Given) -> Rows:
        rows = self._connection.query(fact, timeout_s, given)
        number = len(self.seen)
        self.seen.append((fact, pa.record_batch({})))

        def read() -> Iterator[pa.RecordBatch]:
            with closing(rows):
                for batch in rows:
                    if self.seen[number][1].num_columns == 0:
                        self.seen[number] = fact, batch
                    yield self.damage(fact, batch) if self.damage and number == self.at else batch

        return Rows(rows.statement, read())

    def query_together(self, fact: str, timeout_s: float, given: Sequence[OfMeasurement]) -> RowsOfSeveral:
        rows = RowsOfSeveral("", {})
        rows.statements = 0
        return rows


@dataclass(frozen=True, repr=False)
class _Undamaged:
    def __repr__(self) -> str:
        return self.target.engine

    target: Target
    severities: dict[tuple[str, Subject], int]
    """Of each finding, by its rule and subject."""
    places: list[tuple[int, str, str, str]]
    """What could be damaged: the number of the response, its fact, a column, and what becomes of it."""


_CHEAPEST: Final = ("influxdb1", "sqlite")
"""One that lists series, and one of rows: what is damaged here has left the driver."""


def _measured() -> Iterator[object]:
    """The engines whose server answers, and not a recording: `influxdb2` is measured as `influxdb1`."""
    for engine in sorted(ENGINES.keys() - {"influxdb2"}):
        yield pytest.param(engine, marks=() if engine in _CHEAPEST else pytest.mark.full)


@pytest.fixture(params=_measured())
def undamaged(request: pytest.FixtureRequest, tmp_path: Path) -> _Undamaged:
    target = writer_to(request.param, request, tmp_path)(_database())
    wire, profile, result = _audited(target)
    assert profile.gaps == ()
    severities = {(rule.code, f.subject): f.severity.rank for rule, f in result.findings()}
    assert severities
    places = [(i, fact, *way) for i, (fact, batch) in enumerate(wire.seen) for way in _ways(fact, batch)]
    return _Undamaged(target, severities, places)


def _audited(target: Target, **damage: Any) -> tuple[_Wire, Profile, AuditResult]:
    with open_connection(target) as connection:
        wire = _Wire(connection, **damage)
        profile = collect(target, wire, day=DAY, now=NOW)
    return wire, profile, evaluate(profile)


_WRONG: Final = {
    "negative": lambda column: pa.array([-1] * len(column), pa.int64()),
    "not finite": lambda column: pa.array([math.nan] * len(column), pa.float64()),
    "a text": lambda column: pa.array(["many"] * len(column)),
}


def _ways(fact: str, batch: pa.RecordBatch) -> Iterator[tuple[str, str]]:
    """How the batch could be damaged: a column, empty for all of them, and what becomes of it."""
    if not FACTS[fact].columns or not batch.num_rows:
        return
    for name in batch.schema.names:
        if name in plausibility._COUNTS and batch.column(name).null_count < batch.num_rows:
            yield from ((name, way) for way in _WRONG)
        if name in plausibility._NAMES and (fact, name) not in plausibility._NAMELESS:
            yield name, "null"
        # A batch without any column means that the server is still at work.
        if name in FACTS[fact].columns and batch.num_columns > 1:
            yield name, "missing"
    if fact in catalog_facts._NAMED_BY:
        yield "", "twice"
    if fact in ("columns", "tag_keys", "field_types"):
        yield "", "nothing"
    if fact == "null_counts":
        yield from ((name, "above the whole") for name in batch.schema.names[3:])


def _damaged(batch: pa.RecordBatch, name: str, way: str) -> pa.RecordBatch:
    if way == "twice" and batch.num_rows:
        return pa.Table.from_batches([batch, batch]).combine_chunks().to_batches()[0]
    if not name:
        return batch.slice(0, 0)
    at = batch.schema.names.index(name)
    columns, names = list(batch.columns), list(batch.schema.names)
    if way == "missing":
        del columns[at], names[at]
    elif way == "null":
        columns[at] = pa.nulls(batch.num_rows, columns[at].type)
    elif way == "above the whole":
        columns[at] = pa.array([rows + 1 for rows in batch.column("rows").to_pylist()])
    else:
        columns[at] = _WRONG[way](columns[at])
    return pa.RecordBatch.from_arrays(columns, names)


@settings(max_examples=examples(50))
@drawn(data=st.data())
def test_damaged_response_leaves_a_gap_and_nothing_else(undamaged: _Undamaged, data: st.DataObject) -> None:
    number, fact, name, way = data.draw(st.sampled_from(undamaged.places))
    _, profile, result = _audited(undamaged.target, at=number, damage=lambda _, batch: _damaged(batch, name, way))
    assert fact in {gap.fact for gap in profile.gaps} or (way == "nothing" and profile.gaps)
    for rule, finding in result.findings():
        if rule.code != "TGT001":
            assert finding.severity.rank <= undamaged.severities[rule.code, finding.subject]
    assert result.verdict is not Verdict.OK
