"""Reads a server's counters from its metrics page, in the text format of Prometheus."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
from urllib3.exceptions import HTTPError

from tsaudit.engines.connection import FactError
from tsaudit.model.profile import Reason
from tsaudit.net import http
from tsaudit.net.http import BoundedPool, UnfitAnswerError, whole

_SAMPLE: Final = re.compile(rb"([A-Za-z_:][\w:]*)(?:\{(.*)\})?[ \t]+([^ \t\r\n]+)")
_LABEL: Final = re.compile(r'([A-Za-z_]\w*)="((?:[^"\\]|\\.)*)"')
_MOST_BYTES: Final = 20 << 20
_COLUMNS: Final = ("kind", "name", "database")

Row = tuple[str, str, str, float]
"""(kind, name, database, value), as in `server_status`."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One line of the page."""

    metric: str
    labels: Mapping[str, str]
    value: float


def read(url: str, headers: Mapping[str, str], timeout_s: float) -> list[bytes]:
    """The lines of the page. Raises FactError if access is refused, or there is no such page."""
    pool = BoundedPool()
    try:
        with pool.until(timeout_s):
            answer = pool.request("GET", url, headers=headers, timeout=timeout_s, preload_content=False)
            if answer.status != 200:
                reason = Reason.DENIED if answer.status in (401, 403) else Reason.UNSUPPORTED
                raise FactError(reason, f"/metrics cannot be read (HTTP {answer.status})")
            return whole(answer, _MOST_BYTES).splitlines()
    except TimeoutError as error:
        raise FactError(Reason.TIMED_OUT, f"no response within {timeout_s:.3g} s") from error
    except (UnfitAnswerError, HTTPError, OSError) as error:
        raise FactError(Reason.FAILED, f"/metrics cannot be read ({http.cause_of(error)})") from error
    finally:
        pool.clear()


def samples(lines: Iterable[bytes], metrics: Collection[str]) -> Iterator[Sample]:
    """The samples of the named metrics; other lines are not parsed."""
    for line in lines:
        found = _SAMPLE.match(line)
        if found and (metric := found[1].decode()) in metrics:
            labels = dict(_LABEL.findall((found[2] or b"").decode(errors="replace")))
            with suppress(ValueError):
                value = float(found[3])
                if math.isfinite(value):
                    yield Sample(metric, labels, value)


def counted(lines: Iterable[bytes], counters: Mapping[str, str], label: str = "") -> Iterator[Row]:
    """The counters of a page, each summed over all of its labels except for the database, and when they began.

    `counters`: metric to the name of the counter. `label`: the label with the name of the database; empty if the page
    has none.
    """
    sums: dict[tuple[str, str], float] = {}
    for sample in samples(lines, {*counters, _STARTED}):
        if sample.metric == _STARTED:
            yield "started", "", "", sample.value
        else:
            key = counters[sample.metric], sample.labels.get(label, "")
            sums[key] = sums.get(key, 0.0) + sample.value
    yield from (("counter", name, database, value) for (name, database), value in sums.items())


_STARTED: Final = "process_start_time_seconds"
"""https://prometheus.io/docs/instrumenting/writing_clientlibs/#process-metrics"""


def as_batch(rows: Iterable[Row]) -> pa.RecordBatch:
    """The rows as a record batch of the fact."""
    found = list(rows)
    texts = {name: pa.array([row[i] for row in found], pa.string()) for i, name in enumerate(_COLUMNS)}
    return pa.record_batch(texts | {"value": pa.array([row[3] for row in found], pa.float64())})
