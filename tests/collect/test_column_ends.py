"""Columns that some sources do not fill anymore, while others go on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.builders import NOW
from tests.collecting import collected, collected_with, writer_to
from tests.databases import Row, Table, Value, writing_of
from tests.rules.cases import dataset, run_rule
from tests.servers import Postgresql
from tsaudit.collect import column_ends, reading
from tsaudit.config.settings import Budget, Target
from tsaudit.engines.connection import FactError, Rows
from tsaudit.model.figures import Reason
from tsaudit.model.finding import Finding, Severity
from tsaudit.model.profile import Profile
from tsaudit.rules.layout.sparse_table import sparse_table as rule

ENGINES = ["duckdb", "influxdb1"]
Written = Callable[[int, float], Mapping[str, Value] | None]
"""The fields, beside power, of a source at so many days ago, or another result than "ok"; None: it writes no row then.
"""


def _target(
    request: pytest.FixtureRequest,
    path: Path,
    engine: str,
    written: Written,
    days: float = 21,
    sources: int = 8,
    step_h: float = 1 / 3,
) -> Target:
    """A database with sources s0 to s7, of kinds k0 to k3, which report every 20 minutes."""
    rows = []
    for place in range(round(days * 24 / step_h), 0, -1):
        ago = place * step_h / 24
        for source in range(sources):
            more = written(source, ago)
            if more is not None:
                tags = {"source": f"s{source}", "kind": f"k{source // 2}", "result": str(more.get("result", "ok"))}
                fields = {"power": (place * 7 + source) % 90 / 4 + 0.1, "flow": None, "flow_rate": None, **more}
                fields.pop("result", None)
                rows.append(Row(NOW - timedelta(days=ago), tags, fields))
    table = Table("meters", ("source", "kind", "result"), dict.fromkeys(("power", "flow", "flow_rate"), "float"), rows)
    return writer_to(engine, request, path)(dataset(table), budget=Budget(max_rows=2_500))


def _of_columns(profile: Profile) -> list[Finding]:
    return [one for one in run_rule(rule, profile).findings if one.subject.column]


def _ends(
    request: pytest.FixtureRequest, path: Path, engine: str, written: Written, **settings: float
) -> list[Finding]:
    """What is found of the columns of such a database."""
    return _of_columns(collected(_target(request, path, engine, written, **settings)))


def _flow(*, has: bool, takes_over: bool = False) -> Mapping[str, Value]:
    return {"flow": 3.5} if has else {"flow_rate": 7.5} if takes_over else {}


@pytest.mark.costly
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("takes_over", [False, True])
def test_several_sources(request: pytest.FixtureRequest, tmp_path: Path, engine: str, *, takes_over: bool) -> None:
    ended = {1: 5.0, 4: 5.1, 6: 5.2}
    (finding,) = _ends(
        request,
        tmp_path,
        engine,
        lambda source, ago: _flow(has=ago >= ended.get(source, 0), takes_over=takes_over),
    )
    assert finding.severity is Severity.WARNING
    assert finding.subject.column == "flow"
    first, last = (NOW - timedelta(days=ago) for ago in (5.2, 5.0))
    begins = ", where flow_rate begins" if takes_over else ""
    assert finding.since == first.date()
    assert finding.message.startswith(
        f"flow of rows with any of 3 of the 8 values of source is not filled anymore since {first:%Y-%m-%d}"
    )
    assert f" UTC (s6, s4, and s1), the last of them since {last:%Y-%m-%d %H}" in finding.message
    assert f"UTC{begins}: it has a value in all of the" in finding.message


@pytest.mark.parametrize("engine", ENGINES)
def test_one_kind(request: pytest.FixtureRequest, tmp_path: Path, engine: str) -> None:
    """It is named, and not the sources of this kind."""
    (finding,) = _ends(request, tmp_path, engine, lambda source, ago: _flow(has=source // 2 != 1 or ago >= 5))
    assert finding.severity is Severity.WARNING
    assert finding.message.startswith("flow of rows with kind k1 is not filled anymore since ")


@pytest.mark.costly
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("takes_over", "result", "severity"),
    [(False, "ok", Severity.NOTE), (True, "ok", Severity.WARNING), (False, "timed out", Severity.NOTE)],
)
def test_one_source(
    request: pytest.FixtureRequest, tmp_path: Path, engine: str, result: str, severity: Severity, *, takes_over: bool
) -> None:
    """A request has no response time while its server is off."""

    def written(source: int, ago: float) -> Mapping[str, Value]:
        if source != 3 or ago >= 3:
            return _flow(has=True)
        return {**_flow(has=False, takes_over=takes_over), "result": result if round(ago * 144) % 2 else "ok"}

    (finding,) = _ends(request, tmp_path, engine, written, days=8, step_h=1 / 6)
    assert finding.severity is severity
    assert "flow of rows with source s3 is not filled anymore" in finding.message
    assert ("or the source is off" in finding.fix) is not takes_over


def test_no_more_is_read_once_a_statement_failed(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    target, asked = _target(request, tmp_path, "duckdb", lambda source, ago: _flow(has=source > 3 or ago >= 5)), []

    def tampering(name: str, parameters: Mapping[str, Any]) -> Rows | None:
        if name == "row_sample" and parameters["end"] < NOW:
            asked.append(parameters["end"])
            if len(asked) > 1:
                raise FactError(Reason.TIMED_OUT, "canceled after 1 s")
        return None

    collected_with(target, tampering)
    assert len(asked) == 2


def _fails_before(newest: timedelta) -> Callable[[str, Mapping[str, Any]], Rows | None]:
    """Makes queries of rows up to some time fail."""

    def tampering(name: str, parameters: Mapping[str, Any]) -> Rows | None:
        if name == "row_sample" and (parameters["end"] < NOW - newest or parameters["filled"]):
            raise FactError(Reason.TIMED_OUT, "canceled after 1 s")
        return None

    return tampering


def test_known_end_is_kept_when_older_rows_cannot_be_read(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """Also when no rows could be read on the day between."""
    target = _target(request, tmp_path, "duckdb", lambda _, ago: _flow(has=ago >= 12))
    days = [NOW - timedelta(days=ago) for ago in (2, 1, 0)]
    first = collected(target, now=days[0], day=days[0].date())
    (expected,) = _of_columns(first)

    def unread(name: str, parameters: Mapping[str, Any]) -> Rows | None:
        if name == "row_sample":
            raise FactError(Reason.TIMED_OUT, "canceled after 1 s")
        return None

    second = collected_with(target, unread, now=days[1], day=days[1].date(), previous=first)
    assert not _of_columns(second)
    assert run_rule(rule, second).gaps
    third = collected_with(target, _fails_before(timedelta(0)), previous=second)
    (finding,) = _of_columns(third)
    assert (finding.severity, finding.headline) == (Severity.WARNING, expected.headline)
    assert finding.observed == 12 * 24
    assert not _of_columns(collected_with(target, _fails_before(timedelta(0))))


@pytest.mark.parametrize("days", [5, 12])
def test_end_in_big_table_is_searched_if_most_rows_have_the_column_or_an_audit_saw_it(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, days: int
) -> None:
    """Of 21 days, one of five leaves most."""
    monkeypatch.setattr(reading, "_CHEAP_ROWS", 1_000)
    target, then = _target(request, tmp_path, "sqlite", lambda _, ago: _flow(has=ago >= days)), NOW - timedelta(days=13)
    assert len(_of_columns(collected(target))) == (days == 5)
    previous = collected(target, now=then, day=then.date())
    (finding,) = _of_columns(collected(target, previous=previous))
    assert (finding.severity, finding.observed) == (Severity.WARNING, days * 24)


def test_a_search_without_an_index_reads_rows_of_any_time(
    postgresql: Postgresql, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema = postgresql.new_schema(
        "CREATE TABLE readings (at TIMESTAMP, meter TEXT, power FLOAT, flow FLOAT)",
        f"""INSERT INTO readings SELECT '{NOW:%Y-%m-%d}'::timestamp - i * INTERVAL '1 min', 'm' || i % 5, i % 700 / 7.0,
        CASE WHEN i > 5 * 1440 THEN i % 90 / 3.0 END FROM generate_series(1, 86400) AS n (i)""",
        "ANALYZE",
    )
    monkeypatch.setattr(reading, "_CHEAP_ROWS", 1_000)
    asked: list[int] = []
    monkeypatch.setattr(column_ends, "may_scan", lambda _, rows: asked.append(rows))
    budget = Budget(max_rows=1_000)
    target = Target(name="t", engine="postgresql", url=postgresql.audit_url, databases=(schema,), budget=budget)
    (measurement,) = collected(target).measurements
    assert measurement.rows_known < 44_000
    assert asked
    assert min(asked) > 86_000


def test_end_is_not_kept_once_the_older_values_were_moved(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """As advised: the column may then be dropped."""
    before = NOW - timedelta(days=1)
    target = _target(request, tmp_path, "duckdb", lambda _, ago: _flow(has=ago >= 12, takes_over=True))
    previous = collected(target, now=before, day=before.date())
    assert _of_columns(previous)
    server = writing_of("duckdb").server(tmp_path, target)
    server.rows("UPDATE meters SET flow_rate = coalesce(flow_rate, flow), flow = NULL")
    assert not [f for f in _of_columns(collected(target, previous=previous)) if f.subject.column == "flow"]


@pytest.mark.costly
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("days", [2, 12])
def test_all_sources(request: pytest.FixtureRequest, tmp_path: Path, engine: str, days: int) -> None:
    """Whether or not the rows read contain the end."""
    target = _target(request, tmp_path, engine, lambda _, ago: _flow(has=ago >= days, takes_over=True))
    previous = None
    if engine == "influxdb1" and days == 12:
        # Its index has fields of years ago: most were not seen by an audit.
        assert not _of_columns(collected(target))
        then = NOW - timedelta(days=10)
        previous = collected(target, now=then, day=then.date())
    (finding,) = _of_columns(collected(target, previous=previous))
    assert finding.severity is Severity.WARNING
    assert finding.headline == (
        f"flow is not filled anymore since {NOW - timedelta(days=days):%Y-%m-%d %H:%M}, where flow_rate begins"
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_sources_one_by_one(request: pytest.FixtureRequest, tmp_path: Path, engine: str) -> None:
    days = {0: 5, 3: 4, 4: 3, 7: 2, 1: 0.5}
    (finding,) = _ends(request, tmp_path, engine, lambda source, ago: _flow(has=ago >= days.get(source, 0)))
    assert finding.severity is Severity.WARNING
    first, last = (NOW - timedelta(days=ago) for ago in (5, 2))
    assert "any of 4 of the 8 values of source is" in finding.message
    assert (
        f"since {first:%Y-%m-%d %H:%M} UTC (s0, s3, s4, and s7), the last of them since {last:%Y-%m-%d %H:%M} UTC: "
        in (finding.message)
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_database_that_is_younger_than_the_window(request: pytest.FixtureRequest, tmp_path: Path, engine: str) -> None:
    (finding,) = _ends(request, tmp_path, engine, lambda source, ago: _flow(has=source > 2 or ago >= 2), days=6)
    assert "any of 3 of the 8 values of source" in finding.message


_QUIET: dict[str, Written] = {
    "never": lambda source, ago: _flow(has=source > 2, takes_over=True),
    "retired": lambda source, ago: None if source < 3 and ago < 5 else _flow(has=source < 3),
    "on change": lambda source, ago: _flow(has=source > 2 or (ago >= 2 and round(ago * 72) % 5 == 0)),
    "comes and goes": lambda source, ago: _flow(has=source > 2 or ago % 4 >= 2),
    "on working days": lambda source, ago: _flow(has=source > 2 or ago % 7 >= 2),
    "since yesterday": lambda source, ago: _flow(has=source > 2 or ago >= 0.9),
    "new kind": lambda source, ago: None if source < 3 and ago >= 3 else _flow(has=source > 2),
}


@pytest.mark.costly
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", _QUIET)
def test_silence(request: pytest.FixtureRequest, tmp_path: Path, engine: str, case: str) -> None:
    found = _ends(request, tmp_path, engine, _QUIET[case])
    assert not [one for one in found if one.severity is not Severity.NOTE or "of source" in one.message]


@pytest.mark.parametrize(("since", "found"), [(0.9, False), (1.1, True)])
def test_rows_read_that_cover_less_than_a_day(
    request: pytest.FixtureRequest, tmp_path: Path, since: float, *, found: bool
) -> None:
    def written(source: int, ago: float) -> Mapping[str, Value]:
        return _flow(has=source > 2 or ago >= since)

    (measurement,) = collected(_target(request, tmp_path, "duckdb", written, days=3, step_h=1 / 40)).measurements
    assert any(field.end for field in measurement.fields) is found


@pytest.mark.parametrize(("ended", "found"), [(5, 0), (8, 1)])
def test_silence_about_few_of_many(request: pytest.FixtureRequest, tmp_path: Path, ended: int, found: int) -> None:
    """Of 110, their sensors may be broken."""

    def written(source: int, ago: float) -> Mapping[str, Value]:
        return _flow(has=source >= ended or ago >= 2)

    assert len(_ends(request, tmp_path, "duckdb", written, days=5, sources=110, step_h=1)) == found
