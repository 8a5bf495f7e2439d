"""STO006: rows of one key and time, which overwrite each other or are kept twice."""

from __future__ import annotations

import dataclasses
import random
from datetime import timedelta

from tests.builders import NOW, a_field, a_source
from tests.databases import Dataset, Greptime, Row, Table, times
from tests.engines.greptimedb.cases import LINES, METHODS, a_table, a_text, findings, steps, stored
from tests.engines.greptimedb.test_parts_of_rows import CASES as PARTS_OF_ROWS
from tests.engines.greptimedb.test_rows_kept_twice import CASES as ROWS_KEPT_TWICE
from tests.engines.greptimedb.test_rows_of_events import CASES as ROWS_OF_EVENTS
from tests.rules.cases import Case, dataset
from tsaudit.engines.greptimedb.rules.rows_of_one_key import rows_of_one_key as rule
from tsaudit.model.figures import Ratio, Subject
from tsaudit.model.finding import Currency, Severity
from tsaudit.model.profile import Measurement


def _logs(append_mode: str, lines: tuple[str, ...] = LINES, name: str = "message") -> Dataset:
    rows = [Row(t, {}, {name: lines[(i + n) % len(lines)]}) for i, t in enumerate(times(50)) for n in range(2)]
    settings = Greptime(options={"append_mode": append_mode})
    return dataset(Table("logs", (), {name: "string"}, rows, key=("time",), greptime=settings))


def _sites(key: tuple[str, ...]) -> Dataset:
    """Three sensors of a site report in the same second. `key`: what the table has as tags."""
    rows = [
        Row(at, {"site": "north", **({"sensor": s} if "sensor" in key else {})}, {"value": 1.5, "sensor": s})
        for i, at in enumerate(times(80))
        for s in random.Random(i).sample(("t1", "t2", "t3"), 3)
    ]
    fields = {"value": "float"} if "sensor" in key else {"value": "float", "sensor": "string"}
    return dataset(Table("readings", key, fields, rows, key=("time", *key)))


CASES = (
    *PARTS_OF_ROWS,
    *ROWS_KEPT_TWICE,
    *ROWS_OF_EVENTS,
    Case(_sites(("site",)), _sites(("site", "sensor")), Subject("", "readings")),
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
    assert "which cannot be undone" in new
    assert "SET 'append_mode'" not in old
    assert old.count('CREATE TABLE "main"."logs_new"') == 1
    assert ") WITH ('append_mode'='true');" in old


def test_silence_when_there_is_a_key_or_options_are_not_known() -> None:
    assert not findings(rule, a_table())
    assert not findings(rule, a_table(key=(), options={"append_mode": "true"}))
    assert not findings(rule, a_table(key=(), options={"engine": "metric"}))


def _keyed(in_files: int, *, varies: bool, name: str = "sensor", **options: str) -> Measurement:
    """Several sources, or one that sends rows again, with the key `host`."""
    constant = Ratio(0.0 if varies else 1.0, a_source())
    sensor = dataclasses.replace(a_text(name, ("t1", "t2", "t3")), constant_ratio=constant)
    return a_table(options=options, fields=(a_field("usage", ("double",)), sensor), stored=stored(in_files))


def test_loss_with_a_key_when_sources_share_it() -> None:
    (finding,) = findings(rule, _keyed(4_000_000, varies=True))
    assert finding.message == (
        "75% of the stored rows were overwritten by others with the same host and time, though sensor may differ."
    )
    assert finding.impact is not None
    assert (finding.impact.now, finding.impact.whole) == (3_000_000, None)
    assert finding.severity is Severity.WARNING
    assert findings(rule, _keyed(1_010_102, varies=True))
    assert not findings(rule, _keyed(1_010_101, varies=True))


def test_note_with_a_key_when_rows_may_have_been_sent_again() -> None:
    # A pair of agents that both send each row, or a state that is corrected.
    for one in (_keyed(4_000_000, varies=False), _keyed(4_000_000, varies=True, name="state")):
        (finding,) = findings(rule, one)
        assert (finding.impact, finding.severity) == (None, Severity.NOTE)
        assert finding.message.endswith("with the same host and time.")


def test_silence_with_a_key_when_parts_complete_each_other_or_all_rows_stay() -> None:
    assert not findings(rule, _keyed(4_000_000, varies=True, merge_mode="last_non_null"))
    assert not findings(rule, _keyed(4_000_000, varies=True, append_mode="true"))
