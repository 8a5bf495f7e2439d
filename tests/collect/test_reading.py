"""When all that is wanted of a fact takes or returns too much, less is asked for, and figures say so."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from tests.builders import NOW
from tests.collecting import Writer, collected, collected_with, writer_to
from tests.databases import Dataset, Row, Table, times, write
from tests.engines.traits import KEEP_DOCUMENTS, SPEAK_INFLUXQL
from tests.servers import Influxd, Postgresql
from tsaudit.collect.reading import fewer, fewer_and_shorter, shorter
from tsaudit.config.settings import Target
from tsaudit.engines.connection import FactError
from tsaudit.engines.influx import influxql
from tsaudit.engines.registry import ENGINES
from tsaudit.evaluation import evaluate
from tsaudit.model.facts import OfDocuments, OfRowSample, OfSeriesListing, TablePart
from tsaudit.model.figures import How, Reason
from tsaudit.model.finding import Outcome
from tsaudit.model.profile import Measurement, Profile

ABOUT: Mapping[str, Any] = {
    "database": "db",
    "measurement": "m",
    "tags": ["id"],
    "fields": ["v"],
    "time": "time",
    "time_kind": "timestamp",
    "policies": [],
    "start": NOW - timedelta(days=256),
    "end": NOW,
}
BY_ROWS = sorted(ENGINES.keys() - KEEP_DOCUMENTS - SPEAK_INFLUXQL)
"""Engines that list tag sets from rows."""
_SLOW = "canceled after 60 s"
PART = "rows from 2026-03-31 04:30 to 2026-03-31 06:00 UTC"
"""A sixteenth of a day."""


def _only(profile: Profile) -> Measurement:
    (measurement,) = profile.measurements
    return measurement


def _outcomes(profile: Profile) -> dict[str, Outcome]:
    return {result.code: result.outcome for result in evaluate(profile).results}


def _orders(count: int = 1500) -> Table:
    """Each order has a tag of its own, of three shops."""
    rows = [Row(t, {"order_id": f"8c1f{i:06}", "shop": f"s{i % 3}"}, {"v": i / 7}) for i, t in enumerate(times(count))]
    tags = ("order_id", "shop")
    return Table("orders", tags, {"v": "float"}, rows, key=("time", *tags))


def test_parts_of_the_window_become_shorter_and_end_with_it() -> None:
    found = list(shorter(OfSeriesListing(**ABOUT, limit=10, partial_scan=None)))
    assert [(way.end - way.start).days for way in found] == [256, 64, 16, 4, 1]
    assert {way.end for way in found} == {NOW}
    timeless = OfSeriesListing(**{**ABOUT, "time": None}, limit=10, partial_scan=None)
    assert list(shorter(timeless)) == [timeless], "without a time, no part is cheaper"


def test_part_of_a_table_too_big_to_read_becomes_smaller() -> None:
    part = TablePart(newest=False, rows=64_000, percent="6.400000")
    found = [way.partial_scan for way in shorter(OfSeriesListing(**ABOUT, limit=10, partial_scan=part))]
    assert [(one.rows, one.percent) for one in found if one] == [
        (64_000, "6.400000"),
        (16_000, "1.600000"),
        (4_000, "0.400000"),
        (1_000, "0.100000"),
        (250, "0.025000"),
    ]


def test_rows_become_fewer_as_long_as_they_show_something() -> None:
    assert [way.limit for way in fewer(OfDocuments(**ABOUT, total=None, limit=1000))] == [1000, 250]
    sample = OfRowSample(**ABOUT, columns=[], texts=[], longest=1, limit=10_000)
    found = [(way.limit, (way.end - way.start).days) for way in fewer_and_shorter(sample)]
    assert found == [(10_000, 256), (2_500, 256), (625, 256), (156, 256), (625, 16), (625, 1)]


@pytest.fixture(params=BY_ROWS)
def by_rows(request: pytest.FixtureRequest, tmp_path: Any) -> Writer:
    """A way to write into each engine that lists tag sets from rows."""
    return writer_to(request.param, request, tmp_path)


def test_newest_part_of_the_window_stands_in_for_all_of_it(by_rows: Writer) -> None:
    """Of 1,500 orders a minute apart, those of the newest sixteenth of a day are 90: a lower bound, and 1,440 rows."""
    target = by_rows(Dataset([_orders()]), window="1d")

    def tampering(fact: str, parameters: Mapping[str, Any]) -> None:
        whole = parameters.get("start") and parameters["end"] - parameters["start"] > timedelta(hours=2)
        if whole and fact in ("series_listing", "null_counts"):
            raise FactError(Reason.TIMED_OUT, _SLOW)

    profile = collected_with(target, tampering)
    orders = _only(profile)
    gaps = {gap.fact: gap for gap in profile.gaps}
    assert gaps["series_listing"].reason is Reason.TIMED_OUT
    assert gaps["series_listing"].detail == f"{_SLOW}; only {PART} were listed"
    assert orders.series is not None
    assert (orders.series.value, orders.series.source.how) == (90, How.SAMPLED)
    assert orders.series.source.words == f"at least; {PART}"
    assert orders.series.is_lower_bound
    order_id, shop = orders.tags
    assert order_id.values is not None
    assert (order_id.values.value, order_id.values.source.how) == (90, How.SAMPLED)
    assert shop.sample == ("s0", "s1", "s2")
    if by_rows.engine != "timestream":  # which counts rows by measure name
        assert gaps["null_counts"].detail == f"{_SLOW}; only {PART} were counted"
        assert orders.rows is not None
        assert (orders.rows.value, orders.rows.source.how) == (1440, How.ESTIMATE)
        assert orders.rows.source.scope == f"scaled up from {PART}"
        assert orders.fields[0].null_ratio is not None
        assert orders.fields[0].null_ratio.source.how is How.SAMPLED
    assert profile.series is None, "a part must not look like the whole"
    outcomes = _outcomes(profile)
    assert outcomes["FLD002"] is Outcome.PASS
    assert outcomes["CAR001"] is not Outcome.PASS, "no rule passes that needs all series"


def test_nothing_is_known_when_no_part_is_answered_either(by_rows: Writer) -> None:
    asked: list[Any] = []

    def tampering(fact: str, parameters: Mapping[str, Any]) -> None:
        if fact == "series_listing":
            asked.append(parameters["start"])
            raise FactError(Reason.TIMED_OUT, _SLOW)

    profile = collected_with(by_rows(Dataset([_orders(60)])), tampering)
    (gap,) = (gap for gap in profile.gaps if gap.fact == "series_listing")
    assert (gap.reason, gap.detail) == (Reason.TIMED_OUT, _SLOW)
    assert _only(profile).series is None
    assert len(asked) == 5


@pytest.mark.parametrize("reason", [Reason.DENIED, Reason.FAILED, Reason.UNSUPPORTED])
def test_what_no_right_allows_is_asked_once(by_rows: Writer, reason: Reason) -> None:
    asked: list[str] = []

    def tampering(fact: str, parameters: Mapping[str, Any]) -> None:
        if fact in ("series_listing", "null_counts"):
            asked.append(fact)
            raise FactError(reason, "no")

    collected_with(by_rows(Dataset([_orders(60)])), tampering)
    assert len(asked) == len(set(asked))


def test_newest_rows_are_read_of_a_part_of_the_window(by_rows: Writer) -> None:
    target = by_rows(Dataset([_orders(600)]), window="1d")

    def tampering(fact: str, parameters: Mapping[str, Any]) -> None:
        if fact == "row_sample" and parameters["end"] - parameters["start"] > timedelta(hours=2):
            raise FactError(Reason.TIMED_OUT, _SLOW)

    profile = collected_with(target, tampering)
    orders = _only(profile)
    v = orders.fields[0]
    assert v.distinct is not None
    assert (v.distinct.value, v.distinct.source.how) == (90, How.SAMPLED)
    assert "the newest 90 rows from 2026-03-31 04:30 to 2026-03-31 06:00 UTC" in v.distinct.source.scope
    assert "row_sample" not in {gap.fact for gap in profile.gaps}, "it is a sample in any case"


def test_empty_part_of_the_window_says_nothing(by_rows: Writer) -> None:
    rows = [Row(NOW - timedelta(hours=20, minutes=i), {"host": "a"}, {"v": 1.5}) for i in range(60)]
    target = by_rows(Dataset([Table("t", ("host",), {"v": "float"}, rows, key=("time", "host"))]), window="1d")

    def tampering(fact: str, parameters: Mapping[str, Any]) -> None:
        if fact == "row_sample" and parameters["end"] - parameters["start"] > timedelta(hours=2):
            raise FactError(Reason.TIMED_OUT, _SLOW)

    profile = collected_with(target, tampering)
    (gap,) = (gap for gap in profile.gaps if gap.fact == "row_sample")
    assert (gap.reason, gap.detail) == (Reason.TIMED_OUT, _SLOW)
    assert _outcomes(profile)["FLD002"] is Outcome.OPEN


# --- InfluxDB: an index ----------------------------------------------------------------------------------------------


def _influx(influxd: Influxd, *tables: Table, **settings: Any) -> Target:
    return write(Dataset(list(tables)), "influxdb1", influxd.url, **settings)


def _no_listing(fact: str, parameters: Mapping[str, Any]) -> None:
    if fact == "series_listing" and not parameters["singly"]:
        raise FactError(Reason.TIMED_OUT, _SLOW)


def test_values_of_each_tag_are_listed_where_the_series_cannot_be(influxd: Influxd) -> None:
    """An expert wants to hear which tag it is, although the listing of all series timed out."""
    profile = collected_with(_influx(influxd, _orders(), budget={"max_rows": 1000}), _no_listing)
    orders = _only(profile)
    (gap,) = profile.gaps
    assert (gap.fact, gap.reason) == ("series_listing", Reason.TIMED_OUT)
    assert gap.detail == f"{_SLOW}; the values of each tag were listed by themselves, not their combinations"
    assert [(t.key, t.values.value, t.values.source.how) for t in orders.tags if t.values] == [
        ("order_id", 1500, How.EXACT),
        ("shop", 3, How.EXACT),
    ]
    assert orders.tags[1].sample == ("s0", "s1", "s2")
    assert "SHOW TAG VALUES" in orders.statements["tag_values"]
    assert orders.series is not None
    assert (orders.series.value, orders.series.source.words) == (1500, "at least; each value of order_id has one")
    assert orders.rows is not None
    assert orders.rows.source.how is How.ESTIMATE
    assert orders.rows.value == 1500
    assert "scaled up from 64 values of tag order_id, an even sample of 1,500" in orders.rows.source.scope
    result = evaluate(profile)
    found = {(one.code, finding.subject.column) for one, finding in result.findings()}
    assert ("TAG002", "order_id") in found
    outcomes = {one.code: one.outcome for one in result.results}
    # None of these needs the combinations.
    for code in ("TAG003", "TAG007", "FLD005", "FLD002", "LAY004", "NAM001", "RET001", "SRV003"):
        assert outcomes[code] is not Outcome.OPEN, code
    assert outcomes["CAR004"] is Outcome.OPEN


def test_figures_of_one_tag_may_be_a_lower_bound_too(influxd: Influxd, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tsaudit.collect.series._MOST_VALUES", 1001)
    orders = _only(collected_with(_influx(influxd, _orders()), _no_listing))
    order_id = orders.tags[0]
    assert order_id.values is not None
    assert (order_id.values.value, order_id.values.source.how) == (1001, How.SAMPLED)
    assert order_id.values.is_lower_bound
    assert orders.series is not None
    assert orders.series.value == 1001


def test_rows_are_read_though_they_are_too_wide_for_as_many(
    own_influxd: Influxd, monkeypatch: pytest.MonkeyPatch
) -> None:
    """400 rows of 100 fields are more than may arrive at once; 100 of them are not. Retention needs no rows at all."""
    fields = {f"f{i}": "float" for i in range(100)}
    rows = [Row(t, {"host": f"h{i % 3}"}, dict.fromkeys(fields, i / 7)) for i, t in enumerate(times(800))]
    target = _influx(own_influxd, Table("wide", ("host",), fields, rows), budget={"max_rows": 400})
    monkeypatch.setattr(influxql, "_MOST_VALUES", 20_000)
    profile = collected(target)
    assert profile.gaps == ()
    wide = _only(profile)
    assert wide.fields[0].distinct is not None
    assert "the newest 100 rows" in wide.fields[0].distinct.source.scope
    assert wide.rows is not None
    assert (wide.rows.value, wide.rows.source.how) == (800, How.EXACT)
    assert Outcome.OPEN not in _outcomes(profile).values()


def test_retention_is_judged_though_no_row_can_be_read(influxd: Influxd) -> None:
    def tampering(fact: str, parameters: Mapping[str, Any]) -> None:
        if fact == "row_sample":
            raise FactError(Reason.OVER_BUDGET, "a part of the response has more than 3,000,000 values")

    profile = collected_with(_influx(influxd, _orders(60)), tampering)
    assert {gap.fact for gap in profile.gaps} >= {"row_sample", "row_count"}
    retention = next(one for one in evaluate(profile).results if one.code == "RET001")
    assert (retention.outcome, retention.gaps) == (Outcome.FAIL, ())


# --- Estimates that are wrong ----------------------------------------------------------------------------------------


def test_estimate_is_corrected_by_the_rows_that_are_there(postgresql: Postgresql) -> None:
    """Batches of one row were taken for full ones: the planner expects 730 times the rows."""
    schema = postgresql.new_schema(
        "CREATE TABLE t AS SELECT TIMESTAMPTZ '2026-03-31 06:00+00' - i * '1 min'::INTERVAL AS ts, "
        "'h' || i % 5 AS host, i / 7.0::FLOAT AS v FROM generate_series(1, 3000) AS i",
        "CREATE INDEX ON t (ts)",
        "ANALYZE t",
        "UPDATE pg_class SET reltuples = 730 * reltuples WHERE oid = 't'::regclass",
    )
    target = Target(name="t", engine="postgresql", url=postgresql.audit_url, databases=(schema,))
    profile = collected(target)
    t = _only(profile)
    assert t.rows_total is not None
    assert t.rows_total.value == 730 * 3000, "the estimate is as wrong as it was"
    assert "scan_estimate" in t.statements
    assert t.rows is not None
    assert (t.rows.value, t.rows.source.how) == (3000, How.EXACT)
    assert t.series is not None
    assert (t.series.value, t.series.source.how) == (5, How.EXACT)
    assert profile.gaps == ()
    assert Outcome.OPEN not in _outcomes(profile).values()


def test_documents_are_fewer_when_a_thousand_take_too_long(request: pytest.FixtureRequest, tmp_path: Any) -> None:
    rows = [Row(t, {"host": f"h{i % 3}"}, {"v": i / 7}) for i, t in enumerate(times(600))]
    writer = writer_to("mongodb", request, tmp_path)
    target = writer(Dataset([Table("t", ("host",), {"v": "float"}, rows)]))

    def tampering(fact: str, parameters: Mapping[str, Any]) -> None:
        if fact == "documents" and parameters["limit"] > 250:
            raise FactError(Reason.TIMED_OUT, _SLOW)

    profile = collected_with(target, tampering)
    t = _only(profile)
    assert t.documents is not None
    assert t.documents.read == 250
    assert t.documents.source.how is How.SAMPLED
    assert "documents" not in {gap.fact for gap in profile.gaps}
