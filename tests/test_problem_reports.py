"""Problems as people report them in public, on a real influxd: what an expert wants to read, and the fix they took."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

import pytest

from tests.builders import NOW
from tests.databases import Dataset, Row, Table, times, write
from tests.planning.places import Place
from tests.servers import Influxd
from tsaudit.model.finding import AuditResult, Finding, Severity
from tsaudit.model.plan import StepKind

pytestmark = pytest.mark.full

_YEAR: Final = timedelta(days=365)


@dataclass(frozen=True, slots=True)
class Report:
    """What somebody wrote, and what was agreed on."""

    name: str
    made: Callable[[], Dataset]
    warned: frozenset[str] = frozenset()
    """The tags that the warnings have to be about, `measurement.tag`."""
    are_fields: bool = True
    """Whether the accepted fix was to write each as a field."""


def _paths() -> Dataset:
    """A file counter that tags each file's full path: build artifacts of 40 jobs, new ones in each of 36 hours."""
    noise = random.Random("paths")
    rows = [
        Row(
            at + timedelta(seconds=n),
            {
                "host": f"build{n % 4}",
                "path": f"/srv/artifacts/{at:%Y/%m/%d}/{noise.randrange(16**12):012x}/job{n}.tar.gz",
            },
            {"size_bytes": float(noise.randrange(10**6, 10**9))},
        )
        for at in times(36, timedelta(hours=1))
        for n in range(40)
    ]
    return Dataset([Table("filestat", ("host", "path"), {"size_bytes": "float"}, rows)], retention=_YEAR)


def _positions() -> Dataset:
    """30 buses that write where they are as tags every minute, and 2,500 bicycle stations that report each hour."""
    noise = random.Random("positions")
    moved = [
        Row(
            at,
            {
                "bus": f"bus-{n:02}",
                "lat": f"{53.5 + noise.random() / 5:.5f}",
                "lon": f"{9.9 + noise.random() / 5:.5f}",
            },
            {"speed": round(noise.uniform(0, 60), 1)},
        )
        for at in times(360)
        for n in range(30)
    ]
    stations = [
        Row(at, {"station": f"{4000 + n}", "city": f"city{n % 5}"}, {"bikes": float(noise.randrange(20))})
        for at in times(24, timedelta(hours=1))
        for n in range(2_500)
    ]
    return Dataset(
        [
            Table("buses", ("bus", "lat", "lon"), {"speed": "float"}, moved),
            Table("bike_stations", ("station", "city"), {"bikes": "float"}, stations),
        ],
        retention=_YEAR,
    )


def _aliases() -> Dataset:
    """The alias of an interface, once a tag, then a field of the same points: both since the change two weeks ago."""
    noise = random.Random("aliases")
    end = NOW - timedelta(days=14)
    ports = [f"xe-0/0/{n}" for n in range(24)]

    def rows(at_end: bool) -> list[Row]:
        return [
            Row(
                at,
                {"port": port} | ({} if at_end else {"alias": f"to {port[-2:]}"}),
                {"octets": float(noise.randrange(10**9))} | ({"alias": f"to {port[-2:]}"} if at_end else {}),
            )
            for at in times(48, timedelta(hours=1), NOW if at_end else end)
            for port in ports
        ]

    fields = {"octets": "float", "alias": "string"}
    return Dataset([Table("interface", ("port", "alias"), fields, [*rows(False), *rows(True)])])


def _trades() -> Dataset:
    """9,000 trades of eight hours, each with its ID as a tag: 719 share their millisecond and pair with others."""
    noise = random.Random("trades")
    instants = sorted(noise.sample(range(8 * 3_600_000), 8_281))
    start = NOW - timedelta(hours=8)
    # The first 719 instants have two trades each.
    all_trades = sorted([*instants, *instants[:719]])
    rows = [
        Row(
            start + timedelta(milliseconds=instant),
            {"pair": "BTC-EUR", "side": "buy", "trade_id": str(80_000_000 + n)},
            {"price": round(noise.uniform(60_000, 61_000), 2), "amount": round(noise.uniform(0, 2), 6)},
        )
        for n, instant in enumerate(all_trades)
    ]
    fields = {"price": "float", "amount": "float"}
    return Dataset([Table("trades", ("pair", "side", "trade_id"), fields, rows)], retention=_YEAR)


REPORTS: Final = (
    Report("path", _paths, frozenset({"filestat.path"})),
    Report("position", _positions, frozenset({"buses.lat", "buses.lon"})),
    Report("alias", _aliases, frozenset({"interface.alias"}), are_fields=False),
    Report("trade ID", _trades, frozenset({"trades.trade_id"})),
)


@pytest.mark.parametrize("report", REPORTS, ids=lambda one: one.name)
def test_reported_problem_is_caught(report: Report, influxd: Influxd) -> None:
    result = _audited(report, influxd)
    warned = {_place(finding) for finding in _findings(result) if finding.severity is not Severity.NOTE}
    assert warned == report.warned
    writers = [step for plan in result.plans for step in plan.steps if step.kind is StepKind.WRITER]
    for place in report.warned if report.are_fields else ():
        assert any(re.search(rf"Write .*{place.rpartition('.')[2]}.* as (a field|fields) of", s.words) for s in writers)


def _audited(report: Report, influxd: Influxd) -> AuditResult:
    _, result = Place(write(report.made(), "influxdb1", influxd.url)).audited()
    return result


def _findings(result: AuditResult) -> list[Finding]:
    return [finding for _, finding in result.findings()]


def _place(finding: Finding) -> str:
    return f"{finding.subject.measurement}.{finding.subject.column}".rstrip(".")
