"""The process that reads Arrow Flight, so that ending it frees all memory it used; see `client`.

gRPC receives a complete message before it refuses it, and Arrow decompresses a batch in one call: the memory for either
can only be limited by ending the process.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import pyarrow as pa

if TYPE_CHECKING:
    from pyarrow.flight import FlightClient

AT_WORK: Final = b"W"
BATCH: Final = b"B"
ERROR: Final = b"E"
"""An error, as a JSON list: its kind, which is one of those below, and the server's message."""
DONE: Final = b"D"
"""The end of a response. Its contents are not empty if the process has grown and should be replaced."""

TIMED_OUT, DENIED, CANCELLED, UNAVAILABLE, OTHER = "timed out", "denied", "cancelled", "unavailable", "other"

TOO_MUCH: Final = 70
"""The exit code of a process that used too much memory."""
MOST_TAKEN: Final = 150_000_000
"""Maximum bytes of resident memory beyond those at the start; as many are reserved for growth between checks."""
MOST_MESSAGE: Final = 32_000_000
"""Maximum size of one message in bytes. Arrow sets no limit; servers split their data into messages of about 2 MB."""
_LOOK_S: Final = 0.01
_PIECE: Final = 4_000_000
_MOST_PIECE: Final = 32_000_000
_WORN: Final = 60_000_000
_WORDS: Final = 4_000
_STATM: Final = Path("/proc/self/statm")
_OPTIONS: Final = (
    ("grpc.max_receive_message_length", MOST_MESSAGE),
    # The server may send at most 4 MiB ahead of the reader, instead of as much as the network allows.
    ("grpc.http2.bdp_probe", 0),
    ("grpc.http2.lookahead_bytes", 4_194_304),
)


def serve(descriptor: int) -> None:
    """Read requests as JSON from a pipe until its end, and answer each with pairs of messages: kind and contents."""
    parent, pipe = os.getppid(), Connection(descriptor)
    import pyarrow.flight  # noqa: F401 -- before the memory at the start is measured

    guard = _Guard(parent)
    with contextlib.suppress(EOFError):
        while True:
            request = json.loads(pipe.recv_bytes())
            guard.busy.set()
            _answer(pipe, request)
            pa.default_memory_pool().release_unused()
            guard.busy.clear()
            _send(pipe, DONE, b"worn" if guard.taken() > _WORN else b"")


class _Guard:
    """Ends this process when it uses too much memory, or when its parent process is gone."""

    def __init__(self, parent: int) -> None:
        self._parent = parent
        self._before = _resident()
        self.busy = threading.Event()
        threading.Thread(target=self._watch, daemon=True).start()

    def taken(self) -> int:
        return _resident() - self._before

    def _watch(self) -> None:
        while os.getppid() == self._parent:
            if self.taken() > MOST_TAKEN:
                os._exit(TOO_MUCH)
            if self.busy.wait(1.0):
                time.sleep(_LOOK_S)
        os._exit(0)


def _resident() -> int:
    """Bytes of resident memory; the maximum so far if the system does not report the current value."""
    if _STATM.exists():
        return int(_STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    import resource

    highest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return highest if sys.platform == "darwin" else highest * 1024


@functools.cache
def _connected(address: str) -> FlightClient:
    from pyarrow import flight

    parts = urlsplit(address)
    scheme, port = ("grpc+tls", 443) if parts.scheme == "https" else ("grpc+tcp", 80)
    place = parts.netloc if parts.port else f"{parts.netloc}:{port}"
    return flight.FlightClient(f"{scheme}://{place}", generic_options=list(_OPTIONS))


def _answer(out: Connection, request: dict[str, Any]) -> None:
    from pyarrow import flight

    # The timeout, in seconds, is sent with the call, so the server cancels the query, too.
    bearer = f"Bearer {request['token']}".encode()
    options = flight.FlightCallOptions(timeout=request["timeout_s"], headers=[(b"authorization", bearer)])
    query = {"database": request["database"], "sql_query": request["statement"], "query_type": "sql"}
    reader = None
    try:
        reader = _connected(request["address"]).do_get(flight.Ticket(json.dumps(query).encode()), options)
        for chunk in reader:
            if not chunk.data.num_rows:
                _send(out, AT_WORK)
            for piece in _pieces(chunk.data):
                _send(out, BATCH, _stream(piece))
    except (pa.ArrowException, OSError) as error:
        _send(out, ERROR, json.dumps([_kind(error), str(error)[:_WORDS] or type(error).__name__]).encode())
    finally:
        if reader is not None:
            reader.cancel()


def _kind(error: BaseException) -> str:
    from pyarrow import flight

    if isinstance(error, flight.FlightTimedOutError):
        return TIMED_OUT
    if isinstance(error, flight.FlightUnauthenticatedError | flight.FlightUnauthorizedError):
        return DENIED
    if isinstance(error, flight.FlightCancelledError):
        return CANCELLED
    return UNAVAILABLE if isinstance(error, flight.FlightUnavailableError) else OTHER


def _pieces(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """The batch in parts of a few megabytes, without copying it as a whole. Raises pa.ArrowInvalid."""
    # Older versions of pyarrow cannot compute `nbytes` if a column is a string view.
    rows = max(1, batch.num_rows * _PIECE // max(_PIECE, batch.get_total_buffer_size()))
    for start in range(0, batch.num_rows, rows):
        piece = plain(batch.slice(start, rows))
        if piece.nbytes > _MOST_PIECE:
            raise pa.ArrowInvalid(f"rows of more than {_MOST_PIECE // 1_000_000} MB are not read")
        yield piece


def plain(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch without encodings that may differ between batches: dictionaries and views become strings."""
    arrays = [
        column.cast(pa.string())
        if pa.types.is_dictionary(column.type) or pa.types.is_string_view(column.type)
        else column
        for column in batch.columns
    ]
    return pa.RecordBatch.from_arrays(arrays, names=batch.schema.names)


def _stream(batch: pa.RecordBatch) -> pa.Buffer:
    stream = pa.BufferOutputStream()
    with pa.ipc.new_stream(stream, batch.schema) as writer:
        writer.write_batch(batch)
    return stream.getvalue()


def _send(out: Connection, kind: bytes, body: bytes | pa.Buffer = b"") -> None:
    out.send_bytes(kind)
    out.send_bytes(memoryview(body))
