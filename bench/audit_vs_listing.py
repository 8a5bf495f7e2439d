"""A whole collect of one measurement with very many series against the one listing it needs, read raw to its end.

The collect compares the listing with the values of the days before, and its own are written to the history. Both run
against a real server, in turn; ratios are taken within each round, and their median counts, so that a moment in which
the machine did something else does not. Exits with 1 when the collect takes more than `Subject.most` times as long, or
asks more of the server than a few statements for each measurement.

On InfluxDB 1.x: 100,000 series in four shards alone, then 200,000 beside eleven other measurements. The latter on
InfluxDB 2.x, too, where TSAUDIT_INFLUXDB2_URL and TSAUDIT_INFLUXDB2_TOKEN (an operator's) name a server for tests.
"""

from __future__ import annotations

import contextlib
import functools
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from urllib.parse import urlencode

import urllib3

from tests.builders import DAY, NOW
from tests.databases import CROWDED_SERIES, write, write_crowded
from tests.engines.influx.family import FAMILY, REQUESTS
from tests.engines.influxdb2.conversations import REAL, conversation
from tests.servers import run_influxd
from tsaudit.collect import collect
from tsaudit.config.settings import Target
from tsaudit.engines.opening import open_connection
from tsaudit.history.store import Store
from tsaudit.history.value_sets import RememberedValues

ROUNDS = 9
SLICES = 6.0
"""Rows of 20,000 series are read beside the listing of 100,000, which is short. That takes a second, however many there
are in all.
"""
PER_MEASUREMENT, PER_TARGET = 3, 13


@dataclass(frozen=True)
class Subject:
    """What is audited, and the listing it takes."""

    target: Target
    measurement: str
    series: int
    listing: str
    most: float = 2.0
    """How many times as long as the listing the collect may take."""
    token: str = ""


def main() -> int:
    missed = 0
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as servers:
        for subject in _subjects(folder, servers):
            print(f"{subject.target.engine}, {subject.series:,} series in {subject.measurement}:")
            with Store.open(f"sqlite:///{folder}/history_{subject.target.name}.db") as store:
                for back in (2, 1):
                    _audit(subject, store, DAY - timedelta(days=back))
                missed += _compare(subject, store)
    return min(missed, 1)


def _subjects(folder: str, servers: contextlib.ExitStack) -> Iterator[Subject]:
    server = servers.enter_context(contextlib.contextmanager(run_influxd)(Path(folder)))
    yield Subject(write_crowded(server.url), "hits", CROWDED_SERIES, "SHOW SERIES ON crowded FROM hits", SLICES)
    listing = "SHOW SERIES ON family FROM requests"
    yield Subject(write(FAMILY, "influxdb1", server.url, name="family"), "requests", REQUESTS, listing)
    if REAL:
        second = servers.enter_context(conversation("bench"))
        target = write(FAMILY, "influxdb2", second, url=REAL, name="family2")
        yield Subject(target, "requests", REQUESTS, listing, token=second.token)


def _audit(subject: Subject, store: Store, day: date) -> None:
    target = subject.target
    values = RememberedValues(store, target.name, day)
    with open_connection(target) as connection:
        profile = collect(target, connection, day=day, memory=values, now=NOW)
    with store.writing(target.name) as writing:
        values.write(writing)
    series = next(m.series for m in profile.measurements if m.name == subject.measurement)
    assert series is not None
    assert series.value == subject.series
    assert not profile.gaps
    statements = sum(cost.statements for cost in profile.costs)
    assert statements <= PER_TARGET + PER_MEASUREMENT * len(profile.measurements), f"{statements} statements"


def _listing(subject: Subject) -> None:
    body = urlencode({"q": subject.listing, "chunked": "true", "chunk_size": "10000"})
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    if subject.token:
        headers["Authorization"] = f"Token {subject.token}"
    url = subject.target.url.get_secret_value()
    response = urllib3.request("POST", f"{url}/query", body=body, headers=headers, preload_content=False)
    assert response.status == 200
    while response.read(1 << 16):
        pass


def _compare(subject: Subject, store: Store) -> int:
    audit, listing = functools.partial(_audit, subject, store, DAY), functools.partial(_listing, subject)
    seconds: dict[str, list[float]] = {"collect": [], "listing": []}
    for _ in range(ROUNDS):
        for name, run in (("collect", audit), ("listing", listing)):
            began = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - began)
    ratios = sorted(collect / listing for collect, listing in zip(*seconds.values(), strict=True))
    collect_s, listing_s = (statistics.median(seconds[name]) for name in ("collect", "listing"))
    ratio = statistics.median(ratios)
    print(f"collect {collect_s:.3f} s, one listing {listing_s:.3f} s: {ratio:.2f}x, at most {subject.most:g}x")
    quickest = min(seconds["collect"]) / min(seconds["listing"])
    print(f"{ROUNDS} rounds, from {ratios[0]:.2f}x to {ratios[-1]:.2f}x; quickest against quickest {quickest:.2f}x")
    return 0 if ratio <= subject.most else 1


if __name__ == "__main__":
    sys.exit(main())
