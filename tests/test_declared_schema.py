"""The declared schema against the live one: each difference is said once, and what was not seen is none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.builders import a_field, a_measurement, a_profile, a_tag
from tsaudit.config import columns_file
from tsaudit.config.columns_file import FileColumn
from tsaudit.declared_schema import compare, exportable
from tsaudit.model.figures import Gap, Reason, Selection
from tsaudit.model.finding import Outcome, Severity, Verdict
from tsaudit.model.profile import Measurement, Profile

CPU = (FileColumn("time", "timestamp"), FileColumn("host", "tag"), FileColumn("usage", "field", "float"))
DECLARED = {("main", "cpu"): CPU}


def live(*measurements: Measurement, **changes: Any) -> Profile:
    return a_profile(**{"measurements": measurements, "engine": "influxdb1"} | changes)


def said(profile: Profile, declared: dict[tuple[str, str], tuple[FileColumn, ...]] = DECLARED) -> list[tuple[str, str]]:
    return [(str(f.severity), f.message) for _, f in compare(declared, profile).findings()]


def test_the_schema_that_was_exported_has_no_difference() -> None:
    profile = live(a_measurement(), a_measurement("mem", tags=(), fields=(a_field("used", types=("uinteger",)),)))
    schema, refused = exportable(profile)
    assert refused == []
    assert schema["main", "cpu"] == CPU
    assert schema["main", "mem"][1] == FileColumn("used", "field", "unsigned")
    result = compare(schema, profile)
    assert (result.verdict, [r.outcome for r in result.results]) == (Verdict.OK, [Outcome.PASS])


@pytest.mark.parametrize(
    ("measurement", "finding"),
    [
        (a_measurement(tags=(a_tag(), a_tag("region"))), ("warning", "Tag region is not declared.")),
        (a_measurement(tags=()), ("note", "Tag host is declared but missing.")),
        (
            a_measurement(fields=(a_field(), a_field("error", types=("string",)))),
            ("warning", "Field error is not declared."),
        ),
        (
            a_measurement(fields=(a_field(types=("float", "string")),)),
            ("warning", "usage is declared as a field of type float and is a field of type float and string."),
        ),
        (
            a_measurement(tags=(), fields=(a_field(), a_field("host", types=("string",)))),
            ("warning", "host is declared as a tag and is a field of type string."),
        ),
        (
            a_measurement(time_column="ts"),
            ("warning", "Timestamp ts is not declared."),
        ),
    ],
)
def test_a_column_that_differs_is_a_finding(measurement: Measurement, finding: tuple[str, str]) -> None:
    assert finding in said(live(measurement))


def test_a_field_without_a_data_type_is_a_string() -> None:
    declared = {("main", "cpu"): (*CPU[:2], FileColumn("usage", "field"))}
    assert said(live(a_measurement(fields=(a_field(types=("string",)),))), declared) == []
    assert said(live(a_measurement()), declared) == [
        ("warning", "usage is declared as a field of type string and is a field of type float.")
    ]


def test_measurements_that_are_not_declared_or_not_there() -> None:
    assert said(live(a_measurement("mem"))) == [
        ("warning", "mem is not declared."),
        ("note", "cpu is declared but missing."),
    ]


def test_what_is_declared_and_not_written_yet_is_no_violation() -> None:
    assert compare(DECLARED, live()).verdict is Verdict.OK


def test_what_could_not_be_seen_is_unknown_and_no_difference() -> None:
    gap = Gap("measurements", Reason.DENIED, "not authorized", "main")
    result = compare(DECLARED, live(gaps=(gap,)))
    assert said(live(gaps=(gap,))) == []
    assert (result.verdict, result.results[0].reason) == (Verdict.UNKNOWN, "measurements: not authorized")


def test_a_server_that_went_away_leaves_the_later_databases_unknown() -> None:
    gap = Gap("measurements", Reason.UNREACHABLE, "the server is gone", "another")
    assert said(live(gaps=(gap,))) == []


def test_what_the_patterns_leave_out_is_no_difference() -> None:
    assert said(live(selection=Selection(exclude=("cpu",)))) == []


@pytest.mark.parametrize(
    ("measurement", "why"),
    [
        (a_measurement(fields=(a_field(types=("float", "integer")),)), "field usage has 2 types, float and integer;"),
        (a_measurement(fields=(a_field("host"),)), "host is both a tag and a field;"),
        (a_measurement(fields=()), "it has no field;"),
        (a_measurement("_cpu"), "the name _cpu starts with a digit or underscore"),
        (a_measurement("c'pu"), "the name c'pu starts with a digit or underscore, or contains a quote"),
        (a_measurement("c" * 129), "is longer than the 128 characters"),
    ],
)
def test_what_no_explicit_bucket_takes_is_left_out_and_named(measurement: Measurement, why: str) -> None:
    schema, (refused,) = exportable(live(measurement, a_measurement("mem")))
    assert list(schema) == [("main", "mem")]
    assert refused.startswith(f"main/{measurement.name}: ")
    assert why in refused


def test_other_engines_have_their_own_words_and_no_such_limits() -> None:
    profile = live(a_measurement("2nd", fields=(a_field(types=("DOUBLE",)),)), engine="duckdb")
    schema, refused = exportable(profile)
    assert refused == []
    assert schema["main", "2nd"][-1] == FileColumn("usage", "field", "DOUBLE")
    assert compare(schema, profile).verdict is Verdict.OK


def test_a_name_that_no_file_can_have_stops_no_other(tmp_path: Path) -> None:
    long = [a_measurement(name) for name in ("m" * 300, "\N{SNOWMAN}" * 40)]
    schema, refused = exportable(live(*long, a_measurement("m" * 248), a_measurement("mem"), engine="duckdb"))
    assert {name for _, name in schema} == {"m" * 248, "mem"}
    assert [line.split(": ")[1] for line in refused] == [
        f"no file can have so long a name as {'m' * 40}...",
        f"no file can have so long a name as {chr(0x2603) * 40}...",
    ]
    assert len(columns_file.write(tmp_path, schema, replace=False)) == 2


def test_findings_say_both_sides() -> None:
    ((_, finding),) = compare(DECLARED, live(a_measurement(tags=(a_tag(), a_tag("region"))))).findings()
    assert [(e.label, e.value) for e in finding.evidence] == [("declared", "-"), ("live", "a tag")]
    assert (finding.severity, finding.main_contributor) == (Severity.WARNING, "region")
