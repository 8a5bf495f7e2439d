"""GreptimeDB's options in meaning, and the statements for its tables."""

from __future__ import annotations

import pytest

from tests.builders import a_field, a_profile, a_source, a_tag
from tests.rules.greptime import IDS, LINES, METHODS, a_table, a_text, stored
from tsaudit import greptime_tables
from tsaudit.profile import Measurement, RowPatterns
from tsaudit.rule import Case, LimitPolicy
from tsaudit.rules import all_rules
from tsaudit.statements import copy_without_tags, rename
from tsaudit.timeline import Timeline

TABLE = a_table(
    key=("zone", 'ho"st'),
    tags=(a_tag('ho"st'), a_tag("zone"), a_tag("shelf", data_type="bigint unsigned")),
    fields=(a_field("cpu", ("double",)), a_text("line", LINES)),
    indexes={"line": "fulltext", "cpu": "skipping"},
    options={"ttl": "7days", "sst_format": "primary_key", "comment": "it's", "merge_mode": ""},
)


def _case(table: Measurement = TABLE, version: str = "1.1.4") -> Case:
    return Case(
        all_rules()[0], a_profile(table, engine="greptimedb", server_version=version), Timeline(), LimitPolicy()
    )


def test_rebuilt_when_nothing_changes() -> None:
    assert greptime_tables.rebuilt(_case(), TABLE) == (
        'CREATE TABLE "logs_new" (\n'
        '  "ts" TIMESTAMP(3) NOT NULL,\n'
        '  "ho""st" STRING,\n'
        '  "zone" STRING,\n'
        '  "shelf" BIGINT UNSIGNED,\n'
        '  "cpu" DOUBLE SKIPPING INDEX,\n'
        '  "line" STRING FULLTEXT INDEX,\n'
        '  TIME INDEX ("ts"),\n'
        '  PRIMARY KEY ("zone", "ho""st")\n'
        ") WITH ('comment'='it''s', 'ttl'='7days');\n"
        'INSERT INTO "logs_new" ("ts", "ho""st", "zone", "shelf", "cpu", "line") '
        'SELECT "ts", "ho""st", "zone", "shelf", "cpu", "line" FROM "logs";\n'
        'When all is copied and checked: DROP TABLE "logs"; ALTER TABLE "logs_new" RENAME "logs"; What else was set '
        "stands in SHOW CREATE TABLE: partitions, defaults, comments, details of indexes."
    )


def test_rebuilt_when_columns_have_other_names_and_types() -> None:
    text = greptime_tables.rebuilt(_case(), TABLE, names={"zone": "area", "ts": "at"}, types={"cpu": "BIGINT"})
    assert 'TIME INDEX ("at"),\n  PRIMARY KEY ("area", "ho""st")' in text
    assert '"cpu" BIGINT SKIPPING INDEX' in text
    assert '("at", "ho""st", "area", "shelf", "cpu", "line") SELECT "ts", "ho""st", "zone",' in text


def test_options_when_they_change_or_go() -> None:
    text = greptime_tables.rebuilt(_case(), TABLE, options={"ttl": "", "append_mode": "true"}, key=())
    assert ") WITH ('append_mode'='true', 'comment'='it''s');" in text
    assert "PRIMARY KEY" not in text
    assert ");\nINSERT" in greptime_tables.rebuilt(_case(), a_table())


def test_shared_statements_when_the_engine_is_greptimedb() -> None:
    assert 'PRIMARY KEY ("ho""st")' in copy_without_tags(_case(), TABLE, {"zone"})
    assert rename(_case(), TABLE, "logs", "log_lines") == 'ALTER TABLE "logs" RENAME "log_lines";'
    assert '"area" STRING' in rename(_case(), TABLE, "zone", "area")


@pytest.mark.parametrize(
    ("text", "number"), [("1.1.4", (1, 1)), ("v0.17.2", (0, 17)), ("1.2.0-beta.2", (1, 2)), ("", ()), ("dev", ())]
)
def test_version_when_read(text: str, number: tuple[int, ...]) -> None:
    assert greptime_tables.version(a_profile(engine="greptimedb", server_version=text)) == number


def test_format_when_the_server_is_old_or_the_table_says_so() -> None:
    def is_former(table: Measurement, version: str) -> bool:
        return greptime_tables.has_former_format(a_profile(engine="greptimedb", server_version=version), table)

    assert is_former(TABLE, "1.1.4")
    assert is_former(a_table(), "0.17.2")
    assert not is_former(a_table(), "1.0.2")
    assert not is_former(a_table(options={"sst_format": "flat"}), "1.1.4")
    assert not is_former(a_table(), "")


def test_key_when_its_order_is_known_or_not() -> None:
    assert greptime_tables.primary_key(TABLE) == ("zone", 'ho"st')
    assert greptime_tables.primary_key(a_table(key=(), tags=(a_tag("b"), a_tag("a")))) == ("b", "a")


def test_events_when_fields_are_read() -> None:
    fields = (a_text("line", LINES), a_text("trace", IDS), a_text("method", METHODS), a_field("cpu", ("double",)))
    assert [f.key for f in greptime_tables.event_columns(a_table(fields=fields))] == ["line", "trace"]


def test_ids_of_a_few_devices_are_no_events() -> None:
    assert not greptime_tables.event_columns(a_table(fields=(a_text("device", IDS[:19]),)))
    assert greptime_tables.event_columns(a_table(fields=(a_text("device", IDS[:20]),)))
    read = RowPatterns((), 10_000, 0, 0, a_source())
    assert not greptime_tables.event_columns(a_table(fields=(a_text("device", IDS, 499),), row_patterns=read))
    assert greptime_tables.event_columns(a_table(fields=(a_text("trace", IDS, 500),), row_patterns=read))


def test_overwritten_when_files_hold_more_or_less() -> None:
    assert greptime_tables.overwritten(a_table(stored=stored(1_000_007))) == 7
    assert greptime_tables.overwritten(a_table(stored=stored(999_000))) == 0
    assert greptime_tables.overwritten(a_table()) is None
