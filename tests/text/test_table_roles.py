"""How the audit reads a table, in words and as the setting that says the same."""

from __future__ import annotations

import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import a_field, a_measurement, a_tag
from tsaudit.config.settings import Columns
from tsaudit.model.figures import TableKind
from tsaudit.text.table_roles import override, table_roles

NAMES = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=20)


def test_words() -> None:
    table = a_measurement(
        "cpu", tags=(a_tag("host"), a_tag("dc")), fields=(a_field("usage"),), time_column="at", kind=TableKind.SERIES
    )
    assert str(table_roles(table)) == "series; time column at; tags host and dc; 1 field"
    assert override(table) == "cpu: {kind: series, time: at, tags: [host, dc], fields: [usage]}"


def test_words_when_nothing_was_read() -> None:
    table = a_measurement("log", tags=(), fields=(a_field("line"), a_field("size")), time_column=None, kind=None)
    found = table_roles(table)
    assert str(found) == "unknown; no time column; no tags; 2 fields"
    assert found.kind_reason == "no row was read"
    assert override(table) == "log: {}"


def test_table_without_series_names_no_fields() -> None:
    table = a_measurement("jobs", tags=(), fields=(a_field("state"),), time_column="at", kind=TableKind.QUEUE)
    assert override(table) == "jobs: {kind: queue, time: at}"


def test_label_needs_no_setting() -> None:
    labels = a_tag("labels.host", label_of="labels")
    table = a_measurement("m", tags=(labels, a_tag("name")), fields=(), time_column="at", kind=TableKind.SERIES)
    assert override(table) == "m: {kind: series, time: at, tags: [name]}"


def test_wide_table_names_no_fields() -> None:
    fields = tuple(a_field(f"s{n}") for n in range(300))
    assert "fields" not in override(a_measurement("wide", fields=fields))


@given(table=NAMES, time=NAMES, tags=st.lists(NAMES, max_size=3, unique=True), fields=st.lists(NAMES, max_size=3))
def test_setting_is_one_line_of_the_file_whatever_the_names(
    table: str, time: str, tags: list[str], fields: list[str]
) -> None:
    of_table = a_measurement(
        table,
        tags=tuple(map(a_tag, tags)),
        fields=tuple(map(a_field, fields)),
        time_column=time,
        kind=TableKind.SERIES,
    )
    line = override(of_table)
    assert "\n" not in line
    read = yaml.safe_load(f"columns:\n  {line}\n")["columns"]
    assert list(read) == [table]
    columns = Columns.model_validate(read[table])
    assert (columns.time, columns.tags, columns.fields) == (time, tuple(tags), tuple(fields))
