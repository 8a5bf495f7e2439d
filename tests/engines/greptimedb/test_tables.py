"""GreptimeDB's options and indexes in meaning."""

from __future__ import annotations

import pytest

from tests.builders import a_field, a_profile, a_source, a_tag
from tests.engines.greptimedb.cases import IDS, LINES, METHODS, a_table, a_text, stored
from tsaudit.engines.greptimedb import tables as greptime_tables
from tsaudit.model.profile import Measurement
from tsaudit.model.rows import RowPatterns

TABLE = a_table(
    key=("zone", 'ho"st'),
    tags=(a_tag('ho"st'), a_tag("zone"), a_tag("shelf", data_type="bigint unsigned")),
    fields=(a_field("cpu", ("double",)), a_text("line", LINES)),
    indexes={"line": "fulltext", "cpu": "skipping"},
    options={"ttl": "7days", "sst_format": "primary_key", "comment": "it's", "merge_mode": ""},
)


@pytest.mark.parametrize(
    ("text", "number"), [("1.1.4", (1, 1)), ("v0.17.2", (0, 17)), ("1.2.0-beta.2", (1, 2)), ("", ()), ("dev", ())]
)
def test_version_when_read(text: str, number: tuple[int, ...]) -> None:
    assert greptime_tables.version(a_profile(engine="greptimedb", server_version=text)) == number


def test_format_when_the_server_is_old_or_the_table_says_so() -> None:
    def is_former(table: Measurement, version: str) -> bool:
        return greptime_tables.has_legacy_format(a_profile(engine="greptimedb", server_version=version), table)

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
