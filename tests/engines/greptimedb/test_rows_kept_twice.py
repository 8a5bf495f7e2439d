"""STO006: rows that an append-only table contains twice."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.builders import NOW, a_field, a_source
from tests.collecting import collected
from tests.databases import Dataset, Greptime, Row, Table, times
from tests.engines.greptimedb.cases import LINES, a_table, a_text, findings, steps
from tests.engines.greptimedb.server import a_target, running
from tests.rules.cases import Case, dataset, run_rule
from tsaudit.engines.greptimedb.rules.rows_of_one_key import rows_of_one_key as rule
from tsaudit.model.figures import Subject
from tsaudit.model.finding import Currency, Severity
from tsaudit.model.profile import Measurement
from tsaudit.model.rows import Copies, Repeats
from tsaudit.model.storage import Storage

MB = 1_000_000


def _payments(again: int, append_mode: str = "true", offset: float = 0.0) -> Dataset:
    at = times(200)
    rows = [Row(t, {"shop": "s1"}, {"amount": i / 7}) for i, t in enumerate(at)]
    repeated = [Row(r.time, r.tags, {"amount": i / 7 + offset}) for i, r in enumerate(rows[:again])]
    settings = Greptime(options={"append_mode": append_mode})
    table = Table(
        "payments", ("shop",), {"amount": "float"}, [*rows, *repeated], key=("time", "shop"), greptime=settings
    )
    return dataset(table)


CASES = (
    Case(_payments(again=10), _payments(again=0), Subject("", "payments")),
    Case(_payments(again=10, offset=0.5), _payments(again=0, append_mode="false"), Subject("", "payments")),
)


def _table(
    repeated: int, copies: int, *, logs: bool = False, in_bulk: int = 0, key: str = "", append: str = "true"
) -> Measurement:
    """10,000 rows were read."""
    fields = (a_text("message", LINES),) if logs else (a_field("amount", ("double",)),)
    ends = (NOW - timedelta(hours=1), NOW) if in_bulk else (None, None)
    return a_table(
        options={"append_mode": append},
        repeats=Repeats(10_000, repeated, a_source()),
        copies=Copies(10_000, copies, in_bulk, *ends, (), a_source(), (key,) if key else ()),
        fields=fields,
        storage=Storage(900 * MB, 0),
    )


@pytest.mark.parametrize("logs", [False, True])
def test_finding_at_the_limit_and_just_below_it(logs: bool) -> None:
    assert not findings(rule, _table(99, 99, logs=logs))
    (finding,) = findings(rule, _table(100, 100, logs=logs))
    said = "1% of the 10,000 rows read are the same in all columns as another one, and all of them are kept."
    assert finding.message == said
    assert (finding.severity, finding.impact) == (Severity.NOTE, None), "each may be an event of its own"
    # Said, as the table would have it from its database otherwise.
    assert ("'append_mode'='false'" in steps(rule, _table(100, 100, logs=logs))) is not logs


def test_corrections_count_for_numbers_and_not_for_log_lines() -> None:
    (finding,) = findings(rule, _table(500, 0))
    said = "5% of the 10,000 rows read have the key and time of another one, and all of them are kept."
    assert (finding.message, finding.severity) == (said, Severity.NOTE)
    assert not findings(rule, _table(500, 0, logs=True))
    assert findings(rule, _table(500, 200, logs=True))


@pytest.mark.parametrize(
    ("logs", "in_bulk", "key", "severity"),
    [
        (True, 100, "", Severity.WARNING),
        (False, 100, "", Severity.WARNING),
        (True, 0, "request_id", Severity.WARNING),
        # Bursts of the same line are no batch that was sent again.
        (True, 99, "", Severity.NOTE),
    ],
)
def test_copies_give_wrong_answers(logs: bool, in_bulk: int, key: str, severity: Severity) -> None:
    (finding,) = findings(rule, _table(700, 700, logs=logs, in_bulk=in_bulk, key=key))
    assert finding.severity is severity
    if severity is Severity.WARNING:
        assert finding.impact is not None
        # Those of other times may be there once: nothing is said about the bytes of the table.
        assert (finding.impact.currency, finding.impact.now) == (Currency.ANSWERS, 0)
        assert finding.impact.consequence.startswith("Sums and counts ")


def test_the_sender_is_mended_before_rows_are_copied() -> None:
    said = steps(rule, _table(900, 500, logs=True, key="request_id"))
    assert said.startswith("First have the sender write each row once")
    assert "Copy each row of logs once, with SELECT DISTINCT, to a new table like it." in said


def test_no_row_is_dropped_that_may_be_an_event_of_its_own() -> None:
    """Only a batch is there twice; rows of other times that are the same have no ID that tells what they are."""
    table = _table(900, 500, logs=True, in_bulk=300)
    (finding,) = findings(rule, table)
    assert (finding.severity, finding.changes) == (Severity.WARNING, ())
    assert finding.fix == "If they were sent twice, have the sender write each row once."
    assert "SELECT DISTINCT" not in steps(rule, table)


def test_a_batch_that_is_sent_again_and_lines_that_repeat() -> None:
    """As a collector that lost its place in a file; and an application that writes a line for each of its threads."""
    start = times(1)[0] - timedelta(hours=2)
    lines = [Row(start + timedelta(seconds=7.31 * i), {}, {"message": line}) for i, line in enumerate(LINES[:900])]
    threads = [row for i, row in enumerate(lines) for _ in range(1 + i % 3)]
    options = Greptime(options={"append_mode": "true"}, time_digits=6)
    made = {"again": [*lines, *lines[300:600]], "threads": threads, "once": lines}
    tables = [Table(name, (), {"message": "string"}, rows, greptime=options) for name, rows in made.items()]
    with running() as server:
        profile = collected(a_target(server, Dataset(tables, database="d")))
    found = {f.subject.measurement: f for f in run_rule(rule, profile).findings}
    assert {name: f.severity for name, f in found.items()} == {"again": Severity.WARNING, "threads": Severity.NOTE}
    assert found["again"].message.startswith("25% of the 1,200 rows read are the same in all columns")


def test_silence_when_the_table_deduplicates() -> None:
    assert not findings(rule, _table(900, 900, append="false"))
    assert not findings(rule, a_table(options={"append_mode": "true"}))
