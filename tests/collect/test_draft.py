"""Measurements under construction."""

from __future__ import annotations

from dataclasses import replace

from tests.builders import a_field, a_measurement, a_tag
from tsaudit.analysis.columns.columns import Column, TimeColumn, TimeKind
from tsaudit.collect.draft import Draft


def test_statements_when_several_were_sent_are_kept_in_order_of_their_facts() -> None:
    before = Draft.new("db", "cpu")
    after = before.sent("series_listing", "SELECT 1").sent("row_sample", "SELECT 2")
    assert before.measurement.statements == {}
    assert list(after.finished().statements.items()) == [("row_sample", "SELECT 2"), ("series_listing", "SELECT 1")]


def test_time_column_when_it_is_known_has_the_type_of_the_catalog() -> None:
    draft = replace(Draft.new("db", "cpu"), columns=(Column("at", "TIMESTAMP"), Column("v", "DOUBLE")))
    timed = draft.with_time(TimeColumn("at", TimeKind.TIMESTAMP, "the only one")).measurement
    assert (timed.time_column, timed.time_type, timed.time_reason) == ("at", "TIMESTAMP", "the only one")
    none = draft.with_time(None).measurement
    assert (none.time_column, none.time_type, none.time_reason) == (None, None, "")


def test_finished_measurement_when_the_server_lists_columns_in_another_order() -> None:
    measured = a_measurement(tags=(a_tag("b"), a_tag("a")), fields=(a_field("y"), a_field("x")))
    finished = Draft(measured).finished()
    assert [tag.key for tag in finished.tags] == ["a", "b"]
    assert [field.key for field in finished.fields] == ["x", "y"]
