"""STO007: kinds of index and numbers of values."""

from __future__ import annotations

import dataclasses

import pytest

from tests.builders import a_count, a_source, a_tag
from tests.databases import Dataset, Greptime, Row, Table, times
from tests.engines.greptimedb.cases import IDS, METHODS, a_table, a_text, findings, steps
from tests.engines.greptimedb.test_full_text_indexes import CASES as FULL_TEXT
from tests.rules.cases import Case, dataset
from tsaudit.engines.greptimedb.rules.unsuitable_index import unsuitable_index as rule
from tsaudit.model.figures import Subject
from tsaudit.model.finding import Currency, Severity
from tsaudit.model.profile import Measurement
from tsaudit.model.rows import RowPatterns
from tsaudit.model.storage import Storage

MB = 1_000_000


def _requests(index_of_id: str, index_of_method: str) -> Dataset:
    rows = [Row(t, {"app": "shop"}, {"request_id": IDS[i], "method": METHODS[i % 3]}) for i, t in enumerate(times(300))]
    settings = Greptime(options={"append_mode": "true"}, indexes={"request_id": index_of_id, "method": index_of_method})
    fields = {"request_id": "string", "method": "string"}
    return dataset(Table("requests", ("app",), fields, rows, key=("time", "app"), greptime=settings))


LIMITS = {"unsuitable-index.max_low_values": 200.0}
CASES = (
    *FULL_TEXT,
    Case(
        breaks=_requests("inverted", "inverted"),
        keeps=_requests("skipping", "inverted"),
        subject=Subject("", "requests", "request_id"),
        main_contributor="request_id",
        limits=LIMITS,
    ),
    Case(
        breaks=_requests("skipping", "skipping"),
        keeps=_requests("skipping", "inverted"),
        subject=Subject("", "requests", "method"),
        main_contributor="method",
        limits=LIMITS,
    ),
)


def _table(kind: str, values: int, read: int = 10_000, rows: int = 1_000_000) -> Measurement:
    patterns = RowPatterns((), read, 0, 0, a_source())
    field = a_text("request_id", IDS[:64], values)
    indexes = {"request_id": kind} if kind else {}
    return a_table(indexes=indexes, fields=(field,), row_patterns=patterns, rows=a_count(rows))


def test_inverted_when_values_are_just_too_many() -> None:
    assert not findings(rule, _table("inverted", 10_000, read=100_000, rows=100_000))
    (finding,) = findings(rule, _table("inverted", 10_001, read=100_000, rows=100_000))
    assert finding.message == (
        "request_id has 10,001 distinct values among the rows read and an inverted index: an inverted index lists the "
        "rows of each."
    )
    text = steps(rule, _table("inverted", 10_001, read=100_000, rows=100_000))
    made, unset = (
        f'ALTER TABLE "main"."logs" MODIFY COLUMN "request_id" {how} INDEX;'
        for how in ("SET SKIPPING", "UNSET INVERTED")
    )
    assert text.index(made) < text.index(unset)


def test_number_of_values_when_more_rows_than_were_read() -> None:
    """No more values can be seen than rows are read, and a limit may be as high."""
    (finding,) = findings(rule, _table("inverted", 10_000, read=10_000))
    assert finding.message.startswith("request_id has 1,000,000 distinct values in all rows, estimated from 10,000 of")
    # Of 10,000 equally frequent values, 10,000 rows show 6,340.
    assert findings(rule, _table("inverted", 6_341, read=10_000))
    assert not findings(rule, _table("inverted", 6_339, read=10_000))
    assert not findings(rule, _table("inverted", 10_000, read=10_000, rows=10_000))


def _stored(index_bytes: int | None, kind: str = "inverted", also: str = "") -> Measurement:
    table = _table(kind, 20_000 if kind == "inverted" else 3, read=100_000)
    others = a_table(indexes={also: "skipping"}).indexes or () if also else ()
    indexes = (*(table.indexes or ()), *others[:1])
    return dataclasses.replace(table, indexes=indexes, storage=Storage(800 * MB, index_bytes))


def test_cost_is_a_share_of_the_bytes_of_indexes() -> None:
    (finding,) = findings(rule, _stored(200 * MB))
    assert finding.impact is not None
    assert finding.impact.currency is Currency.BYTES
    assert (finding.impact.now, finding.impact.whole) == (200 * MB, 1_000 * MB)
    assert finding.impact.per_day == pytest.approx(200 * MB / 30)
    (finding,) = findings(rule, _stored(200 * MB, also="trace_id"))
    assert finding.impact is not None
    assert finding.impact.now == 100 * MB
    for unpriced in (_stored(None), _stored(200 * MB, "skipping")):
        (finding,) = findings(rule, unpriced)
        assert (finding.impact, finding.severity) == (None, Severity.NOTE)


@pytest.mark.parametrize(
    ("index_bytes", "expected"), [(200 * MB, Severity.WARNING), (40 * MB, Severity.NOTE), (MB, Severity.NOTE)]
)
def test_severity_when_the_index_is_large(index_bytes: int, expected: Severity) -> None:
    (finding,) = findings(rule, _stored(index_bytes))
    assert finding.severity is expected


def test_skipping_when_values_are_few_and_known() -> None:
    assert findings(rule, _table("skipping", 100))
    assert not findings(rule, _table("skipping", 101))
    assert findings(rule, _table("skipping", 100, read=1000))
    assert not findings(rule, _table("skipping", 100, read=999))


def test_tag_when_its_values_were_listed() -> None:
    table = a_table(indexes={"host": "skipping"}, tags=(a_tag("host", 3),))
    (finding,) = findings(rule, table)
    assert finding.message.startswith("host has 3 distinct values and a skipping index: each block")


def test_one_is_dropped_when_there_are_both_kinds() -> None:
    one, other = (_table(kind, 3).indexes or () for kind in ("skipping", "inverted"))
    both = dataclasses.replace(_table("skipping", 3), indexes=(*one, other[0]))
    assert "UNSET SKIPPING INDEX" in steps(rule, both)
    assert " SET " not in steps(rule, both)


@pytest.mark.parametrize(("rows", "expected"), [(100_000, 1), (99_999, 0)])
def test_information_when_ids_have_no_index(rows: int, expected: int) -> None:
    found = findings(rule, _table("", 64, rows=rows))
    assert len(found) == expected
    if expected:
        assert found[0].severity is Severity.NOTE
        assert found[0].message == (
            "request_id has 64 distinct values among the rows read and no index: a search for one reads every block."
        )


def test_silence_when_indexes_are_not_known_or_of_the_metric_engine() -> None:
    assert not findings(rule, dataclasses.replace(_table("inverted", 10**6), indexes=None))
    metric = a_table(indexes={"host": "skipping"}, tags=(a_tag("host", 3),), options={"engine": "metric"})
    assert not findings(rule, metric)
