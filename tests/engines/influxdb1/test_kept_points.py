"""Points that the server accepted, and that others with the same tags and time replaced: SRV001 on InfluxDB 1.x.

Expected: what cannot be explained by a writer that sends each field, or a few groups of them, as points of their own is
a warning from 1 % on. What clients repeat after errors, and what two agents write twice, is none.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import Final

import pytest

from tests.builders import NOW
from tests.collecting import collected
from tests.databases import influxql, write_lines
from tests.servers import Influxd
from tsaudit.config.settings import Target
from tsaudit.engines.connection import FactError
from tsaudit.engines.influxdb1 import answers
from tsaudit.engines.influxdb1.answers import AcceptedShard, Kept, overwritten
from tsaudit.engines.influxdb1.connector import Client
from tsaudit.evaluation import evaluate
from tsaudit.model.figures import Reason
from tsaudit.model.finding import Finding, Severity

FIELDS: Final = ("bytes", "packets", "sport", "dport", "duration", "flags")


def _held(rows: int, *values: int) -> Kept:
    return Kept(rows, Counter({f"f{n}": count for n, count in enumerate(values)}))


@pytest.mark.parametrize(
    ("accepted", "held", "name", "lost"),
    [
        (1_000, {"cpu": _held(1_000, 1_000, 1_000)}, "cpu", 0),
        # More points than values.
        (20_000, {"flow": _held(1_000, *[1_000] * 6)}, "flow", 16_000),
        # Fewer: nobody writes a row of 30 fields in twenty pieces.
        (20_000, {"flow": _held(1_000, *[1_000] * 30)}, "flow", 16_000),
        (1_300, {"flow": _held(1_000, *[1_000] * 30)}, "flow", 300),
        # Each field by itself, some of them again; and in groups.
        (6_000, {"plc": _held(1_000, *[1_000] * 6)}, "plc", 0),
        (6_050, {"plc": _held(1_000, *[1_000] * 6)}, "plc", 50),
        (3_000, {"plc": _held(1_000, *[1_000] * 6)}, "plc", 0),
        # Temperature and humidity of each of ten rooms, with names of their own and at times of their own.
        (10_000, {"home": _held(1_000, *[1_000] * 20)}, "home", 0),
        (10_500, {"home": _held(1_000, *[1_000] * 20)}, "home", 6_500),
        # A group that some rows lack.
        (1_990, {"plc": _held(1_000, 1_000, 1_000, 990, 990)}, "plc", 0),
        # Points cannot be divided by rows of several measurements, only by values.
        (3_000, {"a": _held(1_000, 1_000), "b": _held(500, 500, 500)}, "", 1_000),
        (2_000, {"a": _held(1_000, 1_000), "b": _held(500, 500, 500)}, "", 0),
        (1_800, {"a": _held(1_000, 1_000, 1_000), "b": _held(50, *[50] * 6)}, "a", 500),
        # Those of earlier runs of the server.
        (900, {"cpu": _held(1_000, 1_000)}, "cpu", 0),
        # Somebody deleted them.
        (900, {}, "", 0),
    ],
)
def test_points_that_nothing_else_explains(accepted: int, held: dict[str, Kept], name: str, lost: int) -> None:
    assert overwritten(_shard(accepted), held) == (name, lost)


def _shard(accepted: int, values: int | None = None) -> AcceptedShard:
    return AcceptedShard("db", "autogen", "2026-11-23T00:00:00Z", "2026-11-30T00:00:00Z", accepted, values)


@pytest.mark.parametrize(
    ("accepted", "values", "held", "name", "lost"),
    [
        # A second writer sends a third of the rows again: of several measurements, and with fewer points than values.
        (2_000, 4_000, {"a": _held(1_000, 1_000, 1_000), "b": _held(500, 500, 500)}, "", 500),
        # Rows in two pieces, and each field by itself, of which none is repeated.
        (2_000, 6_000, {"plc": _held(1_000, *[1_000] * 6)}, "plc", 0),
        (6_050, 6_050, {"plc": _held(1_000, *[1_000] * 6)}, "plc", 50),
        # More than three pieces are not taken for points that were repeated.
        (10_500, 20_000, {"home": _held(1_000, *[1_000] * 20)}, "home", 0),
        # Those of earlier runs of the server, and those that somebody deleted.
        (900, 1_800, {"cpu": _held(1_000, 1_000, 1_000)}, "cpu", 0),
        (900, 1_800, {}, "", 0),
        (1_000, 0, {"cpu": _held(1_000, 1_000)}, "cpu", 0),
    ],
)
def test_values_show_what_is_missing(accepted: int, values: int, held: dict[str, Kept], name: str, lost: int) -> None:
    assert overwritten(_shard(accepted, values), held) == (name, lost)


@pytest.mark.parametrize(("columns", "values"), [(("writeValuesOk",), 8_000), ((), None)])
def test_a_server_since_1_8_3_counts_values(columns: tuple[str, ...], values: int | None) -> None:
    """As 1.8.10 and 1.6.7 answer SHOW STATS FOR 'shard'; SHOW SHARDS."""
    tags = {"database": "d", "engine": "tsm1", "id": "1", "indexType": "inmem", "retentionPolicy": "autogen"}
    counters = ("diskBytes", "seriesCreate", "writePointsOk", *columns)
    statistics = {
        "name": "shard",
        "tags": tags,
        "columns": counters,
        "values": [[165, 2, 6_000, 8_000][: len(counters)]],
    }
    listed = {
        "name": "d",
        "columns": ["id", "database", "retention_policy", "start_time", "end_time"],
        "values": [[1, "d", "autogen", "2025-11-24T00:00:00Z", "2025-12-01T00:00:00Z"]],
    }
    (shard,) = answers.accepted_shards([statistics, listed])
    assert (shard.database, shard.policy, shard.first) == ("d", "autogen", "2025-11-24T00:00:00Z")
    assert (shard.accepted, shard.values) == (6_000, values)


def _flows(rng: random.Random, per_row: float) -> Iterator[str]:
    """Flows of five exporters each minute of a day, all written with the minute."""
    day = int((NOW - timedelta(days=2)).replace(hour=0, minute=0, second=0, microsecond=0).timestamp())
    for minute in range(0, 1440, 4):
        for exporter in range(5):
            for _ in range(int(per_row) + (rng.random() < per_row % 1)):
                fields = ",".join(f"{name}={rng.randrange(60_000)}i" for name in FIELDS)
                yield f"netflow,exporter=e{exporter} {fields} {(day + minute * 60) * 10**9}"


def _in_pieces(lines: Iterable[str], pieces: int) -> Iterator[str]:
    for line in lines:
        head, fields, time = line.split(" ")
        each = fields.split(",")
        for first in range(pieces):
            yield f"{head} {','.join(each[first::pieces])} {time}"


def _audited(server: Influxd, lines: Iterable[str]) -> list[Finding]:
    name = f"flows_{random.randrange(10**9)}"
    influxql(server.url, f"CREATE DATABASE {name}")
    write_lines(server.url, name, iter(lines))
    profile = collected(Target(name="t", engine="influxdb1", url=server.url, databases=(name,)))
    assert profile.gaps == ()
    (result,) = [result for result in evaluate(profile).results if result.code == "SRV001"]
    return list(result.findings)


def test_flows_that_overwrite_each_other(influxd: Influxd) -> None:
    (finding,) = _audited(influxd, _flows(random.Random(1), 20))
    assert (finding.severity, finding.subject.measurement, finding.observed) == (Severity.WARNING, "netflow", 28_800)
    assert finding.message.startswith("At least 28,800 of 36,000 accepted points (80%) are not in the shard that ")
    assert finding.severity_reason == "28,800 rows overwritten, or sent again, 80% of those written"
    lines = list(_flows(random.Random(1), 1.3))
    (some,) = _audited(influxd, lines)
    assert (some.severity, some.observed) == (Severity.WARNING, len(lines) - 1_800)


@pytest.mark.parametrize("pieces", [1, 2, 3, 6])
def test_rows_written_in_pieces_are_no_finding(influxd: Influxd, pieces: int) -> None:
    assert _audited(influxd, _in_pieces(_flows(random.Random(1), 1), pieces)) == []


def test_what_is_written_again_is_no_warning_if_it_is_little_or_all_of_it(influxd: Influxd) -> None:
    lines = list(_flows(random.Random(1), 1))
    (repeated,) = _audited(influxd, lines + lines[:15])
    assert (repeated.severity, repeated.observed) == (Severity.NOTE, 15)
    (doubled,) = _audited(influxd, lines + lines[40:])
    assert (doubled.severity, doubled.impact) == (Severity.NOTE, None)
    assert "or two agents write the same" in doubled.message


def test_what_cannot_be_counted_is_not_known(influxd: Influxd, monkeypatch: pytest.MonkeyPatch) -> None:
    true, refused = Client.series, [""]

    def series(self: Client, statement: str, *how: object, **named: object) -> Iterator[object]:
        # Other facts need the list of shards, too.
        if refused[0] in statement and "DIAGNOSTICS" not in statement:
            raise FactError(Reason.DENIED, "not authorized")
        return true(self, statement, *how, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(Client, "series", series)
    for refused[0] in ("SHOW SHARDS", "count(*::field) FROM"):
        assert _audited(influxd, _flows(random.Random(1), 20)) == []


@pytest.mark.parametrize(
    ("bound", "most", "shards"), [("MOST_SERIES", 6, 1), ("MOST_SERIES", 4, 0), ("MOST_FIELDS", 1, 0)]
)
def test_shards_of_many_series_or_fields_cost_the_server_too_much(
    influxd: Influxd, monkeypatch: pytest.MonkeyPatch, bound: str, most: int, shards: int
) -> None:
    """The server takes the longer for the answer the more series and fields there are, a minute for 200,000 series."""
    true, counted = Client.series, list[str]()

    def series(self: Client, statement: str, *how: object, **named: object) -> Iterator[object]:
        counted.extend([statement] if "count(*::field) FROM" in statement else [])
        return true(self, statement, *how, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(Client, "series", series)
    monkeypatch.setattr(answers, bound, most)
    assert len(_audited(influxd, _flows(random.Random(1), 20))) == shards
    assert len(counted) == shards
