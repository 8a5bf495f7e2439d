"""STO006: events that are deduplicated."""

from __future__ import annotations

import dataclasses
import random
from datetime import timedelta
from typing import Any

import pytest

from tests.builders import NOW, RECURRING, a_count, a_field, a_source, a_tag
from tests.databases import Dataset, Greptime, Row, Table, times, write
from tests.engines.greptimedb.cases import IDS, LINES, a_table, a_text, stored
from tests.engines.greptimedb.cases import findings as all_findings
from tests.planning.places import Place
from tests.rules.cases import Case, dataset
from tsaudit.engines.greptimedb.rules.rows_of_one_key import rows_of_one_key as rule
from tsaudit.model.figures import How, Ratio, Subject
from tsaudit.model.finding import Currency, Finding, Severity
from tsaudit.model.profile import Measurement
from tsaudit.model.rows import FieldRhythm, Repeats, Rhythms


def findings(table: Measurement, version: str = "1.1.4") -> tuple[Finding, ...]:
    """What the rule says of this, and not of rows that replace each other otherwise."""
    return tuple(f for f in all_findings(rule, table, version) if f.message.startswith("The table contains events"))


def _logs(append_mode: str, again: int = 0) -> Dataset:
    rows = [Row(t, {"app": "shop"}, {"message": LINES[i]}) for i, t in enumerate(times(200))]
    settings = Greptime(options={"append_mode": append_mode})
    table = Table(
        "logs", ("app",), {"message": "string"}, [*rows, *rows[:again]], key=("time", "app"), greptime=settings
    )
    return dataset(table)


def _access(append_mode: str) -> Dataset:
    """An access log of few paths, whose lines come irregularly; some of them in the same millisecond."""
    chance = random.Random(4)
    seconds = sorted(chance.uniform(0, 86_400) for _ in range(600))
    rows = [
        Row(
            NOW - timedelta(days=1) + timedelta(milliseconds=int(1_000 * seconds[i - i % 5 // 4])),
            {"service": "shop"},
            {"path": chance.choice(("/", "/cart")), "method": chance.choice(("GET", "POST")), "status": 200 + i % 2},
        )
        for i in range(600)
    ]
    fields = {"path": "string", "method": "string", "status": "integer"}
    settings = Greptime(options={"append_mode": append_mode})
    return dataset(Table("access", ("service",), fields, rows, key=("time", "service"), greptime=settings))


CASES = (
    Case(_access("false"), _access("true"), Subject("", "access")),
    Case(_logs("false"), _logs("true"), Subject("", "logs")),
    Case(_logs("false", again=50), _logs("true"), Subject("", "logs")),
)


def _table(in_files: int | None, **changes: object) -> Measurement:
    known: dict[str, object] = {"fields": (a_text("message", LINES), a_text("trace_id", IDS))}
    return a_table(stored=None if in_files is None else stored(in_files), **(known | changes))


def _one(table: Measurement, version: str = "1.1.4") -> Finding:
    (finding,) = findings(table, version)
    return finding


def test_note_when_files_hold_next_to_no_duplicates() -> None:
    finding = _one(_table(1_000_900))
    assert (finding.impact, finding.severity) == (None, Severity.NOTE)
    assert finding.message.endswith("each query compares its rows for duplicates, and their files contain almost none.")
    assert [e.value for e in finding.evidence] == ["message and trace_id", "900 of 1,000,900"]
    assert "which cannot be undone" in finding.fix


def test_loss_when_files_hold_many() -> None:
    finding = _one(_table(1_002_000))
    assert finding.impact is not None
    assert (finding.impact.now, finding.impact.whole, finding.severity) == (2_000, 1_002_000, Severity.WARNING)
    finding = _one(_table(1_250_000))
    assert finding.impact is not None
    assert finding.impact.currency is Currency.OVERWRITTEN
    assert (finding.impact.now, finding.impact.whole, finding.severity) == (250_000, 1_250_000, Severity.CRITICAL)
    assert finding.message == (
        "The table contains events and is not append-only: 20% of the rows in its files are hidden, because "
        "others have the same key and time."
    )


def test_information_when_nothing_is_known_of_files() -> None:
    later = _table(1_250_000, first_time=NOW - timedelta(days=29))
    counted = _table(1_250_000, rows=a_count(1_000_000, How.ESTIMATE))
    for table in (_table(None), later, counted):
        finding = _one(table, "0.17.2")
        assert finding.severity is Severity.NOTE
        assert finding.message.endswith("whether there are any was not measured.")
        assert finding.fix.startswith("Recreate logs with append_mode true: no ALTER TABLE does this.")


def test_files_that_hold_less_than_was_read_show_no_duplicate() -> None:
    assert _one(_table(900_000)).observed == 0


def test_silence_when_the_table_holds_no_events() -> None:
    assert not findings(_table(None, fields=(a_field("cpu", ("double",)),)))
    assert not findings(_table(None, options={"append_mode": "true"}))
    assert not findings(_table(None, key=()))


def test_id_in_the_key_shows_that_no_row_replaces_another() -> None:
    usage = (a_field("usage", ("double",)), a_field("state", ("string",)))
    for values, count in ((99_999, 0), (100_001, 1)):
        tags = (a_tag("app"), a_tag("trace_id", values, IDS[:64]))
        assert len(findings(_table(1_000_000, fields=usage, tags=tags, key=("app", "trace_id")))) == count
    # Beside numbers only, it names sources that did not last.
    tags = (a_tag("container", 200_000, IDS[:64]),)
    assert not findings(_table(1_000_000, fields=usage[:1], tags=tags, key=("container",)))
    fleet = (a_tag("meter_id", 200_000, IDS[:64], turnover=RECURRING),)
    assert not findings(_table(1_000_000, fields=usage, tags=fleet, key=("meter_id",)))


def test_irregular_rows_are_events_when_too_many_overwrite_each_other() -> None:
    def table(in_files: int, irregular: int = 2, constant: float = 0.0, texts: int = 2) -> Measurement:
        path = dataclasses.replace(a_text("path", ("/", "/cart")), constant_ratio=Ratio(constant, a_source()))
        fields = tuple(dataclasses.replace(path, key=f"text{i}") for i in range(texts))
        rhythms = Rhythms((FieldRhythm("path", 2 - irregular, irregular, None),), None, a_source())
        return _table(in_files, fields=fields, rhythms=rhythms)

    assert _one(table(1_250_000)).severity is Severity.WARNING
    assert findings(table(1_010_102))
    # So few may be the same ones, sent again after an error.
    assert not findings(table(1_010_101))
    # Readings, changes of a state, and texts that say which source a row is of.
    assert not findings(table(1_250_000, texts=1))
    assert not findings(table(1_250_000, irregular=1))
    assert not findings(table(1_250_000, constant=0.5))


def test_addresses_of_clients_show_events_unless_each_source_has_its_own() -> None:
    addresses = tuple(f"10.1.{i // 250}.{i % 250}" for i in range(3_000))
    for constant, count in ((0.0, 1), (1.0, 0)):
        address = dataclasses.replace(a_text("peer", addresses), constant_ratio=Ratio(constant, a_source()))
        assert len(findings(_table(1_250_000, fields=(address,)))) == count


@pytest.mark.parametrize(
    ("share", "expected"), [(None, Severity.NOTE), (0.049, Severity.NOTE), (0.05, Severity.WARNING)]
)
def test_severity_where_only_the_odds_tell_what_was_lost(share: float | None, expected: Severity) -> None:
    seen = Repeats(3_000, 0, a_source(), share)
    for in_files in (None, 1_000_000):
        finding = _one(_table(in_files, repeats=seen))
        assert finding.severity is expected
        assert (finding.impact is None) is (expected is Severity.NOTE)
    if share == 0.05:
        assert "about 52,632 rows of the same key and second must have been overwritten" in finding.message


def _lines(dirty: bool) -> Dataset:
    """8,000 lines of two services in 20 minutes: their times are whole seconds, and a row replaces another one."""
    chance = random.Random(6)
    start = NOW - timedelta(minutes=20)
    rows = {}
    for number in range(8_000):
        at = start + timedelta(seconds=chance.randrange(1_200), milliseconds=0 if dirty else number % 1_000)
        service = chance.choice(("shop", "blog"))
        rows[at, service] = Row(at, {"service": service}, {"message": LINES[number % len(LINES)]})
    return dataset(Table("lines", ("service",), {"message": "string"}, list(rows.values()), key=("time", "service")))


@pytest.mark.parametrize(("dirty", "lost"), [(True, 5_600), (False, None)])
def test_lines_that_were_overwritten_in_memory(greptimedb: Any, dirty: bool, lost: int | None) -> None:
    _, result = Place(write(_lines(dirty), "greptimedb", greptimedb)).audited()
    (finding,) = (found for rule, found in result.findings() if rule.code == "STO006")
    if lost is None:
        assert finding.impact is None
    else:
        assert finding.severity is Severity.WARNING
        assert finding.impact is not None
        assert finding.impact.now == pytest.approx(lost, rel=0.1)
