"""Times as engines return them, tables out of batches that disagree, and reasons that are handed on."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone
from random import Random
from statistics import mean, variance
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.builders import DAY, NOW, a_count, a_field, a_measurement, a_source
from tsaudit.analysis.columns.columns import TimeColumn, TimeKind
from tsaudit.analysis.columns.time_columns import instant_of
from tsaudit.collect import collect, rows
from tsaudit.collect.draft import Draft, PartialScan, ReadRows, epoch_us
from tsaudit.config.settings import Target
from tsaudit.engines.connection import ConnectorError, FactError, Rows
from tsaudit.engines.influx.measuring import InfluxMeasuring
from tsaudit.model.columns import Field
from tsaudit.model.facts import FACTS, Given, OfRowSample
from tsaudit.model.figures import Count, How, Reason, Window
from tsaudit.model.server import TableStatus

BERLIN = timezone(timedelta(hours=2))
ZONES = st.sampled_from([None, UTC, BERLIN, timezone(timedelta(hours=-5, minutes=-30))])


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        (datetime(2026, 3, 31, 6, tzinfo=UTC).replace(tzinfo=None), TimeKind.TIMESTAMP, NOW),
        (datetime(2026, 3, 31, 8, tzinfo=BERLIN), TimeKind.ZONED, NOW),
        (date(2026, 3, 31), TimeKind.TIMESTAMP, NOW - timedelta(hours=6)),
        ("2026-03-31T08:00:00+02:00", TimeKind.TEXT, NOW),
        ("2026-03-31 06:00:00", TimeKind.TEXT, NOW),
        ("noon", TimeKind.TEXT, None),
        (int(NOW.timestamp()), TimeKind.SECONDS, NOW),
        (int(NOW.timestamp()) * 1_000_000_000 + 1, TimeKind.NANOSECONDS, NOW),
        (None, TimeKind.TIMESTAMP, None),
        (5, None, None),
    ],
)
def test_instant(value: Any, kind: TimeKind | None, expected: datetime | None) -> None:
    assert instant_of(value, kind) == expected


def test_batches_disagree_on_types() -> None:
    time = pa.array([NOW], pa.timestamp("ns", "UTC"))
    parts: list[Any] = [[1], [2.5], [None], ["x"]]
    batches = [pa.record_batch([time, pa.array(p)], names=["time", "v"]) for p in parts]
    assert ReadRows.of(batches[:3]).column("v").values.to_pylist() == [1.0, 2.5, None]
    mixed = ReadRows.of(batches)
    assert mixed.column("v").values.to_pylist() == ["1", "2.5", None, "x"]
    assert mixed.column("time").type == time.type
    batches.append(pa.record_batch([time.cast(pa.timestamp("us", "UTC")), pa.array(["y"])], names=["time", "v"]))
    assert ReadRows.of(batches).column("v").values.to_pylist()[-1] == "y"


class Silent:
    """A server that answers the first few statements, and then never again."""

    server_version = "1.8"

    def __init__(self, error: Exception, after: int) -> None:
        self.error = error
        self.left = after
        self.asked: list[str] = []

    def query(self, fact: str, timeout_s: float, given: Given) -> Rows:
        self.asked.append(fact)
        return Rows(f"{fact}?", self._answer(fact))

    def _answer(self, fact: str) -> Iterator[pa.RecordBatch]:
        self.left -= 1
        if self.left < 0:
            raise self.error
        names = pa.array([f"m{i}" for i in range(50)])
        answers: dict[str, dict[str, Any]] = {
            "databases": {"database": ["db"]},
            "policies": {"database": ["db"], "policy": ["autogen"], "policy_of": [None]},
            "server_status": {"kind": [], "name": [], "database": [], "value": []},
            "scheduled_queries": {column: [] for column in FACTS["scheduled_queries"].columns},
            "measurements": {"measurement": names},
            "tag_keys": {"measurement": names, "tag": ["host"] * 50},
            "field_types": {"measurement": names, "field": ["v"] * 50, "data_type": ["float"] * 50},
        }
        yield pa.record_batch({k: pa.array(v) for k, v in answers[fact].items()})

    def reconnect(self) -> Silent:
        raise ConnectorError("the server is gone")

    def close(self) -> None:
        pass

    def abort(self) -> None:
        pass


@pytest.mark.parametrize("concurrency", [1, 3])
@pytest.mark.parametrize("reason", [Reason.UNREACHABLE, Reason.TIMED_OUT])
def test_server_falls_silent(reason: Reason, concurrency: int) -> None:
    target = Target(name="t", engine="influxdb1", url="http://x:1", budget={"concurrency": concurrency})
    server = Silent(FactError(reason, "silence"), after=7)
    profile = collect(target, server, day=DAY, now=NOW)
    assert len(profile.measurements) == 50
    # One try whether it is still there, and nothing more is sent.
    assert server.asked == [
        "databases",
        "policies",
        "server_status",
        "scheduled_queries",
        "measurements",
        "tag_keys",
        "field_types",
        "retention",
        # Where the connection broke, a new one is opened for it, and there is none.
        *(["databases"] if reason is Reason.TIMED_OUT else []),
    ]
    missing = {g.measurement: g.reason for g in profile.gaps if g.fact == "series_listing"}
    assert set(missing) == {f"m{i}" for i in range(50)}
    assert set(missing.values()) == {Reason.UNREACHABLE}
    assert {g.reason for g in profile.gaps} <= {reason, Reason.UNREACHABLE}


def test_further_connections_cannot_be_had() -> None:
    target = Target(name="t", engine="influxdb1", url="http://x:1", budget={"concurrency": 3})
    server = Silent(FactError(Reason.FAILED, "no"), after=7)
    profile = collect(target, server, day=DAY, now=NOW)
    gaps = [g for g in profile.gaps if g.fact == "series_listing"]
    assert len(gaps) == 50
    assert {(g.reason) for g in gaps} == {Reason.UNREACHABLE}


def test_databases_cannot_be_listed() -> None:
    target = Target(name="t", engine="influxdb1", url="http://x:1")
    profile = collect(target, Silent(FactError(Reason.DENIED, "no"), after=0), day=DAY, now=NOW)
    assert (profile.databases, profile.measurements) == ((), ())
    assert {g.reason for g in profile.gaps} == {Reason.DENIED}
    assert {"databases", "series_listing", "retention", "row_sample"} <= {g.fact for g in profile.gaps}


def _scaled_up(
    counts: list[int], read: int, series: int, series_error: float | None = None, how: How | None = None
) -> Count:
    """The rows of so many series, estimated by the counts of those of `read` that have any."""
    how = how or (How.ESTIMATE if series_error else How.EXACT)
    known = a_count(series, how, standard_error=series_error)
    draft = Draft(replace(a_measurement("m"), series=known), is_indexed=True, sampled_series=read)
    runner: Any = SimpleNamespace(window=Window(NOW - timedelta(days=1), NOW), source=lambda *_: a_source())
    found = InfluxMeasuring(runner)._scaled(draft, counts, "row_count")
    assert found is not None
    return found


def test_rows_scaled_up_have_the_error_of_a_sample_without_replacement() -> None:
    """As in any textbook, on counts whose spread is known; series without a row count as zero."""
    for counts, read, total in (([10, 30, 20], 3, 12), ([10, 30, 20], 5, 12), ([7, 7, 7, 7], 4, 1000), ([5], 4, 6)):
        whole = [*counts, *[0] * (read - len(counts))]
        found = _scaled_up(counts, read, total)
        assert found.value == round(total * mean(whole))
        expected = total * math.sqrt((1 - read / total) * variance(whole) / read)
        assert found.standard_error == pytest.approx(expected), (counts, read)
    assert _scaled_up([3, 9, 6], 3, 3).standard_error == 0, "all were read"
    assert _scaled_up([4], 1, 1).standard_error == 0


def test_rows_scaled_up_from_a_single_series_have_an_unknown_error() -> None:
    found = _scaled_up([4], 1, 10)
    assert (found.value, found.standard_error) == (40, None)


def test_rows_scaled_up_to_a_total_of_unknown_error_have_one_too() -> None:
    assert _scaled_up([8] * 64, 64, 1000, how=How.ESTIMATE).standard_error is None


def test_rows_scaled_up_have_the_error_of_the_number_of_series_too() -> None:
    # 50 of 1,000 series more or less, of 8 rows each.
    assert _scaled_up([8] * 64, 64, 1000, 50.0).standard_error == pytest.approx(8 * 50)
    alone, both = _scaled_up([4, 12] * 32, 64, 1000), _scaled_up([4, 12] * 32, 64, 1000, 50.0)
    assert both.standard_error == pytest.approx(math.hypot(alone.standard_error or 0.0, 8 * 50))


def test_errors_of_rows_scaled_up_are_as_large_as_they_say() -> None:
    """200 series, a third of them idle: of 300 samples the estimates miss the truth by what they claim."""
    draw = Random(5)
    population = [0 if i % 3 == 0 else draw.randint(1, 400) for i in range(200)]
    misses = []
    for _ in range(300):
        chosen = draw.sample(population, 120)
        found = _scaled_up([c for c in chosen if c], len(chosen), len(population))
        misses.append((found.value - sum(population)) / (found.standard_error or 0.0))
    assert 0.85 < math.sqrt(mean(m**2 for m in misses)) < 1.15


@given(
    times=st.lists(st.none() | st.tuples(st.datetimes(), ZONES), max_size=5),
    separator=st.sampled_from(" T"),
    precision=st.sampled_from(["auto", "hours", "minutes", "seconds", "milliseconds"]),
    others=st.lists(
        st.sampled_from(["", "noon", "2026-03-31", "2026", "infinity", "0044-03-15 00:00:00 BC"]), max_size=1
    ),
    zoned=st.booleans(),
)
@example(times=[], separator=" ", precision="auto", others=["2026-03-31 06:00:00.123456789"], zoned=False)
def test_times_in_text_are_read_at_once_as_one_by_one(
    times: list[Any], separator: str, precision: str, others: list[str], zoned: bool
) -> None:
    texts = [
        time and time[0].replace(tzinfo=time[1] if zoned else None).isoformat(separator, precision) for time in times
    ] + others
    read = [instant_of(text, TimeKind.TEXT) for text in texts]
    epoch = datetime.fromtimestamp(0, UTC)
    expected = [time and (time - epoch) // timedelta(microseconds=1) for time in read]
    column = pa.chunked_array([pa.array(texts, pa.string())])
    assert epoch_us(column, TimeKind.TEXT).to_pylist() == expected


def _with_rises(most: int, try_query: Callable[..., Any], scan: PartialScan | None = None) -> list[Field]:
    """The field with IDs of a table of a million rows, a fifth of them in the window, of which 10,000 were read."""
    times = [NOW - timedelta(seconds=n) for n in range(10_000)]
    measurement = a_measurement(
        fields=(a_field("id"),),
        rows=a_count(200_000),
        rows_total=a_count(1_000_000),
        status=TableStatus(ids={"id": 1_500_000_000}, id_limits={"id": 2_147_483_647}),
    )
    draft = Draft(
        measurement,
        time=TimeColumn("ts", TimeKind.ZONED),
        sample=ReadRows(pa.table({"ts": times, "id": range(10_000)})),
        sample_limit=10_000,
        partial_scan=scan,
    )
    runner: Any = SimpleNamespace(
        target=SimpleNamespace(budget=SimpleNamespace(max_scan_rows=most)),
        window=Window(NOW - timedelta(days=7), NOW),
        try_query=try_query,
    )
    return rows._with_rises(runner, draft, [a_field("id")], frozenset({"id"}))


@pytest.mark.parametrize(("most", "percent"), [(0, 5.0), (20_000, 2.0)])
def test_pages_read_for_the_rise_of_ids_are_within_the_budget(most: int, percent: float) -> None:
    """As many rows as the newest are wanted."""
    asked: list[Any] = []
    _with_rises(most, lambda _fact, _consume, given: asked.append(given))
    assert [float(given.partial_scan.percent) for given in asked] == [percent]


@pytest.mark.parametrize("newest", [False, True])
def test_rise_of_ids_when_rows_from_all_of_the_window_were_read_already(*, newest: bool) -> None:
    asked: list[Any] = []
    scan = PartialScan(newest, 200_000, 1_000_000, 20_000)
    _with_rises(20_000, lambda _fact, _consume, given: asked.append(given), scan)
    assert len(asked) == newest


@pytest.mark.parametrize(("found", "is_known"), [(19_999, True), (20_000, False)])
def test_rise_of_ids_when_pages_have_more_rows_than_are_read(found: int, is_known: bool) -> None:
    """There are far more rows than estimated, and those read are of the first pages."""

    def answer(_fact: str, consume: Callable[[pa.RecordBatch], None], given: OfRowSample) -> str:
        assert given.limit == 20_000
        times = [NOW - timedelta(seconds=20 * n) for n in range(found)]
        consume(pa.record_batch({"ts": times, "id": list(range(found))[::-1]}))
        return "SELECT"

    (field,) = _with_rises(0, answer)
    assert field.per_day == (pytest.approx(86_400 / 20) if is_known else None)
