"""TAG002: what the values of a tag are."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.builders import NOW, a_measurement, a_profile, a_source, a_tag
from tests.engines.greptimedb.cases import a_table, findings, steps
from tests.rules.cases import run_rule, text_of, with_steps
from tsaudit.model.columns import Contribution, TagChanges, TagSets
from tsaudit.model.finding import Currency, Finding, Severity
from tsaudit.model.plan import StepKind
from tsaudit.model.profile import Measurement
from tsaudit.rules.tags.unbounded_tag import unbounded_tag as rule

DECIMALS = tuple(f"{20 + i / 10}" for i in range(64))
WHOLE = tuple(str(20 + i) for i in range(64))


def _seen(**changes: Any) -> TagChanges:
    known: dict[str, Any] = {"sources": 4, "changing": 4, "pairs": 400, "changes": 300, "by_chance": 395.0}
    known |= {"values": 64, "shared": 60, "instants": 404, "clashes": 0, "roughness": 0.1}
    return TagChanges(by=("sensor",), source=a_source(), **(known | changes))


def _measurement(
    sample: tuple[str, ...] = DECIMALS,
    seen: TagChanges | None = None,
    left: int | None = None,
    key: str = "level",
    values: int = 64,
) -> Measurement:
    tags = (a_tag("sensor", 4), a_tag(key, values, sample, changes=None if seen is None else (seen,)))
    lost = (Contribution(key, (), left),) if left else ()
    sets = TagSets(256, 256, 256, (), (key,), lost, (), a_source()) if left else None
    return a_measurement("rooms", 256, tags=tags, tag_sets=sets)


def _findings(measurement: Measurement) -> tuple[Finding, ...]:
    """Those that say that it is measured."""
    found = run_rule(rule, a_profile(measurement)).findings
    return tuple(finding for finding in found if "vary over time" in finding.message)


def test_finding_when_decimals_vary() -> None:
    (finding,) = _findings(_measurement(seen=_seen()))
    assert finding.message == "Tag level has 64 values that are numbers and vary over time."
    assert [e.value for e in finding.evidence[:4]] == ["64", "4 of 4, identified by sensor", "300 of 400 (75%)", "0.1"]


def test_listing_suffices_when_the_rows_show_no_change() -> None:
    (finding,) = _findings(_measurement(left=85))
    assert finding.evidence[1].value == "3.01"
    assert not _findings(_measurement(left=86))
    assert not _findings(_measurement(left=86, seen=_seen(changing=1, sources=4)))


def test_type_of_the_field_when_it_is_greptimedb() -> None:
    tags = (a_tag("sensor", 4), a_tag("level", 64, DECIMALS, changes=(_seen(),)))
    table = a_table(tags=tags, key=("sensor", "level"))
    assert '"level" DOUBLE' in text_of(StepKind.SCHEMA, rule, a_profile(table, engine="greptimedb"))


def test_silence_when_values_are_few() -> None:
    assert _findings(_measurement(seen=_seen(), values=30))
    assert not _findings(_measurement(seen=_seen(), values=29))


def test_silence_when_several_are_there_at_once() -> None:
    assert _findings(_measurement(seen=_seen(clashes=20)))
    assert not _findings(_measurement(seen=_seen(clashes=21), left=4))


def test_whole_numbers_have_to_follow_a_curve_and_be_no_name() -> None:
    (finding,) = _findings(_measurement(WHOLE, _seen()))
    assert finding.message == "Tag level has 64 values that are whole numbers and vary over time."
    assert not _findings(_measurement(WHOLE, _seen(roughness=0.6)))
    assert not _findings(_measurement(WHOLE, _seen(roughness=None), left=4))
    for key in ("user_id", "customerId", "port", "status"):
        assert not _findings(_measurement(WHOLE, _seen(), key=key))
        assert _findings(_measurement(DECIMALS, _seen(), key=key))
    for key in ("version", "firmware", "le", "appVersion"):
        assert not _findings(_measurement(DECIMALS, _seen(), key=key, left=1))


def test_silence_when_values_are_no_numbers() -> None:
    assert not _findings(_measurement(tuple(f"v{i}x" for i in range(64)), _seen(), left=1))
    assert not _findings(_measurement(()))


def _typed(key: str, values: int, sample: tuple[str, ...], **changes: Any) -> tuple[Finding, ...]:
    known: dict[str, Any] = {"by": ("host",), "sources": 20, "changing": 20, "pairs": 500, "changes": 400}
    known |= {"by_chance": 450.0, "values": values, "shared": 4, "instants": 2000, "clashes": 0, "roughness": None}
    seen = TagChanges(source=a_source(), **(known | changes))
    tag = a_tag(key, values, sample, changes=(seen,))
    found = with_steps(rule, a_profile(a_measurement(tags=(tag,)), engine="timestream"))
    return tuple(finding for finding in found if "numbers" in finding.message or "as text" in finding.message)


def test_least_values_when_numbers_are_whole_or_not() -> None:
    fractions = ("1.5", "2.25", "3.75")
    assert not _typed("load", 3, fractions)
    (finding,) = _typed("load", 4, (*fractions, "4.5"))
    assert "load=... (DOUBLE)" in finding.fix
    assert (finding.impact, finding.severity) == (None, Severity.NOTE)
    whole = tuple(str(i) for i in range(30))
    assert not _typed("level", 29, whole[:29])
    (finding,) = _typed("level", 30, whole)
    assert finding.message == "Tag level has 30 values that are whole numbers, as text."


@pytest.mark.parametrize("changes", [{"changing": 9}, {"clashes": 21}, {"by": ()}, {"changing": 0, "sources": 0}])
def test_silence_when_whole_numbers_name_a_source(changes: dict[str, Any]) -> None:
    """The number of a store: each host has one, or each product is in many."""
    whole = tuple(str(i) for i in range(40))
    assert _typed("store", 40, whole)
    assert not _typed("store", 40, whole, **changes)
    assert _typed("price", 40, tuple(f"{i}.5" for i in range(40)), **changes)


@pytest.mark.parametrize("key", ["device_id", "port", "zip", "vehicleId", "version", "imei", "serial_number", "msisdn"])
def test_silence_when_numbers_name_a_thing(key: str) -> None:
    assert not _typed(key, 64, tuple(str(8000 + i) for i in range(64)))


def test_positions_when_they_are_whole_numbers() -> None:
    (finding,) = _typed("geo_lat", 5, tuple(str(40 + i) for i in range(5)))
    assert "that are positions, as text" in finding.message


def test_silence_when_values_are_words_or_unknown() -> None:
    assert not _typed("host", 64, tuple(f"web-{i}" for i in range(64)))
    assert not _typed("flag", 2, ("true", "false"))


def _keyed(data_type: str, sample: tuple[str, ...] = ("1", "2"), values: int = 2, days: int = 30) -> Measurement:
    tags = (a_tag("level", values, sample, data_type=data_type), a_tag("sensor", 3))
    return a_table(
        tags=tags,
        key=("sensor", "level"),
        options={},
        series=3 * values,
        first_time=NOW - timedelta(days=days),
    )


@pytest.mark.parametrize("data_type", ["double", "float", "timestamp(3)", "timestamp(9)"])
def test_finding_when_the_type_is_measured(data_type: str) -> None:
    (finding,) = findings(rule, _keyed(data_type))
    assert (
        finding.message
        == f"Tag level has 2 values of type {data_type}, and tags are meant for short texts and integers."
    )
    assert 'PRIMARY KEY ("sensor")' in steps(rule, _keyed(data_type))
    assert f'"level" {data_type.upper()}' in steps(rule, _keyed(data_type))


@pytest.mark.parametrize(
    ("values", "days", "expected"),
    [(100_001, 300_000, Severity.WARNING), (90_000, 300_000, Severity.NOTE), (9_010, 30, Severity.WARNING)],
)
def test_cost_is_the_series_that_would_be_gone(values: int, days: int, expected: Severity) -> None:
    (finding,) = findings(rule, _keyed("double", values=values, days=days))
    assert finding.impact is not None
    assert finding.impact.currency is Currency.SERIES
    assert (finding.impact.now, finding.impact.whole) == (values - 1, 3 * values)
    assert finding.severity is expected


@pytest.mark.parametrize("data_type", ["string", "bigint", "bigint unsigned", "int", "boolean", "date"])
def test_silence_when_the_type_names(data_type: str) -> None:
    assert not findings(rule, _keyed(data_type))
