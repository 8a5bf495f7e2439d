"""STO019: chunks that do not fit in the memory."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tests.builders import NOW, a_count, a_measurement, a_profile
from tests.collecting import collected
from tests.engines.postgresql.timescaledb import Timescaledb
from tests.rules.cases import run_rule
from tsaudit.engines.postgresql.rules.long_chunks import long_chunks as rule
from tsaudit.model.figures import FOREVER
from tsaudit.model.finding import Finding, Severity
from tsaudit.model.profile import Measurement, Profile
from tsaudit.model.server import ServerStatus
from tsaudit.model.storage import Partition, Partitioning, Retention, Storage

GB = 10**9
CASES = ()
"""Only TimescaleDB has such chunks, and the tests write no data sets to it."""


def _table(name: str = "conditions", chunk: int | None = 14 * GB, **changes: Any) -> Measurement:
    """Ten days of chunks of 7 days, whose indexes take half as much again."""
    cut = Partitioning(("time",), 2, (Partition("_hyper_1_2_chunk", "", 10**8, chunk),))
    made = a_measurement(
        name,
        rows=a_count(10**9),
        partitioning=cut,
        retention=Retention("drop_after", FOREVER, 7 * 86_400, default=True),
        storage=Storage(20 * GB, 10 * GB),
    )
    return replace(made, first_time=NOW - timedelta(days=10), last_time=NOW, **changes)


def _profile(*tables: Measurement, cached: float | None = 48 * GB) -> Profile:
    status = ServerStatus(settings={} if cached is None else {"effective_cache_size": cached})
    return replace(a_profile(*tables, engine="postgresql"), server=status)


def _found(*tables: Measurement, cached: float | None = 48 * GB) -> tuple[Finding, ...]:
    return run_rule(rule, _profile(*tables, cached=cached)).findings


def test_chunk_that_is_larger_than_a_quarter_of_the_memory() -> None:
    (finding,) = _found(_table())
    assert finding.severity is Severity.NOTE
    assert finding.message == ("A chunk of 7 days takes 21 GB with its indexes; a quarter of the memory is 16 GB.")
    # 16 of 21 GB are 5.3 of 7 days.
    assert finding.fix == "Set a chunk interval of at most 5 days. It holds for new chunks."


def test_all_hypertables_share_the_memory() -> None:
    small = _table("small", chunk=GB)
    (finding,) = _found(_table(chunk=10 * GB), small)
    assert finding.subject.measurement == "conditions"
    assert finding.message.startswith(
        "A chunk of 7 days takes 15 GB with its indexes, and those of all 2 hypertables 16.5 GB;"
    )
    assert _found(_table(chunk=10 * GB)) == ()


@pytest.mark.parametrize(
    "table",
    [
        _table(chunk=10 * GB),
        _table(chunk=None),
        _table(partitioning=None),
        _table(retention=None),
        replace(_table(), last_time=NOW - timedelta(days=9)),
    ],
    ids=["fits", "size not known", "no chunks", "interval not known", "not written anymore"],
)
def test_silence(table: Measurement) -> None:
    assert _found(table) == ()


def test_silence_when_nobody_says_how_much_memory_there_is() -> None:
    assert _found(_table(), cached=None) == ()


def test_what_a_server_says(timescaledb: Timescaledb) -> None:
    profile = collected(timescaledb.target)
    assert profile.server is not None
    assert "effective_cache_size" not in profile.server.settings, "the default says nothing"
    with timescaledb.connect() as connection:
        database = connection.info.dbname
        connection.execute(f"ALTER DATABASE {database} SET effective_cache_size = '48 MB'")
        connection.commit()
        try:
            profile = collected(timescaledb.target)
        finally:
            connection.execute(f"ALTER DATABASE {database} RESET effective_cache_size")
            connection.commit()
    assert profile.server is not None
    assert profile.server.settings["effective_cache_size"] == 48 * 1024 * 1024
    assert run_rule(rule, profile).findings == (), "64 MB, and chunks of 864 rows"
