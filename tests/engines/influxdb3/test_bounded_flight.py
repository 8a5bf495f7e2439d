"""InfluxDB 3 over Arrow Flight: whatever the peer does, one clear line, in time, and in little memory."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from tests.databases import Dataset, Row, Table, times
from tests.engines.influxdb3.double import InfluxDB3
from tests.faults import proxy
from tests.faults.proxy import FaultyProxy, Moment, Strike
from tests.memory import watched
from tests.query_parameters import filled
from tsaudit.config.settings import Budget, Target
from tsaudit.engines.connection import FactError, Rows
from tsaudit.engines.influxdb3 import client as client3
from tsaudit.engines.opening import open_connection
from tsaudit.model.figures import Reason

pytestmark = pytest.mark.wall_clock

MOST_MB: Final = 300
LATE_S: Final = 2.5
_HTTP_2: Final = b"PRI * HTTP/2.0"
_DATA: Final = Dataset(
    [Table("t", ("host",), {"v": "float"}, [Row(t, {"host": f"h{i}"}, {"v": 1.0}) for i, t in enumerate(times(9))])],
    database="shop",
)

# In a process of its own, whose memory does not count.
_SERVER: Final = """
import time, pyarrow as pa, pyarrow.flight as flight, json
schema = pa.schema([("a", pa.string())])
def batch(size, rows):
    return pa.record_batch([pa.array(["x" * size] * rows)], schema=schema)
def batches(kind):
    if kind == "one big message":
        yield batch(1_000_000, 600)
    if kind == "bomb":
        yield pa.record_batch([pa.StringArray.from_buffers(
            1000, pa.py_buffer(b"".join((i * 1_000_000).to_bytes(4, "little") for i in range(1001))),
            pa.py_buffer(bytes(1_000_000_000)))], schema=schema)
    if kind == "dictionary":
        word = pa.array(["x" * 20_000_000])
        yield pa.record_batch([pa.DictionaryArray.from_arrays(pa.array([0] * 100, pa.int8()), word)], ["a"])
    if kind == "large":
        yield batch(1000, 25_000)
    if kind in ("large", "healthy"):
        yield batch(1, 1)
        return
    while kind == "endless":
        yield batch(1000, 1000)
    yield batch(1, 1)
    time.sleep(15)
class Server(flight.FlightServerBase):
    def do_get(self, context, ticket):
        kind = json.loads(ticket.ticket)["database"]
        if kind == "dictionary":
            only = next(batches(kind))
            return flight.RecordBatchStream(pa.Table.from_batches([only]))
        options = pa.ipc.IpcWriteOptions(compression="zstd" if kind == "bomb" else None)
        return flight.GeneratorStream(schema, batches(kind), options)
server = Server("grpc+tcp://127.0.0.1:0")
print(server.port, flush=True)
server.serve()
"""


@pytest.fixture(scope="module")
def peer() -> Iterator[tuple[int, int]]:
    """The process and the port of a server whose databases are named for what it does wrong."""
    with subprocess.Popen([sys.executable, "-c", _SERVER], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield server.pid, int(server.stdout.readline())
        server.kill()


@pytest.fixture
def way(peer: tuple[int, int]) -> Iterator[client3.Flight]:
    flight = client3.Flight(f"http://127.0.0.1:{peer[1]}", "token")
    yield flight
    flight.close()


@contextmanager
def _in_time(seconds: float, children: bool = False, besides: Container[int] = ()) -> Iterator[None]:
    began = time.monotonic()
    with watched(children, besides) as peak:
        yield
    assert time.monotonic() - began < seconds
    assert peak.megabytes < MOST_MB


def _read(way: client3.Flight, database: str, seconds: float) -> FactError:
    """Why the answer did not come whole."""
    answer = way.run(
        database, "SELECT 1", time.monotonic() + seconds, Rows("", iter(())), client3.ListedColumns(("a",))
    )
    with pytest.raises(FactError) as raised:
        for _batch in answer:
            pass
    assert "\n" not in raised.value.detail
    return raised.value


def _rows(way: client3.Flight, database: str, seconds: float = 20) -> list[int]:
    columns = client3.ListedColumns(("a",))
    answer = way.run(database, "SELECT 1", time.monotonic() + seconds, Rows("", iter(())), columns)
    return [batch.num_rows for batch in answer]


@pytest.mark.wall_clock
@pytest.mark.parametrize(
    ("database", "words"),
    [
        ("one big message", "32 MB"),  # 600 MB, which gRPC collects before it refuses them
        ("bomb", "150 MB of memory"),  # 1 GB out of 100 kB, decompressed in one call
        ("dictionary", "32 MB|150 MB of memory"),  # 2 GB as soon as it is text
    ],
)
def test_what_takes_much_memory(way: client3.Flight, peer: tuple[int, int], database: str, words: str) -> None:
    """Neither this process nor the one that reads for it takes more than it may, and the connection stays usable."""
    assert _rows(way, "healthy") == [1]  # the reading process is there, and belongs to what is normal
    with _in_time(20, children=True, besides={peer[0]}):
        error = _read(way, database, 20)
    assert error.reason is Reason.FAILED
    assert re.search(words, error.detail), error.detail
    assert _rows(way, "healthy") == [1]


@pytest.mark.wall_clock
def test_large_batch_comes_whole(way: client3.Flight, peer: tuple[int, int]) -> None:
    """25 MB in one message, more than any server sends, is no fault; nor are four of them one after the other."""
    assert _rows(way, "healthy") == [1]
    with _in_time(30, children=True, besides={peer[0]}):
        for _ in range(4):
            assert sum(_rows(way, "large")) == 25_001


def test_token_is_in_no_list_of_processes(peer: tuple[int, int]) -> None:
    flight = client3.Flight(f"http://127.0.0.1:{peer[1]}", "a-distinctive-token")
    answer = flight.run(
        "silent in the middle", "SELECT 1", time.monotonic() + 20, Rows("", iter(())), client3.ListedColumns(("a",))
    )
    assert next(answer).num_rows == 1
    reader = flight._reader
    assert reader is not None
    for file in ("cmdline", "environ"):
        assert b"distinctive" not in Path(f"/proc/{reader.pid}/{file}").read_bytes()
    del answer  # nobody wants the rest
    assert not reader.alive()
    flight.close()


def test_reader_that_is_gone_is_replaced(way: client3.Flight) -> None:
    assert _rows(way, "healthy") == [1]
    assert way._reader is not None
    os.kill(way._reader.pid, signal.SIGKILL)
    time.sleep(0.2)
    assert _rows(way, "healthy") == [1]


@pytest.mark.wall_clock
@pytest.mark.parametrize("database", ["endless", "silent in the middle"])
def test_answer_without_end(way: client3.Flight, database: str) -> None:
    with _in_time(1 + LATE_S):
        assert _read(way, database, 1).reason is Reason.TIMED_OUT


@pytest.mark.wall_clock
def test_waiting_thread_is_woken_by_an_abort(way: client3.Flight) -> None:
    further = way.again()
    answer = further.run(
        "silent in the middle", "SELECT 1", time.monotonic() + 20, Rows("", iter(())), client3.ListedColumns(("a",))
    )
    assert next(answer).num_rows == 1
    threading.Timer(0.3, further.abort).start()
    with _in_time(0.3 + LATE_S), pytest.raises(FactError):
        list(answer)
    further.close()


@pytest.mark.wall_clock
def test_abort_before_there_is_anything_to_cancel(way: client3.Flight) -> None:
    """No answer at all, not even a whole one, counts after it."""
    further = way.again()
    further.abort()
    with _in_time(LATE_S):
        assert _read(further, "silent in the middle", 20).reason is Reason.TIMED_OUT
    further.close()


@pytest.fixture(scope="module")
def server() -> Iterator[InfluxDB3]:
    stand_in = InfluxDB3()
    stand_in.write(_DATA)
    yield stand_in
    stand_in.stop()


@contextmanager
def _proxied(
    server: InfluxDB3, strike: Strike, when: Callable[[bytes], bool], statement_s: float = 10.0
) -> Iterator[tuple[FaultyProxy, Target]]:
    faulty = FaultyProxy(("127.0.0.1", int(server.url.rpartition(":")[2])), strike, Moment(when))
    try:
        yield (
            faulty,
            Target(
                name="t",
                engine="influxdb3",
                url=f"http://127.0.0.1:{faulty.port}",
                databases=("shop",),
                budget=Budget(statement_timeout_s=statement_s, deadline_s=30),
                **server.login,
            ),
        )
    finally:
        faulty.close()


BAD: Final[dict[str, Strike]] = {
    "silent": proxy.silent,
    "closed": proxy.closed,
    "dripping": partial(proxy.dripping, pauses=4),
    "stalled": partial(proxy.stalled, after=9),
    "noise": proxy.endless(b"", b"x" * 64),
    "frames": proxy.endless(b"", b"\0" * 64),
}


@pytest.mark.wall_clock
@pytest.mark.parametrize("strike", BAD.values(), ids=BAD)
def test_only_http_1_comes_through(server: InfluxDB3, strike: Strike) -> None:
    """/ping is answered, Flight is not: the other way is taken, or the target is not audited; in time."""
    with _proxied(server, strike, lambda piece: _HTTP_2 in piece, 2.0) as (faulty, target), _in_time(5 + LATE_S):
        faulty.moment = Moment(lambda piece: _HTTP_2 in piece, once=True)
        with open_connection(target) as connection:
            assert connection.server_version.startswith("Core 3")
            list(connection.query("measurements", 60, filled("measurements", database="shop")))


@pytest.mark.wall_clock
@pytest.mark.parametrize("strike", BAD.values(), ids=BAD)
def test_statement_ends_in_time(server: InfluxDB3, strike: Strike) -> None:
    armed: list[int] = []
    with _proxied(server, strike, lambda _: bool(armed)) as (_, target), open_connection(target) as connection:
        armed.append(1)
        with _in_time(1 + LATE_S), pytest.raises(FactError) as raised:
            list(connection.query("measurements", 1, filled("measurements", database="shop")))
        assert raised.value.reason in (Reason.TIMED_OUT, Reason.UNREACHABLE, Reason.FAILED)
        assert "\n" not in raised.value.detail
