"""Statements about several measurements that are sent ahead: what they may take, and what follows when they fail."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pytest

from tests.builders import NOW
from tsaudit.collect import query_runner
from tsaudit.collect.query_runner import QueryRunner
from tsaudit.config.settings import Budget, Target
from tsaudit.engines.connection import Connection, FactError, Rows, RowsOfSeveral
from tsaudit.model.facts import Given, OfMeasurement, OfNullCounts
from tsaudit.model.figures import Reason, Window

FACT = "null_counts"
ROWS = 1_000


class Server:
    """Answers about each measurement with numbers, and keeps what it was asked."""

    server_version = "1"

    def __init__(self) -> None:
        self.together: list[tuple[float, list[str]]] = []
        """The time limit and the measurements of each statement about several."""
        self.alone: list[str] = []
        self.fails: FactError | None = None
        self.is_gone = False
        self.takes_s = 0.0

    def query(self, fact: str, timeout_s: float, given: Given) -> Rows:
        self.alone.append(given.subject[1] or fact)
        if self.is_gone:
            raise FactError(Reason.UNREACHABLE, "no answer")
        names = pa.record_batch({"database": ["d"]})
        return Rows("alone", iter([names if fact == "databases" else _numbers()]))

    def query_together(self, fact: str, timeout_s: float, given: Sequence[OfMeasurement]) -> RowsOfSeveral:
        self.together.append((timeout_s, [one.measurement for one in given]))
        time.sleep(self.takes_s)
        if self.fails:
            raise self.fails
        rows = RowsOfSeveral("together", {one.measurement: "alone" for one in given})

        def each() -> Iterator[pa.RecordBatch]:
            for one in given:
                rows.measurement = one.measurement
                yield _numbers()

        return rows.reading(each())

    def reconnect(self) -> Connection:
        return self

    def abort(self) -> None: ...

    def close(self) -> None: ...


def _numbers() -> pa.RecordBatch:
    counts = pa.array(range(ROWS), pa.int64())
    times = pa.array([NOW] * ROWS, pa.timestamp("us", "UTC"))
    return pa.record_batch({"rows": counts, "first_time": times, "last_time": times})


def _runner(server: Server, **budget: float) -> QueryRunner:
    target = Target(name="t", engine="duckdb", url="duckdb:///t.duckdb", budget=Budget(**budget))
    return QueryRunner(target, server, Window(NOW - target.window, NOW))


def _about(*names: str) -> list[OfNullCounts]:
    return [
        OfNullCounts(
            database="d",
            measurement=name,
            tags=(),
            fields=(),
            time=None,
            time_kind=None,
            policies=(),
            start=NOW,
            end=NOW,
            later=None,
        )
        for name in names
    ]


def _rows_of(runner: QueryRunner, name: str) -> int:
    """The rows of the response about one measurement."""
    batches: list[pa.RecordBatch] = []
    (given,) = _about(name)
    runner.query(FACT, batches.append, given)
    return sum(batch.num_rows for batch in batches)


def test_responses_kept_have_a_size_in_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query_runner, "_MOST_PREFETCHED", 5 * 24 * ROWS)
    server = Server()
    runner = _runner(server)
    for names in (("a", "b"), ("c", "d", "e"), ("f", "g"), ("h", "i")):
        runner.prefetch(FACT, _about(*names))
    # With the second they are as big as they may be.
    assert [names for _, names in server.together] == [["a", "b"], ["c", "d", "e"]]
    assert {_rows_of(runner, name) for name in "abcdefghi"} == {ROWS}
    assert server.alone == ["f", "g", "h", "i"]
    # Those were taken, so there is room again.
    runner.prefetch(FACT, _about("j", "k"))
    assert server.together[-1][1] == ["j", "k"]


def test_only_one_response_is_dropped_because_it_does_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query_runner, "_MOST_PREFETCHED", 5 * 24 * ROWS)
    server = Server()
    runner = _runner(server)
    for names in (("a", "b"), ("c", "d", "e", "f"), ("g", "h")):
        runner.prefetch(FACT, _about(*names))
    assert [names for _, names in server.together] == [["a", "b"], ["c", "d", "e", "f"]]
    assert {_rows_of(runner, name) for name in "abcdefgh"} == {ROWS}
    assert server.alone == ["c", "d", "e", "f", "g", "h"]
    runner.drop_prefetched()
    runner.prefetch(FACT, _about("i", "j", "k", "l", "m"))
    assert _rows_of(runner, "m") == ROWS
    assert "m" not in server.alone


def test_responses_that_nobody_took_are_dropped() -> None:
    server = Server()
    runner = _runner(server)
    runner.prefetch(FACT, _about("a", "b"))
    runner.drop_prefetched()
    assert _rows_of(runner, "a") == ROWS
    assert server.alone == ["a"]


def test_most_of_the_time_is_left_for_each_alone() -> None:
    server = Server()
    _runner(server, deadline_s=100).prefetch(FACT, _about("a", "b"))
    ((timeout, _),) = server.together
    assert 20 < timeout <= 25


@pytest.mark.wall_clock
def test_statements_that_brought_nothing_come_to_an_end() -> None:
    server = Server()
    server.fails, server.takes_s = FactError(Reason.FAILED, "a column is gone"), 0.06
    runner = _runner(server, deadline_s=1)
    for _ in range(5):
        runner.prefetch(FACT, _about("a", "b"))
    assert len(server.together) == 2
    assert not runner.gaps
    assert _rows_of(runner, "a") == ROWS


@pytest.mark.parametrize("reason", [Reason.UNREACHABLE, Reason.TIMED_OUT])
def test_server_that_is_gone_is_not_asked_again(reason: Reason) -> None:
    server = Server()
    server.fails, server.is_gone = FactError(reason, "silence"), True
    runner = _runner(server)
    for _ in range(5):
        runner.prefetch(FACT, _about("a", "b"))
    assert len(server.together) == 1
    assert server.alone == ["databases"]
    assert _rows_of(runner, "a") == 0
    assert [(gap.reason, gap.measurement) for gap in runner.gaps] == [(Reason.UNREACHABLE, "a")]


@pytest.mark.parametrize(
    ("reason", "spoils"),
    [(Reason.DENIED, True), (Reason.FAILED, True), (Reason.OVER_BUDGET, False), (Reason.UNSUPPORTED, False)],
)
def test_measurement_whose_statement_failed_would_spoil_others(reason: Reason, spoils: bool) -> None:
    runner = _runner(Server())
    runner.gap(FACT, reason, "", "d", "a")
    runner.gap("storage", Reason.FAILED, "", "d", "b")
    assert [runner.has_failed("d", name) for name in "ab"] == [spoils, False]
