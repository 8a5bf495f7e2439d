"""DRF002: one value brings most of the new rows."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from typing import Any, Final

import pytest

from tests.builders import NOW, a_count, a_measurement, a_profile, a_source
from tests.databases import Row, Table
from tests.rules.cases import Case, dataset, run_rule
from tsaudit.model.figures import Subject
from tsaudit.model.finding import Currency, Finding, Severity
from tsaudit.model.rows import ExcessRows
from tsaudit.model.storage import Storage
from tsaudit.rules.drift.multiplied_rows import multiplied_rows as rule

A_DAY: Final = timedelta(days=1)
USUAL: Final = timedelta(minutes=30)


def _rows(host: str, every: timedelta, first: float, last: float = 0.0) -> Iterator[Row]:
    """From so many days ago to so many days ago."""
    for n in range(1, int((first - last) * A_DAY / every) + 1):
        yield Row(NOW - last * A_DAY - n * every, {"host": host}, {"usage": 20.5 + n % 17})


def _table(*rows: Iterator[Row]) -> Table:
    written = {(row.time, row.tags["host"]): row for part in rows for row in part}
    return Table("cpu", ["host"], {"usage": "float"}, list(written.values()), key=("time", "host"))


def _hosts(last: float = 0.0) -> list[Iterator[Row]]:
    return [_rows(host, USUAL, 12, last) for host in ("alpha", "beta", "gamma", "delta")]


CASES: Final = (
    Case(
        breaks=dataset(_table(*_hosts(), _rows("alpha", timedelta(minutes=1), 1.2))),
        keeps=dataset(_table(*_hosts(), *(_rows(f"new {c}", USUAL, 1.2) for c in "abcdefghijklmnopqrst"))),
        before=dataset(_table(*_hosts(1.2))),
        subject=Subject("", "cpu", "host"),
        main_contributor="host",
    ),
)


def _found(held: int | None, **changes: Any) -> Finding:
    known: dict[str, Any] = {
        "before_per_day": 5_100,
        "per_day": 91_512,
        "since": NOW - 2 * A_DAY,
        "column": "reading",
        "value": "power_now",
        "share_before": 0.06,
        "share": 0.94,
        "also": (("device", "meter"),),
        "source": a_source(),
    }
    storage = Storage(held, 0) if held is not None else None
    measurement = a_measurement(
        rows=a_count(300_000), rows_total=a_count(300_000), storage=storage, excess=ExcessRows(**known | changes)
    )
    (finding,) = run_rule(rule, a_profile(measurement, engine="postgresql")).findings
    return finding


def test_what_it_says() -> None:
    finding = _found(30_000_000)
    assert finding.message == (
        "Rows rose from about 5,100 to 91,500 a day since 2026-03-29: 94% of those since then are of reading=power_now "
        "(device=meter), which had 6% before; about 8.57 MB more a day."
    )
    assert finding.severity is Severity.WARNING
    assert finding.since == date(2026, 3, 29)
    assert finding.impact is not None
    assert finding.impact.currency is Currency.BYTES
    assert finding.impact.per_day == pytest.approx(100 * (0.94 * 91_512 - 0.06 * 5_100))
    assert finding.impact.now == pytest.approx(2 * finding.impact.per_day)
    assert "at what writes reading=power_now (device=meter): the interval" in finding.fix
    # A value may be redacted, and then be another one's.
    assert "DELETE" not in finding.fix


@pytest.mark.parametrize(("held", "severity"), [(10_000_000, "warning"), (9_000_000, "note"), (None, "note")])
def test_severity_follows_the_bytes_of_a_year(held: int | None, severity: str) -> None:
    assert _found(held).severity == severity
