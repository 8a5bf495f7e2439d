"""A whole collect of 100,000 series in one measurement against the one listing it needs, read raw to its end.

The collect compares the listing with the values of the days before, and its own are written to the history. Both run
against a real influxd, in turn; the quickest of several rounds are compared, because whatever else the machine does
can only slow them down. Exits with 1 when the collect takes more than twice as long.
"""

from __future__ import annotations

import functools
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from urllib.parse import urlencode

import urllib3

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.builders import DAY, NOW
from tests.databases import CROWDED_SERIES, write_crowded
from tests.servers import run_influxd
from tsaudit.collect import collect
from tsaudit.config import Target
from tsaudit.connectors import open_connection
from tsaudit.history.store import Store
from tsaudit.history.value_sets import RememberedValues

ROUNDS = 9
MOST = 2.0


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        for server in run_influxd(Path(folder)):
            target = write_crowded(server.url)
            with Store.open(f"sqlite:///{folder}/history.db") as store:
                for back in (2, 1):
                    _audit(target, store, DAY - timedelta(days=back))
                return _compare(functools.partial(_audit, target, store, DAY), functools.partial(_listing, server.url))
    return 1


def _audit(target: Target, store: Store, day: date) -> None:
    values = RememberedValues(store, target.name, day)
    with open_connection(target) as connection:
        profile = collect(target, connection, day=day, memory=values, now=NOW)
    with store.writing(target.name) as writing:
        values.write(writing)
    series = profile.measurements[0].series
    assert series is not None
    assert series.value == CROWDED_SERIES
    assert not profile.gaps


def _listing(url: str) -> None:
    body = urlencode({"q": "SHOW SERIES ON crowded FROM hits", "chunked": "true", "chunk_size": "10000"})
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    response = urllib3.request("POST", f"{url}/query", body=body, headers=headers, preload_content=False)
    while response.read(1 << 16):
        pass


def _compare(audit: Callable[[], None], listing: Callable[[], None]) -> int:
    seconds: dict[str, list[float]] = {"collect": [], "listing": []}
    for _ in range(ROUNDS):
        for name, run in (("collect", audit), ("listing", listing)):
            began = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - began)
    collect_s, listing_s = (min(seconds[name]) for name in ("collect", "listing"))
    middle = statistics.median(seconds["collect"]) / statistics.median(seconds["listing"])
    ratio = collect_s / listing_s
    print(f"collect {collect_s:.3f} s, one listing {listing_s:.3f} s: {ratio:.2f}x, at most {MOST:g}x")
    print(f"medians of {ROUNDS} rounds: {middle:.2f}x")
    return 0 if ratio <= MOST else 1


if __name__ == "__main__":
    sys.exit(main())
