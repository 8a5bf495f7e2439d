"""FLD001: metadata in fields."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from tests.builders import a_count, a_field, a_measurement, a_profile, a_ratio, a_source
from tests.engines.greptimedb.cases import a_table, a_text, findings
from tests.engines.traits import engines_that
from tests.rules.cases import Case, dataset, run_rule, table
from tsaudit.model.change import AddIndex, MakeTag
from tsaudit.model.columns import Field
from tsaudit.model.figures import How, Subject
from tsaudit.model.finding import Currency, Finding, Outcome
from tsaudit.model.profile import Profile
from tsaudit.model.rows import RowPatterns
from tsaudit.rules.fields.metadata_in_field import metadata_in_field as rule

SENSORS = ("TLM0100", "TLM0101", "TLM0102", "TLM0103", "TLM0200", "TLM0201", "TLM0202", "TLM0203")


def _as_field(series: int, row: int) -> dict[str, Any]:
    return {"sensor_id": SENSORS[row % 8], "temperature": 70 + row / 7}


CASES = (
    Case(
        breaks=dataset(
            table("air_sensors", [{"site": "a"}], {"sensor_id": "string", "temperature": "float"}, _as_field, rows=200)
        ),
        keeps=dataset(
            table(
                "air_sensors",
                [{"sensor_id": s} for s in SENSORS],
                {"temperature": "float"},
                lambda s, r: {"temperature": 70 + r / 7},
                rows=25,
            )
        ),
        subject=Subject("", "air_sensors", "sensor_id"),
        main_contributor="sensor_id",
    ),
    Case(
        breaks=dataset(
            table(
                "pump",
                [{"pump": f"p{i}"} for i in range(6)],
                {"label": "string"},
                lambda s, r: {"label": f"hall{s % 3}a"},
                rows=30,
            )
        ),
        keeps=dataset(
            table(
                "pump",
                [{"pump": f"p{i}"} for i in range(6)],
                {"label": "string"},
                lambda s, r: {"label": f"event {s} {r} happened twice"},
                rows=30,
            )
        ),
        subject=Subject("", "pump", "label"),
        main_contributor="label",
        # It does not change within a series, so that no row is lost where tags are no index.
        engines=rule.engines & engines_that(lambda engine: engine.indexes_tag_values),
    ),
)


def _profile(field: Field, rows: int = 1000) -> Profile:
    return a_profile(a_measurement(fields=(field,), rows=a_count(rows)))


def _text(key: str, distinct: int, constant: float = 0.0, **changes: Any) -> Field:
    return a_field(
        key,
        ("VARCHAR",),
        distinct=a_count(distinct),
        constant_ratio=a_ratio(constant),
        **{"sample": ("kitchen", "bath")} | changes,
    )


def _finding(field: Field, rows: int = 1000) -> Finding:
    (finding,) = run_rule(rule, _profile(field, rows)).findings
    return finding


def test_warning_when_it_never_changes_within_a_series() -> None:
    finding = _finding(_text("remark", 2, constant=0.95))
    assert finding.changes
    assert "This adds no series." in finding.fix
    assert not _finding(_text("remark", 2, constant=0.94)).changes
    newest = dataclasses.replace(a_ratio(0.95), source=a_source(How.SAMPLED))
    field = dataclasses.replace(_text("remark", 2), constant_ratio=newest)
    assert "As far as the rows read show, this adds no series." in _finding(field).fix


def test_silence_when_a_tag_says_the_same() -> None:
    assert run_rule(rule, _profile(_text("location", 2, same_tag="room"))).outcome is Outcome.PASS


def test_information_when_it_is_a_state() -> None:
    for constant in (0.2, 1.0):
        assert not _finding(_text("status", 3, constant)).changes


def test_warning_when_the_name_is_that_of_a_source() -> None:
    finding = _finding(_text("location", 2))
    assert finding.changes
    assert (
        finding.message == "Field location has 2 distinct values, which repeat often: it says where a row comes from."
    )


def test_whole_numbers_when_they_are_ids() -> None:
    sensor = a_field("sensor_id", ("BIGINT",), distinct=a_count(8), sample=("1", "2"))
    assert _finding(sensor).changes
    count = a_field("errors", ("BIGINT",), distinct=a_count(8), sample=("1", "2"))
    assert run_rule(rule, _profile(count)).outcome is Outcome.PASS


def test_silence_when_values_are_one_or_too_many() -> None:
    for distinct, outcome in ((1, Outcome.PASS), (2, Outcome.FAIL), (100, Outcome.FAIL), (101, Outcome.PASS)):
        assert run_rule(rule, _profile(_text("location", distinct), 5000)).outcome is outcome
    assert run_rule(rule, _profile(_text("location", 101), 5000), {"max_values": 200}).outcome is Outcome.FAIL


def test_silence_when_values_hardly_repeat() -> None:
    assert run_rule(rule, _profile(_text("location", 50), 500)).outcome is Outcome.FAIL
    assert run_rule(rule, _profile(_text("location", 51), 500)).outcome is Outcome.PASS
    assert run_rule(rule, _profile(_text("location", 50, null_ratio=0.5), 500)).outcome is Outcome.PASS


def test_silence_when_rows_are_few() -> None:
    assert run_rule(rule, _profile(_text("location", 2), 99)).outcome is Outcome.PASS


def test_silence_when_text_holds_numbers() -> None:
    assert run_rule(rule, _profile(_text("reading", 2, sample=("1.5", "2.5")))).outcome is Outcome.PASS


def test_information_when_a_table_keeps_all_rows_anyway() -> None:
    fields = (a_text("hostname", ("web-1", "web-2", "web-3")),)
    for options in ({"append_mode": "true"}, {}):
        (finding,) = findings(rule, a_table(fields=fields, options=options))
        assert finding.impact is None
        (change,) = finding.changes
        assert isinstance(change, AddIndex if options else MakeTag)


def test_index_when_there_is_one_already() -> None:
    indexed: dict[str, Any] = {
        "fields": (a_text("hostname", ("web-1", "web-2", "web-3")),),
        "indexes": {"hostname": "inverted"},
    }
    assert not findings(rule, a_table(options={"append_mode": "true"}, **indexed))
    # That it does not fit is for another rule to say.
    skipping = {**indexed, "indexes": {"hostname": "skipping"}}
    assert not findings(rule, a_table(options={"append_mode": "true"}, **skipping))
    # Where rows are told apart by key and time, it is no key yet.
    (finding,) = findings(rule, a_table(**indexed))
    assert not any(isinstance(change, AddIndex) for change in finding.changes)
    assert "hostname has an inverted index, which serves queries that filter by it." in finding.fix


def test_silence_when_the_column_holds_values_of_many_measures() -> None:
    """Timestream's own column for records of one value: what a value means is said by its measure name."""
    profile = _profile(_text("measure_value::varchar", 5))
    assert run_rule(rule, dataclasses.replace(profile, engine="timestream")).outcome is Outcome.PASS
    assert run_rule(rule, profile).outcome is Outcome.FAIL, "elsewhere it is a column like any other"


HASHES = tuple(f"{17 * 31**i % 16**12:012x}" for i in range(40, 60))
UUIDS = tuple(f"{i:08x}-1b2c-4d3e-8f90-{i * 7919:012x}" for i in range(20))


@pytest.mark.parametrize(
    ("key", "sample"),
    [
        ("container_id", HASHES),
        ("image_digest", HASHES),
        ("span_name", ("GET /cart", "POST /orders")),
        ("span_kind", ("SERVER", "CLIENT")),
        ("request_id", UUIDS),
        ("correlation", UUIDS),
        ("trace_id", HASHES),
        ("job_name", ("nightly", "hourly")),
    ],
)
def test_silence_when_it_names_what_passes(key: str, sample: tuple[str, ...]) -> None:
    assert run_rule(rule, _profile(_text(key, len(sample), sample=sample), 5000)).outcome is Outcome.PASS


@pytest.mark.parametrize(
    ("key", "is_source"),
    [
        ("device_uuid", True),
        ("meter_serial", True),
        ("inverter", True),
        ("room_name", True),
        ("product_type", False),
        ("firmware_version", False),
        ("display_name", False),
    ],
)
def test_names_of_sources_and_of_their_attributes(key: str, is_source: bool) -> None:
    sample = UUIDS if key.endswith("uuid") else ("kitchen", "bath")
    assert bool(_finding(_text(key, len(sample), sample=sample)).changes) is is_source


def test_distinct_values_of_a_sample_are_compared_with_its_rows() -> None:
    """60 values in the 400 rows read say nothing about the million rows there are."""
    patterns = RowPatterns((), 400, 0, 0, a_source())
    location = _text("location", 60)
    million = a_measurement(fields=(location,), rows=a_count(1_000_000), row_patterns=patterns)
    assert run_rule(rule, a_profile(million)).outcome is Outcome.PASS
    more = dataclasses.replace(million, row_patterns=dataclasses.replace(patterns, rows=600))
    assert run_rule(rule, a_profile(more)).outcome is Outcome.FAIL


@pytest.mark.parametrize(
    ("key", "values", "constant", "found"),
    [
        # Meters of a street in one series, more of them than a tag should have elsewhere.
        ("meter_id", 300, 0.0, 1),
        ("machine", 4, 0.0, 1),
        ("device_name", 12, 0.4, 1),
        # An attribute of the source, a state, what passes, and what is no source.
        ("room", 12, 1.0, 0),
        ("device_state", 4, 0.0, 0),
        ("request_id", 300, 0.0, 0),
        ("comment", 12, 0.0, 0),
    ],
)
def test_rows_that_overwrite_each_other_where_tags_are_no_index(
    key: str, values: int, constant: float, found: int
) -> None:
    names = tuple(f"east-{i:03}" for i in range(min(values, 64)))
    profile = dataclasses.replace(_profile(_text(key, values, constant, sample=names), 3000), engine="influxdb3")
    findings = run_rule(rule, profile).findings
    assert len(findings) == found
    for finding in findings:
        assert finding.impact is not None
        assert finding.impact.currency is Currency.ANSWERS
        assert finding.message == (
            f"Field {key} names {values} sources that share a series: of their rows with the same time, only the last "
            "one is kept."
        )
