"""STO006: no key, and not append-only."""

from __future__ import annotations

from datetime import timedelta

from tests.builders import NOW, a_field
from tests.databases import Dataset, Greptime, Row, Table, times
from tests.engines.greptimedb.cases import LINES, METHODS, a_table, a_text, findings, steps, stored
from tests.rules.cases import Case, dataset
from tsaudit.engines.greptimedb.rules.overwritten_rows import overwritten_rows as rule
from tsaudit.model.finding import Severity
from tsaudit.model.impact import Currency
from tsaudit.model.subject import Subject


def _logs(append_mode: str, lines: tuple[str, ...] = LINES, name: str = "message") -> Dataset:
    rows = [Row(t, {}, {name: lines[i % len(lines)]}) for i, t in enumerate(times(50)) for _ in range(2)]
    settings = Greptime(options={"append_mode": append_mode})
    return dataset(Table("logs", (), {name: "string"}, rows, key=("time",), greptime=settings))


CASES = (
    Case(_logs("false"), _logs("true"), Subject("", "logs")),
    # Of each two rows with one time the files hold both.
    Case(_logs("false", METHODS, "method"), _logs("true", METHODS), Subject("", "logs")),
)


def test_note_until_a_loss_was_counted() -> None:
    one = a_table(key=(), fields=(a_field("usage", ("double",)),))
    (finding,) = findings(rule, one)
    assert finding.severity is Severity.NOTE
    assert finding.message == (
        "The table has no key and is not append-only: rows with the same time overwrite each other, which is correct "
        "for a single source only."
    )
    assert not finding.changes
    assert "add a column that names the source to the key before" in finding.fix
    for text in (a_text("method", METHODS), a_text("line", LINES)):
        (finding,) = findings(rule, a_table(key=(), fields=(text,)))
        assert (finding.impact, finding.severity) == (None, Severity.NOTE)
        assert finding.message.endswith("overwrite each other.")


def test_loss_when_files_show_it() -> None:
    lost = a_table(key=(), stored=stored(1_000_005))
    (finding,) = findings(rule, lost)
    assert finding.impact is not None
    assert finding.impact.currency is Currency.OVERWRITTEN
    assert (finding.impact.now, finding.impact.whole) == (5, 1_000_005)
    assert finding.severity is Severity.WARNING
    assert finding.message.endswith("overwrite each other. 5 stored rows can no longer be read.")
    assert finding.observed == 5
    later = a_table(key=(), stored=stored(1_000_005), first_time=NOW - timedelta(days=29))
    assert findings(rule, later)[0].severity is Severity.NOTE
    for rows, expected in ((1_010_101, Severity.WARNING), (1_010_102, Severity.CRITICAL)):
        (finding,) = findings(rule, a_table(key=(), stored=stored(rows)))
        assert finding.severity is expected, rows


def test_texts_are_named_once_and_no_rows_are_not_observed() -> None:
    (finding,) = findings(rule, a_table(key=(), fields=(a_text("line", LINES),), stored=stored(1_000_000)))
    assert {e.label: e.value for e in finding.evidence}["texts that may identify rows"] == "line"
    assert (finding.observed, finding.unit) == (None, "")


def test_statement_when_the_server_is_old_or_new() -> None:
    table = a_table(key=(), fields=(a_text("method", METHODS),), options={"merge_mode": "last_non_null"})
    assert 'PRIMARY KEY ("method")' in steps(rule, table), "the column that is there names the source"
    logs = a_table(key=(), fields=(a_text("line", LINES),), options={"merge_mode": "last_non_null"})
    new, old = (steps(rule, logs, version) for version in ("1.0.2", "0.17.2"))
    assert "ALTER TABLE \"main\".\"logs\" SET 'append_mode'='true';" in new
    assert "This cannot be undone" in new
    assert "SET 'append_mode'" not in old
    assert old.count('CREATE TABLE "main"."logs_new"') == 1
    assert ") WITH ('append_mode'='true');" in old


def test_silence_when_there_is_a_key_or_options_are_not_known() -> None:
    assert not findings(rule, a_table())
    assert not findings(rule, a_table(key=(), options={"append_mode": "true"}))
    assert not findings(rule, a_table(key=(), options={"engine": "metric"}))
