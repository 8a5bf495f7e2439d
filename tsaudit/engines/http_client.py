"""Requests to servers over HTTP, and their responses: the body line by line as it arrives, what is wrong with one that
cannot be used, and the counters on a metrics page, in the text format of Prometheus.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import urlsplit

import urllib3
from urllib3.exceptions import HTTPError

from tsaudit.engines.connection import ConnectorError, FactError, Rows, fact_batch
from tsaudit.model.facts import FACTS
from tsaudit.model.figures import Reason
from tsaudit.net import http
from tsaudit.net.http import BoundedPool, TooBigAnswerError, UnfitAnswerError, whole

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")

MOST_BYTES: Final = 20 << 20
"""Maximum size in bytes of a response that is collected before it is used: lists of names, not of series. In memory,
each name takes ten times its size.
"""
LONGEST_LINE: Final = 24 << 20
"""Maximum length of a line in bytes: a chunk of 10,000 rows is one line."""
_READ_BYTES: Final = 1 << 16


def lines(response: urllib3.BaseHTTPResponse, rows: Rows, most: int | None = None) -> Iterator[bytes]:
    """The lines of the body without line endings, including an unterminated last line; the bytes received are recorded.

    `most`: maximum size of the whole body; None for a response that is used as it arrives. Use it inside the pool's
    `until`, which limits the time. Raises UnfitAnswerError if there is too much, urllib3's errors, and OSError if the
    body ends early.
    """
    parts: list[bytes] = []
    received = waiting = 0
    data = b"..."
    while data:
        # Returns the available data instead of waiting until the buffer is full.
        data = response.read1(_READ_BYTES)
        received += len(data)
        rows.bytes = (rows.bytes or 0) + len(data)
        if most is not None and received > most:
            raise TooBigAnswerError(f"the response has more than {most >> 20} MiB")
        *ends, rest = data.split(b"\n")
        for end in ends:
            yield b"".join([*parts, end])
            parts.clear()
            waiting = 0
        parts.append(rest)
        waiting += len(rest)
        if waiting > LONGEST_LINE:
            raise TooBigAnswerError(f"a line of the response has more than {LONGEST_LINE >> 20} MiB")
    if last := b"".join(parts):
        yield last


def json_object(body: bytes) -> dict[str, Any]:
    """The object that a whole response, or a line of it, is. Raises FactError if it is anything else."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError) as error:
        what = "is a web page, not JSON" if http.is_page({}, body) else "is not JSON"
        raise FactError(Reason.FAILED, f"the response {what}; is there a proxy in between?") from error
    if not isinstance(found, dict):
        raise FactError(Reason.FAILED, "the response is not an object; is there a proxy in between?")
    return found


class HttpClient:
    """A pool of connections to one server, used by one thread at a time, except for `abort`."""

    def __init__(self, url: str, headers: Mapping[str, str], connect_timeout_s: float) -> None:
        """`headers`: sent with all requests. Nothing is sent yet."""
        self.url, self.headers = url, headers
        self._connect_timeout_s = connect_timeout_s
        self._pool = BoundedPool(headers=headers)

    def close(self) -> None:
        """Close the connections; the server aborts their current statements."""
        self._pool.clear()

    def abort(self) -> None:
        """Shut the connections down, from any thread; the server aborts the statement."""
        self._pool.abort()

    def greet(self, read: Callable[[urllib3.BaseHTTPResponse], T]) -> T:
        """What `read` makes of the response to `/ping`. Raises ConnectorError if there is none. On any error, the
        connections are closed.
        """
        limit = self._connect_timeout_s
        try:
            with self._pool.until(limit):
                response = self._pool.request("GET", f"{self.url}/ping", timeout=limit)
            return read(response)
        except BaseException as error:
            self.close()
            if isinstance(error, HTTPError | OSError):
                raise ConnectorError(f"{self.url} does not respond: {http.cause_of(error)}") from error
            raise

    def send(self, method: str, path: str, timeout_s: float, **content: Any) -> urllib3.BaseHTTPResponse:
        """The response with any status; unless it is an error, its body has not been read yet. Raises the errors that
        `translated` converts. `content`: as for `urllib3.PoolManager.request`.
        """
        # The socket's own timeout must come after that of the pool.
        timeout = urllib3.Timeout(connect=min(self._connect_timeout_s, timeout_s), read=timeout_s + 1)
        return self._pool.request(method, f"{self.url}{path}", timeout=timeout, preload_content=False, **content)

    @contextmanager
    def translated(self, timeout_s: float) -> Iterator[None]:
        """Converts errors inside the `with` block to FactError, and aborts the work when the time is up."""
        try:
            with self._pool.until(timeout_s):
                yield
        except TimeoutError as error:
            raise timed_out(timeout_s) from error
        except UnfitAnswerError as error:
            raise unfit(error) from error
        except (HTTPError, OSError) as error:
            raise FactError(Reason.UNREACHABLE, f"the connection broke ({http.cause_of(error)})") from error


def timed_out(timeout_s: float) -> FactError:
    """The error for a statement that was stopped because its time was up."""
    return FactError(Reason.TIMED_OUT, f"canceled after {timeout_s:.3g} s")


def unfit(error: UnfitAnswerError) -> FactError:
    """The error for a response that cannot be used."""
    return FactError(Reason.OVER_BUDGET if isinstance(error, TooBigAnswerError) else Reason.FAILED, str(error))


_SAMPLE: Final = re.compile(rb"([A-Za-z_:][\w:]*)(?:\{(.*)\})?[ \t]+([^ \t\r\n]+)")
_LABEL: Final = re.compile(r'([A-Za-z_]\w*)="((?:[^"\\]|\\.)*)"')

StatusRow = tuple[str, str, str, float]
"""(kind, name, database, value), as in `server_status`."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One line of the page."""

    metric: str
    labels: Mapping[str, str]
    value: float


def read_page(url: str, headers: Mapping[str, str], timeout_s: float) -> list[bytes]:
    """The lines of the page. Raises FactError if access is refused, or there is no such page."""
    pool = BoundedPool()
    try:
        with pool.until(timeout_s):
            answer = pool.request("GET", url, headers=headers, timeout=timeout_s, preload_content=False)
            if answer.status != 200:
                known = {401: Reason.DENIED, 403: Reason.DENIED, 404: Reason.UNSUPPORTED}
                reason = known.get(answer.status, Reason.FAILED)
                raise FactError(reason, f"{urlsplit(url).path} cannot be read (HTTP {answer.status})")
            return whole(answer, MOST_BYTES).splitlines()
    except TimeoutError as error:
        raise FactError(Reason.TIMED_OUT, f"no response within {timeout_s:.3g} s") from error
    except (UnfitAnswerError, HTTPError, OSError) as error:
        raise FactError(Reason.FAILED, f"{urlsplit(url).path} cannot be read ({http.cause_of(error)})") from error
    finally:
        pool.clear()


def metric_samples(page: Iterable[bytes], metrics: Collection[str]) -> Iterator[Sample]:
    """The samples of the named metrics; other lines are not parsed."""
    for line in page:
        found = _SAMPLE.match(line)
        if found and (metric := found[1].decode()) in metrics:
            labels = dict(_LABEL.findall((found[2] or b"").decode(errors="replace")))
            with suppress(ValueError):
                value = float(found[3])
                if math.isfinite(value):
                    yield Sample(metric, labels, value)


def counted_metrics(page: Iterable[bytes], counters: Mapping[str, str], label: str = "") -> Iterator[StatusRow]:
    """The counters of a page, each summed over all of its labels except for the database, and when they began.

    `counters`: metric to the name of the counter. `label`: the label with the name of the database; empty if the page
    has none.
    """
    sums: dict[tuple[str, str], float] = {}
    for sample in metric_samples(page, {*counters, _STARTED}):
        if sample.metric == _STARTED:
            yield "started", "", "", sample.value
        else:
            key = counters[sample.metric], sample.labels.get(label, "")
            sums[key] = sums.get(key, 0.0) + sample.value
    yield from (("counter", name, database, value) for (name, database), value in sums.items())


_STARTED: Final = "process_start_time_seconds"
"""https://prometheus.io/docs/instrumenting/writing_clientlibs/#process-metrics"""


def status_batch(rows: Iterable[StatusRow]) -> pa.RecordBatch:
    """The rows as a record batch of `server_status`, or of `server_counters`, which has the same columns."""
    columns = FACTS["server_status"].columns
    return fact_batch("server_status", (dict(zip(columns, row, strict=True)) for row in rows))
